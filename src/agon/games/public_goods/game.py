"""Public good: what is contributed grows and is shared by all, whoever contributed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, Literal, NamedTuple, get_args

from agon.games.base import PUBLIC, Dice, Game, Note, Observation, Times, check_seats, check_semantics, refuse_illegal
from agon.games.spaces import Number
from agon.registry import kind

Semantics = Literal["strict", "published", "published_pgm"]


class State(NamedTuple):
    """Where a match stands."""

    given: tuple[tuple[int | None, ...], ...]
    """Finished rounds: what each seat contributed; None where that could not be read."""
    notes: tuple[Note, ...] = ()
    """What the last step leaves in the records alone: (seat, what, value)."""


@kind("agon.games.public_goods.PublicGoods")
@dataclass(frozen=True)
class PublicGoods(Game[State]):
    """MAgIC, sections 2 and A.1, with the accounts of its A.2 and its prompts: points are given once, and paid once.

    Each seat has `endowment` points for the whole match. In each of `rounds` rounds all choose at once how many go into the
    pool, and then hear what the others chose. After the last round everybody is paid what it has left and an equal part of
    `multiplier` times the pool. More than a seat has left is cut to what is left, and noted; an unreadable answer gives 0.

    `semantics` published: the budget is not enforced, as in the released code; published_pgm: besides, the pool is shared
    before the last round's contributions are in it, as in its second environment, so that these are lost.
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
        check_semantics(self.name, self.semantics, get_args(Semantics))
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
        """No chance: nothing has been given."""
        return State(())

    def to_move(self, state: State) -> tuple[int, ...]:
        """Everyone, until the last round is done."""
        return tuple(range(self.seats)) if len(state.given) < self.rounds else ()

    def legal_actions(self, state: State, seat: int) -> Number:
        """Whole points up to the endowment, whatever is left of it."""
        return self._legal

    def observe(self, state: State, seat: int) -> Observation:
        """Finished rounds: own contribution first, then the others' in seat order. Of the rules all but who is under test."""
        past = tuple((given[seat], *given[:seat], *given[seat + 1 :]) for given in state.given)
        return Observation(seat, len(past) + 1, self._legal, past, self._public, "contribute")

    def watch(self, state: State) -> Observation:
        """Finished rounds, in seat order."""
        return self.observe(state, 0)._replace(seat=PUBLIC, legal=None)

    def step(self, state: State, actions: Mapping[int, Any]) -> tuple[State, tuple[float, ...]]:
        """Plays one round; the last one pays. Raises IllegalAction."""
        refuse_illegal(self, state, actions)
        given, notes = [], []
        for seat in range(self.seats):
            wanted = actions[seat]
            if wanted is not None and self.semantics == "strict" and wanted > (left := self.remaining(state, seat)):
                notes.append((seat, "overspend", wanted - left))
                wanted = left
            given.append(wanted)
        state = State((*state.given, tuple(given)), tuple(notes))
        if len(state.given) < self.rounds:
            return state, (0.0,) * self.seats
        counted = state.given[:-1] if self.semantics == "published_pgm" else state.given
        pool = sum(points or 0 for round_ in counted for points in round_)
        share = pool * self.multiplier / self.seats
        return state, tuple(self.remaining(state, seat) + share for seat in range(self.seats))

    def notes(self, state: State) -> tuple[Note, ...]:
        """Contributions that were cut: `overspend`, by how many points."""
        return state.notes

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """The endowment (points)."""
        return {"endowment": self.endowment}

    def remaining(self, state: State, seat: int) -> int:
        """What a seat has not contributed (points); below 0 only where the budget is not enforced."""
        return self.endowment - sum(round_[seat] or 0 for round_ in state.given)
