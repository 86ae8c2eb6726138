"""Figures of metric tables, with titles, units, n and intervals, legible without colour. The same figure is the same PNG and SVG."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import pandas as pd
from IPython.display import Image
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from agon.report.caveats import caveat_line

MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p", "d", "8"]
DASHES = ["-", "--", "-.", ":"]
DASH = 5.0
"""Length of a dash in points, where dashes of several lines alternate."""
COLOURS = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7d00"]
"""Okabe and Ito's colours, safe for colour-blind readers (yellow darkened)."""
BOXES = 100
"""Largest number of cells of a heatmap with text."""
BOLD = ["#6a00a8", "#b5006b", "#7a3b00"]
"""Colours of highlighted lines; no other line has them."""

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "svg.hashsalt": "agon",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "legend.frameon": False,
}

NARROW = 4.1
"""Inches: a figure of this width has text of 12 pixels on a phone (390 pixels)."""

ID = re.compile(r"(?<=[\"#])[a-zA-Z][0-9a-f]{10}\b")
"""Ids of clips and markers in matplotlib's SVG."""

styled = mpl.rc_context(STYLE)
"""Decorator of every function that draws: matplotlib reads its settings when it makes a text or a line, not when it saves."""


@styled
def figure(rows: int, columns: int, size: tuple[float, float], share: bool = False) -> tuple[Figure, list[Axes]]:
    """An empty figure of `size` inches, with its axes row by row; `share` gives them one y axis."""
    fig = Figure(figsize=size, layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False, sharey=share)
    return fig, list(axes.flat)


