"""The result of reading recorded games."""

from typing import NamedTuple

import pandas as pd


class Bad(NamedTuple):
    """A game that was skipped, or a part that was left out of one."""

    path: str
    """Inside the folder."""
    reason: str
    """One line."""


class Ingested(NamedTuple):
    """Recorded games as turns."""

    turns: pd.DataFrame
    bad: list[Bad]
    matches: int
    """How many are in `turns`."""
