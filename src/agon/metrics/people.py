"""Results of people, or of any other agent, against each kind of opponent."""

import pandas as pd

from agon.metrics.interval import summary
from agon.turns import matches


def head_to_head(turns: pd.DataFrame, agent: str = "human") -> pd.DataFrame:
    """One row per game, variant and kind of opponent: how the seats of `agent` did at its tables.

    Columns: game, variant, opponent (the model, or else the agent), matches, points and theirs (per round, means over matches; of
    several opponents of a kind the mean), ahead (points minus theirs), low and high (its 95 % interval; absent for a single match, and
    where all are alike), won (share of matches in which no seat had more), left_out (matches, with opponents of all kinds in that
    game, in which something was done in somebody's stead: they count for nothing else). Empty where nobody of that name played.
    """
    seats = matches(turns)
    spoilt = seats.groupby("match", observed=True).replaced.transform("max") > 0
    left_out = seats[spoilt & (seats.agent == agent)].groupby(["game", "variant"], observed=True).match.nunique()
    seats = seats[~spoilt]
    seats = seats.assign(
        points=seats.total / seats.rounds, player=seats.model.astype("str").fillna(seats.agent.astype("str"))
    )
    own = seats.loc[seats.agent == agent, ["match", "game", "variant", "seat", "points", "won"]]
    others = seats[["match", "seat", "player", "points"]].rename(
        columns={"seat": "other", "player": "opponent", "points": "theirs"}
    )
    met = own.merge(others, on="match")
    met = met[met.seat != met.other].assign(ahead=lambda table: table.points - table.theirs)
    keys = ["game", "variant", "opponent"]
    each = met.groupby([*keys, "match"], observed=True, as_index=False)[["points", "theirs", "ahead", "won"]].mean()
    found = summary(each, ["points", "theirs", "ahead", "won"], keys)
    wide = found.pivot(index=keys, columns="metric", values="value").rename_axis(columns=None)
    ahead = found[found.metric == "ahead"].set_index(keys)[["n", "low", "high"]].rename(columns={"n": "matches"})
    columns = ["matches", "points", "theirs", "ahead", "low", "high", "won", "left_out"]
    found = wide.join(ahead).reset_index().merge(left_out.rename("left_out"), on=["game", "variant"], how="left")
    return found.fillna({"left_out": 0}).astype({"left_out": int}).reindex(columns=[*keys, *columns])
