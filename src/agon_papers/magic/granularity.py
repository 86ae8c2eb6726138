"""Exact tests of whether a printed number can be the count that it is said to be.

For shares, and for means of whole numbers, the test is GRIM (Brown and Heathers 2017, doi 10.1177/1948550616673876). It is
extended to weighted sums of shares.
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
    """Parses '9.5' as 95 / 10. '9.50' is the same, as the tables fill up to three digits, unless zeros count (`filled`)."""
    whole, _, fraction = text.partition(".")
    fraction = fraction if filled else fraction.rstrip("0") or "0"
    return Printed(int(whole + fraction), len(fraction))


@dataclass(frozen=True, eq=False)
class Definition:
    """The definition of a number, and every value that it can take: numerators over one denominator, times `scale` (100: percent)."""

    says: str
    numerators: Numbers
    denominator: int
    scale: int = 100
    n: int | None = None

    def nearest(self, numbers: int | Numbers, digits: int) -> Any:
        """The numerators whose values are nearest to `numbers` / 10**`digits`; of two the smaller one."""
        targets, values = numbers * self.denominator, self.numerators * self.scale * 10**digits
        at = np.searchsorted(values, targets)
        lower, upper = np.maximum(at - 1, 0), np.minimum(at, len(values) - 1)
        return self.numerators[np.where(targets - values[lower] <= values[upper] - targets, lower, upper)]

    def off(self, numbers: int | Numbers, digits: int) -> Any:
        """Exact distance by which the nearest values lie above the numbers, in units of their last digit over `denominator`."""
        return self.nearest(numbers, digits) * self.scale * 10**digits - numbers * self.denominator

    def fits(self, printed: Printed) -> bool:
        """Whether some value rounds to a printed number; an exact half may round either way."""
        return bool(2 * abs(self.off(*printed)) <= self.denominator)

    def how(self, printed: Printed) -> str:
        """How the nearest value became a printed number: "rounded", "cut off", "rounded up", or "" for none of these."""
        off = self.off(*printed)
        if 2 * abs(off) <= self.denominator:
            return "rounded"
        return "" if abs(off) >= self.denominator else "cut off" if off > 0 else "rounded up"

    @cache  # noqa: B019 - definitions are kept as long as the program runs
    def chance(self, digits: int) -> float:
        """Probability that a random printable value (0 to 100, with that many decimals) fits."""
        every = np.arange(100 * 10**digits + 1)
        return float((2 * np.abs(self.off(every, digits)) <= self.denominator).mean())


def counted(n: int, says: str, scale: int = 100, step: int = 1, most: int = 1) -> Definition:
    """k / n, times `scale`, for k from 0 to `most` n in steps of `step`."""
    numerators = np.arange(0, most * n + 1, step, dtype=np.int64)
    return Definition(says, numerators, n, scale, n if (step, most) == (1, 1) else None)


def summed(says: str, *parts: tuple[Sequence[int] | Numbers, int]) -> Definition:
    """All sums of one value of each part (numerators, denominator)."""
    denominator_of_sum = lcm(*(denominator for _, denominator in parts))
    sums = np.zeros(1, dtype=np.int64)
    for numerators, denominator in parts:
        sums = np.unique(
            np.add.outer(sums, np.asarray(numerators, dtype=np.int64) * (denominator_of_sum // denominator))
        )
    return Definition(says, sums, denominator_of_sum)


@cache
def sizes(printed: Printed, most: int) -> list[int]:
    """Every n up to `most` for which some k / n, in percent, rounds to a printed number."""
    return [n for n in range(1, most + 1) if counted(n, "").fits(printed)]
