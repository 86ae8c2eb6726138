"""Results of people, or of any other agent, against each kind of opponent."""

import pandas as pd

from agon.metrics.interval import summary
from agon.turns import matches


def head_to_head(turns: pd.DataFrame, agent: str = "human") -> pd.DataFrame:
    """One row per game, variant and kind of opponent: the results of the seats of `agent` against it.

    `agent`: agent, or agent@model. Columns: game, variant, opponent (agent, or agent@model), matches, points and theirs
    (per round, means over matches and over opponents of a kind), ahead (points minus theirs), low and high (its 95 %
    interval; absent for a single match, or if all matches are equal), won (share of matches in which no seat had more),
    left_out (matches of that game, with any opponent, in which an action was replaced; no other column counts them).
    Empty if nobody of that name played.
    """
    seats = matches(turns)
    spoilt = seats.groupby("match", observed=True).replaced.transform("max") > 0
    seats = seats.assign(player=players(seats))
    own_seats = (seats.agent == agent) | (seats.player == agent)
    left_out = seats[spoilt & own_seats].groupby(["game", "variant"], observed=True).match.nunique()
    seats, own_seats = seats[~spoilt].assign(points=lambda table: table.total / table.rounds), own_seats[~spoilt]
    own_rows = seats.loc[own_seats, ["match", "game", "variant", "seat", "points", "won"]]
    others = seats[["match", "seat", "player", "points"]].rename(
        columns={"seat": "other", "player": "opponent", "points": "theirs"}
    )
    meetings = own_rows.merge(others, on="match")
    meetings = meetings[meetings.seat != meetings.other].assign(ahead=lambda table: table.points - table.theirs)
    keys = ["game", "variant", "opponent"]
    match_means = meetings.groupby([*keys, "match"], observed=True, as_index=False)[
        ["points", "theirs", "ahead", "won"]
    ].mean()
    table = summary(match_means, ["points", "theirs", "ahead", "won"], keys)
    wide = table.pivot(index=keys, columns="metric", values="value").rename_axis(columns=None)
    ahead = table[table.metric == "ahead"].set_index(keys)[["n", "low", "high"]].rename(columns={"n": "matches"})
    columns = ["matches", "points", "theirs", "ahead", "low", "high", "won", "left_out"]
    table = wide.join(ahead).reset_index().merge(left_out.rename("left_out"), on=["game", "variant"], how="left")
    return table.fillna({"left_out": 0}).astype({"left_out": int}).reindex(columns=[*keys, *columns])


def players(turns: pd.DataFrame) -> pd.Series:
    """The player of each row: agent, or agent@model."""
    model = ("@" + turns.model.astype("str")).where(turns.model.notna(), "")
    return turns.agent.astype("str") + model
