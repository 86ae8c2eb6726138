"""The counterfactual paper's statements in prose, each decided from the recorded matches: results/replication/claims.csv."""

import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from agon.replication import (
    counterfactual_claims_cost,
    counterfactual_claims_games,
    counterfactual_claims_pd,
    counterfactual_claims_rps,
)
from agon.replication.counterfactual import MODELS, PAPER, true_variants
from agon.replication.counterfactual_evidence import Decision, Evidence, Missing, captioned

COLUMNS = ["paper", "section", "claim", "published", "recomputed", "verdict", "why"]

STATEMENTS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Name of the deciding function -> section, claim (in our words), published, why; and, for a statement on a table whose
caption may name another variant than its numbers come from, table and the variant meant."""

DECISIONS: dict[str, Decision] = {
    decide.__name__: decide
    for module in (
        counterfactual_claims_games,
        counterfactual_claims_pd,
        counterfactual_claims_rps,
        counterfactual_claims_cost,
    )
    for decide in module.CLAIMS
}


def claims(
    matches: pd.DataFrame,
    shares: pd.DataFrame,
    payoffs: pd.DataFrame,
    published: pd.DataFrame,
    settings: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Every claim with the deciding numbers and its verdict: holds, fails, or cannot be checked. One row each, see COLUMNS.

    `matches`: agon.metrics.per_match of the player under test, all recorded matches. `shares`: agon.metrics.action_shares of
    seat 0 by game, variant, model, agent, opponent. `payoffs`: rows of agon.games.payoff_rows. `published`: tables.csv.
    `settings`: one row per match with temperature and max_tokens; without it the claim on decoding cannot be checked.
    """
    printed = published.astype({"mean": str, "std": str})
    evidence = Evidence(_short(matches), _short(shares), payoffs, true_variants(matches, printed), settings)
    rows = [
        {"paper": PAPER, **{key: entry[key] for key in COLUMNS[1:4]}, **_decided(evidence, DECISIONS[name], entry)}
        for name, entry in STATEMENTS.items()
    ]
    return pd.DataFrame(rows)[COLUMNS]


def _short(table: pd.DataFrame) -> pd.DataFrame:
    """Plain text instead of categories, and the tables' names of models."""
    text = [name for name in ("game", "variant", "model", "agent", "opponent", "action") if name in table]
    return table.astype(dict.fromkeys(text, object)).replace({"model": MODELS})


def _decided(evidence: Evidence, decide: Decision, entry: Mapping[str, Any]) -> dict[str, str]:
    try:
        if "table" in entry:
            held, numbers = captioned(evidence, entry["table"], entry["meant"], partial(decide, evidence))
        else:
            held, numbers = decide(evidence)
    except Missing as gap:
        return {"recomputed": "", "verdict": "cannot be checked", "why": f"Missing: {gap}."}
    return {"recomputed": numbers, "verdict": "holds" if held else "fails", "why": _reason(evidence, entry)}


def _reason(evidence: Evidence, entry: Mapping[str, Any]) -> str:
    if "table" not in entry or evidence.shown(entry["table"], entry["meant"]) == entry["meant"]:
        return str(entry["why"])
    return f"{entry['why']} Decided on {entry['meant']}, of which the statement speaks and which Table {entry['table']} does not show."
