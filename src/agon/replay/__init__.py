"""Turns into matches again: the games that they are of, and what every seat saw."""

from agon.replay.steps import Replay, Sight, Step, games_of, one_match, replayed, seen_by, stepped

__all__ = ["Replay", "Sight", "Step", "games_of", "one_match", "replayed", "seen_by", "stepped"]
