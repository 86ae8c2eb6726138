"""The power of the counterfactual paper's design: of one cell against another, and of one model against another over all cells."""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import inf, nan, sqrt
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from agon.figures import COLOURS, name_rows, styled
from agon.metrics.power import detectable, needed, power
from agon_papers.counterfactual.cells import KEYS, MODELS, VARIANTS

WANTED = 2.0
"""The difference in points in the paper's text."""

DESIGNS: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "one cell, no self-consistency": lambda cells: ~cells.voted,
    "one cell, no self-consistency, default alone": lambda cells: ~cells.voted & cells.variant.eq("default"),
    "one cell, self-consistency": lambda cells: cells.voted,
}
"""Kind of cells -> which cells it has. Styles with a vote (self-consistency) were played twice, the others five times."""


def cells_of(values: pd.DataFrame, metric: str, by: Sequence[str]) -> pd.DataFrame:
    """One row per cell: `by`, n, mean, variance (ddof 1; NaN for one match). Rows without `metric` do not count."""
    valid = values.dropna(subset=metric)
    cells = valid.groupby(list(by), observed=True, dropna=False)[metric].agg(n="size", mean="mean", variance="var")
    return cells.reset_index()


class Mean(NamedTuple):
    """The mean of the cells' means."""

    cells: int
    n: int
    """Matches of all cells."""
    spread: float
    """Root of the mean variance within cells of several matches."""
    error: float
    """Standard error; cells of one match have that mean variance."""
    df: float
    """Its degrees of freedom, by Welch and Satterthwaite."""


def mean_of(cells: pd.DataFrame) -> Mean:
    """The precision of the mean over all of `cells` (see `cells_of`), with equal weights."""
    variance = float(cells.variance.mean())
    n, free = cells.n.to_numpy(dtype=float), (cells.n.to_numpy(dtype=float) - 1).clip(min=1)
    parts = cells.variance.fillna(variance).to_numpy() / n / len(cells) ** 2
    df = float(parts.sum() ** 2 / (parts**2 / free).sum()) if parts.sum() > 0 else float((n - 1).sum())
    return Mean(len(cells), int(n.sum()), variance**0.5, float(parts.sum()) ** 0.5, df)


def cells(matches: pd.DataFrame, metric: str = "total_points") -> pd.DataFrame:
    """One row per cell of the models in the tables: game, KEYS, voted (by self-consistency), n, mean, variance.

    `matches` is agon.games.matrix.metrics.per_match of the player under test.
    """
    of_tables = matches.astype(dict.fromkeys(("game", "model", "agent", "opponent", "variant"), object))
    of_tables = of_tables.assign(model=of_tables.model.map(MODELS), prompt=of_tables.agent).dropna(subset="model")
    table = cells_of(of_tables, metric, ["game", *KEYS])
    return table.assign(voted=table.prompt.str.startswith("sc-"))


def by_cell(cells: pd.DataFrame, difference: float = WANTED) -> pd.DataFrame:
    """One row per game and kind of cell: cells, n (matches of each), sd (within a cell), detectable, power_for_wanted, needed.

    detectable: the smallest difference of two cells with a power of 80 % (two-sample t test, two-sided 5 %). power_for_wanted: the power
    for `difference`. needed: matches per cell for it. sd: the root of the mean variance. Kinds without cells have no row.
    """
    rows = []
    for game, of_game in cells.groupby("game", sort=True):
        for design, is_of_design in DESIGNS.items():
            if (some := of_game[is_of_design(of_game)]).empty:
                continue
            n, sd = int(some.n.min()), float(some.variance.mean()) ** 0.5
            error, df = sd * sqrt(2 / n), 2 * n - 2
            power_for_difference = power(difference / error, df) if df and error else nan
            rows.append(
                (game, design, len(some), n, sd, detectable(error, df), power_for_difference, needed(difference, sd))
            )
    columns = ["game", "design", "cells", "n", "sd", "detectable", "power_for_wanted", "needed"]
    return pd.DataFrame(rows, columns=columns)


