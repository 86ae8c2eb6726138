"""From configuration to matches: what will be played, by whom, and whether it can be."""

from agon.plan.matches import Match, agents_of, cautions, models_of, plan
from agon.plan.seats import PERSON, Seat
from agon.plan.tables import PEOPLE, Seating, agents_for, models_for, seating
from agon.plan.trial import raised

__all__ = [
    "PEOPLE",
    "PERSON",
    "Match",
    "Seat",
    "Seating",
    "agents_for",
    "agents_of",
    "cautions",
    "models_for",
    "models_of",
    "plan",
    "raised",
    "seating",
]
