"""What follows from turns: totals of matches, what was done in a seat's stead, which experiments are not whole, a study's cells."""

import json
import re
from collections.abc import Mapping

import pandas as pd

from agon.turns.checks import tidy

PARTIAL = re.compile(r" \(partial: ([\d,]+ of [\d,]+ matches)\)$")
"""What the column `experiment` says behind the name where not all matches of an experiment could be played."""


def marked_partial(turns: pd.DataFrame, of: int) -> pd.DataFrame:
    """`turns` whose column `experiment` says that they are those of some of its `of` matches: NAME (partial: 3 of 40 matches)."""
    said = f" (partial: {turns.match.nunique():,} of {of:,} matches)"
    return turns.assign(experiment=turns.experiment.cat.rename_categories(lambda name: name + said))


def partial(turns: pd.DataFrame) -> list[str]:
    """In words, which experiments of `turns` are not whole: NAME, 3 of 40 matches. Empty where all are."""
    labels = sorted({str(each) for each in turns.experiment.unique()})
    return [f"{PARTIAL.sub('', each)}, {found[1]}" for each in labels if (found := PARTIAL.search(each))]


def replaced(turns: pd.DataFrame) -> pd.Series:
    """Whether the action of a row is not the seat's own: something was done in the place of an answer that could not be read."""
    return turns.action.notna() & turns.fallback.ne("")


CUT = {"length": "cut off at the limit of tokens", "filter": "held back or refused by the provider", "error": "failed"}
"""Why an answer is not whole, in words."""


def cut_off(turns: pd.DataFrame) -> pd.Series:
    """Whether the answer of a row is known not to be whole (one bool per row): its model was cut off, filtered or failed."""
    return turns.ended.isin(list(CUT))


def endings(turns: pd.DataFrame) -> str:
    """In words, how many of the models' last answers are not whole, and of how many it is not known.

    It belongs beside every share of readable or valid answers.
    """
    number = turns.ended.value_counts()
    parts = [f"{number[end]:,} {words}" for end, words in CUT.items() if number.get(end, 0)]
    if unknown := number.get("unknown", 0):
        parts.append(f"of {unknown:,} it is not recorded whether the last answer was whole")
    if not (asked := int(number.sum())):
        return "no model was asked"
    return f"of {asked:,} decisions of models {', '.join(parts) or 'none ended with an answer that was cut off'}"


def matches(turns: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat, derived: who played what, `total` (points), `won` (no seat had more), `rounds`, `valid`,
    `replaced` and `cut_off` (shares of its turns)."""
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
    """`turns` that say the study's `cell` of each subject: in `detail`, on the first row of the subject's seat.

    `cells`: (match, seat) -> cell, of the seats of those whom the study is about. Other seats, and other matches, stay as they are.
    """
    first = turns[~turns.duplicated(["match", "seat"])]
    wanted = [(str(match), int(seat)) for match, seat in zip(first.match, first.seat, strict=True)]
    said = {
        row: json.dumps((json.loads(detail) if isinstance(detail, str) else {}) | {"cell": cells[key]})
        for row, detail, key in zip(first.index, first.detail, wanted, strict=True)
        if key in cells
    }
    detail = turns.detail.copy()
    detail[list(said)] = list(said.values())
    return turns.assign(detail=detail)


def subjects(turns: pd.DataFrame) -> pd.DataFrame:
    """Whom a study is about, as its turns say it (see `in_cells`): match, seat, cell. Empty for turns of no study, and of older ones."""
    first = turns[~turns.duplicated(["match", "seat"]) & turns.detail.notna()]
    cells = [json.loads(detail).get("cell") for detail in first.detail]
    found = first[["match", "seat"]].astype({"match": "str"}).assign(cell=pd.Series(cells, first.index, dtype="str"))
    return found.dropna(subset="cell").reset_index(drop=True)
