"""The rule of docs/statements-rule.md: a verdict needs the agreement of nearly all resamples that could be drawn.

A statement of a paper is a function in the paper's notebook::

    @statement("7.1", "share", "4 points a round")
    def peers_cooperate(m=means_by("model", game="pd", variant="default", opponent=PEERS), least=3.8):
        \"\"\"Between language models most models settle on mutual cooperation.

        Mutual cooperation pays 4 points a round.
        \"\"\"
        points = m.total_points / 16
        return most(points, lambda x: x >= least)

The first paragraph of its docstring is the claim; the second says how we read it. A parameter whose default is `rows` or `means` is a
table: the rule calls the function with the records, and again with each resample that it draws. A number is a threshold, which the
rule moves by one step. The function returns one `Test`, or several of which all must hold. Texts among them decide nothing.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from IPython.display import Markdown, display
from scipy.special import ndtr, ndtri, stdtr, stdtrit
from scipy.stats import false_discovery_control

from agon.metrics.interval import proportion_interval
from agon.metrics.record_sets import BLOCK, ENOUGH, LOOKS, SURE, required_share
from agon_papers.propositions import DECIMALS, Test, tests_of, text_of_all
from agon_papers.resampling import Replicates, centre, replicates_of

KINDS = ("exact", "level", "share", "comparison", "order", "extreme", "equivalence", "correlation", "spread")
"""Kinds of sentences. docs/statements-rule.md says how each is decided."""

NUMBERS = ("number", "gap", "smallest gap")
"""Estimates that may have a unit; the others are shares of rows."""

DRAWINGS = ("mean", "spread", "correlation")
"""Estimates for which resamples are drawn, each in its own way."""

COLUMNS = [
    *("paper", "statement", "section", "claim", "published", "recomputed", "verdict", "reason", "why"),
    *("estimate", "estimate_of", "low", "high", "n", "unit", "chance", "chance_true", "constant_low", "constant_high"),
    *("stability", "draws", "rule", "p", "p_section", "verdict_section"),
]
"""Columns of the table of claims. Numbers that do not apply are absent. `statement`: the name of the function."""

HOLDS, FAILS, UNDECIDED, UNCHECKED = "holds", "fails", "undecided", "cannot be checked"
AS_CHANCE = "holds, as chance does"
"""The verdict where the proposition is as true of players that choose uniformly."""
VERDICTS = (HOLDS, AS_CHANCE, FAILS, UNDECIDED, UNCHECKED)

NEAR = "knife-edge: {} decides otherwise"
READINGS = "two readings: {}"
FEW = "too few records: with {times} times as many and the same estimate, the statement {verdict}"
CLOSE = "too close: with more records and the same estimate, {} would still decide otherwise"
CAPTION = "caption: it is true of the variant that the table shows, and false of the one that its caption names"
UNKNOWN = "unknown noise: nothing says how much a number varies, and the design gives no bound"
"""Why a statement is undecided, or why it fails although its table agrees."""

TAILS = (0.025, 0.975)

STEP = 0.2
"""The part by which a threshold called margin or margin_... moves: from 5 % of the range to 4 or 6."""

CHANCE_SETS = 100
"""Simulated data sets of uniform play."""

FEWEST, MOST_TIMES = 1.1, 100
"""The smallest and the largest multiple of the records that is named. Below 2 it has one decimal."""


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


class Records(ABC):
    """The tables of a paper, and how they are drawn anew."""

    unit: ClassVar[str]
    """The unit of resampling: match, game, decision."""
    players: ClassVar[tuple[str, Sequence[str]]] = ("uniform", ())
    """Names of simulated players: the one that chooses uniformly, and those that always do the same."""
    not_by_chance: ClassVar[Sequence[str]] = ()
    """Columns that simulated players lack, such as tokens. A statement on any other column has its values by chance."""

    @abstractmethod
    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """The rows of a table with these values. Raises Missing for a value that no row has."""

    @abstractmethod
    def redraws(self, table: pd.DataFrame, drawing: str, by: Sequence[str] = ()) -> Callable[[int], pd.DataFrame]:
        """A function from the number of a resample to these rows in it, or to their means `by` columns. `drawing`: see DRAWINGS."""

    def cells(self, tables: Sequence[pd.DataFrame]) -> Sequence[int]:
        """The number of units in each cell of these rows; empty where no units are drawn."""
        return ()

    def by_chance(self, table: pd.DataFrame, player: str, number: int) -> pd.DataFrame:
        """These rows in a data set of simulated matches of another player. Raises Missing where nobody is simulated."""
        raise Missing("nobody is simulated")

    def true_variant(self, table: int, variant: str) -> str:
        """The variant whose numbers a printed table shows, whatever its caption says. Raises Missing if no caption names one."""
        raise Missing("no caption names a variant")


@dataclass(frozen=True)
class Decision:
    """How many resamples agree with the records."""

    trials: Sequence[Replicates]
    holds: bool
    weakest: int
    """The number of the test that decides."""
    agreeing: int
    draws: int
    parts: int
    """The number of parts that had the chance to decide: Bonferroni's correction."""
    free: float
    """Degrees of freedom."""

    @property
    def stability(self) -> float:
        """The share of resamples that agree; NaN where none has a number."""
        return self.agreeing / self.draws if self.draws else np.nan

    @property
    def required_share(self) -> float:
        """The share that must agree."""
        return required_share(self.free, self.parts)

    @property
    def is_clear(self) -> bool:
        """Whether enough resamples agree."""
        return self.stability >= self.required_share

    @property
    def times(self) -> float:
        """How many times the records would decide, if the estimate stayed; infinite where it would have to change."""
        distance = ndtri(self.stability)
        return float((ndtri(self.required_share) / distance) ** 2) if distance > 0 else np.inf

    @property
    def tails(self) -> list[float]:
        """The quantiles of a 95 % interval, moved out by Student's t where units are few."""
        return [float(ndtr(stdtrit(self.free, tail))) for tail in TAILS]

    @property
    def p(self) -> float:
        """The one-sided p of the records against their opposite: the share that disagrees, by Student's t, times the parts.

        If none disagrees, half of one is counted: none of 120 does not mean never. NaN where no resample has a number.
        """
        if not self.draws:
            return np.nan
        disagreeing = max(self.draws - self.agreeing, 0.5) / self.draws
        return min(1.0, self.parts * float(stdtr(self.free, ndtri(disagreeing))))


