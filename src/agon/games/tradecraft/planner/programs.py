"""Whole-number programs, solved exactly by HiGHS, with one answer where several are as good."""

import functools
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

NODES = 5_000
"""Branches after which the search for a plan ends undecided. A number of branches, not of seconds: the same anywhere."""
UNIT = 32
"""What one of what is counted costs ..."""
TIES = 1024
HIGHEST_TIE = 1 / 64
"""... and at most so much more tells apart what is equally good."""
ROUNDED = 1e-3
"""So much a cost in parts of pieces may be off: far more than the solver's own tolerances."""
LARGE = 100_000
"""No variable is above it."""

Terms = Mapping[int, float]
"""Variable -> its factor."""


class Bound(NamedTuple):
    """A variable being at least, or at most, a number."""

    variable: int
    sense: Literal["at least", "at most"]
    number: int


class Solved(NamedTuple):
    """What a program came to."""

    status: Literal["solved", "impossible", "undecided"]
    values: list[float] | None
    """Of all variables, if there is a solution."""
    bound: float
    """No solution costs less, in parts of UNIT."""

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

    def variable(self, name: str = "", cost: float = 0.0, high: float = LARGE, whole: bool = True) -> int:
        """A new variable; its name decides between solutions that cost the same."""
        self._costs.append(UNIT * cost + (HIGHEST_TIE * tie(name) / TIES if name else 0))
        self._highs.append(high)
        self._whole.append(whole)
        return len(self._costs) - 1

    def condition(self, terms: Terms, low: float = -np.inf, high: float = np.inf) -> int:
        """A sum that must lie between two numbers; the condition's own number."""
        self._rows.append((terms, low, high))
        return len(self._rows) - 1

    def limited(self, terms: Terms, high: float) -> "Program":
        """The same program with one more condition: a sum is not above a number."""
        program = Program()
        program._costs, program._highs, program._whole = self._costs[:], self._highs[:], self._whole[:]
        program._rows = [*self._rows, (terms, -np.inf, high)]
        return program

    def relax(self, condition: int, high: float) -> None:
        """Let the sum of a condition be larger."""
        terms, low, _ = self._rows[condition]
        self._rows[condition] = terms, low, high

    def one_of(self, literals: Iterable[Bound]) -> None:
        """At least one of these must hold."""
        chosen: dict[int, float] = {}
        for variable, sense, number in literals:
            holds = self.variable(high=1)
            chosen[holds] = 1
            if sense == "at least":
                self.condition({variable: 1, holds: -number}, low=0)
            else:
                most = min(self._highs[variable], LARGE)
                self.condition({variable: 1, holds: most - number}, high=most)
        self.condition(chosen, low=1)

    def in_parts(self, costs: Terms) -> Solved:
        """The least solution with parts of pieces, which is quickly found: no solution in whole pieces costs less."""
        every = [costs.get(variable, 0.0) for variable in range(len(self._costs))]
        found = milp(np.array(every), bounds=Bounds(0, np.array(self._highs)), constraints=self._limits())
        if found.x is None:
            return Solved("impossible" if found.status == 2 else "undecided", None, 0.0)
        return Solved("solved", found.x.tolist(), max(0.0, found.fun - ROUNDED))

    def solved(self, nodes: int = NODES, costs: Terms | None = None) -> Solved:
        """The least solution, or why there is none. `costs`: instead of the variables' own, without ties."""
        if not self._costs:
            fits = all(low <= 0 <= high for _, low, high in self._rows)
            return Solved("solved", [], 0.0) if fits else Solved("impossible", None, np.inf)
        limits = self._limits()
        found = milp(
            np.array(self._costs if costs is None else [UNIT * costs.get(i, 0.0) for i in range(len(self._costs))]),
            integrality=np.array(self._whole),
            bounds=Bounds(0, np.array(self._highs)),
            constraints=limits,
            options={"mip_rel_gap": 0.0, "node_limit": nodes},
        )
        if found.status == 2:
            large = self._cut_off(limits)
            return Solved("undecided", None, 0.0) if large else Solved("impossible", None, np.inf)
        bound = max(0.0, found.mip_dual_bound or 0.0)
        if found.x is None:
            return Solved("undecided", None, bound)
        return Solved("solved" if found.status == 0 else "undecided", found.x.tolist(), bound)

    def _limits(self) -> LinearConstraint:
        starts = np.cumsum([0, *(len(terms) for terms, _, _ in self._rows)])
        columns = [variable for terms, _, _ in self._rows for variable in terms]
        factors = [factor for terms, _, _ in self._rows for factor in terms.values()]
        matrix = csr_array((factors, columns, starts), shape=(len(self._rows), len(self._costs)))
        return LinearConstraint(matrix, [low for _, low, _ in self._rows], [high for _, _, high in self._rows])

    def _cut_off(self, limits: LinearConstraint) -> bool:
        """Whether it is LARGE alone that stands in the way, in parts of pieces: then nothing is proved."""
        fits = []
        for high in (np.inf, LARGE):
            bounds = Bounds(0, [high if each == LARGE else each for each in self._highs])
            fits.append(milp(np.zeros(len(self._costs)), bounds=bounds, constraints=limits).status != 2)
            if not fits[0]:
                return False
        return not fits[1]


def least(bound: float) -> int:
    """The least whole number that is not below a bound."""
    return max(0, ceil(bound - 1e-6))


@functools.lru_cache(maxsize=65536)
def tie(name: str) -> int:
    """A number between 1 and TIES, from a name: the same on every machine, and without a pattern."""
    return 1 + int.from_bytes(blake2b(name.encode(), digest_size=4).digest()) % (TIES - 1)
