"""MAgIC's seven abilities, its win rates and what goes with them, from tallies, with intervals and paired exact tests.

Definitions: Xu et al., MAgIC (arXiv 2311.08562), section 3.2 and A.2; where its formulas and its numbers differ, both are here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon import AgonError
from agon.metrics.exact import flips, holm
from agon.metrics.interval import DECIMALS

ABILITIES = {
    "judgement": "judgement",
    "reasoning": "reasoning",
    "deception": "spy_win",
    "self_awareness": "self_awareness",
    "cooperation": "cooperation",
    "coordination": "coordination_of_games",
    "rationality": "rationality",
}
"""The radar's axes in the paper's order -> the metric that each shows: what its printed numbers count, where that is known, in the
strict reading (tallies): so deception is its first term, coordination is of all games, and reasoning counts every deduction by itself.
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
"""Metrics that are made of others."""

RESAMPLES = 2000

BY = ["challenger", "defender"]


def abilities(tallied: pd.DataFrame, level: float = 0.95, seed: int = 1) -> pd.DataFrame:
    """Long form: challenger, defender, metric, value, n, low, high. Rates are shares of 1; the area is in percent squared.

    `tallied`: agon.metrics.tallies.tallies. n counts what the metric's unit is: decisions, interviews, guesses, games. The
    interval is a percentile bootstrap at `level` that draws whole settings, game by game, so that all decisions of a setting,
    in both roles and all repetitions, stay together; all challengers get the same draws. It is absent where fewer than two
    settings count. Where nothing counts the metric has no row; one that is made of others (PARTS) needs them all.
    """
    settings = pd.MultiIndex.from_frame(tallied[["game", "setting"]].drop_duplicates().sort_values(["game", "setting"]))
    weights = _draws(settings, np.random.default_rng(seed))
    tails = [(1 - level) / 2, (1 + level) / 2]
    parts = []
    for who, own in tallied.groupby(BY, sort=False):
        hits, sizes = (
            own.pivot_table(index=["game", "setting"], columns="metric", values=name, aggfunc="sum").reindex(settings)
            for name in ("hits", "n")
        )
        values = derived(hits.sum() / sizes.sum()).dropna()
        with np.errstate(invalid="ignore"):
            drawn = derived(pd.DataFrame(_over(weights, hits) / _over(weights, sizes), columns=hits.columns))
        made = pd.DataFrame(dict(zip(BY, who, strict=True)) | {"metric": values.index, "value": values.to_numpy()})
        counted, spread = _made_of(sizes.sum(), "sum"), _made_of(sizes.notna().sum(), "max")
        low, high = np.nanquantile(drawn[values.index].to_numpy(), tails, axis=0).round(DECIMALS)
        wide = spread[values.index].to_numpy() > 1
        parts.append(
            made.assign(
                n=counted[values.index].to_numpy().astype(int),
                low=np.where(wide, low, np.nan),
                high=np.where(wide, high, np.nan),
            )
        )
    return pd.concat(parts, ignore_index=True)


def _draws(settings: pd.MultiIndex, dice: np.random.Generator) -> NDArray[np.float64]:
    """How often each setting is drawn, resamples x settings: as many of every game as there are."""
    games = settings.get_level_values(0)
    drawn = np.empty((RESAMPLES, len(settings)))
    for game in games.unique():
        own = np.flatnonzero(games == game)
        drawn[:, own] = dice.multinomial(len(own), np.full(len(own), 1 / len(own)), size=RESAMPLES)
    return drawn


def _over(weights: NDArray[np.float64], counts: pd.DataFrame) -> NDArray[np.float64]:
    return weights @ counts.fillna(0).to_numpy(dtype=float)


def derived(rates: Any) -> Any:
    """`rates` (a Series, or a table with a column per metric) with the metrics of PARTS that all parts are there for.

    win_rate: the plain mean of the seven roles. deception_composite: spy_win + 0.25 misled_guess. self_awareness_published: 0.6
    of Chameleon's + 1 of Undercover's, as printed (without a factor 1 - 0.6). area: of the radar's polygon.
    """
    found = rates.copy()
    have = {name for name, parts in PARTS.items() if set(parts) <= set(rates.keys())}
    if "win_rate" in have:
        found["win_rate"] = sum(rates[role] for role in ROLES) / len(ROLES)
    if "deception_composite" in have:
        found["deception_composite"] = rates["spy_win"] + 0.25 * rates["misled_guess"]
    if "self_awareness_published" in have:
        found["self_awareness_published"] = 0.6 * rates["self_awareness_chameleon"] + rates["self_awareness_undercover"]
    if "area" in have:
        found["area"] = area([100 * rates[metric] for metric in ABILITIES.values()])
    return found


def area(radii: Sequence[Any]) -> Any:
    """Of the polygon that `radii` span on as many evenly spread axes, in this order; seven hundreds give 27,364."""
    neighbours = zip(radii, [*radii[1:], radii[0]], strict=True)
    return np.sin(2 * np.pi / len(radii)) / 2 * sum(one * next_one for one, next_one in neighbours)


def _made_of(counts: pd.Series, how: str) -> pd.Series:
    """`counts` with those of the metrics of PARTS."""
    known = {name: counts.reindex(list(parts)).agg(how) for name, parts in PARTS.items() if name != "area"}
    known["area"] = known["win_rate"]
    return pd.concat([counts, pd.Series(known)])


def paired(tallied: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Does `one` differ from `other` (challengers) in each ability? An exact two-sided test, paired by setting.

    A row per ability: ability, metric, one, other (rates), difference, settings (both have some), differing, p, holm (Holm's
    correction over these abilities). The test exchanges the two challengers' whole tallies of a setting, in all ways: for
    one decision a setting it is McNemar's exact test, and decisions of one setting need not be independent. Both should have
    played equally often. Abilities that either has no value of have no row. Raises AgonError for a challenger who is not there once.
    """
    sides = []
    for name in (one, other):
        own = tallied[tallied.challenger == name]
        if own.defender.nunique() != 1:
            raise AgonError(
                f"{name} has played against {own.defender.nunique()} defenders: to be paired it must be one"
            )
        sides.append(own)
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
    return table.assign(holm=holm(table.p.to_numpy(dtype=float)))
