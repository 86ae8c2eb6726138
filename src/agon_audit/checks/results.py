"""Results of matches, and labels of actions, against the points and the actions."""

import numpy as np
import pandas as pd

from agon.games.reading import folded
from agon_audit.checks.base import KEPT, RARE, Case, Found, check, differ, skip, usual, where
from agon_audit.turns import PLACE


def _results(case: Case) -> pd.DataFrame:
    """One row for each match and seat: score, result, and whether each is the highest of the match."""
    rows = case.games.rows.assign(score=case.games.score)[case.games.first]
    rows = rows[rows.score.notna() & rows.result.notna()]
    best = rows.groupby("match", observed=True)[["score", "result"]].transform("max")
    return rows.assign(leads=~differ(rows.score.to_numpy(), best.score.to_numpy()), wins=rows.result == best.result)


@check(
    "winners",
    "winners that did not have the most points",
    "a forfeit, or a game in which fewer points are better",
    "result",
)
def winners(case: Case) -> Found:
    """A seat with the highest result and not the highest score."""
    rows = _results(case)
    decided = rows.groupby("match", observed=True).result.transform("nunique") > 1
    mask = case.games.rows.index.isin(rows.index[rows.wins & ~rows.leads & decided])
    return where(
        case,
        mask,
        rows.match.nunique(),
        "counts as the winner with {score:.10g} points, and another has more",
        score=case.games.score,
    )


@check("ties", "ties that count as something else", "a rule that breaks ties, such as the earlier move", "result")
def ties(case: Case) -> Found:
    """Seats that share the highest score and have different results."""
    rows = _results(case)
    leaders = rows[rows.leads]
    tied = leaders[leaders.groupby("match", observed=True).seat.transform("size") > 1]
    apart = tied[tied.groupby("match", observed=True).result.transform("nunique") > 1].drop_duplicates("match")
    scored = tied.result.map("{:.10g}".format).value_counts()
    notes = {f"results of tied seats that are {result}": (number, len(tied)) for result, number in scored.items()}
    mask = case.games.rows.index.isin(apart.index)
    return where(
        case,
        mask,
        rows.match.nunique(),
        "seats tie at {score:.10g}, and their results differ",
        notes,
        score=case.games.score,
    )


LABEL_KEYS = {"the action": ["condition", "action"], "the actions of all seats": ["condition", "seat", "profile"]}
"""A cause that a label may follow from -> the columns of this cause."""


@check("labels", "labels that contradict the action", "a label that is derived from points, or from the other seat")
def labels(case: Case) -> Found:
    """A column that must follow from the action by the mapping, or does so in nearly all rows."""
    rows, parts, looked = case.games.rows, list[pd.DataFrame](), 0
    notes = dict[str, tuple[int, int]]()
    for name, label in case.games.mapping.labels.items():
        table = rows.assign(label=rows[f"label {name}"].astype("str"), profile=case.games.profile)
        table = table[table.action.notna() & table.label.notna()]
        looked += len(table)
        if label.values is not None:
            expected = table.action.astype("str").map({action: _text(value) for action, value in label.values.items()})
            wrong = expected.notna() & ~_same(expected, table.label)
        else:
            ways = {how: usual(table, "label", keys) for how, keys in LABEL_KEYS.items()}
            misses = {how: int((~_same(values, table.label)).sum()) for how, values in ways.items()}
            how = min(misses, key=lambda way: misses[way])
            expected, follows = ways[how], misses[how] <= RARE * len(table)
            wrong = ~_same(expected, table.label) & follows
            verb = "follows from" if follows else "follows from no action; it is best explained by"
            notes[f"{name} {verb} {how}; exceptions"] = misses[how], len(table)
        what = [
            f"{name} is {value!r:.40}, from the action follows {other!r:.40}"
            for value, other in zip(table.label[wrong], expected[wrong], strict=True)
        ]
        parts.append(table.loc[wrong, PLACE].assign(what=what))
    if not parts:
        return skip("the mapping names no labels")
    found = pd.concat(parts)
    return Found(looked, len(found), found.head(KEPT), notes)


def _text(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _same(first: pd.Series, second: pd.Series) -> pd.Series:
    """Whether texts are the same word or the same number."""
    numbers = [pd.to_numeric(column, errors="coerce") for column in (first, second)]
    words = [column.map(folded, na_action="ignore") for column in (first, second)]
    return pd.Series((words[0] == words[1]).to_numpy(bool) | np.equal(*numbers).to_numpy(bool), first.index)
