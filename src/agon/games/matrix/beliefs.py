"""What one seat believes in a normal-form game: what the others do next."""

from collections.abc import Sequence

from agon.agents.pgm.minds import ActionForecast
from agon.games import Observation
from agon.games.spaces import Choice


class BeliefState(ActionForecast):
    """Players have no names there: the other player, or the others by their order."""

    def forecast(self, view: Observation, seat: int) -> Choice:
        """The actions of the seat."""
        return Choice(view.rules.action_sets[seat])

    def names(self, view: Observation) -> Sequence[str]:
        """The asked seat is left out of the count."""
        if self.seats == 2:
            return ["the other player"] * 2
        return [f"other player {seat + (seat < self.seat)}" for seat in range(self.seats)]
