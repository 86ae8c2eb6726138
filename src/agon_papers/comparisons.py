"""Tests on tables of numbers, and how the numbers are said: one `Decision` holds both, so that they cannot drift apart."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from agon_papers.draws import DRAW

Groups = Mapping[str, Sequence[str] | Mapping[str, str]]
"""Name of several names -> these: models, opponents, keys of a table; or of labels -> what each stands for."""

COLUMNS = ["paper", "table", "row", "column", "statistic", "published", "recomputed", "agrees", "reading"]
"""Of a table of cells: printed numbers beside what the records say."""
OTHERS = "the others"
HALF = 0.5
"""Of a row: a count is a whole number, and lies on neither side of a bound by less."""
STEP = 0.2
"""Of the margin, by which it moves: from 5 % of the range to 4 or 6."""
QUANTIFIERS = r"all|any|none|most|half|\d+\+|(?:under )?\d+%"
TEST = re.compile(
    rf"(?P<head>{QUANTIFIERS}|largest|smallest|order|span|always)(?: of (?P<of>[^:]+))?(?:: (?P<body>.+))?"
)
NAMED = re.compile(r"\{([^{}:]*)(?::([^{}]*))?\}")
SMALL = re.compile(r"\bp = (?:\d(?:\.\d+)?e-\d+|0\.000\d*)(?![\d.])")
"""A chance below one in a thousand."""
HOW_SAID = re.compile(r"([+,]*)(\.\d+[f%g])? ?(.*)")


@dataclass(frozen=True)
class Decision:
    """What the numbers say of a statement, and the numbers: `holds` is None where they do not decide it."""

    holds: bool | None
    text: str
    decides: bool = True
    """False for numbers that are only shown beside those that decide."""


def joined(decisions: Iterable[Decision]) -> Decision:
    """Several as one: it fails if one fails, else it is undecided if one is, or if none decides anything."""
    every = list(decisions)
    held = [each.holds for each in every if each.decides]
    holds = False if False in held else None if None in held or not held else True
    return Decision(holds, "; ".join(each.text for each in every if each.text), bool(held))


def found(
    table: pd.DataFrame | pd.Series,
    test: str | Sequence[str] = (),
    say: str | None = None,
    *,
    line: str = "",
    doubt: str = "",
    count: str = "",
    digits: int = 1,
    margin: float = 0,
    groups: Groups | None = None,
) -> Decision:
    """The decision of `test` (all of them, if several) on a table, in the words of `say` and, for each row, `line`.

    The vocabulary is that of statements.
    `doubt`: where the tests fail but this one holds, nothing is decided. `count`: a condition of which {part} speaks; it decides nothing.
    `margin`: what this word of a condition stands for.
    Raises ValueError, in one line, for a test or words that do not fit the table.
    """
    frame = table.to_frame("value") if isinstance(table, pd.Series) else table
    tests = [parsed(one) for one in ([test] if isinstance(test, str) else test)]
    seen = Finding(frame, tests, digits, groups or {}, count, line, margin)
    holds = all(held for held, _ in seen.checks) if tests else None
    if holds is False and doubt and seen.check(parsed(doubt))[0]:
        holds = None
    words = "{lines}" if line else "{values}" if seen.mask is None else "{part}: {values}"
    text = NAMED.sub(lambda match: seen.said(match[1], match[2] or ""), words if say is None else say)
    return Decision(holds, SMALL.sub("p < 0.001", text), bool(tests))


def parsed(test: str) -> re.Match[str]:
    """A test's `head` (of how many rows `body` must be true, or how the rows are ordered), `of` (the rows meant) and `body`.

    Raises ValueError where the text is no test.
    """
    match = TEST.fullmatch(test)
    if not match or (match["body"] is None) != (match["head"] == "always"):
        examples = "`most: value > 0`, `largest: NAME`, `order: A > B` or `span: 1 to 2`"
        raise ValueError(f"`{test}` is no test; one is {examples}")
    head, body = match["head"], match["body"] or ""
    if head == "order":
        parts = re.split(" [<>] ", body)
        if len(parts) == 1:
            raise ValueError(f"`{test}` orders nothing: an order is `order: A > B`")
        if len(set(parts)) < len(parts):
            raise ValueError(f"`{test}` can never hold: it has one name on both sides")
    if head == "span" and (ends := re.fullmatch(r"(-?[\d.]+) to (-?[\d.]+)", body)) and float(ends[1]) > float(ends[2]):
        raise ValueError(f"`{test}` can never hold: {ends[1]} is above {ends[2]}")
    if (head.endswith("%") and not 0 < _number_of(head) <= 100) or head == "0+":
        raise ValueError(
            f"`{test}` can never fail, or never hold: a share is above 0 and 100 % at most, a number of rows at least 1"
        )
    if head not in ("always", "span", "largest", "smallest", "order"):
        readable(body)
        if (ends := BETWEEN.fullmatch(body)) and float(ends[1]) > float(ends[2]):
            raise ValueError(f"`{test}` can never hold: {ends[1]} is above {ends[2]}")
    return match


def _number_of(head: str) -> float:
    return float(re.sub(r"[^\d.]", "", head) or 0)


BETWEEN = re.compile(r"(-?\d+(?:\.\d+)?) <=? [^<>=]+ <=? (-?\d+(?:\.\d+)?)")
"""A condition with two bounds."""
CALLED = ("abs", "at", "count", "iloc", "max", "min", "str")
"""Functions, and parts of a column, that an expression may name."""


def readable(text: str) -> None:
    """Raises ValueError where a text is no expression of columns, or calls what it may not.

    Names in backticks are pandas'; those in braces are filled in later.
    """
    bare = re.sub(r"`[^`]*`|\{[\w-]+\}", "name", text)
    try:
        nodes = [*ast.walk(ast.parse(bare or "0", mode="eval"))]
    except SyntaxError:
        raise ValueError(f"`{text}` is neither a step nor an expression") from None
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    named |= {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if not {type(node) for node in nodes} <= EXPRESSION or not named <= {*CALLED}:
        raise ValueError(
            f"`{text}` is no expression of columns: names, numbers, texts, lists, arithmetic, comparisons, and {', '.join(CALLED)}"
        )


EXPRESSION = {
    *(
        ast.Expression,
        ast.BoolOp,
        ast.BinOp,
        ast.UnaryOp,
        ast.Compare,
        ast.Call,
        ast.Name,
        ast.Constant,
        ast.List,
        ast.Tuple,
        ast.Attribute,
        ast.Subscript,
    ),
    *(
        each
        for group in (ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context)
        for each in group.__subclasses__()
    ),
}
"""Nodes of which an expression is made."""


def enough(head: str, hits: Any, n: Any) -> Any:
    """Whether as many of n (numbers or columns) are true as the quantifier `head` asks for."""
    number = _number_of(head)
    if head.endswith("+"):
        return hits >= number
    if head.endswith("%"):
        return 100 * hits < number * n if head.startswith("under") else 100 * hits >= number * n
    return {"all": hits == n, "any": hits > 0, "none": hits == 0, "most": 2 * hits > n, "half": 2 * hits >= n}[head]


@dataclass(frozen=True, eq=False)
class Finding:
    """A table of numbers (rows by name; a column `value`, or several), tested."""

    table: pd.DataFrame
    tests: Sequence[re.Match[str]]
    digits: int
    groups: Groups
    count: str
    line: str
    margin: float = 0

    @cached_property
    def checks(self) -> list[tuple[bool, pd.Series | None]]:
        """`check` of each test."""
        return [self.check(test) for test in self.tests]

    @cached_property
    def mask(self) -> pd.Series | None:
        """For which rows what is counted is true: `count`, else the first test that speaks of single rows."""
        if self.count:
            return self.evaluate(self.count, self.table)
        return next((mask for _, mask in self.checks if mask is not None), None)

    @cached_property
    def named(self) -> pd.DataFrame:
        """The rows of which a test speaks."""
        return next((self.rows(test["of"]) for test in self.tests if test["of"]), self.table)

    def check(self, test: re.Match[str]) -> tuple[bool, pd.Series | None]:
        """Whether a test holds, and for which rows; None where it speaks of all at once."""
        head, of, body = test.groups()
        if head == "always":
            return True, None
        if self.table.empty or ("value" in self.table and self.table.value.isna().all()):
            raise ValueError(f"`{test[0]}` has no {'row' if self.table.empty else 'number'} to test")
        match head:
            case "span":
                ends = zip((self.table.value.min(), self.table.value.max()), body.split(" to "), strict=True)
                return all(printed_as(value, printed) for value, printed in ends), None
            case "largest" | "smallest":
                names = self.names(body)
                if gone := [name for name in names if name not in self.table.index]:
                    raise ValueError(
                        f"no row is named {', '.join(gone)}; there are {', '.join(map(str, self.table.index[:9]))}"
                    )
                values = self.table.value.astype(float).sort_values(ascending=head == "smallest", kind="stable")
                return set(values.index[: len(names)]) == set(names), None
            case "order":
                mask = self._ordered(body)
                return bool(mask.all()), mask if len(mask) > 1 else None
        mask = self.evaluate(body, self.rows(of) if of else self.table)
        return bool(enough(head, mask.sum(), len(mask))), mask

    def _ordered(self, chain: str) -> pd.Series:
        """Whether, in each row of a wide table (or among the rows of a narrow one), every value of a name is beyond the next name's."""
        return (self._gaps(chain, self.table[["value"]].T if "value" in self.table else self.table) > 0).all(axis=1)

    def _gaps(self, chain: str, wide: pd.DataFrame) -> pd.DataFrame:
        """How far, in each row, the value of a name is beyond that of a name that comes next in the chain: a column for each such pair."""
        groups, signs = re.split(r" [<>] ", chain), re.findall(r" ([<>]) ", chain)
        taken = [name for group in groups if group != OTHERS for name in self.names(group)]
        rest = [name for name in wide.columns if name not in taken]
        sets = [rest if group == OTHERS else self.names(group) for group in groups]
        pairs = {
            (one, other): (wide[other] - wide[one] if sign == "<" else wide[one] - wide[other])
            for names, sign, following in zip(sets, signs, sets[1:], strict=False)
            for one in names
            for other in following
        }
        return pd.DataFrame(pairs, index=wide.index)

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

    def evaluate(self, condition: str, rows: pd.DataFrame) -> pd.Series:
        """For which rows a condition is true: on their columns, their index, and on what `_known` adds to them."""
        words = set(re.findall(r"\w+", condition)) - {*map(str, rows)}
        known = {word: value for word in words if (value := self._known(word, rows)) is not None}
        try:
            return rows.eval(condition, engine="python", resolvers=[known]).astype(bool)
        except Exception as error:
            raise ValueError(f"`{condition}` cannot be read on columns {', '.join(map(str, rows))}: {error}") from None

    def _known(self, word: str, rows: pd.DataFrame) -> Any:
        """What a word of a condition stands for that is no column."""
        match word:
            case "rounded":
                return rounded(rows.value, self.digits)
            case "median" | "highest" | "lowest":
                return self.table.value.agg({"highest": "max", "lowest": "min"}.get(word, word))
            case "largest" | "smallest":
                return rows.idxmax(axis=1) if word == "largest" else rows.idxmin(axis=1)
            case "at":
                return lambda name: self.table.value[name]
            case "margin":
                return self.margin

    def said(self, key: str, how: str) -> str:
        """A {key:how} of what is said: see `agon_papers.statements` for the names, and what may follow their colon."""
        match = HOW_SAID.fullmatch(how)
        signs, decimals, words = match.groups() if match else ("", "", how)
        spec = f"{signs}{decimals or f'.{self.digits}f'}"
        if key in ("part", "which"):
            if self.mask is None:
                raise ValueError(f"the words name {{{key}}}, and no test and no count speaks of single rows")
            return _part(self.mask, words) if key == "part" else ", ".join(map(str, self.mask.index[self.mask]))
        if key == "n":
            return number(len(self.table), ",.0f" if "," in spec else ".0f")
        if key == "lines":
            return "; ".join(self._lines())
        if key == "intervals":
            return _intervals(self.table, f"+{spec.lstrip('+')}", words or "cells")
        if two := re.fullmatch(r"(\w+) (to|of|and|for|±) (\w+)", key):
            columns = zip(self.table.index, self._shown(two[1]), self._shown(two[3]), strict=True)
            return listed({name: f"{number(a, spec)} {two[2]} {number(b, spec)}" for name, a, b in columns}, colon="")
        name, _, last = ("", "", key) if key in HOW and key not in self.table else key.rpartition(".")
        shown, last = (self._shown(name), last) if last in HOW else (self._shown(key), "")
        if isinstance(shown, pd.DataFrame):
            shown = shown.value if "value" in shown else shown.drop(columns="as_printed", errors="ignore")
        if isinstance(shown, pd.Series) or last in ("means", "highest", "lowest"):
            return HOW[last](shown, spec)
        return "; ".join(f"{column} {HOW[last](shown[column], spec)}" for column in shown)

    def _lines(self) -> list[str]:
        """Each row in the words of `line`."""
        rows = zip(self.table.index, self.table.to_dict("records"), strict=True)
        try:
            return [self.line.format_map({"name": name_of(key), **row}) for key, row in rows]
        except (KeyError, ValueError) as error:
            columns = ", ".join(map(str, self.table))
            raise ValueError(f"`{self.line}` does not fit columns {columns}: {error}") from None

    def _shown(self, name: str) -> pd.DataFrame | pd.Series:
        """The column of this name, or the rows."""
        if name in self.table:
            return self.table[name]
        if name in ("", "values", "named"):
            return self.named if name == "named" else self.table
        try:
            return self.rows(name)
        except ValueError:
            columns = ", ".join(map(str, self.table))
            raise ValueError(f"the words name {{{name}}}: no row, and no column of {columns}") from None


