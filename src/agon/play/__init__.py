"""Plays matches, and writes their turns."""

from agon.play.match import Trajectory, play_async, play_instantly, play_now
from agon.play.rows import merge_turns, turns_table
from agon.play.run import play, play_at_once

__all__ = [
    "Trajectory",
    "merge_turns",
    "play",
    "play_async",
    "play_at_once",
    "play_instantly",
    "play_now",
    "turns_table",
]
