"""Rows of files as one tidy table: a row is one seat in one round of one match."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon_audit.formats.tables import require_columns
from agon_audit.mapping import PER_SEAT, TABLES, Mapping

PLACE = ["file", "line", "match", "round", "seat"]
"""The columns that say where a row is."""
NUMBERS = "points", "total", "final", "result"
CHANCE_SEAT = -1
"""The seat of a chance event that is recorded among the actions."""


def completed(mapping: Mapping, columns: Sequence[str]) -> Mapping:
    """The mapping of a format whose reader names the columns: every standard column that is there stands for itself."""
    if mapping.format in TABLES:
        return mapping
    fields = {name: name for name in ("round", "seat", *PER_SEAT) if name in columns and not getattr(mapping, name)}
    lists = {name: [name] for name in ("match", "condition") if name in columns and not getattr(mapping, name)}
    return msgspec.structs.replace(mapping, **fields, **lists)


@dataclass
class Games:
    """Recorded games: the rows, and what is derived from them once for all checks."""

    rows: pd.DataFrame
    """Columns: file, line, match, round, seat, and those of a mapping that are recorded.

    `match` is the file and the name of the match in it.
    """
    mapping: Mapping
    unreadable: pd.DataFrame
    """Cells that hold no number where one belongs: file, line, match, round, seat, and `what`, a sentence."""

    @cached_property
    def group(self) -> np.ndarray:
        """The number of the match and round of each row."""
        return self.rows.groupby(["match", "round"], observed=True, sort=False).ngroup().to_numpy()

    @cached_property
    def first(self) -> np.ndarray:
        """Whether a row is the first of its match and seat."""
        return ~self.rows.duplicated(["match", "seat"]).to_numpy()

    @cached_property
    def whole(self) -> np.ndarray:
        """Whether a row's round has all seats that its match has."""
        seats = [self.rows.groupby(keys, observed=True).seat.transform("nunique") for keys in ("match", self.group)]
        return (seats[0] == seats[1]).to_numpy()

    @cached_property
    def place(self) -> np.ndarray:
        """The number of each row's action: its option of the row, or else its word. -1 without an action."""
        place = self.rows.action.cat.codes.to_numpy().astype(np.int64)
        if self.mapping.options:
            words = self.rows.action.astype("str")
            options = [
                words.eq(self.rows[f"option {number}"]).fillna(False) for number in range(len(self.mapping.options))
            ]
            place = np.select(options, range(len(options)), place + len(options))
        return place

    @cached_property
    def profile(self) -> np.ndarray:
        """A number for the actions of all seats in each row's round: the same for the same actions."""
        pairs = self.place * 2**20 + self.rows.seat.to_numpy()
        mixed = pd.Series(pd.util.hash_array(pairs))  # a sum of hashes does not depend on the order of the seats
        return mixed.groupby(self.group, sort=False).transform("sum").to_numpy()

    @cached_property
    def score(self) -> np.ndarray:
        """Recorded points of the whole match and seat of each row: final, else the last total, else the sum of the points."""
        by_seat = self.rows.groupby(["match", "seat"], observed=True, sort=False)
        score = pd.Series(np.nan, self.rows.index)
        for name, how in (("final", "first"), ("total", "last")):
            if name in self.rows:
                score = score.fillna(by_seat[name].transform(how))
        if "points" in self.rows:
            score = score.fillna(by_seat.points.transform("sum", skipna=False))
        return score.to_numpy()


