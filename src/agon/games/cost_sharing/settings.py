"""The settings of cost sharing: files of data/settings."""

from typing import Annotated

import msgspec

from agon.games.cost_sharing.game import CostSharing
from agon.games.settings import OneTested


class Airline(msgspec.Struct, forbid_unknown_fields=True):
    """An airline's traffic, with the fields of agon.games.cost_sharing.game.Airline."""

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
