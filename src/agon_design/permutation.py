"""The permutation test of two conditions within strata: matches are exchanged, and each arrangement is read by its own t test.

A plain permutation test of the difference of means asks whether nothing at all differs. It calls unequal spreads a difference where the
conditions have unequal numbers of matches. Counted in standard errors, the difference itself is tested: exactly where matches can be
exchanged, and nearly so where only the means are equal (Janssen, Studentized permutation tests for non-i.i.d. hypotheses and the
generalized Behrens-Fisher problem, Statistics & Probability Letters 36, 1997). With few matches the degrees of freedom matter too:
so the statistic is the p of the t test that makes the interval, not t itself.
"""

from itertools import combinations
from math import comb, prod, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from agon.metrics.differences import Cells, Kind, kind_of
from agon.metrics.interval import variance_loads

Numbers = NDArray[np.float64]

ARRANGEMENTS = 20_000
"""Most arrangements for an exact test, which counts them all."""
LISTED = 1_000
"""Most ways to exchange the matches of a stratum that are listed; beyond, matches are shuffled. One match against many is always listed."""
DRAWN = 9_999
"""Arrangements that are drawn otherwise; fewer for many matches, and 1,999 at least."""
VALUES = 20_000_000
"""Most values in all arrangements that are drawn."""
AT_ONCE = 1_000_000
"""Values that are shuffled at once."""
NONE = 1e-12
"""Sums of squared deviations below this share of all squares are 0, but for rounding."""
SLACK = 1e-6
"""Two p that differ by less, relatively, are equal, but for rounding."""


