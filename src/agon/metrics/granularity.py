"""Could a printed number be what it is said to count? Exact tests of its granularity.

For shares, and for means of whole numbers, it is GRIM (Brown and Heathers 2017, doi 10.1177/1948550616673876); here weighted sums of
shares are tested too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Printed(NamedTuple):
    """A printed number, exactly: `number` / 10**`digits`."""

    number: int
    digits: int


def as_printed(text: str, filled: bool = False) -> Printed:
    """'9.5' is 95 / 10; so is '9.50', as the tables fill up to three digits, unless the filling counts (`filled`)."""
    whole, _, fraction = text.partition(".")
    fraction = fraction if filled else fraction.rstrip("0") or "0"
    return Printed(int(whole + fraction), len(fraction))


@dataclass(frozen=True, eq=False)
class Definition:
    """What a number counts, and every value that it can take: numerators over one denominator, times `scale` (100: percent)."""

    says: str
    numerators: Numbers
    denominator: int
    scale: int = 100
    n: int | None = None

    def nearest(self, numbers: int | Numbers, digits: int) -> Any:
        """The numerators whose values are nearest to `numbers` / 10**`digits`; of two the smaller one."""
        wanted, values = numbers * self.denominator, self.numerators * self.scale * 10**digits
        at = np.searchsorted(values, wanted)
        lower, upper = np.maximum(at - 1, 0), np.minimum(at, len(values) - 1)
        return self.numerators[np.where(wanted - values[lower] <= values[upper] - wanted, lower, upper)]

    def off(self, numbers: int | Numbers, digits: int) -> Any:
        """How far the nearest values lie above the numbers, in units of their last digit over `denominator`: exact."""
        return self.nearest(numbers, digits) * self.scale * 10**digits - numbers * self.denominator

    def fits(self, printed: Printed) -> bool:
        """Whether some value rounds to a printed number; exactly half may round either way."""
        return bool(2 * abs(self.off(*printed)) <= self.denominator)

    def how(self, printed: Printed) -> str:
        """How the nearest value became a printed number: rounded, cut off, rounded up, or in none of these ways (empty)."""
        off = self.off(*printed)
        if 2 * abs(off) <= self.denominator:
            return "rounded"
        return "" if abs(off) >= self.denominator else "cut off" if off > 0 else "rounded up"

    @cache  # noqa: B019 - definitions are kept as long as the program runs
    def chance(self, digits: int) -> float:
        """Share of all printable values (0 to 100, with that many decimals) that fit: what a fit is worth."""
        every = np.arange(100 * 10**digits + 1)
        return float((2 * np.abs(self.off(every, digits)) <= self.denominator).mean())


def counted(n: int, says: str, scale: int = 100, step: int = 1, most: int = 1) -> Definition:
    """k / n, times `scale`, for k from 0 to `most` n in steps of `step`."""
    numerators = np.arange(0, most * n + 1, step, dtype=np.int64)
    return Definition(says, numerators, n, scale, n if (step, most) == (1, 1) else None)


def summed(says: str, *parts: tuple[Sequence[int] | Numbers, int]) -> Definition:
    """Sums of one value of each part (numerators, denominator)."""
    whole = lcm(*(denominator for _, denominator in parts))
    found = np.zeros(1, dtype=np.int64)
    for numerators, denominator in parts:
        found = np.unique(np.add.outer(found, np.asarray(numerators, dtype=np.int64) * (whole // denominator)))
    return Definition(says, found, whole)


@cache
def sizes(printed: Printed, most: int) -> list[int]:
    """Every n up to `most` for which some k / n, in percent, rounds to a printed number."""
    return [n for n in range(1, most + 1) if counted(n, "").fits(printed)]