@dataclass(frozen=True, eq=False)
class Trial:
    """A test in many record sets: all have an entry, or row, for each (index DRAW)."""

    estimate: pd.Series
    """What the test is about (see docs/statements-rule.md)."""
    parts: pd.DataFrame
    """All that must be true for it to hold, a column each: of a test of all rows, each row; of an order, each pair. Of `any`: each row."""
    sizes: pd.Series | None = None
    """Where the estimate is a share of rows: how many there are."""
    quantifier: str = ""
    """How many of them must be true, if some suffice."""
    chosen: int = 1
    """Of how many rows the one was chosen that is true most often."""

    @property
    def true(self) -> bool:
        """Whether it holds, of the only record set."""
        parts = self.parts.to_numpy(bool)
        return bool(parts.any() if self.quantifier == "any" else parts.all())

    @property
    def counted(self) -> bool:
        """Whether a number of rows must be true."""
        return self.quantifier not in ("", "any")

    @classmethod
    def joined(cls, trials: Sequence["Trial"]) -> "Trial":
        """The same test in the record sets of several blocks."""
        if len(trials) == 1:
            return trials[0]
        sizes = pd.concat([each.sizes for each in trials], ignore_index=True) if trials[0].sizes is not None else None
        estimate = pd.concat([each.estimate for each in trials], ignore_index=True)
        return cls(estimate, pd.concat([each.parts for each in trials], ignore_index=True), sizes, trials[0].quantifier)

    def centred(self, recorded: "Trial", cells: Sequence[int]) -> "Trial":
        """Moved so that the record sets' mean is what the records give. `cells`: how many units each has.

        A share of rows, and the smallest of several gaps, have the records' noise in them, and that of the draws on top. Counts of rows
        are stretched too (`stretch`), and where they vary must be beyond their bound by HALF a row. Of `any` the row is taken that is
        true most often.
        """
        own = recorded.estimate.iloc[0]
        off = self.estimate.mean() - own
        if self.sizes is None:
            return self if self.parts.shape[1] == 1 else replace(self, estimate=self.estimate - off)
        if self.counted:
            moved = own + (self.estimate - off - own) * stretch(cells, self.sizes.mean())
            half = HALF if moved.nunique() > 1 else 0.0
            ways = [self.having(moved * self.sizes + each).parts for each in (half, -half)]
            parts = ways[0] & ways[1] if recorded.true else ways[0] | ways[1]
            return replace(self, estimate=moved.clip(0, 1), parts=parts)
        parts, chosen = self.parts, 1
        if self.quantifier and recorded.true:
            true = parts.loc[:, recorded.parts.iloc[0].to_numpy()]
            parts, chosen = true[[true.mean().idxmax()]], parts.shape[1]
        elif self.quantifier:
            parts = parts.any(axis=1).to_frame()
        return replace(self, estimate=(self.estimate - off).clip(0, 1), parts=parts, chosen=chosen)

    def ends(self, tails: Sequence[float]) -> list[float]:
        """Of an interval of the estimate; where a share of rows varies, by HALF a row more."""
        low, high = self.estimate.quantile([*tails])
        half = HALF / self.sizes.mean() if self.sizes is not None and low < high else 0.0
        return [max(low - half, 0.0), min(high + half, 1.0)] if half else [low, high]

    def having(self, hits: pd.Series) -> "Trial":
        """The same with so many rows true."""
        held = enough(self.quantifier, hits.round(9), self.sizes).to_frame()
        return replace(self, estimate=hits / self.sizes, parts=held)

    def stepped(self) -> list["Trial"]:
        """With one row more, and one less; nothing where no number of rows must be true."""
        return [self.having(self.estimate * self.sizes + step) for step in (1, -1)] if self.counted else []


