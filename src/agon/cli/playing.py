"""Turns: of matches that are played, and of recorded games that are read."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agon.cli.places import OTHER, Settings, experiment_of, lock_of, same_words, turns_file
from agon.cli.words import bar_of, bill_of
from agon.errors import AgonError, count, visible
from agon.games.base import families
from agon.paths import CODE, ROOT, input_path, shown

if TYPE_CHECKING:
    from pandas import DataFrame

    from agon.plan import Match

MISSING = 12
"""So many lines of matches that are missing."""


def play(settings: Settings) -> None:
    """Plays from scripts and recordings, for nothing.

    experiment=NAME is written to transcripts/NAME.parquet, or to out=FILE. The same command goes on where it was stopped;
    fresh=true plays everything again. partial=true plays the matches that are recorded to their end, and says which are not.
    """
    from filelock import FileLock

    from agon.games.tables import games_table
    from agon.models.ledger import Replayed, Unrecorded
    from agon.play import play as played
    from agon.record.estimate import estimates
    from agon.record.habits import Habits
    from agon.record.misfit import misfit
    from agon.turns import in_cells, write, write_games

    name, matches, models, recording = experiment_of(settings)
    out = turns_file(settings, name)
    lacking: list[Match] | None = [] if settings["partial"] else None
    if settings["partial"] and settings["executor"]["name"] == "dask":
        raise AgonError("partial=true plays here, from the recording, and needs no workers: leave executor=dask out")
    answering = {each: Replayed(each, model.identity, recording, model.room) for each, model in models.items()}
    journal = ROOT / ".agon/played" / name / _code(matches, recording.path if models else None)
    with FileLock(lock_of(f"play-{name}"), timeout=-1):  # without a limit: however another one ends, it lets go
        if settings["fresh"]:
            shutil.rmtree(journal.parent, ignore_errors=True)
        with bar_of(len(matches)) as bar:
            try:
                if settings["executor"]["name"] == "dask":
                    from agon.bridges import dask as scale

                    turns = scale.play(matches, answering, settings["executor"], bar.update)
                else:
                    at_once = settings["concurrency"] or 8
                    turns = played(matches, journal, answering, concurrency=at_once, tick=bar.update, lacking=lacking)
            except Unrecorded as error:
                why = misfit(matches, models, recording)
                price = bill_of(estimates(matches, models, recording, Habits(ROOT / "data/recordings")))
                raise AgonError(
                    f"{error}: {why and f'{why}; '}`dvc pull data.dvc` fetches what was recorded; "
                    f"{f'python -m agon record {same_words()}'.rstrip()} would record what is missing, for {price}"
                    + ("; partial=true plays what is whole" if lacking is None else "")
                ) from None
        if cells := {(match.id, seat): match.cell for match in matches for seat in match.subjects}:
            turns = in_cells(turns, cells)
        if lacking:
            turns = _some(turns, len(matches), out, settings["force"])
        games = games_table([match.game for match in matches], [match.settings for match in matches])
        write_games(games, out)
        write(turns, out)
        for old in set(journal.parent.glob("*/")) - {journal}:
            shutil.rmtree(old, ignore_errors=True)
    if lacking:
        click.echo(f"PARTIAL: {len(lacking):,} of {count(len(matches), 'match')} not recorded to the end:")
        _list(lacking, matches)
    whole = len(matches) - len(lacking or ())
    click.echo(f"{shown(out)}: {count(whole, 'match')}, {count(len(turns), 'turn')}{_void(turns)}")


def _void(turns: DataFrame) -> str:
    """In words, how many decisions have no action, and why the last answers to them ended; empty where all have one."""
    from agon.turns import CUT

    void = turns[turns.asked & turns.action.isna()]
    cut = [f"{number:,} {words}" for end, words in CUT.items() if (number := int(void.ended.eq(end).sum()))]
    return (
        f"; {len(void):,} of {count(int(turns.asked.sum()), 'decision')} void{''.join(f', {each}' for each in cut)}"
        if len(void)
        else ""
    )


def _some(turns: DataFrame, planned: int, out: Path, force: bool) -> DataFrame:
    """The turns of an experiment that lacks matches, named so. Raises AgonError where a whole table is."""
    from agon.turns import marked_partial, partial, read

    if out.exists() and not force and not partial(read(out, ["experiment"])):
        raise AgonError(f"{shown(out)} is of matches that are all whole: {OTHER}")
    return marked_partial(turns, planned)


def _list(lacking: Sequence[Match], matches: Sequence[Match]) -> None:
    """Says which matches are missing, by game and players; the first so many."""

    def kind(match: Match) -> str:
        players = " against ".join(f"{seat.agent}@{seat.model}" if seat.model else seat.agent for seat in match.seats)
        return f"{match.game.name} {match.game.variant}: {players}"

    planned, missing = Counter(map(kind, matches)), Counter(map(kind, lacking))
    for each, number in list(missing.items())[:MISSING]:
        click.echo(visible(f"  {each}: {number:,} of {planned[each]:,}"))
    if len(missing) > MISSING:
        click.echo(f"  and {count(len(missing) - MISSING, 'more such line')}")


def _code(matches: Sequence[Match], recording: Path | None) -> str:
    """A hash of the code, other files and answers that decide what a match becomes: a journal of others is not gone on with."""
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


def ingest(settings: Settings) -> int:
    """Reads recorded games of a paper into turns.

    source=S path=P is written to transcripts/S.parquet, or to out=FILE. Exit code 3: files that could not be read are listed.
    """
    from agon.conf import expand_settings, games, settings_of
    from agon.games.tables import games_table
    from agon.ingest import ingest as ingested
    from agon.turns import write, write_games

    out = turns_file(settings, settings["source"])
    names = expand_settings(settings["recorded"].get(settings["source"], []))
    held = games(names)
    found = ingested(settings["source"], input_path(settings["path"] or f"data/published/{settings['source']}"), held)
    for bad in found.bad:
        click.echo(visible(f"bad: {bad.path}: {bad.reason}").replace("\n", "\\n"), err=True)
    if not found.matches:
        raise AgonError(f"no match in {visible(settings['path'])} could be read: {count(len(found.bad), 'bad file')}")
    write_games(games_table(held, [settings_of("game", name) for name in names]), out)
    write(found.turns, out)
    click.echo(
        f"{shown(out)}: {count(found.matches, 'match')}, {count(len(found.turns), 'turn')}; {count(len(found.bad), 'bad file')}"
    )
    return 3 if found.bad else 0
