"""The rule of docs/statements-rule.md: a verdict is what the records say, if nearly all record sets that could be drawn say it too."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit
from scipy.stats import false_discovery_control

from agon.metrics.interval import proportion_interval
from agon_papers.comparisons import Decision, Trial
from agon_papers.draws import Draws
from agon_papers.statements import (
    DECIMALS,
    TAILS,
    Evidence,
    Functions,
    Missing,
    Statement,
    decide,
    on_edge,
    trial,
    trials,
)

COLUMNS = [
    *("paper", "statement", "section", "claim", "published", "recomputed", "verdict", "why"),
    *("estimate", "low", "high", "n", "unit", "chance", "stability", "draws", "rule"),
    *("p", "p_section", "verdict_section"),
]
"""Of the table of claims: numbers that do not apply are absent. `statement`: the row of statements.toml."""

VERDICTS: Mapping[bool | None, str] = {True: "holds", False: "fails", None: "cannot be checked"}
UNDECIDED = "undecided"

ENOUGH = 0.95
"""Share of the record sets that must say what the records say."""

LOOKS = (1, 2, 4, 8)
"""Blocks of record sets after which the share is looked at."""

SURE = 0.99
"""Level of the interval that ends the drawing before the last look."""


@dataclass(frozen=True)
class Judged:
    """A decision, its verdict, and the other numbers of its row (see COLUMNS)."""

    decision: Decision
    verdict: str
    numbers: Mapping[str, Any]

    def saying(self, text: str) -> "Judged":
        """The same with another text."""
        return replace(self, decision=replace(self.decision, text=text))


class Counting:
    """Evidence that remembers the units (column match) that were asked of it, and what was computed from it for one statement."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self.units: set[Any] = set()
        self.known: dict[str, pd.DataFrame] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evidence, name)

    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """Those of the evidence."""
        rows = self._evidence.rows(table, where)
        self.units |= set(rows.match) if "match" in rows else set()
        return rows


@dataclass(frozen=True)
class Settled:
    """How many record sets say what the records say."""

    tests: Sequence[Trial]
    """Of a statement, in all record sets."""
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
    def decided(self) -> bool:
        """Whether enough agree."""
        return self.stability >= self.wanted

    @property
    def p(self) -> float:
        """One-sided, of what the records say against its opposite: the share that disagrees, as Student's t has it, for all parts.

        Half a record set more is taken to disagree, so that none of them is not never.
        """
        disagreeing = (self.draws - self.agreeing + 0.5) / (self.draws + 1)
        return min(1.0, self.parts * float(stdtr(self.free, ndtri(disagreeing))))


def settle(recorded: Sequence[Trial], drawn: Callable[[int], Sequence[Trial]], cells: Sequence[int] = ()) -> Settled:
    """Draws blocks of record sets until it is clear whether enough of them say what the records say, or to the last look.

    `recorded`: the tests of a statement in the records; `drawn`: in a block of record sets. `cells`: that the statement is about, with so
    many units each; none where no units are drawn.
    """
    holds = all(test.true for test in recorded)
    free = max(1, sum(cells) - len(cells)) if len(cells) else np.inf
    blocks: list[Sequence[Trial]] = []
    for look in LOOKS:
        blocks += [drawn(block) for block in range(len(blocks), look)]
        pairs = zip(zip(*blocks, strict=True), recorded, strict=True)
        tests = [Trial.joined(each).centred(own, cells) for each, own in pairs]
        parts = np.concatenate([test.parts.to_numpy(bool) for test in tests], axis=1)
        agreeing = int(parts.all(axis=1).sum() if holds else (~parts).sum(axis=0).max())
        many = max(test.chosen for test in tests) if holds else parts.shape[1]
        found = Settled(tests, agreeing, len(parts), many, free)
        low, high = proportion_interval(agreeing, len(parts), SURE)
        if not low <= found.wanted <= high:
            break
    return found


def _cells(draws: Draws | None, units: Collection[Any]) -> Sequence[int]:
    """How many of the units each of their cells has; none where none are drawn."""
    if draws is None or not units:
        return ()
    sizes = np.bincount(draws.cells[draws.units.get_indexer(pd.Index(list(units)))])
    return [int(size) for size in sizes[sizes > 0]]


