"""The MAgIC paper's printed numbers that do not follow from others: Table 1 from counts, Figure 5 from suspicions."""

from itertools import product

import numpy as np
import pandas as pd

from agon.agents.pgm.suspicion import Matrix, prior, updated
from agon_papers.cells import COLUMNS
from agon_papers.magic.counts import granularity
from agon_papers.magic.facts import PAPER, Facts

MOST_CHANCE = 0.9
"""A fit to a count says nothing if more than this share of arbitrary numbers would fit."""

HALF_DIGIT = 0.0005
"""Half a unit of Figure 5's last digit."""
FORWARD = 0.0004
"""The largest shift of a matrix by the rounding of the previous one."""

SEATS = 3
RATINGS = tuple(product((-1, 0, 1), repeat=SEATS))
"""The possible analyses of three players in a row."""

WHY = {
    "1": "nearly every number would fit the definition, and no game is published",
    "figure 5": "literally, the paper does not say how ratings become numbers; reconciled, no single analysis leads to the matrix",
}
"""Table -> the reason why some of its numbers cannot be recomputed."""


def table_1(facts: Facts, reading: str) -> pd.DataFrame:
    """Every number of Table 1 beside the nearest one of its definition (`counts.granularity`); see COLUMNS.

    Statistic: counted.
    """
    tested = granularity(facts)
    rows = tested[(tested.table == 1) & (tested.reading == reading)]
    telling = rows.chance <= MOST_CHANCE
    return pd.DataFrame(
        {
            "paper": PAPER,
            "table": "1",
            "row": rows.model,
            "column": rows.metric,
            "statistic": "counted",
            "published": rows.published.astype(float),
            "recomputed": rows.nearest.where(telling),
            "agrees": rows.fits & telling,
            "reading": reading,
        }
    )[COLUMNS]


def figure_5(facts: Facts, reading: str) -> pd.DataFrame:
    """Every number of Figure 5's matrices beside the result of one analysis of the start, or of another printed matrix;
    see COLUMNS.

    Reconciled: the update of the released code (agon.agents.pgm.suspicion), with the ratings and the matrix of the
    nearest result. Statistic: analysis.
    """
    items = [item for item in facts.figures[facts.figures.figure == 5].item if item.startswith("matrix")]
    printed = {item: tuple(map(tuple, facts.figure_rows(5, item))) for item in items}
    rows = []
    for item, matrix in printed.items():
        nearest, within = _origin(item, printed) if reading == "reconciled" else (None, 0.0)
        for row, column in product(range(SEATS), repeat=2):
            number = nearest[row][column] if nearest else np.nan
            agrees = abs(number - matrix[row][column]) <= within
            names = f"{item} row {row + 1}", f"Player {column + 1}"
            rows.append((PAPER, "figure 5", *names, "analysis", matrix[row][column], number, agrees, reading))
    return pd.DataFrame(rows, columns=COLUMNS)


def _origin(item: str, printed: dict[str, Matrix]) -> tuple[Matrix | None, float]:
    """The nearest result of one analysis, and its tolerance; None if a number is outside of the tolerance."""
    player = item[-1]
    others = [(matrix, HALF_DIGIT + FORWARD) for name, matrix in printed.items() if name != item and name[-1] == player]
    starts = [(prior(SEATS, int(player) - 1, False), HALF_DIGIT + 1e-9), *others]
    candidates = [(_nearest(before, printed[item]), within) for before, within in starts]
    nearest, within = min(candidates, key=lambda candidate: _distance(candidate[0], printed[item]))
    return (nearest, within) if _distance(nearest, printed[item]) <= within else (None, within)


def _nearest(before: Matrix, after: Matrix) -> Matrix:
    """The nearest result of one analysis, row by row."""
    rows = zip(before, after, strict=True)
    return tuple(
        min((updated((row,), (ratings,))[0] for ratings in RATINGS), key=lambda image: _distance((image,), (target,)))
        for row, target in rows
    )


def _distance(one: Matrix, other: Matrix) -> float:
    return float(np.abs(np.array(one) - np.array(other)).max())