def decided(recorded: Sequence[Test], trials: Sequence[Replicates], cells: Sequence[int]) -> Decision:
    """What resamples decide. All tests must hold, each by its own evidence; one that fails is enough.

    `recorded`: the tests in the records. `trials`: the same in the resamples. `cells`: the number of units of each cell.
    """
    holds = all(test.true for test in recorded)
    free = max(1, sum(cells) - len(cells)) if len(cells) else np.inf
    supports = [draws.support(test, cells) for draws, test in zip(trials, recorded, strict=True)]
    every_part = sum(parts for _, parts in supports)
    decisions = [
        Decision(trials, holds, number, agreeing, len(trials[number].estimate), parts if holds else every_part, free)
        for number, (agreeing, parts) in enumerate(supports)
        if holds or not recorded[number].true
    ]
    if holds:
        return min(decisions, key=lambda one: (one.draws > 0, -one.p if one.draws else 0.0))
    return min(decisions, key=lambda one: one.p if one.draws else np.inf)


def settle(
    recorded: Sequence[Test], draw: Callable[[int], Sequence[Replicates]], cells: Sequence[int] = ()
) -> Decision:
    """Draws blocks of resamples until it is clear whether enough of them agree with the records, at most to the last look.

    `recorded`: the tests of a statement in the records. `draw`: block -> the same tests in its resamples. `cells`: the number of
    units of each cell that the statement is about; empty where no units are drawn.
    """
    blocks: list[Sequence[Replicates]] = []
    for look in LOOKS:
        blocks += [draw(block) for block in range(len(blocks), look)]
        trials = [Replicates.join(draws) for draws in zip(*blocks, strict=True)]
        decision = decided(recorded, trials, cells)
        low, high = proportion_interval(decision.agreeing, decision.draws, SURE) if decision.draws else (0.0, 0.0)
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


def is_on_edge(recorded: Sequence[Test]) -> bool:
    """Whether the statement changes its truth if one more row meets the condition of a test, or one less."""
    true = [test.true for test in recorded]
    ways = [
        [*true[:place], int(test.mask.sum()) + step >= test.least, *true[place + 1 :]]
        for place, test in enumerate(recorded)
        if test.counts
        for step in (1, -1)
    ]
    return any(all(way) != all(true) for way in ways)


def places_of_readings(tests: Sequence[Test]) -> dict[str, list[int]]:
    """Reading -> the places of its tests. A test without a reading belongs to all of them."""
    names = [*dict.fromkeys(test.reading for test in tests if test.reading)] or [""]
    return {name: [place for place, test in enumerate(tests) if test.reading in ("", name)] for name in names}


