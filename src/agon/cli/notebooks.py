"""Notebooks, and a study of one's own."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from agon.cli import options
from agon.errors import AgonError
from agon.paths import display_path, in_project


@click.command()
@click.argument("kind", type=click.Choice(["study"]), expose_value=False)
@click.argument("name")
@click.option("--path", metavar="FOLDER", default="studies", help="The new folder is FOLDER/NAME.")
@click.option(
    "--model",
    default="smollm2",
    shell_complete=options.names_of("models"),
    help="The model to ask: a file in conf/model.",
)
def new(name: str, path: str, model: str) -> None:
    """Makes a folder for a study of your own.

    agon new study NAME --model standin makes studies/NAME, with its own conf, metric, notebook and stages. standin is a
    script in the place of a model, so nothing must be installed. Without --model the study asks a small model, which
    `make pocket` in agon's folder installs.
    """
    from agon.conf import load
    from agon.study import make_study

    folder, here = make_study(name, model, path), Path.cwd()
    repositories = {
        part for part in (".git", ".dvc") for parent in (folder, *folder.parents) if (parent / part).exists()
    }
    setup = {0: ["git init", "dvc init"], 1: ["dvc init --subdir"], 2: []}[len(repositories)]
    place = folder.relative_to(here) if folder.is_relative_to(here) else folder
    lines = [f"cd {shlex.quote(str(place))}", *setup, f"agon record   # asks {model}", "dvc repro     # makes the page"]
    click.echo("\n  ".join([f"{place} is made, and its README.md says what is in it. Now:", *lines]))
    if obstacle := load("model", model).obstacle:
        anew = f"rm -r {shlex.quote(str(place))}, then the same command with --model standin"
        click.echo(f"note: to try it without a model: {anew}. {model} cannot be asked yet: {obstacle}")


@click.command()
@click.argument("name", shell_complete=options.names_of("notebooks"))
@click.argument("parameters", nargs=-1, metavar="[PARAMETER=VALUE]...")
@click.option("--run", help="The name of the run; writes below runs/RUN.")
@options.force
def notebook(name: str, parameters: Sequence[str], run: str | None, force: bool) -> None:
    """Runs a notebook.

    agon notebook NAME runs notebooks/NAME.ipynb with the report's parameters, and writes into reports/. The parameters
    are in conf/notebook/NAME.yaml. For other parameters, PARAMETER=VALUE, name the run: --run RUN writes everything
    below runs/RUN/. --force repeats a run that exists. study=NAME names the run NAME, and always repeats it.
    """
    from agon.conf import current_name, renaming_notes
    from agon.notebook import execution

    name = name.removeprefix("notebooks/").removesuffix(".ipynb")
    for line in renaming_notes("notebook", [name]):
        click.echo(line, err=True)
    name = current_name("notebook", name)
    study = dict(word.partition("=")[::2] for word in parameters).get("study", "")
    force = force or bool(study and not run)
    run = run or study
    settings = execution.parameters(name, parameters, run)
    folder = execution.folder_of(run)
    if parameters and not run and not force:
        raise AgonError(
            f"{' '.join(parameters)} differs from the report's parameters: add --run NAME to write into runs/NAME, "
            "or --force to replace the report's page"
        )
    again = bool(run) and (folder / "reports" / f"{name}.ipynb").exists()
    if again and not force:
        raise AgonError(f"runs/{run} has a page of {name} already: choose another name, or replace it with --force")
    changes = [in_project(settings["out"]) / part for part in execution.PARTS] if again and "out" in settings else []
    with set_aside([folder] if run and not folder.exists() else changes):
        page = execution.run(name, settings, folder)
    click.echo(display_path(page.with_suffix(".html")))


@contextmanager
def set_aside(folders: Iterable[Path]) -> Iterator[None]:
    """Moves folders away, and back if the body of the `with` fails; else deletes the old ones.

    Folders that are still away, because a run was killed, are moved back first.
    """
    backup_of = {folder: folder.with_name(f".{folder.name}.before") for folder in folders}
    originals = [*backup_of]
    for folder, backup in backup_of.items():
        if backup.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
            backup.rename(folder)
    backups = {folder: backup for folder, backup in backup_of.items() if folder.is_dir()}
    for folder, backup in backups.items():
        folder.rename(backup)
    try:
        yield
    except BaseException:
        for folder in originals:
            shutil.rmtree(folder, ignore_errors=True)
        for folder, backup in backups.items():
            backup.rename(folder)
        raise
    for backup in backups.values():
        shutil.rmtree(backup, ignore_errors=True)
