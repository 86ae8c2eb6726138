"""The tables behind the MAgIC paper's statements, and random redraws of their counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon.metrics.record_sets import BLOCK
from agon_papers import verdict
from agon_papers.magic import cells, counts
from agon_papers.magic.abilities import area
from agon_papers.magic.facts import ABILITIES, PGM, SETTINGS, WIN_RATES, Facts
from agon_papers.resampling import any_rows, jeffreys

AFTER = "_after"
"""Suffix of the columns with beliefs in the table `models`."""

WINS = 7 * SETTINGS
"""Games behind a win rate, at the least: it is the mean of seven roles. A mean of numbers between 0 and 1 varies at most as if each of
its games were won or lost with that probability."""

UNKNOWN = ("cost_sharing_cost", "prisoner_score", "public_good_payback")
"""Columns of which the paper does not print how much they vary from game to game."""


@dataclass(frozen=True, eq=False)
class Records(verdict.Records):
    """The paper's tables. Its games are not published: resamples draw the games behind a printed share anew.

    Decisions of a game may all be alike. So a share of decisions is drawn as if only games counted.
    """

    facts: Facts
    unit: ClassVar[str] = "game"

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
        """Draws every share whose count is known, and computes the areas from it. Columns that are UNKNOWN become NaN.

        For correlations rows are drawn too.
        """
        numbers = table.to_numpy(dtype=float)
        counts_of_shares = [
            ((row, place), *self._counts[cell])
            for row, model in enumerate(table.index)
            for place, column in enumerate(table)
            if (cell := _cell(model, column, numbers[row, place])) in self._counts
        ]
        unknown = [place for place, column in enumerate(table) if column.removesuffix(AFTER) in UNKNOWN]

        @cache
        def sets(block: int) -> NDArray[np.float64]:
            replicates = np.broadcast_to(numbers, (BLOCK, *numbers.shape)).copy()
            replicates[:, :, unknown] = np.nan
            for place, k, n, key in counts_of_shares:
                replicates[:, *place] = 100 * jeffreys(k, n, key, block)
            for suffix in ("", AFTER):
                if f"area{suffix}" in table:
                    radii = [replicates[:, :, table.columns.get_loc(ability + suffix)] for ability in ABILITIES]
                    replicates[:, :, table.columns.get_loc(f"area{suffix}")] = area(radii)
            return replicates

        def one(number: int) -> pd.DataFrame:
            block, place = divmod(number, BLOCK)
            drawn = pd.DataFrame(sets(block)[place], table.index, table.columns)
            return drawn.iloc[any_rows(len(table), block)[place]] if drawing == "correlation" else drawn

        return one

    @cached_property
    def _counts(self) -> dict[tuple[str, str, float], tuple[float, int, str]]:
        """(model, metric, share in percent) -> arguments of `jeffreys` (count of games, games, key), by `granularity`."""
        tested = counts.granularity(self.facts)
        tested = tested[tested.metric.isin(["win_rate", *ABILITIES, *WIN_RATES]) & (tested.reading == "reconciled")]
        counts_by_cell = {}
        for cell in tested.itertuples():
            n = WINS if cell.metric == "win_rate" else counts.GAMES.get(cell.metric, cell.n)
            share = float(cell.published) / 100 if pd.isna(cell.n) else cell.k / cell.n
            key = f"{cell.model} {cell.metric} {cell.published}"
            counts_by_cell[cell.model, cell.metric, float(cell.published)] = share * n, int(n), key
        return counts_by_cell


def _cell(model: str, column: str, share: float) -> tuple[str, str, float]:
    """The key of a count: the column with the suffix AFTER belongs to the model with beliefs."""
    return (model + PGM if column.endswith(AFTER) else model), column.removesuffix(AFTER), share
