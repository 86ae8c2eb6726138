"""Record sets that the same design could have drawn, and what a test says in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon_papers.propositions import Test

SEED = 20261123

BLOCK = 120
"""Record sets that are drawn at a time."""

HALF = 0.5
"""Of a row: a count is a whole number, and lies on neither side of a bound by less."""


def within_cells(cells: NDArray[np.intp], block: int, *, whole: bool = False) -> NDArray[np.int8]:
    """How often each unit is in each of BLOCK record sets: record sets x units. `cells`: the code of each unit's cell.

    Of the n units of a cell n - 1 are drawn (Rao and Wu, JASA 83, 1988); all n if `whole`, for units that are `stretched`. A cell of one
    unit keeps it. `block`: which record sets; the same number gives the same ones.
    """
    by_cell = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    dice = np.random.default_rng([SEED, block])
    weights = np.zeros((BLOCK, len(cells)), dtype=np.int8)
    for n in np.unique(sizes):
        which = np.flatnonzero(sizes == n)
        members = by_cell[first[which, None] + np.arange(n)]
        chosen = dice.integers(0, n, size=(BLOCK, len(which), n if whole or n == 1 else n - 1))
        taken = members[np.arange(len(which))[None, :, None], chosen].reshape(BLOCK, -1)
        np.add.at(weights, (np.arange(BLOCK)[:, None], taken), 1)
    return weights


@dataclass(frozen=True, eq=False)
class Units:
    """What is drawn: the matches of a table, a row for each, within cells: those that are alike in the columns `cell`."""

    table: pd.DataFrame
    cell: Sequence[str]
    blocks: dict[tuple[int, bool], NDArray[np.int8]] = field(default_factory=dict)
    """Weights that were drawn already."""

    def sizes(self, tables: Sequence[pd.DataFrame]) -> list[int]:
        """How many of the matches in these tables each of their cells has; tables without matches have none."""
        rows = {row for table in tables if "match" in table for row in self.places(table)}
        sizes = np.bincount(self._cells[[*rows]])
        return [int(size) for size in sizes[sizes > 0]]

    def places(self, table: pd.DataFrame) -> NDArray[np.intp]:
        """In which rows the matches of another table are."""
        return self._matches.get_indexer(table.match)

    def redraws(
        self, table: pd.DataFrame, by: Sequence[str] = (), *, whole: bool = False
    ) -> Callable[[int], pd.DataFrame]:
        """The rows of a table in a record set, by its number, or their means `by` columns; a table without matches stays as it is.

        `whole`: see `within_cells`.
        """
        if "match" not in table:
            return lambda number: table
        places = self.places(table)
        rows = np.arange(len(table))
        view = weighted_means(table, by) if by else lambda weights: table.take(np.repeat(rows, weights))
        return lambda number: view(self._weights(number // BLOCK, whole)[number % BLOCK, places])

    @cached_property
    def _matches(self) -> pd.Index:
        return pd.Index(self.table.match)

    @cached_property
    def _cells(self) -> NDArray[np.intp]:
        """The cell of each match."""
        return self.table.groupby([*self.cell], observed=True, sort=False).ngroup().to_numpy()

    def _weights(self, block: int, whole: bool) -> NDArray[np.int8]:
        if (block, whole) not in self.blocks:
            self.blocks[block, whole] = within_cells(self._cells, block, whole=whole)
        return self.blocks[block, whole]


def weighted_means(table: pd.DataFrame, by: Sequence[str]) -> Callable[[NDArray[np.int8]], pd.DataFrame]:
    """What `table.groupby(by).mean()` gives if each row is there as often as its weight says."""
    groups = table.groupby([*by])
    plain = groups.mean(numeric_only=True)
    first = groups.size().cumsum().shift(fill_value=0)
    order = np.argsort(groups.ngroup(), kind="stable")
    numbers = table[plain.columns].to_numpy(float)[order]
    present = ~np.isnan(numbers)
    numbers[~present] = 0

    def means(weights: NDArray[np.int8]) -> pd.DataFrame:
        rows = weights[order, None].astype(float)
        total, n = (np.add.reduceat(rows * values, first) for values in (numbers, present))
        return pd.DataFrame(total / np.where(n, n, np.nan), plain.index, plain.columns)

    return means


def stretched(table: pd.DataFrame, cell: Sequence[str]) -> pd.DataFrame:
    """Numbers with deviations from their cell's mean times sqrt(n / (n - 1)): of these all n are drawn, and spreads come out right."""
    numbers = table.select_dtypes("float")
    groups = numbers.groupby([table[key] for key in cell], observed=True, sort=False)
    mean, n = groups.transform("mean"), groups.transform("size")
    factor = np.sqrt(n / (n - 1).clip(lower=1))
    return table.assign(**(mean + (numbers - mean).mul(factor, axis=0)))


def any_rows(n: int, block: int) -> NDArray[np.intp]:
    """Positions of n - 1 rows of n, drawn with replacement: BLOCK record sets x rows."""
    return np.random.default_rng([SEED, block]).integers(0, n, size=(BLOCK, n - 1))


