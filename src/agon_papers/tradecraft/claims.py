"""The TradeCraft paper's statements, each decided by its recorded games: results/replication/tradecraft_claims.csv."""

from pathlib import Path
from typing import Any

import pandas as pd

from agon_papers.statements import Statement, described, filled, load, public_functions
from agon_papers.tradecraft import functions
from agon_papers.tradecraft.evidence import Evidence
from agon_papers.tradecraft.facts import PAPER, Facts
from agon_papers.verdicts import judge, row, table_of

STATEMENTS = load(Path(__file__).with_name("statements.toml"), Statement)
"""Name -> the statement: section, claim (in our words), published, why, and its test. {names} stand for numbers of the paper's text."""

FUNCTIONS = public_functions(functions)


def claims(facts: Facts) -> pd.DataFrame:
    """Every claim with the deciding numbers and its verdict by docs/statements-rule.md. One row each, see agon_papers.verdicts."""
    evidence = Evidence(facts)
    return table_of(decided(evidence, name) for name in STATEMENTS)


def decided(evidence: Evidence, name: str) -> dict[str, Any]:
    """One statement's row of `claims`."""
    statement = _filled(evidence.facts, name)
    return row(PAPER, name, statement, lambda: judge(evidence, statement, FUNCTIONS))


def in_words(facts: Facts) -> pd.Series:
    """Each statement's test in words, in the order of `claims`."""
    return pd.Series([described(_filled(facts, name), FUNCTIONS) for name in STATEMENTS], name="test")


def _filled(facts: Facts, name: str) -> Statement:
    return filled(STATEMENTS[name], facts.text.set_index("key").value)
