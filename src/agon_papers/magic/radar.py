"""Figures of abilities: radars in small multiples, and areas beside win rates. PNG and SVG by `agon.figures.save`."""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from agon.figures import COLOURS, NARROW, headline, legend, name_rows, styled

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
BESIDE = 2
"""How many radars are beside each other."""
MOVED = "*"
"""The mark of a model whose rank by area differs from its rank by win rate."""
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
    polar.set_yticks([50, 100], ["50", ""], color="#555555")
    polar.set_rlabel_position(180 / len(values))
    for angle, name in zip(angles, values.index, strict=True) if title else ():
        side, height = np.round(np.sin(angle), 6), np.cos(angle)
        aligned = {
            "ha": "center" if side == 0 else "left" if side > 0 else "right",
            "va": "bottom" if height > 0.9 else "center",
        }
        polar.text(angle, 106, SHORT.get(str(name), str(name)), **aligned)
    polar.grid(lw=0.5, color="#cccccc")
    polar.spines["polar"].set_color("#cccccc")
    if title:
        axes.set_title(title, fontsize=10, pad=19)


@styled
def ability_figure(
    table: pd.DataFrame, abilities: Sequence[str], title: str, note: str = "", own: Collection[str] = ()
) -> Figure:
    """A radar for every row of `table` (abilities in percent; area, win_rate), and below their areas and win rates.

    Rows named in `own` are one's own models, which have another colour, mark and hatch than the printed ones. `note`: what
    else to say, below.
    """
    fig, above, below = _empty_figure(title, len(table), 1.85, 0.5 * len(table) + 0.6)
    mean = table[list(abilities)].mean()
    for place, (name, row) in zip(above, table.iterrows(), strict=True):
        radar(place, mean, "", {"color": "#999999", "ls": ":", "lw": 1.2, "label": "mean of the models shown"})
        look = (
            {**OWN, "label": "own"} if name in own else {**ENHANCED, "label": "as printed" if len(own) else "the model"}
        )
        radar(
            place, row[list(abilities)], f"{textwrap.fill(str(name), WIDE)}\narea {row.area:,.0f}", look, look["color"]
        )
        place.title.set_fontweight("bold" if name in own else "normal")
    sides: Any = below.subgridspec(1, 2, wspace=0.05).subplots(sharey=True)
    ranking(sides[0], sides[1], table, own)
    star = f"{MOVED}: another rank by area than by win rate" * any(
        text.get_text().endswith(MOVED) for text in sides[0].texts
    )
    legend(fig, above, 1, note="\n".join(filter(None, [star, note])))
    return fig


@styled
def ranking(areas: Axes, rates: Axes, table: pd.DataFrame, own: Collection[str] = ()) -> None:
    """Area as bars and win rate as dots, one row per model, the first on top. An asterisk marks different ranks of the two.

    The rows named in `own` have another colour, and their bars are hatched.
    """
    ranks = table[["area", "win_rate"]].rank(ascending=False)
    moved = ranks.area != ranks.win_rate
    name_rows(areas, [" ".join([*str(name).split(), *([MOVED] if moved[name] else [])]) for name in table.index])
    bars = areas.barh(range(len(table)), table.area / 1000, color="#9ecae1", edgecolor="black", lw=0.6, height=0.34)
    for row, (bar, label, name) in enumerate(zip(bars, [*areas.texts], table.index, strict=True)):
        if name in own:
            bar.set(facecolor=OWN["color"], hatch=HATCH)
            label.set_fontweight("bold")
        label.set_in_layout(False)
        areas.text(bar.get_width(), row, f" {bar.get_width():.1f}", va="center")
        rate = table.win_rate[name]
        rates.plot(rate, row, **DIAMOND | {"color": (OWN if name in own else ENHANCED)["color"]})
        rates.annotate(f"{rate:.1f}", (rate, row), (7, 0), textcoords="offset points", va="center")
    areas.set(xlim=(0, 1.4 * table.area.max() / 1000), xlabel="radar area (thousands)")
    rates.set(xlim=(0, 118), xlabel="win rate (%)", xticks=[0, 50, 100])
    rates.spines["left"].set_visible(False)
    rates.patch.set_visible(False)  # long names reach below it
    for axes in (areas, rates):
        axes.tick_params(axis="y", length=0, labelleft=False)
        axes.grid(axis="x", lw=0.4, color="#dddddd")
        axes.set_axisbelow(True)


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

    `note` and `own`: as in `ability_figure`.
    """
    fig, places, _ = _empty_figure(title, len(before), 2.15)
    for place, (name, row) in zip(places, before.iterrows(), strict=True):
        area, rate = f"{row.area:,.0f}\nbeliefs not printed", f"{row.win_rate:.1f}"
        if name in after.index:
            other = after.loc[name]
            area = f"{row.area:,.0f} to {other.area:,.0f}\n({other.area / row.area - 1:+.0%})"
            rate += f" to {other.win_rate:.1f}"
            look, whose = (OWN, ", own") if name in own else (ENHANCED, "")
            radar(place, other[list(abilities)], "", {**look, "zorder": 3, "label": f"with beliefs (+PGM){whose}"})
        head = f"{textwrap.fill(str(name), WIDE)}\narea {area}\nwin rate {rate}"
        radar(place, row[list(abilities)], head, {**VANILLA, "label": "without beliefs"}, "#999999")
        place.title.set_fontweight("bold" if name in own else "normal")
    legend(fig, places, 1, note=note)
    return fig


def _empty_figure(title: str, count: int, high: float, below: float = 0) -> tuple[Figure, list[Axes], SubplotSpec]:
    """A figure with polar axes in rows of `BESIDE`, each `high` inches, and the space of `below` inches under them."""
    rows = -(-count // BESIDE)
    fig = Figure(figsize=(NARROW, 1.9 + high * rows + below), layout="constrained")
    headline(fig, title)
    spaces = fig.add_gridspec(2 if below else 1, 1, height_ratios=[high * rows, below][: 2 if below else 1])
    grid = spaces[0].subgridspec(rows, BESIDE, hspace=0.05)
    return fig, [fig.add_subplot(grid[divmod(n, BESIDE)], projection="polar") for n in range(count)], spaces[-1]
