"""The record of one match, place by place from its start to its end."""

import functools
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from agon.conf import load
from agon.errors import AgonError
from agon.figures.viewer import Belief, beliefs, forecasts, players
from agon.games import Observation
from agon.games.base import PUBLIC
from agon.games.pages import describe_entry
from agon.models import Model
from agon.replay import Replay, replay_match
from agon.turns import read_games


class HistoryLine(NamedTuple):
    """A line of a seat's history."""

    words: str
    new: bool
    """Whether the seat did not know it at the place before."""


class MatchRecord:
    """A match and its places: each step as it was before anybody acted, in order, and then the end."""

    def __init__(self, turns: pd.DataFrame, path: Path) -> None:
        self.turns = turns
        self.replay: Replay | None = None
        self.why = ""
        """The reason why it cannot be replayed; empty if it can."""
        try:
            self.replay = replay_match(turns, read_games(path))
        except AgonError as error:
            self.why = str(error)
        seats = int(turns.seat.max()) + 1
        self.names = players(self.replay) if self.replay else [f"Player {seat + 1}" for seat in range(seats)]
        self.numbers = [int(turn) for turn in turns.turn.unique()]
        payoffs = turns.pivot_table(index="turn", columns="seat", values="payoff", aggfunc="sum", fill_value=0.0)
        steps = payoffs.reindex(columns=range(len(self.names)), fill_value=0.0).to_numpy()
        self.points = np.vstack([np.zeros(len(self.names)), np.cumsum(steps, axis=0)])
        """Points before every step and at the end, places x seats."""

    @property
    def places(self) -> int:
        """The number of places, the end included."""
        return len(self.numbers) + 1

    def rows(self, place: int) -> list[Any]:
        """The rows of a place; none at the end."""
        return [row for row in self._rows if row.turn == self.numbers[place]] if place < len(self.numbers) else []

    def until(self, place: int) -> list[Any]:
        """All rows up to a place, those of the place included."""
        last = self.numbers[min(place, len(self.numbers) - 1)]
        return [row for row in self._rows if row.turn <= last]

    @functools.cached_property
    def _rows(self) -> list[Any]:
        return list(self.turns.assign(usd=[cost(row) for row in self.turns.itertuples()]).itertuples())

    def view(self, place: int, seat: int) -> Observation | None:
        """The observation of a seat, or PUBLIC, before anybody acts at a place.

        None if the match cannot be replayed.
        """
        if self.replay is None:
            return None
        game, steps = self.replay.game, self.replay.steps
        state = steps[place].state if place < len(steps) else self.replay.state
        if seat == PUBLIC:
            return game.watch(state)
        with suppress(IndexError):  # a game that asks one seat again and again may have nothing to show at its end
            return game.observe(state, seat)
        return game.observe(steps[-1].state, seat)

    def history(self, place: int, seat: int) -> list[HistoryLine]:
        """The history of a seat, or PUBLIC, up to a place, oldest first."""
        view, before = self.view(place, seat), self.view(place - 1, seat) if place else None
        count_before = len(before.past) if before else 0
        if view is None:
            return []
        return [
            HistoryLine(describe_entry(event, view, index, self.names), index >= count_before)
            for index, event in enumerate(view.past)
        ]

    @functools.cached_property
    def beliefs(self) -> list[Belief]:
        """The belief matrices, one for each change."""
        return beliefs(self.turns)

    @functools.cached_property
    def forecasts(self) -> pd.DataFrame:
        """The beliefs in words, one for each change."""
        return forecasts(self.turns, self.names)


def parse_detail(detail: Any) -> dict[str, Any]:
    """The `detail` of a row; empty if there is none."""
    parsed = json.loads(detail) if isinstance(detail, str) else None
    return parsed if isinstance(parsed, dict) else {}


@functools.cache
def _model(name: str) -> Model | None:
    try:
        return load("model", name)
    except AgonError:
        return None


def cost(row: Any) -> float | None:
    """The cost of a row's tokens in USD, by the prices in conf/model and without cache discounts.

    None if tokens or prices are unknown.
    """
    if pd.isna(row.tokens_in) or pd.isna(row.tokens_out):
        return None
    if pd.isna(row.model):
        return 0.0 if not row.tokens_in + row.tokens_out else None
    model = _model(str(row.model))
    return None if model is None else model.cost(int(row.tokens_in), 0, int(row.tokens_out))
