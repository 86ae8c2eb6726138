"""Counts of players' actions by agon's own metrics, and the bars of Figures 4 j, 4 k and 5 that follow from them."""

import numpy as np
import pandas as pd

from agon.metrics.interval import RATE, SHARE, ratio_interval
from agon_papers.tradecraft.facts import LIMIT, LOG_TURNS, PERSONAS, Facts

MEASURES = ("invalid_behaviour", "rejection", "turns")
SUM_FACTORS = {"rejection": 1.0, "turns": 0.5}
"""Reconciled: a persona's bar is not the mean of its players but their sum times this factor."""

SHARES = {
    "refusals": ("refused", "logged"),
    "violations": ("violations", "logged"),
    "checks": ("checks", "logged"),
    "bad_checks": ("bad_checks", "logged"),
    "bad_proposals": ("bad_proposals", "logged"),
    "rejection": ("rejected", "decisions"),
    "chosen": ("chosen_reject", "chosen"),
    "turns": ("length", "one"),
    "wins": ("won", "one"),
}
"""Measure of `rates` -> (numerator, denominator), columns of `Facts.counts`."""
ONCE = {"rejection", "chosen", "wins"}
"""Measures that count events which happen at most once. Other events can happen several times in a turn."""


def rates(facts: Facts) -> pd.DataFrame:
    """Rates by model or persona over all turns: group, measure, value, n, games, low, high.

    refusals: refused calls per turn. violations: the same with empty proposals. checks: craft checks per turn.
    rejection: the share of received proposals that took effect as rejected. chosen: the same without defaults. turns:
    logged turns, or 15 if the log breaks off. wins: the share of games. Intervals are between games.
    """
    rows = []
    for group, part in facts.counts.groupby("group", sort=True):
        games = part.groupby("match", sort=True).sum(numeric_only=True)
        for measure, (above, below) in SHARES.items():
            if total := games[below].sum():
                limits = SHARE if measure in ONCE else RATE
                hits, n = games[[above, below]].to_numpy(dtype=float).T
                ends = ratio_interval(hits, n, limits=limits)
                rows.append((group, measure, games[above].sum() / total, int(total), len(games), *ends))
    return pd.DataFrame(rows, columns=["group", "measure", "value", "n", "games", "low", "high"])


