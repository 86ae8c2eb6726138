"""The verb play, which makes turns."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agon.cli.places import (
    OTHER,
    Settings,
    experiment_of,
    lock_of,
    require_own_file,
    same_words,
    say_differences,
    turns_file,
)
from agon.cli.words import bar_of, bill_of
from agon.errors import AgonError, count, visible
from agon.games.base import families
from agon.paths import CODE, ROOT, display_path

if TYPE_CHECKING:
    from pandas import DataFrame

    from agon.plan import Match

MISSING = 12
"""Largest number of lines about incomplete matches."""


def play(settings: Settings) -> None:
    """Plays scripts and recordings, at no cost.

    experiment=NAME is written to transcripts/NAME.parquet, or to out=FILE. If it stops, the same command continues.
    fresh=true plays everything again. partial=true plays the matches that are completely recorded, and names the
    others.
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
    say_differences(matches, models, recording)
    incomplete: list[Match] | None = [] if settings["partial"] else None
    replayed = {
        model_name: Replayed(model_name, model.identity, recording, model.room) for model_name, model in models.items()
    }
    journal = ROOT / ".agon/played" / name / _hash_of_code(matches, recording.path if models else None)
    with FileLock(lock_of(f"play-{name}"), timeout=-1):  # no limit: another command frees the lock however it ends
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
                    f"{f'python -m agon record {same_words()}'.rstrip()} would record the rest, for {price}"
                    + ("; partial=true plays the complete matches" if incomplete is None else "")
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
        raise AgonError(f"{display_path(out)} has only complete matches: {OTHER}")
    return mark_partial(turns, total)


def _print_incomplete(incomplete: Sequence[Match], matches: Sequence[Match]) -> None:
    """Prints the incomplete matches, by game and players, up to MISSING lines."""

    def kind(match: Match) -> str:
        players = " against ".join(map(str, match.seats))
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
