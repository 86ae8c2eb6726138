"""Compares two conditions within strata: difference, interval, effect size, permutation test, and the number of matches needed.

A stratum is a cell of the design, such as a game and an opponent, with matches of both conditions. Strata are fixed, matches are drawn.
"""

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, nctdtrinc, stdtrit

from agon.metrics.differences import Cells, Estimate, estimate, moments
from agon.metrics.interval import ALIKE, welch
from agon.metrics.power import needed
from agon_design.permutation import permutation

Numbers = NDArray[np.float64]


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
    df: float
    """Degrees of freedom behind `spread`."""


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
    all cells had the same variance. p tests this difference (`agon_design.permutation`).
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
        df=result.df,
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