def exactly(tests: Sequence[Test], moved: Mapping[str, Sequence[Test]]) -> tuple[str, str]:
    """The verdict on a statement for which nothing is drawn, and its reason. `moved`: its tests, for each way to move a margin."""
    holds = all(test.true for test in tests)
    for name, steps in moved.items():
        if all(test.true for test in steps) != holds:
            return UNDECIDED, NEAR.format(name)
    if holds:
        return HOLDS, ""
    near = all(test.true or test.nearly for test in tests)
    return (UNDECIDED, NEAR.format("one unit of the last digit")) if near else (FAILS, "")


@dataclass(frozen=True)
class Reading:
    """A statement by one definition of its numbers. `moved`: its tests in the records, for each way to move a threshold."""

    tests: Sequence[Test]
    decision: Decision
    moved: Mapping[str, Sequence[Test]]
    cells: Sequence[int]
    decisive: int
    """The place, among all tests of the statement, of the one that decides."""

    @property
    def reason(self) -> str:
        """Why it is undecided; empty where it is decided."""
        if not self.decision.draws or 1 in self.cells:
            return UNKNOWN
        if step := self.deciding_step:
            return (NEAR if self.decision.is_clear else CLOSE).format(step)
        if not self.decision.is_clear:
            times = max(self.decision.times, FEWEST)
            about = f"about {times:.1f}" if times < 2 else f"about {times:.0f}"
            text = about if times < MOST_TIMES else f"more than {MOST_TIMES}"
            return FEW.format(times=text, verdict="would hold" if self.decision.holds else "would fail")
        return ""

    @property
    def deciding_step(self) -> str:
        """The step of a threshold that would change whether the statement is true of the records; empty where none would."""
        for name, tests in self.moved.items():
            if all(test.true for test in tests) != self.decision.holds:
                return name
        return "one row more or less" if is_on_edge(self.tests) else ""

    @property
    def verdict(self) -> str:
        """The verdict by this definition."""
        return UNDECIDED if self.reason else HOLDS if self.decision.holds else FAILS

    def numbers(self, kind: str) -> dict[str, Any]:
        """The columns that say how the verdict was found."""
        test, draws = self.tests[self.decision.weakest], self.decision.trials[self.decision.weakest]
        low, high = draws.ends(test, self.decision.tails, self.cells)
        if kind == "correlation":
            low, high = max(low, -1.0), min(high, 1.0)
        return {
            "estimate": test.estimate,
            "estimate_of": test.estimate_of,
            "low": round(low, DECIMALS),
            "high": round(high, DECIMALS),
            "stability": self.decision.stability,
            "draws": self.decision.draws,
            "p": self.decision.p,
        }


