"""The settings of cost sharing: files of data/settings."""

from collections.abc import Iterator
from random import Random
from typing import Annotated

import msgspec

from agon.games.cost_sharing import game
from agon.games.cost_sharing.game import CostSharing
from agon.games.cost_sharing.scripts import round_shares, target_shares
from agon.games.settings import Candidate, OneTested

SIZES = {"small": (40, 90, 0.75, 2.0), "medium": (110, 180, 1.25, 3.5), "large": (220, 340, 3.0, 9.0)}
"""Least and most passengers a flight, and hours."""


class Airline(msgspec.Struct, forbid_unknown_fields=True):
    """What an airline does at the airport, as agon.games.cost_sharing.game.Airline."""

    name: str
    flights: int
    passengers: int
    hours: float
    aircraft: str


class Setting(OneTested):
    """A fee (currency units), an airline for every seat, and the seats' opening proposals (percent)."""

    fee: Annotated[int, msgspec.Meta(gt=0)]
    airlines: list[Airline]
    proposals: list[list[float]]

    def __post_init__(self) -> None:
        airlines = msgspec.to_builtins(self.airlines)
        CostSharing("cost_sharing", "", airlines, self.proposals, tested=[self.tested])


def candidates(dice: Random, topics: str) -> Iterator[Candidate]:
    """Seven triples out of twenty airlines, each with every seat under test, and what each seat asks for at first."""
    pool = [_airline(dice) for _ in range(20)]
    for _ in range(7):
        airlines = tuple(game.Airline(name, *fields) for name, fields in zip("ABC", dice.sample(pool, 3), strict=True))
        proposals = [round_shares(target_shares(airlines, seat, "proportional", 1.0)) for seat in range(3)]
        for tested in range(3):
            yield {
                "tested": tested,
                "fee": 1_000_000,
                "airlines": [airline._asdict() for airline in airlines],
                "proposals": proposals,
            }


def _airline(dice: Random) -> tuple[int, int, float, str]:
    """Flights and passengers (per month), hours a flight, and the size of the aircraft."""
    aircraft = dice.choice(list(SIZES))
    low, high, short, long = SIZES[aircraft]
    flights = 5 * dice.randrange(6, 31)
    passengers = 100 * round(flights * dice.randint(low, high) / 100)
    return flights, passengers, round(4 * dice.uniform(short, long)) / 4, aircraft
