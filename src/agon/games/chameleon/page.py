"""How people see Chameleon: as any game of clues."""

from agon.games.deduction.page import page as page
