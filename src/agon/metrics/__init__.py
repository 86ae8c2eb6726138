"""Pure functions from tables to tables; they never see a game, an agent, a prompt or a file."""

from agon.games.matrix.metrics import action_shares, per_match, shares_over_rounds
from agon.metrics.abilities import abilities, paired
from agon.metrics.interval import summary
from agon.metrics.people import head_to_head
from agon.metrics.ratings import averages, outcomes, reliability, scores
from agon.metrics.tallies import tallies

__all__ = [
    "abilities",
    "action_shares",
    "averages",
    "head_to_head",
    "outcomes",
    "paired",
    "per_match",
    "reliability",
    "scores",
    "shares_over_rounds",
    "summary",
    "tallies",
]
