"""The commands: one parser of what is typed, and a function for every verb."""

from agon.cli.parser import agon, main

__all__ = ["agon", "main"]
