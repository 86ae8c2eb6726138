"""A paper's statements as rows of data: what is measured, where, compared how, with what bounds; the verdict and its text from one object.

A row of `statements.toml` is a table under the statement's name:

    [peers_cooperate]
    section = "7.1"
    claim = "Between language models most models settle on mutual cooperation"
    published = "4 points a round"
    why = "Mutual cooperation pays 4 points a round."
    measure = "total_points / 16"
    where = { game = "pd", variant = "default", opponent = "peers" }
    how = "mean per model"
    test = "most: value >= 3.8"
    say = "{part:models}: {values:.2f}"

**Which numbers.**
`table = "abilities"`         a table that the paper's evidence gives (it may have a default), or a function of the paper that returns one
`args = { metric = "wins" }`  what that function is given
`where = { model = "weak" }`  columns or index levels: value, list of values, name of a group; without such records: "cannot be checked"
`only = "validity_rate == 100"`  an expression on the rows' columns, after `where`
`measure = "tokens / 1000"`   a column, or an expression of columns (pandas.eval); a list, or names = expressions: several; without: all

**How they are reduced:** `how`, one step or a list, each on what the last one gave.
`"mean per model opponent"`   mean, sd (ddof 1), var, median, min, max, sum, count, first, nunique, idxmax or idxmin (name of the row with
                              the largest or smallest value) by keys (or a group of keys, "cell")
`"mean, sd per cell"`         several: a column of each name
`"mean"`                      of every column, over all rows: a row for each column
`"spread variant"`            a column for each value of this key (COLUMN_VALUE, if there are several columns)
`"transpose"`                 rows become columns
`"label - default"`           an expression of the columns: the new `value`; with at('NAME'), the value of that row, and lowest
`"target = rock / n"`         an expression: one more column
`"share per model"`           of the sum of these
`"rank per game"`             1 for the largest
`"interval per model"`        mean with its interval over drawn record sets: columns value, low, high, n; alone: over all rows, named "all"
`"kendall"`                   correlation of the first two columns: value, p, n; also spearman, pearson (without p)

**What must be true:** `test`, one or a list (all must hold).
`"all: 16 <= value <= 96"`    true of all rows; also any, none, most (more than half), half (at least), `3+`, `90%` (at least), `under 10%`
`"most: pp > ap and pp > srep"`  conditions name columns, index levels, and: rounded (as printed, with `digits`), median (of all rows),
                              highest, lowest (likewise), largest, smallest (name of a row's column), at('NAME') (the value of that row),
                              as_printed (see `printed`)
`"all of weak: value < 0"`    true of the rows with these names ("A, B" or a group)
`"largest: C3.7S, C3.7S(T)"`  these have the largest values; also smallest
`"order: strong > the others"`  every value of the one above every value of the next, of rows, or of columns in each row; goes on: A > B > C
`"span: 18.6 to 29.8"`        smallest and largest value, rounded as written
`"always"`                    only for `doubt`
`doubt = "all: value > 0"`    where the tests fail and this holds, the records leave only bounds: the statement cannot be checked
`kind = "share"`              which kind of sentence it is (KINDS): docs/statements-rule.md says how each is decided
`range = 80`                  how far apart the measure can be: `margin` in a condition is 5 % of it
`count = "value > 24"`        what {part} counts, if not what the test says; decides nothing
`printed = { zs = [10.6, 13.1] }`  row -> the numbers of its columns as printed: as_printed is true where all round to them
No `test`: the numbers are shown and decide nothing. `missing = "top-p is not recorded"`: cannot be checked, and why.

**How it is said:** `say`, a text with {names}; by default "{part}: {values}", without a test of single rows "{values}".
`{part:models}` 5 of 8 models; `{part:by opponent}` ap 46 of 48, pp 45 of 48; `{values:.2f}` all rows by name; `{named}` those of the test;
`{ranked}` the largest first; `{top}`, `{bottom}` three, `{largest}`, `{smallest}` one of them; `{span}` 27.0 to 50.6; `{n}`;
`{mean}`, `{median}`, `{sum}`, `{highest}`, `{lowest}`; `{unique}` 18 or 20; `{means}` of each column;
`{intervals:.1f matches}` value (low to high) and n; `{COLUMN}`, `{COLUMN.span}` ...: the same of one column;
`{NAMES.span}` ...: of the rows with these names ("A, B" or a group); `{COLUMN to COLUMN}` A 1.0 to 2.0 (or `of`, `and`, `for`, `±`);
`{which}` the names of the rows that {part} counts.
`line = "{name}: {hits:.0f} of {n:.0f}"`  how each row is said, with its columns (in Python's formats); `{lines}`, or no `say`: all rows so.
After the colon: the number's format (`+.1f`, `.0%`, `.1g`, `,.1f`: thousands without decimals), then words. `digits` (default 1) is
the default.

**Several at once.**
`parts = [{ ... }, { ... }]`  each as the row, with these fields instead (`where` added to the row's); all must hold
`each = { PD = "pd", RPS = "rps" }`  (or a group) the row once for each label, with {each} in its texts; all must hold
`decide = "mixed_equilibrium"`  what a row cannot say: a function (evidence, **args) -> Decision, made by `found`; its docstring is the test
"""

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar, get_args

