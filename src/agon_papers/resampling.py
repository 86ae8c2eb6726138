"""Record sets that the same design could have drawn, and the results of a test in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon_papers.propositions import Test

SEED = 20261123

BLOCK = 120
"""Number of record sets in a block: they are drawn together."""

HALF = 0.5
"""Half a row, the correction for continuity: a count is a whole number, and never passes its bound by less."""


def within_cells(cells: NDArray[np.intp], block: int, *, whole: bool = False) -> NDArray[np.int8]:
    """Draws units within cells, with replacement. Returns how often each unit is in each record set (BLOCK x units).

    From a cell with n units it draws n - 1 (Rao and Wu, JASA 83, 1988), or n if `whole`, for units of `stretch_deviations`. A cell of
    one unit keeps it. `cells`: the code of each unit's cell. `block`: the seed; the same number gives the same record sets.
    """
    by_cell = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    dice = np.random.default_rng([SEED, block])
    weights = np.zeros((BLOCK, len(cells)), dtype=np.int8)
    for n in np.unique(sizes):
        which = np.flatnonzero(sizes == n)
        members = by_cell[first[which, None] + np.arange(n)]
        draws = dice.integers(0, n, size=(BLOCK, len(which), n if whole or n == 1 else n - 1))
        units = members[np.arange(len(which))[None, :, None], draws].reshape(BLOCK, -1)
        np.add.at(weights, (np.arange(BLOCK)[:, None], units), 1)
    return weights


@dataclass(frozen=True, eq=False)
class Units:
    """The units of resampling: matches, one per row of `table`. A cell is the matches that are alike in the columns `cell`."""

    table: pd.DataFrame
    cell: Sequence[str]
    blocks: dict[tuple[int, bool], NDArray[np.int8]] = field(default_factory=dict)
    """(block, whole) -> the weights of `within_cells`."""

    def sizes(self, tables: Sequence[pd.DataFrame]) -> list[int]:
        """The sizes of the cells of all matches in these tables. Tables without matches have no cells."""
        rows = {row for table in tables if "match" in table for row in self.places(table)}
        sizes = np.bincount(self._cells[[*rows]])
        return [int(size) for size in sizes[sizes > 0]]

    def places(self, table: pd.DataFrame) -> NDArray[np.intp]:
        """The positions in `table` of the matches of another table."""
        return self._matches.get_indexer(table.match)

    def redraws(
        self, table: pd.DataFrame, by: Sequence[str] = (), *, whole: bool = False
    ) -> Callable[[int], pd.DataFrame]:
        """A function from the number of a record set to the rows of a table in it, or to their means `by` columns.

        A table without matches stays as it is. `whole`: see `within_cells`.
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
    """A function from weights of rows to `table.groupby(by).mean()` with each row repeated as often as its weight."""
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


def stretch_deviations(table: pd.DataFrame, cell: Sequence[str]) -> pd.DataFrame:
    """Numbers with deviations from their cell's mean times sqrt(n / (n - 1)).

    Draws of all n units of a cell then have the right spread.
    """
    numbers = table.select_dtypes("float")
    groups = numbers.groupby([table[key] for key in cell], observed=True, sort=False)
    mean, n = groups.transform("mean"), groups.transform("size")
    factor = np.sqrt(n / (n - 1).clip(lower=1))
    return table.assign(**(mean + (numbers - mean).mul(factor, axis=0)))


def any_rows(n: int, block: int) -> NDArray[np.intp]:
    """Draws n - 1 rows of n with replacement. Returns their positions (BLOCK x rows)."""
    return np.random.default_rng([SEED, block]).integers(0, n, size=(BLOCK, n - 1))


def jeffreys(k: float, n: int, key: str, block: int) -> NDArray[np.float64]:
    """Draws BLOCK shares that a count of k in n leaves possible, from Beta(k + 1/2, n - k + 1/2). `key` names the count: the seed."""
    return np.random.default_rng([SEED, block, *key.encode()]).beta(k + 0.5, n - k + 0.5, size=BLOCK)