def joined(verdicts: Mapping[str, str], reason: str) -> dict[str, Any]:
    """The verdict on which all readings agree, with this reason. `verdicts`: reading -> its verdict."""
    if len({*verdicts.values()}) == 1:
        return {"verdict": next(iter(verdicts.values())), "reason": reason}
    texts = [f"{verdict} by {name}" for name, verdict in verdicts.items()]
    return {"verdict": UNDECIDED, "reason": READINGS.format(", ".join(texts))}


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
        measured_in: str = "",
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decides the function below it, and shows the verdict.

        `kind`: one of KINDS. `biased`: noise moves the mean of its numbers, so the resamples are shifted back; this is always so for
        spreads and correlations. `drawing`: one of DRAWINGS, where the kind does not say which. `captions`: variant -> the table whose
        caption names it; where the table shows another variant, the statement is read with that one too. `measured_in`: the unit of its
        numbers and gaps. Raises ValueError for an unknown kind or drawing, and for a function that returns nothing.
        """
        if kind not in KINDS:
            raise ValueError(f"there is no kind {kind}; there are {', '.join(KINDS)}")
        if drawing not in ("", *DRAWINGS):
            raise ValueError(f"resamples are not drawn for {drawing}, but for {', '.join(DRAWINGS)}")
        how = drawing or (kind if kind in DRAWINGS else "mean")
        biased = biased or kind in ("spread", "correlation")

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
                if row["verdict"] == FAILS and row.get("true_as_shown"):
                    row["reason"] = CAPTION
                if measured_in and row.get("estimate_of") in NUMBERS:
                    row["estimate_of"] += f" ({measured_in})"
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
            other_text, row["true_as_shown"] = self._as_shown(function, defaults, others)
            row |= {"recomputed": f"{text} | {other_text}"}
        units = {unit for table in tables.values() if "match" in table for unit in table.match}
        row |= {"n": len(units), "unit": self.records.unit} if units else {}
        if not tests or any(test.doubt and not test.true for test in tests):
            failed = any(not test.true and not test.doubt for test in tests)
            return row | {"verdict": FAILS if failed else UNCHECKED}
        moved = {
            f"{name} {step:g}": tests_of(function(**arguments, **{name: step}))
            for name, threshold in thresholds.items()
            for step in steps_of(name, threshold)
            if kind != "exact" or name.startswith("margin")  # other numbers of exact statements are printed
        }
        by_name = places_of_readings(tests)
        own = {name: [tests[place] for place in places] for name, places in by_name.items()}
        steps = {
            name: {way: [changed[place] for place in places] for way, changed in moved.items()}
            for name, places in by_name.items()
        }
        if kind == "exact":
            found = {name: exactly(own[name], steps[name]) for name in own}
            reasons = [reason for _, reason in found.values() if reason]
            return row | joined({name: verdict for name, (verdict, _) in found.items()}, "".join(reasons[:1]))
        redraws = {name: self.records.redraws(table, how, selections[name].by) for name, table in tables.items()}

        @cache
        def draw_block(block: int) -> Sequence[Replicates]:
            numbers = range(block * BLOCK, (block + 1) * BLOCK)
            sets = [tests_of(function(**{name: draw(k) for name, draw in redraws.items()})) for k in numbers]
            return [*map(replicates_of, zip(*(centre(sets, tests) if biased else sets), strict=True))]

        def draw_places(places: Sequence[int], block: int) -> Sequence[Replicates]:
            return [draw_block(block)[place] for place in places]

        cells = self.records.cells([*tables.values()])
        by_reading = {}
        for name, places in by_name.items():
            decision = settle(own[name], partial(draw_places, places), cells)
            by_reading[name] = Reading(own[name], decision, steps[name], cells, places[decision.weakest])
        shown = min(
            by_reading.values(),
            key=lambda reading: (reading.verdict != UNDECIDED, -np.nan_to_num(reading.decision.p, nan=np.inf)),
        )
        verdicts = {name: reading.verdict for name, reading in by_reading.items()}
        row |= joined(verdicts, shown.reason) | shown.numbers(kind)
        row |= {"unit": self.records.unit} | self._chance(function, selections, tables, shown.decisive)
        if row["verdict"] == HOLDS and row.get("chance_true", 0) >= ENOUGH:
            row["verdict"] = AS_CHANCE
        return row

    def _chance(
        self,
        function: Callable[..., Any],
        selections: Mapping[str, Rows],
        tables: Mapping[str, pd.DataFrame],
        weakest: int,
    ) -> dict[str, float]:
        """What simulated players give: the mean estimate of a test under uniform play, in how many data sets the proposition is true,
        and the least and the largest estimate of players that always do the same. Empty where that is unknown.
        """
        uniform, constant = self.records.players

        def simulated(player: str, number: int) -> list[Test]:
            chosen = {name: self.records.by_chance(table, player, number) for name, table in tables.items()}
            return tests_of(function(**{name: selections[name].of(table) for name, table in chosen.items()}))

        try:
            sets = [simulated(uniform, number) for number in range(CHANCE_SETS)]
            same = [simulated(player, 0)[weakest].estimate for player in constant]
        except (Missing, KeyError, AttributeError) as gap:
            if isinstance(gap, Missing) or any(name in str(gap) for name in self.records.not_by_chance):
                return {}
            raise
        return {
            "chance": float(np.mean([tests[weakest].estimate for tests in sets])),
            "chance_true": float(np.mean([all(test.true for test in tests) for tests in sets])),
            "constant_low": min(same),
            "constant_high": max(same),
        }

    def _as_shown(
        self, function: Callable[..., Any], defaults: Mapping[str, Any], others: Mapping[str, str]
    ) -> tuple[str, bool]:
        """The text of the statement with the variants that the tables truly show, and whether it is true of these."""

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
        return f"as the tables show ({names}): {text} ({'true' if true else 'false'} there)", true


def words(row: Mapping[str, Any]) -> str:
    """A statement and its verdict as Markdown, for the page. Numbers are rounded first: see DECIMALS."""
    numbers = ""
    number = {key: f"{round(value, DECIMALS):.3g}" for key, value in row.items() if isinstance(value, float)}
    if "stability" in row:
        numbers = f" · estimate {number['estimate']} ({row['estimate_of']}; {number['low']} to {number['high']})"
        numbers += f" · {row['stability']:.0%} of {row['draws']} resamples agree"
    if "chance" in row:
        numbers += f" · uniform play {number['chance']} (true in {row['chance_true']:.0%} of its simulated data sets)"
        numbers += f" · one action always {number['constant_low']} to {number['constant_high']}"
    verdict = f"*{row['verdict']}*" + (f" ({row['reason']})" if row.get("reason") else "")
    head = f"**{row['claim']}** ({row['section']})  \n{verdict} · the paper: {row['published']}{numbers}"
    return "  \n".join(filter(None, [head, row["recomputed"], row["why"]])).replace("|", "\\|")
