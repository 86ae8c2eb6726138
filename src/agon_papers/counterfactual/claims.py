"""The counterfactual paper's statements in prose, each decided from the recorded matches: results/replication/claims.csv."""

import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from agon_papers.counterfactual import claims_cost as counterfactual_claims_cost
from agon_papers.counterfactual import claims_games as counterfactual_claims_games
from agon_papers.counterfactual import claims_pd as counterfactual_claims_pd
from agon_papers.counterfactual import claims_rps as counterfactual_claims_rps
from agon_papers.counterfactual.cells import MODELS, PAPER, agreement, statistics, true_variants
from agon_papers.counterfactual.evidence import Evidence, Result, captioned
from agon_papers.statements import COLUMNS, decisions, row

STATEMENTS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("claims.toml").read_text(encoding="utf-8")
)
"""Name of the deciding function -> section, claim (in our words), published, why; printed, the published pairs of mean and
deviation that it is given; and, for a statement on a table whose caption may name another variant than its numbers come from, table and
the variant meant."""

DECISIONS: dict[str, Callable[..., Result]] = decisions(
    counterfactual_claims_games, counterfactual_claims_pd, counterfactual_claims_rps, counterfactual_claims_cost
)


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
    evidence = evidence_of(matches, shares, payoffs, published, settings)
    return pd.DataFrame([decided(evidence, name) for name in STATEMENTS])[COLUMNS]


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
    return Evidence(_short(matches), _short(shares), payoffs, captions, settings)


def decided(evidence: Evidence, name: str) -> dict[str, str]:
    """One statement's row of `claims`."""
    entry = STATEMENTS[name]
    return row(PAPER, entry, lambda: _read(evidence, DECISIONS[name], entry), lambda: _reason(evidence, entry))


def _read(evidence: Evidence, decide: Callable[..., Result], entry: Mapping[str, Any]) -> Result:
    if "table" in entry:
        return captioned(evidence, entry["table"], entry["meant"], partial(decide, evidence))
    return decide(evidence, **{key: entry[key] for key in ("printed",) if key in entry})


def _short(table: pd.DataFrame) -> pd.DataFrame:
    """Plain text instead of categories, and the tables' names of models."""
    text = [name for name in ("game", "variant", "model", "agent", "opponent", "action") if name in table]
    return table.astype(dict.fromkeys(text, object)).replace({"model": MODELS})


def _reason(evidence: Evidence, entry: Mapping[str, Any]) -> str:
    if "table" not in entry or evidence.shown(entry["table"], entry["meant"]) == entry["meant"]:
        return str(entry["why"])
    return f"{entry['why']} Decided on {entry['meant']}, of which the statement speaks and which Table {entry['table']} does not show."
