"""The commands: a group, and a click command for every verb."""

from agon.cli.parser import agon, main

__all__ = ["agon", "main"]
