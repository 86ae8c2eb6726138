"""Means with their n, standard deviation and interval. The units are matches, or what else is drawn whole (clusters).

One rule for all: Student's t with the standard error between units; where it is known what a value can be at the least and at the most,
Clopper and Pearson's beta interval with the effective size that this standard error has (Korn and Graubard, Survey Methodology 24,
1998), which is exact for yes and no. How often they cover is measured in notebooks/statistics.ipynb.
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
"""What a value can be at the least and at the most."""

SHARE: tuple[float, float] = (0.0, 1.0)
"""The limits of a share."""
RATE: tuple[float, float] = (0.0, np.inf)
"""Those of a count of something per game, turn or point."""

ALIKE = 1e-12
"""Of a mean: what spreads less has no spread."""

DECIMALS = 12
"""Of the ends of intervals: processors sum in different orders, and differ beyond."""

LARGE = 1e8
"""Of an effective size: from there on the beta interval is Student's t."""


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

    `limits`: metric -> what it can be at the least and at the most, in the unit of the metric; a metric without them may be any number.
    `cells`: columns that tell the fixed cells of a group apart, such as the opponent: what differs between cells is then no noise.
    A cell of one match has the variance of the group's other cells.

    Rows of `table` in which a metric is absent do not count for it; a group with no value gets no row, and a group of one has neither sd
    nor interval. Where all values of a group are alike, a metric without limits has no interval: its spread is not 0, but unknown.
    Raises AgonError for a value beyond its limits.
    """
    codes = table.groupby(list(by), observed=True, sort=True, dropna=False).ngroup().to_numpy()
    keys = table.groupby(list(by), observed=True, sort=True, dropna=False).size().reset_index()[list(by)]
    places = table.groupby(list(cells), observed=True, dropna=False).ngroup().to_numpy() if cells else None
    parts = []
    for metric in metrics:
        values = table[metric].to_numpy(dtype=float)
        found = _summarized(codes, values, len(keys))
        if intervals:
            bounds = _bounds(codes, values, (limits or {}).get(metric), metric, len(keys))
            error, df = _errors(codes, values, places, found)
            found[["low", "high"]] = ends(found.value, error, df, found.n, level, bounds)
        parts.append(keys.assign(metric=metric).join(found).dropna(subset="value"))
    return pd.concat(parts, ignore_index=True).astype({"n": int})


def _summarized(codes: NDArray[np.intp], values: Numbers, groups: int) -> pd.DataFrame:
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
    return out


def _bounds(
    codes: NDArray[np.intp], values: Numbers, limits: Limits | None, metric: str, groups: int
) -> tuple[Numbers, Numbers] | None:
    """The limits of each group. Raises AgonError for a value beyond its own."""
    if limits is None:
        return None
    known = ~np.isnan(values)
    low, high = (np.broadcast_to(np.asarray(each, dtype=float), len(values)) for each in limits)
    slack = 1e-9 * (high - low)
    if (beyond := known & ~((low - slack <= values) & (values <= high + slack))).any():
        at = int(np.flatnonzero(beyond)[0])
        raise AgonError(
            f"{metric} is {values[at]:g}, and is said to lie between {low[at]:g} and {high[at]:g}: give other limits"
        )
    least, most = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(least, codes[known], low[known])
    np.maximum.at(most, codes[known], high[known])
    return least, most


def _errors(
    codes: NDArray[np.intp], values: Numbers, places: NDArray[np.intp] | None, found: pd.DataFrame
) -> tuple[Numbers, Numbers]:
    """Standard error and degrees of freedom of each group's mean."""
    n = found.n.to_numpy(dtype=float)
    if places is None:
        return found.sd.to_numpy() / np.sqrt(np.maximum(n, 1)), n - 1
    each = pd.DataFrame({"group": codes, "cell": places, "value": values}).dropna()
    each = each.groupby(["group", "cell"]).value.agg(["size", "var"]).reset_index("cell")
    error, df = np.full(len(found), np.nan), np.zeros(len(found))
    for group, own in each.groupby(level="group"):
        sizes = own["size"].to_numpy()
        if sizes.max() > 1:
            error[group], free = welch(sizes / sizes.sum(), sizes[:, None], own["var"].to_numpy()[:, None])
            df[group] = free if error[group] > 0 else (sizes - 1).sum()
    return error, df


