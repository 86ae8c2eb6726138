"""The assessor's scores: means by player under every way to pool them, winners against losers, and one pass against the other."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon.metrics.interval import DECIMALS
from agon_papers.tradecraft.facts import DIMENSIONS, LOGGED, Facts, group_of

RESAMPLES = 2000
"""Bootstrap resamples, of whole games."""

PASSES = {1: "first pass", 2: "second pass"}
POOLINGS = ("turns", "games")
"""Mean over all turns of a pair's games, or mean over games of the mean over turns."""

READINGS = {"literal": (1, "games", False), "reconciled": (2, "turns", True)}
"""Reading -> pass, pooling, whether only the logged turns of logged games count (no turn 13, no eleventh game)."""


def scored(facts: Facts, run: int, logged_only: bool) -> pd.DataFrame:
    """One pass's scores with name, group, against (the other's group), matchup and won (absent where unknown).

    A row per game, dimension, turn and seat.
    """
    games = facts.games.set_index("game")
    table = facts.scores[facts.scores["pass"] == run]
    if logged_only:
        table = table[(table.turn <= LOGGED) & table.game.isin(facts.games.game[facts.games.logged])]
    table = table[table.game.isin(games.index)]
    names, others = (
        np.where(table.seat == seat, table.game.map(games.name_0), table.game.map(games.name_1)) for seat in (0, 1)
    )
    won = np.where(table.seat == 0, table.game.map(games.won_0), table.game.map(games.won_1))
    groups, against = ([group_of(name) for name in each] for each in (names, others))
    return table.assign(name=names, group=groups, against=against, matchup=table.game.map(games.matchup), won=won)


def pooled(table: pd.DataFrame, by: Sequence[str], pooling: str = "turns", level: float = 0.95) -> pd.DataFrame:
    """Mean score of each group: the `by` keys, value, n (scores), games, low, high (bootstrap of whole games, percentile)."""
    rows = []
    for key, part in table.groupby(list(by), sort=False):
        sums = part.groupby("game", sort=True).score.agg(["sum", "size"])
        parts = sums.to_numpy(dtype=float)
        if pooling == "games":
            parts = np.column_stack([parts[:, 0] / parts[:, 1], np.ones(len(parts))])
        low, high = ratio_interval(parts[:, 0], parts[:, 1], level)
        value = parts[:, 0].sum() / parts[:, 1].sum()
        rows.append((*key, value, len(part), len(sums), low, high))
    return pd.DataFrame(rows, columns=[*by, "value", "n", "games", "low", "high"])