def permutation(cells: Cells, weights: Numbers, seed: int = 1) -> tuple[float, float]:
    """The two-sided permutation p of the weighted difference of means, and its standard error.

    `cells`: the values of both conditions in each stratum. `weights`: those of the strata in `agon.metrics.differences.Estimate`.
    p is exact (error 0) up to ARRANGEMENTS ways to exchange matches within strata. Beyond, arrangements are drawn, and the observed
    one counts as one draw. A single stratum with a single match of a condition shows no spread: there the difference itself counts.
    """
    kind = kind_of(cells)
    strata = _strata(cells, weights, kind)
    ways = [comb(len(stratum.values), stratum.size) for stratum in strata]
    observed = [_terms(stratum, stratum.sums_of_first(), kind) for stratum in strata]
    limit = _p(np.sum(observed, axis=0), kind, strata)[0] * (1 + SLACK)
    if prod(ways) <= ARRANGEMENTS:
        listed = np.zeros((1, 3))
        for stratum in strata:
            terms = _terms(stratum, _subset_sums(stratum.powers(), stratum.size), kind)
            listed = (listed[:, None] + terms).reshape(-1, 3)
        return float((_p(listed, kind, strata) <= limit).mean()), 0.0
    dice = np.random.default_rng(seed)
    draws = int(np.clip(VALUES // sum(len(stratum.values) for stratum in strata), 1_999, DRAWN))
    drawn = np.zeros((draws, 3))
    for stratum, count in zip(strata, ways, strict=True):
        drawn += _terms(stratum, _draw_sums(stratum, count, draws, dice), kind)
    p = (1 + int((_p(drawn, kind, strata) <= limit).sum())) / (draws + 1)
    return p, sqrt(p * (1 - p) / draws)


class _Stratum(NamedTuple):
    """A stratum whose matches can be exchanged."""

    values: Numbers
    """The values of the first condition, then those of the second. The mean of all is subtracted, unless they are shares."""
    size: int
    """Number of matches of the first condition."""
    weight: float
    """The stratum's weight in the difference."""
    loads: Numbers
    """The factor of each condition's variance in the variance of the difference (2)."""

    def powers(self) -> Numbers:
        """Values and their squares (values x 2)."""
        return np.stack([self.values, self.values**2], axis=-1)

    def sums_of_first(self) -> Numbers:
        """The sums of the first condition's values and squares, as observed (1 x 2)."""
        return self.powers()[: self.size].sum(axis=0, keepdims=True)


def _strata(cells: Cells, weights: Numbers, kind: Kind) -> list[_Stratum]:
    loads = variance_loads(weights, np.array([[len(one), len(other)] for one, other in cells]))
    strata = []
    for (one, other), weight, load in zip(cells, weights, loads, strict=True):
        values = np.concatenate([one, other])
        origin = 0.0 if kind == "shares" else values.mean()
        strata.append(_Stratum(values - origin, len(one), weight, load))
    return strata


def _terms(stratum: _Stratum, sums: Numbers, kind: Kind) -> Numbers:
    """A stratum's contributions to the difference, to its variance, and to the sum for the degrees of freedom (arrangements x 3).

    `sums`: the sums of the first condition's values and squares, in each arrangement (arrangements x 2).
    """
    both = np.stack([sums, stratum.powers().sum(axis=0) - sums], axis=1)
    n = np.array([stratum.size, len(stratum.values) - stratum.size])
    means, free = both[..., 0] / n, np.maximum(n - 1, 1)
    if kind == "shares":  # with a success and a failure more in each, as in the interval
        means = (both[..., 0] + 1) / (n + 2)
        variances = means * (1 - means) / (n + 2)
        return np.stack([means[:, 1] - means[:, 0], variances.sum(axis=1), np.zeros(len(sums))], axis=-1)
    difference = stratum.weight * (means[:, 1] - means[:, 0])
    if kind == "paired":
        return np.stack([difference, difference**2, np.zeros(len(sums))], axis=-1)
    deviations = both[..., 1] - n * means**2
    deviations = np.where(deviations > NONE * both[..., 1].sum(axis=1, keepdims=True), deviations, 0)
    variances = stratum.loads * deviations / free
    return np.stack([difference, variances.sum(axis=1), (variances**2 / free).sum(axis=1)], axis=-1)


def _p(terms: Numbers, kind: Kind, strata: list[_Stratum]) -> Numbers:
    """The p of the t test of each arrangement, from the sums of `_terms` over all strata."""
    difference, variance, squares = terms.T
    size = max(float(np.abs(stratum.values).max()) for stratum in strata)
    if kind == "paired":
        pairs = len(strata)
        spread = (pairs * variance - difference**2) / max(pairs - 1, 1)
        variance = np.where(spread > NONE * variance, spread, 0) if pairs > 1 else np.full(len(terms), size**2)
        squares = variance**2 / max(pairs - 1, 1)
    varies = variance > 0
    df = np.divide(variance**2, squares, out=np.full(len(terms), np.inf), where=squares > 0)
    differs = np.where(np.abs(difference) > SLACK * size, np.inf, 0.0)
    t = np.divide(np.abs(difference), np.sqrt(variance), out=differs, where=varies)
    return np.asarray(2 * stdtr(df, -t))


def _draw_sums(stratum: _Stratum, ways: int, draws: int, dice: np.random.Generator) -> Numbers:
    """The sums of values and squares of the first condition in drawn arrangements (draws x 2)."""
    values, size = stratum.values, stratum.size
    if ways <= LISTED or ways == len(values):  # that is one match against many
        return dice.choice(_subset_sums(stratum.powers(), size), draws)
    rows, sums = max(AT_ONCE // len(values), 1), list[Numbers]()
    for start in range(0, draws, rows):
        block = np.broadcast_to(values, (min(rows, draws - start), len(values)))
        first = dice.permuted(block, axis=1)[:, :size]
        sums.append(np.stack([first.sum(axis=1), (first**2).sum(axis=1)], axis=-1))
    return np.concatenate(sums)


def _subset_sums(rows: Numbers, size: int) -> Numbers:
    """The sums of all subsets of `size` rows."""
    if 2 * size > len(rows):  # the complements are smaller, and come in the reverse order
        return rows.sum(axis=0) - _subset_sums(rows, len(rows) - size)[::-1]
    subsets = np.array(list(combinations(range(len(rows)), size)))
    sums: Numbers = rows[subsets].sum(axis=1)
    return sums
