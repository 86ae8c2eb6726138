"""Compares two conditions within strata: difference, interval, effect size, permutation test, and the number of matches needed.

A stratum is a cell of the design, such as a game and an opponent, with matches of both conditions. Strata are fixed, matches are drawn.
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
"""Most arrangements for an exact permutation test, which counts them all."""
LISTED = 1_000
"""Most ways to exchange the matches of a stratum that are listed; beyond, matches are shuffled. One match against many is always listed."""
DRAWN = 9_999
"""Arrangements that are drawn otherwise; fewer for many matches, and 1,999 at least."""


@dataclass(frozen=True)
class Difference:
    """The second condition less the first. Numbers that do not exist are NaN."""

    strata: int
    n_first: int
    n_second: int
    first_mean: float
    """The mean over the strata, with the weights of the difference."""
    second_mean: float
    difference: float
    low: float
    high: float
    how: str
    """The kind of the interval (see `difference`), or why there is none."""
    effect: float
    """Hedges' g: the difference in standard deviations of matches within a cell, or of differences of pairs."""
    effect_low: float
    effect_high: float
    p: float
    p_error: float
    """Standard error of p; 0 where it is exact."""
    needed: float
    """Matches of each condition, or pairs, for a power of 80 % at the observed difference."""
    spread: float
    """The standard deviation in the unit of which `effect` is."""


def by_stratum(cells: Cells, level: float = 0.95) -> dict[str, NDArray[Any]]:
    """Each stratum by itself, with Welch's interval: n_first, n_second, first_mean, second_mean, difference, low, high."""
    n, means, variances = moments(cells)
    gap = means[:, 1] - means[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        error, df = welch(np.ones((len(cells), 1)), n[:, None], variances[:, None])
        varies = error > ALIKE * np.maximum(1.0, np.abs(means).max(axis=1))
        half = np.where(varies, stdtrit(df, (1 + level) / 2) * error, nan)
    counts = {"n_first": n[:, 0], "n_second": n[:, 1], "first_mean": means[:, 0], "second_mean": means[:, 1]}
    return counts | {"difference": gap, "low": gap - half, "high": gap + half}


def difference(cells: Cells, level: float = 0.95, seed: int = 1, alike: bool = False) -> Difference:
    """Compares two conditions. `cells`: the values of both in each stratum, none of them empty.

    Difference and interval are those of `agon.metrics.differences.estimate`. The interval of the effect inverts the noncentral t, as if
    all cells had the same variance. p is that of the two-sided permutation test that exchanges matches within strata.
    """
    result = estimate(cells, level, alike)
    effect, effect_low, effect_high = _effect(result, level)
    p, p_error = permutation(cells, result.weights, seed)
    return Difference(
        strata=len(cells),
        n_first=sum(len(one) for one, _ in cells),
        n_second=sum(len(other) for _, other in cells),
        first_mean=result.first,
        second_mean=result.second,
        difference=result.second - result.first,
        low=result.low,
        high=result.high,
        how=result.how,
        effect=effect,
        effect_low=effect_low,
        effect_high=effect_high,
        p=p,
        p_error=p_error,
        needed=needed(result.second - result.first, result.spread, result.how == "paired"),
        spread=result.spread,
    )


def _effect(result: Estimate, level: float) -> tuple[float, float, float]:
    """The difference in units of its spread, with Hedges' correction, and its limits by the noncentral t."""
    df, apart = result.df, result.second - result.first
    if not result.spread > 0:
        return nan, nan, nan
    corrected = float(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2))) * (2 / df) ** 0.5 if df > 1 else nan
    t = apart / (result.spread * result.reach)
    low, high = (float(nctdtrinc(df, p, t)) * result.reach for p in ((1 + level) / 2, (1 - level) / 2))
    return apart / result.spread * corrected, low, high


def permutation(cells: Cells, weights: Numbers, seed: int = 1) -> tuple[float, float]:
    """The two-sided permutation p of the weighted difference of means, and its standard error.

    Matches are exchanged within strata. p is exact (error 0) up to ARRANGEMENTS ways to do so, else Monte Carlo; the observed arrangement
    then counts as one draw.
    """
    ways = [comb(len(one) + len(other), len(one)) for one, other in cells]
    total = 1
    for number in ways:
        total = min(total * number, ARRANGEMENTS + 1)
    # a stratum's part of the difference falls by `slope` for every point that the first condition's sum has more
    slopes = [w * (1 / len(one) + 1 / len(other)) for w, (one, other) in zip(weights, cells, strict=True)]
    pooled = [np.concatenate(cell) - np.concatenate(cell).mean() for cell in cells]
    observed = sum(
        slope * values[: len(one)].sum() for slope, values, (one, _) in zip(slopes, pooled, cells, strict=True)
    )
    slack = 1e-9 * max(
        1e-300, *(abs(slope) * np.abs(values).sum() for slope, values in zip(slopes, pooled, strict=True))
    )
    parts = zip(slopes, pooled, (len(one) for one, _ in cells), ways, strict=True)
    if total <= ARRANGEMENTS:
        sums = np.zeros(1)
        for slope, values, size, _ in parts:
            sums = np.add.outer(sums, slope * _subset_sums(values, size)).ravel()
        return float((np.abs(sums) >= abs(observed) - slack).mean()), 0.0
    dice = np.random.default_rng(seed)
    draws = int(np.clip(20_000_000 // sum(map(len, pooled)), 1_999, DRAWN))
    sums = np.zeros(draws)
    for slope, values, size, count in parts:
        if not values.any():
            continue
        if count <= LISTED or count == len(values):  # that is one match against many
            sums += slope * dice.choice(_subset_sums(values, size), draws)
        else:
            sums += slope * dice.permuted(np.broadcast_to(values, (draws, len(values))), axis=1)[:, :size].sum(axis=1)
    p = (1 + int((np.abs(sums) >= abs(observed) - slack).sum())) / (draws + 1)
    return p, sqrt(p * (1 - p) / draws)


def _subset_sums(values: Numbers, size: int) -> Numbers:
    """The sums of all subsets of `size` values."""
    if 2 * size > len(values):  # the complements are smaller, and come in the reverse order
        return values.sum() - _subset_sums(values, len(values) - size)[::-1]
    subsets = np.array(list(combinations(range(len(values)), size)))
    sums: Numbers = values[subsets].sum(axis=1)
    return sums
