"""The module `twins` in the folder of a family of games: facts that its twins need. Every name there is optional.

AMOUNTS: fields, phases, notes and solutions whose numbers are amounts, which a twin may count in another currency; `payoffs` too.
BY_SEAT: fields, phases and notes whose tuples are in seat order. POINTS: solutions that are payoffs.
restated(game, map): the game, changed by the part of a map that its settings can express, and the rest of the map.
solutions(game): the game's solutions by name. solver(game), by_words(view), by_position(view): see agon_twins.invariance.
"""

from typing import Any

from agon.games.base import family_module


def of_family(game: object, name: str, default: Any = None) -> Any:
    """The value of a name in the `twins` of the family of a game, or of its public rules; `default` where it has none."""
    return getattr(family_module(game, "twins"), name, default)
