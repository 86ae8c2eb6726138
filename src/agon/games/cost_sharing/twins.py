"""For twins of cost sharing (agon_twins.family): what is fair."""

from collections.abc import Callable, Mapping
from operator import sub
from random import Random
from typing import Any

from agon.games import Game, Observation
from agon.games.cost_sharing.scripts import proportional, shapley

AMOUNTS = frozenset({"fee", "carries"})
BY_SEAT = frozenset({"airlines", "names", "propose"})


def solutions(game: Game[Any]) -> dict[str, Any]:
    """For each airline: its Shapley value (percent, and `carries` in units of the fee) and its share by use; who carries most."""
    rules = game.observe(game.start(Random(0)), 0).rules
    names = [airline.name for airline in rules.airlines]
    shares = dict(zip(names, shapley(rules.airlines), strict=True))
    return {
        "shapley": shares,
        "proportional": dict(zip(names, proportional(rules.airlines), strict=True)),
        "carries": {name: float(rules.fee * share / 100) for name, share in shares.items()},
        "carries most": max(names, key=shares.__getitem__),
    }


def solver(game: Game[Any]) -> Callable[[Observation], Mapping[Any, float]]:
    """A player that proposes the Shapley value (percent, four digits) and votes for the proposal nearest to it.

    Equally near proposals are equally likely.
    """

    def mix(view: Observation) -> Mapping[Any, float]:
        fair = shapley(view.rules.airlines)
        if view.phase == "propose":
            return {tuple(round(share, 4) for share in fair): 1.0}
        proposals = {
            event.seat: event.value for event in view.past if event.phase == "propose" and event.value is not None
        }
        distances = {seat: round(sum(map(abs, map(sub, shares, fair))), 6) for seat, shares in proposals.items()}
        nearest = [view.rules.players[seat] for seat in distances if distances[seat] == min(distances.values())]
        return dict.fromkeys(nearest, 1 / max(1, len(nearest)))

    return mix
