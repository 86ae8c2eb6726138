"""The difference of two conditions, stratum by stratum, and its interval.

A stratum is a cell of the design: what both conditions share, such as the game and the opponent. Strata are fixed, matches are drawn.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from agon.metrics.interval import ALIKE, welch

Numbers = NDArray[np.float64]
Cells = Sequence[tuple[Numbers, Numbers]]
"""For each stratum the values of the first condition and those of the second, a value per match."""


Kind: TypeAlias = Literal["welch", "shares", "pooled", "paired"]
"""The kind of an interval, see `estimate`."""


class Estimate(NamedTuple):
    """The difference, its interval, and the numbers behind it."""

    first: float
    second: float
    low: float
    high: float
    how: str
    """The kind of the interval, or why there is none."""
    spread: float
    """The standard deviation of matches within a cell, or of differences where they are paired."""
    reach: float
    """The difference's standard error where `spread` is 1."""
    df: float
    """The degrees of freedom of `spread`."""
    weights: Numbers
    """The weight of each stratum. They sum to 1."""


def estimate(cells: Cells, level: float = 0.95, alike: bool = False) -> Estimate:
    """Compares the two conditions in `cells`; neither may be empty in any cell.

    The difference is the weighted mean of the strata's differences. A stratum weighs n1 n2 / (n1 + n2) (Cochran, Mantel,
    Haenszel), as in least squares with an effect for each stratum; with `alike` all strata weigh the same. Its interval:

    - welch, where every cell has two matches: Student's t with each cell's own variance, degrees of freedom by Welch and Satterthwaite.
    - shares, where there is one stratum and all values are 0 or 1: Agresti and Caffo's, with a success and a failure added to each.
    - pooled, where some cell has one match: as welch; such a cell has the variance of its condition's larger cells.
    - paired, where one condition has one match in every cell: Student's t of the strata's differences. They weigh the same, and
      count as a sample.

    In simulations the intervals cover 93 to 97 %, and with two matches or pairs up to 98.5 %. The simulations have 600 draws or more of
    each design, 2 to 30 matches of a cell or pairs, normal, skewed and bounded metrics, and equal and doubled spreads. One case falls
    short, with 88 to 94 %: a cell of one match that spreads two to four times as much as the others. Its spread cannot be measured.

    The interval is absent without any spread (but for shares), and without a degree of freedom.
    """
    n, means, variances = moments(cells)
    how: str = kind_of(cells)
    paired = how == "paired"
    weights = np.ones(len(n)) if paired or alike else n.prod(axis=1) / n.sum(axis=1)
    weights /= weights.sum()
    first, second = (float(value) for value in weights @ means)
    if paired:
        differences = means[:, 1] - means[:, 0]
        df = spread_df = float(len(differences) - 1)
        spread, reach = float(np.var(differences, ddof=1)) ** 0.5 if spread_df else np.nan, len(differences) ** -0.5
        error = spread * reach
    else:
        spread_df = float((n - 1).sum())
        spread, reach = (
            float(np.nansum((n - 1) * variances) / spread_df) ** 0.5,
            float(weights**2 @ (1 / n).sum(axis=1)) ** 0.5,
        )
        error, df = (float(value) for value in welch(weights, n, variances))
    middle = second - first
    if how == "shares":
        shares = (n * means + 1)[0] / (n[0] + 2)
        middle, df = float(shares[1] - shares[0]), np.inf
        error = float((shares * (1 - shares) / (n[0] + 2)).sum()) ** 0.5
    elif paired and len(cells) == 1:
        how = "one match: no interval"
    elif not error > ALIKE * max(1.0, abs(first), abs(second)):
        how, spread = "all matches of a cell are alike: no interval", np.nan
    half = np.nan if "no interval" in how else float(stdtrit(df, (1 + level) / 2)) * error
    return Estimate(first, second, middle - half, middle + half, how, spread, reach, spread_df, weights)


def kind_of(cells: Cells) -> Kind:
    """The kind of the interval that these cells get, see `estimate`."""
    sizes = np.array([[len(one), len(other)] for one, other in cells])
    if (sizes == 1).all(axis=0).any():
        return "paired"
    if (sizes == 1).any():
        return "pooled"
    if len(cells) == 1 and all(np.isin(values, (0, 1)).all() for values in cells[0]):
        return "shares"
    return "welch"


def moments(cells: Cells) -> tuple[NDArray[np.int64], Numbers, Numbers]:
    """Sizes, means and variances (strata x conditions); a cell of one value has no variance."""
    sizes = np.array([[len(one), len(other)] for one, other in cells])
    values, places = (
        np.concatenate([values_of_condition for cell in cells for values_of_condition in cell]),
        np.repeat(np.arange(sizes.size), sizes.ravel()),
    )
    means = np.bincount(places, values) / sizes.ravel()
    squares = np.bincount(places, (values - means[places]) ** 2)
    variances = np.divide(squares, sizes.ravel() - 1, out=np.full(sizes.size, np.nan), where=sizes.ravel() > 1)
    return sizes, means.reshape(sizes.shape), variances.reshape(sizes.shape)
