"""For twins of the public good (agon_twins.family): the best contributions of players who maximise their points."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from agon.games import Game, Observation

AMOUNTS = frozenset({"endowment", "contribute", "overspend", "alone", "together", "payoffs"})
POINTS = frozenset({"worth"})


def solutions(game: Game[Any]) -> dict[str, Any]:
    """The dominant contribution (`alone`), the best one if all make it (`together`), and the payoffs of both (`worth`, points).

    Payoffs are linear in contributions. So nothing is best, or everything; or all contributions pay the same ("anything").
    Both are computed by playing: one seat contributes nothing or everything while the others contribute nothing, then all
    contribute the same.
    """
    legal: Any = game.legal_actions(game.start(Random(0)), 0)
    maximum = range(legal.low, legal.high + 1, legal.step)[-1]
    others = game.seats - 1
    nothing, one, everything = (
        _first_seat_payoff(game, puts)
        for puts in ([0] * (others + 1), [maximum] + [0] * others, [maximum] * (others + 1))
    )
    return {
        "alone": _better(maximum, one - nothing),
        "together": _better(maximum, everything - nothing),
        "worth": {"nothing": nothing, "everything": everything},
    }


def _better(maximum: int, gain: float) -> Any:
    return "anything" if abs(gain) < 1e-9 else float(maximum if gain > 0 else 0)


def _first_seat_payoff(game: Game[Any], puts: list[int]) -> float:
    """The first seat's payoff (points) where the seats contribute `puts` in round 1 and nothing later."""
    state, total = game.start(Random(0)), 0.0
    while seats := game.to_move(state):
        state, payoffs = game.step(state, dict(zip(seats, puts, strict=True)))
        total, puts = total + payoffs[0], [0] * game.seats
    return total


def solver(game: Game[Any]) -> Callable[[Observation], Mapping[int, float]]:
    """A player that contributes what is best for itself: nothing, all of its remaining points, or anything.

    It has no answer where fewer contributions are legal than there are seats.
    """
    alone = solutions(game)["alone"]

    def mix(view: Observation) -> Mapping[int, float]:
        legal = view.legal
        amounts = range(legal.low, legal.high + 1, legal.step)
        if len(amounts) < game.seats:
            return {}
        best = amounts if alone == "anything" else [amounts[-1 if alone else 0]]
        return dict.fromkeys(best, 1 / len(best))

    return mix
