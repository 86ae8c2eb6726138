"""One seat's beliefs in a normal-form game: the next actions of the others."""

from collections.abc import Sequence

from agon.agents.pgm.minds import ActionForecast
from agon.games import Observation
from agon.games.spaces import Choice


class BeliefState(ActionForecast):
    """Forecasts of actions. These games name no players: they are "the other player", or the others with a number."""

    def forecast(self, view: Observation, seat: int) -> Choice:
        """The actions of the seat."""
        return Choice(view.rules.action_sets[seat])

    def names(self, view: Observation) -> Sequence[str]:
        """The names of all seats. The others are counted from 1, without the seat that is asked; its own name is not used."""
        if self.seats == 2:
            return ["the other player"] * 2
        return [f"other player {seat + (seat < self.seat)}" for seat in range(self.seats)]
