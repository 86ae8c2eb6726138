"""Plays many matches, one after another or several at a time, and writes them to disk while it plays."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic

import pandas as pd

from agon.errors import AgonError, count
from agon.models import Answering
from agon.models.ledger import Unrecorded
from agon.plan import Match
from agon.play.match import Trajectory, play_async, play_instantly, play_now
from agon.play.rows import merge_turns, turns_table
from agon.turns import read, write


def play(
    matches: Sequence[Match],
    journal: Path,
    models: Mapping[str, Answering] | None = None,
    *,
    concurrency: int = 8,
    tick: Callable[[int], object] = lambda n: None,
    lacking: list[Match] | None = None,
) -> pd.DataFrame:
    """The turns of `matches`, in their order. Every few seconds it writes the matches that have ended to the folder `journal`.

    It does not play again the matches in the journal, so a killed run goes on where it was. It calls `tick` with the number
    of matches that were added. Scripts and recorded models play without waiting; other players play `concurrency` matches
    at a time. A match that is not recorded to its end goes to `lacking`, and has no turns. Raises Unrecorded for such a match
    if there is no list `lacking`, or if no match at all is recorded to its end; and AgonError and Halted as `play_async` does.
    """
    answering = models or {}
    parts = [part for part in map(_part, sorted(journal.glob("*.parquet"))) if part is not None]
    played_ids = {match for part in parts for match in part.match.cat.categories}
    tick(sum(match.id in played_ids for match in matches))
    at_once: list[Match] = []
    slow: list[Match] = []
    for match in matches:
        if match.id not in played_ids:
            asked = [answering.get(seat.model or "") for seat in match.seats if not seat.immediate]
            (at_once if all(model and model.instant for model in asked) else slow).append(match)
    journal_writer = _Journal(journal, parts, tick)
    try:
        play_at_once(at_once, answering, journal_writer.add, lacking)
        if slow:
            asyncio.run(_play_slow(slow, answering, concurrency, journal_writer.add, lacking))
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        journal_writer.flush()  # matches that ended before an error are written too
    if lacking and len(lacking) == len(matches):
        raise Unrecorded(
            f"of {count(len(matches), 'match')} none is recorded to its end: with concurrency=1 they are recorded one after another"
        )
    return merge_turns(parts, [match.id for match in matches])


def play_at_once(
    matches: Iterable[Match],
    models: Mapping[str, Answering],
    done: Callable[[Match, Trajectory], None],
    lacking: list[Match] | None = None,
) -> None:
    """Plays matches whose players never wait, without an event loop, and calls `done` with each match and its trajectory.

    Matches that are not recorded to their end go to `lacking`. Raises Unrecorded for them if there is no such list, and AgonError for
    an agent that waits. Repetitions that follow each other share one trajectory, if they are between scripts and nobody throws dice.
    """
    last: tuple[Match, Trajectory] | None = None
    for match in matches:
        if last and last[1].fixed and match.game is last[0].game and match.seats is last[0].seats:
            done(match, last[1])
            continue
        if all(seat.immediate for seat in match.seats):
            last = match, play_now(match)
            done(*last)
            continue
        try:
            trajectory = play_instantly(match, models)
        except Unrecorded:
            if lacking is None:
                raise
            lacking.append(match)
        else:
            done(match, trajectory)


async def _play_slow(
    matches: Iterable[Match],
    models: Mapping[str, Answering],
    concurrency: int,
    done: Callable[[Match, Trajectory], None],
    lacking: list[Match] | None,
) -> None:
    waiting = iter(matches)

    async def worker() -> None:
        for match in waiting:
            try:
                done(match, await play_async(match, models))
            except Unrecorded:
                if lacking is None:
                    raise
                lacking.append(match)

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())


class _Journal:
    """Writes matches to disk in parts: once `matches` of them wait, or `seconds` have passed."""

    matches, seconds = 1000, 2.0  # checking and writing a part takes long, however few matches it has

    def __init__(self, folder: Path, parts: list[pd.DataFrame], tick: Callable[[int], object]) -> None:
        self.folder, self.parts, self.tick = folder, parts, tick
        self.waiting: list[tuple[Match, Trajectory]] = []
        self.since = monotonic()

    def add(self, match: Match, steps: Trajectory) -> None:
        """Adds a match that has ended."""
        self.waiting.append((match, steps))
        if len(self.waiting) >= self.matches or monotonic() - self.since > self.seconds:
            self.flush()

    def flush(self) -> None:
        """Writes the waiting matches."""
        if self.waiting:
            part = turns_table(self.waiting)
            write(part, self.folder / f"{self.waiting[0][0].id}-{len(self.waiting)}-{os.getpid()}.parquet")
            self.parts.append(part)
            self.tick(len(self.waiting))
        self.waiting, self.since = [], monotonic()


def _part(path: Path) -> pd.DataFrame | None:
    try:
        return read(path)
    except AgonError:  # damaged, or of an older agon: its matches are played again, and nothing is asked again
        path.unlink()
        return None