def stretch(cells: Sequence[int], rows: float) -> float:
    """By what deviations of a count of rows are too small, that are made of cells with so many units each, all of as many cells.

    Drawn means of n units vary as means do, but fall on one side of a bound too often: by n / (n - 1) of the variance.
    """
    units = np.asarray(cells, dtype=float) * max(1.0, len(cells) / rows)
    units = units[units > 1]
    return float(np.mean(units / (units - 1)) ** 0.5) if rows <= len(cells) and len(units) else 1.0


@dataclass(frozen=True, eq=False)
class Drawn(Finding):
    """The same table of many record sets, below each other: the first level of its index (DRAW) says which."""

    def tried(self, test: re.Match[str]) -> Trial:
        """A test in every record set. Raises ValueError for a test that speaks of these very records only."""
        head, of, body = test.groups()
        match head:
            case "always" | "span":
                raise ValueError(f"`{test[0]}` is about these very records: its statement's kind is exact")
            case "largest" | "smallest":
                gaps = self._gaps(f"{body} {'>' if head == 'largest' else '<'} {OTHERS}", self._wide)
                return Trial(gaps.min(axis=1), _wide(gaps > 0))
            case "order":
                gaps = self._gaps(body, self._wide if "value" in self.table else self.table)
                return Trial(gaps.min(axis=1).groupby(level=DRAW).min(), _wide(gaps > 0))
        rows = self.rows(of) if of else self.table
        mask = self.evaluate(body, rows)
        hits, n = mask.groupby(level=DRAW).sum(), mask.groupby(level=DRAW).size()
        named = [name for name in re.findall(r"\w+", body) if name in rows and is_numeric_dtype(rows[name])]
        if head == "any":
            return Trial(hits / n, ~_wide((~mask).to_frame()), n, head)
        every = head in ("all", "none") or (enough(head, n, n) & ~enough(head, n - 1, n)).all()
        if not every:
            return Trial(hits / n, enough(head, hits, n).to_frame(), n, head)
        parts = _wide((mask == (head != "none")).to_frame())
        if named and (n == 1).all():
            return Trial(rows[named[0]].groupby(level=DRAW).first().astype(float), parts)
        return Trial(hits / n, parts, n)

    def edges(self, test: re.Match[str]) -> list[bool]:
        """Whether a test is true, in the only record set, with one of its thresholds moved by one step, for each way to do that."""
        head, of, body = test.groups()
        trials = self.tried(test).stepped()
        if head not in ("largest", "smallest", "order"):
            told = f"{head} of {of}: " if of else f"{head}: "
            trials += [self.tried(parsed(told + moved)) for moved in stepped(body)]
            if "margin" in body:
                trials += [replace(self, margin=self.margin * (1 + step)).tried(test) for step in (STEP, -STEP)]
        return [trial.true for trial in trials]

    @cached_property
    def _wide(self) -> pd.DataFrame:
        """A row for each record set, a column for each row of the table."""
        return self.table.value.unstack([*range(1, self.table.index.nlevels)])

    def _known(self, word: str, rows: pd.DataFrame) -> Any:
        draws = rows.index.get_level_values(DRAW)
        match word:
            case "median" | "highest" | "lowest":
                stat = {"highest": "max", "lowest": "min"}.get(word, word)
                return self.table.value.groupby(level=DRAW).agg(stat).reindex(draws).set_axis(rows.index)
            case "at":
                return lambda name: self._wide[name].reindex(draws).set_axis(rows.index)
        return super()._known(word, rows)