def tidy(raw: pd.DataFrame, mapping: Mapping) -> Games:
    """Rows of files (agon_audit.formats) as one table. Raises AgonError."""
    mapping = completed(mapping, list(raw))
    if mapping.format not in TABLES:
        used = [name for value in mapping.per_seat.values() for name in ([value] if isinstance(value, str) else value)]
        require_columns(used, list(raw))
    rows = _long(raw, mapping)
    names = raw.file.astype("str") + _joined(raw, mapping.match, "none").radd(" ")
    numbers, labels = pd.factorize(names.str.rstrip())
    source = rows.pop("source").to_numpy()
    rows["match"] = pd.Categorical.from_codes(numbers[source], labels)
    rows["file"] = raw.file.astype("category").array[source]
    rows["line"] = raw.line.to_numpy()[source]
    rows["condition"] = _joined(raw, mapping.condition, "").array[source]
    rows["condition"] = rows.condition.astype("category")
    faults = [rows.iloc[:0]]
    for name in (*NUMBERS, "round", "seat"):
        if name in rows:
            numbers_of_column, wrong = _numbers(rows[name], whole=name in ("round", "seat"))
            what = [f"{name}: {str(text)!r:.60} is no number" for text in rows[name][wrong]]
            faults.append(rows[wrong].assign(what=what))
            rows[name] = numbers_of_column
    if "round" not in rows:
        rows["round"] = rows.groupby(["match", "seat"], observed=True).cumcount() + 1
    unreadable = pd.concat(faults).reindex(columns=[*PLACE, "what"])
    bad = rows["round"].isna() | rows.seat.isna()
    rows = rows[~bad].reset_index(drop=True)
    if rows.empty:
        raise AgonError("no row has a round and a seat: see the mapping")
    rows = rows.assign(round=rows["round"].astype("int64"), seat=rows.seat.astype("int64"))
    if mapping.words and "action" in rows:
        rows["action"] = _renamed(rows.action, mapping.words)
    for name in ("action", "submitted", "player"):
        if name in rows:
            rows[name] = rows[name].astype("category")
    return Games(rows, mapping, unreadable)


def _long(raw: pd.DataFrame, mapping: Mapping) -> pd.DataFrame:
    """A row for each seat, with `source`, the place of its row in the file."""
    seats = mapping.seats or 1
    whole = {name: getattr(mapping, name) for name in ("round", "order") if getattr(mapping, name)}
    parts = []
    for seat in range(seats):
        columns: dict[str, Any] = {"source": np.arange(len(raw))}
        columns["seat"] = _seat_numbers(raw[mapping.seat]) if mapping.seat else np.full(len(raw), seat)
        for name, column in whole.items():
            columns[name] = raw[column].array
        for name, value in mapping.per_seat.items():
            columns[name] = raw[value if isinstance(value, str) else value[seat]].array
        for place, column in enumerate(mapping.options):
            columns[f"option {place}"] = raw[column].array
        parts.append(pd.DataFrame(columns))
    rows = pd.concat(parts, ignore_index=True)
    return rows.sort_values(["source", "seat"], kind="stable", ignore_index=True) if seats > 1 else rows


def _seat_numbers(column: pd.Series) -> Any:
    """Seats as numbers from 0: as they are, or one less where they count from 1, or in the order of their names."""
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().equals(column.isna()):
        return (numbers - (numbers.min() == 1)).array
    return pd.Categorical(column).codes


def _numbers(column: pd.Series, whole: bool) -> tuple[pd.Series, pd.Series]:
    """A column as numbers, and where it holds something that is none. `whole`: fractions are none."""
    numbers = pd.to_numeric(column, errors="coerce").astype("float64")
    numbers = numbers.mask(np.isinf(numbers) | (whole & (numbers % 1 != 0)) | (whole & (numbers.abs() > 2**53)))
    return numbers, numbers.isna() & column.notna()


def _joined(raw: pd.DataFrame, columns: Sequence[str], absent: str) -> pd.Series:
    """Several columns as one text, with / between them; empty without columns."""
    if not columns:
        return pd.Series("", raw.index, dtype="str")
    first, *others = (raw[name].astype("str").fillna(absent) for name in columns)
    return first.str.cat(others, "/") if others else first


def _renamed(column: pd.Series, words: dict[str, str]) -> pd.Series:
    """The words of a file as the words of the rules."""
    values = column.astype("category")
    names = pd.Series(values.cat.categories.map(lambda word: words.get(word, word)), dtype="str")
    return pd.Series(names.reindex(values.cat.codes).array, column.index)
