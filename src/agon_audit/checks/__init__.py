"""The checks of recorded games: the differences, their rows, and innocent causes that they may have."""

from agon_audit.checks import actions, points, results, rounds, same, views
from agon_audit.checks.base import CHECKS, KEPT, Case, Check, Found, skip
from agon_audit.checks.points import IN_WHICH, OFTEN
from agon_audit.checks.same import NO_CHANCE, match_hashes

MODULES = actions, points, results, rounds, same, views
"""Each adds its checks to CHECKS when it is imported."""

__all__ = [
    "CHECKS",
    "IN_WHICH",
    "KEPT",
    "MODULES",
    "NO_CHANCE",
    "OFTEN",
    "Case",
    "Check",
    "Found",
    "match_hashes",
    "skip",
]
