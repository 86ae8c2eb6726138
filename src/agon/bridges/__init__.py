"""Turns for other programs: JSON lines, one file per match."""

from agon.bridges.rows import jsonl

__all__ = ["jsonl"]
