"""The counterfactual paper's statements in prose, each decided from the recorded matches: results/replication/claims.csv."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from agon_papers.counterfactual import functions
from agon_papers.counterfactual.cells import PAPER, agreement, statistics, true_variants
from agon_papers.counterfactual.evidence import Evidence, prepared, short
from agon_papers.statements import Statement, decide, described, filled, load, public_functions
from agon_papers.verdicts import Judged, judge, row, table_of


class Captioned(Statement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement that may lean on tables whose captions name another variant than their numbers come from.

    `captions`: variant -> the table in which it is captioned. {variant} in the row's texts stands for it: the row is decided with the
    variants themselves, and where the tables show others it is read with these too.
    """

    captions: dict[str, int] = msgspec.field(default_factory=dict)


STATEMENTS = load(Path(__file__).with_name("statements.toml"), Captioned)
"""Name -> the statement: section, claim (in our words), published, why, and its test."""

FUNCTIONS: Mapping[str, Callable[..., Any]] = public_functions(functions)


def claims(
    matches: pd.DataFrame,
    shares: pd.DataFrame,
    payoffs: pd.DataFrame,
    published: pd.DataFrame,
    settings: pd.DataFrame | None = None,
    uniform: pd.DataFrame | None = None,
    openings: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Every claim with the deciding numbers and its verdict by docs/statements-rule.md. One row each, see agon_papers.verdicts.

    `matches`: agon.games.matrix.metrics.per_match of the player under test, all recorded matches. `shares`: action_shares of
    seat 0 by game, variant, model, agent, opponent and match. `payoffs`: rows of agon.games.payoff_rows. `published`: tables.csv.
    `settings`: one row per match with temperature and max_tokens; without it the claim on decoding cannot be checked.
    `uniform`: `per_match` of players that choose uniformly; without them no chance value is given.
    `openings`: match and action of the opponents' first moves; without them the claim that scripts draw nothing cannot be checked.
    """
    evidence = evidence_of(matches, shares, payoffs, published, settings)
    evidence = replace(evidence, uniform=uniform, openings=openings)
    return table_of(decided(evidence, name) for name in STATEMENTS)


def in_words() -> pd.Series:
    """Each statement's test in words, in the order of `claims`."""
    return pd.Series([_in_words(statement) for statement in STATEMENTS.values()], name="test")


def _in_words(statement: Captioned) -> str:
    captions = statement.captions
    said = described(filled(statement, dict(zip(captions, captions, strict=True))), FUNCTIONS)
    tables = ", ".join(f"{variant} in Table {table}" for variant, table in captions.items())
    return f"{said} (and as captioned: {tables})" if tables else said


def evidence_of(
    matches: pd.DataFrame,
    shares: pd.DataFrame,
    payoffs: pd.DataFrame,
    published: pd.DataFrame,
    settings: pd.DataFrame | None = None,
) -> Evidence:
    """The tables of `claims` made ready: models by their short names, and the variant that each caption truly shows."""
    printed = published.astype({"mean": str, "std": str})
    captions = true_variants(agreement(statistics(matches, "reconciled"), printed), printed)
    known = shares[shares.match.isin(matches.match)]
    return Evidence(prepared(matches, payoffs), short(known), payoffs, captions, settings)


def decided(evidence: Evidence, name: str) -> dict[str, Any]:
    """One statement's row of `claims`."""
    statement = STATEMENTS[name]
    return row(PAPER, name, statement, lambda: _judged(evidence, statement), lambda: _why(evidence, statement))


def _judged(evidence: Evidence, statement: Captioned) -> Judged:
    captions = statement.captions
    shown = {variant: evidence.shown(table, variant) for variant, table in captions.items()}
    meant = judge(evidence, filled(statement, dict(zip(captions, captions, strict=True))), FUNCTIONS)
    if all(variant == other for variant, other in shown.items()):
        return meant
    also = decide(evidence, filled(statement, shown), FUNCTIONS, evidence.drawn(statement.drawing, 0))
    there, text = f"{also.text} ({'true' if also.holds else 'false'} there)", meant.decision.text
    if len(captions) > 1:
        return meant.saying(f"{text} | as captioned: {there}")
    [(variant, table)] = captions.items()
    return meant.saying(f"{variant} itself: {text} | {shown[variant]}, which Table {table} shows: {there}")


def _why(evidence: Evidence, statement: Captioned) -> str:
    if len(statement.captions) != 1:
        return statement.why
    [(variant, table)] = statement.captions.items()
    if evidence.shown(table, variant) == variant:
        return statement.why
    return f"{statement.why} Decided on {variant}, of which the statement speaks and which Table {table} does not show."
