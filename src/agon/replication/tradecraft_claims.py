"""The TradeCraft paper's statements, each decided by its recorded games: results/replication/tradecraft_claims.csv."""

import inspect
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from agon.replication import tradecraft_claims_models, tradecraft_claims_personas, tradecraft_claims_records
from agon.replication.counterfactual_evidence import Missing
from agon.replication.tradecraft_evidence import Evidence, Result
from agon.replication.tradecraft_facts import PAPER, Facts

COLUMNS = ["paper", "section", "claim", "published", "recomputed", "verdict", "why"]

STATEMENTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Name of the deciding function -> section, claim (in our words), published, why. {names} stand for numbers of the paper's text."""

DECISIONS: dict[str, Callable[[Evidence], Result]] = {
    name: decide
    for module in (tradecraft_claims_records, tradecraft_claims_models, tradecraft_claims_personas)
    for name, decide in inspect.getmembers(module, inspect.isfunction)
    if decide.__module__ == module.__name__ and not name.startswith("_")
}
"""What decides a statement, under its name: every public function of these modules."""

VERDICTS: Mapping[bool | None, str] = {True: "holds", False: "fails", None: "cannot be checked"}


def claims(facts: Facts) -> pd.DataFrame:
    """Every claim with the deciding numbers and its verdict: holds, fails, or cannot be checked. One row each, see COLUMNS."""
    evidence = Evidence(facts)
    return pd.DataFrame([decided(evidence, name) for name in STATEMENTS])[COLUMNS]


def decided(evidence: Evidence, name: str) -> dict[str, str]:
    """One statement's row of `claims`."""
    numbers = evidence.facts.text.set_index("key").value.to_dict()
    entry = {key: text.format_map(numbers) for key, text in STATEMENTS[name].items()}
    said = {"paper": PAPER, **{key: entry[key] for key in ("section", "claim", "published")}}
    try:
        held, found = DECISIONS[name](evidence)
    except Missing as gap:
        return {**said, "recomputed": "", "verdict": "cannot be checked", "why": f"Missing: {gap}."}
    return {**said, "recomputed": found, "verdict": VERDICTS[held], "why": entry["why"]}
