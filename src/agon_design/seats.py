"""The seats of a comparison: a row for each seat of each match, from turns that may come in parts."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon.scores import measure, require_metrics, with_all
from agon.turns import cut_off, replaced
from agon_design.units import OPPONENTS, USUAL, require_columns, texts

FACTS = ["experiment", *USUAL]
COUNTS = ["n_asked", "n_void", "n_replaced", "n_cut_off", "n_own", "n_rounds"]
"""Columns of `seat_rows`: how often the seat was asked, gave no readable action, had its action replaced, had its answer cut off, and
gave an answer of its own; and the rounds of its match."""


def seat_rows(
    turns: pd.DataFrame | Iterable[pd.DataFrame],
    games: pd.DataFrame,
    metrics: Sequence[str] = (),
    columns: Sequence[str] = (),
    chosen: tuple[str, Collection[str]] = ("", ()),
) -> pd.DataFrame:
    """One row per match and seat: FACTS and `columns` as texts, `recorded` (the agent's name in the turns), COUNTS, and `metrics`.

    `turns`: a table, or its parts, each of whole matches (agon.turns.read_parts). `chosen`: a column and some of its values; only
    matches with one of them get metrics. Raises AgonError for a metric or column that does not exist, and for a column with several
    values for a seat of a match, and where there is no match.
    """
    require_metrics(metrics)
    if clashes := [name for name in (*metrics, *columns) if name in ("recorded", *COUNTS)]:
        raise AgonError(f"there is a column or metric {clashes[0]!r}, which comparisons have too: rename yours")
    parts = [turns] if isinstance(turns, pd.DataFrame) else turns
    seats = pd.concat([_seats_of(part, games, metrics, columns, *chosen) for part in parts], ignore_index=True)
    if seats.empty:
        raise AgonError("no match is in these turns: play or record some first")
    return seats


def _seats_of(
    part: pd.DataFrame,
    games: pd.DataFrame,
    metrics: Sequence[str],
    columns: Sequence[str],
    column: str,
    choices: Collection[str],
) -> pd.DataFrame:
    turns = with_all(part)
    names = [name for name in dict.fromkeys([*FACTS, *columns]) if name not in OPPONENTS]
    require_columns(names, [*map(str, turns), *OPPONENTS])
    match, seat, round_ = pd.factorize(turns["match"])[0], turns.seat.to_numpy(), turns["round"].to_numpy()
    place = pd.factorize(match * (1 + seat.max(initial=0)) + seat)[0]
    first = np.flatnonzero(np.diff(np.maximum.accumulate(place), prepend=-1))
    for name in [name for name in names if name not in FACTS]:
        values = pd.factorize(turns[name])[0]
        if (values != values[first][place]).any():
            raise AgonError(f"{name} has several values for one seat of a match: conditions and strata have one")
    seats = texts(turns[names].iloc[first].assign(recorded=part.agent.iloc[first].to_numpy())).reset_index(drop=True)
    asked, instead = turns.asked.to_numpy(), replaced(turns).to_numpy()
    void = asked & turns.action.isna().to_numpy()
    marks = [asked, void, instead, cut_off(turns).to_numpy(), asked & ~void & ~instead]
    seats[COUNTS[:-1]] = np.transpose([np.bincount(place[mark], minlength=len(first)) for mark in marks])
    most = 1 + round_.max(initial=0)
    seats["n_rounds"] = np.bincount(pd.unique(match * most + round_) // most)[match[first]]
    if metrics:
        if choices and column in seats:
            turns = turns[turns["match"].isin(seats["match"][seats[column].isin(choices)])]
        seats = seats.merge(measure(turns, games, metrics), "left", ["match", "seat"])
    return seats
