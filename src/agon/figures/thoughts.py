"""What players left of their thinking in the turns' column `detail`: matrices of beliefs, forecasts, and texts that nobody else saw."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agon.figures import figure, styled

WIDE = 6
"""Matrices side by side."""


class Belief(NamedTuple):
    """What a seat believed when it was asked: row j is whom seat j suspects, as it sees it."""

    turn: int
    phase: str
    seat: int
    matrix: np.ndarray[Any, np.dtype[np.float64]]


def beliefs(turns: pd.DataFrame) -> list[Belief]:
    """The matrices that `detail` holds under "beliefs" (a list of rows), without those that are as the seat's last one."""
    found: list[Belief] = []
    for turn, phase, seat, rows in _believed(turns):
        if all(cell is None or isinstance(cell, int | float) for row in rows for cell in row):
            matrix = np.array(rows, dtype=float)
            if not (found and found[-1].seat == seat and np.array_equal(found[-1].matrix, matrix, equal_nan=True)):
                found.append(Belief(turn, phase, seat, matrix))
    return found


def forecasts(turns: pd.DataFrame, named: Sequence[str]) -> pd.DataFrame:
    """Beliefs in words: turn, player, view (whose, as the player sees it), of (whom), forecast. Where one is as before it is left out."""
    found: list[dict[str, Any]] = []
    before: Any = None
    for turn, _, seat, rows in _believed(turns):
        words = [
            (view, of, cell) for view, row in enumerate(rows) for of, cell in enumerate(row) if isinstance(cell, str)
        ]
        if words and (seat, words) != before:
            found += [
                {"turn": turn, "player": named[seat], "view": named[view], "of": named[of], "forecast": cell}
                for view, of, cell in words
            ]
        before = seat, words
    return pd.DataFrame(found, columns=["turn", "player", "view", "of", "forecast"])


def thoughts(turns: pd.DataFrame, named: Sequence[str]) -> pd.DataFrame:
    """What `detail` holds under "thought" (texts that nobody else saw): turn, phase, player, thought."""
    found = [
        {"turn": row.turn, "phase": str(row.phase), "player": named[row.seat], "thought": "\n".join(map(str, said))}
        for row in turns[turns.detail.notna()].itertuples()
        for said in [_held(row.detail).get("thought")]
        if isinstance(said, list) and said
    ]
    return pd.DataFrame(found, columns=["turn", "phase", "player", "thought"])


def _believed(turns: pd.DataFrame) -> Iterator[tuple[int, str, int, list[list[Any]]]]:
    """Turn, phase, seat and rows of equal length, seat by seat."""
    for row in turns[turns.detail.notna()].sort_values(["seat", "turn"]).itertuples():
        rows = _held(row.detail).get("beliefs")
        if (
            isinstance(rows, list)
            and rows
            and all(isinstance(each, list) and len(each) == len(rows[0]) for each in rows)
        ):
            yield int(row.turn), str(row.phase), int(row.seat), rows


def _held(detail: Any) -> dict[str, Any]:
    found = json.loads(detail)
    return found if isinstance(found, dict) else {}


@styled
def belief_figure(found: Sequence[Belief], named: Sequence[str], title: str) -> Figure:
    """A small heatmap for every belief, seat by seat below one another, turn by turn from left to right; `named`: the seats' names."""
    rows = []
    for _, own in groupby(found, key=lambda belief: belief.seat):
        every = list(own)
        rows += [every[start : start + WIDE] for start in range(0, len(every), WIDE)]
    columns = max(map(len, rows))
    made, axes = figure(len(rows), columns, (max(5.0, 2.6 * columns), 0.8 + 2.5 * len(rows)))
    scale = min(np.nanmin(each.matrix) for each in found), max(np.nanmax(each.matrix) for each in found)
    for place, axis in enumerate(axes):
        row, column = divmod(place, columns)
        if column < len(rows[row]):
            _drawn(axis, rows[row][column], named, scale)
        else:
            axis.set_visible(False)
    made.suptitle(
        f"{title}\nrow: whose view, column: who is suspected; each row sums to 1", x=0.01, ha="left", fontsize=11
    )
    return made


def _drawn(axes: Axes, belief: Belief, named: Sequence[str], scale: tuple[float, float]) -> None:
    low, high = scale
    axes.imshow(belief.matrix, cmap="cividis", vmin=low, vmax=high if high > low else low + 1)
    short = [name.replace("Player ", "P") for name in named]
    for (row, column), value in np.ndenumerate(belief.matrix):
        colour = "white" if value - low < 0.55 * (high - low) else "black"
        axes.text(column, row, "" if np.isnan(value) else f"{value:.3f}", ha="center", va="center", color=colour)
    axes.set_xticks(range(belief.matrix.shape[1]), short[: belief.matrix.shape[1]])
    axes.set_yticks(range(belief.matrix.shape[0]), short[: belief.matrix.shape[0]])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{named[belief.seat]}, turn {belief.turn} ({belief.phase})", fontsize=9)
