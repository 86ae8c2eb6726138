"""The columns of turns: types and meanings; and actions as texts of their column."""

import functools
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
COLUMNS: dict[str, tuple[Any, bool, str]] = {
    "experiment": (
        LABEL,
        False,
        "name of the file in conf/experiment, or the source of recorded games; behind it, where not all of its matches could be "
        "played, how many (partial: 3 of 40 matches)",
    ),
    "match": (LABEL, False, "id: a hash of the match's own content"),
    "game": (LABEL, False, "the game's family"),
    "variant": (LABEL, False, "which instance of the family: a counterfactual variant, a setting, a problem"),
    "rules": (np.int64, False, "version of the game's rules"),
    "repetition": (np.int64, False, "from 0"),
    "round": (np.int64, False, "from 1"),
    "turn": (np.int64, False, "step of the match, from 1; seats that act at once share it"),
    "phase": (LABEL, False, "part of the round"),
    "seat": (np.int64, False, "from 0"),
    "role": (LABEL, False, "role in the game; empty where seats differ in nothing"),
    "agent": (LABEL, False, "name of the file in conf/agent, or the recorded player's kind"),
    "model": (LABEL, True, "the language model; absent for scripts and people"),
    "legal": (
        LABEL,
        True,
        "JSON: what the seat could answer; absent when it was paid without being asked, and in recorded games that do not tell",
    ),
    "action": (
        LABEL,
        True,
        "what it did: a word as it is, all else as JSON (see `action_text`); absent when no answer could be read, and when the seat "
        "was not `asked`",
    ),
    "reply": (TEXT, True, "the raw answer; absent when it was not recorded"),
    "ended": (
        LABEL,
        True,
        "why the model's last answer ended: stop, by itself; length, cut off at a limit of tokens; filter, held back or refused by the "
        "provider; error, no answer came for good; unknown, not recorded; absent when no model was asked",
    ),
    "asked": (
        np.bool_,
        False,
        "the seat was asked; else it was only paid by this step: of rows that were asked, those without an action are void",
    ),
    "valid": (
        np.bool_,
        False,
        "the turn counted: every seat asked at once gave a readable legal action (in TradeCraft: this one did)",
    ),
    "attempts": (COUNT, True, "times asked, re-asks included; absent when not recorded"),
    "fallback": (LABEL, False, "what was done for want of a readable action; empty when nothing was"),
    "detail": (
        TEXT,
        True,
        "JSON: what only this game, or this way to answer, knows; of weighed decisions `chances`, the probability of every legal "
        "action ([action, probability], summing to 1), and `mass`, that of giving any of them as the answer; of models also "
        "`usd_charged` (what the provider says; all else is reckoned) and `left_out` (messages that left the conversation); on "
        "the first row of a seat: of people `name`, `consent` and `aids` (what their page showed beyond the rules), of a "
        "study's subjects their `cell`",
    ),
    "payoff": (np.float64, False, "points credited by this step"),
    "tokens_in": (COUNT, True, "tokens sent; absent when not recorded"),
    "tokens_out": (COUNT, True, "tokens received; absent when not recorded"),
    "tokens": (COUNT, True, "tokens_in + tokens_out; recorded games give only this sum"),
    "seconds": (np.float64, True, "time taken to answer; absent when not recorded"),
    "cached": (np.bool_, False, "answered from a recording"),
    "exchange": (TEXT, True, "key into data/recordings; absent when nothing was exchanged"),
    "config": (LABEL, False, "hash of the game's and players' settings"),
}
"""Name -> (dtype, may be absent, meaning), in the file's order."""
KEY = ["match", "turn", "seat"]
LATER = "asked", "ended"
"""Columns that older tables lack: `completed` adds them."""
EVIDENCE = ["match", "legal", "action", "reply", "fallback", "model"]
"""Columns from which `completed` infers them."""


@functools.cache
def schema() -> Any:
    """The schema of turns, for pandera."""
    import pandera.pandas as pa  # here: it takes a fifth of a second, and what only reads needs none of it

    return pa.DataFrameSchema(
        {
            name: pa.Column(
                None if dtype is LABEL else dtype,
                nullable=absent,
                checks=pa.Check.isin(ENDS)
                if name == "ended"
                else pa.Check.ge(1)
                if name in ("round", "turn")
                else pa.Check.ge(0)
                if name in ("seat", "repetition")
                else None,
            )
            for name, (dtype, absent, _) in COLUMNS.items()
        },
        strict=True,
        ordered=True,
    )


def typed(columns: dict[str, Any]) -> pd.DataFrame:
    """`columns` as a turns table with the types of COLUMNS. Missing columns are empty; `completed` adds `asked` and `ended`.

    Raises AgonError for a column that turns do not have.
    """
    unknown = sorted(set(columns) - set(COLUMNS))
    if unknown:
        raise AgonError(f"turns have no column {', '.join(unknown)}: see agon.turns.COLUMNS")
    length = max((len(values) for values in columns.values()), default=0)
    turns = pd.DataFrame(
        {
            name: pd.Series(
                columns[name] if name in columns else _absent(name, dtype, absent, length), dtype=dtype, copy=False
            )  # the frame copies
            for name, (dtype, absent, _) in COLUMNS.items()
            if name in columns or name not in LATER
        }
    )
    return turns if turns.shape[1] == len(COLUMNS) else completed(turns)[list(COLUMNS)]


def completed(turns: pd.DataFrame) -> pd.DataFrame:
    """Adds `asked` and `ended` to turns from before these columns, from the columns EVIDENCE; other turns stay as they are.

    A seat was asked if its row has `legal`, an action, a reply or a fallback. A row without any of them was only paid, if its match
    has `legal` elsewhere. In a match without any `legal` this is unknown: the row counts as asked, with a warning. The end of a
    model's answer is then unknown.
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
    return turns


def _absent(name: str, dtype: Any, absent: bool, length: int) -> Any:
    """The values of a missing column. Raises AgonError for a column that turns need."""
    if absent and dtype is LABEL:
        return pd.Categorical.from_codes(np.full(length, -1, dtype=np.int8), categories=pd.Index([], dtype="str"))
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
    """Whether a column's type is one of COLUMNS."""
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
