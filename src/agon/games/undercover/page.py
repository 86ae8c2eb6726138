"""How people see Undercover: as any game of clues."""

from agon.games.deduction.page import page as page
