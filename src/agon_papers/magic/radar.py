"""Figures of abilities: radars in small multiples, and areas beside win rates. PNG and SVG by `agon.figures.save`."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from agon.figures import COLOURS, styled

SHORT = {
    "judgement": "Judge.",
    "reasoning": "Reason.",
    "deception": "Decept.",
    "self_awareness": "Self-aw.",
    "cooperation": "Coop.",
    "coordination": "Coord.",
    "rationality": "Ration.",
}
"""Short names of the axes; other abilities have none."""

VANILLA: dict[str, Any] = {"color": "#777777", "ls": "--", "lw": 1.1}
ENHANCED: dict[str, Any] = {"color": COLOURS[1], "ls": "-", "lw": 1.8, "marker": "o", "ms": 3}
"""Styles of two polygons in one radar: they differ in dash, marker and fill, not in colour alone."""

OWN: dict[str, Any] = {**ENHANCED, "color": COLOURS[2], "marker": "s", "ms": 3.5}
"""Style of one's own model among printed ones; its name is bold too."""
WIDE = 24
"""The most letters of a model's name in one line."""
HATCH = "////"
"""The hatch of the bars of one's own models."""

DIAMOND: dict[str, Any] = {"marker": "D", "ms": 6, "color": COLOURS[2], "mec": "black", "mew": 0.6}


@styled
def radar(axes: Axes, values: pd.Series, title: str, look: Mapping[str, Any], fill: str = "") -> None:
    """One polygon of percentages, with an axis for each of `values`, the first on top. With a title the axes have names."""
    polar: Any = axes
    angles = np.linspace(0, 2 * np.pi, len(values), endpoint=False)
    closed, around = np.append(values.to_numpy(), values.iloc[0]), np.append(angles, angles[0])
    polar.plot(around, closed, **look)
    if fill:
        polar.fill(around, closed, color=fill, alpha=0.35, lw=0)
    polar.set_theta_offset(np.pi / 2)
    polar.set_theta_direction(-1)
    polar.set_ylim(0, 100)
    polar.set_xticks(angles, [])
    polar.set_yticks([50, 100], ["50", ""], fontsize=9, color="#555555")
    polar.set_rlabel_position(180 / len(values))
    for angle, name in zip(angles, values.index, strict=True) if title else ():
        side, height = np.round(np.sin(angle), 6), np.cos(angle)
        aligned = {
            "ha": "center" if side == 0 else "left" if side > 0 else "right",
            "va": "bottom" if height > 0.9 else "center",
        }
        polar.text(angle, 106, SHORT.get(str(name), str(name)), fontsize=9, **aligned)
    polar.grid(lw=0.5, color="#cccccc")
    polar.spines["polar"].set_color("#cccccc")
    if title:
        axes.set_title(title, fontsize=9.5, pad=19)


@styled
def ability_figure(
    table: pd.DataFrame, abilities: Sequence[str], title: str, note: str = "", own: Collection[str] = ()
) -> Figure:
    """A radar for every row of `table` (abilities in percent; area, win_rate), and on the right their areas and win rates.

    Rows named in `own` are one's own models, which have another colour, mark and hatch than the printed ones.
    """
    fig = _empty_figure((13.6, 6.0), title)
    grid = fig.add_gridspec(1, 2, width_ratios=[4.5, 2], wspace=0.02)
    left, right = grid[0], grid[1]
    mean = table[list(abilities)].mean()
    for place, (name, row) in zip(_places(fig, left, len(table), 4), table.iterrows(), strict=False):
        radar(place, mean, "", {"color": "#999999", "ls": ":", "lw": 1.2, "label": "mean of the models shown"})
        look = (
            {**OWN, "label": "own"} if name in own else {**ENHANCED, "label": "as printed" if len(own) else "the model"}
        )
        radar(
            place, row[list(abilities)], f"{textwrap.fill(str(name), WIDE)}\narea {row.area:,.0f}", look, look["color"]
        )
        place.title.set_fontweight("bold" if name in own else "normal")
    _add_legend(fig, left, note)
    sides: Any = right.subgridspec(1, 2, wspace=0.05).subplots(sharey=True)
    ranking(sides[0], sides[1], table, own)
    return fig