def by_model(cells: pd.DataFrame, difference: float = WANTED) -> pd.DataFrame:
    """One row per game, variant and model: the precision of its mean over all cells (styles x opponents), with equal weights.

    Columns: cells, n (matches of all), sd, error (of the mean), detectable (the smallest difference, as of `by_cell`, from a model with
    the same variance), needed (matches per cell for `difference`, with as many in all cells).
    """
    rows = []
    for (game, variant, model), of_model in cells.groupby(["game", "variant", "model"], sort=True):
        mean = mean_of(of_model)
        least = detectable(mean.error * sqrt(2), 2 * mean.df)
        matches = needed(difference, mean.spread / sqrt(len(of_model)))
        rows.append((game, variant, model, *mean[:4], least, matches))
    columns = ["game", "variant", "model", "cells", "n", "sd", "error", "detectable", "needed"]
    table = pd.DataFrame(rows, columns=columns)
    order = {variant: place for place, variant in enumerate(VARIANTS)}
    return table.sort_values(
        ["game", "variant", "model"], key=lambda key: key.map(order).fillna(0) if key.name == "variant" else key
    )


def differences(cells: pd.DataFrame) -> pd.DataFrame:
    """Every pair of models in a variant or cell, and whether their difference is as large as the smallest detectable one.

    Columns: game, variant, of ("models": over all cells; "cells": in one), first, second, difference, detectable, large.
    The variance of a cell is the mean of all cells of its game, kind and variant.
    """
    rows = []
    for (game, variant), of_variant in cells.groupby(["game", "variant"], sort=True):
        means = {model: (rows_of["mean"].mean(), mean_of(rows_of)) for model, rows_of in of_variant.groupby("model")}
        for (one, (first, mean)), (other, (second, other_mean)) in combinations(means.items(), 2):
            parts = mean.error**2, other_mean.error**2
            df = sum(parts) ** 2 / (parts[0] ** 2 / mean.df + parts[1] ** 2 / other_mean.df) if sum(parts) else inf
            rows.append(
                (game, variant, "models", one, other, second - first, detectable(sum(parts) ** 0.5, min(df, 1e6)))
            )
        for _, alike in of_variant.groupby("voted"):
            n = int(alike.n.min())
            least = detectable((float(alike.variance.mean()) * 2 / n) ** 0.5, 2 * n - 2)
            for _, of_cell in alike.groupby(["prompt", "opponent"]):
                pairs = combinations(of_cell[["model", "mean"]].itertuples(index=False, name=None), 2)
                rows += [
                    (game, variant, "cells", one, other, second - first, least)
                    for (one, first), (other, second) in pairs
                ]
    table = pd.DataFrame(rows, columns=["game", "variant", "of", "first", "second", "difference", "detectable"])
    return table.assign(large=table.difference.abs() >= table.detectable)


@styled
def power_panel(
    axes: Axes, of_cells: pd.DataFrame, of_models: pd.DataFrame, title: str, difference: float = WANTED
) -> None:
    """Draws the smallest detectable difference of each comparison of a game. Models have a line from the steadiest to the least steady."""
    names = [f"{row.design}\n{row.n:.0f} + {row.n:.0f} matches" for row in of_cells.itertuples()]
    axes.plot(of_cells.detectable, range(len(names)), ls="", marker="o", ms=7, color=COLOURS[2])
    for variant, rows in of_models.groupby("variant", sort=False):
        place = len(names)
        names.append(f"{variant}: {rows.cells.max()} cells\n{rows.n.max():.0f} + {rows.n.max():.0f} matches")
        axes.hlines(place, rows.detectable.min(), rows.detectable.max(), color=COLOURS[1], lw=3)
        axes.plot(rows.detectable, [place] * len(rows), ls="", marker="|", ms=12, color=COLOURS[1])
    axes.axvline(difference, color="#999999", ls="--", lw=1)
    axes.set_xscale("log")
    ticks = [0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(0.2, 120)
    axes.minorticks_off()
    name_rows(axes, names)
    axes.set_xlabel(f"smallest difference that is detected\n(points per match; dashed line: {difference:g})")
    axes.set_title(title, loc="left")
    axes.grid(axis="x", lw=0.4, color="#dddddd")
