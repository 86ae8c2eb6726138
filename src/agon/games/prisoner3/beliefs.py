"""The beliefs of a seat in the three-player dilemma: the next action of each player, by name."""

from agon.agents.pgm.minds import ActionForecast as BeliefState

__all__ = ["BeliefState"]
