"""Checks of a table of turns, and its repair after pandas operations."""

from typing import Any

import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon.turns.columns import COLUMNS, COUNT, ENDS, KEY, LABEL, completed, has_type

LEAST = {"repetition": 0, "round": 1, "turn": 1, "seat": 0}
"""Column of numbers -> its least value."""


def tidy(turns: pd.DataFrame) -> pd.DataFrame:
    """Turns that were concatenated, filtered, sorted or merged, with the types of COLUMNS and a new index from 0.

    Other columns stay as they are, and columns of turns may be missing; older tables get the columns LATER (agon.turns.completed).
    Raises AgonError where a value is missing, infinite or of another type, and for repeated rows.
    """
    if {"match", "legal", "action"} <= set(turns):
        turns = completed(turns)
    require_present(turns)
    changed = {}
    for name in turns.columns.intersection(list(COLUMNS)):
        dtype, column = COLUMNS[name][0], turns[name]
        if not has_type(column.dtype, dtype):
            changed[name] = _as_type(column, dtype)
    same = not changed and isinstance(turns.index, pd.RangeIndex)
    table = turns if same else turns.assign(**changed).reset_index(drop=True)
    _require_values(table)
    return table


def require_present(turns: pd.DataFrame) -> None:
    """Raises AgonError for an absent value in a column of turns that must not be absent."""
    for name in turns.columns.intersection([name for name, (_, absent, _) in COLUMNS.items() if not absent]):
        if (missing := turns[name].isna()).any():
            raise AgonError(f"not a turns table: {name} is missing in {missing.sum():,} rows")


def validated(turns: pd.DataFrame) -> pd.DataFrame:
    """`turns` itself, if it has all of COLUMNS in their order, their types, and values that fit. Raises AgonError otherwise."""
    if fault := type_fault(turns):
        raise AgonError(f"not a turns table: {fault}")
    if missing := [name for name in COLUMNS if name not in turns]:
        raise AgonError(f"not a turns table: it has no column {', '.join(missing)}")
    if list(turns) != list(COLUMNS):
        raise AgonError("not a turns table: its columns are not in the order of agon.turns.COLUMNS")
    require_present(turns)
    for name, least in LEAST.items():
        if (turns[name] < least).any():
            raise AgonError(f"not a turns table: {name} is {turns[name].min()}; it must be {least} at least")
    _require_values(turns)
    return turns


def type_fault(turns: pd.DataFrame) -> str:
    """The first column that is not in COLUMNS, or has another type, in words; empty when there is none."""
    for name, dtype in turns.dtypes.items():
        if name not in COLUMNS:
            return f"it has a column {name} more"
        column_dtype = COLUMNS[name][0]
        if not has_type(dtype, column_dtype):
            return f"column {name} is {dtype}, not {pd.api.types.pandas_dtype(column_dtype)}"
    return ""


def _require_values(turns: pd.DataFrame) -> None:
    """Raises AgonError for an infinite number, an unknown end of an answer, and a repeated (match, turn, seat)."""
    for name in turns.columns.intersection(["payoff", "seconds"]):
        if count := int(np.isinf(turns[name]).sum()):
            raise AgonError(f"not a turns table: {name} is infinite in {count:,} rows")
    if "ended" in turns and (strange := set(turns.ended.dropna().unique()) - set(ENDS)):
        raise AgonError(
            f"not a turns table: ended is {min(map(str, strange))!r}; it must be {', '.join(ENDS)}, or absent"
        )
    if set(KEY) <= set(turns) and (repeated := turns.duplicated(KEY).to_numpy()).any():
        match, turn, seat = turns[KEY].iloc[int(repeated.argmax())]
        raise AgonError(
            f"not a turns table: {repeated.sum()} rows repeat a (match, turn, seat), first match {match}, turn {turn}, seat {seat}; "
            "if tables were put together, two of them have the same match"
        )


def _as_type(column: pd.Series, dtype: Any) -> pd.Series:
    """A column with its type of COLUMNS. Raises AgonError for values of another type."""
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
