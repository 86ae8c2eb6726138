"""The three-player iterated prisoner's dilemma of MAgIC: a repeated normal-form game made from four numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agon.errors import require_choice
from agon.games.base import Observation, check_seats
from agon.games.matrix.game import MatrixGame
from agon.registry import kind

OPTIONS = ("cooperate", "defect")

Semantics = Literal["strict", "published"]


@dataclass(frozen=True)
class Prisoner3(MatrixGame):
    """The dilemma has no void rounds, as in the paper: an unreadable action is paid, unlike in other normal-form games.

    The action stays None in the history and the records. It is paid as cooperation, so that a fault of form never pays like
    a defection; with `semantics` published it is paid as defection, as in the released code.
    """

    tested: Sequence[int] = ()
    semantics: Semantics = "strict"
    _public: "Prisoner3" = field(init=False, repr=False, compare=False)

    __hash__ = MatrixGame.__hash__

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice(f"{self.name}: semantics", self.semantics, Semantics)
        object.__setattr__(self, "tested", check_seats(self.name, self.tested, self.seats))
        object.__setattr__(self, "_public", replace(self, tested=()) if self.tested else self)

    def observe(self, state: Any, seat: int) -> Observation:
        """All finished rounds from the seat's side, and the rules without the seats under test."""
        return super().observe(state, seat)._replace(rules=self._public)

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """`defection`: the action that is one."""
        return {"defection": self.action_sets[0][1]}

    def payoffs(self, profile: Sequence[str | None]) -> tuple[float, ...]:
        """Points of each seat for one round; an action that is None pays as `semantics` says. Raises IllegalAction."""
        default = self.action_sets[0][0 if self.semantics == "strict" else 1]
        return super().payoffs([default if action is None else action for action in profile])


@kind("agon.games.prisoner3.prisoner3")
def prisoner3(
    name: str,
    variant: str,
    cooperate: float,
    one_defect: float,
    two_defect: float,
    defect: float,
    rounds: int = 5,
    tested: Sequence[int] = (),
    semantics: Semantics = "strict",
    rules: int = 1,
) -> Prisoner3:
    """The game of one score table (points per round). MAgIC, sections 2 and A.1.

    All get `cooperate` when nobody defects and `defect` when everybody does; a lone defector gets `one_defect`, each of two
    `two_defect`; a cooperator gets 0 as soon as anybody defects.
    """
    scores = {1: one_defect, 2: two_defect, 3: defect}

    def round_payoffs(profile: tuple[str, ...]) -> list[float]:
        defectors = profile.count("defect")
        return [cooperate if not defectors else scores[defectors] if action == "defect" else 0 for action in profile]

    payoff = [[[round_payoffs((a, b, c)) for c in OPTIONS] for b in OPTIONS] for a in OPTIONS]
    return Prisoner3(name, variant, OPTIONS, payoff, rounds, rules, tested, semantics)
