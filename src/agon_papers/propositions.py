"""Tests of numbers: how many rows must meet a condition, or how rows are ordered. Also how numbers are written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

Numbers: TypeAlias = "pd.Series | pd.DataFrame"

Condition = Callable[[Any], Numbers]

REST = "the others"

LISTED = 20
"""A text has at most this many numbers; beyond, only the smallest and the largest."""

DECIMALS = 9
"""Decimals of the ends of intervals, and of a number before it is written. Processors sum in different orders, and differ beyond
these: 4.405 on one is 4.404999999999999 on another, and would be written as 4.41 or 4.4."""


@dataclass(frozen=True)
class Test:
    """A proposition about numbers, one row each: so many rows must meet a condition."""

    __test__ = False  # pytest does not collect it
    numbers: Numbers
    condition: Condition
    needed: int | None = None
    """The number of rows that must meet it; None: all of them."""
    counted: bool = False
    """Whether the number that is needed is a share of the rows."""
    gap_function: Callable[[Any], pd.Series] | None = None
    """For an order: numbers -> the gap of each pair."""
    doubt: bool = False
    """Whether the records leave the proposition open if it is false."""
    nearly: bool = False
    """Whether the proposition is true but for one unit of a printed number's last digit."""
    reading: str = ""
    """The definition by which the numbers were computed, where the paper leaves several open (`readings`)."""
    name: str = ""
    """Whose rows they are, where a sentence is about each of several (`of_each`)."""

    @cached_property
    def gaps(self) -> pd.Series | None:
        """The gap of each pair of an order; None for other tests."""
        return self.gap_function(self.numbers) if self.gap_function else None

    @cached_property
    def mask(self) -> pd.Series:
        """Which rows, or pairs of an order, meet the condition."""
        return self.condition(self.numbers).astype(bool) if self.gaps is None else self.gaps > 0

    @property
    def absent(self) -> bool:
        """Whether there is no number at all, as for a correlation of constant numbers."""
        return bool(_first(self.numbers).isna().all())

    @property
    def true(self) -> bool:
        """Whether the proposition is true of these numbers."""
        return int(self.mask.sum()) >= self.least

    @property
    def least(self) -> int:
        """The number of rows, or pairs, that must meet the condition."""
        return len(self.mask) if self.needed is None else self.needed

    @property
    def counts(self) -> bool:
        """Whether some of the rows must meet the condition, and not all of them or one."""
        return 1 < self.least < len(self.mask)

    @property
    def sized(self) -> bool:
        """Whether the estimate is a share of rows."""
        single = len(self.numbers) == 1 and self.least == 1 and _numeric(self.numbers)
        return self.gap_function is None and not single

    @property
    def estimate_of(self) -> str:
        """What `estimate` is."""
        if self.gaps is not None:
            return "smallest gap" if len(self.gaps) > 1 else "gap"
        return f"share of {len(self.mask)} rows" if self.sized else "number"

    @property
    def estimate(self) -> float:
        """The smallest gap of an order, the number of a single row, or else the share of rows that meet the condition."""
        if self.absent:
            return np.nan
        if self.gaps is not None:
            return float(self.gaps.min())
        return float(self.mask.mean() if self.sized else _first(self.numbers).iloc[0])

    def __str__(self) -> str:
        mask, names = self.mask, [str(name) for name in self.numbers.index.names if name]
        of = f" by {' and '.join(names)}" if 0 < len(names) < 3 else " cells" * bool(names)
        count = f"{int(mask.sum())} of {len(mask)}"
        if self.name:
            return f"{self.name} {count}"
        count += of
        if self.numbers.size > LISTED:
            return "; ".join(filter(None, [count, _spans(self.numbers)]))
        text = format_rows(self.numbers)
        return text if self.gap_function or len(mask) == 1 else f"{count}: {text}"


def all_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """Every row meets the condition."""
    return Test(_rows(numbers), condition)


def none_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """No row meets the condition."""
    return Test(_rows(numbers), lambda x: ~condition(x).astype(bool))


