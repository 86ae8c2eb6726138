"""Differences between two conditions, stratum by stratum, and taken together."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from agon.figures import COLOURS, figure, styled

NAMED = 60
"""Up to so many strata have a name each; more are drawn in the order of their differences."""


@styled
def strata_figure(strata: pd.DataFrame, together: pd.Series, keys: list[str]) -> Figure:
    """The rows of `strata` (n_first, n_second, difference, low, high), named by `keys`, and below them what they come to (`together`)."""
    varying = [key for key in keys if strata[key].nunique() > 1] or keys[:2]
    rows = strata if len(strata) <= NAMED else strata.sort_values("difference")
    named = len(rows) <= NAMED
    height = 0.24 if named else 8 / len(rows)
    made, [axes] = figure(1, 1, (8.5, 1.7 + height * (len(rows) + 2)))
    at = np.arange(len(rows))
    axes.axvline(0, color="#999999", lw=0.8)
    axes.hlines(at, rows.low, rows.high, color=COLOURS[1], lw=1.1 if named else 0.6)
    axes.plot(rows.difference, at, ls="", marker="o", ms=4 if named else 2, color=COLOURS[1])
    last = len(rows) + (1 if named else 0.03 * len(rows))
    axes.hlines(last, together.low, together.high, color=COLOURS[2], lw=2.2)
    axes.plot(together.difference, last, ls="", marker="D", ms=7, color=COLOURS[2])
    widest = np.nanmax(np.abs([*rows.difference, together.difference, together.low, together.high]))
    widest = 1.6 * widest if widest > 0 else 1.0
    axes.set_xlim(-widest, widest)
    if named:
        sizes = [f"{one:,}, {other:,}" for one, other in zip(rows.n_first, rows.n_second, strict=True)]
        names = [" ".join(filter(None, map(str, row))) for row in rows[varying].itertuples(index=False)]
        labels = [f"{name} ({size})" for name, size in zip(names, sizes, strict=True)]
        axes.set_yticks([*at, last], [*labels, f"all ({together.n_first:,}, {together.n_second:,})"], fontsize=8)
    else:
        axes.set_yticks([last], [f"all ({together.n_first:,}, {together.n_second:,})"])
        axes.set_ylabel(f"{len(rows):,} strata, by difference")
    axes.set_ylim(last + 0.02 * len(rows) + 0.8, -0.8)
    axes.set_xlabel(f"{together.metric}: {together.second} less {together['first']}")
    title = f"{together.metric}, {together.second} less {together['first']}, by {', '.join(varying)}"
    cut = bool((rows.low < -widest).any() or (rows.high > widest).any())
    told = "difference of means with its 95 % interval"
    told += ("; in brackets matches of each" if named else "") + ("; long intervals are cut" if cut else "")
    axes.set_title(f"{title}\n{told}", loc="left", fontsize=9)
    axes.grid(axis="x", lw=0.4, color="#dddddd")
    return made
