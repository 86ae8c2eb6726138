"""Pure functions from tables to tables, for any game; they never see a game, an agent, a prompt or a file."""

from agon.metrics.interval import summary
from agon.metrics.people import head_to_head
from agon.metrics.tallies import tallies

__all__ = ["head_to_head", "summary", "tallies"]
