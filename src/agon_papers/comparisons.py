"""Tests on tables of numbers, and how the numbers are said: one `Decision` holds both, so that they cannot drift apart."""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

Groups = Mapping[str, Sequence[str] | Mapping[str, str]]
"""Name of several names -> these: models, opponents, keys of a table; or of labels -> what each stands for."""

OTHERS = "the others"
QUANTIFIERS = r"all|any|most|half|none|\d+\+|\d+%"
HEAD = re.compile(
    rf"(?P<head>{QUANTIFIERS}|largest|smallest|order|span|always)(?: of (?P<of>[^:]+))?(?:: (?P<body>.+))?"
)


@dataclass(frozen=True)
class Decision:
    """What the numbers say of a statement, and the numbers: `holds` is None where they do not decide it."""

    holds: bool | None
    text: str
    decides: bool = True
    """False for numbers that are only shown beside those that decide."""


def joined(decisions: Iterable[Decision], separator: str = "; ") -> Decision:
    """Several as one: it fails if one fails, else it is undecided if one is, or if none decides anything."""
    every = list(decisions)
    held = [each.holds for each in every if each.decides]
    holds = False if False in held else None if None in held or not held else True
    return Decision(holds, separator.join(each.text for each in every if each.text), bool(held))


def found(
    table: pd.DataFrame | pd.Series,
    test: str | Sequence[str] = (),
    say: str | None = None,
    *,
    doubt: str = "",
    count: str = "",
    digits: int = 1,
    groups: Groups | None = None,
) -> Decision:
    """The decision of `test` (all of them, if several) on a table, in the words of `say`: the vocabulary is that of statements.

    `doubt`: where the tests fail but this one holds, nothing is decided. `count`: a condition of which {part} speaks; it decides nothing.
    Raises ValueError, in one line, for a test or words that do not fit the table.
    """
    frame = table.to_frame("value") if isinstance(table, pd.Series) else table
    tests = [Test.parse(one) for one in ([test] if isinstance(test, str) else test)]
    seen = Finding(frame, tests, digits, groups or {}, count)
    holds = seen.holds
    if holds is False and doubt and Test.parse(doubt).check(seen)[0]:
        holds = None
    text = say if say is not None else "{values}" if seen.mask is None else "{part}: {values}"
    return Decision(holds, _Words(seen).format(text), bool(tests))


@dataclass(frozen=True)
class Test:
    """A comparison: `head` says of how many rows `body` must be true, or how the rows are ordered; `of` names the rows meant."""

    head: str
    of: str = ""
    body: str = ""

    @classmethod
    def parse(cls, text: str) -> "Test":
        """Raises ValueError where the text is no test."""
        match = HEAD.fullmatch(text)
        if not match or (match["body"] is None) != (match["head"] == "always"):
            raise ValueError(
                f"`{text}` is no test; one is `most: value > 0`, `largest: NAME`, `order: A > B` or `span: 1 to 2`"
            )
        return cls(match["head"], match["of"] or "", match["body"] or "")

    def check(self, seen: "Finding") -> tuple[bool, pd.Series | None]:
        """Whether it holds, and for which rows; None where it speaks of all at once."""
        if self.head == "always":
            return True, None
        if self.head == "span":
            low, high = self.body.split(" to ")
            values = seen.table.value
            return bool(printed_as(values.min(), low) and printed_as(values.max(), high)), None
        if self.head in ("largest", "smallest"):
            names = seen.names(self.body)
            ranked = seen.table.value.astype(float).sort_values(ascending=self.head == "smallest", kind="stable")
            return set(ranked.index[: len(names)]) == set(names), None
        if self.head == "order":
            mask = self._ordered(seen)
            return bool(len(mask) and mask.all()), mask if len(mask) > 1 else None
        rows = seen.rows(self.of) if self.of else seen.table
        mask = seen.evaluate(self.body, rows).astype(bool)
        return _enough(self.head, mask), mask

    def _ordered(self, seen: "Finding") -> pd.Series:
        """Whether, in each row of a wide table (or among the rows of a narrow one), every value of a name is beyond the next name's."""
        wide = seen.table[["value"]].T if "value" in seen.table else seen.table
        chain = re.split(r" ([<>]) ", self.body)
        taken = [name for part in chain[::2] if part != OTHERS for name in seen.names(part)]
        sets = [
            [name for name in wide.columns if name not in taken] if part == OTHERS else seen.names(part)
            for part in chain[::2]
        ]
        held = pd.Series(True, index=wide.index)
        for one, sign, other in zip(sets, chain[1::2], sets[1:], strict=False):
            lower, higher = (one, other) if sign == "<" else (other, one)
            held &= wide[lower].max(axis=1) < wide[higher].min(axis=1)
        return held