import msgspec
import pandas as pd

from agon import fault_of
from agon_papers.comparisons import (
    Decision,
    Drawn,
    Groups,
    Trial,
    centred,
    evaluated,
    found,
    joined,
    parsed,
    printed_as,
    readable,
    stepped,
)
from agon_papers.draws import CORRELATIONS, DRAW, STATS, Draws, any_rows, by_draw, correlations, uncoded

Kind = Literal["exact", "level", "share", "comparison", "order", "extreme", "equivalence", "correlation", "spread"]
KINDS = get_args(Kind)
"""Kinds of sentences: docs/statements-rule.md says how each is decided."""

MARGIN = 0.05
"""Of a measure's range: what is little, and what a word of size exceeds."""


STATISTICS = r"(?:mean|sd|var|median|min|max|sum|count|first|nunique|idxmax|idxmin)"
BENT = re.compile(rf"(?:sd|var|min|max|{'|'.join(CORRELATIONS)})\b")
INTERVAL = ["value", "low", "high", "n"]
"""Columns that the step `interval` makes."""

STEP = re.compile(
    rf"(?P<stats>{STATISTICS}(?:, {STATISTICS})*|spread|share|rank|interval|transpose|{'|'.join(CORRELATIONS)})"
    r"(?: (?:per )?(?P<keys>[\w ]+))?"
)


class Missing(Exception):
    """The records given cannot decide a claim; the text says what is missing."""


