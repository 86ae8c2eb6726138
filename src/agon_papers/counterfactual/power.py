"""What the counterfactual paper's design could detect: of one cell against another, and of one model against another over all cells."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from math import inf, nan, sqrt

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from agon.conf import names, settings_of
from agon.figures import COLOURS, styled
from agon.metrics.power import cells_of, detectable, mean_of, needed, power
from agon.metrics.sequential import course, decided
from agon_papers.counterfactual.cells import KEYS, MODELS, VARIANTS

WANTED = 2.0
"""The difference in points that the paper speaks of."""

DESIGNS: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "one cell, no self-consistency": lambda cells: ~cells.voted,
    "one cell, no self-consistency, default alone": lambda cells: ~cells.voted & cells.variant.eq("default"),
    "one cell, self-consistency": lambda cells: cells.voted,
}
"""Kinds of cells, of which two are compared. Styles with a vote (self-consistency) were played twice, the others five times."""


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


def prices() -> dict[str, float]:
    """US dollars per million tokens sent, by name in the records: those of conf/model, whose files are named likewise.

    Models whose price is not known are absent.
    """
    files, dollars = names("model"), {}
    for model in MODELS:
        words = re.sub(r"\W+", "_", model.lower())
        file = max((name for name in files if words.startswith(name)), key=len)
        price = settings_of("model", file).get("price", {}).get("input")
        if price is not None:
            dollars[model] = float(price)
    return dollars


def enough(
    matches: pd.DataFrame, payoffs: pd.DataFrame, prices: Mapping[str, float], error: float = 0.05, draws: int = 10
) -> pd.DataFrame:
    """What would have been enough to decide which of every two models earns more, had they been played until then (agon.inference.until).

    Blocks of one match of every model in the same cell are drawn from the records, cells with the same chance, up to as many blocks as a
    model has matches. `error`: chance that a question is ever decided wrongly; in dollars, that any is. `payoffs`: game, variant, payoff;
    `prices`: US dollars per million tokens, by model (absent: none are counted); `matches` has the column all_tokens (of all seats).
    One row per game and variant, means over `draws`:

    questions, decided, against (the sign of the means over all records), alone (share of its matches that a question takes by itself; an
    undecided one all), if_decided (that of those that are decided), together (share of all matches where a model plays until its last
    question is decided), matches (of all models), usd (of all matches). In dollars, by the order of agon.metrics.sequential.ahead
    beside all models at once: usd_half and usd_half_by_price, until half as many questions are decided as ever are with all models at once;
    decided_quarter and decided_quarter_by_price, for a quarter of the dollars; wrong: runs by price that decide anything at all, where
    values are moved so that all models have the same mean over cells.
    """
    dice, rows = np.random.default_rng(1), []
    for (game, variant), values, usd, counts in _tables(matches, payoffs, prices):
        cells, models, _ = values.shape
        blocks, own = counts.sum() // models, np.arange(models)[:, None]
        means = (values.sum(axis=2) / counts).mean(axis=0)
        moved = (values - means[:, None] + means.max()) / (1 + np.ptp(means))  # in 0 to 1 again
        pairs = list(combinations(range(models), 2))
        for _ in range(draws):
            cell = dice.integers(cells, size=blocks)
            at = cell, own, (dice.random((models, blocks)) * counts[cell].T).astype(int)
            found = [decided(values[at][other] - values[at][one], error) for one, other in pairs]
            played = [
                max(each.n for each, pair in zip(found, pairs, strict=True) if model in pair) for model in range(models)
            ]
            sure = [each.n for each in found if each.sign]
            wrong = [each.sign * (means[b] - means[a]) < 0 for each, (a, b) in zip(found, pairs, strict=True)]
            shares = (
                sum(each.n for each in found) / len(found),
                np.mean(sure) if sure else np.nan,
                sum(played) / models,
            )
            plain, ordered = (course(values[at], usd[at], error, by_price=by_price) for by_price in (False, True))
            half = -(-plain.decided[-1] // 2)
            halves = [each.spent[each.decided >= half][0] if half else nan for each in (plain, ordered)]
            all_ = float(usd[at].sum())
            quarter = [each.decided[each.spent <= all_ / 4][-1] for each in (plain, ordered)]
            false = course(moved[at], usd[at], error, by_price=True).decided[-1] > 0
            row = (len(pairs), len(sure), sum(wrong), *(each / blocks for each in shares))
            rows.append((game, variant, *row, counts.sum(), all_, *halves, *quarter, false))
    columns = ["questions", "decided", "against", "alone", "if_decided", "together", "matches", "usd"]
    columns += ["usd_half", "usd_half_by_price", "decided_quarter", "decided_quarter_by_price", "wrong"]
    return pd.DataFrame(rows, columns=["game", "variant", *columns]).groupby(["game", "variant"]).mean().reset_index()


def _tables(
    matches: pd.DataFrame, payoffs: pd.DataFrame, prices: Mapping[str, float]
) -> Iterator[tuple[tuple[str, str], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]]:
    """Game and variant; points in 0 to 1 and dollars (cells x models x matches, 0 where there is none), and how many matches there are."""
    known = matches[matches.model.isin(list(MODELS))].astype({"model": object})
    known = known.assign(usd=known.all_tokens.astype(float) * known.model.map(prices).fillna(0.0) / 1e6)
    for (game, variant), own in known.groupby(["game", "variant"], observed=True, sort=True):
        paid = payoffs[(payoffs.game == game) & (payoffs.variant == variant)].payoff
        least, most = min(paid.min(), 0), max(paid.max(), 0)  # a void round pays 0
        points = (own.total_points / float(own.rounds.max()) - least) / (most - least)
        cells = own.assign(points=points).groupby(["agent", "opponent", "model"], observed=True)[["points", "usd"]]
        lists = cells.agg(list).unstack("model").dropna()
        counts = lists["points"].map(len).to_numpy()
        if counts.shape[1] < 2 or not len(counts):
            continue
        found = np.zeros((2, *counts.shape, counts.max()))
        for of, name in enumerate(("points", "usd")):
            for (cell, model), values in np.ndenumerate(lists[name].to_numpy()):
                found[of, cell, model, : len(values)] = values
        yield (str(game), str(variant)), *found, counts


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
