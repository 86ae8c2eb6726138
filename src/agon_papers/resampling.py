"""Resamples that the same design could have drawn, and the results of a test in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon.metrics.record_sets import BLOCK, SEED, within_cells
from agon_papers.propositions import Test

HALF = 0.5
"""Half a row, the correction for continuity: a count is a whole number."""

MANY = 20
"""So many rows are counted if they have fewer units each, on average. Otherwise each row is judged by itself."""


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
        """A function from the number of a resample to the rows of a table in it, or to their means `by` columns.

        A table without matches stays as it is. `whole`: see `within_cells`.
        """
        if "match" not in table:
            return lambda number: table
        places = self.places(table)
        rows = np.arange(len(table))
        means = weighted_means(table, by) if by else None

        def one(number: int) -> pd.DataFrame:
            weights = self._weights(number // BLOCK, whole)[number % BLOCK, places]
            return means(weights) if means else table.take(np.repeat(rows, weights))

        return one

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
    """A function from weights of rows to the weighted means of `table.groupby(by)`."""
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
    """Shifts the numbers of resamples: each row's mean over the sets becomes the row's number in the records."""
    columns = []
    for tests, test in zip(zip(*sets, strict=True), recorded, strict=True):
        every = pd.concat([draw.numbers for draw in tests], keys=range(len(tests)))
        mean = every.groupby(level=[*range(1, every.index.nlevels)], sort=False).mean()
        shift = test.numbers - mean.reindex(test.numbers.index)
        columns.append([replace(draw, numbers=draw.numbers + shift.reindex(draw.numbers.index)) for draw in tests])
    return [list(tests) for tests in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Replicates:
    """A test in many resamples. Those without a number are left out, as of a correlation of constant numbers."""

    estimate: NDArray[np.float64]
    parts: NDArray[np.bool_]
    """Resamples x rows, or pairs of an order: which meet the condition."""
    needed: NDArray[np.float64]
    """How many must meet it, by resample."""
    sizes: NDArray[np.float64] | None = None
    """The number of rows, where the estimate is a share of rows."""

    @classmethod
    def join(cls, blocks: Sequence["Replicates"]) -> "Replicates":
        """The same test in the resamples of several blocks."""
        estimate, parts, needed = (
            np.concatenate([getattr(block, name) for block in blocks]) for name in ("estimate", "parts", "needed")
        )
        sizes = [block.sizes for block in blocks if block.sizes is not None]
        return cls(estimate, parts, needed, np.concatenate(sizes) if sizes else None)

    def support(self, recorded: Test, cells: Sequence[int]) -> tuple[int, int]:
        """The number of resamples that agree with the records about a test, and the number of parts that could have decided it.

        At least m of n rows: the resamples of the row that comes m-th, so that n - m + 1 rows had the chance to be that one. If the
        records say otherwise, n - m + 1 rows must fail, and m rows had the chance. `cells`: the number of units of each cell. For a
        share of MANY rows of few units, the rows that meet the condition are counted (`counted`).
        """
        n, m = self.parts.shape[1], recorded.least
        if not 0 < m <= max(n, len(recorded.mask)):
            return len(self.parts), 1  # any rows are enough, or none are
        if n != len(recorded.mask) or (recorded.counted and n >= MANY and 0 < sum(cells) < MANY * n):
            enough = self.counted(recorded, cells) >= 0
            return int((enough == recorded.true).sum()), 1
        hits = np.sort(self.parts.sum(axis=0))
        if recorded.true:
            return int(hits[n - m]), n - m + 1
        return len(self.parts) - int(hits[n - m]), m

    def counted(self, recorded: Test, cells: Sequence[int]) -> NDArray[np.float64]:
        """The distance of each resample above the bound, as a share of the rows. The bound is HALF a row below the
        number that is needed.

        The shares are shifted: their mean is the share in the records. Their deviations are stretched (`stretch_factor`).
        """
        share = (self.parts.sum(axis=1) - self.needed + HALF) / self.parts.shape[1]
        mean = (recorded.mask.sum() - recorded.least + HALF) / len(recorded.mask)
        stretched = mean + (share - share.mean()) * stretch_factor(cells, self.parts.shape[1])
        return np.asarray(stretched.round(9))

    def ends(self, recorded: Test, tails: Sequence[float], cells: Sequence[int]) -> tuple[float, float]:
        """The ends of an interval of the estimate.

        Shares of rows, and the smallest of several gaps, are shifted: their mean is the estimate in the records. Shares are stretched
        (`stretch_factor`). If they vary, their ends lie HALF a row further out, as a count is a whole number. A share is always
        inside.
        """
        if not len(self.estimate):
            return np.nan, np.nan
        best, mean = recorded.estimate, self.estimate.mean()
        if self.sizes is None:
            shift = best - mean if self.parts.shape[1] > 1 else 0.0
            low, high = np.quantile(self.estimate, tails) + shift
            return low, high
        stretched = (self.estimate - mean) * stretch_factor(cells, self.sizes.mean())
        low, high = best + np.quantile(stretched, tails)
        more = HALF / self.sizes.mean() if low < high else 0.0
        return max(min(low - more, best), 0.0), min(max(high + more, best), 1.0)


def replicates_of(tests: Sequence[Test]) -> Replicates:
    """The same test in many resamples."""
    known = [test for test in tests if not test.absent]
    if not known:
        return Replicates(np.empty(0), np.empty((0, len(tests[0].mask)), dtype=bool), np.empty(0))
    estimate, needed = (
        np.array([getattr(test, name) for test in known], dtype=float) for name in ("estimate", "least")
    )
    sizes = np.array([len(test.mask) for test in known], dtype=float) if known[0].sized else None
    return Replicates(estimate, _wide([test.mask for test in known]), needed, sizes)


def _wide(masks: Sequence[pd.Series]) -> NDArray[np.bool_]:
    """Resamples x rows. Where rows differ between resamples, the most rows: those that meet the condition stand first."""
    if all(mask.index.equals(masks[0].index) for mask in masks):
        return np.stack([mask.to_numpy(bool) for mask in masks])
    longest = max(map(len, masks))
    hits = np.array([int(mask.sum()) for mask in masks])
    return np.asarray(np.arange(longest) < hits[:, None])


def stretch_factor(cells: Sequence[int], rows: float) -> float:
    """The factor by which deviations of a count of rows are too small in resamples.

    Whether a match is on one side of a bound varies by p (1 - p). If p is taken from n matches, p (1 - p) is too small by the factor
    (n - 1) / n. `cells`: the number of units of each cell. `rows`: how many rows are counted; each is made of as many cells.
    """
    units = np.asarray(cells, dtype=float) * max(1.0, len(cells) / rows)
    units = units[units > 1]
    return float(np.mean(units / (units - 1)) ** 0.5) if rows <= len(cells) and len(units) else 1.0
