"""Pure functions from tables to tables, for any game; they never see a game, an agent, a prompt or a file."""

from agon.metrics.interval import summary
from agon.metrics.people import counterparts, head_to_head, in_their_cells
from agon.metrics.tallies import tallies

__all__ = ["counterparts", "head_to_head", "in_their_cells", "summary", "tallies"]
