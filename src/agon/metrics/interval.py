"""Means with their n, standard deviation and interval. The units are matches, or other clusters that are drawn whole.

The interval is Student's t with the standard error between units. For values with a lower and an upper limit it is Clopper and
Pearson's beta interval, with the effective sample size that belongs to this standard error (Korn and Graubard, Survey
Methodology 24, 1998); for values of 0 and 1 it is exact. notebooks/statistics.ipynb measures the coverage.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtr, stdtrit

from agon.errors import AgonError

Numbers = NDArray[np.float64]
Bound: TypeAlias = float | pd.Series
"""A number, or one for each row of a table."""
Limits: TypeAlias = tuple[Bound, Bound]
"""Lower and upper limit of a value."""

SHARE: tuple[float, float] = (0.0, 1.0)
"""The limits of a share."""
RATE: tuple[float, float] = (0.0, np.inf)
"""The limits of a count per game, turn or point."""

ALIKE = 1e-12
"""Smallest spread, relative to the mean; a smaller one counts as none."""

DECIMALS = 12
"""Decimals of the ends of intervals: processors sum in different orders, and differ beyond."""

LARGE = 1e8
"""Effective size from which the beta interval is Student's t."""


def summary(
    table: pd.DataFrame,
    metrics: Sequence[str],
    by: Sequence[str],
    level: float = 0.95,
    intervals: bool = True,
    limits: Mapping[str, Limits] | None = None,
    cells: Sequence[str] = (),
) -> pd.DataFrame:
    """Long form: the `by` keys, metric, value (mean), sd (ddof 1), n, low, high (of the interval at `level`, see `ends`).

    `limits`: metric -> its lower and upper limit, in its unit; a metric without them may be any number.
    `cells`: columns of a group's fixed cells, such as the opponent: differences between cells are then no noise.
    A cell of one match has the variance of the group's other cells.

    Rows of `table` in which a metric is absent do not count for it. A group with no value gets no row; a group of one has neither
    sd nor interval. Where all values of a group are equal, a metric without limits has no interval: its spread is unknown, not 0.
    Raises AgonError for a value beyond its limits.
    """
    codes = table.groupby(list(by), observed=True, sort=True, dropna=False).ngroup().to_numpy()
    keys = table.groupby(list(by), observed=True, sort=True, dropna=False).size().reset_index()[list(by)]
    places = table.groupby(list(cells), observed=True, dropna=False).ngroup().to_numpy() if cells else None
    parts = []
    for metric in metrics:
        values = table[metric].to_numpy(dtype=float)
        statistics = _moments(codes, values, len(keys))
        if intervals:
            bounds = _bounds(codes, values, (limits or {}).get(metric), metric, len(keys))
            error, df = _errors(codes, values, places, statistics)
            statistics[["low", "high"]] = ends(statistics.value, error, df, statistics.n, level, bounds)
        parts.append(keys.assign(metric=metric).join(statistics).dropna(subset="value"))
    return pd.concat(parts, ignore_index=True).astype({"n": int})


def _moments(codes: NDArray[np.intp], values: Numbers, groups: int) -> pd.DataFrame:
    is_number = ~np.isnan(values)
    order = np.argsort(codes[is_number], kind="stable")
    values, sizes = values[is_number][order], np.bincount(codes[is_number], minlength=groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    out = pd.DataFrame(np.nan, index=range(groups), columns=["value", "sd", "n", "low", "high"])
    out["n"] = sizes
    for n in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == n)
        block = values[starts[rows, None] + np.arange(n)]
        out.loc[rows, "value"] = block.mean(axis=1)
        if n > 1:
            out.loc[rows, "sd"] = block.std(axis=1, ddof=1)
    return out


