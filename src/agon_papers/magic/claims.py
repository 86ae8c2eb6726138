"""The MAgIC paper's statements, each decided from its own printed numbers: results/replication/magic_claims.csv."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from agon_papers.magic import claims_abilities as magic_claims_abilities
from agon_papers.magic import claims_gains as magic_claims_gains
from agon_papers.magic import claims_games as magic_claims_games
from agon_papers.magic import claims_rules as magic_claims_rules
from agon_papers.magic.evidence import Evidence, Result
from agon_papers.magic.facts import PAPER, Facts
from agon_papers.statements import COLUMNS, decisions, filled, row

STATEMENTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")
)
"""Name of the deciding function -> section, claim (in our words), published, why. {names} stand for numbers of the paper's text."""

DECISIONS: dict[str, Callable[[Evidence], Result]] = decisions(
    magic_claims_abilities, magic_claims_gains, magic_claims_games, magic_claims_rules
)


def claims(facts: Facts) -> pd.DataFrame:
    """Every claim with the deciding numbers and its verdict: holds, fails, or cannot be checked. One row each, see COLUMNS."""
    evidence = Evidence(facts)
    return pd.DataFrame([decided(evidence, name) for name in STATEMENTS])[COLUMNS]


def decided(evidence: Evidence, name: str) -> dict[str, str]:
    """One statement's row of `claims`."""
    entry = filled(STATEMENTS[name], evidence.facts.text)
    return row(PAPER, entry, lambda: DECISIONS[name](evidence), lambda: entry["why"])
