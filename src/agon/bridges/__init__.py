"""Turns for other programs: JSON lines, one file per match; and games as environments of Gymnasium and PettingZoo."""

from agon.bridges.rows import jsonl

__all__ = ["jsonl"]
