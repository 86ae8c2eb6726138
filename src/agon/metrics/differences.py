"""The difference of two conditions, stratum by stratum, and its interval.

A stratum is a cell of the design: what both conditions share, such as the game and the opponent. Strata are fixed, matches are drawn.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from agon.metrics.interval import ALIKE, welch

Numbers = NDArray[np.float64]
Cells = Sequence[tuple[Numbers, Numbers]]
"""For each stratum the values of the first condition and those of the second, a value per match."""


class Estimate(NamedTuple):
    """The difference and what its interval rests on."""

    first: float
    second: float
    low: float
    high: float
    how: str
    spread: float
    """The standard deviation of matches within a cell, or of differences where they are paired."""
    reach: float
    """The difference's standard error where `spread` is 1."""
    df: float
    """Of the spread."""
    weights: Numbers
    """Of the strata."""


def estimate(cells: Cells, level: float = 0.95, alike: bool = False) -> Estimate:
    """Compares the two conditions in `cells`, in none of which either is empty.

    The difference is the mean of the strata's, each weighted by n1 n2 / (n1 + n2) (Cochran, Mantel, Haenszel), as least
    squares with an effect for each stratum give; with `alike` all strata count alike. Its interval:

    - welch, where every cell has two matches: Student's t with each cell's own variance, degrees of freedom by Welch and Satterthwaite.
    - shares, where there is one stratum and all values are 0 or 1: Agresti and Caffo's, with a success and a failure added to each.
    - pooled, where some cell has one match: the same, and such a cell has the variance of its condition's cells that have more.
    - paired, where one condition has one match in every cell: by the differences of the strata, which count alike, and are taken to
      be drawn.

    Simulated (600 draws or more of each design, 2 to 30 matches of a cell or pairs, normal, skewed and bounded metrics, equal and doubled
    spreads), they cover 93 to 97 %, with two matches or pairs up to 98.5 %. One case falls short: a cell of one match that spreads two
    to four times as much as the others, 88 to 94 %. Its spread cannot be seen.

    It is absent where there is no spread at all (but for shares), or nothing to tell it from.
    """
    n, means, variances = moments(cells)
    paired, some_alone = bool((n == 1).all(axis=0).any()), bool((n == 1).any())
    weights = np.ones(len(n)) if paired or alike else n.prod(axis=1) / n.sum(axis=1)
    weights /= weights.sum()
    first, second = (float(each) for each in weights @ means)
    if paired:
        apart = means[:, 1] - means[:, 0]
        df = own = float(len(apart) - 1)
        spread, reach = float(np.var(apart, ddof=1)) ** 0.5 if own else np.nan, len(apart) ** -0.5
        error = spread * reach
    else:
        own = float((n - 1).sum())
        spread, reach = (
            float(np.nansum((n - 1) * variances) / own) ** 0.5,
            float(weights**2 @ (1 / n).sum(axis=1)) ** 0.5,
        )
        error, df = (float(each) for each in welch(weights, n, variances))
    how = "paired" if paired else "pooled" if some_alone else "welch"
    middle = second - first
    if len(cells) == 1 and n.min() > 1 and all(np.isin(each, (0, 1)).all() for each in cells[0]):
        shares = (n * means + 1)[0] / (n[0] + 2)
        how, middle, df = "shares", float(shares[1] - shares[0]), np.inf
        error = float((shares * (1 - shares) / (n[0] + 2)).sum()) ** 0.5
    elif paired and len(cells) == 1:
        how = "one match: no interval"
    elif not error > ALIKE * max(1.0, abs(first), abs(second)):
        how, spread = "all matches of a cell are alike: no interval", np.nan
    half = np.nan if "no interval" in how else float(stdtrit(df, (1 + level) / 2)) * error
    return Estimate(first, second, middle - half, middle + half, how, spread, reach, own, weights)


def moments(cells: Cells) -> tuple[NDArray[np.int64], Numbers, Numbers]:
    """Sizes, means and variances, strata x conditions; the variance of one value is absent."""
    sizes = np.array([[len(one), len(other)] for one, other in cells])
    values, places = (
        np.concatenate([each for cell in cells for each in cell]),
        np.repeat(np.arange(sizes.size), sizes.ravel()),
    )
    means = np.bincount(places, values) / sizes.ravel()
    squares = np.bincount(places, (values - means[places]) ** 2)
    variances = np.divide(squares, sizes.ravel() - 1, out=np.full(sizes.size, np.nan), where=sizes.ravel() > 1)
    return sizes, means.reshape(sizes.shape), variances.reshape(sizes.shape)
