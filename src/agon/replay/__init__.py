"""Turns into matches again: the games that they are of, and what every seat saw."""

from agon.replay.played import called, games_of, offering
from agon.replay.steps import Replay, Sight, Step, one_match, replayed, seen_by, stepped

__all__ = ["Replay", "Sight", "Step", "called", "games_of", "offering", "one_match", "replayed", "seen_by", "stepped"]
