"""When to stop asking: matches come in an order that keeps the test valid, and end once every question is decided.

A block is one match of every condition in the same cell, which is drawn anew each time, each cell with the same chance: so a block's
difference is on average the mean difference over cells. What was decided is a function of the matches in their order, and so of what
is recorded: a run that was killed goes on and decides the same.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, takewhile
from random import Random

import msgspec
import numpy as np
from numpy.typing import NDArray

from agon import AgonError
from agon.compare import known, scores
from agon.conf import Until, offered
from agon.design import sides
from agon.metrics.sequential import decided, interval
from agon.models.ledger import Replayed
from agon.plan import Match
from agon.play import Played, play_at_once
from agon.play import table as turns_of

AHEAD = 4
"""Blocks that are played before it is looked again whether all is decided."""


class Answer(msgspec.Struct, frozen=True):
    """A question, and what the matches say of it."""

    first: str
    second: str
    blocks: int
    """That it took, or that there are."""
    sign: int
    """Of the second condition less the first: 1, -1, or 0 where it is undecided."""
    low: float
    """Of the difference, at any time (1 - error), for all questions together."""
    high: float

    def __str__(self) -> str:
        """In words."""
        told = {1: "more than", -1: "less than", 0: "undecided against"}[self.sign]
        return f"{self.second} {told} {self.first} after {self.blocks:,} blocks (difference {self.low:+.3g} to {self.high:+.3g})"


@dataclass
class Order:
    """The matches of a plan in blocks, and what those played so far have decided. Raises AgonError for a question they cannot answer."""

    matches: Sequence[Match]
    until: Until
    played: set[str] = field(default_factory=set)
    """The matches that have come to their end."""
    _values: dict[str, float] = field(default_factory=dict)
    """Match -> its metric, in the range from 0 to 1; absent (nan) where it has none."""
    _new: list[tuple[Match, Played]] = field(default_factory=list)
    """Matches that were not looked at yet."""
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    _stopped: bool = False
    _looked: int = -1
    """The first block that was not whole when it was looked last."""
    _wanted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.until.metric not in (names := [each.name for each in known()]):
            raise AgonError(
                f"there is no metric {self.until.metric!r}: {offered(self.until.metric, names)} (agon list metrics)"
            )
        if not self.blocks:
            raise AgonError(f"until.by={self.until.by}: the first cell that is drawn has no match of some condition")

    @cached_property
    def blocks(self) -> list[dict[str, tuple[Match, int]]]:
        """Condition -> match, and the seat that counts; until a cell that is drawn has no more matches."""
        column, _, listed = self.until.by.partition(":")
        asking = any(seat.model for match in self.matches for seat in match.seats)
        found: dict[tuple[str, ...], dict[str, list[tuple[Match, int]]]] = {}
        cell: tuple[str, ...]
        for match in self.matches:
            side = sides(match, asking)[0]
            kept = {"agent": (side.model,), "model": (side.agent,)}[column]
            cell = (match.game.name, match.game.variant, *kept, side.opponent, side.opponent_model)
            found.setdefault(cell, {}).setdefault(getattr(side, column), []).append((match, side.seat))
        wanted = sorted(set(listed.split(",")) - {""}) or sorted({each for own in found.values() for each in own})
        shared = {cell: own for cell, own in sorted(found.items()) if all(each in own for each in wanted)}
        if len(wanted) < 2 or not shared:
            raise AgonError(
                f"until.by={self.until.by}: {', '.join(wanted) or 'no condition'} share no cell; "
                "conditions are compared in the cells that all of them have"
            )
        cells, drawn = list(shared), list[dict[str, tuple[Match, int]]]()
        dice, used = Random("/".join(map(str, cells))), dict.fromkeys(cells, 0)
        while True:
            cell = dice.choice(cells)
            if used[cell] >= min(len(shared[cell][each]) for each in wanted):
                return drawn
            drawn.append({each: shared[cell][each][used[cell]] for each in wanted})
            used[cell] += 1

    @cached_property
    def _seats(self) -> dict[str, int]:
        """Match -> the seat that counts."""
        return {match.id: seat for block in self.blocks for match, seat in block.values()}

    @cached_property
    def place(self) -> dict[str, int]:
        """Match -> its block."""
        return {match.id: place for place, block in enumerate(self.blocks) for match, _ in block.values()}

    @property
    def ordered(self) -> list[Match]:
        """All matches that may be played, in their order."""
        return list({match.id: match for block in self.blocks for match, _ in block.values()}.values())

    @property
    def questions(self) -> list[tuple[str, str]]:
        """Every two conditions."""
        return list(combinations(self.blocks[0], 2)) if self.blocks else []

    def differences(self, first: str, second: str) -> NDArray[np.float64]:
        """The second less the first, in -1 to 1, in all blocks up to the first that is not played; blocks without it are left out."""
        self._look()
        pairs = ((block[first][0].id, block[second][0].id) for block in self.blocks)
        whole = takewhile(lambda pair: self.played.issuperset(pair), pairs)
        known = np.array([self._values[other] - self._values[one] for one, other in whole])
        return known[~np.isnan(known)]

    def answers(self) -> list[Answer]:
        """What is decided, question by question; their number is paid for (Bonferroni)."""
        error, found = self.until.error / len(self.questions), []
        low, high = self.until.range
        for first, second in self.questions:
            values = self.differences(first, second)
            n, sign = decided(values, error)
            ends = interval(values[:n], error)
            found.append(Answer(first, second, n, sign, *(end * (high - low) for end in ends)))
        return found

    def wanted(self) -> set[str]:
        """The conditions of which some question is undecided."""
        error = self.until.error / len(self.questions)
        undecided = [pair for pair in self.questions if not decided(self.differences(*pair), error).sign]
        return {each for pair in undecided for each in pair}

    def add(self, match: Match, played: Played) -> None:
        """A match has come to its end."""
        self.played.add(match.id)
        self._new.append((match, played))
        self._moved.set()

    def _look(self) -> None:
        """Measures what is new, all together. Raises AgonError where a metric lies outside of its range."""
        if not self._new:
            return
        new, self._new = self._new, []
        found: dict[tuple[str, int], float] = {}
        with suppress(AgonError):  # none has it, as where nothing could be read
            table = scores(turns_of(new), [self.until.metric])
            found = {(row[0], row[1]): row[2] for row in table.itertuples(index=False, name=None)}
        low, high = self.until.range
        for match, _ in new:
            value = found.get((match.id, self._seats[match.id]), np.nan)
            if not np.isnan(value) and not low <= value <= high:
                raise AgonError(
                    f"match {match.id} has {self.until.metric} {value:g}, outside of until.range=[{low:g}, {high:g}]: "
                    "the test needs a range that holds all values"
                )
            self._values[match.id] = (value - low) / (high - low)

    def recorded(self, models: Mapping[str, Replayed]) -> None:
        """Takes in what is recorded."""
        play_at_once(self.ordered, models, self.add, [])

    async def turn(self, match: Match) -> bool:
        """Waits until it is a match's turn; whether it is wanted."""
        mine = next(each for each, own in self.blocks[self.place[match.id]].items() if own[0].id == match.id)
        while not self._stopped and match.id not in self.played:
            front = self._front()
            if self._looked < 0 or front >= min(self._looked + AHEAD, len(self.blocks)):
                self._wanted, self._looked = self.wanted(), self._front()
            if mine not in self._wanted:
                return False
            if self.place[match.id] < self._looked + AHEAD:
                return True
            if self._front() < self._looked + AHEAD:
                self._moved.clear()
                await self._moved.wait()
        return False

    def stop(self) -> None:
        """Some match did not come to its end: nobody is to wait for it."""
        self._stopped = True
        self._moved.set()

    def _front(self) -> int:
        """The first block that some condition which is still wanted has not played."""
        wanted = self._wanted if self._looked >= 0 else set(self.blocks[0])
        whole = (all(block[each][0].id in self.played for each in wanted) for block in self.blocks)
        return next((place for place, each in enumerate(whole) if not each), len(self.blocks))
