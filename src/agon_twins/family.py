"""What a family of games says of itself for its twins: the module `twins` in its folder. Every name there is optional.

AMOUNTS: fields, phases, notes and solutions whose numbers are amounts, which a twin may count in another currency; `payoffs` too.
BY_SEAT: fields, phases and notes whose tuples are in seat order. POINTS: solutions that are payoffs.
restated(game, map): the game with as much of a map done to it as its own settings can say, and what is left of the map.
solutions(game): what solves the game, by name. solver(game), by_words(view), by_position(view): see agon_twins.invariance.
"""

from typing import Any

from agon.games.base import family_module


def of_family(made: object, name: str, default: Any = None) -> Any:
    """What the family of a game, or of its public rules, says under a name; `default` where it says nothing."""
    return getattr(family_module(made, "twins"), name, default)
