"""From configuration to matches: what will be played, by whom, and whether it can be."""

from agon.plan.matches import Match, agents_of, cautions, models_of, plan, shared_chance
from agon.plan.seats import PERSON, Seat
from agon.plan.trial import describe_failure

__all__ = [
    "PERSON",
    "Match",
    "Seat",
    "agents_of",
    "cautions",
    "describe_failure",
    "models_of",
    "plan",
    "shared_chance",
]
