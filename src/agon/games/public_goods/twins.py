"""For twins of the public good (agon_twins.family): what solves it, for players who want as many points as they can get."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from agon.games import Game, Observation

AMOUNTS = frozenset({"endowment", "contribute", "overspend", "alone", "together", "payoffs"})
POINTS = frozenset({"worth"})


def solutions(game: Game[Any]) -> dict[str, Any]:
    """What to put in, whatever the others do (`alone`), and what is best for all if all do it (`together`); what that is worth.

    Payoffs are linear in what is put in, so that nothing, everything or, where it makes no difference, anything is best.
    Both are found by playing: a seat puts in nothing or everything while the others put in nothing, then all do the same.
    """
    legal = game.legal_actions(game.start(Random(0)), 0)
    maximum: Any = max(legal.listed() or ())
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
    """What the first seat gets where each puts in so much, at once."""
    state, total = game.start(Random(0)), 0.0
    while seats := game.to_move(state):
        state, payoffs = game.step(state, dict(zip(seats, puts, strict=True)))
        total, puts = total + payoffs[0], [0] * game.seats
    return total


def solver(game: Game[Any]) -> Callable[[Observation], Mapping[int, float]]:
    """Who puts in what is best for itself: nothing, or all that it has left, or anything; no answer where too little is left to tell."""
    alone = solutions(game)["alone"]

    def mix(view: Observation) -> Mapping[int, float]:
        legal = view.legal
        amounts = range(legal.low, legal.high + 1, legal.step)
        if len(amounts) < game.seats:
            return {}
        best = amounts if alone == "anything" else [amounts[-1 if alone else 0]]
        return dict.fromkeys(best, 1 / len(best))

    return mix
