"""TradeCraft: players with hands of items trade and craft until one of them holds its target."""

from agon.games.tradecraft.amounts import Hand as Hand
from agon.games.tradecraft.calls import Call as Call
from agon.games.tradecraft.game import TableView as TableView
from agon.games.tradecraft.game import TradeCraft as TradeCraft
from agon.games.tradecraft.game import table_view as table_view
from agon.games.tradecraft.recipes import Recipe as Recipe
from agon.games.tradecraft.recipes import Ruleset as Ruleset
