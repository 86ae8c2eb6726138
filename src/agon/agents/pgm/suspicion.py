"""Who suspects whom, in numbers: the belief matrix of MAgIC's PGM-aware agent (section 4; Figure 5 prints twelve).

Row j is what seat j suspects, as one seat sees it, and sums to 1. Indices are seats.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite
from typing import Any, Literal

from agon.agents.pgm.minds import Mind, Semantics, Thinking
from agon.games import Dice, Observation
from agon.games.reading import Reading
from agon.games.schemas import AMOUNT, Schema, keys, object_of
from agon.games.spaces import Space

Matrix = tuple[tuple[float, ...], ...]
Ties = Literal["nobody", "first", "last"]

RATINGS = {"more suspicious": 1, "less suspicious": -1, "no change": 0}
"""The paper's three words (A.5, Table 5) and the factor that each puts into an update."""

WEIGHT = 0.1
"""How much a rating changes its cell before the row is made to sum to 1 again. Released code; Figure 5 fits it."""

EQUAL = 1e-9
"""Cells that differ by less are equal."""

_NESTED = re.compile(r"\[\s*\[[^\[\]]*\](?:[\s,]*\[[^\[\]]*\])*[\s,]*\]")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def prior(seats: int, seat: int, spy: bool | None) -> Matrix:
    """What `seat` believes before any clue. Section 4.1, with the released code's numbers.

    A spy (True) suspects itself and takes it that every other seat suspects all but itself; one of the crowd (False)
    suspects all others alike and knows nothing of their views; where roles are not told (None) all is open.
    """
    even, known = (1 / seats,) * seats, tuple(float(each == seat) for each in range(seats))

    def others(but: int) -> tuple[float, ...]:
        return tuple(0.0 if each == but else 1 / (seats - 1) for each in range(seats))

    if spy is None:
        return (even,) * seats
    if spy:
        return tuple(known if view == seat else others(view) for view in range(seats))
    return tuple(others(view) if view == seat else even for view in range(seats))


def updated(matrix: Matrix, factors: Sequence[Sequence[float]]) -> Matrix:
    """The matrix after one analysis: softmax, row by row, of M x (1 + 0.1 F). Section 4.1 and Figure 5, as the code has it.

    Every update draws the row towards uniform, so that earlier evidence counts a third of what the latest does.
    """
    return tuple(
        _softmax([cell * (1 + WEIGHT * factor) for cell, factor in zip(row, changes, strict=True)])
        for row, changes in zip(matrix, factors, strict=True)
    )


def _softmax(values: Sequence[float]) -> tuple[float, ...]:
    powers = [exp(value) for value in values]
    whole = fsum(powers)  # the same in any order of seats
    return tuple(power / whole for power in powers)


def normalised(rows: Sequence[Sequence[float]], blank: Collection[tuple[int, int]] = ()) -> Matrix:
    """Numbers as a belief matrix: cut to 0..1, cells in `blank` 0, every row summing to 1.

    A row of nothing but zeros says nothing: it becomes uniform, but for the blank cells.
    """
    found = []
    for view, row in enumerate(rows):
        open_ = [float((view, seat) not in blank) for seat in range(len(row))]
        cut = [weight * min(1.0, max(0.0, cell)) for weight, cell in zip(open_, row, strict=True)]
        cut = cut if any(cut) else open_
        whole = fsum(cut)
        found.append(tuple(cell / whole for cell in cut))
    return tuple(found)


def foremost(values: Mapping[int, float], most: bool = True, ties: Ties = "nobody") -> int | None:
    """The seat with the greatest value (or the least); of several such seats, none, or the first or last of them."""
    if not values:
        return None
    best = max(values.values()) if most else min(values.values())
    found = sorted(seat for seat, value in values.items() if abs(value - best) < EQUAL)
    if len(found) == 1:
        return found[0]
    return {"nobody": None, "first": found[0], "last": found[-1]}[ties]


def suspect(matrix: Matrix, view: int, among: Collection[int], ties: Ties = "nobody") -> int | None:
    """Of the seats `among`, the one that `view` suspects most."""
    return foremost({seat: matrix[view][seat] for seat in among}, ties=ties)


def watcher(matrix: Matrix, seat: int, most: bool, ties: Ties = "nobody") -> int | None:
    """The other seat that suspects `seat` most, or least."""
    return foremost({view: row[seat] for view, row in enumerate(matrix) if view != seat}, most, ties)


