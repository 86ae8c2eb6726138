"""Means with their n, standard deviation and bootstrap interval."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import beta

RESAMPLES = 2000
"""Bootstrap resamples."""

LARGE = 1000
"""Above this many values the interval is the normal one, which the bootstrap then only approximates at great cost."""

DECIMALS = 12
"""Of the ends of intervals: processors sum in different orders, and differ beyond."""


def summary(
    table: pd.DataFrame, metrics: Sequence[str], by: Sequence[str], level: float = 0.95, intervals: bool = True
) -> pd.DataFrame:
    """Long form: the `by` keys, metric, value (mean), sd (ddof 1), n, low, high (percentile bootstrap at `level`).

    Rows of `table` in which a metric is absent do not count for it; a group with no value gets no row, and
    a group of one has neither sd nor interval. With 2 to 5 repetitions, as in the papers, the interval is
    coarse and too narrow: it resamples what little there is.
    """
    codes = table.groupby(list(by), observed=True, sort=True, dropna=False).ngroup().to_numpy()
    keys = table.groupby(list(by), observed=True, sort=True, dropna=False).size().reset_index()[list(by)]
    return pd.concat(
        [
            _summarized(codes, table[metric].to_numpy(dtype=float), len(keys), level, intervals)
            .pipe(lambda found: keys.assign(metric=metric).join(found))  # noqa: B023 - joined at once
            .dropna(subset="value")
            for metric in metrics
        ],
        ignore_index=True,
    ).astype({"n": int})


def _summarized(
    codes: NDArray[np.intp], values: NDArray[np.float64], groups: int, level: float, intervals: bool
) -> pd.DataFrame:
    known = ~np.isnan(values)
    order = np.argsort(codes[known], kind="stable")
    values, sizes = values[known][order], np.bincount(codes[known], minlength=groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    out = pd.DataFrame(np.nan, index=range(groups), columns=["value", "sd", "n", "low", "high"])
    out["n"] = sizes
    for n in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == n)
        block = values[starts[rows, None] + np.arange(n)]
        out.loc[rows, "value"] = block.mean(axis=1)
        if n > 1:
            out.loc[rows, "sd"] = block.std(axis=1, ddof=1)
        if n > 1 and intervals:
            out.loc[rows, ["low", "high"]] = percentile_interval(block, level)
    return out


def percentile_interval(block: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Bootstrap interval of the mean of each row of `block` (groups x n): an array (groups x 2).

    Bootstrap percentiles up to n = LARGE, the normal interval above.
    Every group of the same n is resampled alike, so that a group's interval does not depend on its neighbours.
    """
    n = block.shape[1]
    if n > LARGE:
        half = ndtri((1 + level) / 2) * block.std(axis=1, ddof=1) / np.sqrt(n)
        return np.column_stack([block.mean(axis=1) - half, block.mean(axis=1) + half]).round(DECIMALS)
    rng = np.random.default_rng(n)
    chunk = max(1, 2_000_000 // n)
    means = [
        block @ rng.multinomial(n, np.full(n, 1 / n), size=min(chunk, RESAMPLES - done)).T / n
        for done in range(0, RESAMPLES, chunk)
    ]
    tail = (1 - level) / 2
    return np.quantile(np.concatenate(means, axis=1), [tail, 1 - tail], axis=1).T.round(DECIMALS)


def pooled(tallied: pd.DataFrame, by: Sequence[str], cluster: str = "match", level: float = 0.95) -> pd.DataFrame:
    """Long form: the `by` keys, value (all `hits` over all `n`), n, low, high. A group whose `n` are all 0 has no row.

    The interval is a percentile bootstrap that draws whole clusters, so that what happened in one match stays together;
    groups of as many clusters are drawn alike. It is absent for a single cluster.
    """
    keys = list(by)
    sums = tallied.groupby(list(dict.fromkeys([*keys, cluster])), observed=True, sort=True, dropna=False)[
        ["hits", "n"]
    ].sum()
    rows = []
    for key, part in sums[sums.n > 0].groupby(level=keys, sort=True, dropna=False):
        hits, n = part.to_numpy(dtype=float).T
        low, high = ratio_interval(hits, n, level)
        rows.append((*(key if isinstance(key, tuple) else (key,)), hits.sum() / n.sum(), int(n.sum()), low, high))
    return pd.DataFrame(rows, columns=[*keys, "value", "n", "low", "high"])


def ratio_interval(hits: NDArray[np.float64], n: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Bootstrap percentiles of sum(hits) / sum(n) over clusters, an entry each; absent for one cluster."""
    return _interval(hits[:, None], n[:, None], lambda ratios: ratios[0], level)


class Contrast(NamedTuple):
    """Ratios beside each other."""

    ratios: list[float]
    n: list[int]
    low: float
    """Of the interval of what was made of the ratios, as is `high`."""
    high: float
    clusters: int


def contrasted(
    parts: Sequence[pd.DataFrame],
    contrast: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    level: float = 0.95,
) -> Contrast:
    """A ratio sum(`hits`) / sum(`n`) for each table, with an interval of what `contrast` makes of them (an array ratios x resamples).

    Whole matches are drawn, each with what all tables have of it. Draws in which the contrast is no number are left out.
    """
    sums = [part.groupby("match", observed=True)[["hits", "n"]].sum() for part in parts]
    clusters = sorted(set().union(*(each.index for each in sums)))
    both = [each.reindex(clusters, fill_value=0).to_numpy(dtype=float).T for each in sums]
    hits, n = np.stack(both, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = hits.sum(axis=0) / n.sum(axis=0)
    return Contrast(ratios.tolist(), n.sum(axis=0).astype(int).tolist(), *_interval(hits, n, contrast, level), len(n))


def _interval(
    hits: NDArray[np.float64],
    n: NDArray[np.float64],
    contrast: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    level: float,
) -> tuple[float, float]:
    """Bootstrap percentiles of a contrast of ratios; `hits`, `n`: clusters x ratios."""
    if len(n) < 2:
        return np.nan, np.nan
    weights = draws(len(n))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = contrast(((weights @ hits) / (weights @ n)).T)
    return percentiles(np.where(np.isfinite(found), found, np.nan), level)


def draws(clusters: int) -> NDArray[np.int64]:
    """How often each of so many clusters is drawn, resamples x clusters; the same for the same number."""
    return np.random.default_rng(clusters).multinomial(clusters, np.full(clusters, 1 / clusters), size=RESAMPLES)


def percentiles(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    """The middle `level` of the values that are there; absent if there is none."""
    if np.isnan(values).all():
        return np.nan, np.nan
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2]).round(DECIMALS)
    return float(low), float(high)


def proportion_interval(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval of the share k / n: exact for independent decisions."""
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, k, n - k + 1)) if k else 0.0
    return low, float(beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1.0
