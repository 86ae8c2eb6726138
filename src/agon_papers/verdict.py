"""The rule of docs/statements-rule.md: a statement holds or fails if nearly all record sets that could be drawn say it too.

A statement of a paper is a function in the paper's notebook::

    @statement("7.1", "share", "4 points a round")
    def peers_cooperate(m=means_by("model", game="pd", variant="default", opponent=PEERS), least=3.8):
        \"\"\"Between language models most models settle on mutual cooperation.

        Mutual cooperation pays 4 points a round.
        \"\"\"
        points = m.total_points / 16
        return most(points, lambda x: x >= least)

The first paragraph of its docstring is the claim, the second says how it is read. Parameters whose default is made by `rows` or `means`
are tables: the function is called with the records, and again with each record set that is drawn.
Numbers are thresholds, which are moved by one step.
It returns one `Test`, or several of which all must hold; texts among them are shown and decide nothing.
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
from agon_papers.resampling import BLOCK, Trial, centred, trial_of

KINDS = ("exact", "level", "share", "comparison", "order", "extreme", "equivalence", "correlation", "spread")
"""Kinds of sentences: docs/statements-rule.md says how each is decided."""

DRAWINGS = ("mean", "spread", "correlation")
"""What record sets are drawn for: each asks for another way."""

COLUMNS = [
    *("paper", "statement", "section", "claim", "published", "recomputed", "verdict", "why"),
    *("estimate", "low", "high", "n", "unit", "chance", "stability", "draws", "rule"),
    *("p", "p_section", "verdict_section"),
]
"""Of the table of claims: numbers that do not apply are absent. `statement`: the name of the function."""

HOLDS, FAILS, UNDECIDED, UNCHECKED = "holds", "fails", "undecided", "cannot be checked"

ENOUGH = 0.95
"""Share of the record sets that must say what the records say."""

LOOKS = (1, 2, 4, 8)
"""Blocks after which the share is looked at."""

SURE = 0.99
"""Level of the interval of that share that ends the drawing before the last look."""

TAILS = (0.025, 0.975)

STEP = 0.2
"""Of a threshold called margin or margin_..., by which it moves: from 5 % of the range to 4 or 6."""

CHANCE_SETS = 10
"""Record sets of uniform play."""


class Missing(Exception):
    """The records given cannot decide a statement; the text says what is missing."""


@dataclass(frozen=True)
class Rows:
    """Which rows of which table of the records a statement is about, or of which rows the means."""

    table: str
    where: Mapping[str, Any]
    by: Sequence[str] = ()

    def of(self, table: pd.DataFrame) -> pd.DataFrame:
        """These rows as the statement has them. Raises ValueError for means of what are no matches."""
        if self.by and "match" not in table:
            raise ValueError(f"means are of matches, and the table {self.table} has none: ask for its rows")
        return table.groupby([*self.by]).mean(numeric_only=True) if self.by else table


def rows(table: str, /, **where: Any) -> Any:
    """The default of a statement's parameter: the rows of a table that have these values, one or several, in a column or index level."""
    return Rows(table, where)


def means(table: str, by: str | Sequence[str], /, **where: Any) -> Any:
    """As `rows`, but every number's mean over the matches that are alike in the columns `by`, which become the index."""
    return Rows(table, where, (by,) if isinstance(by, str) else tuple(by))


