"""Two conditions compared, stratum by stratum: difference, interval, effect size, permutation test, and how many matches it takes.

A stratum is a cell of the design: what both conditions share, such as the game and the opponent. Strata are fixed, matches are drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, nctdtrinc, stdtrit

from agon.metrics.interval import ALIKE, welch
from agon.metrics.power import needed

Numbers = NDArray[np.float64]
Cells = Sequence[tuple[Numbers, Numbers]]
"""For each stratum the values of the first condition and those of the second, a value per match."""

ARRANGEMENTS = 20_000
"""Up to so many the permutation test counts them all, and is exact."""
LISTED = 1_000
"""Up to so many ways to exchange the matches of a stratum are listed before one is drawn; else matches are shuffled.

Of one match against many all ways are listed."""
DRAWN = 9_999
"""So many are drawn else; fewer for many matches, and 1,999 at least."""


@dataclass(frozen=True)
class Difference:
    """The second condition less the first; absent (nan) what cannot be said."""

    strata: int
    n_first: int
    n_second: int
    first_mean: float
    """Over the strata, weighted as the difference is."""
    second_mean: float
    difference: float
    low: float
    high: float
    how: str
    """What the interval rests on (see `difference`), or why there is none."""
    effect: float
    """The difference in standard deviations of matches within a cell (Hedges' g), or of differences where they are paired."""
    effect_low: float
    effect_high: float
    p: float
    p_error: float
    """Standard error of p; 0 where it is exact."""
    needed: float
    """Matches of each condition for a power of 80 % at the difference seen; pairs where they are paired."""
    spread: float
    """The standard deviation that the effect is in."""


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
    """The part of `difference` that needs no draws."""
    n, means, variances = _moments(cells)
    paired, some_alone = bool((n == 1).all(axis=0).any()), bool((n == 1).any())
    weights = np.ones(len(n)) if paired or alike else n.prod(axis=1) / n.sum(axis=1)
    weights /= weights.sum()
    first, second = (float(each) for each in weights @ means)
    if paired:
        apart = means[:, 1] - means[:, 0]
        df = own = float(len(apart) - 1)
        spread, reach = float(np.var(apart, ddof=1)) ** 0.5 if own else nan, len(apart) ** -0.5
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
        how, spread = "all matches of a cell are alike: no interval", nan
    half = nan if "no interval" in how else float(stdtrit(df, (1 + level) / 2)) * error
    return Estimate(first, second, middle - half, middle + half, how, spread, reach, own, weights)


def alone(cells: Cells, level: float = 0.95) -> dict[str, NDArray[Any]]:
    """Every stratum by itself: n_first, n_second, first_mean, second_mean, difference, low, high; the interval is Welch's."""
    n, means, variances = _moments(cells)
    apart = means[:, 1] - means[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        error, df = welch(np.ones((len(cells), 1)), n[:, None], variances[:, None])
        half = np.where(
            error > ALIKE * np.maximum(1.0, np.abs(means).max(axis=1)), stdtrit(df, (1 + level) / 2) * error, nan
        )
    counts = {"n_first": n[:, 0], "n_second": n[:, 1], "first_mean": means[:, 0], "second_mean": means[:, 1]}
    return counts | {"difference": apart, "low": apart - half, "high": apart + half}


def difference(cells: Cells, level: float = 0.95, seed: int = 1, alike: bool = False) -> Difference:
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

    It is absent where there is no spread at all (but for shares), or nothing to tell it from. The effect's interval inverts the
    noncentral t, as if all cells had the same variance. p is of the two-sided permutation test that exchanges matches within their
    stratum.
    """
    found = estimate(cells, level, alike)
    effect, effect_low, effect_high = _effect(found, level)
    p, p_error = permutation(cells, found.weights, seed)
    return Difference(
        strata=len(cells),
        n_first=sum(len(one) for one, _ in cells),
        n_second=sum(len(other) for _, other in cells),
        first_mean=found.first,
        second_mean=found.second,
        difference=found.second - found.first,
        low=found.low,
        high=found.high,
        how=found.how,
        effect=effect,
        effect_low=effect_low,
        effect_high=effect_high,
        p=p,
        p_error=p_error,
        needed=needed(found.second - found.first, found.spread, found.how == "paired"),
        spread=found.spread,
    )


def _moments(cells: Cells) -> tuple[NDArray[np.int64], Numbers, Numbers]:
    """Sizes, means and variances, strata x conditions; the variance of one value is absent."""
    sizes = np.array([[len(one), len(other)] for one, other in cells])
    values, places = (
        np.concatenate([each for cell in cells for each in cell]),
        np.repeat(np.arange(sizes.size), sizes.ravel()),
    )
    means = np.bincount(places, values) / sizes.ravel()
    squares = np.bincount(places, (values - means[places]) ** 2)
    variances = np.divide(squares, sizes.ravel() - 1, out=np.full(sizes.size, nan), where=sizes.ravel() > 1)
    return sizes, means.reshape(sizes.shape), variances.reshape(sizes.shape)


def _effect(found: Estimate, level: float) -> tuple[float, float, float]:
    """The difference in units of its spread, with Hedges' correction; the limits are those of the noncentral t."""
    df, apart = found.df, found.second - found.first
    if not found.spread > 0:
        return nan, nan, nan
    corrected = float(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2))) * (2 / df) ** 0.5 if df > 1 else nan
    t = apart / (found.spread * found.reach)
    low, high = (float(nctdtrinc(df, p, t)) * found.reach for p in ((1 + level) / 2, (1 - level) / 2))
    return apart / found.spread * corrected, low, high