def _bounds(
    codes: NDArray[np.intp], values: Numbers, limits: Limits | None, metric: str, groups: int
) -> tuple[Numbers, Numbers] | None:
    """The limits of each group. Raises AgonError for a value beyond its own."""
    if limits is None:
        return None
    is_number = ~np.isnan(values)
    low, high = (np.broadcast_to(np.asarray(limit, dtype=float), len(values)) for limit in limits)
    slack = 1e-9 * (high - low)
    if (beyond := is_number & ~((low - slack <= values) & (values <= high + slack))).any():
        at = int(np.flatnonzero(beyond)[0])
        raise AgonError(
            f"{metric} is {values[at]:g}, but its limits are {low[at]:g} and {high[at]:g}: give other limits"
        )
    least, most = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(least, codes[is_number], low[is_number])
    np.maximum.at(most, codes[is_number], high[is_number])
    return least, most


def _errors(
    codes: NDArray[np.intp], values: Numbers, places: NDArray[np.intp] | None, statistics: pd.DataFrame
) -> tuple[Numbers, Numbers]:
    """Standard error and degrees of freedom of each group's mean."""
    n = statistics.n.to_numpy(dtype=float)
    if places is None:
        return statistics.sd.to_numpy() / np.sqrt(np.maximum(n, 1)), n - 1
    cells = pd.DataFrame({"group": codes, "cell": places, "value": values}).dropna()
    cells = cells.groupby(["group", "cell"]).value.agg(["size", "var"]).reset_index("cell")
    error, df = np.full(len(statistics), np.nan), np.zeros(len(statistics))
    for group, group_cells in cells.groupby(level="group"):
        sizes = group_cells["size"].to_numpy()
        if sizes.max() > 1:
            error[group], free = welch(sizes / sizes.sum(), sizes[:, None], group_cells["var"].to_numpy()[:, None])
            df[group] = free if error[group] > 0 else (sizes - 1).sum()
    return error, df


def welch(weights: Numbers, n: NDArray[np.int64], variances: Numbers) -> tuple[Any, Any]:
    """Standard error and degrees of freedom of weighted sums of cells' means, or of their differences between conditions.

    The method is Welch's and Satterthwaite's. The last two axes of `n` and `variances` are cells x conditions, the last of
    `weights` is cells. A cell of one match has the pooled variance of its condition's other cells, and Satterthwaite's formula
    adds its weight to theirs. Both numbers are absent (nan) where a condition has no larger cell.
    """
    free = n - 1
    parts = variance_loads(weights, n) * np.where(free > 0, variances, 0)
    total = np.where((free.sum(axis=-2) > 0).all(axis=-1), parts.sum(axis=(-2, -1)), np.nan)
    return total**0.5, total**2 / np.maximum((parts**2 / np.maximum(free, 1)).sum(axis=(-2, -1)), 1e-300)


def variance_loads(weights: Numbers, n: NDArray[np.int64]) -> Numbers:
    """The factor of each cell's variance in the variance of a weighted sum of means (cells x conditions, see `welch`).

    The load of a cell of one match goes to its condition's other cells, by their degrees of freedom.
    """
    loads, free = weights[..., None] ** 2 / n, n - 1
    others = free / np.maximum(free.sum(axis=-2, keepdims=True), 1)
    singles = np.where(free > 0, 0, loads).sum(axis=-2, keepdims=True)
    return np.where(free > 0, loads, 0) + others * singles


