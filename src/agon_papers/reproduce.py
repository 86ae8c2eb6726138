"""`agon reproduce`: the tables and figures of a paper for another model, from recordings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from agon.errors import AgonError
from agon.paths import input_path


class Paper(NamedTuple):
    """What a paper's pages need."""

    experiments: Mapping[str, str]
    """Parameter of the command that names a table of turns -> the experiment that has these turns. The first one asks the
    command's model, in the command's prompt set; the others, such as an assessor's, ask those of their files."""
    pages: Mapping[str, Mapping[str, str]]
    """Notebook -> its parameter -> the parameter of the command with the table's path."""
    steps: str = ""
    """How to record the experiments after the first, in words; {turns} is the path of the first table. Until one of them is
    recorded, the pages leave out what needs it."""


PAPERS = {
    "counterfactual": Paper(
        {"turns_path": "counterfactual_live"},
        {"counterfactual_live": {"turns_path": "turns_path"}, "counterfactual_figures": {"compare": "turns_path"}},
    ),
    "magic": Paper({"turns_path": "magic_live"}, {"magic_live": {"turns_path": "turns_path"}}),
    "tradecraft": Paper(
        {"turns_path": "tradecraft_live", "ratings_path": "tradecraft_ratings"},
        {"tradecraft_live": {"turns_path": "turns_path", "ratings_path": "ratings_path"}},
        "python -m agon make-logs --turns {turns} --folder data/logs/tradecraft_live and then "
        "python -m agon record experiment=tradecraft_ratings",
    ),
}


@click.command()
@click.argument("paper", type=click.Choice(list(PAPERS)))
@click.argument("words", nargs=-1, metavar="model=NAME [setting=value ...]")
def reproduce(paper: str, words: Sequence[str]) -> int:
    """Makes a paper's tables and figures for another model.

    agon reproduce PAPER model=NAME plays the recordings of the paper's experiment for this model, and asks no model.
    The pages go to runs/PAPER-NAME/reports/. prompts=SET chooses another prompt set, and adds -SET to the name.
    turns_path=FILE reads turns that exist. Scores that nobody has recorded are left out, and a line says so. All other
    settings are those of `agon play`, such as partial=true.
    """
    page = PAPERS[paper]
    settings = dict(_split(word) for word in words)
    paths = {name: settings.pop(name) for name in page.experiments if name in settings}
    model, prompts = settings.pop("model", ""), settings.pop("prompts", "")
    first = next(iter(page.experiments))
    if not model and first not in paths:
        raise AgonError(f"{paper} needs a model: add model=NAME, a file in conf/model, or {first}=FILE")
    if fixed := [name for name in ("experiment", "out") if name in settings]:
        raise AgonError(
            f"{fixed[0]} cannot be set: `agon reproduce` takes the paper's experiment and names its own files"
        )
    if first in paths and (unused := [*(["prompts"] if prompts else []), *settings]):
        raise AgonError(f"{unused[0]} has no effect on {first}={paths[first]}: these matches are played already")
    one, *others = model.split(",")
    name = "-".join(filter(None, [one or Path(paths[first]).stem, *others[:3], prompts]))
    name += f"-and-{len(others) - 3}-more" * (len(others) > 3)
    run = f"{paper}-{re.sub(r'[^a-zA-Z0-9_.-]+', '-', name).strip('-.')}"
    overrides = [f"{name}={value}" for name, value in settings.items()]
    of_the_model = [f"experiment.models=[{model}]", *([f"experiment.prompts={prompts}"] if prompts else [])]
    for name, experiment in page.experiments.items():
        if name not in paths and name != first and not input_path(f"data/recordings/{experiment}").exists():
            click.echo(
                f"{name}='': nothing is recorded of {experiment}, so the pages leave out what needs it; to record it: "
                f"{page.steps.format(turns=paths[first])}; then give this command again"
            )
            paths[name] = "''"
        if name not in paths:
            paths[name] = f"transcripts/{run}-{experiment}.parquet"
            words = [f"experiment={experiment}", *(of_the_model if name == first else []), *overrides]
            if code := _run("play", *words, f"out={paths[name]}"):
                return code
    for notebook, parameters in page.pages.items():
        values = [f"{name}={paths[table]}" for name, table in parameters.items()]
        if code := _run("notebook", notebook, *values, "--run", run, "--force"):
            return code
    return 0


def _split(word: str) -> tuple[str, str]:
    name, mark, value = word.partition("=")
    if not mark:
        raise click.UsageError(f"{word!r} sets nothing: write setting=value")
    return name, value


def _run(*words: str) -> int:
    """Runs another command of agon; its exit code."""
    from agon.cli import main

    return main([*words])
