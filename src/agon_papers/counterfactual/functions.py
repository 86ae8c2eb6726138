"""What a row of statements.toml cannot say: tables computed from the payoffs, and statements with two kinds of numbers."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chisquare

from agon.games.matrix.metrics import security
from agon_papers.comparisons import Decision, found
from agon_papers.counterfactual.evidence import PEERS, Evidence
from agon_papers.statements import Part, computed


def pure_equilibria(evidence: Evidence) -> pd.Series:
    """Pairs of actions in the prisoner's dilemma from which neither side gains by moving alone, as text by variant."""
    made = {}
    for variant in ("default", "payoff"):
        payoff = evidence.matrix("pd", variant)
        best = payoff.to_numpy() == payoff.to_numpy().max(axis=0)
        pairs = [(i, j) for i, j in product(range(len(payoff)), repeat=2) if best[i, j] and best[j, i]]
        made[variant] = ", ".join("/".join(payoff.index[list(pair)]) for pair in pairs)
    return pd.Series(made)


def mixed_equilibrium(evidence: Evidence, variant: str, claimed: Mapping[str, str]) -> Decision:
    """Maximin mix of RPS: holds if it is as claimed, on a skew-symmetric payoff table with rank 2, with full support."""
    payoff = evidence.matrix("rps", variant)
    mix = pd.Series(security(payoff.to_numpy(dtype=float))[0], index=payoff.index)
    # then the equilibrium is the only mix that leaves the other indifferent
    unique = np.allclose(payoff, -payoff.T) and np.linalg.matrix_rank(payoff.to_numpy()) == 2 and mix.min() > 1e-6
    table = pd.DataFrame({"value": mix, "claimed": pd.Series(claimed).astype(float), "unique": unique})
    said = "unique" if unique else "not shown to be unique"
    return found(table, "all: unique and abs(value - claimed) <= 1e-6", f"{{values:.3f}}, {said}")


def formula_errors(evidence: Evidence, formula: str, variants: Sequence[str]) -> pd.Series:
    """Largest difference of a formula from the prisoner's dilemma's expected payoff, on a grid of both players' cooperation rates."""
    p, q = np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 11), indexing="ij")
    claimed = pd.eval(formula, local_dict={"p": p, "q": q}, engine="python")
    errors = {}
    for variant in variants:
        (both, one), (other, none) = evidence.matrix("pd", variant).to_numpy(dtype=float)
        expected = p * q * both + p * (1 - q) * one + (1 - p) * q * other + (1 - p) * (1 - q) * none
        errors[variant] = np.abs(expected - claimed).max()
    return pd.Series(errors)


def entries_off(evidence: Evidence, stake: float, variants: Sequence[str]) -> pd.Series:
    """Entries of the RPS payoff table, actions by their labels, that differ from the formula in which rock and paper play for `stake`."""
    names = ["rock", "paper", "scissors"]
    formula = np.array([[0, -stake, 1], [stake, 0, -1], [-1, 1, 0]])
    return pd.Series(
        {name: int((evidence.matrix("rps", name).loc[names, names].to_numpy() != formula).sum()) for name in variants}
    )


def spread_and_chance(evidence: Evidence) -> pd.DataFrame:
    """Standard deviation of points between language models in default RPS, recorded and under independent uniform play."""
    where = {"game": "rps", "variant": "default", "opponent": "peers"}
    recorded = _values(evidence, "total_points", ["sd per game"], **where).value
    uniform = float((evidence.matrix("rps", "default") ** 2).mean(axis=None) * 24) ** 0.5
    return pd.DataFrame({"recorded": recorded, "uniform": uniform})


def uniform_tests(evidence: Evidence) -> pd.DataFrame:
    """p of the chi-squared test of uniform play between language models in default RPS, and the number of decisions, by model."""
    rows = evidence.rows("actions", {"game": ["rps"], "variant": ["default"], "opponent": PEERS})
    counts = (rows.value * rows.n).groupby([rows.model, rows.action]).sum().unstack(fill_value=0).round()
    return pd.DataFrame(
        {"p": chisquare(counts.to_numpy(), axis=1).pvalue, "decisions": counts.sum(axis=1)}, counts.index
    )


