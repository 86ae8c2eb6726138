"""What one seat believes in the public good: how each changes its contribution."""

from agon.agents.pgm.minds import ActionForecast
from agon.games import Observation
from agon.games.spaces import Choice


class BeliefState(ActionForecast):
    """Forecasts in three words."""

    def forecast(self, view: Observation, seat: int) -> Choice:
        """How the seat changes its contribution."""
        return Choice(("raise", "keep", "lower"))
