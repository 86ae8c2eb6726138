"""The MAgIC paper's statements, each decided from its own printed numbers: results/replication/magic_claims.csv."""

from pathlib import Path

import pandas as pd

from agon_papers.magic import evidence as tables
from agon_papers.magic.evidence import Evidence
from agon_papers.magic.facts import PAPER, Facts
from agon_papers.statements import Statement, decide, described, filled, load, public_functions, row, table_of

STATEMENTS = load(Path(__file__).with_name("statements.toml"), Statement)
"""Name -> what is claimed and how it is tested. {names} stand for numbers of the paper's text."""

FUNCTIONS = public_functions(tables)
"""The tables that depend on more than the facts."""


def claims(facts: Facts) -> pd.DataFrame:
    """Every claim with the deciding numbers and its verdict: holds, fails, or cannot be checked. One row each, see COLUMNS."""
    evidence = Evidence(facts)
    return table_of(decided(evidence, name) for name in STATEMENTS)


def in_words(facts: Facts) -> pd.Series:
    """Each statement's test in words, in the order of `claims`."""
    return pd.Series([described(stated(facts, name), FUNCTIONS) for name in STATEMENTS], name="test")


def decided(evidence: Evidence, name: str) -> dict[str, str]:
    """One statement's row of `claims`."""
    statement = stated(evidence.facts, name)
    return row(PAPER, statement, lambda: decide(evidence, statement, FUNCTIONS))


def stated(facts: Facts, name: str) -> Statement:
    """A statement with the numbers of the paper's text in it."""
    return filled(STATEMENTS[name], facts.text.set_index("key").value.to_dict())