def evaluated(table: pd.DataFrame, expression: str) -> pd.Series:
    """An expression of the columns, in which at('NAME') is the value of that row, and `lowest` the lowest value; of each record set."""

    def every(values: pd.Series) -> pd.Series:
        return values.reindex(table.index.get_level_values(DRAW)).set_axis(table.index)

    drawn = DRAW in table.index.names
    known: dict[str, Any] = {
        "at": lambda name: every(table.value.xs(name, level=-1)) if drawn else table.value[name],
    }
    if "lowest" in expression:
        known["lowest"] = every(table.value.groupby(level=DRAW).min()) if drawn else table.value.min()
    value: pd.Series = table.eval(expression, engine="python", resolvers=[known])
    return value


def _wide(parts: pd.DataFrame) -> pd.DataFrame:
    """Parts in columns and rows as columns only, one row for each record set."""
    levels = [*range(1, parts.index.nlevels)]
    wide = parts.unstack(levels) if levels else parts
    return wide.fillna(True).astype(bool).set_axis(range(wide.shape[1]), axis=1)


def stepped(condition: str) -> list[str]:
    """A condition with one of its thresholds moved by one step, for each threshold and direction.

    A step is one unit of the last digit as written; where that is half of the number or more, a tenth of the number.
    Thresholds are the numbers in what is compared by < and its likes, except 0.
    """
    tree = ast.parse(re.sub(r"`[^`]*`", lambda name: "_" * len(name[0]), condition), mode="eval")
    places = set()
    for compare in (node for node in ast.walk(tree) if isinstance(node, ast.Compare)):
        sides = [compare.left, *compare.comparators]
        for left, operator, right in zip(sides, compare.ops, sides[1:], strict=False):
            if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                numbers = (node for side in (left, right) for node in ast.walk(side) if isinstance(node, ast.Constant))
                places |= {(node.col_offset, node.end_col_offset) for node in numbers if node.value}
    made = []
    for start, end in sorted(places):
        number, decimals = float(condition[start:end]), len(condition[start:end].partition(".")[2])
        if 2 * 10.0**-decimals >= number:
            step, decimals = number / 10, decimals + 1
        else:
            step = 10.0**-decimals
        moved = (number + sign * step for sign in (1, -1))
        made += [f"{condition[:start]}{number:.{decimals}f}{condition[end:]}" for number in moved]
    return made


