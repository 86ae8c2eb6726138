"""Integer programs, solved exactly by HiGHS. Of several optimal solutions it always finds the same one."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np

NODES = 5_000
"""Branches after which the search for a plan ends undecided: unlike seconds, the same on every machine."""
UNIT = 32
"""The solver's cost of one operation."""
TIES = 1024
"""The number of different ties (`tie`)."""
HIGHEST_TIE = 1 / 64
"""A name adds at most this to a cost. So ties are broken in the same way, whatever the order of the variables."""
ROUNDED = 1e-3
"""The error of the cost of a relaxation, at most: far more than the solver's own tolerances."""
LARGE = 100_000
"""No variable is above it."""

Terms = Mapping[int, float]
"""Variable -> its factor."""


class Bound(NamedTuple):
    """A bound on a variable: at least, or at most, a number."""

    variable: int
    sense: Literal["at least", "at most"]
    number: int


class Solution(NamedTuple):
    """The solver's answer to a program."""

    status: Literal["solved", "impossible", "undecided"]
    values: list[float] | None
    """The values of all variables, if there is a solution."""
    bound: float
    """No solution costs less. `solve` gives it in parts of UNIT, and `solve_relaxed` in the given costs."""

    def count(self, variable: int) -> int:
        """The value of a whole variable."""
        return round(self.values[variable]) if self.values else 0


class Program:
    """Minimise a sum over variables from 0 up, under linear conditions."""

    def __init__(self) -> None:
        self._costs: list[float] = []
        self._highs: list[float] = []
        self._whole: list[int] = []
        self._rows: list[tuple[Terms, float, float]] = []

    @property
    def size(self) -> int:
        """How many variables there are."""
        return len(self._costs)

    def add_variable(self, name: str = "", cost: float = 0.0, high: float = LARGE, whole: bool = True) -> int:
        """Adds a variable and returns its number. Its name decides between solutions that cost the same."""
        self._costs.append(UNIT * cost + (HIGHEST_TIE * tie(name) / TIES if name else 0))
        self._highs.append(high)
        self._whole.append(whole)
        return len(self._costs) - 1

    def add_condition(self, terms: Terms, low: float = -np.inf, high: float = np.inf) -> int:
        """Adds a condition: a sum must lie between two numbers. Returns the number of the condition."""
        self._rows.append((terms, low, high))
        return len(self._rows) - 1

    def with_condition(self, terms: Terms, high: float) -> "Program":
        """The same program with one more condition: a sum is not above a number."""
        program = Program()
        program._costs, program._highs, program._whole = self._costs[:], self._highs[:], self._whole[:]
        program._rows = [*self._rows, (terms, -np.inf, high)]
        return program

    def relax(self, condition: int, high: float) -> None:
        """Sets the upper end of a condition."""
        terms, low, _ = self._rows[condition]
        self._rows[condition] = terms, low, high

    def require_one_of(self, literals: Iterable[Bound]) -> None:
        """At least one of these must hold."""
        terms: dict[int, float] = {}
        for variable, sense, number in literals:
            indicator = self.add_variable(high=1)
            terms[indicator] = 1
            if sense == "at least":
                self.add_condition({variable: 1, indicator: -number}, low=0)
            else:
                most = min(self._highs[variable], LARGE)
                self.add_condition({variable: 1, indicator: most - number}, high=most)
        self.add_condition(terms, low=1)

    def solve_relaxed(self, costs: Terms) -> Solution:
        """The least solution of the relaxation, in which all variables may be fractions. No integer solution costs less."""
        result = self._answer([costs.get(variable, 0.0) for variable in range(self.size)], self._highs)
        if result.x is None:
            return Solution("impossible" if result.status == 2 else "undecided", None, 0.0)
        return Solution("solved", result.x.tolist(), max(0.0, result.fun - ROUNDED))

    def solve(self, nodes: int = NODES, costs: Terms | None = None) -> Solution:
        """The least solution, or why there is none. `costs` take the place of the variables' own; then there are no ties."""
        if not self._costs:
            fits = all(low <= 0 <= high for _, low, high in self._rows)
            return Solution("solved", [], 0.0) if fits else Solution("impossible", None, np.inf)
        objective = self._costs if costs is None else [UNIT * costs.get(variable, 0.0) for variable in range(self.size)]
        result = self._answer(objective, self._highs, nodes)
        if result.status == 2:
            return Solution("undecided", None, 0.0) if self._cut_off() else Solution("impossible", None, np.inf)
        bound = max(0.0, result.mip_dual_bound or 0.0)
        if result.x is None:
            return Solution("undecided", None, bound)
        return Solution("solved" if result.status == 0 else "undecided", result.x.tolist(), bound)

    def _answer(self, costs: Sequence[float], highs: Sequence[float], nodes: int = 0) -> Any:
        """The solver's answer; variables are whole numbers if there are `nodes`. Its status 2 means that there is no solution."""
        rows = tuple((tuple(terms.items()), low, high) for terms, low, high in self._rows)
        return _run_solver(tuple(costs), tuple(highs), rows, tuple(self._whole) if nodes else (), nodes)

    def _cut_off(self) -> bool:
        """Whether the relaxation has a solution only if variables may be above LARGE."""
        zero, free = [0.0] * self.size, [np.inf if high == LARGE else high for high in self._highs]
        return self._answer(zero, free).status != 2 and self._answer(zero, self._highs).status == 2


@functools.lru_cache(maxsize=4096)
def _run_solver(
    costs: tuple[float, ...],
    highs: tuple[float, ...],
    rows: tuple[tuple[tuple[tuple[int, float], ...], float, float], ...],
    whole: tuple[int, ...],
    nodes: int,
) -> Any:
    """The solver's answer. It is cached, because players of one match and matches of one problem often ask the same."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # a quarter of a second
    from scipy.sparse import csr_array

    starts = np.cumsum([0, *(len(terms) for terms, _, _ in rows)])
    columns = [variable for terms, _, _ in rows for variable, _ in terms]
    factors = [factor for terms, _, _ in rows for _, factor in terms]
    matrix = csr_array((factors, columns, starts), shape=(len(rows), len(costs)))
    limits = LinearConstraint(matrix, [low for _, low, _ in rows], [high for _, _, high in rows])
    how = {"integrality": np.array(whole), "options": {"mip_rel_gap": 0.0, "node_limit": nodes}} if nodes else {}
    return milp(np.array(costs), bounds=Bounds(0, np.array(highs)), constraints=limits, **how)


def least(bound: float) -> int:
    """The least whole number that is at least a bound."""
    return max(0, ceil(bound - 1e-6))


@functools.lru_cache(maxsize=65536)
def tie(name: str) -> int:
    """A number between 1 and TIES, from a name: the same on every machine, and without a pattern."""
    return 1 + int.from_bytes(blake2b(name.encode(), digest_size=4).digest()) % (TIES - 1)
