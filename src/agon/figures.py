"""Metric tables to figures: titles, axes with units, n, intervals; told apart without colour. PNG and SVG, byte-stable."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p", "d", "8"]
DASHES = ["-", "--", "-.", ":"]
COLOURS = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7d00"]
"""Okabe and Ito's colours, safe for colour-blind readers (yellow darkened); markers and dashes say the same in grey."""

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "svg.hashsalt": "agon",
    "legend.frameon": False,
}


def figure(rows: int, columns: int, size: tuple[float, float], share: bool = False) -> tuple[Figure, list[Axes]]:
    """An empty figure of `size` inches, with its axes row by row; `share` gives them one y axis."""
    with mpl.rc_context(STYLE):
        made = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(made)
        axes = made.subplots(rows, columns, squeeze=False, sharey=share)
    return made, list(axes.flat)


def save(made: Figure, path: Path) -> None:
    """Writes `path`.png and `path`.svg; the same figure gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(STYLE):
        if made.get_layout_engine() is not None:
            made.draw_without_rendering()
            made.set_layout_engine("none")  # laid out once for both files, which halves the time
        made.savefig(path.with_suffix(".png"), metadata={"Software": None})
        made.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def heatmap(
    axes: Axes,
    values: pd.DataFrame,
    text: pd.DataFrame,
    title: str,
    unit: str,
    *,
    outlined: pd.DataFrame | None = None,
    limits: tuple[float, float] | None = None,
) -> None:
    """Values as shades of grey-safe cividis with their text; cells where `outlined` is true get a red frame and an asterisk."""
    low, high = limits or (np.nanmin(values.to_numpy()), np.nanmax(values.to_numpy()))
    image = axes.imshow(
        values.to_numpy(dtype=float), cmap="cividis", aspect="auto", vmin=low, vmax=high if high > low else low + 1
    )
    names = [str(name) for name in values.columns]
    leaning: dict[str, Any] = (
        {"rotation": 40, "ha": "left", "rotation_mode": "anchor"} if max(map(len, names)) > 8 else {}
    )
    axes.set_xticks(range(values.shape[1]), names, **leaning)
    axes.set_yticks(range(values.shape[0]), [str(name) for name in values.index], fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.xaxis.set_ticks_position("top")
    axes.set_title(title, loc="left", pad=8)
    for row, column in np.ndindex(values.shape):
        value = values.iat[row, column]
        dark = (value - low) < 0.55 * (high - low)
        mark = outlined is not None and bool(outlined.iat[row, column])
        axes.text(
            column,
            row,
            str(text.iat[row, column]) + (" *" if mark else ""),
            ha="center",
            va="center",
            fontsize=7,
            color="white" if dark else "black",
        ).set_in_layout(False)  # inside its cell: measuring hundreds of texts takes most of the time
        if mark:
            axes.add_patch(
                mpl.patches.Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, fill=False, ec="#d62728", lw=2)
            )
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.025, pad=0.02)
    bar.set_label(unit)


def lines(
    axes: Axes,
    table: pd.DataFrame,
    x: str,
    by: str,
    title: str,
    labels: tuple[str, str],
    *,
    order: Sequence[str] | None = None,
) -> None:
    """One line per value of `by` over `x` (columns value, and low, high for a bar where they are there), told apart thrice."""
    names = list(order or pd.unique(table[by].astype(str)))
    places = list(dict.fromkeys(table[x]))
    numeric = all(isinstance(place, int | float | np.number) for place in places)
    for number, name in enumerate(names):
        rows = table[table[by] == name]
        at = rows[x].to_numpy() if numeric else np.array([places.index(place) for place in rows[x]], dtype=float)
        shift = 0 if numeric else (number - (len(names) - 1) / 2) * 0.05
        style = {"color": COLOURS[number % 8], "marker": MARKERS[number % 14], "ls": DASHES[number % 4], "label": name}
        axes.plot(at + shift, rows.value, ms=4.5, lw=1.3, **style)
        if {"low", "high"} <= set(rows):
            axes.vlines(at + shift, rows.low, rows.high, color=style["color"], lw=0.8, alpha=0.7)
    if numeric:
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
    else:
        axes.set_xticks(range(len(places)), places)
    axes.set_title(title, loc="left")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.grid(axis="y", lw=0.4, color="#dddddd")


def dots(
    axes: Axes, table: pd.DataFrame, y: str, by: str, title: str, unit: str, order: Sequence[str] | None = None
) -> None:
    """A row per value of `y`, a mark per value of `by`, with intervals (columns value, low, high)."""
    rows = list(dict.fromkeys(table[y]))
    names = list(order or pd.unique(table[by].astype(str)))
    for number, name in enumerate(names):
        part = table[table[by] == name]
        at = np.array([rows.index(row) for row in part[y]]) + (number - (len(names) - 1) / 2) * 0.16
        axes.hlines(at, part.low, part.high, color=COLOURS[number % 8], lw=1.2)
        axes.plot(part.value, at, ls="", marker=MARKERS[number % 14], color=COLOURS[number % 8], ms=5, label=name)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    axes.grid(axis="x", lw=0.4, color="#dddddd")


def distributions(axes: Axes, table: pd.DataFrame, by: str, title: str, unit: str) -> None:
    """Cumulative distributions of column `value`, a line per value of `by`."""
    for number, (name, rows) in enumerate(table.groupby(by, observed=True, sort=False)):
        values = np.sort(rows.value.to_numpy())
        axes.step(
            values,
            np.arange(1, len(values) + 1) / len(values),
            where="post",
            color=COLOURS[number % 8],
            ls=DASHES[number % 4],
            label=f"{name} (n = {len(values):,})",
        )
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    axes.set_ylabel("share of matches at or below")
    axes.grid(lw=0.4, color="#dddddd")


def legend(made: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend below all axes, from the labels of one of them."""
    handles, labels = axes.get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=columns)


