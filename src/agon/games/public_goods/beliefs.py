"""What one seat believes in the public good: how each changes its contribution."""

from agon.agents.pgm.minds import ActionForecast
from agon.games.spaces import Choice


class BeliefState(ActionForecast):
    """Forecasts in three words."""

    forecast = Choice(("raise", "keep", "lower"))