def selected(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """The rows with these values, one or several, in columns or index levels. Raises Missing for a value that no row has."""
    for key, wanted in where.items():
        values = [wanted] if isinstance(wanted, str | int) else [*wanted]
        column = table[key] if key in table else table.index.get_level_values(key)
        if absent := [str(value) for value in values if value not in set(column)]:
            raise Missing(f"no records of {key} {', '.join(absent)}")
        table = table[column.isin(values)]
    return table


class Records(Protocol):
    """What a paper gives its statements."""

    unit: str
    """What is drawn: match, game, decision."""

    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """The rows of a table. Raises Missing where any that is wanted is not there."""

    def redraws(self, table: pd.DataFrame, drawing: str, by: Sequence[str] = ()) -> Callable[[int], pd.DataFrame]:
        """These rows in a record set, by its number, or their means `by` columns; `drawing`: mean, spread or correlation."""

    def cells(self, tables: Sequence[pd.DataFrame]) -> Sequence[int]:
        """The cells that these rows are of: how many units each has; none where no units are drawn."""

    def by_chance(self, table: pd.DataFrame, number: int) -> pd.DataFrame:
        """These rows, had every player chosen uniformly. Raises Missing where that is not known."""

    def shown(self, table: int, variant: str) -> str:
        """The variant that a printed table truly shows. Raises Missing."""


@dataclass(frozen=True)
class Settled:
    """How many record sets say what the records say."""

    trials: Sequence[Trial]
    agreeing: int
    draws: int
    parts: int
    """How many can be refuted; where the records say yes 1, or of how many rows one was chosen."""
    free: float
    """Degrees of freedom."""

    @property
    def stability(self) -> float:
        """The share of record sets that agree."""
        return self.agreeing / self.draws

    @property
    def wanted(self) -> float:
        """The share that must agree: ENOUGH, or as much more as Student's t asks where few units are drawn; Bonferroni's for parts."""
        return float(ndtr(stdtrit(self.free, 1 - (1 - ENOUGH) / self.parts)))

    @property
    def tails(self) -> list[float]:
        """Between which shares of the record sets 95 % lie, or as many more as Student's t asks."""
        return [float(ndtr(stdtrit(self.free, tail))) for tail in TAILS]

    @property
    def p(self) -> float:
        """One-sided, of what the records say against its opposite: the share that disagrees, as Student's t has it, for all parts.

        Half a record set more is taken to disagree: none of 120 does not mean never.
        """
        disagreeing = (self.draws - self.agreeing + 0.5) / (self.draws + 1)
        return min(1.0, self.parts * float(stdtr(self.free, ndtri(disagreeing))))


def settle(recorded: Sequence[Test], drawn: Callable[[int], Sequence[Trial]], cells: Sequence[int] = ()) -> Settled:
    """Draws blocks of record sets until it is clear whether enough of them say what the records say, or to the last look.

    `recorded`: the tests of a statement in the records; `drawn`: the same in the record sets of a block. `cells`: that the statement is
    about, with so many units each; none where no units are drawn.
    """
    holds = all(test.true for test in recorded)
    free = max(1, sum(cells) - len(cells)) if len(cells) else np.inf
    blocks: list[Sequence[Trial]] = []
    for look in LOOKS:
        blocks += [drawn(block) for block in range(len(blocks), look)]
        joined = map(Trial.joined, zip(*blocks, strict=True))
        trials = [trial.centred(own, cells) for trial, own in zip(joined, recorded, strict=True)]
        parts = np.concatenate([trial.parts for trial in trials], axis=1)
        agreeing = int(parts.all(axis=1).sum() if holds else (~parts).sum(axis=0).max())
        many = max(trial.chosen for trial in trials) if holds else parts.shape[1]
        found = Settled(trials, agreeing, len(parts), many, free)
        low, high = proportion_interval(agreeing, len(parts), SURE)
        if not low <= found.wanted <= high:
            break
    return found


def steps_of(name: str, threshold: float) -> list[float]:
    """A threshold moved by one step, up and down: a margin by a fifth, else by one unit of the last digit as written.

    Where that unit is half of the number or more, by a tenth of the number. 0 does not move.
    """
    if name.startswith("margin"):
        return [threshold * (1 + STEP), threshold * (1 - STEP)]
    unit = 10.0 ** -len(repr(threshold).partition(".")[2])
    step = threshold / 10 if 2 * unit >= abs(threshold) else unit
    return [round(threshold + step, DECIMALS), round(threshold - step, DECIMALS)] if threshold else []


def on_edge(recorded: Sequence[Test], moved: Sequence[Sequence[Test]]) -> bool:
    """Whether the statement turns where one threshold, or a number of rows, moves by one step.

    `moved`: its tests in the records, for each way to move a threshold.
    """
    ways = [[tests[n].true for tests in moved] for n in range(len(recorded))]
    for n, test in enumerate(recorded):
        if not test.every and not test.single:
            hits, size = int(test.mask.sum()), len(test.mask)
            ways[n] += [bool(test.enough(hits + step, size)) for step in (1, -1)]
    true = [test.true for test in recorded]
    if all(true):
        return not all(each for way in ways for each in way)
    return true.count(False) == 1 and any(ways[true.index(False)])


@dataclass
class Statements:
    """The statements of a paper, in the order in which they are decided. `said`: numbers of the paper's text, for {names} in claims."""

    paper: str
    records: Records
    said: Mapping[str, str] = field(default_factory=dict)
    decided: list[dict[str, Any]] = field(default_factory=list)

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

        `kind`: see KINDS. `biased`: noise moves the mean of its numbers, as of a spread of means, so that record sets are moved back.
        `drawing`: mean, spread or correlation, where the kind does not say so. `captions`: variant -> the table in whose caption it stands;
        where the table shows another one, the statement is read with that one too. Raises ValueError for a kind
        that is not in KINDS, a drawing that is not in DRAWINGS, and a function that returns nothing.
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
            row |= {"claim": claim.rstrip(".").format_map(self.said), "published": published.format_map(self.said)}
            try:
                made = self._judged(function, kind, how, biased, captions or {})
                row |= {"why": why} | made
            except Missing as gap:
                row |= {"recomputed": "", "verdict": UNCHECKED, "why": f"Missing: {gap}."}
            self.decided.append(row)
            display(Markdown(words(row)))  # type: ignore[no-untyped-call]
            return function

        return decide

    def table(self) -> pd.DataFrame:
        """All that was decided, see COLUMNS; those of a section (the first that a row names) are seen together."""
        table = pd.DataFrame(self.decided).reindex(columns=COLUMNS)
        table = table.astype({"n": "Int64", "draws": "Int64", "p": float})
        tested = table[table.p.notna()]
        if len(tested):
            sections = tested.section.str.partition(",")[0]
            adjusted = tested.groupby(sections).p.transform(lambda p: false_discovery_control(p).round(DECIMALS))
            table["p_section"] = adjusted
        table["p_section"] = table.p_section.astype(float)
        table["verdict_section"] = table.verdict.mask(table.p_section > 1 - ENOUGH, UNDECIDED)
        return table

    def _judged(
        self, function: Callable[..., Any], kind: str, how: str, biased: bool, captions: Mapping[str, int]
    ) -> dict[str, Any]:
        given = {name: each.default for name, each in inspect.signature(function).parameters.items()}
        asked = {name: each for name, each in given.items() if isinstance(each, Rows)}
        thresholds = {name: each for name, each in given.items() if type(each) in (int, float)}
        shown = {variant: self.records.shown(table, variant) for variant, table in captions.items()}
        tables = {name: self.records.rows(each.table, each.where) for name, each in asked.items()}
        arguments = {name: asked[name].of(table) for name, table in tables.items()}
        returned = function(**arguments)
        tests, text = tests_of(returned), text_of_all(returned)
        if not text:
            raise ValueError(f"{function.__name__} returns no test and shows nothing")
        if any(test.absent for test in tests):
            raise Missing("a number that it needs does not exist for these records")
        row: dict[str, Any] = {"recomputed": text}
        if others := {variant: name for variant, name in shown.items() if variant != name}:
            row |= {"recomputed": f"{text} | {self._as_captioned(function, given, others)}"}
        units = {unit for table in tables.values() if "match" in table for unit in table.match}
        row |= {"n": len(units), "unit": self.records.unit} if units else {}
        if not tests or any(test.doubt and not test.true for test in tests):
            failed = any(not test.true and not test.doubt for test in tests)
            return row | {"verdict": FAILS if failed else UNCHECKED}
        holds = all(test.true for test in tests)
        if kind == "exact":
            near = all(test.true or test.nearly for test in tests)
            return row | {"verdict": HOLDS if holds else UNDECIDED if near else FAILS}
        redraws = {name: self.records.redraws(table, how, asked[name].by) for name, table in tables.items()}

        def drawn(block: int) -> Sequence[Trial]:
            numbers = range(block * BLOCK, (block + 1) * BLOCK)
            sets = [tests_of(function(**{name: draw(k) for name, draw in redraws.items()})) for k in numbers]
            return [*map(trial_of, zip(*(centred(sets, tests) if biased else sets), strict=True))]

        found = settle(tests, drawn, self.records.cells([*tables.values()]))
        weakest = min(range(len(tests)), key=lambda test: found.trials[test].parts.all(axis=1).mean())
        low, high = found.trials[weakest].ends(found.tails)
        if kind == "correlation":
            low, high = max(low, -1.0), min(high, 1.0)
        moved = [
            tests_of(function(**arguments, **{name: step}))
            for name, each in thresholds.items()
            for step in steps_of(name, each)
        ]
        decided = found.stability >= found.wanted and not on_edge(tests, moved)
        return row | {
            "verdict": (HOLDS if holds else FAILS) if decided else UNDECIDED,
            "estimate": tests[weakest].estimate,
            "low": round(low, DECIMALS),
            "high": round(high, DECIMALS),
            "unit": self.records.unit,
            "chance": self._chance(function, asked, tables, weakest),
            "stability": found.stability,
            "draws": found.draws,
            "p": found.p,
        }

    def _chance(
        self, function: Callable[..., Any], asked: Mapping[str, Rows], tables: Mapping[str, pd.DataFrame], test: int
    ) -> float | None:
        """What uniform play gives in a test's place; None where that cannot be said."""
        found = []
        try:
            for number in range(CHANCE_SETS):
                sets = {name: asked[name].of(self.records.by_chance(table, number)) for name, table in tables.items()}
                found.append(tests_of(function(**sets))[test].estimate)
        except (Missing, KeyError, AttributeError, NameError):  # uniform play has no tokens, for example
            return None
        return float(np.mean(found))

    def _as_captioned(self, function: Callable[..., Any], given: Mapping[str, Any], others: Mapping[str, str]) -> str:
        """What the statement gives with the variants that the tables truly show."""

        def changed(value: Any) -> Any:
            if isinstance(value, Rows):
                where = {key: changed(each) for key, each in value.where.items()}
                return value.of(self.records.rows(value.table, where))
            if isinstance(value, list | tuple):
                return [*dict.fromkeys(map(changed, value))]
            return others.get(value, value) if isinstance(value, str) else value

        returned = function(**{name: changed(value) for name, value in given.items()})
        true, text = all(test.true for test in tests_of(returned)), text_of_all(returned)
        names = ", ".join(f"{variant}: {name}" for variant, name in others.items())
        return f"as the tables show ({names}): {text} ({'true' if true else 'false'} there)"


def words(row: Mapping[str, Any]) -> str:
    """A statement and its verdict, for the page."""
    numbers = ""
    if "stability" in row:
        numbers = f" · estimate {row['estimate']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
        numbers += f" · {row['stability']:.0%} of {row['draws']} record sets agree"
        numbers += f" · chance {row['chance']:.3g}" if row["chance"] is not None else ""
    head = f"**{row['claim']}** ({row['section']})  \n*{row['verdict']}* · the paper: {row['published']}{numbers}"
    return "  \n".join(filter(None, [head, row["recomputed"], row["why"]])).replace("|", "\\|")
