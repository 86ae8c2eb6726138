"""Derived from turns: totals of matches, replaced and cut-off answers, partial experiments, a study's cells."""

import json
import re
from collections.abc import Mapping

import pandas as pd

from agon.turns.checks import tidy

PARTIAL = re.compile(r" \(partial: ([\d,]+ of [\d,]+ matches)\)$")
"""End of a value of the column `experiment` where not all of its matches could be played."""


def mark_partial(turns: pd.DataFrame, of: int) -> pd.DataFrame:
    """`turns` of some of an experiment's `of` matches; its column `experiment` says so: NAME (partial: 3 of 40 matches)."""
    suffix = f" (partial: {turns.match.nunique():,} of {of:,} matches)"
    return turns.assign(experiment=turns.experiment.cat.rename_categories(lambda name: name + suffix))


def partial(turns: pd.DataFrame) -> list[str]:
    """The partial experiments of `turns` in words: NAME, 3 of 40 matches."""
    labels = sorted({str(label) for label in turns.experiment.unique()})
    return [f"{PARTIAL.sub('', label)}, {mark[1]}" for label in labels if (mark := PARTIAL.search(label))]


def replaced(turns: pd.DataFrame) -> pd.Series:
    """Whether the action of a row stands in for an answer that could not be read (one bool per row)."""
    return turns.action.notna() & turns.fallback.ne("")


CUT = {"length": "cut off at the limit of tokens", "filter": "held back or refused by the provider", "error": "failed"}
"""Value of `ended` -> why the answer is incomplete, in words."""


def cut_off(turns: pd.DataFrame) -> pd.Series:
    """Whether the answer of a row is incomplete: cut off, filtered or failed (one bool per row)."""
    return turns.ended.isin(list(CUT))


def endings(turns: pd.DataFrame) -> str:
    """How many of the models' last answers are incomplete, and for how many it is unknown, in words.

    Every share of readable or valid answers needs it beside it.
    """
    number = turns.ended.value_counts()
    parts = [f"{number[end]:,} {words}" for end, words in CUT.items() if number.get(end, 0)]
    if unknown := number.get("unknown", 0):
        parts.append(f"{unknown:,} have no record of whether their last answer was whole")
    if not (total := int(number.sum())):
        return "no model was asked"
    return f"of {total:,} decisions of models {', '.join(parts) or 'none ended with an answer that was cut off'}"


def matches(turns: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat: game and player, `total` (points), `won` (no seat had more), `rounds`; `valid`, `replaced`
    and `cut_off` (shares of its turns)."""
    turns = tidy(turns)
    keys = ["experiment", "match", "game", "variant", "repetition", "seat", "role", "agent", "model"]
    table = (
        turns.assign(replaced=replaced(turns), cut_off=cut_off(turns))
        .groupby(keys, observed=True, dropna=False, sort=False)
        .agg(
            **{"total": ("payoff", "sum"), "rounds": ("round", "max"), "valid": ("valid", "mean")},
            **{name: (name, "mean") for name in ("replaced", "cut_off")},
        )
        .reset_index()
    )
    return table.assign(won=table.total.eq(table.groupby("match", observed=True).total.transform("max")))


def in_cells(turns: pd.DataFrame, cells: Mapping[tuple[str, int], str]) -> pd.DataFrame:
    """`turns` with the study's `cell` of each subject, in `detail` on the first row of its seat.

    `cells`: (match, seat) of a subject -> cell. Other seats and matches stay as they are.
    """
    first = turns[~turns.duplicated(["match", "seat"])]
    places = [(str(match), int(seat)) for match, seat in zip(first.match, first.seat, strict=True)]
    details = {
        row: json.dumps((json.loads(detail) if isinstance(detail, str) else {}) | {"cell": cells[key]})
        for row, detail, key in zip(first.index, first.detail, places, strict=True)
        if key in cells
    }
    detail = turns.detail.copy()
    detail[list(details)] = list(details.values())
    return turns.assign(detail=detail)


def subjects(turns: pd.DataFrame) -> pd.DataFrame:
    """The subjects of a study (see `in_cells`): match, seat, cell. Empty for turns without cells."""
    first = turns[~turns.duplicated(["match", "seat"]) & turns.detail.notna()]
    cells = [json.loads(detail).get("cell") for detail in first.detail]
    table = first[["match", "seat"]].astype({"match": "str"}).assign(cell=pd.Series(cells, first.index, dtype="str"))
    return table.dropna(subset="cell").reset_index(drop=True)
