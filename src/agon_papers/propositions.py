"""What a statement says of numbers: of how many rows something must be true, or how rows are ordered; and how numbers are written."""

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
"""Numbers that are all written; of more, the smallest and the largest."""

DECIMALS = 9
"""Of the ends of intervals: processors sum in different orders, and differ beyond."""


@dataclass(frozen=True)
class Test:
    """A proposition about numbers, one row each: of how many rows a condition must be true."""

    __test__ = False  # pytest does not collect it
    numbers: Numbers
    condition: Condition
    enough: Callable[[Any, Any], Any]
    """Of (how many rows are as said, of how many): whether these are enough."""
    every: bool = True
    """Whether all rows must be as said: then each row is a part that can fail."""
    single: bool = False
    """Whether one row suffices."""
    gaps: Callable[[Any], pd.Series] | None = None
    """Of an order: how far each pair is apart."""
    doubt: bool = False
    """If it is false: whether the records leave that open."""
    nearly: bool = False
    """Whether it is true but for one unit of a printed number's last digit."""

    @cached_property
    def apart(self) -> pd.Series | None:
        """Of an order: its gaps."""
        return self.gaps(self.numbers) if self.gaps else None

    @cached_property
    def mask(self) -> pd.Series:
        """Which rows (of an order: pairs) are as said."""
        return self.condition(self.numbers).astype(bool) if self.apart is None else self.apart > 0

    @property
    def absent(self) -> bool:
        """Whether it has no number at all, as a correlation of what does not vary."""
        return bool(_first(self.numbers).isna().all())

    @property
    def true(self) -> bool:
        """Whether the proposition is true of these numbers."""
        mask = self.mask
        return bool(self.enough(mask.sum(), len(mask)))

    @property
    def sized(self) -> bool:
        """Whether its estimate is a share of rows."""
        return self.gaps is None and not (self.every and len(self.numbers) == 1 and _numeric(self.numbers))

    @property
    def estimate(self) -> float:
        """The smallest gap of an order, the number of a single row, else the share of rows that are as said."""
        if self.apart is not None:
            return float(self.apart.min())
        return float(self.mask.mean() if self.sized else _first(self.numbers).iloc[0])

    def __str__(self) -> str:
        mask, names = self.mask, [str(name) for name in self.numbers.index.names if name]
        of = f" by {' and '.join(names)}" if 0 < len(names) < 3 else " cells" * bool(names)
        count = f"{int(mask.sum())} of {len(mask)}{of}"
        if self.numbers.size > LISTED:
            return "; ".join(filter(None, [count, _spans(self.numbers)]))
        return listed(self.numbers) if self.gaps or len(mask) == 1 else f"{count}: {listed(self.numbers)}"


def all_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """Every row is as said."""
    return Test(_rows(numbers), condition, lambda hits, n: hits == n)


def none_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """No row is as said."""
    return Test(_rows(numbers), lambda x: ~condition(x).astype(bool), lambda hits, n: hits == n)


