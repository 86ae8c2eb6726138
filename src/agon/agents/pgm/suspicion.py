"""Who suspects whom, in numbers: the belief matrix of MAgIC's PGM-aware agent (section 4; Figure 5 prints twelve).

Row j is what seat j suspects, as one seat sees it, and sums to 1. Indices are seats.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite
from typing import Any, Literal

from agon.agents.pgm.minds import BeliefState, Semantics, Thinking
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
    """The belief matrix of `seat` before any clue. Section 4.1, with the released code's numbers.

    `spy` True: it suspects itself, and believes that each other seat suspects all but that seat.
    `spy` False: it suspects all others alike, and has uniform rows for their views. `spy` None (secret roles): all rows are uniform.
    """
    even, certain = (1 / seats,) * seats, tuple(float(other == seat) for other in range(seats))

    def others(view: int) -> tuple[float, ...]:
        return tuple(0.0 if other == view else 1 / (seats - 1) for other in range(seats))

    if spy is None:
        return (even,) * seats
    if spy:
        return tuple(certain if view == seat else others(view) for view in range(seats))
    return tuple(others(view) if view == seat else even for view in range(seats))


def updated(matrix: Matrix, factors: Sequence[Sequence[float]]) -> Matrix:
    """The matrix after one analysis: softmax, row by row, of M x (1 + 0.1 F). Section 4.1 and Figure 5, as the code has it.

    Every update moves a row towards uniform. With n seats, earlier evidence keeps about 1 / n of its weight at each update.
    """
    return tuple(
        _softmax([cell * (1 + WEIGHT * factor) for cell, factor in zip(row, changes, strict=True)])
        for row, changes in zip(matrix, factors, strict=True)
    )


def _softmax(values: Sequence[float]) -> tuple[float, ...]:
    powers = [exp(value) for value in values]
    total = fsum(powers)  # the same in any order of seats
    return tuple(power / total for power in powers)


def normalised(rows: Sequence[Sequence[float]], blank: Collection[tuple[int, int]] = ()) -> Matrix:
    """Numbers as a belief matrix: cut to 0..1, cells in `blank` 0, every row summing to 1.

    A row of zeros becomes uniform, except for its blank cells.
    """
    matrix = []
    for view, row in enumerate(rows):
        weights = [float((view, seat) not in blank) for seat in range(len(row))]
        cells = [weight * min(1.0, max(0.0, cell)) for weight, cell in zip(weights, row, strict=True)]
        cells = cells if any(cells) else weights
        total = fsum(cells)
        matrix.append(tuple(cell / total for cell in cells))
    return tuple(matrix)


def find_extreme(values: Mapping[int, float], most: bool = True, ties: Ties = "nobody") -> int | None:
    """The seat with the greatest value (or the least, if not `most`). `ties` decides between equals (see EQUAL)."""
    if not values:
        return None
    best = max(values.values()) if most else min(values.values())
    leaders = sorted(seat for seat, value in values.items() if abs(value - best) < EQUAL)
    if len(leaders) == 1:
        return leaders[0]
    return {"nobody": None, "first": leaders[0], "last": leaders[-1]}[ties]


def suspect(matrix: Matrix, view: int, among: Collection[int], ties: Ties = "nobody") -> int | None:
    """The seat of `among` that `view` suspects most. None if several are equal and `ties` is "nobody"."""
    return find_extreme({seat: matrix[view][seat] for seat in among}, ties=ties)


def watcher(matrix: Matrix, seat: int, most: bool, ties: Ties = "nobody") -> int | None:
    """The other seat that suspects `seat` most, or least."""
    return find_extreme({view: row[seat] for view, row in enumerate(matrix) if view != seat}, most, ties)


@dataclass(frozen=True, slots=True)
class Suspicions(Space):
    """The action space of belief matrices over `names`, row by row. The paper's ProPGM (section 5.3)."""

    names: tuple[str, ...]

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, tuple | list) or len(action) != len(self.names):
            return False
        return all(isinstance(row, tuple | list) and self._is_row(row) for row in action)

    def _is_row(self, row: Sequence[Any]) -> bool:
        is_valid = len(row) == len(self.names) and all(type(cell) in (int, float) and 0 <= cell <= 1 for cell in row)
        return is_valid and abs(fsum(row) - 1) < 1e-6

    def as_json(self) -> dict[str, Any]:
        """The space as plain data."""
        return {"beliefs": list(self.names)}

    def example(self, dice: Dice) -> Matrix:
        """Any belief matrix, in twentieths or so."""
        return normalised([[int(dice.random() * 21) / 20 for _ in self.names] for _ in self.names])

    def format(self, action: Any) -> str:
        """`[[0.2, 0.3, 0.5], ...]`."""
        return "[" + ", ".join("[" + ", ".join(f"{cell:.3g}" for cell in row) + "]" for row in action) + "]"

    def read(self, text: str, last: bool = False) -> Reading:
        """The first nested list in brackets with a row and a column for every name, made to sum to 1."""
        matrices = self._matrices(text)
        return Reading(normalised(matrices[0]), "") if matrices else Reading(None, self._none)

    def read_strictly(self, text: str) -> Reading:
        """The one nested list in brackets with a row and a column for every name, made to sum to 1."""
        matrices = self._matrices(text)
        if len(matrices) == 1:
            return Reading(normalised(matrices[0]), "")
        return Reading(None, f"there are {len(matrices)} such lists; write one" if matrices else self._none)

    @property
    def _none(self) -> str:
        size = len(self.names)
        return f"there is no list of {size} lists of {size} numbers in square brackets"

    def _matrices(self, text: str) -> list[list[list[float]]]:
        """All nested lists of numbers with a row and a column for every name."""
        matrices, size = [], len(self.names)
        for match in _NESTED.finditer(text):
            rows = [[float(cell) for cell in _NUMBER.findall(row)] for row in re.findall(r"\[([^\[\]]*)\]", match[0])]
            if [len(row) for row in rows] == [size] * size and all(isfinite(sum(row)) for row in rows):
                matrices.append(rows)
        return matrices

    def schema(self) -> Schema:
        """An object of rows by name, each an object of numbers by name, of which the proportions count."""
        names = keys(self.names)
        return object_of(dict.fromkeys(names, object_of(dict.fromkeys(names, AMOUNT))))

    def encode(self, action: Any) -> Any:
        """The rows by name, to six decimals."""
        names = keys(self.names)
        rows = [dict(zip(names, (f"{cell:.6f}" for cell in row), strict=True)) for row in action]
        return dict(zip(names, rows, strict=True))

    def decode(self, value: Any) -> Any | None:
        """The matrix; numbers above 1 are first divided by the greatest of their row."""
        rows = [[float(cell) for cell in row.values()] for row in value.values()]
        return normalised([[cell / max(1.0, *row) for cell in row] for row in rows])


class SuspicionState(BeliefState):
    """The belief matrix of games with a spy (agon.agents.pgm.suspicion)."""

    spy: bool | None = None

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        super().__init__(view, form, semantics)
        self.matrix, self.done = prior(self.seats, self.seat, self.spy), 0
        self.players: tuple[str, ...] = view.rules.players

    def shown(self, phase: str, aside: bool) -> bool:
        """Whether the agent sees the notes in a phase. With `semantics` published: at clues and in interviews."""
        return aside or phase == "clue" if self.published else not aside

    def update(self, ratings: Mapping[tuple[int, int], int] | None) -> None:
        """Updates the matrix with ratings by (view, seat); missing ones are 0. None: the answer was unreadable."""
        if ratings is not None or self.published:
            seats, factors = range(self.seats), ratings or {}
            self.matrix = updated(self.matrix, [[factors.get((view, seat), 0) for seat in seats] for view in seats])

    def numbers(self) -> Thinking:
        """Asks for the matrix itself."""
        answer: Matrix | None = yield Suspicions(self.players)
        if answer is not None:
            self.matrix = normalised(answer, blank=[(self.seat, self.seat)] if self.spy is False else ())
            rows = Suspicions(self.players).format(self.matrix)
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
