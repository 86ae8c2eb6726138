"""MAgIC's seven abilities, its win rates and what goes with them, from tallies, with intervals and paired exact tests.

Definitions: Xu et al., MAgIC (arXiv 2311.08562), section 3.2 and A.2; where its formulas and its numbers differ, both are here.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon.metrics.exact import flips
from agon.metrics.interval import SHARE, Numbers, ends, jackknife

ABILITIES = {
    "judgement": "judgement",
    "reasoning": "reasoning",
    "deception": "spy_win",
    "self_awareness": "self_awareness",
    "cooperation": "cooperation",
    "coordination": "coordination_of_games",
    "rationality": "rationality",
}
"""The radar's axes in the paper's order -> the metric of each. A metric counts as the printed numbers do, where that is known, in the
strict reading of agon.metrics.tallies: deception is its first term, coordination is of all games, reasoning counts every deduction.
"""

ROLES = (
    *("win_chameleon", "win_non_chameleon", "win_undercover", "win_civilian"),
    *("win_cost_sharing", "win_prisoner3", "win_public_goods"),
)
"""The seven whose mean is the Win Rate."""

PARTS = {
    "win_rate": ROLES,
    "deception_composite": ("spy_win", "misled_guess"),
    "self_awareness_published": ("self_awareness_chameleon", "self_awareness_undercover"),
    "area": tuple(ABILITIES.values()),
}
"""Composite metric -> its parts."""

LIMITS = {
    **dict.fromkeys(("cost", "score", "payback"), (0.0, np.inf)),
    "deception_composite": (0.0, 1.25),
    "self_awareness_published": (0.0, 1.6),
    "area": (0.0, 7 * 100**2 * float(np.sin(2 * np.pi / 7)) / 2),
}
"""Lower and upper limits of metrics that are no shares."""

BY = ["challenger", "defender"]


def abilities(tallied: pd.DataFrame) -> pd.DataFrame:
    """Long form: challenger, defender, metric, value, n, low, high. Rates are shares of 1; the area is in percent squared.

    `tallied`: agon.metrics.tallies.tallies. n counts the metric's units: decisions, interviews, guesses, games. The 95 %
    interval (agon.metrics.interval.ends) is a jackknife over settings, game by game: all decisions of a setting, in both roles and
    all repetitions, stay together. It is absent with fewer than two settings. A metric that nothing counts for has no row; a
    composite metric (PARTS) has one if all its parts have.
    """
    settings = pd.MultiIndex.from_frame(tallied[["game", "setting"]].drop_duplicates().sort_values(["game", "setting"]))
    parts = []
    for who, rows in tallied.groupby(BY, sort=False):
        hits, sizes = (
            rows.pivot_table(index=["game", "setting"], columns="metric", values=name, aggfunc="sum").reindex(settings)
            for name in ("hits", "n")
        )
        values = derived(hits.sum() / sizes.sum()).dropna()
        table = pd.DataFrame(dict(zip(BY, who, strict=True)) | {"metric": values.index, "value": values.to_numpy()})
        table["n"] = _with_composites(sizes.sum())[values.index].to_numpy().astype(int)
        table[["low", "high"]] = [_interval(metric, value, hits, sizes) for metric, value in values.items()]
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def _interval(metric: Any, value: float, hits: pd.DataFrame, sizes: pd.DataFrame) -> Numbers:
    """The interval of a metric, over the settings in which it counts something."""
    names = [*dict.fromkeys(_counted_parts(metric))]
    is_counted = sizes[names].gt(0).any(axis=1)
    n, sums = (
        int(is_counted.sum()),
        np.hstack([table.loc[is_counted, names].fillna(0).to_numpy() for table in (hits, sizes)]),
    )
    if n < 2:
        return np.full(2, np.nan)

    def measure(sums: Numbers) -> Numbers:
        metrics = derived(pd.DataFrame(sums[:, : len(names)] / sums[:, len(names) :], columns=names))
        return metrics[metric].to_numpy(dtype=float)

    games = is_counted.index[is_counted].get_level_values("game")
    return ends(value, *jackknife(sums, measure, games), n, limits=LIMITS.get(metric, SHARE))


def _counted_parts(metric: str) -> Iterator[str]:
    """The metrics with tallies of which a metric consists."""
    for part in PARTS.get(metric, ()):
        yield from _counted_parts(part)
    if metric not in PARTS:
        yield metric


def derived(rates: Any) -> Any:
    """`rates` (a Series, or a table with a column per metric), and the composite metrics of PARTS whose parts are all there.

    win_rate: the plain mean of the seven roles. deception_composite: spy_win + 0.25 misled_guess. self_awareness_published: 0.6
    of Chameleon's + 1 of Undercover's, as printed (without a factor 1 - 0.6). area: of the radar's polygon.
    """
    metrics = rates.copy()
    computable = {name for name, parts in PARTS.items() if set(parts) <= set(rates.keys())}
    if "win_rate" in computable:
        metrics["win_rate"] = sum(rates[role] for role in ROLES) / len(ROLES)
    if "deception_composite" in computable:
        metrics["deception_composite"] = rates["spy_win"] + 0.25 * rates["misled_guess"]
    if "self_awareness_published" in computable:
        metrics["self_awareness_published"] = (
            0.6 * rates["self_awareness_chameleon"] + rates["self_awareness_undercover"]
        )
    if "area" in computable:
        metrics["area"] = area([100 * rates[metric] for metric in ABILITIES.values()])
    return metrics


def area(radii: Sequence[Any]) -> Any:
    """Area of the polygon that `radii` span on as many evenly spread axes, in this order; seven hundreds give 27,364."""
    neighbours = zip(radii, [*radii[1:], radii[0]], strict=True)
    return np.sin(2 * np.pi / len(radii)) / 2 * sum(one * next_one for one, next_one in neighbours)


def _with_composites(counts: pd.Series) -> pd.Series:
    """`counts`, and those of the composite metrics of PARTS."""
    sums = {name: counts.reindex(list(parts)).sum() for name, parts in PARTS.items() if name != "area"}
    sums["area"] = sums["win_rate"]
    return pd.concat([counts, pd.Series(sums)])


def paired(tallied: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Tests for each ability whether the challengers `one` and `other` differ: exact, two-sided, paired by setting.

    A row per ability: ability, metric, one, other (rates), difference, settings (in which either counts), differing, p, holm
    (Holm's correction over these abilities). The test exchanges the two challengers' whole tallies of a setting, in all ways. For
    one decision a setting it is McNemar's exact test; decisions of one setting need not be independent. Both should have
    played equally often. An ability without a value of either has no row. Raises AgonError for a challenger without exactly one
    defender.
    """
    sides = []
    for name in (one, other):
        side = tallied[tallied.challenger == name]
        if side.defender.nunique() != 1:
            raise AgonError(
                f"{name} has played against {side.defender.nunique()} defenders: to be paired it must be one"
            )
        sides.append(side)
    rows = []
    for ability, metric in ABILITIES.items():
        tables = [side[side.metric == metric].set_index(["game", "setting"])[["hits", "n"]] for side in sides]
        if not all(map(len, tables)):
            continue
        both = pd.concat({"one": tables[0], "other": tables[1]}, axis=1).fillna(0)
        hits, n = (both.xs(name, axis=1, level=1) for name in ("hits", "n"))
        apart = n.sum().sum() * (hits.one - hits.other) - hits.sum().sum() * (n.one - n.other)
        rates = hits.sum() / n.sum()
        rows.append(
            {
                **{"ability": ability, "metric": metric, "one": rates.one, "other": rates.other},
                **{"difference": rates.one - rates.other, "settings": len(both), "differing": int((apart != 0).sum())},
                "p": flips(apart.to_numpy()),
            }
        )
    table = pd.DataFrame(
        rows, columns=["ability", "metric", "one", "other", "difference", "settings", "differing", "p"]
    )
    from statsmodels.stats.multitest import multipletests  # two seconds to import, and few need it

    return table.assign(holm=multipletests(table.p.to_numpy(dtype=float), method="holm")[1])
