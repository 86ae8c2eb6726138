"""Results of people, or of any other agent, against each kind of opponent; and people beside models, in the cells of a study."""

import json
from collections.abc import Sequence

import pandas as pd

from agon.metrics.interval import summary
from agon.turns import action_of, matches, tidy


def head_to_head(turns: pd.DataFrame, agent: str = "human") -> pd.DataFrame:
    """One row per game, variant and kind of opponent: how the seats of `agent` did at its tables.

    `agent`: as agent, or as agent@model. Columns: game, variant, opponent (as agent, or agent@model), matches, points and theirs (per
    round, means over matches; of several opponents of a kind the mean), ahead (points minus theirs), low and high (its 95 % interval;
    absent for a single match, and where all are alike), won (share of matches in which no seat had more), left_out (matches, with
    opponents of all kinds in that game, in which something was done in somebody's stead: they count for nothing else). Empty where
    nobody of that name played.
    """
    seats = matches(turns)
    spoilt = seats.groupby("match", observed=True).replaced.transform("max") > 0
    seats = seats.assign(player=players(seats))
    own_seats = (seats.agent == agent) | (seats.player == agent)
    left_out = seats[spoilt & own_seats].groupby(["game", "variant"], observed=True).match.nunique()
    seats, own_seats = seats[~spoilt].assign(points=lambda table: table.total / table.rounds), own_seats[~spoilt]
    own = seats.loc[own_seats, ["match", "game", "variant", "seat", "points", "won"]]
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


PEOPLE = "people"
"""What people are called beside models."""
ALIKE = ["game", "variant", "rules", "others"]
"""What has to be the same of people and models in a cell, beside its name: the others by seat."""


def players(turns: pd.DataFrame) -> pd.Series:
    """Who sat there, by row: as agent, or as agent@model."""
    model = ("@" + turns.model.astype("str")).where(turns.model.notna(), "")
    return turns.agent.astype("str") + model


def in_their_cells(turns: pd.DataFrame, subjects: pd.DataFrame) -> pd.DataFrame:
    """One row per subject of a study and match, of people or of models. `subjects`: match, seat, cell; other seats are those they met.

    Columns: cell, match, seat; game, variant, rules; others (who else sat there, by seat, from 1; of other subjects nothing but that
    they are some); who (people, or agent@model; where subjects of several kinds met, with whom); points (in the match), readable (the
    share of its decisions that counted, in percent) and first (the share of those that were the first of the actions, in percent;
    absent where there are not the same two or more actions throughout). Subjects whose match is not among `turns` have no row.
    """
    turns = tidy(turns)
    turns = turns.assign(match=turns.match.astype("str"), player=players(turns).replace("human", PEOPLE))
    cell = {(match, seat): name for match, seat, name in subjects[["match", "seat", "cell"]].itertuples(index=False)}
    found = []
    for match, rows in turns[turns.match.isin(set(subjects.match))].groupby("match", sort=False):
        seated = rows.drop_duplicates("seat").sort_values("seat").set_index("seat").player
        about = {seat: (match, seat) in cell for seat in seated.index}
        others = ", ".join(f"seat {seat + 1}: {'a subject' if about[seat] else seated[seat]}" for seat in seated.index)
        for seat, own in rows.groupby("seat"):
            if about[seat]:
                met = sorted({seated[each] for each in seated.index if about[each]} - {seated[seat]})
                what = own.iloc[0][["game", "variant", "rules"]].to_dict()
                who = f"{seated[seat]} with {' and '.join(met)}" if met else seated[seat]
                key = {"cell": cell[match, seat], "match": match, "seat": seat, **what, "others": others, "who": who}
                found.append(key | _did(own))
    columns = ["cell", "match", "seat", *ALIKE, "who", "points", "readable", "first"]
    return pd.DataFrame(found, columns=columns).astype(dict.fromkeys(("points", "readable", "first"), "float"))


def _did(own: pd.DataFrame) -> dict[str, float | None]:
    """Measures of the rows of one seat in one match."""
    asked = own[own.legal.notna()]
    counted = asked[asked.valid & asked.action.notna() & asked.fallback.eq("")]
    spaces = {str(space) for space in asked.legal}
    actions: Sequence[object] = json.loads(spaces.pop()).get("choice", ()) if len(spaces) == 1 else ()
    first = [action_of(action) == actions[0] for action in counted.action] if len(actions) > 1 else []
    return {
        "points": own.payoff.sum(),
        "readable": 100 * len(counted) / len(asked) if len(asked) else None,
        "first": 100 * sum(first) / len(first) if first else None,
    }


def counterparts(people: pd.DataFrame, models: pd.DataFrame, cells: Sequence[str]) -> pd.DataFrame:
    """One row per cell: cell, people and models (subjects, by `in_their_cells`), and why these are not put side by side; empty: they are.

    They are where both played the cell, in the same game, variant and rules, against the same others in the same seats.
    """
    found = []
    for name in [*dict.fromkeys([*cells, *people.cell, *models.cell])]:
        ours, theirs = people[people.cell == name], models[models.cell == name]
        why = [f"no {who} in this cell" for who, own in ((PEOPLE, ours), ("models", theirs)) if own.empty]
        had, have = ({column: _values(own, column) for column in ALIKE} for own in (ours, theirs))
        if not why:
            why = [f"{each}: {PEOPLE} {had[each]}; models {have[each]}" for each in ALIKE if had[each] != have[each]]
        found.append({"cell": name, PEOPLE: len(ours), "models": len(theirs), "why": "; ".join(why)})
    return pd.DataFrame(found, columns=["cell", PEOPLE, "models", "why"])


def _values(table: pd.DataFrame, column: str) -> str:
    return " or ".join(sorted({str(value) for value in table[column]}))
