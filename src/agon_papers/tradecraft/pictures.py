"""Redraws Figures 4 to 6: printed scores and rates beside the recomputed ones, and who won the games of each pair."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from agon.figures import COLOURS, STYLE, column, figure, headline, legend, name_rows, styled
from agon_papers.tradecraft.counts import bars, heads, rates
from agon_papers.tradecraft.facts import PERSONAS, Facts, group_of
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
"""Notes below Figure 4 j and k: how the authors seem to have counted."""

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


def differs(table: pd.DataFrame, tolerance: float) -> pd.Series:
    """Whether a value differs from the printed one by more than `tolerance`."""
    return (table.value - table.printed).abs() > tolerance + 1e-9


def bar_panels(facts: Facts, panel: str) -> dict[str, pd.DataFrame]:
    """The three measures of Figure 4 j or k, by their unit.

    Tables: name, printed; value, n, games, low, high (literal reading); least, most (reconciled reading); unit (of n).
    Players that did not play have no values, and players that are not in the paper nothing printed.
    """
    literal = rates(facts).rename(columns={"group": "name"})
    reconciled = bars(facts, "reconciled")
    panels = {}
    for measure, (rate, counts, unit) in MEASURES.items():
        rows = facts.figure_4[(facts.figure_4.panel == panel) & (facts.figure_4.measure == measure)]
        ends = reconciled[reconciled.measure == measure].pivot(index="name", columns="statistic", values="value")
        printed = rows[["name", "value"]].rename(columns={"value": "printed"})
        counted = literal[literal.measure == rate].merge(ends, on="name").assign(unit=counts)
        panels[unit] = printed.merge(counted, on="name", how="left")
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
    table = table.assign(printed=texts, persona=table.one.map(group_of).isin(PERSONAS).astype(int))
    return table.sort_values(["persona", "matchup"], kind="stable").reset_index(drop=True)


# ---- the figures ----


@styled
def pair_dots(
    tables: Mapping[str, pd.DataFrame],
    axis_names: Mapping[str, str],
    title: str,
    tolerance: float = np.inf,
    source: str = "recomputed",
) -> Figure:
    """A panel of dots for each pair of players, three beside each other: their scores (0 to 1), and the printed ones below.

    `tables`: letter of the panel -> name, dimension, value, low, high, printed (absent: not printed), games, n. `axis_names`:
    dimension -> its name. `source`: where the values come from. A value that differs from the printed one by more than
    `tolerance` is marked, with both numbers.
    """
    rows = -(-len(tables) // 3)
    chart, places = figure(rows, 3, (10.6, 1.1 + 4.2 * rows))
    headline(chart, title)
    for axes, (panel, table) in zip(places, tables.items(), strict=False):
        _pair(axes, panel, table, axis_names, tolerance)
    for axes in places[len(tables) :]:
        axes.set_visible(False)
    sizes = pd.concat([*tables.values()])
    notes = [
        f"mean score of the assessor (0 to 1), n = {_between(sizes.n)} scored turns a mark",
        f"filled: {source}, with 95 % intervals over {_between(sizes.games)} games",
        "hollow, below: printed" if sizes.printed.notna().any() else "",
    ]
    chart.supxlabel("\n".join(filter(None, notes)), x=0.02, ha="left", fontsize=STYLE["font.size"])
    return chart


def _between(numbers: pd.Series) -> str:
    """The least and the greatest number, or the one that all are."""
    return " to ".join(f"{number:.0f}" for number in sorted({numbers.min(), numbers.max()}))


def _pair(axes: Axes, panel: str, table: pd.DataFrame, axis_names: Mapping[str, str], tolerance: float) -> None:
    order, places = list(axis_names), []
    for number, (name, rows) in enumerate(table.groupby("name", sort=False)):
        at = np.array([order.index(dimension) for dimension in rows.dimension]) + 0.33 * number
        look: dict[str, Any] = {"ls": "", "color": COLOURS[number + 1], "marker": "os"[number], "ms": 5}
        axes.hlines(at, rows.low, rows.high, color=look["color"], lw=1.6)
        axes.plot(rows.value, at, label=str(name).removeprefix("gemini-"), **look)
        axes.plot(rows.printed, at + 0.15, mfc="white", **look)
        places.append(rows.assign(at=at))
    name_rows(axes, [axis_names[name] for name in order], above=0.1)
    axes.set_ylim(len(order) - 0.35, -0.6)
    drawn = pd.concat(places)
    for row in drawn[differs(drawn, tolerance)].itertuples():
        side: dict[str, Any] = {"x": 0.99, "ha": "right"} if row.value < 0.5 else {"x": 0.01, "ha": "left"}
        axes.text(y=row.at, s=f"{row.value:.2f}, printed {row.printed:.2f}", va="center", fontweight="bold", **side)
        axes.axhspan(row.at - 0.13, row.at + 0.27, color="#ffe3c2", zorder=0)
    axes.set(xlim=(0, 1), title=panel)
    axes.grid(axis="x", lw=0.4, color="#dddddd")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=2, handletextpad=0.2)


@styled
def bar_figure(
    panels: Mapping[str, pd.DataFrame], title: str, notes: Sequence[str], source: str = "recomputed"
) -> Figure:
    """A panel for every measure: printed bars, bars by the printed definition, and as the authors seem to have counted.

    `panels`: unit -> table: name, n, unit (of n), games, printed, value, low, high (as defined), least, most (as counted).
    A player may lack the printed value, or all others. `source`: where the others come from.
    """
    chart, places = column([2 * len(table) for table in panels.values()])
    headline(chart, title)
    for axes, (unit, table) in zip(places, panels.items(), strict=True):
        _bars(axes, table, source)
        name_rows(axes, [_bar_label(row) for row in table.itertuples(index=False)], above=0.34)
        axes.set(xlabel=unit, xlim=(0, 1.16 * max(table[name].max() for name in ("printed", "high", "most"))))
        axes.grid(axis="x", lw=0.4, color="#dddddd")
        axes.set_axisbelow(True)
    legend(chart, places[0], 1, note="\n".join(notes))
    return chart


def _bar_label(row: Any) -> str:
    sizes = f"{row.n:.0f} {row.unit}, {row.games:.0f} games" if pd.notna(row.value) else "printed only"
    return f"{row.name.replace('_', ' ')} ({sizes})"


def _bars(axes: Axes, table: pd.DataFrame, source: str) -> None:
    """Three bars for each row, with the interval of the second and the bounds of the third."""
    at = np.arange(len(table))
    edge: dict[str, Any] = {"height": 0.19, "ec": "black", "lw": 0.7}
    axes.barh(at - 0.2, table.printed, color="#cfcfcf", label="printed", **edge)
    for place, value in table.printed.reset_index(drop=True).dropna().items():
        axes.text(value, float(str(place)) - 0.2, f" {value:.2f}", va="center")
    axes.barh(at, table.value, color=COLOURS[1], label=f"{source} as Table 1 defines it (95 % interval)", **edge)
    axes.hlines(at, table.low, table.high, color="black", lw=1.4)
    middle, half = (table.least + table.most) / 2, (table.most - table.least) / 2
    label = "as the authors seem to have counted\n(bounds for turns that are not logged)"
    axes.barh(at + 0.2, middle, color="white", hatch="//", label=label, **edge)
    axes.errorbar(middle, at + 0.2, xerr=half, fmt="none", ecolor="black", capsize=3, lw=1.2)


@styled
def head_figure(table: pd.DataFrame, title: str, unit: str) -> Figure:
    """Games of each pair by winner. `table`: one, other, only_one, only_other, both, neither, printed (a text)."""
    chart, [axes] = column([1.5 * len(table)])
    rows = np.arange(len(table))
    start = np.zeros(len(table))
    for outcome, label, style in OUTCOMES:
        bars = axes.barh(rows, table[outcome], left=start, height=0.36, ec="black", lw=0.7, label=label, **style)
        counts = [str(count) if count else "" for count in table[outcome]]
        axes.bar_label(bars, counts, label_type="center", bbox={"fc": "white", "ec": "none", "pad": 1.2})
        start = start + table[outcome].to_numpy()
    name_rows(axes, [f"{row.one} against {row.other}\n{row.printed}" for row in table.itertuples()])
    axes.set(xlabel=unit, xlim=(0, start.max()))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    headline(chart, title)
    legend(chart, axes, 1)
    return chart


@styled
def outcome_figure(table: pd.DataFrame, axis_names: Mapping[str, str], title: str, starred: Sequence[str]) -> Figure:
    """Winners against losers: mean scores of both, and their relative difference with its interval.

    `table`: dimension, source, winners, losers, n_winners, n_losers, delta, low, high, games; a mark per
    source. Dimensions in `starred` get an asterisk.
    """
    order = [name for name in axis_names if name in set(table.dimension)]
    chart, (means, deltas) = column([len(order)] * 2)
    headline(chart, title)
    for number, (source, rows) in enumerate(table.groupby("source", sort=False)):
        at = np.array([order.index(name) for name in rows.dimension]) + 0.2 * number
        line: dict[str, Any] = {"color": COLOURS[number + 1], "ls": ("-", "--")[number]}
        mark: dict[str, Any] = {"ls": "", "marker": "os"[number], "color": COLOURS[number + 1]}
        means.hlines(at, rows.losers, rows.winners, lw=1, **line)
        means.plot(rows.winners, at, label=f"{source}: winners (filled)", **mark)
        means.plot(rows.losers, at, mfc="white", label=f"{source}: losers (empty)", **mark)
        deltas.hlines(at, 100 * rows.low, 100 * rows.high, lw=2, **line)
        deltas.plot(100 * rows.delta, at, **mark)
    for axes in (means, deltas):
        name_rows(axes, [axis_names[name] + (" *" if name in starred else "") for name in order], above=0.16)
        axes.grid(axis="x", lw=0.4, color="#dddddd")
    means.set_xlim(min(0.3, table[["winners", "losers"]].min().min() - 0.02), 1)
    turns = f"{_between(table.n_winners)} turns of winners, {_between(table.n_losers)} of losers"
    means.set_xlabel(f"mean score of the assessor (0 to 1)\n{turns}")
    deltas.axvline(0, color="black", lw=0.8)
    deltas.set_xlabel(
        "how much higher winners are scored (% of losers)\n"
        f"95 % intervals over {table.games.max():.0f} games; *: named in the paper"
    )
    legend(chart, means, 1)
    return chart
