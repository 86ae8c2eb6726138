"""When to stop asking: matches come in an order that keeps the test valid, and end once every question is decided.

A block is one match of every condition in the same cell, which is drawn anew each time, each cell with the same chance: so a block's
difference is on average the mean difference over cells. Which conditions play on, and what is decided, follows from the matches in their
order, and so from what is recorded: a run that was killed plays the same matches as one that was not, and decides the same.
"""

import asyncio
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, takewhile
from random import Random
from statistics import fmean

import msgspec
import numpy as np
from numpy.typing import NDArray

from agon.conf import Until, id_name, offered
from agon.errors import AgonError
from agon.games.tables import games_table
from agon.inference.power import sides
from agon.inference.prereg import condition_now
from agon.inference.scores import known, scores
from agon.metrics.sequential import ahead, capital, costs, decided, interval
from agon.models import Model
from agon.models.ledger import Replayed
from agon.plan import Match
from agon.play import Played, play_at_once
from agon.play import table as turns_of
from agon.record.estimate import estimates

TIME = {"input": 0.0, "output": 1.0}
"""In the place of prices, where nothing costs money or some price is not known: tokens received, which take the time."""


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
    models: Mapping[str, Model]
    played: set[str] = field(default_factory=set)
    """The matches that have come to their end."""
    fronts: list[int] = field(default_factory=list)
    """How many blocks each condition is to play before it is looked again what is decided."""
    _values: dict[str, float] = field(default_factory=dict)
    """Match -> its metric, in the range from 0 to 1; absent (nan) where it has none."""
    _prices: dict[str, float] = field(default_factory=dict)
    """Match -> what it took."""
    _new: list[tuple[Match, Played]] = field(default_factory=list)
    """Matches that were not looked at yet."""
    _given: set[str] = field(default_factory=set)
    """Matches that somebody plays, or has played."""
    _step: list[Match] = field(default_factory=list)
    """Matches up to the fronts, beyond those before."""
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    _stopped: bool = False

    def __post_init__(self) -> None:
        if self.until.metric not in (names := [each.name for each in known()]):
            raise AgonError(
                f"there is no metric {self.until.metric!r}: {offered(self.until.metric, names, 'agon list metrics')}"
            )
        self.fronts = [0] * len(self.conditions)
        if not self.blocks:
            raise AgonError(f"until.by={self.until.by}: the first cell that is drawn has no match of some condition")

    @cached_property
    def cells(self) -> dict[tuple[str, ...], dict[str, list[tuple[Match, int]]]]:
        """What all conditions share -> condition -> its matches, and the seat that counts in each."""
        column, _, listed = self.until.by.partition(":")
        asking = any(seat.model for match in self.matches for seat in match.seats)
        found: dict[tuple[str, ...], dict[str, list[tuple[Match, int]]]] = {}
        cell: tuple[str, ...]
        for match in self.matches:
            side = sides(match, asking)[0]
            kept = {"agent": (side.model,), "model": (side.agent,)}[column]
            opponent = "+".join(id_name("agent", each) for each in side.opponent.split("+"))  # cells are drawn as ever
            cell = (match.game.name, match.game.variant, *kept, opponent, side.opponent_model)
            found.setdefault(cell, {}).setdefault(getattr(side, column), []).append((match, side.seat))
        named = {condition_now(column, each) for each in listed.split(",")}
        wanted = sorted(named - {""}) or sorted({each for own in found.values() for each in own})
        shared = {
            cell: {each: own[each] for each in wanted}
            for cell, own in sorted(found.items())
            if all(each in own for each in wanted)
        }
        if len(wanted) < 2 or not shared:
            raise AgonError(
                f"until.by={self.until.by}: {', '.join(wanted) or 'no condition'} share no cell; "
                "conditions are compared in the cells that all of them have"
            )
        return shared

    @property
    def conditions(self) -> list[str]:
        """What is compared."""
        return [*next(iter(self.cells.values()))]

    @cached_property
    def blocks(self) -> list[dict[str, tuple[Match, int]]]:
        """Condition -> match, and the seat that counts; until a cell that is drawn has no more matches."""
        cells, drawn = list(self.cells), list[dict[str, tuple[Match, int]]]()
        dice, used = Random("/".join(map(str, cells))), dict.fromkeys(cells, 0)
        while True:
            cell = dice.choice(cells)
            if used[cell] >= min(map(len, self.cells[cell].values())):
                return drawn
            drawn.append({each: self.cells[cell][each][used[cell]] for each in self.conditions})
            used[cell] += 1

    @cached_property
    def _seats(self) -> dict[str, int]:
        """Match -> the seat that counts."""
        return {match.id: seat for block in self.blocks for match, seat in block.values()}

    @cached_property
    def candidates(self) -> list[Match]:
        """All matches that may be played, in their order."""
        return [match for block in self.blocks for match, _ in block.values()]

    @cached_property
    def questions(self) -> list[tuple[str, str]]:
        """Every two conditions."""
        return list(combinations(self.conditions, 2))

    # ---- what is decided

    def differences(self, first: str, second: str) -> NDArray[np.float64]:
        """The second less the first, in -1 to 1, in all blocks up to the first that is not played; blocks without it are left out."""
        self._look()
        pairs = ((block[first][0].id, block[second][0].id) for block in self.blocks)
        whole = takewhile(self.played.issuperset, pairs)
        found = np.array([self._values[other] - self._values[one] for one, other in whole])
        return found[~np.isnan(found)]

    @property
    def _error(self) -> float:
        """Of one question; their number is paid for (Bonferroni)."""
        return self.until.error / len(self.questions)

    def answers(self) -> list[Answer]:
        """What is decided, question by question."""
        found = []
        low, high = self.until.range
        for first, second in self.questions:
            values = self.differences(first, second)
            n, sign = decided(values, self._error)
            ends = interval(values[:n], self._error)
            found.append(Answer(first, second, n, sign, *(end * (high - low) for end in ends)))
        return found

    def undecided(self) -> list[tuple[str, str]]:
        """The questions that are."""
        return [pair for pair in self.questions if not decided(self.differences(*pair), self._error).sign]

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
        turns, found = turns_of(new), dict[tuple[str, int], float]()
        with suppress(AgonError):  # none has it, as where nothing could be read
            games = games_table([match.game for match, _ in new])
            table = scores(turns, games, [self.until.metric])
            found = {(row[0], row[1]): row[2] for row in table.itertuples(index=False, name=None)}
        sums = turns[["match", "model", "tokens_in", "tokens_out"]].astype({"match": "str", "model": "str"})
        self._prices |= dict.fromkeys((match.id for match, _ in new), 0.0)
        for match_id, model, *tokens in sums.groupby(["match", "model"]).sum().reset_index().itertuples(index=False):
            if model in self._priced:
                self._prices[match_id] += self._priced[model].cost(tokens[0], 0, tokens[1]) or 0.0
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
        play_at_once(self.candidates, models, self.add, [])

    # ---- what comes next

    @cached_property
    def _priced(self) -> dict[str, Model]:
        """The models with what their matches are ordered by: prices, or else TIME."""
        asked = {seat.model for match in self.candidates for seat in match.seats if seat.model}
        own = {name: model for name, model in self.models.items() if name in asked}
        costs = [model.cost(1e6, 0, 1e6) for model in own.values()]
        if None not in costs and any(costs):
            return own
        return {name: replace(model, price=TIME) for name, model in own.items()}

    @cached_property
    def _expected(self) -> NDArray[np.float64]:
        """What a match of each condition is expected to take before any was seen: by the plan alone, so that all runs have the same."""
        first = [[own[each][0][0] for own in self.cells.values()] for each in self.conditions]
        found: dict[tuple[str, str], float | None] = {}
        estimates([match for own in first for match in own], self._priced, usd=found)
        return np.array(
            [fmean(sum(found.get((m.id, name)) or 0.0 for name in self._priced) for m in own) for own in first]
        )

    def _wanted(self) -> list[Match]:
        """The matches up to the fronts that are not played yet; where there is none, it looks again and sets new fronts."""
        while not (left := [match for match in self._step if match.id not in self.played]):
            questions = self.undecided()
            behind = zip(self.conditions, self.fronts, strict=True)
            taken = [[self._prices[block[each][0].id] for block in self.blocks[:front]] for each, front in behind]
            prices = costs(np.array([*map(sum, taken)]), np.array(self.fronts, float), self._expected)
            gains = [
                max((each[-1] for each in capital(self.differences(*pair)) if len(each)), default=0.0)
                for pair in questions
            ]
            places = np.array([[*map(self.conditions.index, pair)] for pair in questions], int).reshape(-1, 2)
            goal, before = float(np.log(2 / self._error)), np.array(self.fronts)
            after = ahead(before, places, np.array(gains), goal, prices, len(self.blocks))
            if (after == before).all():
                return []
            added = zip(self.conditions, before, after, strict=True)
            self._step = [block[each][0] for each, start, end in added for block in self.blocks[start:end]]
            self.fronts = after.tolist()
        return left

    async def next(self, pool: Container[str]) -> Match | None:
        """The next match that is wanted, of those whose ids are in `pool`; waits until there is one; None when there is none any more."""
        while not self._stopped and (wanted := self._wanted()):
            for match in wanted:
                if match.id in pool and match.id not in self._given:
                    self._given.add(match.id)
                    return match
            self._moved.clear()
            await self._moved.wait()
        return None

    def stop(self) -> None:
        """Some match did not come to its end: nobody is to wait for it."""
        self._stopped = True
        self._moved.set()
