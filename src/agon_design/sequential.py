"""A test that stays valid however often one looks. It bets against "the mean is 0", for bounded values drawn one after another.

Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (JRSS B 86, 2024), sections 3 and 4;
bets are a fixed mixture (their "diversified Kelly betting"). A bettor stakes a share of the capital on each next value.
If the mean is 0, the capital is not expected to grow. So by Ville's inequality it ever reaches 1 / error with a
probability of at most `error`. No shape of distribution is assumed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

BETS = np.geomspace(0.01, 0.98, 16)
"""Shares of what may be bet, each made with the same part of the capital."""
GRID = 401
"""Means that are tried for an interval."""


class Decision(NamedTuple):
    """What values have decided so far."""

    n: int
    """Number of values up to the one that decided, or of all if none did."""
    sign: int
    """The sign of the mean: 1, -1, or 0 where it is undecided."""


def capital(values: Numbers, mean: float = 0.0) -> tuple[Numbers, Numbers]:
    """Logarithms of two capitals after each value. The first bets that the mean is larger than `mean`, the second that it is smaller.

    Values are in -1 to 1, and `mean` is between.
    """
    apart = np.asarray(values, dtype=float) - mean
    return _log_capital(apart / (1 + mean)), _log_capital(-apart / (1 - mean))


def _log_capital(returns: Numbers) -> Numbers:
    """The logarithm of the capital after each of the `returns`: the gain per unit that is bet, -1 at the least."""
    logs = np.log1p(BETS[:, None] * returns).cumsum(axis=1)
    return np.logaddexp.reduce(logs, axis=0) - np.log(len(BETS))


def decide_sign(values: Numbers, error: float = 0.05) -> Decision:
    """The first time that the sign of the mean of `values` (in -1 to 1) is decided. It is ever wrong with a chance of at most `error`."""
    if not len(values):
        return Decision(0, 0)
    larger, smaller = (np.flatnonzero(logs >= np.log(2 / error)) for logs in capital(values))
    first = [(int(times[0]) + 1, sign) for times, sign in ((larger, 1), (smaller, -1)) if len(times)]
    return Decision(*min(first)) if first else Decision(len(values), 0)


def interval(values: Numbers, error: float = 0.05) -> tuple[float, float]:
    """The least and the greatest mean that no bet has refuted so far. Absent (nan) if all are refuted.

    The intervals after every number of values all hold the true mean at once, with a chance of at least 1 - `error`.
    """
    means = np.linspace(-1, 1, GRID)[1:-1]
    inside = [max(logs.max(initial=0.0) for logs in capital(values, mean)) < np.log(2 / error) for mean in means]
    means_inside, step = means[np.array(inside)], means[1] - means[0]
    if not len(means_inside):
        return np.nan, np.nan
    return max(-1.0, means_inside[0] - step), min(1.0, means_inside[-1] + step)
