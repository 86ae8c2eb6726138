"""The rule of docs/statements-rule.md: a verdict needs the agreement of nearly all record sets that could be drawn.

A statement of a paper is a function in the paper's notebook::

    @statement("7.1", "share", "4 points a round")
    def peers_cooperate(m=means_by("model", game="pd", variant="default", opponent=PEERS), least=3.8):
        \"\"\"Between language models most models settle on mutual cooperation.

        Mutual cooperation pays 4 points a round.
        \"\"\"
        points = m.total_points / 16
        return most(points, lambda x: x >= least)

The first paragraph of its docstring is the claim; the second says how we read it. A parameter whose default is `rows` or `means` is a
table: the rule calls the function with the records, and again with each record set that it draws. A number is a threshold, which the
rule moves by one step. The function returns one `Test`, or several of which all must hold. Texts among them decide nothing.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from IPython.display import Markdown, display
from scipy.special import ndtr, ndtri, stdtr, stdtrit
from scipy.stats import false_discovery_control

from agon.metrics.interval import proportion_interval
from agon_papers.propositions import DECIMALS, Test, tests_of, text_of_all
from agon_papers.resampling import BLOCK, Replicates, centre, replicates_of

KINDS = ("exact", "level", "share", "comparison", "order", "extreme", "equivalence", "correlation", "spread")
"""Kinds of sentences. docs/statements-rule.md says how each is decided."""

DRAWINGS = ("mean", "spread", "correlation")
"""Estimates for which record sets are drawn, each in its own way."""

COLUMNS = [
    *("paper", "statement", "section", "claim", "published", "recomputed", "verdict", "why"),
    *("estimate", "low", "high", "n", "unit", "chance", "stability", "draws", "rule"),
    *("p", "p_section", "verdict_section"),
]
"""Columns of the table of claims. Numbers that do not apply are absent. `statement`: the name of the function."""

HOLDS, FAILS, UNDECIDED, UNCHECKED = "holds", "fails", "undecided", "cannot be checked"

ENOUGH = 0.95
"""Share of the record sets that must agree with the records."""

LOOKS = (1, 2, 4, 8)
"""Numbers of blocks after which the rule looks at that share."""

SURE = 0.99
"""Level of the interval of that share. An interval on one side of the required share ends the drawing."""

TAILS = (0.025, 0.975)

STEP = 0.2
"""The part by which a threshold called margin or margin_... moves: from 5 % of the range to 4 or 6."""

CHANCE_SETS = 10
"""Record sets of uniform play."""


class Missing(Exception):
    """The records cannot decide a statement. The text says what is missing."""


@dataclass(frozen=True)
class Rows:
    """A selection: rows of a table of the records, or their means `by` columns."""

    table: str
    where: Mapping[str, Any]
    by: Sequence[str] = ()

    def of(self, table: pd.DataFrame) -> pd.DataFrame:
        """The selected rows, or their means. Raises ValueError for means of a table without matches."""
        if self.by and "match" not in table:
            raise ValueError(f"means are of matches, and the table {self.table} has none: ask for its rows")
        return table.groupby([*self.by]).mean(numeric_only=True) if self.by else table


def rows(table: str, /, **where: Any) -> Any:
    """The default of a statement's parameter: rows of a table. `where`: column or index level -> its value, or several values."""
    return Rows(table, where)


def means(table: str, by: str | Sequence[str], /, **where: Any) -> Any:
    """As `rows`, but the mean of every number over the matches that are alike in the columns `by`; these become the index."""
    return Rows(table, where, (by,) if isinstance(by, str) else tuple(by))