def unlogged(facts: Facts) -> pd.DataFrame:
    """`Facts.counts` with bounds of the turns that the logs lack (least, most) and of a seat's decisions in them (few,
    many).

    A log that breaks off has the heading of turn 13. A game without a winner went on to the limit. One with a winner
    ended at turn 13, 14 or 15. In odd turns seat 0 proposes and seat 1 decides.
    """
    table = facts.counts
    won = table.groupby("match").won.transform("any")
    most = np.where(table.cut, LIMIT - LOG_TURNS, 0)
    least = np.where(won & table.cut, 1, most)
    few, many = ((turns + table.seat) // 2 for turns in (least, most))
    return table.assign(least=least, most=most, few=few, many=many)


def bars(facts: Facts, reading: str) -> pd.DataFrame:
    """Every bar under a reading: name, measure, statistic, value.

    Literal, by the definitions of Table 1: refused calls per turn, the share of received proposals that took effect as
    rejected, and mean turns. They are over logged turns, with 15 turns for a log that breaks off.

    Reconciled: first a rate for each player of each pair (`by_player`). The bar of a model is the mean over its two
    pairs. A persona has four players: its bars are the mean of invalid behaviour, the sum of rejections, and half the
    sum of turns. Turns that are not logged leave bounds: the statistics least and most.
    """
    columns = ["name", "measure", "statistic", "value"]
    if reading == "literal":
        measures = rates(facts).replace({"measure": {"refusals": "invalid_behaviour"}})
        measures = measures[measures.measure.isin(MEASURES)].rename(columns={"group": "name"})
        return measures.assign(statistic="mean")[columns]
    rows = []
    for name, part in by_player(facts).groupby("group"):
        weights = dict.fromkeys(MEASURES, 1 / len(part)) | (SUM_FACTORS if name in PERSONAS else {})
        for measure, weight in weights.items():
            rows += [(name, measure, end, weight * part[f"{measure}_{end}"].sum()) for end in ("least", "most")]
    return pd.DataFrame(rows, columns=columns)


def by_player(facts: Facts) -> pd.DataFrame:
    """The parts of the bars, a row per player of a pair: matchup, name, group, games, and bounds (least, most) of each
    measure.

    Invalid behaviour: all craft checks and the refused proposals, per turn. Rejections: decisions whose text says
    reject. Turns: the turns of a game without a log are added to those of its pair, which are then divided by ten
    games.
    """
    table = unlogged(facts)
    table["short"] = table.turns.mask(table.cut, LOG_TURNS)
    players = table.groupby(["matchup", "name", "group"], sort=True)
    columns = ["checks", "bad_checks", "bad_proposals", "decisions", "said_reject", "logged", "short"]
    sums = players[[*columns, "least", "most", "few", "many"]].sum().assign(games=players.size())
    extra = facts.games[~facts.games.logged].groupby("matchup").turns.sum()
    turns = sums.short + sums.index.get_level_values("matchup").map(extra).fillna(0)
    invalid = sums.checks + sums.bad_proposals
    return sums.assign(
        invalid_behaviour_least=invalid / (sums.logged + sums.most),
        invalid_behaviour_most=(invalid + busiest(facts) * sums.most) / (sums.logged + sums.most),
        rejection_least=sums.said_reject / (sums.decisions + sums.many),
        rejection_most=(sums.said_reject + sums.many) / (sums.decisions + sums.many),
        turns_least=(turns + sums.least) / sums.games,
        turns_most=(turns + sums.most) / sums.games,
    ).reset_index()


def busiest(facts: Facts) -> int:
    """The most craft checks and refused proposals of one player in one logged turn."""
    calls = facts.calls
    counts = calls[(calls.tool == "craft_check") | ((calls.tool == "submit_proposal") & ~calls.ok)]
    return max(counts.groupby(["match", "round", "seat"]).size(), default=0)


DEFINITIONS = {
    "refused calls": ["refused"],
    "refused checks": ["bad_checks"],
    "refused proposals": ["bad_proposals"],
    "all checks": ["checks"],
    "all checks and refused proposals": ["checks", "bad_proposals"],
}


def invalid_definitions(facts: Facts) -> pd.DataFrame:
    """Possible definitions of "invalid": definition, name, value (per logged turn, mean over the pairs), printed,
    needed, possible.

    needed: the number in each turn that is not logged, if this definition gave the printed bar (for logs that break
    off, the game ran to the limit). It is possible if it is not negative and not beyond the busiest logged turn.
    """
    bar = facts.figure_4[facts.figure_4.measure == "invalid_behaviour"].set_index("name").value
    limit = busiest(facts)
    table = unlogged(facts)
    rows = []
    for definition, columns in DEFINITIONS.items():
        pairs = table.groupby(["group", "matchup", "name"])[[*columns, "logged", "most"]].sum()
        for name, part in pairs.groupby(level="group"):
            count, all_turns = part[columns].sum(axis=1), part.logged + part.most
            missing = bar[name] * len(part) - (count / all_turns).sum()
            weight = (part.most / all_turns).sum()
            missing_per_turn = missing / weight if weight else np.nan
            possible = bool(0 <= missing_per_turn <= limit)
            rows.append((definition, name, (count / part.logged).mean(), bar[name], missing_per_turn, possible))
    return pd.DataFrame(rows, columns=["definition", "name", "value", "printed", "needed", "possible"])


def heads(facts: Facts) -> pd.DataFrame:
    """Figure 5: a row per matchup: one, other (the players), games, only_one, only_other, both, neither."""
    rows = []
    for matchup, part in facts.players.groupby("matchup", sort=True):
        won = part.pivot(index="match", columns="name", values="won").astype(bool)
        one, other = won.columns
        rows.append((matchup, one, other, len(won), *split(won[one], won[other])))
    columns = ["matchup", "one", "other", "games", "only_one", "only_other", "both", "neither"]
    return pd.DataFrame(rows, columns=columns)


def head_to_head(facts: Facts, one: str, other: str) -> list[int] | None:
    """Number of games between two models or personas that one alone, the other alone, both, or neither won.

    None: they played none.
    """
    sides = facts.players.set_index("match")
    won, won_by_other = (sides[(sides.group == a) & (sides.against == b)].won for a, b in ((one, other), (other, one)))
    return split(won, won_by_other) if len(won) else None


def split(one: pd.Series, other: pd.Series) -> list[int]:
    """Number of games that one alone, the other alone, both, or neither won.

    Inputs: for every game, whether the player won it.
    """
    return [int(games.sum()) for games in (one & ~other, other & ~one, one & other, ~(one | other))]
