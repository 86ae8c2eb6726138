"""What one seat believes in the public good: how each changes its contribution."""

from agon.agents.pgm.minds import Forecasting
from agon.games.spaces import Choice


class Mind(Forecasting):
    """Forecasts in three words."""

    forecast = Choice(("raise", "keep", "lower"))
