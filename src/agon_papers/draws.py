"""Record sets that the same design could have drawn: units (matches, games) drawn anew within their fixed cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

DRAW = "draw"
"""The column, or level of the index, that says of which record set a row is."""

BLOCK = 120
"""Record sets that are drawn at a time."""

SEED = 20261123

CORRELATIONS = {"spearman": "rank correlation", "pearson": "correlation", "kendall": "Kendall's tau"}

Statistic = Callable[[NDArray[np.int8], NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Draws:
    """Drawn units: per size of cell an array, record sets x cells x units drawn, of positions in `units`."""

    units: pd.Index
    cells: NDArray[np.intp]
    """Of each unit."""
    blocks: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]
    """Cells (their codes), and what is drawn in them."""

    def take(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows (column match: the unit) of every record set, below each other; one more column, DRAW. Cells come whole."""
        rows = rows if rows.index.name is None else rows.reset_index()
        places = self.units.get_indexer(rows.match)
        rows = coded(rows.drop(columns="match"))
        wanted = np.zeros(self.cells.max(initial=-1) + 1, dtype=bool)
        wanted[self.cells[places]] = True
        parts = [drawn[:, wanted[cells]].reshape(len(drawn), -1) for cells, drawn in self.blocks]
        units = np.concatenate(parts, axis=1)
        order = np.argsort(places, kind="stable")
        counts = np.bincount(places, minlength=len(self.units))
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        flat = units.ravel()
        many = counts[flat]
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        taken = rows.iloc[order[np.repeat(first[flat], many) + within]]
        draw = np.repeat(np.repeat(np.arange(len(units)), units.shape[1]), many)
        return taken.assign(**{DRAW: draw}).reset_index(drop=True)

    @cached_property
    def weights(self) -> NDArray[np.int8]:
        """How often each unit is in each record set: record sets x units."""
        drawn = np.concatenate([each.reshape(len(each), -1) for _, each in self.blocks], axis=1)
        flat = drawn + np.arange(len(drawn))[:, None] * len(self.units)
        counts = np.bincount(flat.ravel(), minlength=len(drawn) * len(self.units))
        return counts.reshape(len(drawn), -1).astype(np.int8)

    def reduced(
        self, rows: pd.DataFrame, keys: Sequence[str], columns: Sequence[str], stats: Sequence[str]
    ) -> pd.DataFrame:
        """Statistics of the rows (column match: the unit) of every record set, by keys: index DRAW and the keys, sorted.

        What `groupby(keys)[columns].agg(stats)` gives on `take(rows)`, without taking them. One statistic: of each column; several: of
        the first. Raises KeyError for a statistic that is not in STATS.
        """
        groups = rows.groupby([*keys] or np.zeros(len(rows), dtype=int), observed=True)
        codes = groups.ngroup().to_numpy()
        order = np.argsort(codes, kind="stable")
        order = order[np.searchsorted(codes[order], 0) :]
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        weights = self.weights[:, self.units.get_indexer(rows.match)[order]]
        values = {
            name: rows[name].to_numpy(dtype=float)[order] for name in (columns if len(stats) == 1 else columns[:1])
        }
        found = {
            name if len(stats) == 1 else stat: STATS[stat](weights, each, starts).ravel()
            for name, each in values.items()
            for stat in stats
        }
        table = pd.DataFrame(found, index=_every_draw(groups.size().index if keys else None, len(weights), len(starts)))
        there = np.maximum.reduceat(weights, starts, axis=1).ravel() > 0
        return table if there.all() else table[there]

    def totals(self, rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
        """Sums of columns over all rows (column match: the unit) of each record set; index DRAW."""
        sums = rows.groupby("match", observed=True)[columns].sum().reindex(self.units, fill_value=0)
        return pd.DataFrame(self.weights.astype(float) @ sums.to_numpy(dtype=float), columns=columns).rename_axis(DRAW)


def _every_draw(names: pd.Index | None, draws: int, groups: int) -> pd.Index:
    """The index of a table that has the same rows, by name, in each record set."""
    draw = np.repeat(np.arange(draws), groups)
    if names is None:
        return pd.Index(draw, name=DRAW)
    every = names if isinstance(names, pd.MultiIndex) else pd.MultiIndex.from_arrays([names])
    levels = [pd.RangeIndex(draws), *(plain(level) for level in every.levels)]
    codes = [draw, *(np.tile(code, draws) for code in every.codes)]
    return pd.MultiIndex(levels, codes, names=[DRAW, *every.names], verify_integrity=False)


def _moments(
    weights: NDArray[np.int8], values: NDArray[np.float64], starts: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How many values each group has in each record set, and their sum; absent values do not count."""
    there = ~np.isnan(values)
    known = np.where(there, values, 0.0)
    return np.add.reduceat(weights * there, starts, axis=1, dtype=float), np.add.reduceat(
        weights * known, starts, axis=1
    )


def _mean(weights: NDArray[np.int8], values: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    n, total = _moments(weights, values, starts)
    with np.errstate(invalid="ignore"):
        return total / n


def _var(weights: NDArray[np.int8], values: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    sizes = np.diff(starts, append=len(values))
    ones = np.ones((1, len(values)), dtype=np.int8)
    off = values - np.repeat(_mean(ones, values, starts)[0], sizes)
    n, total = _moments(weights, off, starts)
    squares = _moments(weights, off**2, starts)[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(n > 1, np.maximum(squares - total**2 / n, 0) / (n - 1), np.nan)


def _first(extreme: np.ufunc, none: float) -> Statistic:
    def found(weights: NDArray[np.int8], values: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
        kept = np.where((weights > 0) & ~np.isnan(values), values, none)
        ends: NDArray[np.float64] = extreme.reduceat(kept, starts, axis=1)
        return np.where(np.isfinite(ends), ends, np.nan)

    return found


STATS: Mapping[str, Statistic] = {
    "mean": _mean,
    "sum": lambda *given: _moments(*given)[1],
    "count": lambda *given: _moments(*given)[0],
    "var": _var,
    "std": lambda *given: np.sqrt(_var(*given)),
    "min": _first(np.minimum, np.inf),
    "max": _first(np.maximum, -np.inf),
}
"""What `Draws.reduced` can make of each group: of weights (record sets x rows), values (of rows), and where the groups start."""


def within_cells(units: pd.Index, cells: pd.Series, block: int, *, whole: bool = False) -> Draws:
    """BLOCK record sets: of the n units of each cell n - 1 are drawn (Rao and Wu 1988); all n if `whole`, see `stretched`.

    A cell of one unit keeps it. `block`: which record sets; the same number gives the same ones.
    """
    codes = pd.factorize(cells)[0]
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    dice = np.random.default_rng([SEED, block])
    blocks = []
    for n in np.unique(sizes):
        which = np.flatnonzero(sizes == n)
        members = order[first[which, None] + np.arange(n)]
        chosen = dice.integers(0, n, size=(BLOCK, len(which), n if whole or n == 1 else n - 1))
        blocks.append((which, members[np.arange(len(which))[None, :, None], chosen]))
    return Draws(units, codes, tuple(blocks))


def stretched(rows: pd.DataFrame, cell: list[str]) -> pd.DataFrame:
    """Numbers with deviations from their cell's mean times sqrt(n / (n - 1)): of these all n are drawn, and spreads come out right."""
    numbers = rows.select_dtypes("float")
    groups = numbers.groupby([rows[key] for key in cell], observed=True, sort=False)
    mean, n = groups.transform("mean"), groups.transform("size")
    factor = np.sqrt(n / (n - 1).clip(lower=1))
    return rows.assign(**(mean + (numbers - mean).mul(factor, axis=0)))


def any_rows(rows: pd.DataFrame, block: int) -> pd.DataFrame:
    """BLOCK record sets in which rows themselves are drawn, all but one of them; DRAW is the first level of their index."""
    dice = np.random.default_rng([SEED, block])
    drawn = dice.integers(0, len(rows), size=(BLOCK, len(rows) - 1))
    return rows.iloc[drawn.ravel()].set_index(_every_draw(None, *drawn.shape))


def correlations(rows: pd.DataFrame, columns: Sequence[str], what: str) -> pd.DataFrame:
    """Correlation of two columns in each record set (spearman, pearson, or kendall: tau-b); value, by DRAW and what it is."""
    sizes = rows.groupby(DRAW).size()
    if sizes.nunique() > 1:
        raise ValueError("record sets have different numbers of rows to correlate")
    one, other = (rows[name].to_numpy(dtype=float).reshape(len(sizes), -1) for name in columns[:2])
    value = correlated(one, other, what)
    names = pd.MultiIndex.from_product([sizes.index, [CORRELATIONS[what]]], names=[DRAW, None])
    return pd.DataFrame({"value": value}, index=names)


def correlated(one: NDArray[np.float64], other: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    """Correlation over the last axis: spearman, pearson, or kendall (tau-b); absent where one of the two does not vary."""
    if what == "kendall":
        one, other = (
            np.sign(each[..., :, None] - each[..., None, :]).reshape(*each.shape[:-1], -1) for each in (one, other)
        )
    else:
        if what == "spearman":
            from scipy.stats import rankdata  # here: it takes half a second, and few need it

            one, other = (rankdata(each, axis=-1) for each in (one, other))
        one, other = (each - each.mean(axis=-1, keepdims=True) for each in (one, other))
    with np.errstate(invalid="ignore"):
        found = (one * other).sum(axis=-1) / np.sqrt((one**2).sum(axis=-1) * (other**2).sum(axis=-1))
    return np.asarray(found)


@cache
def jeffreys(k: float, n: int, key: str, block: int) -> NDArray[np.float64]:
    """BLOCK shares that a count of k in n leaves possible, Beta(k + 1/2, n - k + 1/2). `key`: what is counted; it seeds them."""
    seed = [SEED, block, *key.encode()]
    return np.random.default_rng(seed).beta(k + 0.5, n - k + 0.5, size=BLOCK)


def coded(rows: pd.DataFrame, but: Sequence[str] = ()) -> pd.DataFrame:
    """Texts as categories: many rows of them are taken and grouped in a tenth of the time. `but`: columns that stay as they are."""
    texts = rows.columns[[not is_numeric_dtype(kind) for kind in rows.dtypes]].difference(list(but))
    return rows.astype(dict.fromkeys(texts, "category"))


def uncoded(table: pd.DataFrame) -> pd.DataFrame:
    """Categories in the levels of an index as plain values again."""
    index = table.index
    if not isinstance(index, pd.MultiIndex):
        return table
    return table.set_axis(index.set_levels([plain(level) for level in index.levels]))


def plain(level: pd.Index) -> pd.Index:
    """Categories as plain values."""
    return level.astype(object) if isinstance(level, pd.CategoricalIndex) else level


def by_draw(table: pd.DataFrame) -> list[Any]:
    """[DRAW] where a table has several record sets, else nothing: the first keys to group by."""
    return [DRAW] if DRAW in table or DRAW in table.index.names else []