def ratio_interval(above: NDArray[np.float64], below: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of a ratio of sums over games; absent for a single game."""
    return ratio_intervals([np.column_stack([above, below])], lambda ratios: ratios[0], level)


def ratio_intervals(
    parts: Sequence[NDArray[np.float64]],
    read: Callable[[list[NDArray[np.float64]]], NDArray[np.float64]],
    level: float = 0.95,
) -> tuple[float, float]:
    """Bootstrap interval of what is read from ratios of sums; a part has a row per game, with numerator and denominator.

    All parts are of the same games, resampled together; the same number of games is always resampled alike.
    """
    n = len(parts[0])
    if n < 2:
        return np.nan, np.nan
    weights = np.random.default_rng(n).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = read([(weights @ part[:, 0]) / (weights @ part[:, 1]) for part in parts])
    if not len(known := found[np.isfinite(found)]):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]).round(DECIMALS)
    return float(low), float(high)


def radars(facts: Facts, reading: str) -> pd.DataFrame:
    """What the radars should show: matchup, name, dimension, value, n, games, low, high."""
    run, pooling, logged_only = READINGS[reading]
    return pooled(scored(facts, run, logged_only), ["matchup", "name", "dimension"], pooling)


def ways(facts: Facts, tolerance: float) -> pd.DataFrame:
    """How many printed radar values each way to pool gives: pass, pooling, turns, agree, of, furthest (largest difference)."""
    printed = _printed(facts)
    rows = []
    for run in PASSES:
        for logged_only in (False, True):
            table = scored(facts, run, logged_only)
            for pooling in POOLINGS:
                found = _values(table, pooling).reindex(printed.index)
                apart = (found - printed).abs()
                turns = f"1 to {LOGGED} of the 90 logged games" if logged_only else "all, of all games"
                agree = int((apart <= tolerance).sum())
                rows.append((PASSES[run], pooling, turns, agree, len(printed), apart.max()))
    return pd.DataFrame(rows, columns=["pass", "pooling", "turns", "agree", "of", "furthest"])


def _printed(facts: Facts) -> pd.Series:
    rows = facts.figure_4[facts.figure_4.measure.isin(list(DIMENSIONS))]
    return rows.astype({"value": float}).set_index(["matchup", "name", "measure"]).value


def _values(table: pd.DataFrame, pooling: str) -> pd.Series:
    keys = ["matchup", "name", "dimension"]
    if pooling == "games":
        return table.groupby([*keys, "game"]).score.mean().groupby(level=[0, 1, 2]).mean()
    return table.groupby(keys).score.mean()


def without_one(facts: Facts, matchup: str, name: str, dimension: str, tolerance: float) -> pd.DataFrame:
    """The single scores that, left out, give a printed radar value: game, turn, score, value (without it)."""
    table = scored(facts, 2, logged_only=True)
    part = table[(table.matchup == matchup) & (table.name == name) & (table.dimension == dimension)]
    value = (part.score.sum() - part.score) / (len(part) - 1)
    fits = (value - _printed(facts)[matchup, name, dimension]).abs() <= tolerance
    return part.assign(value=value)[fits][["game", "turn", "score", "value"]].reset_index(drop=True)


def outcomes(facts: Facts, run: int = 2) -> pd.DataFrame:
    """Figure 6: winners against losers of the logged persona games, turns pooled, a row per dimension.

    Columns: winners, losers (means), n_winners, n_losers, delta (winners over losers, less 1), low, high (games resampled), games.
    """
    table = scored(facts, run, logged_only=True)
    table = table[table.name.str.startswith("gemini-")]
    rows = []
    for dimension in DIMENSIONS:
        part = table[table.dimension == dimension]
        sums = [
            part[part.won == won]
            .groupby("game")
            .score.agg(["sum", "size"])
            .reindex(sorted(part.game.unique()))
            .fillna(0)
            for won in (True, False)
        ]
        (winners, n_winners), (losers, n_losers) = ((each["sum"].sum(), int(each["size"].sum())) for each in sums)
        if not n_winners or not n_losers:
            continue
        low, high = ratio_intervals(
            [each.to_numpy(dtype=float) for each in sums], lambda means: means[0] / means[1] - 1
        )
        means = winners / n_winners, losers / n_losers
        rows.append((dimension, *means, n_winners, n_losers, means[0] / means[1] - 1, low, high, len(sums[0])))
    names = ["dimension", "winners", "losers", "n_winners", "n_losers", "delta", "low", "high", "games"]
    return pd.DataFrame(rows, columns=names)


def retest(facts: Facts) -> pd.DataFrame:
    """The assessor against itself: the same game, turn and player scored in both passes.

    Columns: dimension, n, mae, same (share of equal scores), correlation (Pearson), alpha (Krippendorff, interval), first, second (means).
    """
    keys = ["game", "dimension", "turn", "seat"]
    one, two = (scored(facts, run, logged_only=True) for run in PASSES)
    both = one.merge(two, on=keys, suffixes=("_1", "_2"))
    rows = [_compared(name, both[both.dimension == name]) for name in DIMENSIONS]
    return pd.DataFrame([*rows, _compared("all", both)])


def _compared(name: str, both: pd.DataFrame) -> dict[str, object]:
    one, two = both.score_1.to_numpy(), both.score_2.to_numpy()
    apart = np.abs(one - two)
    values = np.concatenate([one, two])
    varies = len(values) > 2 and bool(values.std() > 0 and one.std() > 0 and two.std() > 0)
    alpha = 1 - np.mean(apart**2) / (2 * values.var(ddof=1)) if varies else np.nan
    return {
        "dimension": name,
        "n": len(both),
        "mae": apart.mean() if len(both) else np.nan,
        "same": (apart < 1e-9).mean() if len(both) else np.nan,
        "correlation": np.corrcoef(one, two)[0, 1] if varies else np.nan,
        "alpha": alpha,
        "first": one.mean() if len(both) else np.nan,
        "second": two.mean() if len(both) else np.nan,
    }


def coverage(facts: Facts) -> pd.DataFrame:
    """What each pass scored: due (player, logged turn and dimension), scored, beyond (scores of a turn 13, which is not in the logs).

    Also other (scores of games without a log), and nought (share of 0 among the scores of turn 13).
    """
    due = int(facts.players.logged.sum()) * len(DIMENSIONS)
    logged = set(facts.players.match)
    rows = []
    for run, name in PASSES.items():
        table = facts.scores[facts.scores["pass"] == run]
        known = table[table.game.isin(logged)]
        beyond = known[known.turn > LOGGED]
        rows.append(
            {
                "pass": name,
                "due": due,
                "scored": int((known.turn <= LOGGED).sum()),
                "beyond": len(beyond),
                "nought": (beyond.score == 0).mean() if len(beyond) else np.nan,
                "other": int((~table.game.isin(logged)).sum()),
            }
        )
    return pd.DataFrame(rows)
