"""The experiment of a command, and the places of its outputs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agon.errors import AgonError, visible
from agon.paths import ROOT, SHIPPED, display_path, in_project, input_path, require_finite

if TYPE_CHECKING:
    from agon.models import Model
    from agon.models.recording import Recording
    from agon.plan import Match

Settings = Mapping[str, Any]
"""The composed settings of a command (agon.conf.check_settings)."""
OF_ONE_RUN = (
    *("budget", "batch", "readable", "served", "other_hosts", "concurrency"),
    *("fresh", "partial", "out"),
)
"""Settings of one run, on which matches do not depend."""
OTHER = "choose another file with out=, or add force=true to replace it"
ELSEWHERE = "choose another folder with --out, or add --force to replace its files"


def experiment_of(settings: Settings) -> tuple[str, list[Match], dict[str, Model], Recording]:
    """The experiment's name, its matches, their models by name, and the recording of their answers. Raises AgonError."""
    from agon.conf import recorded_games, renaming_notes
    from agon.models.recording import Recording
    from agon.plan import agents_of, models_of, plan

    experiment = settings["experiment"]
    for line in renaming_notes("agent", agents_of(experiment)):
        click.echo(line, err=True)
    matches, models = plan(experiment, large=settings["large"]), models_of(experiment)
    name = experiment["name"]
    if name in recorded_games():
        raise AgonError(f"{name} is a name that `agon ingest` uses: set experiment.name to another one")
    _require_own_name(name)
    return name, matches, models, Recording(ROOT / "data/recordings" / name)


def say_cautions(settings: Settings) -> None:
    """Prints the cautions about an experiment, before it costs anything."""
    from agon.plan import cautions

    for caution in cautions(settings["experiment"]):
        click.echo(visible(f"note: {caution}"))


def say_differences(matches: Collection[Match], models: Mapping[str, Model], recording: Recording) -> None:
    """Prints how the recording differs: in the matches registered beside it, and in the hosts that a model's answers are from.

    Answers of another host are used all the same, because the host is no part of what an answer is recorded by.
    """
    from agon.report.registration import explain_other_plan

    if why := explain_other_plan(recording.path.parent, [match.id for match in matches]):
        click.echo(visible(f"note: {why}, which `agon compare` will say too"))
    for name, model in models.items():
        hosts = recording.hosts_of(model.identity)
        if hosts and model.host not in hosts:
            note = (
                f"note: the recorded answers of {name} are from {', '.join(hosts)}, and its file now asks {model.place}: "
                "they are taken as its answers; experiment.name=NEW records others"
            )
            click.echo(visible(note), err=True)


def _require_own_name(name: str) -> None:
    """Raises AgonError where an experiment has the name of another file of conf/experiment, or another one than its own file."""
    from hydra.core.hydra_config import HydraConfig

    from agon.conf import CONF, document, names

    file_name = str(HydraConfig.get().runtime.choices["experiment"])
    name_inside = document(input_path(CONF / f"experiment/{file_name}.yaml")).get("name", file_name)
    if name_inside != file_name:
        raise AgonError(
            f"conf/experiment/{file_name}.yaml says `name: {name_inside}`: give both the same name, because stages and files use it"
        )
    if name != file_name and name in names("experiment"):
        raise AgonError(
            f"experiment.name={name} is the name of conf/experiment/{name}.yaml, but this is {file_name}: choose another name, "
            "because both would share turns and a recording"
        )


def transcript_of(experiment: str) -> str:
    """Where an experiment's turns are. Raises AgonError where nothing is called so, in conf or in transcripts/."""
    from agon.conf import names, recorded_games, suggest

    path = f"transcripts/{experiment}.parquet"
    experiments = {*names("experiment"), *recorded_games()}
    if experiment not in experiments and not (ROOT / path).exists():
        raise AgonError(
            f"there is no experiment {experiment!r}: {suggest(experiment, sorted(experiments), 'agon list experiments')}"
        )
    return path


def lock_of(name: str) -> Path:
    """The lock file of a task that only one command at a time may do. Makes its folder."""
    path = ROOT / ".agon/locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def outside_data(out: str) -> Path:
    """The path of an output. Raises AgonError for one in data/."""
    path = in_project(out)
    if any(path.resolve().is_relative_to(project / "data") for project in (ROOT, SHIPPED)):
        raise AgonError(f"{out} is in data/, which has inputs only: choose another folder")
    return path


def note_outside(path: Path) -> Path:
    """The path itself, with a note if it is outside of the project. A link in the project counts as inside."""
    if not any(place.is_relative_to(ROOT) for place in (path.resolve(), Path(os.path.normpath(path)))):
        click.echo(visible(f"note: {path} is outside of this project, {ROOT}"), err=True)
    return path


def turns_file(settings: Settings, name: str) -> Path:
    """The file to write: a new one, or a turns table of `name`. Raises AgonError for inputs, and for any other file."""
    from agon.turns import experiments, is_turns

    out = outside_data(settings["out"] or f"transcripts/{name}.parquet")
    if not out.exists() or (settings["force"] and out.is_file()):
        return note_outside(out)
    if not is_turns(require_finite(out)):
        raise AgonError(
            f"{display_path(out)} exists and is not a turns table: choose another file with out=, or move this one away"
        )
    if others := sorted(experiments(out) - {name}):
        raise AgonError(f"{display_path(out)} holds turns of {', '.join(others)}, not of {name}: {OTHER}")
    return note_outside(out)


def require_own_file(settings: Settings, out: Path) -> None:
    """Raises AgonError if a changed experiment would replace a table that a stage of dvc.yaml has made, and no `out` is set."""
    from hydra.core.hydra_config import HydraConfig

    changes = [word for word in HydraConfig.get().overrides.task if word.lstrip("+~").startswith("experiment.")]
    lock = ROOT / "dvc.lock"
    if settings["out"] or settings["force"] or not changes or not (out.exists() and lock.is_file()):
        return
    if f"path: {out.relative_to(ROOT).as_posix()}\n" in lock.read_text(encoding="utf-8"):
        raise AgonError(
            f"{display_path(out)} belongs to a stage of dvc.yaml, which plays without {changes[0]}: {OTHER}"
        )


def own_folder(out: str, names: Collection[str], force: bool) -> Path:
    """The output folder: a new one, or one with files of `names` alone. Raises AgonError otherwise, unless `force`."""
    path = outside_data(out)
    if path.exists() and not path.is_dir():
        raise AgonError(f"--out {out} is a file: name a folder")
    others = [other.name for other in sorted(path.glob("*")) if other.name not in names] if path.is_dir() else []
    if others and not force:
        raise AgonError(f"--out {out} holds {others[0]}, which another command has made: {ELSEWHERE}")
    return note_outside(path)


def same_words() -> str:
    """The settings of this command, for another on the same matches."""
    from hydra.core.hydra_config import HydraConfig

    words = HydraConfig.get().overrides.task
    return shlex.join(word for word in words if not word.startswith(OF_ONE_RUN))
