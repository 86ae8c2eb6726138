"""The games of the counterfactual paper as they were recorded, before they are checked against the rules."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from agon.ingest.base import Bad

Settings = dict[str, float | str]
"""The payoffs of a recorded game: letters name the actions, `ab` is what a earns against b."""

LARGEST = 10**12
"""Upper bound of every number in a record, such as its tokens."""


class Unusable(Exception):
    """A record that cannot be a game; its text is one line."""


class Conditions(NamedTuple):
    """Who played what, as recorded."""

    path: str
    model: str
    style: str
    self_consistency: bool
    opponent: str
    repetition: int
    temperature: float
    max_tokens: int
    settings: Settings
    left_out: str = ""
    """Parts of this record that cannot be used although the game can, with the reason."""


class Records(NamedTuple):
    """Games from one source."""

    conditions: list[Conditions]
    rows: pd.DataFrame
    """One row per game, round and seat, in this order: match (a position in `conditions`), round, valid, action, points,
    tokens and, where they were recorded, reply and attempts."""
    bad: list[Bad]


def is_name(text: object) -> bool:
    """Whether this can be the name of a model or player: printable, not blank, of at most 200 characters."""
    return isinstance(text, str) and text.isprintable() and bool(text.strip()) and len(text) <= 200


def categorical(values: Sequence[str | None]) -> pd.Categorical:
    """The values as sorted categories; for strings many times as fast as pandas' own constructor."""
    labels = sorted({value for value in values if value is not None})
    codes: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
    return pd.Categorical.from_codes([codes.get(value, -1) for value in values], labels)
