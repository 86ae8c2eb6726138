"""Redraws Figures 4 to 6: printed scores and rates beside the recomputed ones, and who won the games of each pair."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from agon.figures import COLOURS, figure, styled
from agon_papers.tradecraft.counts import bars, heads, rates
from agon_papers.tradecraft.facts import DIMENSIONS, Facts, group_of
from agon_papers.tradecraft.scores import PLAYER, radars

MEASURES = {
    "invalid_behaviour": ("refusals", "turns", "invalid behaviour (calls per turn)"),
    "rejection": ("rejection", "decisions", "rejections (per received proposal)"),
    "turns": ("turns", "seats", "turns per game"),
}
"""Bar -> the measure of `rates` by which Table 1 defines it, what its n counts, and the unit."""

RECONSTRUCTION = (
    "Hatched: all craft checks and all refused proposals count as invalid; a reply that says reject is a rejection."
)
BAR_NOTES = {
    "j": [
        RECONSTRUCTION,
        "Hatched bars are means over a model's two pairs; a game of gpt-4o and claude is added to the turns of ten.",
    ],
    "k": [RECONSTRUCTION, "Hatched bars are the sum of rejections over four players, and half the sum of their turns."],
}
"""Notes below the title of Figure 4 j and k: how the authors seem to have counted."""

LINES: tuple[dict[str, Any], ...] = (
    {"color": COLOURS[1], "ls": "-", "lw": 1.8},
    {"color": COLOURS[2], "ls": "--", "lw": 1.8},
)
PRINTED_MARKS: tuple[dict[str, Any], ...] = ({"marker": "o"}, {"marker": "s"})
"""Two players differ in dash and marker, not in colour alone. Printed values are marks, recomputed ones lines."""

OUTCOMES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("only_one", "won by the first player alone", {"fc": COLOURS[1]}),
    ("only_other", "won by the second player alone", {"fc": COLOURS[5], "hatch": "//"}),
    ("both", "won by both", {"fc": COLOURS[3], "hatch": ".."}),
    ("neither", "won by neither", {"fc": "#dddddd"}),
)


# ---- the tables ----


def radar_table(facts: Facts, panel: str) -> pd.DataFrame:
    """A panel of Figure 4 a to i (reconciled reading): matchup, name, dimension, printed, value, n, low, high, games."""
    printed = facts.figure_4[facts.figure_4.panel == panel].rename(columns={"measure": "dimension", "value": "printed"})
    return printed[[*PLAYER, "printed"]].merge(radars(facts, "reconciled"), on=PLAYER)


def radar_notes(table: pd.DataFrame, tolerance: float) -> list[str]:
    """Notes on a radar: sample sizes, and the values that differ from the printed ones by more than `tolerance`."""
    differences = table[(table.value - table.printed).abs() > tolerance + 1e-9]
    names = ", ".join(f"{row.name} {DIMENSIONS[row.dimension]}" for row in differences.itertuples(index=False))
    sizes = " to ".join(str(n) for n in sorted({table.n.min(), table.n.max()}))
    return [
        f"{sizes} scored turns per mark; second pass of the assessor",
        f"these values differ from the printed ones: {names}"
        if names
        else "all values agree with the printed ones, as far as these can be read off the picture",
    ]


def bar_panels(facts: Facts, panel: str) -> dict[str, pd.DataFrame]:
    """The three measures of Figure 4 j or k, by their unit.

    Tables: name, printed; value, n, games, low, high (literal reading); least, most (reconciled reading); unit (of n).
    """
    literal = rates(facts).rename(columns={"group": "name"})
    reconciled = bars(facts, "reconciled")
    panels = {}
    for measure, (column, counts, unit) in MEASURES.items():
        rows = facts.figure_4[(facts.figure_4.panel == panel) & (facts.figure_4.measure == measure)]
        ends = reconciled[reconciled.measure == measure].pivot(index="name", columns="statistic", values="value")
        printed = rows[["name", "value"]].rename(columns={"value": "printed"})
        panels[unit] = printed.merge(literal[literal.measure == column]).merge(ends, on="name").assign(unit=counts)
    return panels


def head_table(facts: Facts) -> pd.DataFrame:
    """Figure 5: `heads` with the results that the text prints, models first."""
    text = facts.text.set_index("key").value
    table, texts = heads(facts), []
    for row in table.itertuples():
        pair, back = (f"{a}_{b}" for a, b in permutations((group_of(row.one), group_of(row.other))))
        ends = {name: text.get(f"{pair}_{name}", text.get(f"{back}_{name}")) for name in ("both", "neither")}
        extra = "".join(f", {name} {count}" for name, count in ends.items() if count)
        has_numbers = pair in text and back in text
        texts.append(
            f"printed: {text[pair]} to {text[back]}{extra}" if has_numbers else "no numbers printed in the text"
        )
    table = table.assign(printed=texts, persona=table.one.str.startswith("gemini-").astype(int))
    return table.sort_values(["persona", "matchup"], kind="stable").reset_index(drop=True)


# ---- the figures ----


@styled
def pair_radar(table: pd.DataFrame, axis_names: Mapping[str, str], title: str, notes: Sequence[str]) -> Figure:
    """Two players' scores (0 to 1): a radar, recomputed (lines) and printed (marks), and each value with its interval.

    `table`: name, dimension, value, low, high, printed, games, n. `axis_names`: dimension -> name of its axis.

    `notes`: lines below the title.
    """
    chart = Figure(figsize=(11.6, 5.7), layout="constrained")
    FigureCanvasAgg(chart)
    chart.suptitle("\n".join([title, *notes]), fontsize=11, x=0.01, ha="left")
    grid = chart.add_gridspec(1, 2, width_ratios=[1, 1.05])
    radar = chart.add_subplot(grid[0], projection="polar")
    names = list(table.name.unique())
    _polygons(radar, table, names, axis_names)
    values = chart.add_subplot(grid[1])
    _values(values, table, names, axis_names)
    handles, labels = values.get_legend_handles_labels()
    chart.legend(handles, labels, loc="outside lower left", ncols=2, fontsize=9)
    return chart


def _polygons(axes: Axes, table: pd.DataFrame, names: Sequence[str], axis_names: Mapping[str, str]) -> None:
    polar: Any = axes
    angles = np.linspace(0, 2 * np.pi, len(axis_names), endpoint=False)
    for name, style, mark in zip(names, LINES, PRINTED_MARKS, strict=False):
        rows = table[table.name == name].set_index("dimension").reindex(list(axis_names))
        polar.plot(np.append(angles, angles[0]), np.append(rows.value, rows.value.iloc[0]), **style)
        polar.plot(angles, rows.printed, ls="", ms=5.5, mfc="white", mec=style["color"], mew=1.4, **mark)
    polar.set_theta_offset(np.pi / 2)
    polar.set_theta_direction(-1)
    polar.set_ylim(0, 1)
    polar.set_yticks([0.25, 0.5, 0.75, 1], ["", "0.5", "", "1"], fontsize=7, color="#555555")
    polar.set_rlabel_position(180 / len(axis_names))
    polar.set_xticks(angles, [])
    for angle, name in zip(angles, axis_names.values(), strict=True):
        side, height = np.round(np.sin(angle), 6), np.cos(angle)
        across = "center" if abs(side) < 0.1 else "left" if side > 0 else "right"
        polar.text(angle, 1.07, name, fontsize=8.5, ha=across, va="bottom" if height > 0.9 else "center")
    polar.grid(lw=0.5, color="#cccccc")
    polar.spines["polar"].set_color("#cccccc")


def _values(axes: Axes, table: pd.DataFrame, names: Sequence[str], axis_names: Mapping[str, str]) -> None:
    order = list(axis_names)
    for number, (name, style, mark) in enumerate(zip(names, LINES, PRINTED_MARKS, strict=False)):
        rows = table[table.name == name]
        at = np.array([order.index(dimension) for dimension in rows.dimension]) + (number - 0.5) * 0.34
        games = int(rows.games.max())
        label = f"{name}, recomputed (right: 95 % interval over {games} game{'s' * (games != 1)})"
        axes.hlines(at, rows.low, rows.high, color=style["color"], lw=2.2, ls=style["ls"])
        axes.plot(rows.value, at, ls="", marker="|", ms=10, mew=2.2, color=style["color"])
        axes.plot([], [], marker="|", ms=10, label=label, **style)
        label = f"{name}, printed"
        axes.plot(rows.printed, at, ls="", ms=5.5, mfc="white", mec=style["color"], mew=1.4, label=label, **mark)
    axes.set_yticks(range(len(order)), [axis_names[name] for name in order])
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel("mean score of the assessor (0 to 1)")
    axes.grid(axis="x", lw=0.4, color="#dddddd")


@styled
def bar_figure(panels: Mapping[str, pd.DataFrame], title: str, notes: Sequence[str]) -> Figure:
    """A panel for every measure: printed bars, bars by the printed definition, and as the authors seem to have counted.

    `panels`: unit -> table: name, n, unit (of n), games, printed, value, low, high (as defined), least, most (as counted).
    """
    chart, places = figure(1, len(panels), (12.4, 4.9))
    chart.suptitle("\n".join([title, *notes]), fontsize=11, x=0.01, ha="left")
    for axes, (unit, table) in zip(places, panels.items(), strict=True):
        _bars(axes, table)
        labels = [f"{row.name}\n{row.n} {row.unit}\n{row.games} games" for row in table.itertuples(index=False)]
        axes.set_xticks(range(len(table)), labels, fontsize=8.5)
        axes.set_ylabel(unit)
        axes.set_ylim(0, 1.12 * max(table[name].max() for name in ("printed", "high", "most")))
        axes.grid(axis="y", lw=0.4, color="#dddddd")
        axes.set_axisbelow(True)
    handles, labels = places[0].get_legend_handles_labels()
    chart.legend(handles, labels, loc="outside lower left", ncols=3, fontsize=9)
    return chart


def _bars(axes: Axes, table: pd.DataFrame) -> None:
    """Three bars for each row, with the interval of the second and the bounds of the third."""
    at = np.arange(len(table))
    edge: dict[str, Any] = {"width": 0.25, "ec": "black", "lw": 0.7}
    axes.bar(at - 0.27, table.printed, color="#cfcfcf", label="printed", **edge)
    for place, value in zip(at, table.printed, strict=True):
        axes.text(float(place) - 0.27, value, f"{value:.2f}", ha="center", va="bottom", fontsize=8)
    axes.bar(
        at, table.value, color=COLOURS[1], label="recomputed as Table 1 defines it (95 % interval over games)", **edge
    )
    axes.vlines(at, table.low, table.high, color="black", lw=1.4)
    middle, half = (table.least + table.most) / 2, (table.most - table.least) / 2
    label = "as the authors seem to have counted (bounds for turns that are not logged)"
    axes.bar(at + 0.27, middle, color="white", hatch="//", label=label, **edge)
    axes.errorbar(at + 0.27, middle, half, fmt="none", ecolor="black", capsize=4, lw=1.2)


@styled
def head_figure(table: pd.DataFrame, title: str, unit: str) -> Figure:
    """Games of each pair by winner. `table`: one, other, only_one, only_other, both, neither, printed (a text)."""
    chart, (axes,) = figure(1, 1, (11.4, 1.9 + 0.46 * len(table)))
    rows = np.arange(len(table))
    start = np.zeros(len(table))
    for column, label, style in OUTCOMES:
        counts = table[column].to_numpy()
        axes.barh(rows, counts, left=start, height=0.62, ec="black", lw=0.7, label=label, **style)
        for row, (offset, count) in enumerate(zip(start, counts, strict=True)):
            if count:
                axes.text(
                    offset + count / 2,
                    row,
                    str(count),
                    ha="center",
                    va="center",
                    fontsize=9,
                    bbox={"fc": "white", "ec": "none", "pad": 1.2},
                )
        start = start + counts
    for row, text in enumerate(table.printed):
        axes.text(start[row] + 0.15, row, text, va="center", fontsize=8.5)
    axes.set_yticks(rows, [f"{row.one} against {row.other}" for row in table.itertuples()])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.55 * start.max())
    axes.set_xticks(range(0, int(start.max()) + 1, 2))
    axes.set_xlabel(unit)
    axes.set_title(title, loc="left")
    handles: list[Any] = [Patch(ec="black", lw=0.7, **style) for _, _, style in OUTCOMES]
    chart.legend(handles, [label for _, label, _ in OUTCOMES], loc="outside lower left", ncols=4, fontsize=9)
    return chart


@styled
def outcome_figure(table: pd.DataFrame, axis_names: Mapping[str, str], title: str, starred: Sequence[str]) -> Figure:
    """Winners against losers: mean scores of both, and their relative difference with its interval.

    `table`: dimension, source, winners, losers, n_winners, n_losers, delta, low, high, games; a mark per
    source. Dimensions in `starred` get an asterisk.
    """
    chart, (means, deltas) = figure(1, 2, (12.0, 4.9), share=True)
    chart.suptitle(title, fontsize=11.5, x=0.01, ha="left")
    order = [name for name in axis_names if name in set(table.dimension)]
    for number, (source, rows) in enumerate(table.groupby("source", sort=False)):
        at = np.array([order.index(name) for name in rows.dimension]) + (number - 0.5) * 0.3
        line: dict[str, Any] = {"color": COLOURS[number + 1], "ls": ("-", "--")[number]}
        mark: dict[str, Any] = {"ls": "", "marker": "os"[number], "color": COLOURS[number + 1]}
        means.hlines(at, rows.losers, rows.winners, lw=1, **line)
        means.plot(rows.winners, at, label=f"{source}: winners (filled)", **mark)
        means.plot(rows.losers, at, mfc="white", label=f"{source}: losers (empty)", **mark)
        deltas.hlines(at, 100 * rows.low, 100 * rows.high, lw=2, **line)
        deltas.plot(100 * rows.delta, at, **mark)
    means.set_yticks(range(len(order)), [axis_names[name] + (" *" if name in starred else "") for name in order])
    means.set(ylim=(len(order) - 0.4, -0.6), xlim=(0.3, 1), xlabel="mean score of the assessor (0 to 1)")
    n_won, n_lost = (
        " to ".join(map(str, sorted({int(sizes.min()), int(sizes.max())})))
        for sizes in (table.n_winners, table.n_losers)
    )
    turns = f"Mean scores in {n_won} turns of winners and {n_lost} of losers"
    games = f"Differences, 95 % intervals over {int(table.games.max())} games (*: named in the paper)"
    deltas.axvline(0, color="black", lw=0.8)
    deltas.set_xlabel("how much higher winners are scored (% of the losers' score)")
    for axes, text in ((means, turns), (deltas, games)):
        axes.set_title(text, loc="left", fontsize=10)
        axes.grid(axis="x", lw=0.4, color="#dddddd")
    handles, labels = means.get_legend_handles_labels()
    chart.legend(handles, labels, loc="outside lower left", ncols=4, fontsize=9)
    return chart