@dataclass(frozen=True, slots=True)
class Suspicions(Space):
    """A legal action is a belief matrix itself, row by row, over `names`. The paper's ProPGM (section 5.3)."""

    names: tuple[str, ...]

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, tuple | list) or len(action) != len(self.names):
            return False
        return all(isinstance(row, tuple | list) and self._is_row(row) for row in action)

    def _is_row(self, row: Sequence[Any]) -> bool:
        known = len(row) == len(self.names) and all(type(cell) in (int, float) and 0 <= cell <= 1 for cell in row)
        return known and abs(fsum(row) - 1) < 1e-6

    def as_json(self) -> dict[str, Any]:
        """The space as plain data."""
        return {"beliefs": list(self.names)}

    def example(self, dice: Dice) -> Matrix:
        """Any belief matrix, in twentieths or so."""
        return normalised([[int(dice.random() * 21) / 20 for _ in self.names] for _ in self.names])

    def spelled(self, action: Any) -> str:
        """`[[0.2, 0.3, 0.5], ...]`."""
        return "[" + ", ".join("[" + ", ".join(f"{cell:.3g}" for cell in row) + "]" for row in action) + "]"

    def read(self, text: str, last: bool = False) -> Reading:
        """The first nested list in brackets with a row and a column for every name, made to sum to 1."""
        size = len(self.names)
        for found in _NESTED.finditer(text):
            rows = [[float(cell) for cell in _NUMBER.findall(row)] for row in re.findall(r"\[([^\[\]]*)\]", found[0])]
            if [len(row) for row in rows] == [size] * size and all(isfinite(sum(row)) for row in rows):
                return Reading(normalised(rows), "")
        return Reading(None, f"there is no list of {size} lists of {size} numbers in square brackets")

    def schema(self) -> Schema:
        """An object of rows by name, each an object of numbers by name, of which the proportions count."""
        names = keys(self.names)
        return object_of(dict.fromkeys(names, object_of(dict.fromkeys(names, AMOUNT))))

    def as_value(self, action: Any) -> Any:
        """The rows by name, to six decimals."""
        names = keys(self.names)
        rows = [dict(zip(names, (f"{cell:.6f}" for cell in row), strict=True)) for row in action]
        return dict(zip(names, rows, strict=True))

    def of_value(self, value: Any) -> Any | None:
        """The matrix; numbers above 1 are first divided by the greatest of their row."""
        rows = [[float(cell) for cell in row.values()] for row in value.values()]
        return normalised([[cell / max(1.0, *row) for cell in row] for row in rows])


class Suspecting(Mind):
    """The belief matrix of games with a spy (agon.agents.pgm.suspicion)."""

    spy: bool | None = None

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        super().__init__(view, form, semantics)
        self.matrix, self.done = prior(self.seats, self.seat, self.spy), 0
        self.players: tuple[str, ...] = view.rules.players

    def shown(self, phase: str, aside: bool) -> bool:
        """Published: at clues and interviews."""
        return aside or phase == "clue" if self.published else not aside

    def update(self, more: Mapping[tuple[int, int], int] | None) -> None:
        """Ratings by (view, seat), all others 0; None could not be read."""
        if more is not None or self.published:
            seats, found = range(self.seats), more or {}
            self.matrix = updated(self.matrix, [[found.get((view, seat), 0) for seat in seats] for view in seats])

    def numbers(self) -> Thinking:
        """Asks for the matrix itself."""
        answer: Matrix | None = yield Suspicions(self.players)
        if answer is not None:
            self.matrix = normalised(answer, blank=[(self.seat, self.seat)] if self.spy is False else ())
            rows = Suspicions(self.players).spelled(self.matrix)
            self.written = (*self.written, f"how much each player in turn suspects each: {rows}")

    @property
    def suspect(self) -> int | None:
        """Of the others, the one that stands out in its own row."""
        return suspect(self.matrix, self.seat, self.others)

    @property
    def held(self) -> dict[str, Any]:
        """The matrix, to six places."""
        rows = [[round(cell, 6) for cell in row] for row in self.matrix]
        return {"beliefs": rows, "target": self.target, "suspect": self.suspect} | (
            {"role": self.role} if self.role else {}
        )
