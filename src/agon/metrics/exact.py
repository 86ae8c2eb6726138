"""Exact tests on counts."""

from math import gcd

import numpy as np
from numpy.typing import NDArray

FINEST = 2_000_000
"""The most steps into which `flips` divides the sum of all absolute values."""


def flips(differences: NDArray[np.float64]) -> float:
    """Two-sided p of the sum of `differences` (whole numbers) in the sign-flip permutation test, over all choices of signs.

    It counts in steps of their greatest common divisor, and is exact if the sum of their absolute values has up to FINEST steps. If
    it has more, the numbers are first rounded to steps of a FINESTth of this sum.
    """
    steps = np.abs(np.rint(differences)).astype(np.int64)
    steps = steps[steps > 0]
    observed = abs(int(np.rint(differences).sum()))
    unit = max(gcd(*steps.tolist()), int(steps.sum()) // FINEST) if len(steps) else 1
    steps, observed = np.rint(steps / unit).astype(np.int64), round(observed / unit)
    chances = np.zeros(int(steps.sum()) + 1)  # of the sum of those that keep a positive sign
    chances[0] = 1.0
    for step in steps:
        chances[step:] = (chances[step:] + chances[: len(chances) - step]) / 2
        chances[:step] /= 2
    sums = 2 * np.arange(len(chances)) - len(chances) + 1
    return float(min(1.0, chances[np.abs(sums) >= observed].sum()))


def mcnemar_bounds(before: int, after: int, n: int) -> tuple[float, float]:
    """Smallest and largest p that McNemar's exact test can have for `before` and `after` of `n` decisions, over all ways to pair them."""
    from scipy.stats import binom  # here: it takes half a second, and few need it

    low, high = sorted((before, after))
    fewest = np.arange(min(low, n - high) + 1)
    changed = 2 * fewest + (high - low)
    p = np.minimum(1.0, 2 * binom.cdf(fewest, changed, 0.5))
    return float(p.min()), float(p.max())
