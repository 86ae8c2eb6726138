"""The tables behind the MAgIC paper's statements, and random redraws of their counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon.metrics.abilities import area
from agon_papers import resampling
from agon_papers.magic import cells, counts
from agon_papers.magic.facts import ABILITIES, WIN_RATES, Facts
from agon_papers.resampling import any_rows, jeffreys
from agon_papers.verdict import Missing

AFTER = "_after"
"""Suffix of the columns with beliefs in the table `models`."""


@dataclass(frozen=True, eq=False)
class Records:
    """The paper's tables. Its games are not published, so redraws draw the decisions behind a printed share again."""

    facts: Facts
    whole_games: bool = False
    """Whether all decisions of a game are drawn as equal instead of independent."""
    unit: ClassVar[str] = "decision"

    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """The rows of a table, by model. Raises ValueError for a `where`, and Missing for a missing row.

        abilities: Table 1 with the areas. pairs: Table 4 with the areas and without its last row; NAME+PGM are models
        with beliefs. details: Table 2. with_pairs: Table 2 with the columns of Table 4. models: the models of Table 4
        without beliefs and, in columns NAME_after, with them.
        """
        if where:
            raise ValueError(f"the tables of the paper are asked for whole, and not where {where}")
        match table:
            case "abilities" | "pairs":
                abilities = self.facts.complete_table(table)
                return abilities.assign(area=cells.areas(abilities))
            case "details":
                return self.facts.complete_table(table)
            case "with_pairs":
                return self.rows("details", {}).join(self.rows("pairs", {}))
            case "models":
                before, after = cells.pairs(self.rows("pairs", {}))
                return before.join(after.add_suffix(AFTER))
        raise ValueError(f"there is no table {table}")

    def redraws(self, table: pd.DataFrame, drawing: str, by: Sequence[str] = ()) -> Callable[[int], pd.DataFrame]:
        """Draws rows for correlations. Else draws every share whose count is known, and computes the areas from it."""
        if drawing == "correlation":
            return lambda number: table.iloc[
                any_rows(len(table), number // resampling.BLOCK)[number % resampling.BLOCK]
            ]
        if f"area{AFTER}" in table:
            raise ValueError("the table models is drawn for correlations only: ask for pairs")
        numbers = table.to_numpy(dtype=float)
        counts_of_shares = [
            ((row, column), *self._counts[cell])
            for row, model in enumerate(table.index)
            for column, metric in enumerate(table)
            if (cell := (model, metric, numbers[row, column])) in self._counts
        ]

        @cache
        def sets(block: int) -> NDArray[np.float64]:
            replicates = np.broadcast_to(numbers, (resampling.BLOCK, *numbers.shape)).copy()
            for place, k, n, key in counts_of_shares:
                replicates[:, *place] = 100 * jeffreys(k, n, key, block)
            if "area" in table:
                radii = [replicates[:, :, table.columns.get_loc(ability)] for ability in ABILITIES]
                replicates[:, :, table.columns.get_loc("area")] = area(radii)
            return replicates

        return lambda number: pd.DataFrame(
            sets(number // resampling.BLOCK)[number % resampling.BLOCK], table.index, table.columns
        )

    def cells(self, tables: Sequence[pd.DataFrame]) -> Sequence[int]:
        """Empty, because no games are drawn."""
        return ()

    def by_chance(self, table: pd.DataFrame, number: int) -> pd.DataFrame:
        """Raises Missing, since the paper has no uniform player."""
        raise Missing("nothing is printed of a uniform player")

    def true_variant(self, table: int, variant: str) -> str:
        """Raises Missing, since no caption names a variant."""
        raise Missing("no caption names a variant")

    @cached_property
    def _counts(self) -> dict[tuple[str, str, float], tuple[float, int, str]]:
        """(model, metric, share in percent) -> arguments of `jeffreys` (count, sample size, key), by `granularity`."""
        tested = counts.granularity(self.facts)
        tested = tested[
            tested.metric.isin([*ABILITIES, *WIN_RATES]) & tested.n.notna() & (tested.reading == "reconciled")
        ]
        counts_by_cell = {}
        for cell in tested.itertuples():
            n = counts.GAMES.get(cell.metric, cell.n) if self.whole_games else cell.n
            key = f"{cell.model} {cell.metric} {cell.published}"
            counts_by_cell[cell.model, cell.metric, float(cell.published)] = cell.k * n / cell.n, int(n), key
        return counts_by_cell
