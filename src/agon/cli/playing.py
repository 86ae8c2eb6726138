"""The verbs that make turns, play and reread; and export, which writes them for other tools."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from agon.cli import options
from agon.cli.places import (
    OTHER,
    Settings,
    experiment_of,
    lock_of,
    own_folder,
    require_own_file,
    same_words,
    say_other_plan,
    transcript_of,
    turns_file,
)
from agon.cli.words import bar_of, bill_of
from agon.errors import AgonError, count, visible
from agon.games.base import families
from agon.paths import CODE, ROOT, display_path, in_project

if TYPE_CHECKING:
    from pandas import DataFrame

    from agon.models.base import ReadingRule
    from agon.plan import Match

MISSING = 12
"""Largest number of lines about incomplete matches."""


def play(settings: Settings) -> None:
    """Plays from scripts and recordings, for nothing.

    experiment=NAME is written to transcripts/NAME.parquet, or to out=FILE. The same command goes on where it was stopped;
    fresh=true plays everything again. partial=true plays the matches that are recorded to their end, and says which are not.
    """
    from filelock import FileLock

    from agon.games.tables import games_table
    from agon.models.ledger import Replayed, Unrecorded
    from agon.play import play as play_matches
    from agon.record.estimate import estimates
    from agon.record.habits import Habits
    from agon.record.misfit import explain_cache_miss
    from agon.turns import in_cells, write, write_games

    name, matches, models, recording = experiment_of(settings)
    out = turns_file(settings, name)
    require_own_file(settings, out)
    say_other_plan(matches, recording)
    incomplete: list[Match] | None = [] if settings["partial"] else None
    replayed = {
        model_name: Replayed(model_name, model.identity, recording, model.room) for model_name, model in models.items()
    }
    journal = ROOT / ".agon/played" / name / _hash_of_code(matches, recording.path if models else None)
    with FileLock(lock_of(f"play-{name}"), timeout=-1):  # without a limit: however another one ends, it lets go
        if settings["fresh"]:
            shutil.rmtree(journal.parent, ignore_errors=True)
        with bar_of(len(matches)) as bar:
            try:
                at_once = settings["concurrency"] or 8
                turns = play_matches(
                    matches, journal, replayed, concurrency=at_once, tick=bar.update, lacking=incomplete
                )
            except Unrecorded as error:
                why = explain_cache_miss(matches, models, recording)
                price = bill_of(estimates(matches, models, recording, Habits(ROOT / "data/recordings")))
                pull = "`dvc pull data.dvc` fetches what was recorded; " * _may_be_pulled(recording.path)
                raise AgonError(
                    f"{error}: {why and f'{why}; '}{pull}"
                    f"{f'python -m agon record {same_words()}'.rstrip()} would record what is missing, for {price}"
                    + ("; partial=true plays what is whole" if incomplete is None else "")
                ) from None
        if cells := {(match.id, seat): match.cell for match in matches for seat in match.subjects}:
            turns = in_cells(turns, cells)
        if incomplete:
            turns = _mark_partial(turns, len(matches), out, settings["force"])
        games = games_table([match.game for match in matches], [match.settings for match in matches])
        write_games(games, out)
        write(turns, out)
        for old in set(journal.parent.glob("*/")) - {journal}:
            shutil.rmtree(old, ignore_errors=True)
    if incomplete:
        click.echo(f"PARTIAL: {len(incomplete):,} of {count(len(matches), 'match')} not recorded to the end:")
        _print_incomplete(incomplete, matches)
    complete = len(matches) - len(incomplete or ())
    click.echo(f"{display_path(out)}: {count(complete, 'match')}, {count(len(turns), 'turn')}{_describe_void(turns)}")


def _may_be_pulled(recording: Path) -> bool:
    """Whether the project's data are pinned, and the recording is not there, so that it may be among them."""
    return (ROOT / "data.dvc").is_file() and not recording.is_file()


