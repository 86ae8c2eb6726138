"""Metrics of this study: pure functions from tables to tables. They read no files."""

import pandas as pd

from agon.turns import decoded, replaced


def forgiveness(turns: pd.DataFrame) -> pd.DataFrame:
    """How often seat 0 cooperated in the round after the other player did not: a row per match, with agent, opponent, value and n (rounds).

    A round without an action of seat 0 does not count. A match without any such round has no row.
    """
    kind = decoded(turns.action).astype("str").eq("cooperation").where(turns.action.notna() & ~replaced(turns))
    seats = turns.assign(kind=kind).pivot(index=["match", "round"], columns="seat", values="kind")
    before = seats.groupby("match", observed=True)[1].shift()
    answers = seats[before.eq(False) & seats[0].notna()][0].astype(float)
    rates = answers.groupby("match", observed=True).agg(value="mean", n="size").reset_index()
    who = turns.drop_duplicates(["match", "seat"]).pivot(index="match", columns="seat", values="agent")
    return rates.assign(agent=rates.match.map(who[0]), opponent=rates.match.map(who[1]))