def welch(weights: Numbers, n: NDArray[np.int64], variances: Numbers) -> tuple[Any, Any]:
    """Standard error and degrees of freedom of weighted sums of cells' means, or of their differences between conditions.

    By Welch and Satterthwaite; the last two axes of `n` and `variances` are cells x conditions, the last of `weights` is cells.
    A cell of one match has the variance of its condition's other cells, pooled; Satterthwaite's formula counts that as theirs. Absent
    where a condition has no other cells.
    """
    loads, free = weights[..., None] ** 2 / n, n - 1
    others = free / np.maximum(free.sum(axis=-2, keepdims=True), 1)
    loads = np.where(free > 0, loads, 0) + others * np.where(free > 0, 0, loads).sum(axis=-2, keepdims=True)
    parts = loads * np.where(free > 0, variances, 0)
    total = np.where((free.sum(axis=-2) > 0).all(axis=-1), parts.sum(axis=(-2, -1)), np.nan)
    return total**0.5, total**2 / np.maximum((parts**2 / np.maximum(free, 1)).sum(axis=(-2, -1)), 1e-300)


def ends(
    value: Any, error: Any, df: Any, n: Any, level: float = 0.95, limits: tuple[Any, Any] | None = None
) -> Numbers:
    """The interval of a mean, or of several (arrays): ... x 2, absent (nan) without a degree of freedom.

    `error`: the standard error of `value`, with `df` degrees of freedom. Without `limits` it is Student's t; absent where there is no
    spread. With them it is Korn and Graubard's (1998): Clopper and Pearson's for the share of the way from the least to the most, where
    the size is that of a sample of yes and no which would know it as well, with a factor for Student's t. Nothing between two limits
    spreads more than yes and no, so the size is `n` (units) at least; and `n` where there is no spread to be seen. For yes and no it is
    Clopper and Pearson's itself. Where one of the limits is infinite it is Student's t up to the other.
    """
    value, error, df, n = np.broadcast_arrays(*(np.asarray(each, dtype=float) for each in (value, error, df, n)))
    known, spread = df > 0, error > ALIKE * np.maximum(1.0, np.abs(value))
    cut = stdtrit(np.where(known, df, 1.0), (1 + level) / 2)
    low, high = (np.broadcast_to(np.asarray(each, dtype=float), value.shape) for each in limits or (-np.inf, np.inf))
    half = np.where(known & spread, cut * error, np.nan)
    found = np.stack([np.maximum(value - half, low), np.minimum(value + half, high)], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((value - low) / (high - low), 0, 1)
        size = share * (1 - share) * ((high - low) / error * ndtri((1 + level) / 2) / cut) ** 2
    size = np.where(spread, np.maximum(size, n), n)
    if (at := known & np.isfinite(high - low) & (size < LARGE)).any():
        shares = _clopper_pearson((share * size)[at], size[at], level)
        found[at] = low[at, None] + shares * (high - low)[at, None]
    return found.round(DECIMALS)


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
    level: float = 0.95,
    limits: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
) -> pd.DataFrame:
    """Long form: the `by` keys, value (all `hits` over all `n`), n, low, high. A group whose `n` are all 0 has no row.

    The interval (`ratio_interval`) is between clusters, so that what happened in one match stays together; absent for one cluster.
    `limits`: what hits / n of a cluster can be at the least and at the most; or those of each `metric`, one of the keys.
    """
    keys = list(by)
    sums = tallied.groupby(list(dict.fromkeys([*keys, cluster])), observed=True, sort=True, dropna=False)[
        ["hits", "n"]
    ].sum()
    rows = []
    for key, part in sums[sums.n > 0].groupby(level=keys, sort=True, dropna=False):
        hits, n = part.to_numpy(dtype=float).T
        key = key if isinstance(key, tuple) else (key,)
        own = limits[key[keys.index("metric")]] if isinstance(limits, Mapping) else limits
        low, high = ratio_interval(hits, n, level, own)
        rows.append((*key, hits.sum() / n.sum(), int(n.sum()), low, high))
    return pd.DataFrame(rows, columns=[*keys, "value", "n", "low", "high"])


