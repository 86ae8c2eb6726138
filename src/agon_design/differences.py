"""Two conditions compared, stratum by stratum: difference, interval, effect size, permutation test, and how many matches it takes.

A stratum is a cell of the design: what both conditions share, such as the game and the opponent. Strata are fixed, matches are drawn.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, nctdtrinc, stdtrit

from agon.metrics.differences import Cells, Estimate, estimate, moments
from agon.metrics.interval import ALIKE, welch
from agon.metrics.power import needed

Numbers = NDArray[np.float64]

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


def alone(cells: Cells, level: float = 0.95) -> dict[str, NDArray[Any]]:
    """Every stratum by itself: n_first, n_second, first_mean, second_mean, difference, low, high; the interval is Welch's."""
    n, means, variances = moments(cells)
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

    Difference and interval are those of `agon.metrics.differences.estimate`. The effect's interval inverts the noncentral t, as if all
    cells had the same variance. p is of the two-sided permutation test that exchanges matches within their stratum.
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
