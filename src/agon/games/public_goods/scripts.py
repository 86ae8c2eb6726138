"""Strategies for the public good."""

from collections.abc import Callable
from typing import Literal

from agon.errors import require_choice
from agon.games import Dice, Observation


def remaining(view: Observation) -> int:
    """The seat's remaining points. Its own contribution comes first in every round."""
    return max(0, view.rules.remaining(view.past, 0))


def conditional(view: Observation) -> int:
    """Start with an equal part of the endowment; then the mean of the others' last contributions. Fischbacher et al. (2001)."""
    if not view.past:
        return view.rules.endowment // view.rules.rounds
    others = [points or 0 for points in view.past[-1][1:]]
    return min(remaining(view), round(sum(others) / len(others)))


Contribution = Literal["nothing", "everything", "conditional"]
CONTRIBUTION: dict[Contribution, Callable[[Observation], int]] = {
    "nothing": lambda view: 0,
    "everything": remaining,
    "conditional": conditional,
}


def reference(view: Observation, dice: Dice, *, contribution: Contribution = "conditional") -> int:
    """The reference player. `contribution`: nothing, everything or conditional. Raises ValueError for another word."""
    require_choice("contribution", contribution, Contribution)
    return CONTRIBUTION[contribution](view)