def ratio_interval(
    hits: Numbers, n: Numbers, level: float = 0.95, limits: tuple[float, float] | None = None
) -> tuple[float, float]:
    """The interval of sum(hits) / sum(n) over clusters, an entry each; absent for one cluster.

    `ends` with the jackknife's standard error, and as many units as clusters of one size would be (Kish). `limits`: of hits / n.
    Raises AgonError for a cluster beyond them.
    """
    hits, n = hits[n > 0], n[n > 0]
    each = hits / n
    if limits is not None and ((each < limits[0] - 1e-9) | (each > limits[1] + 1e-9)).any():
        raise AgonError(f"hits / n lies beyond {limits[0]:g} to {limits[1]:g} in some cluster: give other limits")
    if len(n) < 2:
        return np.nan, np.nan
    error, df = jackknifed(np.stack([hits, n], axis=-1), lambda sums: sums[:, 0] / sums[:, 1])
    low, high = ends(hits.sum() / n.sum(), error, df, n.sum() ** 2 / (n**2).sum(), level, limits)
    return float(low), float(high)


def jackknifed(
    sums: Numbers, measure: Callable[[Numbers], Numbers], strata: NDArray[Any] | None = None
) -> tuple[Any, Any]:
    """Standard error and degrees of freedom of what `measure` makes of the sums over clusters, by leaving out one cluster after another.

    `sums`: clusters x columns. `measure`: of samples x columns, gives samples (x measures). `strata`: of each cluster, if clusters were
    drawn in several; the degrees of freedom are then Satterthwaite's. A stratum of one cluster shows no spread. Absent (nan) where
    `measure` is not known without some cluster.
    """
    names = np.zeros(len(sums), dtype=int) if strata is None else np.unique(strata, return_inverse=True)[1]
    sizes = np.bincount(names)[names].astype(float)
    total = np.stack([sums[names == each].sum(axis=0) for each in range(names.max() + 1)])
    grown = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)[:, None]
    own = np.where(sizes[:, None] > 1, total[names] - sums, total[names])  # what its stratum has without it
    with np.errstate(divide="ignore", invalid="ignore"):
        left = measure(total.sum(axis=0) - total[names] + grown * own)
    variance, against = 0.0, 0.0
    for each in range(names.max() + 1):
        inside = left[names == each]
        k = len(inside)
        part = (k - 1) / k * ((inside - inside.mean(axis=0)) ** 2).sum(axis=0)
        variance, against = variance + part, against + part**2 / max(k - 1, 1)
    df = np.where(variance > 0, variance**2 / np.maximum(against, 1e-300), len(sums) - names.max() - 1)
    return variance**0.5, df


class Contrast(NamedTuple):
    """Ratios beside each other."""

    ratios: list[float]
    n: list[int]
    low: float
    """Of the interval of what was made of the ratios, as is `high`."""
    high: float
    clusters: int
    p: float = np.nan
    """Two-sided, by Student's t, that what was made of the ratios is 0; absent as the interval is."""


def contrasted(
    parts: Sequence[pd.DataFrame],
    contrast: Callable[[Numbers], Numbers],
    level: float = 0.95,
    limits: tuple[float, float] | None = None,
) -> Contrast:
    """A ratio sum(`hits`) / sum(`n`) for each table, with an interval of what `contrast` makes of them (an array ratios x samples).

    The interval is Student's t with the jackknife's standard error: whole matches are left out, each with what all tables have of it;
    matches in which other tables have something are strata of their own. Absent for one match. `limits`: of the contrast, see `ends`.
    """
    sums = [part.groupby("match", observed=True)[["hits", "n"]].sum() for part in parts]
    clusters = sorted(set().union(*(each.index for each in sums)))
    both = [each.reindex(clusters, fill_value=0).to_numpy(dtype=float).T for each in sums]
    hits, n = np.stack(both, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = hits.sum(axis=0) / n.sum(axis=0)
        value = contrast(ratios[:, None])[0]
    low = high = p = np.nan
    if len(n) > 1:
        kinds = np.unique(n > 0, axis=0, return_inverse=True)[1].ravel()
        strata = kinds if np.bincount(kinds).min() > 1 else None
        size = len(parts)
        error, df = jackknifed(
            np.concatenate([hits, n], axis=1), lambda sums: contrast((sums[:, :size] / sums[:, size:]).T), strata
        )
        low, high = ends(value, error, df, len(n), level, limits)
        p = 2 * stdtr(df, -abs(value) / error) if df > 0 and error > ALIKE * max(1.0, abs(value)) else np.nan
    return Contrast(ratios.tolist(), n.sum(axis=0).astype(int).tolist(), float(low), float(high), len(n), float(p))