def centred(table: pd.DataFrame, recorded: pd.DataFrame) -> pd.DataFrame:
    """Numbers of many record sets, moved so that the mean of each row's over these is the records'."""
    numbers = table.select_dtypes("number")
    means = numbers.groupby(level=[*range(1, table.index.nlevels)], sort=False).transform("mean")
    own = recorded[[*numbers]].reindex(table.index.droplevel(DRAW)).to_numpy()
    return table.assign(**(numbers - means + own))


def rounded(values: pd.Series, digits: int) -> pd.Series:
    """As tables print them: half away from below, beyond what a processor's sum may lack."""
    unit = 10.0**-digits
    return (((values + unit / 2 + 1e-9) / unit).apply(np.floor) * unit).round(digits)


def printed_as(value: float | str, printed: str | float, off: int = 0) -> bool:
    """Whether a value rounds to a printed number at that number's decimals, or is a printed text; or is `off` by so many units."""
    if isinstance(value, str):
        return value == printed
    decimals = len(str(printed).partition(".")[2])
    return any(rounds_to(value, float(printed) + unit * 10.0**-decimals, decimals) for unit in range(-off, off + 1))


def rounds_to(value: Any, printed: Any, decimals: Any) -> Any:
    """Whether `value` (a number or a column) rounds to `printed` at that many decimals; half may round either way. False where absent."""
    return abs(value - printed) <= 0.5 * 10.0**-decimals + 1e-9


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
    named = ((name_of(key), value) for key, value in values.items())
    return ", ".join(f"{name}{colon if isinstance(value, str) else ''} {number(value, spec)}" for name, value in named)


