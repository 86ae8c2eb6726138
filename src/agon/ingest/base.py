"""What reading recorded games gives back."""

from typing import NamedTuple

import pandas as pd


class Bad(NamedTuple):
    """What could not be used, and why: a game that was skipped, unless the reason says what was left out of it."""

    path: str
    """Inside the folder or archive; the archive's own name where it breaks off."""
    reason: str
    """One line."""


class Ingested(NamedTuple):
    """Recorded games as turns."""

    turns: pd.DataFrame
    bad: list[Bad]
    matches: int
    """How many are in `turns`."""
