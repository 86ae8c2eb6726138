"""Players of games: scripts, which are functions of what they see, and agents that take their time."""

from agon.agents.base import Agent, Place, Reply, Script, seat_dice, together

__all__ = ["Agent", "Place", "Reply", "Script", "seat_dice", "together"]