def centre(sets: Sequence[Sequence[Test]], recorded: Sequence[Test]) -> list[list[Test]]:
    """Shifts the numbers of record sets: each row's mean over the sets becomes the row's number in the records."""
    columns = []
    for tests, test in zip(zip(*sets, strict=True), recorded, strict=True):
        every = pd.concat([draw.numbers for draw in tests], keys=range(len(tests)))
        mean = every.groupby(level=[*range(1, every.index.nlevels)], sort=False).mean()
        shift = test.numbers - mean.reindex(test.numbers.index)
        columns.append([replace(draw, numbers=draw.numbers + shift.reindex(draw.numbers.index)) for draw in tests])
    return [list(tests) for tests in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Replicates:
    """A test in many record sets."""

    estimate: NDArray[np.float64]
    parts: NDArray[np.bool_]
    """Record sets x parts. The test holds where all parts are true: rows, pairs of an order, or "enough rows". For `any_of`: rows."""
    sizes: NDArray[np.float64] | None = None
    """The number of rows, where the estimate is a share of rows."""
    candidates: int = 1
    """The number of rows from which the one was chosen that is true most often."""

    @classmethod
    def join(cls, blocks: Sequence["Replicates"]) -> "Replicates":
        """The same test in the record sets of several blocks."""
        estimate, parts = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("estimate", "parts"))
        sizes = None if blocks[0].sizes is None else np.concatenate([block.sizes for block in blocks])
        return cls(estimate, parts, sizes)

    def centre(self, recorded: Test, cells: Sequence[int]) -> "Replicates":
        """Shifts the estimates: their mean becomes the estimate in the records. `cells`: the number of units of each cell.

        A share of rows, and the smallest of several gaps, have the noise of the records in them, and that of the draws on top. Counts
        of rows are stretched too (`stretch_factor`). Where they vary they must pass their bound by HALF a row. For `any_of` the part is
        the row that is true most often.
        """
        bias = self.estimate[~np.isnan(self.estimate)].mean() - recorded.estimate
        unbiased = self.estimate - bias
        if self.sizes is None:
            return self if self.parts.shape[1] == 1 else replace(self, estimate=unbiased)
        if recorded.single and recorded.true:
            of_true = self.parts[:, recorded.mask.to_numpy()]
            best = of_true[:, [of_true.mean(axis=0).argmax()]]
            return replace(self, estimate=unbiased.clip(0, 1), parts=best, candidates=self.parts.shape[1])
        if recorded.single:
            return replace(self, estimate=unbiased.clip(0, 1), parts=np.any(self.parts, axis=1)[:, None])
        if recorded.every:
            return replace(self, estimate=unbiased.clip(0, 1))
        mean = recorded.estimate
        stretched = mean + (unbiased - mean) * stretch_factor(cells, float(self.sizes.mean()))
        margin = HALF if np.unique(stretched).size > 1 else 0.0
        rows = stretched * self.sizes
        above, below = (recorded.enough((rows + shift).round(9), self.sizes) for shift in (margin, -margin))
        both = np.logical_and(above, below) if recorded.true else np.logical_or(above, below)
        return replace(self, estimate=stretched.clip(0, 1), parts=both[:, None])

    def ends(self, tails: Sequence[float]) -> tuple[float, float]:
        """The ends of an interval of the estimate. Those of a share of rows that varies lie HALF a row further out."""
        low, high = np.quantile(self.estimate[~np.isnan(self.estimate)], tails)
        if self.sizes is not None and low < high:
            more = HALF / self.sizes.mean()
            return max(low - more, 0.0), min(high + more, 1.0)
        return low, high


def replicates_of(tests: Sequence[Test]) -> Replicates:
    """The same test in many record sets."""
    masks = [test.mask for test in tests]
    estimate = np.array([test.estimate for test in tests])
    sizes = np.array([len(mask) for mask in masks], dtype=float) if tests[0].sized else None
    if not tests[0].every:
        if tests[0].single:
            return Replicates(estimate, _wide(masks, absent=False), sizes)
        enough = [bool(test.enough(mask.sum(), len(mask))) for test, mask in zip(tests, masks, strict=True)]
        return Replicates(estimate, np.array(enough)[:, None], sizes)
    return Replicates(estimate, _wide(masks, absent=True), sizes)


def _wide(masks: Sequence[pd.Series], *, absent: bool) -> NDArray[np.bool_]:
    if all(mask.index.equals(masks[0].index) for mask in masks):
        return np.stack([mask.to_numpy(bool) for mask in masks])
    table = pd.concat(masks, axis=1, keys=range(len(masks)))
    return np.asarray(table.T.astype(object).fillna(absent).astype(bool))


def stretch_factor(cells: Sequence[int], rows: float) -> float:
    """The factor by which deviations of a count of rows are too small in record sets.

    Means of n drawn units vary as means do, but fall on one side of a bound too often: by n / (n - 1) of the variance.
    `cells`: the number of units of each cell. `rows`: how many rows are counted; each is made of as many cells.
    """
    units = np.asarray(cells, dtype=float) * max(1.0, len(cells) / rows)
    units = units[units > 1]
    return float(np.mean(units / (units - 1)) ** 0.5) if rows <= len(cells) and len(units) else 1.0