def select_rows(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """The rows with these values. `where`: as of `rows`. Raises Missing for a value that no row has."""
    for key, choice in where.items():
        values = [choice] if isinstance(choice, str | int) else [*choice]
        column = table[key] if key in table else table.index.get_level_values(key)
        if absent := [str(value) for value in values if value not in set(column)]:
            raise Missing(f"no records of {key} {', '.join(absent)}")
        table = table[column.isin(values)]
    return table


class Records(Protocol):
    """The tables of a paper, and how they are drawn anew."""

    unit: str
    """The unit of resampling: match, game, decision."""

    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """The rows of a table with these values. Raises Missing for a value that no row has."""

    def redraws(self, table: pd.DataFrame, drawing: str, by: Sequence[str] = ()) -> Callable[[int], pd.DataFrame]:
        """A function from the number of a record set to these rows in it, or to their means `by` columns. `drawing`: see DRAWINGS."""

    def cells(self, tables: Sequence[pd.DataFrame]) -> Sequence[int]:
        """The number of units in each cell of these rows; empty where no units are drawn."""

    def by_chance(self, table: pd.DataFrame, number: int) -> pd.DataFrame:
        """These rows if every player had chosen uniformly. Raises Missing where that is unknown."""

    def true_variant(self, table: int, variant: str) -> str:
        """The variant whose numbers a printed table shows, whatever its caption says. Raises Missing."""


@dataclass(frozen=True)
class Decision:
    """How many record sets agree with the records."""

    trials: Sequence[Replicates]
    agreeing: int
    draws: int
    parts: int
    """Number of parts that Bonferroni's correction counts: those that can be refuted, or the rows from which one was chosen, or 1."""
    free: float
    """Degrees of freedom."""

    @property
    def stability(self) -> float:
        """The share of record sets that agree."""
        return self.agreeing / self.draws

    @property
    def required_share(self) -> float:
        """The share that must agree: ENOUGH, raised by Student's t where units are few, and by Bonferroni's correction for parts."""
        return float(ndtr(stdtrit(self.free, 1 - (1 - ENOUGH) / self.parts)))

    @property
    def tails(self) -> list[float]:
        """The quantiles of a 95 % interval, moved out by Student's t where units are few."""
        return [float(ndtr(stdtrit(self.free, tail))) for tail in TAILS]

    @property
    def p(self) -> float:
        """The one-sided p of the records against their opposite: the share that disagrees, by Student's t, times the parts.

        Half a record set is added to those that disagree: none of 120 does not mean never.
        """
        disagreeing = (self.draws - self.agreeing + 0.5) / (self.draws + 1)
        return min(1.0, self.parts * float(stdtr(self.free, ndtri(disagreeing))))


def settle(
    recorded: Sequence[Test], draw: Callable[[int], Sequence[Replicates]], cells: Sequence[int] = ()
) -> Decision:
    """Draws blocks of record sets until it is clear whether enough of them agree with the records, at most to the last look.

    `recorded`: the tests of a statement in the records. `draw`: block -> the same tests in its record sets. `cells`: the number of
    units of each cell that the statement is about; empty where no units are drawn.
    """
    holds = all(test.true for test in recorded)
    free = max(1, sum(cells) - len(cells)) if len(cells) else np.inf
    blocks: list[Sequence[Replicates]] = []
    for look in LOOKS:
        blocks += [draw(block) for block in range(len(blocks), look)]
        pairs = zip(zip(*blocks, strict=True), recorded, strict=True)
        replicates = [Replicates.join(draws).centre(test, cells) for draws, test in pairs]
        parts = np.concatenate([draws.parts for draws in replicates], axis=1)
        agreeing = int(parts.all(axis=1).sum() if holds else (~parts).sum(axis=0).max())
        tried = max(draws.candidates for draws in replicates) if holds else parts.shape[1]
        decision = Decision(replicates, agreeing, len(parts), tried, free)
        low, high = proportion_interval(agreeing, len(parts), SURE)
        if not low <= decision.required_share <= high:
            break
    return decision


def steps_of(name: str, threshold: float) -> list[float]:
    """A threshold one step up and one step down.

    The step of a margin is a fifth of it. Any other step is one unit of the last digit as written, or a tenth of the number where that
    unit is half of it or more. 0 does not move.
    """
    if name.startswith("margin"):
        return [threshold * (1 + STEP), threshold * (1 - STEP)]
    unit = 10.0 ** -len(repr(threshold).partition(".")[2])
    step = threshold / 10 if 2 * unit >= abs(threshold) else unit
    return [round(threshold + step, DECIMALS), round(threshold - step, DECIMALS)] if threshold else []


def is_on_edge(recorded: Sequence[Test], moved: Sequence[Sequence[Test]]) -> bool:
    """Whether the statement changes its truth if one threshold, or a number of rows, moves by one step.

    `moved`: the tests in the records, for each way to move a threshold.
    """
    ways = [[tests[n].true for tests in moved] for n in range(len(recorded))]
    for n, test in enumerate(recorded):
        if not test.every and not test.single:
            hits, size = int(test.mask.sum()), len(test.mask)
            ways[n] += [bool(test.enough(hits + step, size)) for step in (1, -1)]
    true = [test.true for test in recorded]
    if all(true):
        return not all(holds for way in ways for holds in way)
    return true.count(False) == 1 and any(ways[true.index(False)])


@dataclass
class Statements:
    """Decides the statements of a paper. `numbers`: those of the paper's text, for {names} in claims. `rows`: the results so far."""

    paper: str
    records: Records
    numbers: Mapping[str, str] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def __call__(
        self,
        section: str,
        kind: str,
        published: str,
        *,
        biased: bool = False,
        drawing: str = "",
        captions: Mapping[str, int] | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decides the function below it, and shows the verdict.

        `kind`: one of KINDS. `biased`: noise moves the mean of its numbers, as of a spread of means; the record sets are shifted back.
        `drawing`: one of DRAWINGS, where the kind does not say which. `captions`: variant -> the table whose caption names it; where
        the table shows another variant, the statement is read with that one too. Raises ValueError for an unknown kind or drawing,
        and for a function that returns nothing.
        """
        if kind not in KINDS:
            raise ValueError(f"there is no kind {kind}; there are {', '.join(KINDS)}")
        if drawing not in ("", *DRAWINGS):
            raise ValueError(f"record sets are not drawn for {drawing}, but for {', '.join(DRAWINGS)}")
        how = drawing or (kind if kind in DRAWINGS else "mean")

        def decide(function: Callable[..., Any]) -> Callable[..., Any]:
            claim, _, why = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
            claim, why = (" ".join(text.split()) for text in (claim, why))
            row = {"paper": self.paper, "statement": function.__name__, "section": section, "rule": kind}
            row |= {
                "claim": claim.rstrip(".").format_map(self.numbers),
                "published": published.format_map(self.numbers),
            }
            try:
                row |= {"why": why} | self._judge(function, kind, how, biased, captions or {})
            except Missing as gap:
                row |= {"recomputed": "", "verdict": UNCHECKED, "why": f"Missing: {gap}."}
            self.rows.append(row)
            display(Markdown(words(row)))  # type: ignore[no-untyped-call]
            return function

        return decide

    def table(self) -> pd.DataFrame:
        """The table of claims, see COLUMNS. p_section corrects for the statements of a section, the first that a row names."""
        table = pd.DataFrame(self.rows).reindex(columns=COLUMNS)
        table = table.astype({"n": "Int64", "draws": "Int64", "p": float})
        tested = table[table.p.notna()]
        if len(tested):
            sections = tested.section.str.partition(",")[0]
            adjusted = tested.groupby(sections).p.transform(lambda p: false_discovery_control(p).round(DECIMALS))
            table["p_section"] = adjusted
        table["p_section"] = table.p_section.astype(float)
        table["verdict_section"] = table.verdict.mask(table.p_section > 1 - ENOUGH, UNDECIDED)
        return table

    def _judge(
        self, function: Callable[..., Any], kind: str, how: str, biased: bool, captions: Mapping[str, int]
    ) -> dict[str, Any]:
        """The columns of the verdict. Raises Missing."""
        defaults = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
        selections = {name: value for name, value in defaults.items() if isinstance(value, Rows)}
        thresholds = {name: value for name, value in defaults.items() if type(value) in (int, float)}
        variants = {variant: self.records.true_variant(table, variant) for variant, table in captions.items()}
        tables = {name: self.records.rows(selection.table, selection.where) for name, selection in selections.items()}
        arguments = {name: selections[name].of(table) for name, table in tables.items()}
        returned = function(**arguments)
        tests, text = tests_of(returned), text_of_all(returned)
        if not text:
            raise ValueError(f"{function.__name__} returns no test and shows nothing")
        if any(test.absent for test in tests):
            raise Missing("a number that it needs does not exist for these records")
        row: dict[str, Any] = {"recomputed": text}
        if others := {variant: name for variant, name in variants.items() if variant != name}:
            row |= {"recomputed": f"{text} | {self._as_captioned(function, defaults, others)}"}
        units = {unit for table in tables.values() if "match" in table for unit in table.match}
        row |= {"n": len(units), "unit": self.records.unit} if units else {}
        if not tests or any(test.doubt and not test.true for test in tests):
            failed = any(not test.true and not test.doubt for test in tests)
            return row | {"verdict": FAILS if failed else UNCHECKED}
        holds = all(test.true for test in tests)
        if kind == "exact":
            near = all(test.true or test.nearly for test in tests)
            return row | {"verdict": HOLDS if holds else UNDECIDED if near else FAILS}
        redraws = {name: self.records.redraws(table, how, selections[name].by) for name, table in tables.items()}

        def draw_block(block: int) -> Sequence[Replicates]:
            numbers = range(block * BLOCK, (block + 1) * BLOCK)
            sets = [tests_of(function(**{name: draw(k) for name, draw in redraws.items()})) for k in numbers]
            return [*map(replicates_of, zip(*(centre(sets, tests) if biased else sets), strict=True))]

        decision = settle(tests, draw_block, self.records.cells([*tables.values()]))
        weakest = min(range(len(tests)), key=lambda test: decision.trials[test].parts.all(axis=1).mean())
        low, high = decision.trials[weakest].ends(decision.tails)
        if kind == "correlation":
            low, high = max(low, -1.0), min(high, 1.0)
        moved = [
            tests_of(function(**arguments, **{name: step}))
            for name, threshold in thresholds.items()
            for step in steps_of(name, threshold)
        ]
        is_clear = decision.stability >= decision.required_share and not is_on_edge(tests, moved)
        return row | {
            "verdict": (HOLDS if holds else FAILS) if is_clear else UNDECIDED,
            "estimate": tests[weakest].estimate,
            "low": round(low, DECIMALS),
            "high": round(high, DECIMALS),
            "unit": self.records.unit,
            "chance": self._chance(function, selections, tables, weakest),
            "stability": decision.stability,
            "draws": decision.draws,
            "p": decision.p,
        }

    def _chance(
        self,
        function: Callable[..., Any],
        selections: Mapping[str, Rows],
        tables: Mapping[str, pd.DataFrame],
        test: int,
    ) -> float | None:
        """The mean estimate of a test under uniform play; None where that is unknown."""
        estimates = []
        try:
            for number in range(CHANCE_SETS):
                tables_by_chance = {name: self.records.by_chance(table, number) for name, table in tables.items()}
                arguments = {name: selections[name].of(table) for name, table in tables_by_chance.items()}
                estimates.append(tests_of(function(**arguments))[test].estimate)
        except (Missing, KeyError, AttributeError, NameError):  # uniform play has no tokens, for example
            return None
        return float(np.mean(estimates))

    def _as_captioned(
        self, function: Callable[..., Any], defaults: Mapping[str, Any], others: Mapping[str, str]
    ) -> str:
        """The text of the statement with the variants that the tables truly show."""

        def correct(value: Any) -> Any:
            if isinstance(value, Rows):
                where = {key: correct(values) for key, values in value.where.items()}
                return value.of(self.records.rows(value.table, where))
            if isinstance(value, list | tuple):
                return [*dict.fromkeys(map(correct, value))]
            return others.get(value, value) if isinstance(value, str) else value

        returned = function(**{name: correct(value) for name, value in defaults.items()})
        true, text = all(test.true for test in tests_of(returned)), text_of_all(returned)
        names = ", ".join(f"{variant}: {name}" for variant, name in others.items())
        return f"as the tables show ({names}): {text} ({'true' if true else 'false'} there)"


def words(row: Mapping[str, Any]) -> str:
    """A statement and its verdict as Markdown, for the page."""
    numbers = ""
    if "stability" in row:
        numbers = f" · estimate {row['estimate']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
        numbers += f" · {row['stability']:.0%} of {row['draws']} record sets agree"
        numbers += f" · chance {row['chance']:.3g}" if row["chance"] is not None else ""
    head = f"**{row['claim']}** ({row['section']})  \n*{row['verdict']}* · the paper: {row['published']}{numbers}"
    return "  \n".join(filter(None, [head, row["recomputed"], row["why"]])).replace("|", "\\|")
