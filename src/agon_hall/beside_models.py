"""People beside models, in the cells of a study."""

import json
from collections.abc import Sequence

import pandas as pd

from agon.metrics.people import players
from agon.turns import action_of, tidy

PEOPLE = "people"
"""Name of the group of people, beside models."""
ALIKE = ["game", "variant", "rules", "others"]
"""Columns that must be equal for people and models of a cell."""


def in_their_cells(turns: pd.DataFrame, subjects: pd.DataFrame) -> pd.DataFrame:
    """One row per subject of a study and match, of people or of models. `subjects`: match, seat, cell; other seats are their opponents.

    Columns: cell, match, seat; game, variant, rules; others (the players by seat, from 1; other subjects are called a subject); who
    (people, or agent@model; where subjects of several kinds met, with whom); points (in the match); readable (share of its decisions
    that counted, in percent); first (share of these that were the first action of the list, in percent; absent unless the same two
    or more actions were legal throughout). A subject whose match is not among `turns` has no row.
    """
    turns = tidy(turns)
    turns = turns.assign(match=turns.match.astype("str"), player=players(turns).replace("human", PEOPLE))
    cell = {(match, seat): name for match, seat, name in subjects[["match", "seat", "cell"]].itertuples(index=False)}
    subject_rows = []
    for match, rows in turns[turns.match.isin(set(subjects.match))].groupby("match", sort=False):
        player_at = rows.drop_duplicates("seat").sort_values("seat").set_index("seat").player
        is_subject = {seat: (match, seat) in cell for seat in player_at.index}
        others = ", ".join(
            f"seat {seat + 1}: {'a subject' if is_subject[seat] else player_at[seat]}" for seat in player_at.index
        )
        for seat, seat_rows in rows.groupby("seat"):
            if is_subject[seat]:
                partners = sorted(
                    {player_at[other] for other in player_at.index if is_subject[other]} - {player_at[seat]}
                )
                game = seat_rows.iloc[0][["game", "variant", "rules"]].to_dict()
                names = f"{player_at[seat]} with {' and '.join(partners)}" if partners else player_at[seat]
                key = {"cell": cell[match, seat], "match": match, "seat": seat, **game, "others": others, "who": names}
                subject_rows.append(key | _measures(seat_rows))
    columns = ["cell", "match", "seat", *ALIKE, "who", "points", "readable", "first"]
    return pd.DataFrame(subject_rows, columns=columns).astype(dict.fromkeys(("points", "readable", "first"), "float"))


def _measures(seat_rows: pd.DataFrame) -> dict[str, float | None]:
    """Points, and shares of readable and of first actions, of one seat in one match."""
    decisions = seat_rows[seat_rows.legal.notna()]
    readable = decisions[decisions.valid & decisions.action.notna() & decisions.fallback.eq("")]
    spaces = {str(space) for space in decisions.legal}
    actions: Sequence[object] = json.loads(spaces.pop()).get("choice", ()) if len(spaces) == 1 else ()
    first = [action_of(action) == actions[0] for action in readable.action] if len(actions) > 1 else []
    return {
        "points": seat_rows.payoff.sum(),
        "readable": 100 * len(readable) / len(decisions) if len(decisions) else None,
        "first": 100 * sum(first) / len(first) if first else None,
    }


def counterparts(people: pd.DataFrame, models: pd.DataFrame, cells: Sequence[str]) -> pd.DataFrame:
    """One row per cell: cell, people and models (subjects, by `in_their_cells`), and why these cannot be compared; empty: they can.

    They can where both played the cell, in the same game, variant and rules, against the same others in the same seats.
    """
    rows = []
    for name in [*dict.fromkeys([*cells, *people.cell, *models.cell])]:
        ours, theirs = people[people.cell == name], models[models.cell == name]
        why = [f"no {who} in this cell" for who, subjects in ((PEOPLE, ours), ("models", theirs)) if subjects.empty]
        people_values, model_values = (
            {column: _values(subjects, column) for column in ALIKE} for subjects in (ours, theirs)
        )
        if not why:
            why = [
                f"{column}: {PEOPLE} {people_values[column]}; models {model_values[column]}"
                for column in ALIKE
                if people_values[column] != model_values[column]
            ]
        rows.append({"cell": name, PEOPLE: len(ours), "models": len(theirs), "why": "; ".join(why)})
    return pd.DataFrame(rows, columns=["cell", PEOPLE, "models", "why"])


def _values(table: pd.DataFrame, column: str) -> str:
    return " or ".join(sorted({str(value) for value in table[column]}))
