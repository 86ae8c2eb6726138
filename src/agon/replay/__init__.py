"""Replays recorded turns: the games of a transcript, and the observations of every seat."""

from agon.replay.steps import Replay, Sight, Step, games_of, one_match, replay_in, replay_match, seen_by

__all__ = ["Replay", "Sight", "Step", "games_of", "one_match", "replay_in", "replay_match", "seen_by"]
