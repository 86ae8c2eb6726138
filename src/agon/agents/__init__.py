"""Who plays: scripts now, and whatever answers the same question with the same record."""

from agon.agents.base import Agent, Reply, Script, seat_dice

__all__ = ["Agent", "Reply", "Script", "seat_dice"]
