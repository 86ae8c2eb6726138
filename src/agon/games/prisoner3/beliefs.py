"""What one seat believes in the three-player dilemma: what each player, by its name, does next."""

from agon.agents.pgm.minds import Forecasting as Mind

__all__ = ["Mind"]