@styled
def ranking(areas: Axes, rates: Axes, table: pd.DataFrame, own: Collection[str] = ()) -> None:
    """Area as bars and win rate as dots, one row per model, the first on top. An asterisk marks different ranks of the two.

    The rows named in `own` have another colour, and their bars are hatched.
    """
    rows = range(len(table))
    ranks = table[["area", "win_rate"]].rank(ascending=False)
    moved = ranks.area != ranks.win_rate
    bars = areas.barh(rows, table.area / 1000, color="#9ecae1", edgecolor="black", lw=0.6, height=0.62)
    for row, value in zip(rows, table.area / 1000, strict=True):
        areas.text(value, row, f" {value:.1f}", va="center", fontsize=9)
    areas.set_yticks(rows, [textwrap.fill(str(name), WIDE) + (" *" if moved[name] else "") for name in table.index])
    for bar, label, name in zip(bars, areas.get_yticklabels(), table.index, strict=True):
        if name in own:
            bar.set(facecolor=OWN["color"], hatch=HATCH)
            label.set_fontweight("bold")
    areas.set_xlim(0, 1.28 * table.area.max() / 1000)
    areas.set_xlabel("radar area (thousands)")
    for row, (name, value) in enumerate(table.win_rate.items()):
        rates.plot(value, row, **DIAMOND | {"color": (OWN if name in own else ENHANCED)["color"]})
    for row, value in zip(rows, table.win_rate, strict=True):
        rates.annotate(f"{value:.1f}", (value, row), (7, 0), textcoords="offset points", va="center", fontsize=9)
    rates.set_xlim(0, 100)
    rates.set_xlabel("win rate (%)")
    rates.tick_params(axis="y", length=0, labelleft=False)
    for axes in (areas, rates):
        axes.grid(axis="x", lw=0.4, color="#dddddd")
        axes.set_axisbelow(True)
    areas.invert_yaxis()
    areas.set_title("*: other rank by area than by win rate" if moved.any() else "", loc="left", fontsize=9)


@styled
def pair_figure(
    before: pd.DataFrame,
    after: pd.DataFrame,
    abilities: Sequence[str],
    title: str,
    note: str = "",
    own: Collection[str] = (),
) -> Figure:
    """A radar for every row of `before`, and over it the same row of `after`, if any (both with area and win_rate).

    `own`: as in `ability_figure`.
    """
    fig = _empty_figure((12.5, 7.3), title)
    whole = fig.add_gridspec(1, 1)[0]
    for place, (name, row) in zip(_places(fig, whole, len(before), 4), before.iterrows(), strict=False):
        area, rate = f"{row.area:,.0f}", f"{row.win_rate:.1f}; with beliefs not printed"
        if name in after.index:
            other = after.loc[name]
            area += f" to {other.area:,.0f} ({other.area / row.area - 1:+.0%})"
            rate = f"{row.win_rate:.1f} to {other.win_rate:.1f}"
            look, whose = (OWN, ", own") if name in own else (ENHANCED, "")
            radar(place, other[list(abilities)], "", {**look, "zorder": 3, "label": f"with beliefs (+PGM){whose}"})
        title = f"{textwrap.fill(str(name), WIDE)}\narea {area}\nwin rate {rate}"
        radar(place, row[list(abilities)], title, {**VANILLA, "label": "without beliefs"}, "#999999")
        place.title.set_fontweight("bold" if name in own else "normal")
    _add_legend(fig, whole, note)
    return fig


def _empty_figure(size: tuple[float, float], title: str) -> Figure:
    fig = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(fig)
    fig.suptitle(title, fontsize=12, x=0.01, ha="left")
    return fig


def _places(fig: Figure, where: SubplotSpec, count: int, columns: int) -> list[Axes]:
    grid = where.subgridspec(-(-count // columns), min(columns, count), hspace=0.08)
    return [fig.add_subplot(grid[divmod(n, min(columns, count))], projection="polar") for n in range(count)]


def _add_legend(fig: Figure, where: SubplotSpec, note: str) -> None:
    """Adds one legend below, each label once, and the note beside it."""
    handles: dict[str, Any] = {}
    for axes in fig.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    fig.legend([*handles.values()], [*handles], loc="outside lower left", ncols=len(handles), fontsize=9)
    if note:
        fig.text(0.995, 0.012, note, ha="right", fontsize=9, color="#444444")
