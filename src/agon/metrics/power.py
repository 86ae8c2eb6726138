"""Power of a design, by the noncentral t (Cohen 1988, chapter 2).

A design is a list of cells; a cell has n matches that spread by its own standard deviation. Cells are fixed, matches are drawn.
"""

from collections.abc import Callable
from math import inf, nan, sqrt

from scipy.optimize import brentq
from scipy.special import nctdtr, stdtrit

POWER = 0.8
"""Probability with which the smallest detectable difference is found."""


def power(shift: float, df: float, level: float = 0.95) -> float:
    """Probability that the two-sided t test finds a difference of `shift` standard errors, with `df` degrees of freedom."""
    cut = float(stdtrit(df, (1 + level) / 2))
    below = float(nctdtr(df, abs(shift), -cut))  # nan where it is too small to compute
    return float(1 - nctdtr(df, abs(shift), cut)) + (below if below == below else 0.0)


def detectable(error: float, df: float, level: float = 0.95) -> float:
    """The smallest difference that is found with a power of 80 %, if its standard error is `error`.

    Two cells of n matches with standard deviation s have error s sqrt(2 / n) and df 2 n - 2. Absent (nan) without a degree of freedom.
    """
    if not (df > 0 and error >= 0):
        return nan
    high = 2.0
    while power(high, df, level) < POWER:
        high *= 1.5
    return error * float(brentq(lambda shift: power(shift, df, level) - POWER, 0.0, high))


def needed(shift_of_means: float, spread: float, paired: bool = False, level: float = 0.95) -> float:
    """Matches of each condition (or pairs) for a power of 80 % in the two-sided t test, if their standard deviation is `spread`.

    All matches count as one stratum, which hardly matters. Absent (nan) without a difference or a spread.
    """
    size = abs(shift_of_means) / spread if spread > 0 else 0.0
    if not 1e-6 < size < float("inf"):
        return nan

    def is_enough(n: int) -> bool:
        df, shift = (n - 1, size * sqrt(n)) if paired else (2 * n - 2, size * sqrt(n / 2))
        return power(shift, df, level) >= POWER

    return float(fewest(is_enough))


def fewest(is_enough: Callable[[int], bool], most: float = inf) -> float:
    """The smallest number from 2 on that is enough, if all larger ones are too; infinite beyond `most`. By bisection."""
    low, high = 1, 2
    while not is_enough(high):
        low, high = high, 2 * high
        if low >= most:
            return inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high if high <= most else inf