def permutation(cells: Cells, weights: Numbers, seed: int = 1) -> tuple[float, float]:
    """p of the weighted difference of means, two-sided, when matches are exchanged within strata; and its standard error.

    Exact (error 0) up to ARRANGEMENTS ways to exchange them, else Monte Carlo, where the arrangement that was seen counts as one.
    """
    ways = [comb(len(one) + len(other), len(one)) for one, other in cells]
    total = 1
    for each in ways:
        total = min(total * each, ARRANGEMENTS + 1)
    # a stratum's part of the difference falls by `slope` for every point that the first condition's sum has more
    slopes = [w * (1 / len(one) + 1 / len(other)) for w, (one, other) in zip(weights, cells, strict=True)]
    pooled = [np.concatenate(cell) - np.concatenate(cell).mean() for cell in cells]
    seen = sum(slope * values[: len(one)].sum() for slope, values, (one, _) in zip(slopes, pooled, cells, strict=True))
    slack = 1e-9 * max(
        1e-300, *(abs(slope) * np.abs(values).sum() for slope, values in zip(slopes, pooled, strict=True))
    )
    parts = zip(slopes, pooled, (len(one) for one, _ in cells), ways, strict=True)
    if total <= ARRANGEMENTS:
        sums = np.zeros(1)
        for slope, values, size, _ in parts:
            sums = np.add.outer(sums, slope * _subset_sums(values, size)).ravel()
        return float((np.abs(sums) >= abs(seen) - slack).mean()), 0.0
    dice = np.random.default_rng(seed)
    drawn = int(np.clip(20_000_000 // sum(map(len, pooled)), 1_999, DRAWN))
    sums = np.zeros(drawn)
    for slope, values, size, count in parts:
        if not values.any():
            continue
        if count <= LISTED or count == len(values):  # that is one match against many
            sums += slope * dice.choice(_subset_sums(values, size), drawn)
        else:
            sums += slope * dice.permuted(np.broadcast_to(values, (drawn, len(values))), axis=1)[:, :size].sum(axis=1)
    p = (1 + int((np.abs(sums) >= abs(seen) - slack).sum())) / (drawn + 1)
    return p, sqrt(p * (1 - p) / drawn)


def _subset_sums(values: Numbers, size: int) -> Numbers:
    """The sums of all ways to choose so many of the values."""
    if 2 * size > len(values):  # what is chosen is what the fewer others leave; listed in the same order
        return values.sum() - _subset_sums(values, len(values) - size)[::-1]
    chosen = np.array(list(combinations(range(len(values)), size)))
    sums: Numbers = values[chosen].sum(axis=1)
    return sums