def judge(evidence: Evidence, statement: Statement, functions: Functions) -> Judged:
    """A statement's verdict by the rule, its text, and the numbers beside it. Raises Missing where the evidence lacks records."""
    counting = Counting(evidence)
    decision = decide(counting, statement, functions)
    n = {"n": len(counting.units), "unit": evidence.unit} if counting.units else {}
    if statement.kind == "exact" or decision.holds is None:
        missed = decision.holds is False and decide(counting, statement, functions, off=1).holds is True
        return Judged(decision, UNDECIDED if missed else VERDICTS[decision.holds], n)
    recorded = trials(counting, statement, functions)
    first = Counting(evidence.drawn(statement.drawing, 0))

    def drawn(block: int) -> Sequence[Trial]:
        more = evidence.drawn(statement.drawing, block) if block else first
        return trials(more, statement, functions, counting)

    found = settle(recorded, drawn, _cells(first.draws, counting.units))
    tests = found.tests
    weakest = min(range(len(tests)), key=lambda test: tests[test].parts.all(axis=1).mean())
    low, high = tests[weakest].ends(found.tails)
    if statement.kind == "correlation":
        low, high = max(low, -1.0), min(high, 1.0)
    numbers = {
        "estimate": recorded[weakest].estimate.iloc[0],
        "low": round(low, DECIMALS),
        "high": round(high, DECIMALS),
        **n,
        "unit": evidence.unit,
        "chance": _chance(evidence, statement, functions, weakest),
        "stability": found.stability,
        "draws": found.draws,
        "p": found.p,
    }
    if any("{intervals" in (part.say or "") for part in statement.tests()):
        decision = decide(counting, statement, functions, first)
    decided = found.decided and not on_edge(counting, statement, functions)
    return Judged(decision, VERDICTS[decision.holds] if decided else UNDECIDED, numbers)


def _chance(evidence: Evidence, statement: Statement, functions: Functions, test: int) -> float | None:
    """What uniform play gives in a test's place; None where that cannot be said."""
    chance = evidence.by_chance()
    if chance is None:
        return None
    try:
        return float(trial(chance, statement, functions, test).estimate.mean())
    except (Missing, NameError):  # what uniform play has not, such as tokens, is no column of its matches
        return None


def row(
    paper: str, name: str, statement: Statement, judged: Callable[[], Judged], why: Callable[[], str] | None = None
) -> dict[str, Any]:
    """One statement, by its name, as a row of results/replication/PAPER_claims.csv. `why` is asked after `judged`.

    Raises ValueError, in one line that quotes the claim, where its test does not fit the tables.
    """
    try:
        made = judged()
        reason = why() if why else statement.why
    except Missing as gap:
        made, reason = Judged(Decision(None, ""), VERDICTS[None], {}), f"Missing: {gap}."
    except (KeyError, NameError, ValueError) as error:
        raise ValueError(f"the statement '{statement.claim}' does not fit its table: {error}") from error
    given = (paper, name, statement.section, statement.claim, statement.published)
    said = (*given, made.decision.text, made.verdict, reason)
    return dict(zip(COLUMNS, said, strict=False)) | dict(made.numbers) | {"rule": statement.kind}


def table_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of `row` as the table of claims, see COLUMNS; those of a section (the first that a row names) are seen together."""
    with pd.option_context("mode.string_storage", "python"):  # rows are made of many small tables: quicker
        every = list(rows)
    table = pd.DataFrame(every).reindex(columns=COLUMNS).astype({"n": "Int64", "draws": "Int64", "p": float})
    tested = table[table.p.notna()]
    if len(tested):
        sections = [tested.paper, tested.section.str.partition(",")[0]]
        table["p_section"] = tested.groupby(sections).p.transform(lambda p: false_discovery_control(p).round(DECIMALS))
    table["verdict_section"] = table.verdict.mask(table.p_section > 1 - ENOUGH, UNDECIDED)
    return table
