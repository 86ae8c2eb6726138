"""For twins of the dilemma of three (agon_twins.family): as of any normal-form game, but for the order of its options."""

from dataclasses import replace
from typing import Any

from agon.games.matrix import twins
from agon.games.matrix.twins import POINTS, solutions, solver
from agon.games.prisoner3.game import Prisoner3

__all__ = ["POINTS", "restated", "solutions", "solver"]


def restated(game: Prisoner3, map: Any) -> tuple[Any, Any]:
    """Its options stay in their order, by which they are known, and are listed in another."""
    tested = tuple(sorted({map.seat(seat) for seat in game.tested}))
    restated, left = twins.restated(replace(game, tested=tested), replace(map, order=()))
    return restated, replace(left, order=map.order)
