"""The columns of turns: their types and meanings; and actions as texts of their column."""

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pya

from agon.errors import AgonError

ENDS = "stop", "length", "filter", "error", "unknown"
"""Values of the column `ended`."""
TEXT, LABEL, COUNT = pd.StringDtype(), pd.CategoricalDtype(), pd.Int64Dtype()
NO_LABELS = pd.CategoricalDtype(pd.Index([], dtype="str"))
"""The type of a column of labels of which every one is absent."""
COLUMNS: dict[str, tuple[Any, bool, str]] = {
    "experiment": (
        LABEL,
        False,
        "name of the experiment, a file of conf/experiment, or the source of recorded games; if only some of its matches were played, "
        "their number follows: NAME (partial: 3 of 40 matches)",
    ),
    "match": (LABEL, False, "id of the match: a hash of its content"),
    "game": (LABEL, False, "family of the game"),
    "variant": (LABEL, False, "instance of the family: a counterfactual variant, a setting, a problem"),
    "rules": (np.int64, False, "version of the game's rules"),
    "repetition": (np.int64, False, "number of the repetition, from 0"),
    "round": (np.int64, False, "number of the round, from 1"),
    "turn": (np.int64, False, "number of the step in the match, from 1; seats that act at once share a step"),
    "phase": (LABEL, False, "part of the round"),
    "seat": (np.int64, False, "number of the seat, from 0"),
    "role": (LABEL, False, "role of the seat; empty if all seats have the same task"),
    "agent": (LABEL, False, "name of the agent, a file of conf/agent, or the kind of the recorded player"),
    "model": (LABEL, True, "the language model; absent for scripts and people"),
    "prompts": (
        LABEL,
        True,
        "prompt set of the model: ours, as_printed (what the paper prints) or as_played (what its recorded games were told); absent for "
        "scripts and people, and in recorded games",
    ),
    "legal": (
        LABEL,
        True,
        "the legal actions, as JSON; absent if the seat was only paid, and in recorded games that do not have them",
    ),
    "action": (
        LABEL,
        True,
        "the action of the seat: a word as it is, anything else as JSON (see `action_text`); absent if the answer was unreadable or the "
        "seat was only paid",
    ),
    "reply": (TEXT, True, "the answer as text; absent if it was not recorded"),
    "ended": (
        LABEL,
        True,
        "why the model's last answer ended: stop (the model ended it), length (cut off at a limit of tokens), filter (held back or refused "
        "by the provider), error (there was no answer in the end), unknown (not recorded); absent if no model was asked",
    ),
    "asked": (
        np.bool_,
        False,
        "true: the seat was asked to act; if it then has no `action`, the decision is void. false: this step only paid the seat",
    ),
    "valid": (
        np.bool_,
        False,
        "whether the turn counts: all seats that acted at once gave a readable legal action (in TradeCraft: this seat did)",
    ),
    "attempts": (COUNT, True, "number of attempts at the question; absent if it was not recorded"),
    "fallback": (
        LABEL,
        False,
        "the action that the program took because no action was readable; empty if it took none",
    ),
    "detail": (
        TEXT,
        True,
        "further values, as JSON. Each game may have its own. Weighed decisions: `chances` (pairs of a legal action and its probability, "
        "which sum to 1) and `mass` (the probability that the answer is any legal action). Models: `usd_charged` (the price that the "
        "provider says it charged) and `left_out` (the number of messages that no longer fitted into the conversation). The first row of "
        "a seat: for people `name`, `consent` and `aids` (what their page showed besides the rules), for subjects of a study `cell`",
    ),
    "payoff": (np.float64, False, "points that this step gave to the seat"),
    "tokens_in": (COUNT, True, "tokens sent; absent if not recorded"),
    "tokens_out": (COUNT, True, "tokens received; absent if not recorded"),
    "tokens": (COUNT, True, "tokens_in + tokens_out; recorded games have only this sum"),
    "seconds": (np.float64, True, "time to answer; absent if not recorded"),
    "cached": (np.bool_, False, "whether the answer came from a recording"),
    "exchange": (TEXT, True, "key of the exchange in data/recordings; absent if there was none"),
    "config": (LABEL, False, "hash of the settings of the game and its players"),
}
"""Name -> (dtype, whether values may be absent, meaning), in the order of the file."""
KEY = ["match", "turn", "seat"]
LATER = "asked", "ended", "prompts"
"""Columns that older tables do not have. `completed` adds them."""
EVIDENCE = ["match", "legal", "action", "reply", "fallback", "model"]
"""Columns from which `completed` infers the missing ones."""


