"""Actions as text in turns, and back."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from agon.turns.columns import LABEL


def action_text(action: Any) -> str:
    """An action as text: a plain word as it is, everything else as JSON, also a word that is JSON itself, such as "3"."""
    plain = isinstance(action, str) and action.isprintable() and action and not _is_json(action)
    return action if plain else json.dumps(action)


def action_of(text: str) -> Any:
    """The action of a text: the value where it is JSON, else the word itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        pass
    return True


def decoded(column: pd.Series) -> pd.Series:
    """The column `action` as labels: a word in quotes without them, other text as it is. Absent stays absent."""
    return relabel(column, lambda label: value if isinstance(value := action_of(label), str) else label)


def relabel(column: pd.Series, change: Callable[[str], str]) -> pd.Series:
    """A column of labels, each changed by `change`; labels that become equal are merged."""
    labels = column.astype(LABEL).cat
    places, names = pd.factorize(pd.Index([change(label) for label in labels.categories], dtype="str"))
    codes = np.append(places, -1)[labels.codes]
    return pd.Series(pd.Categorical.from_codes(codes, categories=names), index=column.index, name=column.name)