def any_of(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least one row is as said."""
    return Test(_rows(numbers), condition, lambda hits, n: hits > 0, every=False, single=True)


def most(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """More than half of the rows are as said."""
    return _counting(numbers, condition, lambda hits, n: 2 * hits > n)


def half(numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least half of the rows are as said."""
    return _counting(numbers, condition, lambda hits, n: 2 * hits >= n)


def at_least(rows: int, numbers: Any, condition: Condition = lambda x: x) -> Test:
    """So many rows are as said."""
    return _counting(numbers, condition, lambda hits, n: hits >= rows)


def share_of(least: float, numbers: Any, condition: Condition = lambda x: x) -> Test:
    """At least this share of the rows (0 to 1) is as said."""
    return _counting(numbers, condition, lambda hits, n: hits >= np.round(least * n, DECIMALS))


def share_below(most_of: float, numbers: Any, condition: Condition = lambda x: x) -> Test:
    """Less than this share of the rows (0 to 1) is as said."""
    return _counting(numbers, condition, lambda hits, n: hits < np.round(most_of * n, DECIMALS))


def order(numbers: Any, *groups: str | Sequence[str]) -> Test:
    """Every number of a group of names is above every number of the next group; REST: all other names.

    Names are those of the rows of a series, or of the columns of a table, in each of its rows.
    """
    given = _rows(numbers)
    return Test(given, lambda x: x, lambda hits, n: hits == n, gaps=lambda x: _gaps(x, groups))


def largest(numbers: Any, *names: str) -> Test:
    """The rows of these names have the largest numbers."""
    return order(numbers, names, REST)


def smallest(numbers: Any, *names: str) -> Test:
    """The rows of these names have the smallest numbers."""
    return order(numbers, REST, names)


def printed(numbers: Any, texts: Mapping[Any, Any]) -> Test:
    """Each number rounds to the one that is printed, at its decimals. `texts`: by row, one or, of a table, one for each column."""
    given = _rows(numbers)
    table = given.to_frame() if isinstance(given, pd.Series) else given
    known = [[texts[name]] if isinstance(texts[name], str) else texts[name] for name in table.index]
    pairs = [[*zip(row, printed, strict=True)] for row, printed in zip(table.to_numpy(object), known, strict=True)]
    hits, near = ([all(printed_as(*pair, off) for pair in row) for row in pairs] for off in (0, 1))
    return Test(given, lambda x: pd.Series(hits, x.index), lambda count, n: count == n, nearly=all(near))


def open_if(test: Test, doubt: Any) -> Test:
    """The same test; where it is false and `doubt` is true, the records leave it open."""
    return replace(test, doubt=bool(doubt))


@dataclass(frozen=True)
class Shown:
    """What stands beside a test and decides nothing: numbers, or of how many rows a condition is true."""

    what: str
    numbers: Any
    condition: Condition | None

    def __str__(self) -> str:
        known = isinstance(self.numbers, pd.Series | pd.DataFrame)
        given = self.numbers if known else pd.Series([self.numbers], ["all"])
        if given.empty:
            return f"{self.what}: none"
        if self.condition is not None:
            mask = self.condition(given).astype(bool)
            return f"{self.what}: {int(mask.sum())} of {len(mask)}"
        return f"{self.what}: {_spans(given) if given.size > LISTED else listed(given)}"


def shown(what: str, numbers: Any, condition: Condition | None = None) -> Shown:
    """Numbers, or how many rows are as said, that are shown beside a test and decide nothing."""
    return Shown(what, numbers, condition)


def _counting(numbers: Any, condition: Condition, enough: Callable[[Any, Any], Any]) -> Test:
    given = _rows(numbers)
    n = len(given)
    every = bool(enough(n, n) and not enough(n - 1, n))  # nine in ten of fewer than ten
    return Test(given, condition, enough, every=every)


def _rows(numbers: Any) -> Numbers:
    made = numbers if isinstance(numbers, pd.Series | pd.DataFrame) else pd.Series([numbers], ["all"])
    if made.empty:
        raise ValueError("there is no row to test")
    return made


def _first(numbers: Numbers) -> pd.Series:
    return numbers if isinstance(numbers, pd.Series) else numbers.iloc[:, 0]


def _numeric(numbers: Numbers) -> bool:
    kind = _first(numbers).dtype
    return is_numeric_dtype(kind) and not is_bool_dtype(kind)


def _gaps(numbers: Numbers, groups: Sequence[str | Sequence[str]]) -> pd.Series:
    """How far the number of a name is above that of each name in the next group: an entry for each row and pair."""
    wide = numbers.to_frame().T if isinstance(numbers, pd.Series) else numbers
    named = [[group] if isinstance(group, str) else [*group] for group in groups]
    rest = [name for name in wide.columns if all(name not in group for group in named)]
    sets = [rest if group == [REST] else group for group in named]
    if gone := [name for group in sets for name in group if name not in wide.columns]:
        raise ValueError(f"no row is named {', '.join(gone)}; there are {', '.join(map(str, wide.columns[:9]))}")
    pairs = [(one, other) for above, below in pairwise(sets) for one in above for other in below]
    values, place = wide.to_numpy(dtype=float), {name: number for number, name in enumerate(wide.columns)}
    ones, others = ([place[name] for name in names] for names in zip(*pairs, strict=True))
    index = [f"{row}: {one} > {other}" for row in wide.index for one, other in pairs]
    return pd.Series((values[:, ones] - values[:, others]).ravel(), pd.Index(index, dtype=object))


def tests_of(returned: Any) -> list[Test]:
    """The tests among what a statement returns."""
    return [each for each in _flat(returned) if isinstance(each, Test)]


def text_of_all(returned: Any) -> str:
    """All that a statement returns, as text."""
    return "; ".join(str(each) for each in _flat(returned) if each is not None and str(each))


def _flat(returned: Any) -> Iterator[Any]:
    if isinstance(returned, list | tuple):
        for each in returned:
            yield from _flat(each)
    else:
        yield returned


def listed(numbers: Numbers) -> str:
    """'C4S 40.2, DS-R1 33.6'; of a table 'C4S (pp 40.2, ap 30.1), ...'."""
    if isinstance(numbers, pd.DataFrame):
        return ", ".join(f"{name_of(name)} ({listed(row)})" for name, row in numbers.iterrows())
    if [*numbers.index] == ["all"]:
        return text_of(numbers.iloc[0])
    return ", ".join(f"{name_of(name)} {text_of(value)}" for name, value in numbers.items())


def _spans(numbers: Numbers) -> str:
    table = numbers.to_frame("") if isinstance(numbers, pd.Series) else numbers
    kept = [name for name in table if is_numeric_dtype(table[name]) and not is_bool_dtype(table[name])]
    return "; ".join(f"{name} {text_of(table[name].min())} to {text_of(table[name].max())}".strip() for name in kept)


def name_of(key: Any) -> str:
    """A row's name; of several keys, with spaces between."""
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def text_of(value: Any) -> str:
    """A number with as many decimals as its size asks for; anything else as it is."""
    if isinstance(value, str | bool | np.bool_ | int | np.integer):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def rounded(values: Any, digits: int = 1) -> Any:
    """As tables print them: half away from below, beyond what a processor's sum may lack."""
    unit = 10.0**-digits
    return (np.floor((values + unit / 2 + 1e-9) / unit) * unit).round(digits)


def printed_as(value: float | str, printed: str | float, off: int = 0) -> bool:
    """Whether a value rounds to a printed number at that number's decimals, or is a printed text; or is `off` by so many units."""
    if isinstance(value, str):
        return value == printed
    decimals = len(str(printed).partition(".")[2])
    return any(rounds_to(value, float(printed) + unit * 10.0**-decimals, decimals) for unit in range(-off, off + 1))


def rounds_to(value: Any, printed: Any, decimals: Any) -> Any:
    """Whether `value` (a number or a column) rounds to `printed` at that many decimals; half may round either way. False where absent."""
    return abs(value - printed) <= 0.5 * 10.0**-decimals + 1e-9
