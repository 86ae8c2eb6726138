"""Differences between two conditions, stratum by stratum, and taken together."""

from itertools import combinations
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from agon.figures import COLOURS, figure, styled

ROWS = 40
"""Up to so many rows a figure has."""
WIDE = 100
"""Letters that fit above a figure."""


@styled
def strata_figure(strata: pd.DataFrame, together: pd.Series, keys: list[str]) -> Figure:
    """The rows of `strata` (n_first, n_second, difference, low, high), named by `keys`, and below them what they come to (`together`).

    Where there are more than ROWS, those that are alike in some of `keys` share a row, with a circle for each, and their mean. Where
    these are still too many, those with the largest means are drawn.
    """
    varying = [key for key in keys if strata[key].nunique() > 1] or keys[:2]
    shown = varying if len(strata) <= ROWS else _told(strata, varying)
    names = strata[shown].astype(str).apply(lambda row: " ".join(filter(None, row)), axis=1)
    alone = bool(names.is_unique)
    equal = together.how == "paired"  # then strata count alike
    weights = 1.0 if equal else strata.n_first * strata.n_second / (strata.n_first + strata.n_second)
    table = strata.assign(name=names, weight=weights, weighed=weights * strata.difference)
    rows = table.groupby("name", sort=False)[["n_first", "n_second", "weight", "weighed"]].sum()
    rows["mean"] = rows.weighed / rows.weight
    several = len(rows)
    rows = rows[rows["mean"].abs().rank(method="first", ascending=False) <= ROWS]
    table = table[names.isin(rows.index)]
    at = table.name.map({name: place for place, name in enumerate(rows.index)})

    made, [axes] = figure(1, 1, (8.5, 1.9 + 0.24 * (len(rows) + 2)))
    axes.axvline(0, color="#999999", lw=0.8)
    if alone:
        axes.hlines(at, table.low, table.high, color=COLOURS[1], lw=1.1)
        axes.plot(table.difference, at, ls="", marker="o", ms=4, color=COLOURS[1])
        told = "difference of means with its 95 % interval; in brackets matches of each"
    else:
        axes.plot(table.difference, at, ls="", marker="o", ms=3.5, mfc="none", mew=0.6, color=COLOURS[1], alpha=0.6)
        axes.plot(rows["mean"], range(len(rows)), ls="", marker="|", ms=12, mew=2.2, color=COLOURS[1])
        told = (
            f"difference of means in {len(strata):,} strata (circles), their mean (bar), and all with a 95 % interval"
        )
        told += "; in brackets matches of each"
    last = len(rows) + 1
    axes.hlines(last, together.low, together.high, color=COLOURS[2], lw=2.2)
    axes.plot(together.difference, last, ls="", marker="D", ms=7, color=COLOURS[2])
    widest = np.nanmax(np.abs([*table.difference, together.difference, together.low, together.high]))
    widest = (1.6 if alone else 1.05) * widest if widest > 0 else 1.0
    axes.set_xlim(-widest, widest)
    labels = [f"{row.Index} ({row.n_first:,}, {row.n_second:,})" for row in rows.itertuples()]
    axes.set_yticks(
        [*range(len(rows)), last], [*labels, f"all ({together.n_first:,}, {together.n_second:,})"], fontsize=8
    )
    axes.set_ylim(last + 0.8, -0.8)
    axes.set_xlabel(f"{together.metric}: {together.second} less {together['first']}")
    if alone and bool((table.low < -widest).any() or (table.high > widest).any()):
        told += "; long intervals are cut"
    if several > len(rows):
        told += f"; the {len(rows)} of {several:,} rows farthest from 0"
    title = f"{together.metric}, {together.second} less {together['first']}, by {', '.join(shown)}"
    axes.set_title(f"{fill(title, WIDE)}\n{fill(told, WIDE)}", loc="left", fontsize=9)
    axes.grid(axis="x", lw=0.4, color="#dddddd")
    return made


def _told(strata: pd.DataFrame, keys: list[str]) -> list[str]:
    """The keys that tell the most strata apart, in up to ROWS rows; where none does, the key with the fewest values."""
    choices = [list(each) for size in range(1, len(keys) + 1) for each in combinations(keys, size)]
    counts = [len(strata[each].drop_duplicates()) for each in choices]
    fitting = [(count, -place) for place, count in enumerate(counts) if count <= ROWS]
    return choices[-max(fitting)[1]] if fitting else choices[int(np.argmin(counts))]
