"""The settings of the public good: files of data/settings."""

from collections.abc import Iterator
from random import Random

from agon.games.settings import Candidate, OneTested, Positive

MULTIPLIERS = [1, 1.2, 1.5, 1.8, 2, 2.5, 3]
"""MAgIC, Figure 10."""


class Setting(OneTested):
    """By how much the pool grows."""

    multiplier: Positive


def candidates(dice: Random, topics: str) -> Iterator[Candidate]:
    """Each of MULTIPLIERS, with every seat under test."""
    for multiplier in MULTIPLIERS:
        for seat in range(3):
            yield {"tested": seat, "multiplier": multiplier}