UNITS = {
    "total_points": "points per match",
    "opponent_comprehension": "round of comprehension m (N + 1: never)",
    "cooperation_rate": "share of rounds with the first action",
    "efficiency": "points per 1000 tokens of the largest round",
    "validity_rate": "% of rounds that were valid",
}


def published_table(table: pd.DataFrame, differing: Sequence[tuple[str, str]] = ()) -> Figure:
    """One printed table as recomputed: a row per model and style, a column per opponent or variant, mean ± sd as text.

    `table`: agon.replication.counterfactual.with_intervals of one table; `differing`: (row, column) that do not agree.
    """
    first = table.iloc[0]
    column = "opponent" if table.opponent.nunique() > 1 else "captioned_variant"
    shown = table.assign(
        row=table.model.where(table.prompt == "all", table.model + " " + table.prompt),
        column=table[column].where(table[column] != "all", "all matches"),
        text=[
            f"{value:.{_decimals(first.metric)}f} ± {sd:.{_decimals(first.metric)}f}"
            for value, sd in table[["value", "sd"]].to_numpy()
        ],
    )
    order = {"index": "row", "columns": "column"}
    values = shown.pivot(**order, values="value").reindex(index=shown.row.unique(), columns=shown.column.unique())
    text = shown.pivot(**order, values="text").reindex(index=values.index, columns=values.columns)
    frames = pd.DataFrame(False, index=values.index, columns=values.columns)
    for row, place in differing:
        frames.loc[row, place] = True
    made, axes = figure(1, 1, (max(8.0, 2.6 + 0.95 * values.shape[1]), 1.6 + 0.21 * values.shape[0]))
    game = {"pd": "prisoner's dilemma family", "rps": "rock, paper, scissors family"}[first.game]
    title = f"Table {first.table}: {first.metric.replace('_', ' ')}, {game}\n"
    title += f"{_captioned(table)}; mean ± sd over {_sizes(table)}" + ("; *: not as printed" if differing else "")
    heatmap(axes[0], values, text, title, UNITS[first.metric], outlined=frames)
    return made


def _decimals(metric: str) -> int:
    return 2 if metric == "efficiency" else 1


def _captioned(table: pd.DataFrame) -> str:
    pairs = table[["captioned_variant", "variant"]].drop_duplicates()
    wrong = pairs[pairs.captioned_variant != pairs.variant]
    if len(pairs) > 1:
        return "by captioned variant" + "".join(f"; {said} is {true}" for said, true in wrong.to_numpy())
    said, true = pairs.iloc[0]
    return (
        "all variants"
        if said == "all"
        else f"{said} variant"
        if said == true
        else f"captioned {said}, in truth the {true} variant"
    )


def _sizes(table: pd.DataFrame) -> str:
    sizes = sorted(table.n.dropna().astype(int).unique())
    return f"{' or '.join(map(str, sizes)) if len(sizes) < 4 else f'{sizes[0]} to {sizes[-1]}'} matches"
