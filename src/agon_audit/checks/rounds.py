"""Rounds, seats and players that are missing, there twice, or in another place."""

from itertools import islice

import numpy as np
import pandas as pd

from agon_audit.checks.base import KEPT, RARE, VOID, Case, Found, check, skip, where
from agon_audit.turns import CHANCE_SEAT

SHOWN = 5
"""So many missing rounds of a match are named."""


@check(
    "replay",
    "matches that cannot be played by the rules",
    "rules of another variant, rows that are missing, or a forfeit",
)
def replay(case: Case) -> Found:
    """The first move of a match that does not fit."""
    faults = case.payment.faults
    looked = case.games.rows.match[(case.payment.legal == 1) & ~case.has_table].nunique() or len(faults)
    if not looked:
        return skip("no match was replayed move by move")
    fault = pd.Series(faults, dtype="str").reindex(range(len(case.games.rows)))
    return where(case, fault.notna().to_numpy(), looked, "{fault}", fault=fault.array)


def _spans(case: Case) -> pd.DataFrame:
    """Number of rounds of each match, how many there must be (NaN: not fixed), and the first number of a round in the file (`base`).

    Rounds before the first one in which a player acts do not count. A later round may have a chance event alone.
    """
    rows = case.games.rows.assign(fixed=case.rounds)
    start = rows["round"].where(rows.seat != CHANCE_SEAT).groupby(rows.file, observed=True).transform("min")
    rows = rows.assign(base=start)[rows["round"] >= start]
    by_match = rows.groupby("match", observed=True, sort=False)
    return by_match.agg(
        first=("round", "min"),
        last=("round", "max"),
        n=("round", "nunique"),
        fixed=("fixed", "first"),
        base=("base", "first"),
    )


@check(
    "rounds_missing",
    "matches with missing rounds",
    "a crash that was continued, or a match that ended early on purpose",
)
def rounds_missing(case: Case) -> Found:
    """Gaps in the numbers of rounds, and rounds of the rules that the match does not have."""
    rows, spans = case.games.rows, _spans(case)
    if not case.games.mapping.round:
        return skip("rounds have no numbers")
    spans["wanted"] = spans.fixed.fillna(spans["last"] - spans.base + 1)
    short = spans[spans.wanted > spans.n]
    before, missing = short["first"].copy(), dict[str, str]()
    first_rows = rows[rows.match.isin(short.index[:KEPT])]
    for match, played in first_rows.groupby("match", observed=True, sort=False)["round"]:
        span, present = short.loc[match], {*played}
        absent = (number for number in range(int(span.base), int(span.base + span.wanted)) if number not in present)
        first, *others = islice(absent, SHOWN + 1)
        if first - 1 in present:
            before[match] = first - 1
        names = ", ".join([*map(str, [first, *others][:SHOWN]), *(["..."] if len(others) == SHOWN else [])])
        verb = "rounds {} are" if others else "round {} is"
        missing[str(match)] = f"{verb.format(names)} missing: it has {span.n:.0f} of {span.wanted:.0f} rounds"
    mask = rows["round"].eq(rows.match.map(before).astype(float)) & ~rows.duplicated(["match", "round"])
    words = pd.Series(missing, dtype="str").reindex(rows.match.astype("str")).fillna("rounds are missing")
    return where(case, mask.to_numpy(), len(spans), "{words}", words=words.array)


@check("rounds_beyond", "rounds after the end of the match", "a number of rounds of another variant")
def rounds_beyond(case: Case) -> Found:
    """Rounds that the rules do not have."""
    rows, known = case.games.rows, int((~np.isnan(case.rounds)).sum())
    base = rows.match.map(_spans(case).base).astype(float)
    mask = rows["round"] - base + 1 > case.rounds
    return (
        where(case, mask, known, "it is after the last round") if known else skip("the rules fix no number of rounds")
    )


@check("rounds_repeated", "rounds that are there twice", "two matches with one name, or a log that was written twice")
def rounds_repeated(case: Case) -> Found:
    """Two rows with the same match, round and seat."""
    rows = case.games.rows
    key = ["match", "round", "seat"]
    mask = rows.duplicated(key) & (rows.seat != CHANCE_SEAT)
    action = rows.action.astype("str").fillna(VOID) if "action" in rows else pd.Series("it is", rows.index)
    twice = rows.assign(action=action)[rows.duplicated(key, keep=False)].groupby(key, observed=True, sort=False)
    first = twice[["line", "action"]].transform("first").reindex(rows.index)
    words = "the round is there again: {said:.40} here, and {before:.40} in line {first:.0f}"
    return where(case, mask, len(rows), words, said=action, before=first.action, first=first.line)


@check("rounds_order", "rounds out of order", "a log that several processes wrote")
def rounds_order(case: Case) -> Found:
    """A row with a smaller round than the row before of the same match and seat."""
    rows = case.games.rows
    before = rows.groupby(["match", "seat"], observed=True, sort=False)["round"].shift()
    return where(case, rows["round"] < before, len(rows), "it comes after round {before:.0f}", before=before)


@check("seats", "rounds in which a seat is missing", "rows that were left out because an answer could not be read")
def seats(case: Case) -> Found:
    """Rounds with fewer seats than the match has elsewhere."""
    rows, group = case.games.rows, case.games.group
    present = ~rows.duplicated(["match", "round", "seat"]) & (rows.seat != CHANCE_SEAT)
    number = present.groupby(group).transform("sum")
    most = number.groupby(rows.match.cat.codes).transform("max")
    first = ~pd.Series(group).duplicated().to_numpy()
    mask, inferred = first & (number < most).to_numpy(), first & ~case.has_table
    if (mask & inferred).sum() > RARE * inferred.sum():
        mask, first = mask & ~inferred, first & ~inferred
    if not first.any():
        return skip("seats take turns, so a round does not have all of them")
    return where(case, mask, int(first.sum()), "{number} of {most} seats are there", number=number, most=most)


@check(
    "players",
    "seats whose player changes within a match",
    "two matches with one name, or an exchange on purpose",
    "player",
)
def players(case: Case) -> Found:
    """Another player than in the first row of the match and seat."""
    rows, codes = case.games.rows, case.games.rows.player.cat.codes
    first = codes.groupby([rows.match, rows.seat], observed=True, sort=False).transform("first")
    names = pd.Series([*rows.player.cat.categories, "nobody"], dtype=object)
    return where(case, codes != first, len(rows), "{player}, and before {before}", before=names.iloc[first].array)
