"""Pure functions from tables to tables; they never see a game, an agent, a prompt or a file."""

from agon.metrics.abilities import abilities, paired
from agon.metrics.interval import summary
from agon.metrics.repeated import action_shares, per_match, shares_over_rounds
from agon.metrics.tallies import tallies

__all__ = ["abilities", "action_shares", "paired", "per_match", "shares_over_rounds", "summary", "tallies"]
