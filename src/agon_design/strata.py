"""Differences between two conditions, stratum by stratum and overall."""

from collections.abc import Iterator
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from agon.figures import COLOURS, figure, styled

ROWS = 40
"""Largest number of strata with a row each."""
VALUES = 12
"""With more strata every value of a key has a row: at most so many of each key."""
WIDE = 100
"""Letters that fit above a figure."""


@styled
def strata_figure(
    strata: pd.DataFrame, together: pd.Series, keys: list[str], most: float = np.inf, alike: bool = False
) -> Figure:
    """The rows of `strata` (n_first, n_second, difference, low, high), named by `keys`, and below them the overall row `together`.

    With more than ROWS strata each value of each key has a row: its strata as dots, their middle half as a band, and their mean as
    a bar. If a key has more than VALUES values, those whose means are farthest from 0 are drawn. `most`: the largest possible
    difference, where the axis ends. `alike`: all strata weigh the same, as they do when matches are pairs.
    """
    varying = _distinguishing(strata, keys)
    equal = alike or together.how == "paired"
    weights = 1.0 if equal else strata.n_first * strata.n_second / (strata.n_first + strata.n_second)
    table, is_single = strata.assign(weight=weights), len(strata) <= ROWS
    rows = [*(_by_stratum(table, varying) if is_single else _by_value(table, varying)), ("", None)]
    fig, [axes] = figure(1, 1, (8.5, 1.9 + 0.24 * (len(rows) + 1)))
    axes.axvline(0, color="#999999", lw=0.8)
    widest = (1.6 if is_single else 1.05) * np.nanmax(
        np.abs([*table.difference, together.difference, together.low, together.high])
    )
    if np.isfinite(most) and is_single and bool(table.low.abs().max() > widest or table.high.abs().max() > widest):
        widest = min(most, 1.05 * np.nanmax(np.abs([*table.low, *table.high])))
    widest = min(widest if widest > 0 else 1.0, 1.02 * most)
    for at, (_, part) in enumerate(rows):
        if part is None:
            continue
        if is_single:
            axes.hlines(at, part.low, part.high, color=COLOURS[1], lw=1.1)
            axes.plot(part.difference, [at], ls="", marker="o", ms=4, color=COLOURS[1])
            continue
        axes.plot(part.difference, [at] * len(part), ls="", marker="o", ms=3, mew=0, color=COLOURS[1], alpha=0.25)
        axes.hlines(at, *part.difference.quantile([0.25, 0.75]), color=COLOURS[6], lw=6, alpha=0.7)
        axes.plot(_mean(part), at, ls="", marker="|", ms=12, mew=2.4, color=COLOURS[0])
    axes.hlines(len(rows), together.low, together.high, color=COLOURS[2], lw=2.2)
    axes.plot(together.difference, len(rows), ls="", marker="D", ms=7, color=COLOURS[2])
    labels = [
        name if part is None else f"{name} ({part.n_first.sum():,}, {part.n_second.sum():,})" for name, part in rows
    ]
    labels.append(f"all ({together.n_first:,}, {together.n_second:,})")
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    for label, (_, part) in zip(axes.get_yticklabels(), rows, strict=False):
        label.set_fontweight("bold" if part is None else "normal")
    axes.set(xlim=(-widest, widest), ylim=(len(rows) + 0.8, -0.8))
    axes.set_xlabel(f"{together.metric}: {together.second} less {together['first']}")
    subtitle = "difference of means with its 95 % interval"
    if not is_single:
        subtitle = f"each dot one of {len(strata):,} strata, band the middle half of them, bar their mean; last row with a 95 % interval"
    subtitle += "; in brackets matches of each condition"
    if is_single and bool((table.low < -widest).any() or (table.high > widest).any()):
        subtitle += "; long intervals are cut"
    if is_single and bool(table.low.eq(-most).any() or table.high.eq(most).any()):
        subtitle += f"; none goes beyond {most:g}, the largest difference that there can be"
    if not is_single and (many := [key for key in varying if strata[key].nunique() > VALUES]):
        subtitle += f"; of {', '.join(many)} the {VALUES} values farthest from 0"
    interval = f" ({together.low:+.3g} to {together.high:+.3g})" if together.low == together.low else ""
    title = f"{together.metric}: {together.second} less {together['first']} is {together.difference:+.3g}{interval}"
    fig.suptitle(f"{fill(title, WIDE)}\n{fill(subtitle, WIDE)}", x=0.01, ha="left", fontsize=9)
    axes.grid(axis="x", lw=0.4, color="#dddddd")
    return fig


def _distinguishing(strata: pd.DataFrame, keys: list[str]) -> list[str]:
    """The keys that vary. From the last on, keys are dropped that the strata's names do not need to differ."""
    differing = [key for key in keys if strata[key].nunique() > 1]
    for key in reversed(differing):
        if (fewer := [other for other in differing if other != key]) and not strata.duplicated(fewer).any():
            differing = fewer
    return differing or keys[:2]


def _mean(rows: pd.DataFrame) -> float:
    return float(np.average(rows.difference, weights=rows.weight))


def _by_stratum(table: pd.DataFrame, keys: list[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every stratum with its name."""
    prefixes = {"seat": "seat ", "opponent": "against "}
    names = (
        table[keys]
        .astype(str)
        .apply(lambda row: [prefixes.get(key, "") + row[key] for key in keys if row[key]], axis=1)
    )
    return ((", ".join(name), table.iloc[[place]]) for place, name in enumerate(names))


def _by_value(table: pd.DataFrame, keys: list[str]) -> Iterator[tuple[str, pd.DataFrame | None]]:
    """Every key as a heading (without strata), then its values from the highest to the lowest mean, with their strata."""
    for key in keys:
        yield f"by {key.replace('_', ' ')}", None
        parts = {str(value): rows for value, rows in table.groupby(key, observed=True)}
        far = sorted(parts, key=lambda value: -abs(_mean(parts[value])))[:VALUES]
        for value in sorted(far, key=lambda value: -_mean(parts[value])):
            yield value or "none", parts[value]