def name_of(key: Any) -> str:
    """A row's name; of several keys, with spaces between."""
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def ranked(values: pd.Series, spec: str = ".1f", most: int | None = None) -> str:
    """As `listed`, the largest first; equal values stay in their order."""
    return listed(values.sort_values(ascending=False, kind="stable")[:most], spec)


def _intervals(table: pd.DataFrame, spec: str, words: str) -> str:
    rows = zip(table.index, table.value, table.low, table.high, strict=True)
    each = {name: f"{value:{spec}} ({low:{spec}} to {high:{spec}})" for name, value, low, high in rows}
    sizes = " or ".join(str(n) for n in sorted(set(table.n)))
    if [*each] == ["all"]:
        return f"{each['all'][:-1]}, {sizes} {words})"
    return f"{listed(each, colon='')}; 95 % intervals, {sizes} {words} each"


HOW: Mapping[str, Callable[[Any, str], str]] = {
    "": listed,
    "ranked": ranked,
    "top": lambda values, spec: ranked(values, spec, 3),
    "bottom": lambda values, spec: listed(values.nsmallest(3), spec),
    "largest": lambda values, spec: ranked(values, spec, 1),
    "smallest": lambda values, spec: listed(values.nsmallest(1), spec),
    "span": lambda values, spec: f"{number(values.min(), spec)} to {number(values.max(), spec)}",
    "mean": lambda values, spec: number(values.mean(), spec),
    "means": lambda values, spec: listed(values.mean(), spec),
    "median": lambda values, spec: number(values.median(), spec),
    "sum": lambda values, spec: number(values.sum(), spec),
    "unique": lambda values, spec: " or ".join(number(value, spec) for value in sorted(values.unique())),
    "highest": lambda values, spec: number(np.nanmax(values.to_numpy(dtype=float)), spec),
    "lowest": lambda values, spec: number(np.nanmin(values.to_numpy(dtype=float)), spec),
}
"""How numbers are said -> the words: of a column; means, highest and lowest of several columns."""
