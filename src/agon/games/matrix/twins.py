"""For twins of normal-form games (agon_twins.family): their restatement, and the solutions of one round."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from agon.games import Game, Observation
from agon.games.base import NormalForm
from agon.games.equilibria import best_replies, equilibria
from agon.games.matrix.game import MatrixGame
from agon.games.matrix.metrics import security
from agon.games.matrix.scripts import favourites

POINTS = frozenset({"secured"})

Mixed = frozenset[tuple[str, str, Any]]


def restated(game: MatrixGame, map: Any) -> tuple[MatrixGame, Any]:
    """A game with reordered options, exchanged seats and scaled payoffs, and the rest of the map: its words."""
    options = map.by_seats([map.reorder(own) for own in game.action_sets])

    def table(profile: tuple[str, ...]) -> Any:
        if len(profile) < game.seats:
            return [table((*profile, option)) for option in options[len(profile)]]
        return map.map_payoffs(game.payoffs([profile[map.seat(seat)] for seat in range(game.seats)]))

    rest = replace(map, seats=(), names=(), order=(), factor=1, shift=0)
    return replace(game, options=options, payoff=table(())), rest


def solutions(game: Game[Any]) -> dict[str, Any]:
    """Equilibria as (player, option, probability), best replies to each profile of the others, and security levels of two players."""
    form = game.normal_form
    assert form is not None
    result: dict[str, Any] = {
        "equilibria": _equilibria(form, game.players),
        "best replies": _replies(form, game.players),
    }
    if form.seats == 2:
        result["secured"] = {player: _security_level(form, seat) for seat, player in enumerate(game.players)}
    return result


def _equilibria(form: NormalForm, players: tuple[str, ...]) -> frozenset[Mixed]:
    solution = equilibria(form)
    return frozenset(
        frozenset(
            (player, option, weight if solution.exact else round(float(weight), 6))
            for player, own, mix in zip(players, form.action_sets, profile, strict=True)
            for option, weight in zip(own, mix, strict=True)
            if weight
        )
        for profile in solution.profiles
    )


def _replies(form: NormalForm, players: tuple[str, ...]) -> Mapping[Any, frozenset[str]]:
    replies = {}
    for seat, player in enumerate(players):
        rest = [other for other in range(form.seats) if other != seat]
        for others in product(*(form.action_sets[other] for other in rest)):
            mixes = [(0,) * len(own) for own in form.action_sets]
            for other, action in zip(rest, others, strict=True):
                mixes[other] = tuple(int(action == option) for option in form.action_sets[other])
            key = frozenset((players[other], action) for other, action in zip(rest, others, strict=True))
            replies[player, key] = frozenset(best_replies(form, seat, mixes))
    return replies


def _security_level(form: NormalForm, seat: int) -> float:
    """The seat's security level (points): its maximin payoff (von Neumann 1928)."""
    own, others = form.action_sets[seat], form.action_sets[1 - seat]
    pairs = [[(action, other)[:: 1 - 2 * seat] for other in others] for action in own]
    return security(np.array([[float(form.payoffs(pair)[seat]) for pair in row] for row in pairs]))[1]


def solver(game: Game[Any]) -> Callable[[Observation], Mapping[str, float]]:
    """A player of the one-shot equilibrium that pays its seat most; of several such equilibria it plays the mean."""
    return lambda view: _favourite(view.rules, view.seat)


@cache
def _favourite(form: Any, seat: int) -> Mapping[str, float]:
    profiles = favourites(form, seat)
    return {
        option: share
        for place, option in enumerate(form.action_sets[seat])
        if (share := float(sum(profile[seat][place] for profile in profiles) / len(profiles)))
    }
