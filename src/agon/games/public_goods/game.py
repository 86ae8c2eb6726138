"""Public good: contributions grow, and everybody gets an equal share of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, Literal, NamedTuple

from agon.errors import require_choice
from agon.games.base import PUBLIC, Dice, Game, Note, Observation, Times, check_seats, refuse_illegal
from agon.games.spaces import Number
from agon.registry import kind

Semantics = Literal["strict", "published", "published_pgm"]


Rounds = Sequence[Sequence[int | None]]
"""Each seat's contribution (points), by round; None where it could not be read."""


class State(NamedTuple):
    """Where a match stands."""

    given: tuple[tuple[int | None, ...], ...]
    """Finished rounds: each seat's contribution (points); None where it could not be read."""
    notes: tuple[Note, ...] = ()
    """Notes of the last step for the records, which no seat sees: (seat, name, value)."""


@kind("agon.games.public_goods.PublicGoods")
@dataclass(frozen=True)
class PublicGoods(Game[State]):
    """MAgIC, sections 2 and A.1, with the accounts of its A.2 and its prompts: one endowment, and one payment at the end.

    Each seat has `endowment` points for the whole match. In each of `rounds` rounds all choose at once how many go into the
    pool, and then learn the others' choices. After the last round everybody is paid its remaining points and an equal share
    of `multiplier` times the pool. A contribution above the remaining points is cut, and noted; an unreadable one is 0.

    `semantics` published: the budget is not enforced, as in the released code. `published_pgm`: the pool is also shared
    before the last round's contributions are added, as in its second environment, so that these are lost.
    """

    name: str
    variant: str
    multiplier: float
    seats: int = 3
    rounds: int = 5
    endowment: int = 100
    tested: Sequence[int] = ()
    semantics: Semantics = "strict"
    rules: int = 1
    _legal: Number = field(init=False, repr=False, compare=False)
    _public: "PublicGoods" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        counts = self.seats, self.rounds, self.endowment
        if any(type(count) is not int for count in counts) or self.seats < 2 or min(counts) < 1:
            raise ValueError(f"{self.name}: needs 2 seats, 1 round and 1 point at least, in whole numbers")
        if type(self.multiplier) not in (int, float) or not isfinite(self.multiplier) or self.multiplier <= 0:
            raise ValueError(f"{self.name}: the multiplier is {self.multiplier}; it must be above 0")
        require_choice(f"{self.name}: semantics", self.semantics, Semantics)
        object.__setattr__(self, "tested", check_seats(self.name, self.tested, self.seats))
        object.__setattr__(self, "_legal", Number(0, self.endowment))
        object.__setattr__(self, "_public", replace(self, tested=()) if self.tested else self)

    @cached_property
    def max_rounds(self) -> int:
        """All of them."""
        return self.rounds

    def times_asked(self, seat: int) -> Times:
        """Once a round."""
        return Times(self.rounds, self.rounds)

    def start(self, dice: Dice) -> State:
        """No chance: nothing has been contributed."""
        return State(())

    def to_move(self, state: State) -> tuple[int, ...]:
        """Everyone, until the last round is done."""
        return tuple(range(self.seats)) if len(state.given) < self.rounds else ()

    def legal_actions(self, state: State, seat: int) -> Number:
        """Whole points up to the endowment, whatever is left of it."""
        return self._legal

    def observe(self, state: State, seat: int) -> Observation:
        """Finished rounds (own contribution first, then the others' in seat order) and the rules without the seats under test."""
        past = tuple((round_[seat], *round_[:seat], *round_[seat + 1 :]) for round_ in state.given)
        return Observation(seat, len(past) + 1, self._legal, past, self._public, "contribute")

    def watch(self, state: State) -> Observation:
        """Finished rounds, in seat order."""
        return self.observe(state, 0)._replace(seat=PUBLIC, legal=None)

    def step(self, state: State, actions: Mapping[int, Any]) -> tuple[State, tuple[float, ...]]:
        """Plays one round; the last one pays. Raises IllegalAction."""
        refuse_illegal(self, state, actions)
        contributions, notes = [], []
        for seat in range(self.seats):
            points, budget = actions[seat], self.remaining(state.given, seat)
            if points is not None and self.semantics == "strict" and points > budget:
                notes.append((seat, "overspend", points - budget))
                points = budget
            contributions.append(points)
        state = State((*state.given, tuple(contributions)), tuple(notes))
        if len(state.given) < self.rounds:
            return state, (0.0,) * self.seats
        return state, self.worths(state.given)

    def notes(self, state: State) -> tuple[Note, ...]:
        """`overspend`: by how many points a contribution was cut."""
        return state.notes

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """The endowment (points)."""
        return {"endowment": self.endowment}

    def remaining(self, rounds: Rounds, seat: int) -> int:
        """The seat's remaining points after some rounds; below 0 only where the budget is not enforced."""
        return self.endowment - sum(round_[seat] or 0 for round_ in rounds)

    def worths(self, rounds: Rounds) -> tuple[float, ...]:
        """Each seat's payoff (points) if the match ended after these rounds."""
        is_lost = self.semantics == "published_pgm" and len(rounds) == self.rounds
        pool = sum(points or 0 for round_ in (rounds[:-1] if is_lost else rounds) for points in round_)
        share = pool * self.multiplier / self.seats
        return tuple(self.remaining(rounds, seat) + share for seat in range(self.seats))
