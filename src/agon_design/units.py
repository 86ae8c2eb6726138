"""What is compared: matches with a condition, the seats that count for it, and the strata in which two conditions meet."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from agon.conf import offered
from agon.errors import AgonError
from agon.metrics.differences import Cells
from agon.turns import replaced

USUAL = ["match", "game", "variant", "seat", "role", "agent", "model"]
"""What turns say of a seat of a match."""
OF_SEAT = ["game", "variant", "seat", "role", "agent", "model", "opponent", "opponent_model"]
"""What tells a seat's matches apart; conditions are compared within it."""


def units_of(
    turns: pd.DataFrame, games: pd.DataFrame, column: str, strata: Sequence[str], wanted: Collection[str]
) -> pd.DataFrame:
    """One row per match that has a condition: match, condition, seat_of (the seats that count for it), and all that `strata` may be.

    `both`: whether another condition sits at the table too. All values are texts. Raises AgonError.
    """
    opponents = ["opponent", "opponent_model"]
    columns = [each for each in dict.fromkeys([*USUAL, column, *strata]) if each not in opponents]
    if unknown := [each for each in columns if each not in turns]:
        raise AgonError(f"turns have no column {unknown[0]!r}: {offered(unknown[0], [*map(str, turns), *opponents])}")
    for each in [each for each in columns if each not in USUAL]:
        if turns.groupby(["match", "seat"], observed=True)[each].nunique(dropna=False).max() > 1:
            raise AgonError(f"{each} has several values for one seat of a match: conditions and strata have one")
    seats = turns[columns].drop_duplicates(["match", "seat"]).sort_values(["match", "seat"])
    tested, kept = _tested(games), list(dict.fromkeys(["match", *strata]))
    seats = _texts(seats)
    if wanted and column in seats:  # others are not looked at
        seats = seats[seats["match"].isin(set(seats["match"][seats[column].isin(wanted)]))]
    found = []
    for under_test, compared in _compared(seats, tested):
        able = [row for row in compared if (row[column] in wanted if wanted else row[column])]
        if able:
            first = able[0]
            same = [row["seat"] for row in able if row[column] == first[column]]
            of = {
                "condition": first[column],
                "seat_of": same if under_test else same[:1],
                "both": len(same) < len(able),
            }
            found.append({each: first[each] for each in kept} | of)
    return pd.DataFrame(found, columns=[*kept, "condition", "seat_of", "both"])


def players(turns: pd.DataFrame, games: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat that is compared, those under test or else all: USUAL, opponent and opponent_model, as texts."""
    seats = turns[USUAL].drop_duplicates(["match", "seat"]).sort_values(["match", "seat"])
    return pd.DataFrame([row for _, rows in _compared(_texts(seats), _tested(games)) for row in rows])


def _texts(seats: pd.DataFrame) -> pd.DataFrame:
    seats = seats.astype(dict.fromkeys(seats.columns.drop("seat"), "str")).astype(object)
    return seats.where(seats.notna(), "")


def _compared(
    seats: pd.DataFrame, tested: Mapping[tuple[str, str], Collection[int]]
) -> Iterator[tuple[Collection[int], list[dict[str, Any]]]]:
    """Match by match the seats under test, and those that are compared, with their opponents."""
    for _, group in groupby(seats.to_dict("records"), key=itemgetter("match")):
        rows = [*group]
        under_test = tested.get((rows[0]["game"], rows[0]["variant"]), ())
        yield (
            under_test,
            [_beside(row, rows, under_test) for row in rows if not under_test or row["seat"] in under_test],
        )


def _beside(row: dict[str, Any], rows: Sequence[Mapping[str, Any]], under_test: Collection[int]) -> dict[str, Any]:
    """A seat with its opponents: all others, or where it is under test those that are not."""
    own = under_test if row["seat"] in under_test else (row["seat"],)
    others = [each for each in rows if each["seat"] not in own]
    if len(others) == 1:
        return row | {"opponent": others[0]["agent"], "opponent_model": others[0]["model"]}
    agents, models = (sorted({each[name] for each in others} - {""}) for name in ("agent", "model"))
    return row | {"opponent": "+".join(agents), "opponent_model": "+".join(models)}


def _tested(games: pd.DataFrame) -> dict[tuple[str, str], Sequence[int]]:
    """The seats under test, by game and variant."""
    return {(row.game, row.variant): list(row.tested) for row in games.itertuples(index=False)}


def in_both(units: pd.DataFrame, name: str, pair: tuple[str, str], strata: Sequence[str]) -> tuple[pd.DataFrame, Cells]:
    """What the strata that have both conditions share, a row each, and the values of the two."""
    rows = units[units.condition.isin(pair) & units[name].notna()]
    if rows.empty:  # neither plays what the metric is of
        return rows[list(strata)], []
    codes = rows.groupby(list(strata), sort=True).ngroup().to_numpy() * 2 + (rows.condition == pair[1]).to_numpy()
    order = np.argsort(codes, kind="stable")
    there, starts = np.unique(codes[order], return_index=True)
    parts = dict(zip(there.tolist(), np.split(rows[name].to_numpy(dtype=float)[order], starts[1:]), strict=True))
    both = [code for code in there.tolist() if code % 2 == 0 and code + 1 in parts]
    firsts = rows[list(strata)].iloc[order[starts[np.searchsorted(there, both)]]]
    return firsts.reset_index(drop=True), [(parts[code], parts[code + 1]) for code in both]


def silent_matches(turns: pd.DataFrame) -> pd.Index:
    """The matches in which a seat that was asked gave no answer of its own."""
    asked = turns[turns.asked]
    own = asked.action.notna() & ~replaced(asked)
    answered = own.groupby([asked["match"], asked.seat], observed=True).any().groupby("match", observed=True).all()
    return answered.index[~answered].astype("str")