class Evidence(Protocol):
    """What a paper gives its statements."""

    @property
    def groups(self) -> Groups:
        """Names that stand for several: of values, of keys, of labels."""

    @property
    def unit(self) -> str:
        """What is drawn: match, game, decision."""

    @property
    def correlated(self) -> int | None:
        """Where what is correlated is drawn instead of units: which block of record sets; else None."""

    @property
    def draws(self) -> Draws | None:
        """The units drawn, where this is evidence of many record sets of units."""

    def rows(self, table: str, where: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """The rows of a table ("": the paper's default) in which the columns or index levels are as wanted. Raises Missing."""

    def drawn(self, drawing: str, block: int) -> Self:
        """Evidence of as many record sets as a block has."""

    def by_chance(self) -> Self | None:
        """Evidence of record sets in which every player chose uniformly; None where that says nothing."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One test of a statement; see the module for its fields."""

    table: str = ""
    args: dict[str, Any] = {}
    where: dict[str, str | int | list[str | int]] = {}
    only: str = ""
    measure: str | list[str] | dict[str, str] = ""
    how: str | list[str] = []
    test: str | list[str] = []
    doubt: str = ""
    count: str = ""
    printed: dict[str, float | str | list[float | str]] = {}
    say: str | None = None
    line: str = ""
    digits: Annotated[int, msgspec.Meta(ge=0, le=9)] = 1
    decide: str = ""
    missing: str = ""
    kind: Kind
    range: Annotated[float, msgspec.Meta(ge=0)] = 0

    def __post_init__(self) -> None:
        for test in [*several(self.test), *filter(None, [self.doubt])]:
            parsed(test)
        steps = [step for step in several(self.how) if not STEP.fullmatch(step)]
        for text in [self.only, self.count, *_measures(self.measure).values(), *steps]:
            readable(text.partition(" = ")[2] or text)
        if "always" in several(self.test):
            raise ValueError("`always` is true of anything: it can be a doubt, and no test")
        tests = " ".join(several(self.test))
        if tests and "margin" in tests and not self.range:
            raise ValueError("a test that names the margin needs the `range` of what it measures")
        if self.kind == "equivalence" and tests and "margin" not in tests:
            raise ValueError("an equivalence is within the margin: its test names it")
        if self.decide and self.kind != "exact":
            raise ValueError("what a function decides is not drawn anew: its kind is exact")


class Statement(Part, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of statements.toml."""

    section: str
    claim: str
    published: str
    why: str
    each: str | dict[str, str] = {}
    parts: list[dict[str, Any]] = []

    @property
    def drawing(self) -> str:
        """How record sets are drawn: for spreads, correlations, or means."""
        steps = [step for part in self.tests() if part.test for step in several(part.how)]
        spreads = any(re.match(r".*\b(sd|var)\b", step) for step in steps)
        return "spread" if spreads else "correlation" if self.kind == "correlation" else "mean"

    def tests(self) -> list[Part]:
        """Its parts, each with all fields: the row's own where the part has none."""
        own = {key: value for key, value in msgspec.to_builtins(self).items() if key in Part.__struct_fields__}
        every = [{**own, **part, "where": {**self.where, **part.get("where", {})}} for part in self.parts or [{}]]
        return msgspec.convert(every, list[Part])


S = TypeVar("S", bound=Statement)
Functions = Mapping[str, Callable[..., Any]]
TAILS = (0.025, 0.975)
DECIMALS = 9
"""Of the ends of intervals: processors sum in different orders, and differ beyond."""


def load(path: Path, kind: type[S]) -> dict[str, S]:
    """The statements of a file by name. Raises ValueError, in one line that names the row, for one that cannot be read."""
    read = {}
    for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
        try:
            read[name] = msgspec.convert(row, kind)
            read[name].tests()
        except (ValueError, msgspec.ValidationError) as error:
            raise ValueError(f"{path.name}, [{name}]: {fault_of(error, kind)}") from None
    return read


def filled(statement: S, names: Mapping[str, Any]) -> S:
    """The statement with each {name} of these replaced by its value, wherever it has texts."""
    return msgspec.convert(_replaced(msgspec.to_builtins(statement), names), type(statement))


def _replaced(value: Any, names: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\{([\w-]+)\}", lambda match: str(names.get(match[1], match[0])), value)
    if isinstance(value, Mapping):
        return {_replaced(key, names): _replaced(each, names) for key, each in value.items()}
    return [_replaced(each, names) for each in value] if isinstance(value, list) else value


def readings(evidence: Evidence, statement: S) -> list[tuple[str, S]]:
    """The statement by label, once for each that it is read for."""
    named = evidence.groups[statement.each] if isinstance(statement.each, str) else statement.each
    each = named if isinstance(named, Mapping) else {value: value for value in named}
    once = msgspec.structs.replace(statement, each={})
    return [(f"{label}: ", filled(once, {"each": value})) for label, value in each.items()] or [("", once)]


def decide(
    evidence: Evidence,
    statement: Statement,
    functions: Functions,
    intervals: Evidence | None = None,
    off: int = 0,
) -> Decision:
    """What the evidence says of a statement. `functions`: the paper's own, by name. Raises Missing where it lacks records.

    `intervals`: evidence of drawn record sets, from which intervals that are shown have their ends. `off`: by how many units of its last
    digit a number may miss the one that is printed.
    """
    made = {
        label: joined(_part(evidence, part, functions, intervals, off) for part in one.tests())
        for label, one in readings(evidence, statement)
    }
    return joined(replace(one, text=f"{label}{one.text}") for label, one in made.items())


def _part(evidence: Evidence, part: Part, functions: Functions, intervals: Evidence | None, off: int) -> Decision:
    if part.missing:
        raise Missing(part.missing)
    if part.decide:
        return functions[part.decide](evidence, **part.args)
    table = computed(evidence, part, functions)
    if part.printed:
        table = table.assign(as_printed=_as_printed(table, part.printed, off))
    if intervals is not None and "low" in table and table.low.isna().all():
        table = table.assign(**_ends(_stacked(intervals, part, functions)))
    rest = {name: getattr(part, name) for name in ("line", "doubt", "count", "digits")}
    return found(table, part.test, part.say, **rest, margin=MARGIN * part.range, groups=evidence.groups)


def trials(
    evidence: Evidence, statement: Statement, functions: Functions, recorded: Evidence | None = None
) -> list[Trial]:
    """Every test of a statement in every record set of the evidence: see `Drawn.tried`.

    `recorded`: the records; numbers that bend what is drawn (`_bends`) are moved so that their mean is that of the records.
    """
    return [
        seen.tried(test)
        for part in _tested(evidence, statement)
        for seen in [_seen(evidence, part, functions, recorded if _bends(part, evidence) else None)]
        for test in seen.tests
    ]


def trial(evidence: Evidence, statement: Statement, functions: Functions, number: int) -> Trial:
    """One of `trials`, by its number."""
    every = [(part, test) for part in _tested(evidence, statement) for test in several(part.test)]
    part, test = every[number]
    return _seen(evidence, part, functions).tried(parsed(test))


def on_edge(evidence: Evidence, statement: Statement, functions: Functions) -> bool:
    """Whether the statement is true of the records and not with one threshold moved by one step, or the reverse (`Drawn.edges`)."""
    true, moved = [], []
    for part in _tested(evidence, statement):
        seen = _seen(evidence, part, functions)
        others = [_seen(evidence, other, functions) for other in _with_steps_moved(part)]
        for n, test in enumerate(seen.tests):
            true.append(seen.tried(test).true)
            also = [other.tried(other.tests[n]).true for other in others]
            moved.append(seen.edges(test) + also)
    if all(true):
        return not all(each for ways in moved for each in ways)
    return true.count(False) == 1 and any(moved[true.index(False)])


def _tested(evidence: Evidence, statement: Statement) -> Iterator[Part]:
    """The parts of a statement that decide it, for each that it is read for."""
    return (part for _, one in readings(evidence, statement) for part in one.tests() if part.test)


def _seen(evidence: Evidence, part: Part, functions: Functions, recorded: Evidence | None = None) -> Drawn:
    tests = [parsed(test) for test in several(part.test)]
    table = _stacked(evidence, part, functions)
    if tests and table.empty:
        raise ValueError(f"`{tests[0][0]}` has no row to test")
    if recorded is not None:
        table = centred(table, computed(recorded, part, functions))
    return Drawn(table, tests, part.digits, evidence.groups, "", "", MARGIN * part.range)


def _with_steps_moved(part: Part) -> Iterator[Part]:
    """The part with one threshold of how its numbers are reduced moved by one step."""
    steps = several(part.how)
    for n, step in enumerate(steps):
        if not STEP.fullmatch(step):
            head, _, expression = step.rpartition(" = ")
            for moved in stepped(expression):
                changed = f"{head} = {moved}" if head else moved
                yield msgspec.structs.replace(part, how=[*steps[:n], changed, *steps[n + 1 :]])


def _bends(part: Part, evidence: Evidence) -> bool:
    """Whether noise moves the mean of a part's numbers: spreads, extremes, correlations, counts of what is drawn already."""
    steps = several(part.how)
    later = steps[1:] if evidence.draws is not None else steps
    return any(BENT.match(step) or re.search("[<>]", step) for step in later)


def _stacked(evidence: Evidence, part: Part, functions: Functions) -> pd.DataFrame:
    """`computed`, with DRAW as the first level of its index."""
    table = computed(evidence, part, functions)
    return table if by_draw(table) else pd.concat({0: table}, names=[DRAW])


def _ends(drawn: pd.DataFrame) -> dict[str, pd.Series]:
    """The interval of each row's value over record sets."""
    values = drawn.value.groupby(level=[*range(1, drawn.index.nlevels)], sort=False)
    return {name: values.quantile(q).round(DECIMALS) for name, q in zip(("low", "high"), TAILS, strict=True)}


def computed(evidence: Evidence, part: Part, functions: Functions) -> pd.DataFrame:
    """The numbers of a part: rows by name; a column `value`, or several. Evidence with a dictionary `known` keeps them."""
    known = getattr(evidence, "known", None)
    if known is None:
        return _computed(evidence, part, functions)
    asked = repr((part.table, part.args, part.where, part.only, part.measure, part.how))
    if asked not in known:
        known[asked] = _computed(evidence, part, functions)
    made: pd.DataFrame = known[asked]
    return made


def _computed(evidence: Evidence, part: Part, functions: Functions) -> pd.DataFrame:
    where = {key: members(evidence.groups, value) for key, value in part.where.items()}
    if part.table in functions:
        table = functions[part.table](evidence, **part.args)
        table = selected(table.to_frame("value") if isinstance(table, pd.Series) else table, where)
    elif part.args:
        raise ValueError(f"the table {part.table or 'of the records'} takes no args: {words(part.args)}")
    else:
        table = evidence.rows(part.table, where)
    units = evidence.draws if "match" in table else None
    if part.only:
        table = table.query(part.only, engine="python")
    values = {
        name: table[expression] if expression in table else table.eval(expression, engine="python")
        for name, expression in _measures(part.measure).items()
    }
    columns = [*values] or [*table.columns]
    for step in several(part.how):
        table = table.assign(**values)
        if units is not None and (made := _reduced(units, table, columns, step, evidence.groups)) is not None:
            table, columns = made, [*made.columns]
        else:
            table = table if units is None else units.take(table)
            if step in CORRELATIONS and evidence.correlated is not None:
                table = any_rows(table, evidence.correlated)
            table, columns = _step(table, columns, step, evidence.groups)
        values, units = {}, None
    table = table.assign(**values)
    return (table if units is None else units.take(table).set_index(DRAW, append=True).swaplevel())[columns]


def _measures(measure: str | list[str] | dict[str, str]) -> dict[str, str]:
    """Column -> what it measures."""
    if isinstance(measure, str):
        return {"value": measure} if measure else {}
    return measure if isinstance(measure, dict) else {name: name for name in measure}


def _keys(match: re.Match[str], groups: Groups) -> list[str]:
    return [key for name in (match["keys"] or "").split() for key in groups.get(name, [name])]


def _reduced(units: Draws, table: pd.DataFrame, columns: list[str], step: str, groups: Groups) -> pd.DataFrame | None:
    """A step on the rows of every record set, without taking them; None for one that needs them."""
    match = STEP.fullmatch(step)
    if not match:
        return None
    keys = _keys(match, groups)
    if match["stats"] == "interval":
        rows = table if keys else table.assign(all="all")
        return _with_ends(units.reduced(rows, keys or ["all"], columns, ["mean", "count"]))
    stats = [stat.replace("sd", "std") for stat in match["stats"].split(", ")]
    if not {*stats} <= {*STATS}:
        return None
    made = units.reduced(table, keys, columns, stats)
    if not keys:
        return made.stack().to_frame("value")
    return made.dropna() if len(stats) == 1 else made.dropna(how="all").rename(columns={"std": "sd"})


def _with_ends(means: pd.DataFrame) -> pd.DataFrame:
    """Means and their n (the two columns), with ends that are not known yet."""
    return means.set_axis(["value", "n"], axis=1).assign(low=float("nan"), high=float("nan"))[INTERVAL]


def _step(table: pd.DataFrame, columns: list[str], step: str, groups: Groups) -> tuple[pd.DataFrame, list[str]]:
    match = STEP.fullmatch(step)
    if not match:
        name, _, expression = re.fullmatch(r"(?:(\w+) = )?()(.+)", step).groups()  # type: ignore[union-attr]
        value = evaluated(table[columns], expression)
        return (table.assign(**{name: value}), [*columns, name]) if name else (value.to_frame("value"), ["value"])
    made = _shaped(table, columns, match["stats"], _keys(match, groups))
    return made, [*made.columns]


def _shaped(table: pd.DataFrame, columns: list[str], what: str, keys: list[str]) -> pd.DataFrame:
    draw = by_draw(table)
    match what:
        case "spread":
            wide = table[columns].unstack(keys).dropna(how="all")
            return wide.set_axis([name if len(columns) == 1 else f"{column}_{name}" for column, name in wide], axis=1)
        case "transpose":
            turned = table[columns].stack().unstack(level=-2) if draw else table[columns].T
            return turned[[*dict.fromkeys(table.index.get_level_values(-1))]]
        case "share":
            return table[columns] / table.groupby([*draw, *keys])[columns].transform("sum")
        case "rank":
            by = [*draw, *keys]
            return (table.groupby(by)[columns] if by else table[columns]).rank(ascending=False)
        case "interval":
            flat = table if set(keys) <= set(table.columns) else table[columns].reset_index()
            means = flat.assign(all="all").groupby([*draw, *(keys or ["all"])], observed=True)[columns[0]]
            return _with_ends(uncoded(means.agg(["mean", "count"])))
        case "spearman" | "pearson" | "kendall":
            return correlations(table, columns, what) if draw else _correlation(table, columns, what)
    stats = [stat.replace("sd", "std") for stat in what.split(", ")]
    if not keys:
        if draw:
            reduced = table.groupby(DRAW)[columns].agg(stats[0]).stack().to_frame("value")
            return reduced.map(itemgetter(-1)) if stats[0].startswith("idx") else reduced
        return table[columns].agg(stats[0]).to_frame("value")
    grouped = table.groupby([*draw, *keys], observed=True)
    if len(stats) == 1:
        return uncoded(grouped[columns].agg(stats[0]).dropna())
    made = grouped[columns[0]].agg(stats).rename(columns={"std": "sd"}).dropna(how="all")
    return uncoded(made)


def _correlation(table: pd.DataFrame, columns: list[str], what: str) -> pd.DataFrame:
    one, other = (table[name] for name in columns[:2])
    value, p = table[columns].corr(method=what).iloc[0, 1], float("nan")
    if what == "kendall":
        from scipy.stats import kendalltau  # here: as in draws.correlated

        p = kendalltau(one, other).pvalue
    return pd.DataFrame({"value": value, "p": p, "n": len(table)}, index=[CORRELATIONS[what]])


def _as_printed(table: pd.DataFrame, printed: Mapping[str, Any], off: int) -> pd.Series:
    known = {str(name): numbers if isinstance(numbers, list) else [numbers] for name, numbers in printed.items()}
    if gone := [str(name) for name in table.index if str(name) not in known]:
        raise ValueError(f"no printed number is given for {', '.join(gone)}")
    held = [all(map(printed_as, row, known[str(name)], repeat(off))) for name, *row in table.itertuples()]
    return pd.Series(held, index=table.index)


def several(value: Any) -> list[Any]:
    """One or a list, as a list; an empty text is none."""
    return [*value] if isinstance(value, list | tuple) else [value] if value != "" else []


def members(groups: Groups, value: Any) -> list[Any]:
    """The values that a row's `where` names, each once: groups become what they stand for."""
    named = (groups.get(name, [name]) if isinstance(name, str) else [name] for name in several(value))
    return [*dict.fromkeys(one for names in named for one in names)]


def selected(table: pd.DataFrame, where: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """The rows with the wanted values of columns or index levels. Raises Missing for a value that no row has."""
    for key, values in where.items():
        have = table[key] if key in table else table.index.get_level_values(key)
        if gone := [str(value) for value in values if value not in set(have.unique())]:
            raise Missing(f"no records of {key} {', '.join(gone)}")
        table = table[have.isin(values)]
    return table


def public_functions(*modules: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions that the rows of a paper may name: every public one of the modules."""
    return {
        name: function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }


def described(statement: Statement, functions: Functions) -> str:
    """A statement's test in words: what is measured, where -> how it is reduced -> what must be true."""
    texts = dict.fromkeys(_described(part, functions) for part in statement.tests())
    every = words(statement.each)
    return "; and ".join(texts) + (f" (for each of {every})" if every else "")


def _described(part: Part, functions: Functions) -> str:
    if part.missing:
        return "no test"
    what = part.table
    if function := functions.get(part.decide or part.table):
        what = " ".join((inspect.getdoc(function) or "").split()).rstrip(".") + f" ({words(part.args)})" * bool(
            part.args
        )
    where = ", ".join(filter(None, [words(part.where), part.only]))
    asked = ": ".join(filter(None, [what, words(part.measure)])) + f", where {where}" * bool(where)
    printed = f"as printed ({words(part.printed)})"
    tests = " and ".join(test.replace("as_printed", printed) for test in several(part.test))
    doubt = "otherwise undecided" if part.doubt == "always" else f"undecided if {part.doubt}"
    last = f"holds if {tests}" + f", {doubt}" * bool(part.doubt) if tests else "shown"
    return " → ".join([asked, *several(part.how)] + [last] * (not part.decide))


def words(value: Any) -> str:
    """A row's value for reading: pp / ap / tft, or PD pd, RPS rps."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {words(each)}" for key, each in value.items())
    return " / ".join(map(str, several(value)))
