"""Record sets that the same design could have drawn: units (matches, games) drawn anew within their fixed cells."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

DRAW = "draw"
"""The column, or level of the index, that says of which record set a row is."""

BLOCK = 240
"""Record sets that are drawn at a time."""

SEED = 20261123


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
    def weights(self) -> NDArray[np.float64]:
        """How often each unit is in each record set: record sets x units."""
        drawn = np.concatenate([each.reshape(len(each), -1) for _, each in self.blocks], axis=1)
        flat = drawn + np.arange(len(drawn))[:, None] * len(self.units)
        return np.bincount(flat.ravel(), minlength=len(drawn) * len(self.units)).reshape(len(drawn), -1).astype(float)

    def totals(self, rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
        """Sums of columns over all rows (column match: the unit) of each record set; index DRAW."""
        sums = rows.groupby("match", observed=True)[columns].sum().reindex(self.units, fill_value=0)
        return pd.DataFrame(self.weights @ sums.to_numpy(dtype=float), columns=columns).rename_axis(DRAW)


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


@cache
def jeffreys(k: int, n: int, key: str, block: int) -> NDArray[np.float64]:
    """BLOCK shares that a count of k in n leaves possible, Beta(k + 1/2, n - k + 1/2). `key`: what is counted; it seeds them."""
    seed = [SEED, block, *key.encode()]
    return np.random.default_rng(seed).beta(k + 0.5, n - k + 0.5, size=BLOCK)


def coded(rows: pd.DataFrame) -> pd.DataFrame:
    """Texts as categories: many rows of them are taken and grouped in a tenth of the time."""
    texts = rows.columns[[not is_numeric_dtype(kind) for kind in rows.dtypes]]
    return rows.astype(dict.fromkeys(texts, "category"))


def uncoded(table: pd.DataFrame) -> pd.DataFrame:
    """Categories in the levels of an index as plain values again."""
    index = table.index
    if not isinstance(index, pd.MultiIndex):
        return table
    return table.set_axis(
        index.set_levels(
            [level.astype(object) if isinstance(level, pd.CategoricalIndex) else level for level in index.levels]
        )
    )


def by_draw(table: pd.DataFrame) -> list[Any]:
    """[DRAW] where a table has several record sets, else nothing: the first keys to group by."""
    return [DRAW] if DRAW in table or DRAW in table.index.names else []
