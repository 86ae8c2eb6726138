"""Plays matches, and writes their turns."""

from agon.play.match import Played, play_async, play_now
from agon.play.rows import ordered, table
from agon.play.run import play, play_at_once

__all__ = ["Played", "ordered", "play", "play_async", "play_at_once", "play_now", "table"]
