"""The units of a comparison: matches with a condition, the seats that count for it, and the strata of two conditions."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from agon.conf import suggest
from agon.errors import AgonError
from agon.metrics.differences import Cells
from agon.scores import ANY, NEEDED
from agon.turns import COLUMNS

USUAL = ["match", "game", "variant", "seat", "role", "agent", "model"]
"""Columns of turns that are facts of a seat in a match."""
OF_SEAT = ["game", "variant", "seat", "role", "agent", "model", "opponent", "opponent_model"]
"""The usual columns of a stratum."""

OPPONENTS = ["opponent", "opponent_model"]
"""Columns that comparisons have beside those of turns."""


def require_columns(names: Sequence[str], columns: Sequence[str]) -> None:
    """Raises AgonError for a name that no column has."""
    if unknown := [name for name in names if name not in columns]:
        raise AgonError(f"turns have no column {unknown[0]!r}: {suggest(unknown[0], columns)}")


def columns_to_read(metrics: Collection[str], names: Collection[str]) -> list[str] | None:
    """The columns of turns that metrics of any game and columns `names` need. None: all, because other metrics may need any."""
    if not ({*metrics} <= ANY.keys() and {*names} <= {*COLUMNS, *OPPONENTS, "file"}):
        return None
    return [name for name in COLUMNS if name in {*NEEDED, *names}]


def units_of(
    seats: pd.DataFrame, games: pd.DataFrame, column: str, strata: Sequence[str], choices: Collection[str]
) -> pd.DataFrame:
    """One row per match with a condition: match, condition, seat_of (the seats that count for it), beside, and the columns `strata`.

    `seats`: a row per match and seat (agon_design.seats). `beside`: the other conditions at the table. `column`: the column of
    conditions. `choices`: the conditions; none: all.
    """
    names = [name for name in dict.fromkeys([*USUAL, column, *strata]) if name not in OPPONENTS]
    seats = seats[names].sort_values(["match", "seat"], kind="stable", ignore_index=True)
    if choices and column in seats:  # others are not looked at
        seats = seats[seats["match"].isin(set(seats["match"][seats[column].isin(choices)]))]
    tested, rows = _tested(games), []
    like = _alike(seats)
    for under_test, candidates in _candidates(seats[seats["match"].isin(set(like))], tested):
        able = [row for row in candidates if (row[column] in choices if choices else row[column])]
        if able:
            first = able[0]
            same = [row["seat"] for row in able if row[column] == first[column]]
            labels = {
                "condition": first[column],
                "seat_of": same if under_test else same[:1],
                "beside": {row[column] for row in able} - {first[column]},
            }
            rows.append({name: first[name] for name in ["match", *strata]} | labels)
    units = pd.DataFrame(rows, columns=[*dict.fromkeys(["match", *strata]), "condition", "seat_of", "beside"])
    kinds = units.rename(columns={"match": "like"})
    return like.rename("like").rename_axis("match").reset_index().merge(kinds, on="like")[[*units]]


def _alike(seats: pd.DataFrame) -> pd.Series:
    """Match -> the first match whose seats have the same values. `seats` lie together for each match."""
    kind = seats.groupby([*seats.columns.drop("match")], sort=False, dropna=False).ngroup().to_numpy()
    number, ids = pd.factorize(seats["match"])
    place = seats.groupby(number).cumcount().to_numpy()
    table = np.full((len(ids), place.max(initial=0) + 1), -1)
    table[number, place] = kind
    _, first, like = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return pd.Series(ids[first[like]], ids)


def players(turns: pd.DataFrame, games: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat under test, or per seat where none is under test: USUAL, opponent, opponent_model, as texts."""
    seats = texts(turns[USUAL].drop_duplicates(["match", "seat"]).sort_values(["match", "seat"]))
    return pd.DataFrame([row for _, rows in _candidates(seats, _tested(games)) for row in rows])


def texts(seats: pd.DataFrame) -> pd.DataFrame:
    """`seats` with all columns but `seat` as texts; absent ones are empty."""

    def text_of(column: pd.Series) -> Any:
        codes, values = pd.factorize(column)
        return np.append(values.astype("str").astype(object), "")[codes]  # the code of an absent value is -1

    return seats.assign(**{str(name): text_of(seats[name]) for name in seats.columns.drop("seat")})


def _candidates(
    seats: pd.DataFrame, tested: Mapping[tuple[str, str], Collection[int]]
) -> Iterator[tuple[Collection[int], list[dict[str, Any]]]]:
    """For each match, the seats under test, and the rows of the seats that can be compared, with their opponents."""
    for _, group in groupby(seats.to_dict("records"), key=itemgetter("match")):
        rows = [*group]
        under_test = tested.get((rows[0]["game"], rows[0]["variant"]), ())
        yield (
            under_test,
            [_with_opponents(row, rows, under_test) for row in rows if not under_test or row["seat"] in under_test],
        )


def _with_opponents(
    row: dict[str, Any], rows: Sequence[Mapping[str, Any]], under_test: Collection[int]
) -> dict[str, Any]:
    """A seat with its opponents: all others, or for a seat under test those that are not under test."""
    same_side = under_test if row["seat"] in under_test else (row["seat"],)
    others = [other for other in rows if other["seat"] not in same_side]
    if len(others) == 1:
        return row | {"opponent": others[0]["agent"], "opponent_model": others[0]["model"]}
    agents, models = (sorted({other[name] for other in others} - {""}) for name in ("agent", "model"))
    return row | {"opponent": "+".join(agents), "opponent_model": "+".join(models)}


def _tested(games: pd.DataFrame) -> dict[tuple[str, str], Sequence[int]]:
    """The seats under test, by game and variant."""
    return {(row.game, row.variant): list(row.tested) for row in games.itertuples(index=False)}


def in_both(units: pd.DataFrame, name: str, pair: tuple[str, str], strata: Sequence[str]) -> tuple[pd.DataFrame, Cells]:
    """The strata with both conditions, a row each, and the values of the two conditions in each."""
    rows = units[units.condition.isin(pair) & units[name].notna()]
    if rows.empty:  # neither plays what the metric is of
        return rows[list(strata)], []
    codes = rows.groupby(list(strata), sort=True).ngroup().to_numpy() * 2 + (rows.condition == pair[1]).to_numpy()
    order = np.argsort(codes, kind="stable")
    codes_present, starts = np.unique(codes[order], return_index=True)
    parts = dict(
        zip(codes_present.tolist(), np.split(rows[name].to_numpy(dtype=float)[order], starts[1:]), strict=True)
    )
    both = [code for code in codes_present.tolist() if code % 2 == 0 and code + 1 in parts]
    firsts = rows[list(strata)].iloc[order[starts[np.searchsorted(codes_present, both)]]]
    return firsts.reset_index(drop=True), [(parts[code], parts[code + 1]) for code in both]


def silent_matches(seats: pd.DataFrame) -> set[str]:
    """The matches in which a seat was asked and gave no answer of its own."""
    return set(seats["match"][seats.n_asked.gt(0) & seats.n_own.eq(0)])
