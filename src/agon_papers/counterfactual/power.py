"""What the counterfactual paper's design could detect: of one cell against another, and of one model against another over all cells."""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import inf, nan, sqrt
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from agon.figures import COLOURS, styled
from agon.metrics.power import detectable, needed, power
from agon_papers.counterfactual.cells import KEYS, MODELS, VARIANTS

WANTED = 2.0
"""The difference in points that the paper speaks of."""

DESIGNS: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "one cell, no self-consistency": lambda cells: ~cells.voted,
    "one cell, no self-consistency, default alone": lambda cells: ~cells.voted & cells.variant.eq("default"),
    "one cell, self-consistency": lambda cells: cells.voted,
}
"""Kinds of cells, of which two are compared. Styles with a vote (self-consistency) were played twice, the others five times."""


def cells_of(values: pd.DataFrame, metric: str, by: Sequence[str]) -> pd.DataFrame:
    """One row per cell: `by`, n, mean, variance (ddof 1; absent for one match). Rows in which `metric` is absent do not count."""
    known = values.dropna(subset=metric)
    cells = known.groupby(list(by), observed=True, dropna=False)[metric].agg(n="size", mean="mean", variance="var")
    return cells.reset_index()


class Mean(NamedTuple):
    """The mean of the cells' means."""

    cells: int
    n: int
    """Matches of all cells."""
    spread: float
    """Root of the mean variance within cells, where a variance is known."""
    error: float
    """Standard error; cells of one match count with that mean variance."""
    df: float
    """Its degrees of freedom, by Welch and Satterthwaite."""


def mean_of(cells: pd.DataFrame) -> Mean:
    """How well the mean over all of `cells` (see `cells_of`), each of the same weight, is known."""
    variance = float(cells.variance.mean())
    n, free = cells.n.to_numpy(dtype=float), (cells.n.to_numpy(dtype=float) - 1).clip(min=1)
    parts = cells.variance.fillna(variance).to_numpy() / n / len(cells) ** 2
    df = float(parts.sum() ** 2 / (parts**2 / free).sum()) if parts.sum() > 0 else float((n - 1).sum())
    return Mean(len(cells), int(n.sum()), variance**0.5, float(parts.sum()) ** 0.5, df)


def cells(matches: pd.DataFrame, metric: str = "total_points") -> pd.DataFrame:
    """One row per cell of the models in the tables: game, KEYS, voted (by self-consistency), n, mean, variance.

    `matches` is agon.games.matrix.metrics.per_match of the player under test.
    """
    known = matches.astype(dict.fromkeys(("game", "model", "agent", "opponent", "variant"), object))
    known = known.assign(model=known.model.map(MODELS), prompt=known.agent).dropna(subset="model")
    found = cells_of(known, metric, ["game", *KEYS])
    return found.assign(voted=found.prompt.str.startswith("sc-"))


def by_cell(cells: pd.DataFrame, wanted: float = WANTED) -> pd.DataFrame:
    """One row per game and kind of cell: cells, n (matches of each), sd (within a cell), detectable, power_for_wanted, needed.

    `detectable`: the smallest difference of two cells that is found with a power of 80 % (two-sample t test, two-sided 5 %);
    `needed`: matches per cell for `wanted`. `sd` is the root of the mean variance. Kinds that are not there have no row.
    """
    rows = []
    for game, own in cells.groupby("game", sort=True):
        for design, chosen in DESIGNS.items():
            if (some := own[chosen(own)]).empty:
                continue
            n, sd = int(some.n.min()), float(some.variance.mean()) ** 0.5
            error, df = sd * sqrt(2 / n), 2 * n - 2
            found = power(wanted / error, df) if df and error else nan
            rows.append((game, design, len(some), n, sd, detectable(error, df), found, needed(wanted, sd)))
    columns = ["game", "design", "cells", "n", "sd", "detectable", "power_for_wanted", "needed"]
    return pd.DataFrame(rows, columns=columns)


