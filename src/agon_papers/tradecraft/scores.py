"""The assessor's published scores as a table of agon's ratings, and the metrics of ratings computed from it."""

from collections.abc import Iterable

import pandas as pd

from agon.games.rating import metrics as ratings
from agon_papers.tradecraft.facts import DIMENSIONS, LOG_TURNS, PERSONAS, Facts

PASSES = {2: "second pass", 1: "first pass"}
"""Number of a pass -> its name. The pass that the paper used comes first."""

PLAYER = ["matchup", "name", "dimension"]
"""Columns that identify a value of a radar."""

READINGS = {"literal": (1, "games", False), "reconciled": (2, "turns", True)}
"""Reading -> (pass, pooling of `ratings.averages`, whether only logged turns of logged games count: no turn 13, no
11th game)."""


def score_table(facts: Facts, passes: Iterable[int] = PASSES, logged_only: bool = True) -> pd.DataFrame:
    """Scores with the columns `ratings.COLUMNS` (repetition: the pass) and of the player: matchup, name, group, against
    (the other's group), won (absent: unknown).

    A row per pass, game, dimension, turn and seat.
    """
    renamed = facts.scores.rename(columns={"pass": "repetition", "game": "match", "score": "value"})
    table = renamed[renamed.repetition.isin(list(passes))].assign(rater="assessor", view="", aspect="")
    seats = facts.seats
    if logged_only:
        table, seats = table[table.turn <= facts.log_turns], seats[seats.logged]
    return table.merge(seats[["match", "seat", "matchup", "name", "group", "against", "won"]], on=["match", "seat"])


def radars(facts: Facts, reading: str) -> pd.DataFrame:
    """The recomputed values of the radars: matchup, name, dimension, value, n, low, high, games."""
    run, pooling, logged_only = READINGS[reading]
    table = score_table(facts, [run], logged_only)
    games = table.groupby(PLAYER).match.nunique().rename("games").reset_index()
    return ratings.averages(table, PLAYER, pooling).merge(games, on=PLAYER)


def printed(facts: Facts) -> pd.Series:
    """The printed values of the radars. Index: matchup, name, dimension."""
    rows = facts.figure_4[facts.figure_4.measure.isin(list(DIMENSIONS))]
    return rows.rename(columns={"measure": "dimension"}).set_index(PLAYER).value


def ways(facts: Facts, tolerance: float) -> pd.DataFrame:
    """The number of printed radar values that every way of pooling gives.

    Columns: pass, pooling, turns, agree, of, furthest (largest difference).
    """
    rows = []
    for run, name in sorted(PASSES.items()):
        for logged_only in (False, True):
            table = score_table(facts, [run], logged_only)
            turns = f"1 to {LOG_TURNS} of the 90 logged games" if logged_only else "all, of all games"
            for pooling in ("turns", "games"):
                gaps = (ratings.averages(table, PLAYER, pooling).set_index(PLAYER).value - printed(facts)).abs()
                agree = int((gaps <= tolerance).sum())
                rows.append((name, pooling, turns, agree, len(printed(facts)), gaps.max()))
    return pd.DataFrame(rows, columns=["pass", "pooling", "turns", "agree", "of", "furthest"])


def outcomes(facts: Facts) -> pd.DataFrame:
    """Figure 6: winners against losers of the logged persona games over all turns. A row per dimension and pass
    (`source`).

    Columns: winners, losers (means), n_winners, n_losers, delta (winners / losers - 1), low, high, p, games. Intervals
    and p are between games. p is two-sided, and not corrected for the other rows.
    """
    table = score_table(facts)
    table = table[table.group.isin(PERSONAS)]
    keys = ["repetition", "dimension"]
    games = table.groupby(keys).match.nunique().rename("games").reset_index()
    results = ratings.outcomes(table, keys).merge(games, on=keys).set_index(keys)
    order = [(run, dimension) for run in PASSES for dimension in DIMENSIONS]
    results = results.reindex([key for key in order if key in results.index]).reset_index()
    return results.assign(source=results.repetition.map(PASSES)).drop(columns=["repetition", "difference"])


def retest(facts: Facts) -> pd.DataFrame:
    """Agreement of the assessor's two passes on the same game, turn and player. A row per dimension, and one for all.

    Columns: dimension, n, mae, same (share of equal scores), correlation (Pearson), alpha (Krippendorff, interval),
    first, second (means).
    """
    both = score_table(facts)
    both = pd.concat([both.assign(part=both.dimension), both.assign(part="all")])
    measured = ratings.reliability(both, between="repetition", by=["rater", "part"])
    units = both.pivot(index=["part", *ratings.UNIT], columns="repetition", values="value").dropna().groupby("part")
    results = measured.pivot(index="part", columns="metric", values="value").rename(columns={"agreement": "same"})
    correlation = units.apply(lambda pairs: pairs[1].corr(pairs[2]))
    results = results.assign(n=units.size(), correlation=correlation, first=units[1].mean(), second=units[2].mean())
    columns = ["n", "mae", "same", "correlation", "alpha", "first", "second"]
    return results.reindex(index=[*DIMENSIONS, "all"], columns=columns).rename_axis("dimension").reset_index()


def coverage(facts: Facts) -> pd.DataFrame:
    """The number of scores of each pass: due (players x logged turns x dimensions), scored, beyond (of a turn 13, which
    no log has), nought (the share of 0 among those of turn 13), other (of games without a log).
    """
    table = facts.scores.assign(other=~facts.scores.game.isin(facts.players.match))
    table["beyond"] = ~table.other & (table.turn > LOG_TURNS)
    table["nought"] = table.score.eq(0).astype(float).where(table.beyond)
    table["scored"] = ~table.other & ~table.beyond
    counts = table.groupby("pass").agg({"scored": "sum", "beyond": "sum", "nought": "mean", "other": "sum"})
    counts.insert(0, "due", int(facts.players.logged.sum()) * len(DIMENSIONS))
    return counts.rename(index=PASSES).reset_index()
