"""For twins of the dilemma of three (agon_twins.family): as for any normal-form game, but for the order of options."""

from dataclasses import replace
from typing import Any

from agon.games.matrix import twins
from agon.games.matrix.twins import POINTS, solutions, solver
from agon.games.prisoner3.game import Prisoner3

__all__ = ["POINTS", "restated", "solutions", "solver"]


def restated(game: Prisoner3, map: Any) -> tuple[Any, Any]:
    """The options keep their order in the game, by which payoffs find them; only the list that players see is reordered."""
    tested = tuple(sorted({map.seat(seat) for seat in game.tested}))
    twin, rest = twins.restated(replace(game, tested=tested), replace(map, order=()))
    return twin, replace(rest, order=map.order)
