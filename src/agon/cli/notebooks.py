"""Notebooks, and a study of one's own."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import click

from agon import AgonError, in_project, shown


def new(
    *what: Annotated[str, lambda: ("study",)],
    path: Annotated[str, "the folder in which it is made"] = "studies",
    model: Annotated[str, "who is asked at first: a file in conf/model; standin needs no model at all"] = "smollm2",
) -> None:
    """Makes a study: a folder of one's own.

    agon new study NAME makes studies/NAME, with conf, a metric, a notebook and stages of its own, which run at once.
    """
    from agon.study import make_study

    if len(what) != 2 or what[0] != "study":
        raise click.UsageError("say: agon new study NAME")
    folder, here = make_study(what[1], model, path), Path.cwd()
    inside = {part for part in (".git", ".dvc") for each in (folder, *folder.parents) if (each / part).exists()}
    first = {0: ["git init", "dvc init"], 1: ["dvc init --subdir"], 2: []}[len(inside)]
    place = folder.relative_to(here) if folder.is_relative_to(here) else folder
    lines = [f"cd {shlex.quote(str(place))}", *first, f"agon record   # asks {model}", "dvc repro     # makes the page"]
    click.echo("\n  ".join([f"{place} is made; what is in it, its README.md says. Now:", *lines]))


def notebook(name: str, parameters: Mapping[str, Any], run: str, changed: Sequence[str], force: bool) -> None:
    """Runs a notebook.

    agon notebook NAME runs notebooks/NAME.ipynb as the report has it, into reports/; conf/notebook/NAME.yaml, where it is there,
    has its parameters. Others, parameter=value, need a name: run=RUN writes all of it below runs/RUN/. A run that is there is
    made again with force=true. Of a study, study=NAME, the run is called NAME, and is made again whenever it is asked for.
    """
    from agon.notebook.execution import PARTS, folder_of
    from agon.notebook.execution import run as executed

    folder = folder_of(run)
    if changed and not run and not force:
        raise AgonError(
            f"{' '.join(changed)} is not what the report has: name the run with run=NAME, and all goes to runs/NAME; "
            "force=true writes over the report's own page"
        )
    again = bool(run) and (folder / "reports" / f"{name}.ipynb").exists()
    if again and not force:
        raise AgonError(f"run={run} has a page of {name} already: take another name, or make it again with force=true")
    changes = [in_project(parameters["out"]) / part for part in PARTS] if again and "out" in parameters else []
    with _aside([folder] if run and not folder.exists() else changes):
        made = executed(name, parameters, folder)
    click.echo(shown(made))


@contextmanager
def _aside(folders: Iterable[Path]) -> Iterator[None]:
    """Folders are away, and are as they were where what is done meanwhile fails."""
    places = [*folders]
    before = {each: each.with_name(f".{each.name}.before") for each in places if each.is_dir()}
    for each, away in before.items():
        shutil.rmtree(away, ignore_errors=True)
        each.rename(away)
    try:
        yield
    except BaseException:
        for each in places:
            shutil.rmtree(each, ignore_errors=True)
        for each, away in before.items():
            away.rename(each)
        raise
    for away in before.values():
        shutil.rmtree(away, ignore_errors=True)