def _enough(head: str, mask: pd.Series) -> bool:
    if head[0].isdigit():
        return bool(mask.sum() >= int(head[:-1]) if head[-1] == "+" else mask.mean() >= int(head[:-1]) / 100)
    shares = {
        "all": mask.all(),
        "any": mask.any(),
        "none": not mask.any(),
        "most": mask.mean() > 0.5,
        "half": mask.mean() >= 0.5,
    }
    return bool(len(mask) and shares[head])


@dataclass(frozen=True, eq=False)
class Finding:
    """A table of numbers (rows by name; a column `value`, or several), tested."""

    table: pd.DataFrame
    tests: Sequence[Test]
    digits: int
    groups: Groups
    count: str = ""

    @cached_property
    def _checks(self) -> list[tuple[bool, pd.Series | None]]:
        return [test.check(self) for test in self.tests]

    @cached_property
    def mask(self) -> pd.Series | None:
        """For which rows what is counted is true: `count`, else the first test that speaks of single rows."""
        if self.count:
            return self.evaluate(self.count, self.table).astype(bool)
        return next((mask for _, mask in self._checks if mask is not None), None)

    @cached_property
    def named(self) -> pd.DataFrame:
        """The rows of which a test speaks."""
        return next((self.rows(test.of) for test in self.tests if test.of), self.table)

    @property
    def holds(self) -> bool | None:
        """Whether all tests hold; None without a test."""
        return all(held for held, _ in self._checks) if self.tests else None

    def names(self, text: str) -> list[str]:
        """'weak' or 'A, B' as the names meant."""
        return [name for part in text.split(", ") for name in self.groups.get(part, [part])]

    def rows(self, text: str) -> pd.DataFrame:
        """The rows of these names, in any level of the index."""
        index, names = self.table.index, self.names(text)
        table = self.table[np.any([index.isin(names, level=level) for level in range(index.nlevels)], axis=0)]
        if table.empty:
            raise ValueError(f"no row is named {text}; there are {', '.join(map(str, index[:9]))}")
        return table

    def evaluate(self, expression: str, rows: pd.DataFrame) -> pd.Series:
        """A condition on each row: of its columns, its index, and of what `_known` adds to them."""
        try:
            return rows.eval(expression, engine="python", resolvers=[self._known(expression, rows)])
        except Exception as error:
            raise ValueError(f"`{expression}` cannot be read on columns {', '.join(map(str, rows))}: {error}") from None

    def _known(self, expression: str, rows: pd.DataFrame) -> dict[str, Any]:
        """`rounded`: the value as printed with `digits`; `median`: of all rows; `largest`, `smallest`: the name of a row's column;
        `at('NAME')`: the value of that row.
        """
        makers = {
            "at": lambda: lambda name: self.table.value[name],
            "rounded": lambda: rounded(rows.value, self.digits),
            "median": lambda: self.table.value.median(),
            "largest": lambda: rows.idxmax(axis=1),
            "smallest": lambda: rows.idxmin(axis=1),
        }
        return {name: make() for name, make in makers.items() if name in expression and name not in rows}


def rounded(values: pd.Series, digits: int) -> pd.Series:
    """As tables print them: half away from below, beyond what a processor's sum may lack."""
    unit = 10.0**-digits
    return (((values + unit / 2 + 1e-9) / unit).apply(np.floor) * unit).round(digits)


def printed_as(value: float, printed: str | float) -> bool:
    """Whether a value rounds to a printed number at that number's decimals; exactly half may round either way."""
    decimals = len(str(printed).partition(".")[2])
    return bool(abs(value - float(printed)) <= 0.5 * 10.0**-decimals + 1e-9)