def any_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least one row meets the condition."""
    return Test(_rows(numbers), condition, 1)


def most(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """More than half of the rows meet the condition."""
    table = _rows(numbers)
    return Test(table, condition, len(table) // 2 + 1, counted=True)


def half(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least half of the rows meet the condition."""
    table = _rows(numbers)
    return Test(table, condition, -(-len(table) // 2), counted=True)


def nearly_all(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least nine in ten rows meet the condition; of five to nine rows all but one, and of fewer all."""
    table = _rows(numbers)
    n = len(table)
    return Test(table, condition, n - max(n // 10, int(n >= 5)), counted=True)


def several(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least three rows meet the condition; of four rows or fewer, at least half."""
    table = _rows(numbers)
    return Test(table, condition, min(3, -(-len(table) // 2)))


def share_of(least: float, numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least this share of the rows (0 to 1) meets the condition."""
    table = _rows(numbers)
    return Test(table, condition, _rows_of_share(least, len(table)), counted=True)


def of_each(level: str, word: Callable[..., Test], numbers: Numbers, condition: Condition) -> list[Test]:
    """The same test of the rows of each name in an index level. `word`: one of the functions above, such as `most`.

    A sentence that names several models, and says how often they do something, is about each of them.
    """
    return [replace(word(rows, condition), name=str(name)) for name, rows in numbers.groupby(level)]


def order(numbers: Any, *groups: str | Sequence[str]) -> Test:
    """Every number of a group of names is above every number of the next group. REST stands for all other names.

    The names are the rows of a series, or the columns of a table; a table is tested in each of its rows.
    """
    return Test(_rows(numbers), lambda x: x, gap_function=lambda x: _gaps(x, groups))


def largest(numbers: Any, *names: str) -> Test:
    """The rows of these names have the largest numbers."""
    return order(numbers, names, REST)


def smallest(numbers: Any, *names: str) -> Test:
    """The rows of these names have the smallest numbers."""
    return order(numbers, REST, names)


def printed(numbers: Any, texts: Mapping[Any, Any]) -> Test:
    """Each number rounds to the printed one, at its decimals. `texts`: row -> the printed number, or one per column of a table."""
    rows = _rows(numbers)
    table = rows.to_frame() if isinstance(rows, pd.Series) else rows
    expected = [[texts[name]] if isinstance(texts[name], str) else texts[name] for name in table.index]
    pairs = [[*zip(*row, strict=True)] for row in zip(table.to_numpy(object), expected, strict=True)]
    hits, near = ([all(printed_as(*pair, off) for pair in row) for row in pairs] for off in (0, 1))
    return Test(rows, lambda x: pd.Series(hits, x.index), nearly=all(near))


def open_if(test: Test, doubt: Any) -> Test:
    """The same test, but the records leave it open where it is false and `doubt` is true."""
    return replace(test, doubt=bool(doubt))


def readings(definitions: Sequence[str] | Mapping[str, Any], test: Callable[[Any], Any]) -> list[Any]:
    """The same proposition by several definitions. Where they disagree nothing is decided.

    `definitions`: their names, or name -> what `test` takes, such as a column. `test`: returns tests.
    """
    by_name = definitions if isinstance(definitions, Mapping) else dict(zip(definitions, definitions, strict=True))
    return [
        replace(item, reading=name) if isinstance(item, Test) else item
        for name, definition in by_name.items()
        for item in _flat(test(definition))
    ]


@dataclass(frozen=True)
class Aside:
    """Numbers beside a test that decide nothing, or a count of the rows that meet a condition."""

    what: str
    numbers: Any
    condition: Condition | None

    def __str__(self) -> str:
        rows = _as_rows(self.numbers)
        if rows.empty:
            return f"{self.what}: none"
        if self.condition is not None:
            mask = self.condition(rows).astype(bool)
            return f"{self.what}: {int(mask.sum())} of {len(mask)}"
        return f"{self.what}: {_spans(rows) if rows.size > LISTED else format_rows(rows)}"


def aside(what: str, numbers: Any, condition: Condition | None = None) -> Aside:
    """Puts numbers beside a test, or a count of the rows that meet the condition. They decide nothing."""
    return Aside(what, numbers, condition)


def _rows_of_share(share: float, n: int) -> int:
    """The least number of n rows that is at least this share of them."""
    return int(np.ceil(np.round(share * n, DECIMALS)))


def _as_rows(numbers: Any) -> Numbers:
    return numbers if isinstance(numbers, pd.Series | pd.DataFrame) else pd.Series([numbers], ["all"])


def _rows(numbers: Any) -> Numbers:
    rows = _as_rows(numbers)
    if rows.empty:
        raise ValueError("there is no row to test")
    return rows


def _first(numbers: Numbers) -> pd.Series:
    return numbers if isinstance(numbers, pd.Series) else numbers.iloc[:, 0]


def _numeric(numbers: Numbers) -> bool:
    kind = _first(numbers).dtype
    return is_numeric_dtype(kind) and not is_bool_dtype(kind)


def _gaps(numbers: Numbers, groups: Sequence[str | Sequence[str]]) -> pd.Series:
    """How far a name's number is above that of each name in the next group: an entry for each row and pair."""
    wide = numbers.to_frame().T if isinstance(numbers, pd.Series) else numbers
    name_groups = [[group] if isinstance(group, str) else [*group] for group in groups]
    rest = [name for name in wide.columns if all(name not in group for group in name_groups)]
    sets = [rest if group == [REST] else group for group in name_groups]
    if unknown := [name for group in sets for name in group if name not in wide.columns]:
        raise ValueError(f"no row is named {', '.join(unknown)}; there are {', '.join(map(str, wide.columns[:9]))}")
    pairs = [(one, other) for above, below in pairwise(sets) for one in above for other in below]
    values = wide.to_numpy(dtype=float)
    place = {name: number for number, name in enumerate(wide.columns)}
    ones, others = ([place[name] for name in names] for names in zip(*pairs, strict=True))
    index = [f"{row}: {one} > {other}" for row in wide.index for one, other in pairs]
    return pd.Series((values[:, ones] - values[:, others]).ravel(), pd.Index(index, dtype=object))


def tests_of(returned: Any) -> list[Test]:
    """The tests among what a statement returns."""
    return [item for item in _flat(returned) if isinstance(item, Test)]


def text_of_all(returned: Any) -> str:
    """The text of all tests and asides that a statement returns. The first test of a reading names it."""
    texts, last = [], ""
    for item in _flat(returned):
        reading = item.reading if isinstance(item, Test) else ""
        if item is not None and str(item):
            texts.append(f"{reading}: {item}" if reading not in ("", last) else str(item))
            last = reading or last
    return "; ".join(texts)


def _flat(returned: Any) -> Iterator[Any]:
    if isinstance(returned, list | tuple):
        for item in returned:
            yield from _flat(item)
    else:
        yield returned


def format_rows(numbers: Numbers) -> str:
    """A series as 'C4S 40.2, DS-R1 33.6'; a table as 'C4S (pp 40.2, ap 30.1), ...'."""
    if isinstance(numbers, pd.DataFrame):
        return ", ".join(f"{name_of(name)} ({format_rows(row)})" for name, row in numbers.iterrows())
    if [*numbers.index] == ["all"]:
        return text_of(numbers.iloc[0])
    return ", ".join(f"{name_of(name)} {text_of(value)}" for name, value in numbers.items())


def _spans(numbers: Numbers) -> str:
    table = numbers.to_frame("") if isinstance(numbers, pd.Series) else numbers
    numeric = table.loc[:, [is_numeric_dtype(kind) and not is_bool_dtype(kind) for kind in table.dtypes]]
    spans = [f"{name} {text_of(column.min())} to {text_of(column.max())}" for name, column in numeric.items()]
    return "; ".join(map(str.strip, spans))


def name_of(key: Any) -> str:
    """A row's name; several keys have spaces between them."""
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def text_of(value: Any) -> str:
    """A number with decimals by its size; anything else as it is."""
    if isinstance(value, str | bool | np.bool_ | int | np.integer):
        return str(value)
    value = round(value, DECIMALS)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def rounded(values: Any, digits: int = 1) -> Any:
    """Values rounded as tables print them: half goes up, even if the sum of a processor is a little below half."""
    unit = 10.0**-digits
    return (np.floor((values + unit / 2 + 1e-9) / unit) * unit).round(digits)


def printed_as(value: float | str, printed: str | float, off: int = 0) -> bool:
    """Whether a value rounds to a printed number at that number's decimals, or equals a printed text.

    `off`: units of the last decimal by which it may differ.
    """
    if isinstance(value, str):
        return value == printed
    decimals = len(str(printed).partition(".")[2])
    return any(rounds_to(value, float(printed) + unit * 10.0**-decimals, decimals) for unit in range(-off, off + 1))


def rounds_to(value: Any, printed: Any, decimals: Any) -> Any:
    """Whether a number, or each of a column, rounds to `printed` at these decimals. Half may round either way. False where absent."""
    return abs(value - printed) <= 0.5 * 10.0**-decimals + 1e-9
