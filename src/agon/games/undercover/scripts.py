"""Strategies: those of all games of clues."""

from agon.games.deduction.scripts import reference as reference
