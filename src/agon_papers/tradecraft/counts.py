"""What players did, counted: refusals by kind, rejections, turns and wins; and what the bars of Figure 4 j and k make of them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from agon_papers.tradecraft.facts import LOGGED, MODELS, PERSONAS, Facts
from agon_papers.tradecraft.scores import ratio_interval

LIMIT = 15
"""Turns after which a game ends, by default."""

BARS = {"j": MODELS, "k": PERSONAS}
MEASURES = ("invalid_behaviour", "rejection", "turns")

COUNTS = {
    "checks": "craft checks",
    "bad_checks": "craft checks refused",
    "no_recipe": "craft checks refused: no such recipe, or wrong amounts",
    "not_held": "craft checks refused: not in the hand",
    "bad_crafts": "crafts refused (some were applied all the same)",
    "bad_proposals": "proposals refused",
    "bad_partner": "proposals refused: bad partner",
    "empty_proposals": "proposals of nothing for nothing",
    "proposals": "proposals sent",
    "decisions": "decisions",
    "rejected": "decisions that took effect as reject",
    "said_reject": "decisions that say reject",
    "defaults": "decisions by default",
    "chosen": "decisions that are no default",
    "chosen_reject": "decisions that are no default and say reject",
}
"""Column of `tallies` -> what it counts."""


def tallies(facts: Facts) -> pd.DataFrame:
    """A row per logged game and seat: its columns in `Facts.players`, and the COUNTS of its logged turns."""
    calls = facts.calls
    tool, refused = calls.tool, ~calls.ok
    empty = [not (call.get("offer") or call.get("request")) for call in calls.call]
    decided, default = tool == "decide", calls.default != ""
    kinds: Mapping[str, pd.Series] = {
        "checks": tool == "craft_check",
        "bad_checks": (tool == "craft_check") & refused,
        "no_recipe": (tool == "craft_check") & (calls.fault == "no such recipe"),
        "not_held": (tool == "craft_check") & (calls.fault == "not in the hand"),
        "bad_crafts": (tool == "craft_apply") & refused,
        "bad_proposals": (tool == "submit_proposal") & refused,
        "bad_partner": (tool == "submit_proposal") & (calls.fault == "bad partner"),
        "empty_proposals": (tool == "submit_proposal") & pd.Series(empty, index=calls.index),
        "proposals": (tool == "submit_proposal") & calls.ok,
        "decisions": decided,
        "rejected": decided & (calls.effect == "reject"),
        "said_reject": decided & (calls.decision == "reject"),
        "defaults": decided & default,
        "chosen": decided & ~default,
        "chosen_reject": decided & ~default & (calls.decision == "reject"),
    }
    found = pd.DataFrame(kinds).groupby([calls.match, calls.seat]).sum().astype("int64").reset_index()
    return facts.players.merge(found, on=["match", "seat"], validate="one_to_one")


SHARES = {
    "refusals": ("refused", "logged"),
    "checks": ("checks", "logged"),
    "bad_checks": ("bad_checks", "logged"),
    "bad_proposals": ("bad_proposals", "logged"),
    "rejection": ("rejected", "decisions"),
    "chosen": ("chosen_reject", "chosen"),
    "turns": ("length", "one"),
    "wins": ("wins", "one"),
}
"""Measure of `rates` -> what is counted, over what: columns of `lengths`."""


def lengths(counted: pd.DataFrame) -> pd.DataFrame:
    """`tallies` with refused (all refused calls), length (turns; 15 where the log breaks off), one and wins."""
    return counted.assign(
        refused=counted.bad_checks + counted.bad_crafts + counted.bad_proposals,
        length=counted.turns.where(~counted.cut.astype(bool), LIMIT),
        one=1,
        wins=counted.won.astype(int),
    )


def rates(counted: pd.DataFrame, by: str = "group") -> pd.DataFrame:
    """Rates by model or persona, turns pooled: key, measure, value, n, games, low, high (games resampled).

    refusals: refused calls (checks, crafts, proposals) per turn. checks: craft checks per turn. rejection: share of received proposals that
    took effect as rejected; chosen: the same without defaults. turns: logged, and 15 where the log breaks off. wins: share of games.
    """
    table = lengths(counted)
    rows = []
    for key, part in table.groupby(by, sort=True):
        games = part.groupby("match", sort=True)[["refused", *COUNTS, "logged", "length", "one", "wins"]].sum()
        for measure, (above, below) in SHARES.items():
            if total := games[below].sum():
                ends = ratio_interval(games[above].to_numpy(dtype=float), games[below].to_numpy(dtype=float))
                rows.append((key, measure, games[above].sum() / total, int(total), len(games), *ends))
    return pd.DataFrame(rows, columns=[by, "measure", "value", "n", "games", "low", "high"])


def unlogged(counted: pd.DataFrame) -> pd.DataFrame:
    """Turns that the logs lack, at least and at most, and the decisions that a seat takes in them: match, seat, least, most, few, many.

    A log that breaks off has the heading of turn 13. A game without a winner went on to the limit, one with a winner ended at 13 to 15.
    Seat 0 proposes in odd turns, seat 1 decides then.
    """
    won = counted.groupby("match").won.transform("any")
    most = np.where(counted.cut.astype(bool), LIMIT - LOGGED, 0)
    least = np.where(won & counted.cut.astype(bool), 1, most)
    decides = {seat: np.array([0, 1 - seat, 1, 2 - seat]) for seat in (1, 0)}
    few, many = (np.where(counted.seat == 1, decides[0][end], decides[1][end]) for end in (least, most))
    return counted[["match", "seat"]].assign(least=least, most=most, few=few, many=many)


def bars(facts: Facts, counted: pd.DataFrame, reading: str) -> pd.DataFrame:
    """Every bar under a reading: panel, name, measure, statistic, value.

    Literal, as Table 1 defines them: refused calls per turn, the share of received proposals that took effect as rejected, mean turns; over
    the logged turns, with 15 turns for a log that breaks off. Reconciled: see `as_done`.
    """
    if reading == "reconciled":
        return as_done(facts, counted)
    found = rates(counted).set_index(["group", "measure"]).value
    names = dict(zip(MEASURES, ("refusals", "rejection", "turns"), strict=True))
    rows = [
        (panel, name, measure, "mean", found.get((name, names[measure]), np.nan))
        for panel, groups in BARS.items()
        for measure in MEASURES
        for name in groups
    ]
    return pd.DataFrame(rows, columns=["panel", "name", "measure", "statistic", "value"])


def as_done(facts: Facts, counted: pd.DataFrame) -> pd.DataFrame:
    """What the bars show: panel, name, measure, statistic (least and most, as unlogged turns leave it open), value.

    First a rate for each player of each pair; then, for models, the mean over its two pairs; for personas, over its four, the mean of
    invalid behaviour, but the sum of rejections and half the sum of turns. Invalid behaviour: all craft checks, refused or not, and the
    refused proposals, per turn. Rejections: as spelled. Turns: those of the game without a log are added to its pair's, over ten games.
    """
    players = by_player(facts, counted)
    rows: list[tuple[str, str, str, str, float]] = []
    for panel, groups in BARS.items():
        for name in groups:
            part = players[players.group == name]
            if part.empty:
                continue
            mean = 1 / len(part)
            weights = {"invalid_behaviour": mean, "rejection": mean, "turns": mean}
            if panel == "k":
                weights |= {"rejection": 1.0, "turns": 0.5}
            rows += [
                (panel, name, measure, end, weight * part[f"{measure}_{end}"].sum())
                for measure, weight in weights.items()
                for end in ("least", "most")
            ]
    return pd.DataFrame(rows, columns=["panel", "name", "measure", "statistic", "value"])


def by_player(facts: Facts, counted: pd.DataFrame) -> pd.DataFrame:
    """A row per player of a pair: matchup, name, group, games, and what the bars are made of; least and most where turns are not logged."""
    table = counted.merge(unlogged(counted), on=["match", "seat"])
    table["short"] = table.turns.where(~table.cut.astype(bool), LOGGED)
    keys = ["matchup", "name", "group"]
    columns = ["checks", "bad_checks", "bad_proposals", "decisions", "said_reject", "logged", "short"]
    sums = table.groupby(keys, sort=True)[[*columns, "least", "most", "few", "many"]].sum()
    games = table.groupby(keys, sort=True).size()
    extra = facts.games[~facts.games.logged].groupby("matchup").turns.sum()
    added = sums.index.get_level_values("matchup").map(extra).fillna(0)
    counted_invalid = sums.checks + sums.bad_proposals
    return sums.assign(
        games=games,
        invalid_behaviour_least=counted_invalid / (sums.logged + sums.most),
        invalid_behaviour_most=(counted_invalid + busiest(facts) * sums.most) / (sums.logged + sums.most),
        rejection_least=sums.said_reject / (sums.decisions + sums.many),
        rejection_most=(sums.said_reject + sums.many) / (sums.decisions + sums.many),
        turns_least=(sums.short + sums.least + added) / games,
        turns_most=(sums.short + sums.most + added) / games,
    ).reset_index()


def busiest(facts: Facts) -> int:
    """The most craft checks and refused proposals of one player in one logged turn."""
    calls = facts.calls
    counts = calls[(calls.tool == "craft_check") | ((calls.tool == "submit_proposal") & ~calls.ok)]
    return int(counts.groupby(["match", "round", "seat"]).size().max())


DEFINITIONS = {
    "refused calls": ("bad_checks", "bad_crafts", "bad_proposals"),
    "refused checks": ("bad_checks",),
    "refused proposals": ("bad_proposals",),
    "all checks": ("checks",),
    "all checks and refused proposals": ("checks", "bad_proposals"),
}


def invalid_definitions(facts: Facts, counted: pd.DataFrame) -> pd.DataFrame:
    """What "invalid" could count: definition, name, value (per logged turn, mean over the pairs), printed, needed, possible.

    needed: how many there would have to be in each turn that is not logged (the logs that break off ran to the limit), if the printed
    bar were this. It is possible if it is neither negative nor beyond the busiest logged turn.
    """
    bar = facts.figure_4[facts.figure_4.measure == "invalid_behaviour"]
    printed = bar.set_index("name").value.astype(float)
    limit = busiest(facts)
    table = counted.merge(unlogged(counted), on=["match", "seat"])
    rows = []
    for says, columns in DEFINITIONS.items():
        table["count"] = table[list(columns)].sum(axis=1)
        pairs = table.groupby(["group", "matchup", "name"], sort=True)[["count", "logged", "most"]].sum()
        for name, part in pairs.groupby(level="group", sort=False):
            if name not in printed.index:
                continue
            whole = part.logged + part.most
            missing = printed[name] * len(part) - (part["count"] / whole).sum()
            weight = (part.most / whole).sum()
            value = (part["count"] / part.logged).mean()
            needed = missing / weight if weight else np.nan
            rows.append((says, name, value, float(printed[name]), needed, bool(0 <= needed <= limit)))
    return pd.DataFrame(rows, columns=["definition", "name", "value", "printed", "needed", "possible"])


def heads(facts: Facts) -> pd.DataFrame:
    """Figure 5: a row per matchup with its two players by name: one, other, games, only_one, only_other, both, neither."""
    rows = []
    for matchup, part in facts.players.groupby("matchup", sort=True):
        won = part.pivot(index="match", columns="name", values="won").astype(bool)
        one, other = won.columns[0], won.columns[-1]
        counts = [(won[one] & ~won[other]), (won[other] & ~won[one]), (won[one] & won[other]), ~(won[one] | won[other])]
        rows.append((matchup, one, other, len(won), *(int(each.sum()) for each in counts)))
    columns = ["matchup", "one", "other", "games", "only_one", "only_other", "both", "neither"]
    return pd.DataFrame(rows, columns=columns)


def first_seat(facts: Facts) -> pd.DataFrame:
    """Wins by seat: problem (or all), target_0, target_1, games, first, second (games won by the seat), both."""
    table = facts.players.pivot(index=["match", "problem"], columns="seat", values=["won", "target"]).reset_index()
    table.columns = pd.Index([f"{a}_{b}" if b != "" else str(a) for a, b in table.columns])
    table = table.astype({"won_0": bool, "won_1": bool})
    rows = [(str(problem), *_seats(part)) for problem, part in table.groupby("problem", sort=True)]
    rows.append(("all", *_seats(table)))
    return pd.DataFrame(rows, columns=["problem", "target_0", "target_1", "games", "first", "second", "both"])


def _seats(part: pd.DataFrame) -> tuple[object, ...]:
    targets = [" or ".join(sorted(part[f"target_{seat}"].unique())) for seat in (0, 1)]
    wins = part.won_0.sum(), part.won_1.sum(), (part.won_0 & part.won_1).sum()
    return (*targets, len(part), *(int(count) for count in wins))
