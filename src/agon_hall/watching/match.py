"""One match, ready to be looked at from its start to its end: as a researcher sees it, and as the public does."""

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
from agon.games.pages import news
from agon.models import Model
from agon.replay import Replay, replayed
from agon.turns import read_games


class Told(NamedTuple):
    """Something that somebody has come to know."""

    words: str
    new: bool
    """Whether it was not known at the place before."""


class Watched:
    """All of a match. Places are its steps, in order, each as it was before anybody acted, and then its end."""

    def __init__(self, turns: pd.DataFrame, path: Path) -> None:
        self.turns = turns
        self.replay: Replay | None = None
        self.why = ""
        """Why it cannot be replayed; empty where it can."""
        try:
            self.replay = replayed(turns, read_games(path))
        except AgonError as error:
            self.why = str(error)
        seats = int(turns.seat.max()) + 1
        self.named = players(self.replay) if self.replay else [f"Player {seat + 1}" for seat in range(seats)]
        self.numbers = [int(turn) for turn in turns.turn.unique()]
        paid = turns.pivot_table(index="turn", columns="seat", values="payoff", aggfunc="sum", fill_value=0.0)
        steps = paid.reindex(columns=range(len(self.named)), fill_value=0.0).to_numpy()
        self.points = np.vstack([np.zeros(len(self.named)), np.cumsum(steps, axis=0)])
        """Before every step and at the end, by seat."""

    @property
    def places(self) -> int:
        """How many there are, the end included."""
        return len(self.numbers) + 1

    def rows(self, place: int) -> list[Any]:
        """Who was asked or paid at a place; nobody at the end."""
        return [row for row in self._rows if row.turn == self.numbers[place]] if place < len(self.numbers) else []

    def until(self, place: int) -> list[Any]:
        """All rows up to a place, its own included."""
        last = self.numbers[min(place, len(self.numbers) - 1)]
        return [row for row in self._rows if row.turn <= last]

    @functools.cached_property
    def _rows(self) -> list[Any]:
        return list(self.turns.assign(usd=[cost(row) for row in self.turns.itertuples()]).itertuples())

    def view(self, place: int, seat: int) -> Observation | None:
        """What a seat, or PUBLIC, knows at a place, before anybody acts there. None where the match cannot be replayed."""
        if self.replay is None:
            return None
        game, steps = self.replay.game, self.replay.steps
        state = steps[place].state if place < len(steps) else self.replay.state
        if seat == PUBLIC:
            return game.watch(state)
        with suppress(IndexError):  # a game that asks one seat again and again may have nothing to show at its end
            return game.observe(state, seat)
        return game.observe(steps[-1].state, seat)

    def told(self, place: int, seat: int) -> list[Told]:
        """What a seat, or PUBLIC, has been told up to a place, oldest first."""
        view, before = self.view(place, seat), self.view(place - 1, seat) if place else None
        known = len(before.past) if before else 0
        if view is None:
            return []
        return [Told(news(each, view, at, self.named), at >= known) for at, each in enumerate(view.past)]

    @functools.cached_property
    def public(self) -> "Public":
        """The same for the public."""
        return Public(self)

    @functools.cached_property
    def beliefs(self) -> list[Belief]:
        """The matrices of players that keep beliefs, where they changed."""
        return beliefs(self.turns)

    @functools.cached_property
    def forecasts(self) -> pd.DataFrame:
        """Beliefs in words, where they changed."""
        return forecasts(self.turns, self.named)


class Public:
    """What anybody may know of a match, fact by fact: how many steps lie between two facts is not told, nor who was asked.

    Settings open with clues that the table says for seats, and whom it does not ask tells who is under test.
    """

    def __init__(self, watched: Watched) -> None:
        self.named = watched.named
        self.views: list[Observation] = []
        """What is known when the first 0, 1, 2 ... facts are."""
        for place in range(watched.places if watched.replay else 0):
            view = watched.view(place, PUBLIC)
            assert view is not None
            self.views += [
                view._replace(past=view.past[:known]) for known in range(len(self.views), len(view.past) + 1)
            ]

    def told(self, place: int) -> list[Told]:
        """The facts known at a place; the last one is new."""
        view = self.views[place]
        return [Told(news(each, view, at, self.named), at + 1 == len(view.past)) for at, each in enumerate(view.past)]


def held(detail: Any) -> dict[str, Any]:
    """A row's `detail`; empty where there is none."""
    found = json.loads(detail) if isinstance(detail, str) else None
    return found if isinstance(found, dict) else {}


@functools.cache
def _model(name: str) -> Model | None:
    try:
        return load("model", name)
    except AgonError:
        return None


def cost(row: Any) -> float | None:
    """USD that a row's tokens cost by today's conf/model, without what caches saved. None where tokens or prices are unknown."""
    if pd.isna(row.tokens_in) or pd.isna(row.tokens_out):
        return None
    if pd.isna(row.model):
        return 0.0 if not row.tokens_in + row.tokens_out else None
    model = _model(str(row.model))
    return None if model is None else model.cost(int(row.tokens_in), 0, int(row.tokens_out))