def ends(
    value: Any, error: Any, df: Any, n: Any, level: float = 0.95, limits: tuple[Any, Any] | None = None
) -> Numbers:
    """The interval of a mean, or of several (arrays): ... x 2, absent (nan) without a degree of freedom.

    `error`: the standard error of `value`, with `df` degrees of freedom. Without `limits` the interval is Student's t; it is absent
    without any spread. With finite limits it is Korn and Graubard's (1998): Clopper and Pearson's interval of the value's place
    between the limits, as a share. Its sample size is that of a sample of 0 and 1 with the same standard error, corrected by the
    ratio of Student's t to the normal quantile. It is at least `n` (units), as no value between two limits spreads more than 0 and 1;
    and it is `n` without any spread. For values of 0 and 1 this is Clopper and Pearson's interval itself. With an infinite limit the
    interval is Student's t, cut at the other one.
    """
    value, error, df, n = np.broadcast_arrays(*(np.asarray(number, dtype=float) for number in (value, error, df, n)))
    has_df, spread = df > 0, error > ALIKE * np.maximum(1.0, np.abs(value))
    cut = stdtrit(np.where(has_df, df, 1.0), (1 + level) / 2)
    low, high = (
        np.broadcast_to(np.asarray(number, dtype=float), value.shape) for number in limits or (-np.inf, np.inf)
    )
    half = np.where(has_df & spread, cut * error, np.nan)
    interval = np.stack([np.maximum(value - half, low), np.minimum(value + half, high)], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((value - low) / (high - low), 0, 1)
        size = share * (1 - share) * ((high - low) / error * ndtri((1 + level) / 2) / cut) ** 2
    size = np.where(spread, np.maximum(size, n), n)
    if (at := has_df & np.isfinite(high - low) & (size < LARGE)).any():
        shares = _clopper_pearson((share * size)[at], size[at], level)
        interval[at] = low[at, None] + shares * (high - low)[at, None]
    return interval.round(DECIMALS)


def _clopper_pearson(k: Numbers, n: Numbers, level: float) -> Numbers:
    tail, rest = (1 - level) / 2, np.maximum(n - k, 0)
    low = np.where(k > 0, betaincinv(np.where(k > 0, k, 1), rest + 1, tail), 0.0)
    high = np.where(rest > 0, betaincinv(k + 1, np.where(rest > 0, rest, 1), 1 - tail), 1.0)
    return np.stack([low, high], axis=-1)


def proportion_interval(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's interval of the share k / n: exact for independent decisions."""
    low, high = _clopper_pearson(np.asarray(float(k)), np.asarray(float(n)), level)
    return float(low), float(high)


def pooled(
    tallied: pd.DataFrame,
    by: Sequence[str],
    cluster: str = "match",
    limits: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
) -> pd.DataFrame:
    """Long form: the `by` keys, value (all `hits` over all `n`), n, low, high. A group whose `n` are all 0 has no row.

    The interval (`ratio_interval`) is between clusters, so that all of one match stays together; it is absent for one cluster.
    `limits`: the lower and upper limit of hits / n of a cluster; or those of each `metric`, which is then one of the keys.
    """
    keys = list(by)
    sums = tallied.groupby(list(dict.fromkeys([*keys, cluster])), observed=True, sort=True, dropna=False)[
        ["hits", "n"]
    ].sum()
    rows = []
    for key, part in sums[sums.n > 0].groupby(level=keys, sort=True, dropna=False):
        hits, n = part.to_numpy(dtype=float).T
        key = key if isinstance(key, tuple) else (key,)
        group_limits = limits[key[keys.index("metric")]] if isinstance(limits, Mapping) else limits
        low, high = ratio_interval(hits, n, group_limits)
        rows.append((*key, hits.sum() / n.sum(), int(n.sum()), low, high))
    return pd.DataFrame(rows, columns=[*keys, "value", "n", "low", "high"])


def ratio_interval(hits: Numbers, n: Numbers, limits: tuple[float, float] | None = None) -> tuple[float, float]:
    """The interval of sum(hits) / sum(n) over clusters, an entry each; absent for one cluster.

    It is that of `ends`, with the jackknife's standard error and Kish's effective number of clusters. `limits`: those of hits / n.
    Raises AgonError for a cluster beyond them.
    """
    hits, n = hits[n > 0], n[n > 0]
    ratios = hits / n
    if limits is not None and ((ratios < limits[0] - 1e-9) | (ratios > limits[1] + 1e-9)).any():
        raise AgonError(f"hits / n lies beyond {limits[0]:g} to {limits[1]:g} in some cluster: give other limits")
    if len(n) < 2:
        return np.nan, np.nan
    error, df = jackknife(np.stack([hits, n], axis=-1), lambda sums: sums[:, 0] / sums[:, 1])
    low, high = ends(hits.sum() / n.sum(), error, df, n.sum() ** 2 / (n**2).sum(), limits=limits)
    return float(low), float(high)


def jackknife(
    sums: Numbers, measure: Callable[[Numbers], Numbers], strata: NDArray[Any] | None = None
) -> tuple[Any, Any]:
    """Standard error and degrees of freedom of `measure`, a function of sums over clusters, by the delete-one jackknife.

    `sums`: clusters x columns. `measure`: samples x columns -> samples (x measures). `strata`: the stratum of each cluster, if
    clusters were drawn in several; the degrees of freedom are then Satterthwaite's. A stratum of one cluster shows no spread. Both
    are absent (nan) if `measure` is absent for the sums without some cluster.
    """
    stratum_of = np.zeros(len(sums), dtype=int) if strata is None else np.unique(strata, return_inverse=True)[1]
    sizes = np.bincount(stratum_of)[stratum_of].astype(float)
    total = np.stack([sums[stratum_of == stratum].sum(axis=0) for stratum in range(stratum_of.max() + 1)])
    growth = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)[:, None]
    others_of_stratum = np.where(sizes[:, None] > 1, total[stratum_of] - sums, total[stratum_of])
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = measure(total.sum(axis=0) - total[stratum_of] + growth * others_of_stratum)
    variance, squares = 0.0, 0.0
    for stratum in range(stratum_of.max() + 1):
        inside = estimates[stratum_of == stratum]
        k = len(inside)
        part = (k - 1) / k * ((inside - inside.mean(axis=0)) ** 2).sum(axis=0)
        variance, squares = variance + part, squares + part**2 / max(k - 1, 1)
    df = np.where(variance > 0, variance**2 / np.maximum(squares, 1e-300), len(sums) - stratum_of.max() - 1)
    return variance**0.5, df


class Contrast(NamedTuple):
    """Ratios, and the interval of a contrast of them."""

    ratios: list[float]
    n: list[int]
    low: float
    """Lower end of the contrast's interval; `high` is the upper one."""
    high: float
    clusters: int
    p: float = np.nan
    """Two-sided p of Student's t that the contrast is 0; absent where the interval is."""


def contrast_ratios(
    parts: Sequence[pd.DataFrame],
    contrast: Callable[[Numbers], Numbers],
    limits: tuple[float, float] | None = None,
) -> Contrast:
    """A ratio sum(`hits`) / sum(`n`) for each table, and the interval of their `contrast` (a function of an array ratios x samples).

    The interval is Student's t with the jackknife's standard error. The jackknife leaves out whole matches, with their rows in all
    tables. Matches that occur in the same tables form a stratum, if each stratum then has two or more; else all are one. The interval is
    absent for one match. `limits`: those of the contrast, see `ends`.
    """
    sums = [part.groupby("match", observed=True)[["hits", "n"]].sum() for part in parts]
    clusters = sorted(set().union(*(table.index for table in sums)))
    arrays = [table.reindex(clusters, fill_value=0).to_numpy(dtype=float).T for table in sums]
    hits, n = np.stack(arrays, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = hits.sum(axis=0) / n.sum(axis=0)
        value = contrast(ratios[:, None])[0]
    low = high = p = np.nan
    if len(n) > 1:
        kinds = np.unique(n > 0, axis=0, return_inverse=True)[1].ravel()
        strata = kinds if np.bincount(kinds).min() > 1 else None
        size = len(parts)
        error, df = jackknife(
            np.concatenate([hits, n], axis=1), lambda sums: contrast((sums[:, :size] / sums[:, size:]).T), strata
        )
        low, high = ends(value, error, df, len(n), limits=limits)
        p = 2 * stdtr(df, -abs(value) / error) if df > 0 and error > ALIKE * max(1.0, abs(value)) else np.nan
    return Contrast(ratios.tolist(), n.sum(axis=0).astype(int).tolist(), float(low), float(high), len(n), float(p))
