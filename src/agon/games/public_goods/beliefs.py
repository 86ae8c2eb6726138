"""One seat's beliefs in the public good: whether each player raises or lowers its contribution."""

from agon.agents.pgm.minds import ActionForecast
from agon.games import Observation
from agon.games.spaces import Choice


class BeliefState(ActionForecast):
    """Forecasts in three words."""

    def forecast(self, view: Observation, seat: int) -> Choice:
        """The ways in which the seat may change its contribution."""
        return Choice(("raise", "keep", "lower"))
