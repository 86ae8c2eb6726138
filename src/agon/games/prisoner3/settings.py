"""The settings of the three-player dilemma: files of data/settings."""

from collections.abc import Iterator
from random import Random

from agon.games.settings import Candidate, OneTested

SCORES = [(3, 5, 2), (3, 10, 2), (3, 20, 2), (3, 5, 3), (3, 5, 4), (3, 5, 5), (5, 5, 3)]
"""Points: all cooperate, a lone defector, each of two; all defect: 1. MAgIC, Figure 10."""


class Setting(OneTested):
    """A score table (points per round): all cooperate, a lone defector, each of two, all defect."""

    cooperate: float
    one_defect: float
    two_defect: float
    defect: float


def candidates(dice: Random, topics: str) -> Iterator[Candidate]:
    """Each of SCORES, with every seat under test."""
    for cooperate, one, two in SCORES:
        for seat in range(3):
            yield {"tested": seat, "cooperate": cooperate, "one_defect": one, "two_defect": two, "defect": 1}
