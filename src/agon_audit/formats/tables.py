"""Tables whose columns every project names itself: CSV, JSON, JSON lines and parquet."""

import csv
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tarfile import TarError
from typing import Any
from zipfile import BadZipFile

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from agon.errors import AgonError, visible
from agon_audit.mapping import Mapping

MOST_ROWS = 5_000_000
MOST_BYTES = 2**30
MOST_JSON_BYTES = 2**28
"""Limits for one file. Values of JSON take several times the memory of their text."""
UNFIT = (
    *(LookupError, TypeError, ValueError, OSError, RuntimeError, MemoryError, AttributeError, EOFError),
    *(pa.ArrowException, BadZipFile, TarError, zlib.error),
)
"""The errors that readers raise for a damaged file or a file of another kind."""


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Whatever a reader raises for the file `name` becomes an AgonError of one line."""
    try:
        yield
    except AgonError as error:
        raise AgonError(f"{visible(name)}: {error}") from None
    except UNFIT as error:
        text = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).partition("\n")[0]
        raise AgonError(f"{visible(name)} cannot be read: {visible(text[:200]) or type(error).__name__}") from None


def require_size(path: Path, most: int = MOST_BYTES) -> None:
    """Raises AgonError for a file of more than `most` bytes."""
    if (size := path.stat().st_size) > most:
        raise AgonError(f"it has {size:,} bytes, and {most:,} are read at most: split it between two matches")


def columns_of(mapping: Mapping) -> list[str]:
    """All columns that a mapping names."""
    per_seat = [
        column for value in mapping.per_seat.values() for column in ([value] if isinstance(value, str) else value)
    ]
    named = [
        mapping.round,
        mapping.seat,
        mapping.order,
        *mapping.match,
        *mapping.condition,
        *mapping.options,
        *per_seat,
    ]
    return list(dict.fromkeys(name for name in named if name))


def require_columns(wanted: Sequence[str], present: Sequence[str]) -> None:
    """Raises AgonError for a column that a file does not have."""
    if missing := [name for name in wanted if name not in present]:
        columns = ", ".join(map(str, present[:30])) or "none"
        raise AgonError(f"it has no column {missing[0]!r}: there are {columns}")


def read_csv(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A CSV file with a head, in UTF-8. `line`: the line of the file in which the row ends."""
    require_size(path)
    wanted = columns_of(mapping)
    with path.open(encoding="utf-8-sig", newline="") as file:
        head = next(csv.reader(file), [])
    require_columns(wanted, head)
    if twice := next((name for name in wanted if head.count(name) > 1), None):
        raise AgonError(f"two columns are called {twice!r}: rename one")
    read = pyarrow.csv.ReadOptions(block_size=2**24)
    text = pyarrow.csv.ParseOptions(newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(
        include_columns=wanted,
        column_types=dict.fromkeys(wanted, pa.string()),
        strings_can_be_null=True,
        null_values=["", "NA", "NaN", "nan", "None", "null"],
        quoted_strings_can_be_null=False,
    )
    table = pyarrow.csv.read_csv(path, read, text, convert)
    _require_rows(table.num_rows)
    return table.to_pandas().assign(line=_lines(path, table.num_rows))


def _lines(path: Path, rows: int) -> Sequence[int]:
    """The line of every row. Only a file with empty lines or line ends in values is read again."""
    with path.open("rb") as file:
        lines = sum(1 for _ in file)
    if lines == rows + 1:
        return range(2, rows + 2)
    csv.field_size_limit(MOST_BYTES)
    with path.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text)
        return [reader.line_num for row in reader if row][1:]