def typed(columns: dict[str, Any], *, copy: bool = True) -> pd.DataFrame:
    """A turns table with the types of COLUMNS, from `columns`: name -> values.

    A missing column is absent in all rows, or for role and fallback empty, and for cached false. `completed` adds those of LATER.
    `copy`: whether the table gets arrays of its own, as it must if columns share theirs. Raises AgonError for an unknown column,
    and if a column that turns need is missing.
    """
    unknown = sorted(set(columns) - set(COLUMNS))
    if unknown:
        raise AgonError(f"turns have no column {', '.join(unknown)}: see agon.turns.COLUMNS")
    length = max((len(values) for values in columns.values()), default=0)
    turns = pd.DataFrame(
        {
            name: pd.Series(
                columns[name] if name in columns else _absent(name, dtype, absent, length), dtype=dtype, copy=False
            )
            for name, (dtype, absent, _) in COLUMNS.items()
            if name in columns or name not in LATER
        },
        copy=copy,
    )
    return turns if turns.shape[1] == len(COLUMNS) else completed(turns)[list(COLUMNS)]


def completed(turns: pd.DataFrame) -> pd.DataFrame:
    """Adds the columns `asked`, `ended` and `prompts` to older turns, from the columns EVIDENCE. Newer turns stay unchanged.

    A seat was asked if its row has `legal`, an action, a reply or a fallback. A row without these was only paid, if its
    match has `legal` in other rows. If the match has no `legal` at all, the row counts as asked, with a warning. `ended`
    is unknown for every model's answer. `prompts` is absent.
    """
    if "asked" not in turns:
        is_asked = turns[turns.columns.intersection(["legal", "action", "reply"])].notna().any(axis=1)
        if "fallback" in turns:
            is_asked |= turns.fallback.ne("")
        unsure = ~is_asked & ~turns.match.isin(turns.match[turns.legal.notna()])
        if unsure.any():
            warnings.warn(
                f"{unsure.sum():,} rows of these turns do not say whether their seat was asked or only paid; they count as asked",
                stacklevel=2,
            )
        turns = turns.assign(asked=(is_asked | unsure).astype(np.bool_))
    if "ended" not in turns and "model" in turns:
        model = turns.asked & turns.model.notna()
        ended = pd.Categorical.from_codes(np.where(model, 0, -1), ["unknown"])
        turns = turns.assign(ended=pd.Series(ended, index=turns.index))
    if "prompts" not in turns and "model" in turns:
        unknown = _absent("prompts", LABEL, True, len(turns))
        turns = turns.assign(prompts=pd.Series(unknown, index=turns.index))
    return turns


def _absent(name: str, dtype: Any, absent: bool, length: int) -> Any:
    """The values of a missing column. Raises AgonError if turns need the column."""
    if absent and dtype is LABEL:
        return pd.Categorical.from_codes(np.full(length, -1, dtype=np.int8), dtype=NO_LABELS)
    if absent and dtype is TEXT:
        return pd.array(pya.nulls(length, pya.large_string()), dtype=TEXT)
    if absent and dtype is COUNT:
        return pd.arrays.IntegerArray(np.zeros(length, dtype=np.int64), np.ones(length, dtype=bool))
    if absent:
        return np.full(length, np.nan)
    if name == "cached":
        return np.zeros(length, dtype=bool)
    if name in ("role", "fallback"):
        return pd.Categorical.from_codes(np.zeros(length, dtype=np.int8), categories=[""])
    raise AgonError(f"turns need a column {name}")


def has_type(dtype: Any, column_dtype: Any) -> bool:
    """Whether the type of a column is the one in COLUMNS."""
    return isinstance(dtype, type(column_dtype)) if column_dtype in (LABEL, TEXT) else bool(dtype == column_dtype)


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
