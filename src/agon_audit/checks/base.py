"""The parts that all checks have: the games that they look at, and their outcomes."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from agon_audit.rules import Payment
from agon_audit.turns import PLACE, Games

KEPT = 1_000
"""So many rows of each check are kept; all are counted."""
VOID = "no action"
"""The words for an absent action."""
CLOSE = 1e-6
"""Numbers that differ by less, relative to the larger one, are equal."""
RARE = 0.05
"""Where a rule is inferred from the rows, at most this share of them may break it; else it is taken for no rule."""


@dataclass
class Case:
    """The input of the checks: games, and the payment of every row by their rules."""

    games: Games
    payment: Payment
    rounds: np.ndarray
    """The fixed number of rounds of each row's match; NaN where the rules do not say it."""
    has_table: np.ndarray
    """Whether a row has rules that pay every round by its actions."""
    words: Sequence[str]
    """Actions of the rules."""
    transcripts: dict[int, str] = field(default_factory=dict)
    """Hash of a transcript -> its match, of all files so far."""
    counts: Counter[str] = field(default_factory=Counter)
    """Actions of a round, in words -> how many rounds of tables have them, of all files so far."""
    unchecked: Callable[[str, str], None] = lambda reason, condition: None
    """Called with a reason, and a condition of which a check therefore says nothing."""


@dataclass
class Found:
    """The outcome of a check."""

    looked: int
    """How many cells, rounds or matches were looked at."""
    count: int = 0
    """How many differences were found."""
    rows: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=[*PLACE, "what"]))
    """The first KEPT differences: PLACE, and `what`, a sentence."""
    notes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Things that were counted, in words -> how many there are, and of how many."""
    skipped: str = ""
    """Why nothing was looked at."""

    def said(self, most: int) -> list[tuple[str, tuple[int, int]]]:
        """The notes with the largest counts, in their order."""
        return sorted(self.notes.items(), key=lambda note: -note[1][0])[:most]


@dataclass(frozen=True)
class Check:
    """A check, with all that a page says about it."""

    name: str
    title: str
    causes: str
    """Innocent causes that a reader should think of."""
    find: Callable[[Case], Found]
    needs: Sequence[str] = ()
    """Columns without which it cannot be made."""

    def run(self, case: Case) -> Found:
        """The outcome; it is skipped where a column is missing, or there is nothing to look at."""
        missing = [name for name in self.needs if name not in case.games.rows]
        if missing:
            return skip(f"there is no column for {' and '.join(missing)}")
        found = self.find(case)
        return found if found.looked or found.skipped else skip("the games have nothing to look at")


CHECKS: list[Check] = []
"""All checks, in the order of the page."""


def check(name: str, title: str, causes: str, *needs: str) -> Callable[..., Callable[[Case], Found]]:
    """Adds a function to CHECKS."""

    def add(find: Callable[[Case], Found]) -> Callable[[Case], Found]:
        CHECKS.append(Check(name, title, causes, find, needs))
        return find

    return add


def skip(reason: str) -> Found:
    """The outcome of a check that looked at nothing."""
    return Found(0, skipped=reason)


def where(
    case: Case,
    mask: np.ndarray,
    looked: int,
    form: str,
    notes: Mapping[str, tuple[int, int]] | None = None,
    **values: object,
) -> Found:
    """The rows of a mask. `form`: a sentence with fields of the row, and of `values`, which are in the order of all rows."""
    mask = np.asarray(mask, bool)
    part = case.games.rows.assign(**values)[mask].head(KEPT)
    what = [form.format(**row) for row in part.to_dict("records")]
    return Found(looked, int(mask.sum()), part[PLACE].assign(what=what), notes or {})


def differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Whether numbers that are both known differ."""
    scale = np.maximum(1, np.maximum(np.abs(first), np.abs(second)))
    return np.abs(first - second) > CLOSE * scale  # comparisons with NaN are false


def both(first: np.ndarray, second: np.ndarray) -> int:
    """How many pairs of numbers are known."""
    return int((~np.isnan(first) & ~np.isnan(second)).sum())


def usual(rows: pd.DataFrame, column: str, keys: list[str]) -> pd.Series:
    """The most frequent value of a column among rows that are alike in `keys`; of equally frequent ones the first."""
    counts = rows.groupby([*keys, column], observed=True, sort=False, dropna=False).size().rename("n").reset_index()
    best = counts.sort_values("n", ascending=False, kind="stable").drop_duplicates(keys)[[*keys, column]]
    return pd.Series(rows[keys].merge(best, on=keys, how="left")[column].array, rows.index)