def read_parquet(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A parquet file. `line`: the number of the row, from 1."""
    file = pyarrow.parquet.ParquetFile(path)
    _require_rows(file.metadata.num_rows)
    wanted = columns_of(mapping)
    require_columns(wanted, file.schema_arrow.names)
    size = sum(
        group.column(place).total_uncompressed_size
        for number in range(file.metadata.num_row_groups)
        for group in [file.metadata.row_group(number)]
        for place in range(group.num_columns)
        if group.column(place).path_in_schema.partition(".")[0] in wanted
    )
    if size > 2 * MOST_BYTES:
        raise AgonError(f"its columns unpack to {size:,} bytes, and {2 * MOST_BYTES:,} are read at most")
    table = file.read(columns=wanted).to_pandas()
    return pd.DataFrame({name: as_text(table[name]) for name in wanted}).assign(line=range(1, len(table) + 1))


def read_json(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A JSON file. Rows lie in the list at `mapping.rows`. `line`: the number of the row, from 1."""
    require_size(path, MOST_JSON_BYTES)
    return _frame(rows_in(load_json(path.read_bytes()), mapping.rows.split(".") if mapping.rows else []), mapping)


def read_json_lines(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A file of JSON lines. `line`: the line of the file."""
    require_size(path)
    steps = mapping.rows.split(".") if mapping.rows else []

    def rows() -> Iterator[dict[str, Any]]:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    value = load_json(line, f"line {number}: ")
                    yield from ({**row, "line": number} for row in rows_in(value if steps else [value], steps))

    return _frame(rows(), mapping)


def load_json(data: bytes, place: str = "") -> Any:
    """A value of JSON. Raises AgonError."""
    try:
        return json.loads(data)
    except RecursionError:
        raise AgonError(f"{place}it is nested too deeply") from None
    except ValueError as error:
        raise AgonError(f"{place}it is no JSON: {visible(str(error)[:120])}") from None


def rows_in(value: Any, steps: Sequence[str], outer: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """The rows below a path, each with the plain values of everything around it. Inner values hide outer ones."""
    outer = outer or {}
    if steps:
        if isinstance(value, list):
            for item in value:
                yield from rows_in(item, steps, outer)
            return
        if not isinstance(value, dict) or steps[0] not in value:
            raise AgonError(f"rows: there is no {steps[0]!r}")
        around = {key: item for key, item in value.items() if key != steps[0]}
        yield from rows_in(value[steps[0]], steps[1:], outer | flat(around))
        return
    if not isinstance(value, list):
        raise AgonError("rows: this is no list; write the path to the list of rows")
    for item in value:
        yield outer | (flat(item) if isinstance(item, dict | list) else {"value": item})


def flat(value: dict[str, Any] | list[Any], prefix: str = "") -> dict[str, Any]:
    """Values of JSON by their paths: {"a": {"b": [1, 2]}} is {"a.b.0": 1, "a.b.1": 2}, and a.b itself as a list.

    Lists and objects of more than 100 items are not opened.
    """
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    values: dict[str, Any] = {}
    for key, item in pairs:
        values[f"{prefix}{key}"] = item
        if isinstance(item, dict | list) and len(item) <= 100:
            values |= flat(item, f"{prefix}{key}.")
    return values


def _frame(rows: Iterator[dict[str, Any]], mapping: Mapping) -> pd.DataFrame:
    """The columns that a mapping names, of rows from JSON."""
    wanted, kept, names = columns_of(mapping), list[list[Any]](), dict[str, None]()
    for number, row in enumerate(rows, start=1):
        if number > MOST_ROWS:
            _require_rows(number)
        names |= dict.fromkeys(row)
        kept.append([row.get("line", number), *map(row.get, wanted)])
    if kept:
        require_columns(wanted, list(names))
    return as_table(kept, wanted)


def _require_rows(rows: int) -> None:
    if rows > MOST_ROWS:
        raise AgonError(f"it has more than {MOST_ROWS:,} rows: split it between two matches")


def as_table(rows: Sequence[Sequence[Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows of values, of which the first is the line, as text in these columns and `line`."""
    table = pd.DataFrame(rows, columns=["line", *columns], dtype=object)
    return pd.DataFrame({name: as_text(table[name]) for name in columns}).assign(line=table.line.astype("int64"))


def as_text(column: pd.Series) -> pd.Series:
    """Values as text: words as they are, whole numbers without a point, anything else as JSON. Absent stays absent."""
    if isinstance(column.dtype, pd.StringDtype):
        return column
    if isinstance(column.dtype, pd.CategoricalDtype):
        return as_text(pd.Series(column.cat.categories)).reindex(column.cat.codes).set_axis(column.index)
    return column.map(text_of, na_action="ignore").astype("str")


def text_of(value: Any) -> Any:
    """One value as text; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if hasattr(value, "tolist"):
        value = value.tolist()
    return json.dumps(value) if isinstance(value, bool | dict | list) else str(value)
