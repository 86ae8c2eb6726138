"""How scripts share a cost: standards of fairness for an airport's fee, proposals that concede, votes that converge."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

from agon.errors import require_choice
from agon.games import Dice, Observation
from agon.games.cost_sharing.game import SIZES, Airline

STEP = 5
"""Percent: proposals are multiples of it."""

Shares = tuple[float, ...]


def proportional(airlines: Sequence[Airline]) -> Shares:
    """Shares (percent) by use: the mean of an airline's shares of all flights and of all passengers."""
    flights, passengers = _percentages([a.flights for a in airlines]), _percentages([a.passengers for a in airlines])
    return tuple((by_flights + by_people) / 2 for by_flights, by_people in zip(flights, passengers, strict=True))


def shapley(airlines: Sequence[Airline]) -> Shares:
    """The Shapley value of the airport game, a flight being a player. Littlechild and Owen (1973), in percent.

    A runway for small aircraft is taken to cost 1, for medium ones 2, for large ones 3. All flights share the first part
    equally, all but the small ones the second, and so on; an airline pays for its flights.
    """
    shares = [0.0] * len(airlines)
    for size in range(1, len(SIZES) + 1):
        using = [a.flights if SIZES.index(a.aircraft) + 1 >= size else 0 for a in airlines]
        if any(using):
            shares = [share + flights / sum(using) for share, flights in zip(shares, using, strict=True)]
    return _percentages(shares)


Standard = Literal["proportional", "shapley"]
STANDARDS: dict[Standard, Callable[[Sequence[Airline]], Shares]] = {"proportional": proportional, "shapley": shapley}


def reference(
    view: Observation, dice: Dice, *, standard: Standard = "shapley", greed: float = 0.5, patience: int = 3
) -> Any:
    """The reference player: a proposal or a vote.

    Its proposal lies between the fair division by its `standard` and the division by use that is cheapest for itself.
    It starts `greed` of the way towards the cheapest, and concedes an equal step every round; in round `patience` it
    proposes the fair one. It votes for the proposal nearest to its own; from round `patience` on for the one nearest to
    the mean of all, so that players of this kind agree. Raises ValueError for a `standard` that is none of STANDARDS.
    """
    airlines, own_seat = view.rules.airlines, view.seat
    target = target_shares(airlines, own_seat, standard, greed * max(0.0, 1 - (view.round - 1) / max(1, patience - 1)))
    if view.phase == "propose":
        return round_shares(target)
    table = {event.seat: event.value for event in view.past if event.phase == "propose"}  # the last of each seat
    proposals = {seat: shares for seat, shares in table.items() if shares is not None}
    if not proposals:
        return view.legal.options[own_seat]
    if view.round >= patience:
        target = tuple(sum(column) / len(proposals) for column in zip(*proposals.values(), strict=True))
    return view.legal.options[min(proposals, key=lambda seat: (_distance(proposals[seat], target), seat))]


@cache
def target_shares(airlines: tuple[Airline, ...], seat: int, standard: Standard, greed: float) -> Shares:
    """The division that the airline at `seat` wants: `greed` of the way from the fair one to the cheapest for itself."""
    require_choice("standard", standard, Standard)
    fair = STANDARDS[standard](airlines)
    by_use = [
        fair,
        _percentages([a.flights for a in airlines]),
        _percentages([a.passengers for a in airlines]),
        _percentages([a.flights * a.hours for a in airlines]),
    ]
    best = min(by_use, key=lambda shares: shares[seat])
    return tuple(greed * one + (1 - greed) * other for one, other in zip(best, fair, strict=True))


def round_shares(shares: Sequence[float]) -> tuple[int, ...]:
    """Shares as multiples of STEP that sum to 100: the steps lost by rounding down go to the largest remainders."""
    steps = [share / STEP for share in shares]
    floors = [int(step) for step in steps]
    order = sorted(range(len(steps)), key=lambda seat: (floors[seat] - steps[seat], seat))
    for seat in order[: 100 // STEP - sum(floors)]:
        floors[seat] += 1
    return tuple(STEP * step for step in floors)


def _percentages(amounts: Sequence[float]) -> Shares:
    return tuple(100 * amount / sum(amounts) for amount in amounts)


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))