def jeffreys(k: float, n: int, key: str, block: int) -> NDArray[np.float64]:
    """BLOCK shares that a count of k in n leaves possible, Beta(k + 1/2, n - k + 1/2). `key`: what is counted; it seeds them."""
    return np.random.default_rng([SEED, block, *key.encode()]).beta(k + 0.5, n - k + 0.5, size=BLOCK)


def centred(sets: Sequence[Sequence[Test]], recorded: Sequence[Test]) -> list[list[Test]]:
    """Numbers of many record sets, moved so that the mean of each row's over these is the records'."""
    moved = []
    for tests, own in zip(zip(*sets, strict=True), recorded, strict=True):
        every = pd.concat([test.numbers for test in tests], keys=range(len(tests)))
        mean = every.groupby(level=[*range(1, every.index.nlevels)], sort=False).mean()
        off = own.numbers - mean.reindex(own.numbers.index)
        moved.append([replace(test, numbers=test.numbers + off.reindex(test.numbers.index)) for test in tests])
    return [list(each) for each in zip(*moved, strict=True)]


@dataclass(frozen=True)
class Trial:
    """A test in many record sets."""

    estimate: NDArray[np.float64]
    parts: NDArray[np.bool_]
    """Record sets x all that must be true for it to hold: rows, pairs of an order, or that enough rows are as said. Of `any_of`: rows."""
    sizes: NDArray[np.float64] | None = None
    """Where the estimate is a share of rows: how many there are."""
    chosen: int = 1
    """Of how many rows the one was chosen that is true most often."""

    @classmethod
    def joined(cls, blocks: Sequence["Trial"]) -> "Trial":
        """The same test in the record sets of several blocks."""
        estimate, parts = (np.concatenate([getattr(each, name) for each in blocks]) for name in ("estimate", "parts"))
        sizes = None if blocks[0].sizes is None else np.concatenate([each.sizes for each in blocks])
        return cls(estimate, parts, sizes)

    def centred(self, own: Test, cells: Sequence[int]) -> "Trial":
        """Moved so that the record sets' mean is what the records give, `own`. `cells`: how many units each has.

        A share of rows, and the smallest of several gaps, have the records' noise in them, and that of the draws on top. Counts of rows
        are stretched too (`stretch`), and where they vary must be beyond their bound by HALF a row. Of `any_of` the row is taken that is
        true most often.
        """
        off = self.estimate[~np.isnan(self.estimate)].mean() - own.estimate
        if self.sizes is None:
            return self if self.parts.shape[1] == 1 else replace(self, estimate=self.estimate - off)
        near = (self.estimate - off).clip(0, 1)
        if own.single and own.true:
            of_true = self.parts[:, own.mask.to_numpy()]
            best = of_true[:, [of_true.mean(axis=0).argmax()]]
            return replace(self, estimate=near, parts=best, chosen=self.parts.shape[1])
        if own.single:
            return replace(self, estimate=near, parts=np.any(self.parts, axis=1)[:, None])
        if own.every:
            return replace(self, estimate=near)
        mean = own.estimate
        moved = mean + (self.estimate - off - mean) * stretch(cells, float(self.sizes.mean()))
        beyond = HALF if np.unique(moved).size > 1 else 0.0
        ways = [own.enough((moved * self.sizes + each).round(9), self.sizes) for each in (beyond, -beyond)]
        both = np.logical_and(*ways) if own.true else np.logical_or(*ways)
        return replace(self, estimate=moved.clip(0, 1), parts=both[:, None])

    def ends(self, tails: Sequence[float]) -> tuple[float, float]:
        """Of an interval of the estimate; where a share of rows varies, by HALF a row more."""
        low, high = np.quantile(self.estimate[~np.isnan(self.estimate)], tails)
        if self.sizes is not None and low < high:
            more = HALF / self.sizes.mean()
            return max(low - more, 0.0), min(high + more, 1.0)
        return low, high


def trial_of(tests: Sequence[Test]) -> Trial:
    """The same test in many record sets."""
    masks = [test.mask for test in tests]
    estimate = np.array([test.estimate for test in tests])
    sizes = np.array([len(mask) for mask in masks], dtype=float) if tests[0].sized else None
    if not tests[0].every:
        if tests[0].single:
            return Trial(estimate, _wide(masks, absent=False), sizes)
        enough = [bool(test.enough(mask.sum(), len(mask))) for test, mask in zip(tests, masks, strict=True)]
        return Trial(estimate, np.array(enough)[:, None], sizes)
    return Trial(estimate, _wide(masks, absent=True), sizes)


def _wide(masks: Sequence[pd.Series], *, absent: bool) -> NDArray[np.bool_]:
    if all(mask.index.equals(masks[0].index) for mask in masks):
        return np.stack([mask.to_numpy(bool) for mask in masks])
    table = pd.concat(masks, axis=1, keys=range(len(masks)))
    return np.asarray(table.T.astype(object).fillna(absent).astype(bool))


def stretch(cells: Sequence[int], rows: float) -> float:
    """By what deviations of a count of rows are too small, that are made of cells with so many units each, all of as many cells.

    Drawn means of n units vary as means do, but fall on one side of a bound too often: by n / (n - 1) of the variance.
    """
    units = np.asarray(cells, dtype=float) * max(1.0, len(cells) / rows)
    units = units[units > 1]
    return float(np.mean(units / (units - 1)) ** 0.5) if rows <= len(cells) and len(units) else 1.0
