"""The commands: one parser of what is typed, and a function for every verb."""

from agon.cli.main import agon, main

__all__ = ["agon", "main"]
