"""The rule of docs/statements-rule.md: a verdict is what the records say, if nearly all record sets that could be drawn say it too."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from agon.metrics.interval import proportion_interval
from agon_papers.comparisons import Decision
from agon_papers.statements import DECIMALS, TAILS, Evidence, Functions, Missing, Statement, Trial, decide, trials

COLUMNS = [
    *("paper", "section", "claim", "published", "recomputed", "verdict", "why"),
    *("estimate", "low", "high", "n", "unit", "chance", "stability", "draws", "rule"),
]
"""Of the table of claims: numbers that do not apply are absent."""

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
    """Evidence that remembers the units (column match) that were asked of it."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self.units: set[Any] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evidence, name)

    def rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        """Those of the evidence."""
        rows = self._evidence.rows(table, where)
        self.units |= set(rows.match) if "match" in rows else set()
        return rows


def judge(evidence: Evidence, statement: Statement, functions: Functions) -> Judged:
    """A statement's verdict by the rule, its text, and the numbers beside it. Raises Missing where the evidence lacks records."""
    counting = Counting(evidence)
    decision = decide(counting, statement, functions)
    n = {"n": len(counting.units), "unit": evidence.unit} if counting.units else {}
    if statement.kind == "exact" or decision.holds is None:
        return Judged(decision, VERDICTS[decision.holds], n)
    blocks: list[list[Trial]] = []
    for look in LOOKS:
        more = range(len(blocks), look)
        blocks += [trials(evidence.drawn(statement.drawing, block), statement, functions) for block in more]
        tests = [pd.concat([found for found, _ in each], ignore_index=True) for each in zip(*blocks, strict=True)]
        held = pd.concat([test.held for test in tests], axis=1).all(axis=1)
        if decision.holds:
            wanted, agreeing = ENOUGH, int(held.sum())
        else:
            every = pd.concat([pd.concat([parts for _, parts in block], axis=1, ignore_index=True) for block in blocks])
            wanted, agreeing = 1 - (1 - ENOUGH) / every.shape[1], int((~every).sum().max())
        low, high = proportion_interval(agreeing, len(held), SURE)
        if not low <= wanted <= high:
            break
    stability = agreeing / len(held)
    weakest = min(range(len(tests)), key=lambda test: tests[test].held.mean())
    ends = tests[weakest].estimate.quantile(TAILS).round(DECIMALS)
    numbers = {
        "estimate": trials(evidence, statement, functions)[weakest][0].estimate.iloc[0],
        "low": ends.iloc[0],
        "high": ends.iloc[1],
        **n,
        "unit": evidence.unit,
        "chance": _chance(evidence, statement, functions, weakest),
        "stability": stability,
        "draws": len(held),
    }
    if any("{intervals" in (part.say or "") for part in statement.tests()):
        decision = decide(evidence, statement, functions, evidence.drawn(statement.drawing, 0))
    return Judged(decision, VERDICTS[decision.holds] if stability >= wanted else UNDECIDED, numbers)


def _chance(evidence: Evidence, statement: Statement, functions: Functions, test: int) -> float | None:
    """What uniform play gives in a test's place; None where that cannot be said."""
    chance = evidence.by_chance()
    if chance is None:
        return None
    try:
        return float(trials(chance, statement, functions)[test][0].estimate.mean())
    except (Missing, NameError):  # what uniform play has not, such as tokens, is no column of its matches
        return None


def row(
    paper: str, statement: Statement, judged: Callable[[], Judged], why: Callable[[], str] | None = None
) -> dict[str, Any]:
    """One statement as a row of results/replication/PAPER_claims.csv. `why` is asked after `judged`.

    Raises ValueError, in one line that quotes the claim, where its test does not fit the tables.
    """
    try:
        made = judged()
        reason = why() if why else statement.why
    except Missing as gap:
        made, reason = Judged(Decision(None, ""), VERDICTS[None], {}), f"Missing: {gap}."
    except (KeyError, NameError, ValueError) as error:
        raise ValueError(f"the statement '{statement.claim}' does not fit its table: {error}") from error
    said = (paper, statement.section, statement.claim, statement.published, made.decision.text, made.verdict, reason)
    return dict(zip(COLUMNS, said, strict=False)) | dict(made.numbers) | {"rule": statement.kind}


def table_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of `row` as the table of claims, see COLUMNS."""
    return pd.DataFrame(list(rows)).reindex(columns=COLUMNS).astype({"n": "Int64", "draws": "Int64"})
