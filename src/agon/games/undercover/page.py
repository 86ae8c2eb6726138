"""How people see Undercover: as any game of clues."""

from agon.games.chameleon.page import page as page