class _Words(string.Formatter):
    """Fills what is said: see `agon_papers.statements` for the names, and what may follow their colon."""

    def __init__(self, seen: Finding) -> None:
        self.seen = seen

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, str]:
        return field_name, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        match = re.fullmatch(r"([+,]*(?:\.\d+[f%g])?) ?(.*)", format_spec)
        numbers, words = (match[1], match[2]) if match else ("", format_spec)
        if "." not in numbers:
            numbers += f".{self.seen.digits}f"
        return self._said(str(value), numbers, words)

    def _said(self, key: str, spec: str, words: str) -> str:
        table = self.seen.table
        if key == "part":
            if self.seen.mask is None:
                raise ValueError("the words name {part}, and no test and no count speaks of single rows")
            return _part(self.seen.mask, words)
        if key == "n":
            return f"{len(table):,}" if "," in spec else str(len(table))
        if two := re.fullmatch(r"(\w+) (to|of) (\w+)", key):
            one, between, other = two.groups()
            values = zip(table.index, table[one], table[other], strict=True)
            return listed({name: f"{number(a, spec)} {between} {number(b, spec)}" for name, a, b in values}, colon="")
        if key == "intervals":
            return _intervals(table, spec if spec[0] == "+" else f"+{spec}", words or "cells")
        name, _, how = key.rpartition(".") if key.rpartition(".")[2] in HOW else (key, "", "")
        if key in HOW:
            name, how = ("", key)
        shown = self._shown(name)
        if isinstance(shown, pd.DataFrame):
            shown = shown.value if "value" in shown else shown.drop(columns="as_printed", errors="ignore")
        if isinstance(shown, pd.Series) or how == "means":
            return HOW[how](shown, spec)
        return "; ".join(f"{column} {HOW[how](shown[column], spec)}" for column in shown)

    def _shown(self, name: str) -> pd.DataFrame | pd.Series:
        """The column of this name, or the rows."""
        table = self.seen.table
        if name in table:
            return table[name]
        if name in ("", "values", "named"):
            return self.seen.named if name == "named" else table
        try:
            return self.seen.rows(name)
        except ValueError:
            raise ValueError(
                f"the words name {{{name}}}: no row, and no column of {', '.join(map(str, table))}"
            ) from None


def _part(mask: pd.Series, words: str) -> str:
    if words.startswith("by "):
        counts = mask.groupby(level=words.removeprefix("by ")).agg(["sum", "size"])
        return ", ".join(f"{name} {hits} of {size}" for name, hits, size in counts.itertuples())
    return f"{int(mask.sum())} of {len(mask)} {words}".rstrip()


def number(value: Any, spec: str) -> str:
    """A number as `spec` (thousands, where it has a comma, without decimals), anything else as it is."""
    if isinstance(value, str | bool | np.bool_):
        return str(value)
    return f"{value:,.0f}" if "," in spec and abs(value) >= 1000 else f"{value:{spec}}"


def listed(values: Mapping[Any, Any] | pd.Series, spec: str = ".1f", colon: str = ":") -> str:
    """'C4S 40.2, DS-R1 33.6'; texts after a colon."""
    named = ((" ".join(map(str, key)) if isinstance(key, tuple) else str(key), value) for key, value in values.items())
    return ", ".join(f"{name}{colon if isinstance(value, str) else ''} {number(value, spec)}" for name, value in named)


def ranked(values: pd.Series, spec: str = ".1f", most: int | None = None) -> str:
    """As `listed`, the largest first; equal values stay in their order."""
    return listed(values.sort_values(ascending=False, kind="stable")[:most], spec)


def _intervals(table: pd.DataFrame, spec: str, words: str) -> str:
    each = [
        f"{number(row.value, spec)} ({number(row.low, spec)} to {number(row.high, spec)})" for row in table.itertuples()
    ]
    sizes = " or ".join(str(n) for n in sorted(set(table.n)))
    if len(table) == 1 and table.index[0] == "all":
        return f"{each[0][:-1]}, {sizes} {words})"
    named = listed(dict(zip(table.index, each, strict=True)), colon="")
    return f"{named}; 95 % intervals, {sizes} {words} each"


HOW = {
    "": listed,
    "ranked": ranked,
    "top": lambda values, spec: ranked(values, spec, 3),
    "bottom": lambda values, spec: listed(values.nsmallest(3), spec),
    "largest": lambda values, spec: ranked(values, spec, 1),
    "smallest": lambda values, spec: listed(values.nsmallest(1), spec),
    "span": lambda values, spec: f"{number(values.min(), spec)} to {number(values.max(), spec)}",
    "mean": lambda values, spec: number(values.mean(), spec),
    "means": lambda values, spec: listed(
        values.mean() if isinstance(values, pd.DataFrame) else {"": values.mean()}, spec
    ),
    "median": lambda values, spec: number(values.median(), spec),
    "sum": lambda values, spec: number(values.sum(), spec),
    "unique": lambda values, spec: " or ".join(number(value, spec) for value in sorted(values.unique())),
    "highest": lambda values, spec: number(np.nanmax(values.to_numpy(dtype=float)), spec),
    "lowest": lambda values, spec: number(np.nanmin(values.to_numpy(dtype=float)), spec),
}
"""How numbers are said -> the words, of a column."""