def defaults_and_changes(evidence: Evidence) -> pd.DataFrame:
    """Points against patterned scripts in RPS: each model's mean in default, and its change under inverted labels with an interval."""
    steps = ["mean per cell", "spread variant", "label - default", "interval per model"]
    where = {"game": "rps", "opponent": "patterned"}
    changes = _values(evidence, "total_points", steps, **where, variant=["default", "label"])
    default = _values(evidence, "total_points", ["mean per model"], **where, variant="default")
    return changes.assign(default=default.value)


def _values(evidence: Evidence, measure: str, how: list[str], **where: Any) -> pd.DataFrame:
    """The numbers of a row with these fields."""
    return computed(evidence, Part(kind="exact", measure=measure, how=how, where=where), {})


def without_void_rounds(evidence: Evidence, game: str = "pd") -> pd.DataFrame:
    """Points in a game by cell: of all matches (whole), of those without void rounds (clean), how far apart (moved)."""
    rows, keys = evidence.rows("", {"game": [game]}), evidence.groups["cell"]
    means = {"whole": rows, "clean": rows[rows.validity_rate == 100]}
    cells = pd.DataFrame({name: table.groupby(list(keys)).total_points.mean() for name, table in means.items()})
    return cells.dropna().eval("moved = abs(clean - whole)")


def lowest_without_void_rounds(evidence: Evidence, model: str) -> Decision:
    """Cells against the always-defecting script: holds if the lowest of the model stays lowest without matches that have void rounds."""
    cells = without_void_rounds(evidence).xs(("default", "srep"), level=("variant", "opponent"))
    own, others = cells.loc[model], cells.drop(model, level="model").clean.min()
    style = own.whole.idxmin()
    table = pd.Series({style: own.clean[style], "its lowest": own.clean.min(), "others": others})
    said = f"{style}: {own.whole[style]:.1f} with and {own.clean[style]:.1f} without matches with void rounds"
    return found(
        table,
        [f"all of {style}: value == lowest", f"order: {style} < others"],
        f"{said}; lowest cell of the other models {others:.1f}",
    )


def curves(evidence: Evidence, dilemma: Sequence[str], rps: Sequence[str]) -> pd.Series:
    """Zero-shot models against language models: 1 where mean m rises from default to both variants, -1 where it falls to both, else 0."""
    signs = []
    for game, variants in (("pd", dilemma), ("rps", rps)):
        where = {"game": game, "agent": "zs", "opponent": "peers", "variant": ["default", *variants]}
        steps = ["mean per game model variant", "spread variant"]
        means = _values(evidence, "opponent_comprehension_as_done", steps, **where)
        change = np.sign(means[[*variants]].sub(means.default, axis=0))
        signs.append(change.min(axis=1).where(change.min(axis=1) == change.max(axis=1), 0))
    return pd.concat(signs)


def named_payoffs(evidence: Evidence, variant: str) -> pd.Series:
    """Payoffs of the prisoner's dilemma by their usual letters: R (both cooperate), S (alone), T (the other alone), P (neither)."""
    (both, alone), (other, neither) = evidence.matrix("pd", variant).to_numpy(dtype=float)
    return pd.Series({"T": other, "R": both, "P": neither, "S": alone})


def asymmetric_entries(evidence: Evidence, variants: Sequence[str]) -> pd.Series:
    """Pairs of actions in RPS, by variant, for which the second seat is not paid what the first one is when they change places."""
    rules = evidence.payoffs[(evidence.payoffs.game == "rps") & evidence.payoffs.variant.isin(list(variants))]
    pairs = rules.pivot_table(index=["variant", "action", "others"], columns="seat", values="payoff")
    return (pairs[0] != pairs[1]).groupby(level="variant").sum()


def weights_and_returns(evidence: Evidence, variant: str) -> pd.DataFrame:
    """Of each action in RPS: its weight in the maximin mix, and returns, what it pays against uniform play."""
    payoff = evidence.matrix("rps", variant)
    weights = security(payoff.to_numpy(dtype=float))[0]
    return pd.DataFrame({"weight": weights, "returns": payoff.mean(axis=1)}, payoff.index)
