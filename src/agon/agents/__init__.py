"""Players of games: scripts, which are functions of an observation, and agents that may wait for an answer."""

from agon.agents.base import Agent, Place, Reply, Script, seat_dice, together

__all__ = ["Agent", "Place", "Reply", "Script", "seat_dice", "together"]
