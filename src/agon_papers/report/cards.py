"""Cards of statements: the numbers behind a verdict in words."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from agon.metrics.record_sets import ENOUGH
from agon_papers.findings import said_in
from agon_papers.report.agreement import WEIGHTS, weights
from agon_papers.resampling import MANY
from agon_papers.verdict import CLOSE, FEW, TAILS, UNDECIDED

QUANTITIES = {
    "level": "mean",
    "share": "number",
    "comparison": "difference",
    "order": "rank",
    "extreme": "number",
    "equivalence": "difference",
    "correlation": "rank correlation",
    "spread": "difference or ratio of the standard deviations",
}
"""Kind of a statement -> what its estimate is, if the estimate is one number."""


def statement_cards(claims: pd.DataFrame, heads: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """A row per statement for the page of all statements. `claims`: as written by the notebooks PAPER_claims. `heads`: see `weights`.

    Columns: id, paper, claim, published, verdict, reason, why, rule, where, importance, stress, estimate (with its
    interval and sample, or else the numbers), resamples (what they decide), p (why verdict and interval may seem to disagree),
    numbers (all of them), chance, section_verdict.
    """
    cards = claims[["paper", "claim", "published", "verdict", "reason", "why", "rule"]].copy()
    cards["id"] = claims.paper + "." + claims.statement
    cards["where"] = claims.section.map(said_in)
    cards["importance"] = weights(claims, heads)
    cards["stress"] = cards.importance.where(cards.importance == WEIGHTS[1])
    rows = list(claims.itertuples())
    cards["estimate"] = [_estimate(row) for row in rows]
    cards["resamples"] = [_resamples(row) for row in rows]
    cards["p"] = [_p(row) for row in rows]
    cards["numbers"] = claims.recomputed.where(claims.estimate.notna())
    cards["chance"] = claims.chance.map("{:.3g}".format).where(claims.chance.notna())
    cards["section_verdict"] = claims.verdict_section.where(claims.verdict_section != claims.verdict)
    return cards


def _rows_of(estimate_of: object) -> int:
    """The number of rows, if the estimate is a share of rows; otherwise 0."""
    found = re.fullmatch(r"share of (\d+) rows", str(estimate_of))
    return int(found[1]) if found else 0


def _name_and_unit(estimate_of: object) -> tuple[str, str]:
    """What the estimate is, and its unit after a space; empty without a unit."""
    name, _, unit = str(estimate_of).partition(" (")
    return name, f" {unit[:-1]}" if unit else ""


def _estimate(row: Any) -> str | None:
    """The estimate with its interval and its sample; the numbers of a statement without an estimate."""
    if pd.isna(row.estimate):
        return row.recomputed if isinstance(row.recomputed, str) else None
    n, ends = _rows_of(row.estimate_of), (row.estimate, row.low, row.high)
    value, low, high = (f"{100 * end:.3g} %" if n else f"{end:.3g}" for end in ends)
    name, unit = _name_and_unit(row.estimate_of)
    told = f"{value} of {n} rows" if n else f"{QUANTITIES[row.rule] if name == 'number' else name}: {value}{unit}"
    told += f" (95 % interval {low} to {high})" if row.low < row.high else " (the same in every resample)"
    many = "" if row.n == 1 else "es" if row.unit == "match" else "s"
    return told + (f", from {row.n:,.0f} {row.unit}{many}" if row.n > 0 else "")


def _resamples(row: Any) -> str | None:
    """What the interval is about, and what the resamples decide. Both are about one number, or about several parts."""
    if pd.isna(row.stability):
        return None
    same = f"the same answer as in the records in {100 * row.stability:.3g} % of {row.draws:.0f} resamples."
    if n := _rows_of(row.estimate_of):
        part = (
            "single rows"
            if n < MANY or row.n >= MANY * n
            else "single rows, or the number of rows that meet the condition"
        )
        return f"The interval is about the share of rows. The verdict is about {part}: the part that decides has {same}"
    if _name_and_unit(row.estimate_of)[0] == "smallest gap":
        return f"The interval is about the smallest gap. The verdict is about single pairs: the pair that decides has {same}"
    return f"Interval and verdict are about the same number: the condition has {same}"


def _p(row: Any) -> str | None:
    """Where the interval and the verdict may seem to disagree: the p value, what the rule needs, and why. Otherwise None."""
    if pd.isna(row.p):
        return None
    allowed, tail = 1 - ENOUGH, TAILS[0]
    needed = f"The p that decides is one-sided: {100 * row.p:.3g} %. The rule allows {100 * allowed:.0f} %."
    if row.verdict != UNDECIDED:
        seems = tail < row.p <= allowed and not _rows_of(row.estimate_of)
        both = f"The interval leaves out {100 * tail:.1f} % on each side, so it may include the bound."
        return f"{needed} {both}" if seems else None
    if str(row.reason).startswith((FEW.partition("{")[0], CLOSE.partition("{")[0])):
        return f"{needed} p is corrected for all parts that could decide (Bonferroni). The interval is not, so it may exclude the bound."
    return f"{needed} p alone would decide. The reason above leaves it undecided." if row.p <= allowed else None