@styled
def column(rows: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """An empty figure for a phone: panels below each other, each tall enough for its number of rows."""
    heights = [1.1 + 0.55 * number for number in rows]
    fig = Figure(figsize=(NARROW, 1.2 + sum(heights)), layout="constrained")
    return fig, list(fig.subplots(len(rows), 1, squeeze=False, height_ratios=heights).flat)


@styled
def headline(fig: Figure, title: str) -> None:
    """Writes the title of a figure, bold, in lines that fit its width."""
    unbroken = re.sub(r" (?=%)|(?<=Figure) (?=\d)|(?<=Table) (?=\d)", "\N{NO-BREAK SPACE}", title)
    lines = _fitted(fig, unbroken, 7)
    fig.suptitle(lines, x=0.02, ha="left", fontsize=11, fontweight="bold", gid="headline")


def _fitted(fig: Figure, text: str, letter: float) -> str:
    """A text in lines that fit a figure's width. `letter`: points that a letter takes."""
    return "\n".join(fill(line, int(fig.get_figwidth() * 72 / letter)) for line in text.split("\n"))


@styled
def name_rows(axes: Axes, names: Sequence[str], above: float = 0.22) -> None:
    """Writes the name of each row (0, 1, ... from the top) above it, so that a narrow figure keeps its width for the marks."""
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(len(names) - 0.6, -0.8)
    for row, name in enumerate(names):
        axes.text(0, row - above, name, transform=axes.get_yaxis_transform(), va="bottom", bbox=PALE)


@styled
def save(fig: Figure, path: Path) -> Image:
    """Writes `path`.png and `path`.svg (the same figure gives the same bytes), with the caveats of the notebook's data.

    Returns the picture for the notebook.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    below = fig.get_supxlabel()
    if (caveats := caveat_line()) and not below.startswith(caveats):
        below = "\n".join(filter(None, [caveats, below]))
        fig.supxlabel(below, x=0.01, ha="left", fontsize=9, fontweight="bold", color="#b00000")
    if (engine := fig.get_layout_engine()) is not None:
        engine.execute(fig)
        fig.set_layout_engine("none")
    title = " ".join((fig.get_suptitle() or fig.axes[0].get_title(loc="left")).split())
    # each canvas draws once; Figure.savefig would draw everything once more for each file
    vectors: Any = FigureCanvasSVG(fig)
    vectors.print_svg(f"{path}.svg", metadata={"Date": None, "Title": title})
    _normalize_svg(Path(f"{path}.svg"))
    fig.set_dpi(STYLE["figure.dpi"])  # which the line above set to 72
    pixels: Any = FigureCanvasAgg(fig)
    pixels.print_png(f"{path}.png", metadata={"Software": None})
    return Image(f"{path}.png", alt=title)  # type: ignore[no-untyped-call]


def _normalize_svg(file: Path) -> None:
    """Removes differences between processors from an SVG: numbers its ids (matplotlib hashes floats to the last bit), and
    cuts coordinates from 6 to 3 decimals.
    """
    text = file.read_text(encoding="utf-8")
    text = re.sub(r"(?<![\w.#])-?\d+\.\d{4,}", lambda match: f"{float(match[0]):.3f}", text)
    names = {name: f"{name[0]}{place}" for place, name in enumerate(dict.fromkeys(ID.findall(text)))}
    file.write_text(ID.sub(lambda match: names[match[0]], text), encoding="utf-8", newline="\n")


@styled
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
    """Values as shades of grey-safe cividis, with their text; cells where `outlined` is true get a red frame and an asterisk.

    Where values may be on both sides of nought, colours part there: purple is more, orange less. More than BOXES cells have no
    text. The axes bear the names of `text`'s index and columns.
    """
    import seaborn  # here: most notebooks draw no heatmap

    low, high = limits or (np.nanmin(values.to_numpy()), np.nanmax(values.to_numpy()))
    if low < 0 < high:  # signed: the same on both sides of nought
        low, high = -max(-low, high), max(-low, high)
    frames = pd.DataFrame(False, index=values.index, columns=values.columns) if outlined is None else outlined
    words = text.astype(str).mask(frames, text.astype(str) + "*")
    seaborn.heatmap(
        values.astype(float),
        vmin=low,
        vmax=high if high > low else low + 1,
        cmap="PuOr" if low == -high else "cividis",
        annot=words if values.size <= BOXES else None,
        fmt="",
        annot_kws={"size": STYLE["font.size"], "in_layout": False},
        cbar_kws={"label": unit, "location": "bottom", "fraction": 0.05, "pad": 0.03},
        xticklabels=False,
        yticklabels=False,
        ax=axes,
    )
    for row, column in np.argwhere(values.isna().to_numpy() & (values.size <= BOXES)):  # where seaborn writes nothing
        axes.text(column + 0.5, row + 0.5, words.iat[row, column], ha="center", va="center")
    for row, column in np.argwhere(frames.to_numpy()):
        axes.add_patch(mpl.patches.Rectangle((column, row), 1, 1, fill=False, ec="#d62728", lw=2, clip_on=False))
    names = [str(name) for name in values.columns]
    leaning: dict[str, Any] = (
        {"rotation": 60, "ha": "left", "rotation_mode": "anchor"} if max(map(len, names)) > 12 else {}
    )
    axes.set_xticks(np.arange(values.shape[1]) + 0.5, names, **leaning)
    axes.set_yticks(np.arange(values.shape[0]) + 0.5, values.index)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set(xlabel=text.columns.name or "", ylabel=text.index.name or "")
    axes.set_title(title, loc="left", pad=8)


@styled
def lines(
    axes: Axes,
    table: pd.DataFrame,
    x: str,
    by: str,
    title: str,
    labels: tuple[str, str],
    *,
    order: Sequence[str] | None = None,
    bold: Sequence[str] = (),
    joined: bool = True,
) -> None:
    """One line per value of `by` over `x` (column value, and low, high for bars if they are there), with its own colour, marker and dash.

    `joined` false: marks alone, side by side, for an x without order. `bold`: names of highlighted lines, which are thick, in
    colours of their own, with white markers. Where lines coincide, their dashes alternate, and each has markers at other places.
    """
    names = list(order or pd.unique(table[by].astype(str)))
    places = list(dict.fromkeys(table[x]))
    numeric = all(isinstance(place, int | float | np.number) for place in places)
    wide = table.pivot(index=x, columns=by, values="value")
    wide = wide.sort_index() if numeric else wide.reindex(places)
    shared = _coincidences(wide.reindex(columns=names), level=not numeric) if joined else {}
    marked = _places(names, shared)
    every = 1 + max(marked.values()) if numeric else 1
    for number, name in enumerate(names):
        rows = table[table[by] == name]
        at = rows[x].to_numpy() if numeric else np.array([places.index(place) for place in rows[x]], dtype=float)
        shift = 0 if numeric else (number - (len(names) - 1) / 2) * (0.05 if joined else 0.8 / len(names))
        style = {"color": COLOURS[number % 8], "marker": MARKERS[number % 14], "ls": DASHES[number % 4], "label": name}
        style |= {"ms": 4.5, "lw": 1.3, "markevery": (marked[name] % every, every)}
        if name in bold:
            bold_place = list(bold).index(name)
            style |= {
                "color": BOLD[bold_place % 3],
                "marker": MARKERS[bold_place % 14],
                "ls": DASHES[bold_place // 3 % 4],
            }
            style |= {"ms": 7.5, "lw": 2.8, "mfc": "white", "mew": 1.8, "zorder": 3}
        if not joined:
            style |= {"ls": ""}
        axes.plot(at + shift, rows.value, **style)
        for group, stretches in shared.items():
            if name in group:
                width = style["lw"] + 1.2
                dash, gap = DASH / width, (len(group) - 1) * DASH / width
                alternating = {"lw": width, "ls": (group.index(name) * dash, (dash, gap)), "zorder": 3.5}
                for stretch in stretches:
                    on = np.array(stretch) if not numeric else wide.index[stretch]
                    axes.plot(on, wide[name].iloc[stretch], color=style["color"], **alternating)
                axes.plot(at + shift, rows.value, **style | {"ls": "", "label": "", "zorder": 4})
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


def _coincidences(values: pd.DataFrame, level: bool) -> dict[tuple[str, ...], list[list[int]]]:
    """Columns that coincide for a step or more -> the stretches of rows in which they do. `level`: horizontal stretches alone."""
    points, stretches, before = values.round(9), dict[tuple[str, ...], list[list[int]]](), set[tuple[str, ...]]()
    for row in range(1, len(points)):
        step = points.iloc[[row - 1, row]].dropna(axis=1).T
        if level:
            step = step[step.iloc[:, 0] == step.iloc[:, 1]]
        groups = {tuple(names) for names in step.groupby([*step]).groups.values() if len(names) > 1}
        for names in groups:
            if names not in before:
                stretches.setdefault(names, []).append([row - 1])
            stretches[names][-1].append(row)
        before = groups
    return stretches


def _places(names: Sequence[str], groups: Iterable[Sequence[str]]) -> dict[str, int]:
    """A number for each name, from 0, different from those of all names in its groups."""
    places: dict[str, int] = {}
    for name in names:
        occupied = {places.get(other) for group in groups if name in group for other in group}
        places[name] = next(place for place in range(len(names)) if place not in occupied)
    return places


@styled
def dots(
    axes: Axes, table: pd.DataFrame, y: str, by: str, title: str, unit: str, order: Sequence[str] | None = None
) -> None:
    """A row per value of `y`, its name above it, with a mark and interval per value of `by` (columns value, low, high)."""
    rows = list(dict.fromkeys(table[y]))
    names = list(order or pd.unique(table[by].astype(str)))
    for number, name in enumerate(names):
        part = table[table[by] == name]
        at = np.array([rows.index(row) for row in part[y]]) + (number - (len(names) - 1) / 2) * 0.16
        axes.hlines(at, part.low, part.high, color=COLOURS[number % 8], lw=1.2)
        axes.plot(part.value, at, ls="", marker=MARKERS[number % 14], color=COLOURS[number % 8], ms=5, label=name)
    name_rows(axes, [str(row).replace("\n", " ") for row in rows], above=0.14 + 0.08 * (len(names) - 1))
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    axes.grid(axis="x", lw=0.4, color="#dddddd")


@styled
def spans(axes: Axes, table: pd.DataFrame, y: str, title: str, unit: str, labels: tuple[str, str]) -> None:
    """A row per value of `y`, its name above it: a mark with its interval (value, low, high) on a grey span (lowest, highest).

    `labels`: what a span is, and what a mark is, for the legend.
    """
    rows = list(dict.fromkeys(table[y]))
    at = np.array([rows.index(row) for row in table[y]])
    axes.hlines(at, table.lowest, table.highest, color="#bbbbbb", lw=5, label=labels[0])
    axes.hlines(at, table.low, table.high, color=COLOURS[0], lw=1.2)
    axes.plot(table.value, at, ls="", marker=MARKERS[3], color=COLOURS[0], ms=4, label=labels[1])
    name_rows(axes, [str(row).replace("\n", " ") for row in rows], above=0.14)
    axes.set_title(title, loc="left")
    axes.set_xlabel(unit)
    axes.grid(axis="x", lw=0.4, color="#dddddd")


@styled
def named(fig: Figure, axes: Axes, points: Mapping[str, tuple[float, float]], size: float = 11) -> None:
    """Writes each point's name beside it, clear of other names and points, with a thin line from farther away.

    Call it last: limits and layout of the figure must be final.
    """
    fig.draw_without_rendering()
    unit = fig.dpi / 72
    at = {name: axes.transData.transform(point) / unit for name, point in points.items()}
    occupied = [(x - 5, y - 5, x + 5, y + 5) for x, y in at.values()]
    (left, bottom), (right, top) = axes.bbox.get_points() / unit
    ways = [(far * x, far * y) for far in (11, 24, 38, 54, 72) for x, y in PLACES]
    for name, (x, y) in at.items():
        wide = 0.54 * size * len(name)
        boxes = {}
        for dx, dy in ways:
            start = x + dx - (0 if dx > 0 else wide if dx < 0 else wide / 2)
            boxes[dx, dy] = (start, y + dy - size * 0.6, start + wide, y + dy + size * 0.6)
        inside = {
            way: box
            for way, box in boxes.items()
            if left < box[0] and box[2] < right and bottom < box[1] < box[3] < top
        }
        free = [way for way, box in inside.items() if not any(_overlap(box, other) for other in occupied)]
        dx, dy = (free or [*inside] or ways)[0]
        occupied.append(boxes[dx, dy])
        line = {"arrowstyle": "-", "color": "#999999", "lw": 0.7} if abs(dx) + abs(dy) > 20 else None
        ha = "left" if dx > 0 else "right" if dx < 0 else "center"
        axes.annotate(
            name,
            points[name],
            (dx, dy),
            textcoords="offset points",
            ha=ha,
            va="center",
            fontsize=size,
            arrowprops=line,
            bbox=PALE,
        )


PALE = {"facecolor": "#ffffff", "edgecolor": "none", "alpha": 0.8, "pad": 0.6}
"""Box behind a name."""
PLACES = [(1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.9), (-0.8, 0.9), (0.8, -0.9), (-0.8, -0.9)]
"""Directions of a name from its point, the best first."""


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@styled
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


@styled
def legend(
    fig: Figure, axes: Axes | Sequence[Axes], columns: int = 4, spelled: Mapping[str, str] | None = None, note: str = ""
) -> None:
    """One legend below all axes, from the labels of one or more of them, each once.

    `spelled`: label -> its long form. `note`: lines above the legend.
    """
    handles: dict[str, Any] = {}
    for one in [axes] if isinstance(axes, Axes) else axes:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault((spelled or {}).get(label, label), handle)
    fig.legend(
        [*handles.values()],
        [*handles],
        loc="outside lower center",
        ncols=columns,
        title=_fitted(fig, note, 5.8) or None,
        alignment="left",
    )