def reread(settings: Settings, rule: ReadingRule) -> None:
    """Reads a recording by another rule.

    It says how many answers and matches change. experiment=NAME is the recording. out=FILE has the turns of the matches in which no
    answer changes: compare them with all.
    """
    from agon.games.tables import games_table
    from agon.models.base import ReadingRule
    from agon.play import turns_table
    from agon.play.reread import CHANGES, Reread, reread_matches
    from agon.turns import mark_partial, write, write_games

    name, matches, models, recording = experiment_of(settings)
    if not models:
        raise AgonError(f"experiment {name} asks no model: there are no answers to read")
    out = turns_file(settings, name) if settings["out"] else None
    replayed = {item: Reread(item, model.identity, recording, model.room, rule=rule) for item, model in models.items()}
    answers, unchanged, incomplete = reread_matches(matches, replayed)
    if answers.empty:
        raise AgonError(f"of {name} no match is recorded to its end: python -m agon record {same_words()}".rstrip())
    for (agent, model), rows in answers.groupby(["agent", "model"], sort=False):
        changes, rules = rows.change.value_counts(), " and ".join(sorted(set(rows.recorded)))
        parts = ", ".join(f"{words} {changes.get(change, 0):,}" for change, words in zip(CHANGES, CHANGED, strict=True))
        share = rows.change.ne("").mean()
        click.echo(
            f"{agent}@{model}: {count(len(rows), 'answer')} read {rules}; read {rule}: {parts} ({share:.1%} in all)"
        )
    if set(answers.recorded) == {rule}:
        other = next(name for name in get_args(ReadingRule) if name != rule)
        click.echo(f"note: all were read {rule} when they were recorded; --rule {other} reads them otherwise")
    whole = answers["match"].nunique()
    click.echo(f"{whole - len(unchanged):,} of {count(whole, 'match')} have such an answer")
    if incomplete:
        click.echo(f"note: {count(len(incomplete), 'match')} not recorded to the end are left out")
    if out is None:
        return
    if not unchanged:
        raise AgonError("every match has such an answer: there are no turns to write")
    games = [match for match, _ in unchanged]
    write_games(games_table([match.game for match in games], [match.settings for match in games]), out)
    turns = turns_table(unchanged)
    write(mark_partial(turns, len(matches)) if len(unchanged) < len(matches) else turns, out)
    click.echo(f"{display_path(out)}: {count(len(unchanged), 'match')} without one; agon compare --turns takes it")


CHANGED = ("no action any more", "an action now", "another action")
"""What another rule does to answers, in words."""


def _describe_void(turns: DataFrame) -> str:
    """The number of decisions without an action, and the ends of their last answers, in words; empty without any."""
    from agon.turns import CUT

    void = turns[turns.asked & turns.action.isna()]
    cut = [f"{number:,} {words}" for end, words in CUT.items() if (number := int(void.ended.eq(end).sum()))]
    return (
        f"; {len(void):,} of {count(int(turns.asked.sum()), 'decision')} void{''.join(f', {reason}' for reason in cut)}"
        if len(void)
        else ""
    )


def _mark_partial(turns: DataFrame, total: int, out: Path, force: bool) -> DataFrame:
    """The turns of a partial experiment, marked as such. Raises AgonError where `out` has a complete table."""
    from agon.turns import mark_partial, partial, read

    if out.exists() and not force and not partial(read(out, ["experiment"])):
        raise AgonError(f"{display_path(out)} is of matches that are all whole: {OTHER}")
    return mark_partial(turns, total)


def _print_incomplete(incomplete: Sequence[Match], matches: Sequence[Match]) -> None:
    """Prints the incomplete matches, by game and players, up to MISSING lines."""

    def kind(match: Match) -> str:
        players = " against ".join(f"{seat.agent}@{seat.model}" if seat.model else seat.agent for seat in match.seats)
        return f"{match.game.name} {match.game.variant}: {players}"

    totals, lines = Counter(map(kind, matches)), Counter(map(kind, incomplete))
    for line, number in list(lines.items())[:MISSING]:
        click.echo(visible(f"  {line}: {number:,} of {totals[line]:,}"))
    if len(lines) > MISSING:
        click.echo(f"  and {count(len(lines) - MISSING, 'more such line')}")


def _hash_of_code(matches: Sequence[Match], recording: Path | None) -> str:
    """A hash of the code, files and answers on which matches depend. A journal with another hash is not continued."""
    from agon.plan.trial import LIBRARIES

    sources = {
        path
        for part in ("agents", "conf", "games", "models", "plan", "play", "turns")
        for path in (CODE / part).rglob("*.py")
    }
    sources.add(CODE / "loop.py")
    loaded = {name: getattr(module, "__file__", None) for name, module in [*sys.modules.items()] if name != "__main__"}
    files = {Path(file) for file in loaded.values() if file}  # a reader's own modules, and what these import
    sources |= {file for file in files if not any(map(file.is_relative_to, (*LIBRARIES, CODE)))}
    folders = {folder for match in matches for folder in families(match.game)}
    sources |= {path for folder in folders for path in folder.rglob("*") if path.parent.name != "__pycache__"}
    if recording is not None and recording.is_file():
        sources.add(recording)
    return blake2b(b"".join(path.read_bytes() for path in sorted(sources) if path.is_file()), digest_size=6).hexdigest()


@click.command()
@options.experiment(required=True)
@options.out(help="A folder; else exports/NAME.")
@options.force
def export(experiment: str, out: str | None, force: bool) -> None:
    """Writes a transcript for other tools."""
    from agon.bridges import jsonl
    from agon.turns import read

    turns = read(transcript_of(experiment))
    name = out or f"exports/{experiment}"
    folder = in_project(name)
    own_folder(name, {path.name for path in folder.glob("*.jsonl")}, force)
    click.echo(f"{display_path(folder)}: {count(jsonl(turns, folder, force), 'match')}")
