"""The TradeCraft paper's statements, each decided by its recorded games: results/replication/tradecraft_claims.csv."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from agon_papers.statements import COLUMNS, decisions, filled, row
from agon_papers.tradecraft import claims_models as tradecraft_claims_models
from agon_papers.tradecraft import claims_personas as tradecraft_claims_personas
from agon_papers.tradecraft import claims_records as tradecraft_claims_records
from agon_papers.tradecraft.evidence import Evidence, Result
from agon_papers.tradecraft.facts import PAPER, Facts

STATEMENTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")
)
"""Name of the deciding function -> section, claim (in our words), published, why. {names} stand for numbers of the paper's text."""

DECISIONS: dict[str, Callable[[Evidence], Result]] = decisions(
    tradecraft_claims_records, tradecraft_claims_models, tradecraft_claims_personas
)


def claims(facts: Facts) -> pd.DataFrame:
    """Every claim with the deciding numbers and its verdict: holds, fails, or cannot be checked. One row each, see COLUMNS."""
    evidence = Evidence(facts)
    return pd.DataFrame([decided(evidence, name) for name in STATEMENTS])[COLUMNS]


def decided(evidence: Evidence, name: str) -> dict[str, str]:
    """One statement's row of `claims`."""
    entry = filled(STATEMENTS[name], evidence.facts.text)
    return row(PAPER, entry, lambda: DECISIONS[name](evidence), lambda: entry["why"])
