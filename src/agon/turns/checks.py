"""Whether a table is one of turns, and turns made tidy again."""

from typing import Any

import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon.turns.columns import COLUMNS, COUNT, ENDS, KEY, LABEL, completed, has_type, schema


def tidy(turns: pd.DataFrame) -> pd.DataFrame:
    """Turns that were concatenated, filtered, sorted or merged, with the types of COLUMNS and an index of their own.

    Columns of one's own stay as they are, and columns of turns may be missing; of older tables `asked` and `ended` are as
    agon.turns.completed has them. Raises AgonError where a value is missing, infinite or of
    another kind, and for rows that are there twice.
    """
    if {"match", "legal", "action"} <= set(turns):
        turns = completed(turns)
    changed = {}
    for name in turns.columns.intersection(list(COLUMNS)):
        dtype, absent, _ = COLUMNS[name]
        column = turns[name]
        if not absent and column.isna().any():
            raise AgonError(f"not a turns table: {name} is missing in {column.isna().sum():,} rows")
        if not has_type(column.dtype, dtype):
            changed[name] = _as_type(column, dtype)
    same = not changed and isinstance(turns.index, pd.RangeIndex)
    found = turns if same else turns.assign(**changed).reset_index(drop=True)
    _require_finite(found)
    if "ended" in found and (strange := set(found.ended.dropna().unique()) - set(ENDS)):
        raise AgonError(
            f"not a turns table: ended is {min(map(str, strange))!r}; it must be {', '.join(ENDS)}, or absent"
        )
    if set(KEY) <= set(found):
        _require_once(found)
    return found


def validated(turns: pd.DataFrame) -> pd.DataFrame:
    """`turns` itself, if it keeps the schema and holds no (match, turn, seat) twice. Raises AgonError otherwise."""
    strange = [str(name) for name in turns if name not in COLUMNS]
    if strange:
        raise AgonError(f"not a turns table: turns have no column {', '.join(strange)}")
    checked = schema()
    from pandera.errors import SchemaError

    try:
        checked.validate(turns, lazy=False)
    except SchemaError as error:
        raise AgonError(f"not a turns table: {str(error).splitlines()[0]}") from None
    if fault := mistyped(turns):
        raise AgonError(f"not a turns table: {fault}")
    _require_finite(turns)
    _require_once(turns)
    return turns


def mistyped(turns: pd.DataFrame) -> str:
    """The first column that is not among COLUMNS, or has not its type there, in words; empty when there is none."""
    for name in turns:
        if name not in COLUMNS:
            return f"it has a column {name} more"
        found, wanted = turns[name].dtype, COLUMNS[name][0]
        if not has_type(found, wanted):
            return f"column {name} is {found}, not {pd.api.types.pandas_dtype(wanted)}"
    return ""


def _require_finite(turns: pd.DataFrame) -> None:
    """Raises AgonError for an infinite number."""
    for name in turns.columns.intersection(["payoff", "seconds"]):
        if count := int(np.isinf(turns[name]).sum()):
            raise AgonError(f"not a turns table: {name} is infinite in {count:,} rows")


def _require_once(turns: pd.DataFrame) -> None:
    """Raises AgonError for a (match, turn, seat) that is there twice."""
    twice = turns.duplicated(KEY).to_numpy()
    if twice.any():
        match, turn, seat = turns[KEY].iloc[int(twice.argmax())]
        raise AgonError(
            f"not a turns table: {twice.sum()} rows repeat a (match, turn, seat), first match {match}, turn {turn}, seat {seat}; "
            "of tables put together two hold the same match"
        )


def _as_type(column: pd.Series, dtype: Any) -> pd.Series:
    """A column with its type of COLUMNS. Raises AgonError where its values are of another kind."""
    try:
        if dtype == np.bool_ and not column.isin([True, False]).all():
            raise ValueError("there are other values than true and false")
        if dtype is LABEL:
            column = column.astype("str")
        if dtype in (COUNT, np.int64):
            column = column.astype("Float64")
            if (column % 1 != 0).any():
                raise ValueError("there are other values than whole numbers")
            column = column.astype(COUNT)
        return column.astype(dtype)
    except (TypeError, ValueError) as error:
        raise AgonError(
            f"not a turns table: {column.name} is not {pd.api.types.pandas_dtype(dtype)}: {error}"
        ) from None