def by_model(cells: pd.DataFrame, wanted: float = WANTED) -> pd.DataFrame:
    """One row per game, variant and model: how well its mean over all cells (styles x opponents) is known, each of the same weight.

    cells, n (matches of all), sd, error (of the mean), detectable: the smallest difference from a model that varies as much, as of
    `by_cell`; needed: matches per cell for `wanted`, if all cells had as many.
    """
    rows = []
    for (game, variant, model), own in cells.groupby(["game", "variant", "model"], sort=True):
        mean = mean_of(own)
        least = detectable(mean.error * sqrt(2), 2 * mean.df)
        each = needed(wanted, mean.spread / sqrt(len(own)))
        rows.append((game, variant, model, *mean[:4], least, each))
    columns = ["game", "variant", "model", "cells", "n", "sd", "error", "detectable", "needed"]
    found = pd.DataFrame(rows, columns=columns)
    order = {variant: place for place, variant in enumerate(VARIANTS)}
    return found.sort_values(
        ["game", "variant", "model"], key=lambda key: key.map(order).fillna(0) if key.name == "variant" else key
    )


def differences(cells: pd.DataFrame) -> pd.DataFrame:
    """Every two models within what they share, and whether the difference seen is as large as what the design detects.

    Columns: game, variant, of ("models": over all cells; "cells": in one), first, second, difference, detectable, large.
    In a cell the variance is that of all cells of its game, kind and variant.
    """
    rows = []
    for (game, variant), own in cells.groupby(["game", "variant"], sort=True):
        means = {model: (rows_of["mean"].mean(), mean_of(rows_of)) for model, rows_of in own.groupby("model")}
        for (one, (first, known)), (other, (second, too)) in combinations(means.items(), 2):
            parts = known.error**2, too.error**2
            df = sum(parts) ** 2 / (parts[0] ** 2 / known.df + parts[1] ** 2 / too.df) if sum(parts) else inf
            rows.append(
                (game, variant, "models", one, other, second - first, detectable(sum(parts) ** 0.5, min(df, 1e6)))
            )
        for _, alike in own.groupby("voted"):
            n = int(alike.n.min())
            least = detectable((float(alike.variance.mean()) * 2 / n) ** 0.5, 2 * n - 2)
            for _, there in alike.groupby(["prompt", "opponent"]):
                pairs = combinations(there[["model", "mean"]].itertuples(index=False, name=None), 2)
                rows += [
                    (game, variant, "cells", one, other, second - first, least)
                    for (one, first), (other, second) in pairs
                ]
    found = pd.DataFrame(rows, columns=["game", "variant", "of", "first", "second", "difference", "detectable"])
    return found.assign(large=found.difference.abs() >= found.detectable)


@styled
def power_panel(
    axes: Axes, of_cells: pd.DataFrame, of_models: pd.DataFrame, title: str, wanted: float = WANTED
) -> None:
    """The smallest difference that one game's comparisons detect, a row each; for models from the steadiest to the most varying."""
    names = [f"{row.design}\n{row.n:.0f} + {row.n:.0f} matches" for row in of_cells.itertuples()]
    axes.plot(of_cells.detectable, range(len(names)), ls="", marker="o", ms=7, color=COLOURS[2])
    for variant, rows in of_models.groupby("variant", sort=False):
        place = len(names)
        names.append(
            f"one model over {rows.cells.max()} cells, {variant}\n{rows.n.max():.0f} + {rows.n.max():.0f} matches"
        )
        axes.hlines(place, rows.detectable.min(), rows.detectable.max(), color=COLOURS[1], lw=3)
        axes.plot(rows.detectable, [place] * len(rows), ls="", marker="|", ms=12, color=COLOURS[1])
    axes.axvline(wanted, color="#999999", ls="--", lw=1)
    axes.text(wanted, -0.75, f" {wanted:g} points", color="#555555", fontsize=9, va="center")
    axes.set_xscale("log")
    ticks = [0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    axes.set_xticks(ticks, [f"{each:g}" for each in ticks])
    axes.set_xlim(0.2, 120)
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -1.1)
    axes.set_xlabel("smallest difference that is detected (points per match)")
    axes.set_title(title, loc="left")
    axes.grid(axis="x", lw=0.4, color="#dddddd")
