# ruff: noqa: D103 - what each function decides is said in counterfactual_claims.toml, under its name
"""The paper's statements on rules, set-up and formulas (sections 3 to 6, B, C), and across games (abstract, 7.2.1, 8, D.10)."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from agon.games.matrix.metrics import security
from agon_papers.counterfactual.evidence import (
    COMPREHENSION,
    EFFICIENCY,
    MODELS,
    PEERS,
    PLAIN,
    SCRIPTS,
    STRONG,
    THINKING,
    VARIANTS,
    Evidence,
    Result,
    every,
    intervals,
    listed,
    mean_of,
    part,
    recaptioned,
    span,
)
from agon_papers.statements import Missing

ROUNDS = {"pd": 16, "rps": 24}
NAMES = {"pd": "PD", "rps": "RPS"}


# rules and formulas


def pd_bounds(evidence: Evidence) -> Result:
    payoff = evidence.matrix("pd", "default")
    low, high = payoff.min(axis=None) * 16, payoff.max(axis=None) * 16
    found = evidence.rows(game="pd")
    below = found.total_points < 16
    held = (low, high) == (16, 96) and found.total_points.between(16, 96).all()
    return bool(held), (
        f"payoffs allow {low:.0f} to {high:.0f}; recorded {span(found.total_points, 0)}; "
        f"{part(below, 'matches')} below 16, {part(found.validity_rate[below] < 100, 'of these')} with void rounds"
    )


def rps_bounds(evidence: Evidence) -> Result:
    found = evidence.rows(game="rps")
    seen, bound = found.groupby("variant").total_points.agg(["min", "max"]), {}
    for variant in VARIANTS:
        bound[variant] = evidence.matrix("rps", variant).max(axis=None) * 24
    plain = found[found.variant.isin(["default", "label"])].total_points.abs().max()
    held = bound["default"] == bound["label"] == 24 and plain <= 24
    return bool(held), ", ".join(
        f"{variant} ±{bound[variant]:.0f} (recorded {seen.loc[variant, 'min']:.0f} to {seen.loc[variant, 'max']:.0f})"
        for variant in VARIANTS
    )


def pd_equilibria(evidence: Evidence) -> Result:
    found = {variant: _pure_equilibria(evidence.matrix("pd", variant)) for variant in ("default", "payoff")}
    held = found["default"] == [(1, 1)] and found["payoff"] == [(0, 0), (1, 1)]
    return held, "; ".join(
        f"{variant}: " + ", ".join("/".join(evidence.matrix("pd", variant).index[list(pair)]) for pair in pairs)
        for variant, pairs in found.items()
    )


def _pure_equilibria(payoff: pd.DataFrame) -> list[tuple[int, int]]:
    """Of a symmetric game: pairs of actions from which neither side gains by moving alone."""
    best = payoff.to_numpy() == payoff.to_numpy().max(axis=0)
    return [(i, j) for i, j in product(range(len(payoff)), repeat=2) if best[i, j] and best[j, i]]


def rps_equilibrium(evidence: Evidence) -> Result:
    return _mixed(evidence, "default", {"rock": 1 / 3, "paper": 1 / 3, "scissors": 1 / 3})


def rps_payoff_equilibrium(evidence: Evidence) -> Result:
    return _mixed(evidence, "payoff", {"rock": 0.2, "paper": 0.2, "scissors": 0.6})


def _mixed(evidence: Evidence, variant: str, claimed: dict[str, float]) -> Result:
    payoff = evidence.matrix("rps", variant)
    mix = pd.Series(security(payoff.to_numpy(dtype=float))[0], index=payoff.index)
    # skew-symmetric, rank 2 and full support: the equilibrium is the only mix that leaves the other indifferent
    unique = np.allclose(payoff, -payoff.T) and np.linalg.matrix_rank(payoff.to_numpy()) == 2 and mix.min() > 1e-6
    held = unique and np.allclose(mix, pd.Series(claimed)[mix.index], atol=1e-6)
    return bool(held), f"{listed(mix, 3)}, {'unique' if unique else 'not shown to be unique'}"


def expected_pd_payoff(evidence: Evidence) -> Result:
    return _expected(evidence, ("default", "label"), lambda p, q: 2 - p + 4 * q - p * q)


def expected_stag_hunt_payoff(evidence: Evidence) -> Result:
    return _expected(evidence, ("payoff", "joint"), lambda p, q: 2 - p + 2 * q + 3 * p * q)


def _expected(evidence: Evidence, variants: tuple[str, ...], formula: Callable[[float, float], float]) -> Result:
    grid = np.linspace(0, 1, 11)
    errors = {}
    for variant in variants:
        payoff = evidence.matrix("pd", variant).to_numpy(dtype=float)
        errors[variant] = max(
            abs(np.array([p, 1 - p]) @ payoff @ np.array([q, 1 - q]) - formula(p, q)) for p, q in product(grid, grid)
        )
    return max(errors.values()) < 1e-9, "largest error on a grid of 121 mixes: " + ", ".join(
        f"{variant} {'none' if error < 1e-9 else f'{error:.2f}'}" for variant, error in errors.items()
    )


def expected_rps_payoff(evidence: Evidence) -> Result:
    return _expected_rps(evidence, ("default", "label"), 1)


def expected_rps_payoff_at_three(evidence: Evidence) -> Result:
    return _expected_rps(evidence, ("payoff", "joint"), 3)


def _expected_rps(evidence: Evidence, variants: tuple[str, ...], stake: float) -> Result:
    names = ["rock", "paper", "scissors"]
    formula = np.array([[0, -stake, 1], [stake, 0, -1], [-1, 1, 0]])
    wrong = {
        variant: int((evidence.matrix("rps", variant).loc[names, names].to_numpy() != formula).sum())
        for variant in variants
    }
    return not any(wrong.values()), f"entries of the nine that differ: {listed(wrong, 0)}"


def equilibrium_script_defects(evidence: Evidence) -> Result:
    rows = evidence.rows(game="pd", variant=("default", "label"), opponent="srep")
    rows = rows[rows.validity_rate == 100]
    against_defection = 16 * (2 - rows.cooperation_rate)
    same = (rows.total_points - against_defection).abs() < 1e-9
    return bool(same.all()), f"{part(same, 'matches')} without void rounds"


# set-up


def rounds_per_match(evidence: Evidence) -> Result:
    seen = {game: sorted(set(evidence.rows(game=game).rounds)) for game in ROUNDS}
    held = all(seen[game] == [rounds] for game, rounds in ROUNDS.items())
    return held, ", ".join(f"{NAMES[game]} {'/'.join(map(str, found))}" for game, found in seen.items())


def repetitions(evidence: Evidence) -> Result:
    rows = pd.concat([evidence.rows(game=game) for game in ROUNDS])
    counts = rows.groupby(["game", "variant", "model", "agent", "opponent"]).size()
    voted = counts.index.get_level_values("agent").str.startswith("sc-")
    held = counts[~voted].eq(5).all() and counts[voted].eq(2).all()
    return bool(held), f"plain {span(counts[~voted], 0)}, SC {span(counts[voted], 0)}, in {len(counts)} cells"


def eight_models(evidence: Evidence) -> Result:
    counts = evidence.matches.model.value_counts()
    more = counts.drop([name for name in MODELS if name in counts.index])
    for game in ROUNDS:
        evidence.rows(game=game)
    return len(counts) >= len(
        MODELS
    ), f"{len(counts)} in the records; beyond the eight: {listed(more, 0) or 'none'} (matches)"


def decoding(evidence: Evidence) -> Result:
    if evidence.settings is None or evidence.settings.empty:
        raise Missing("the matches' temperature and token limit are not among the tables given (settings)")
    found = evidence.settings
    held = found.temperature.eq(0.7).all() and found.max_tokens.eq(50).all()
    limits = found.max_tokens.value_counts().sort_index()
    return (
        bool(held),
        f"temperature {span(found.temperature)}; token limit {', '.join(f'{k} ({v} matches)' for k, v in limits.items())}",
    )


def nucleus(evidence: Evidence) -> Result:
    raise Missing("top-p is recorded for no match")


def void_rounds_are_formatting(evidence: Evidence) -> Result:
    raise Missing("the records mark a round as void but not why: the refused answers' texts are not among them")


def captions_are_right(evidence: Evidence) -> Result:
    keys = [(first + step, caption) for first in (2, 6, 10) for step, caption in enumerate(VARIANTS[1:])]
    keys += [(13, caption) for caption in VARIANTS[1:]]
    found = {key: evidence.shown(*key) for key in keys}
    return all(caption == shown for (_, caption), shown in found.items()), ", ".join(
        f"{table} ({caption}): {shown}" for (table, caption), shown in found.items()
    )


# across games


def comprehension_worsens_with_pressure(evidence: Evidence) -> Result:
    def read(*variants: str) -> Result:
        curves = {
            "PD": _curves(evidence, "pd", variants),
            "RPS": _curves(evidence, "rps", ("payoff", "joint")),
        }
        up, down = ({game: sum(curve == way for curve in found) for game, found in curves.items()} for way in (1, -1))
        held = sum(up.values()) >= 3 and min(up.values()) >= 1 and sum(up.values()) > sum(down.values())
        return held, f"of eight each, up in both: {listed(up, 0)}; down in both: {listed(down, 0)}"

    return recaptioned(evidence, {"payoff": 7, "joint": 8}, read)


def _curves(evidence: Evidence, game: str, variants: tuple[str, ...]) -> list[int]:
    """Per model 1 if mean m rises from default to each of `variants`, -1 if it falls to each, else 0; zero-shot, peers."""
    where = {"game": game, "agent": "zs", "opponent": PEERS}
    base, *others = (
        evidence.by_model(COMPREHENSION["as done"], variant=name, **where) for name in ("default", *variants)
    )
    signs = pd.concat([np.sign(other - base) for other in others], axis=1)
    return [int(row[0]) if len(set(row)) == 1 else 0 for row in signs.to_numpy()]


def payoffs_delay_more_than_labels(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        means = {
            game: evidence.rows(game=game).groupby("variant")[metric].mean() / rounds for game, rounds in ROUNDS.items()
        }
        held = all(mean["payoff"] > mean["label"] > mean["default"] for mean in means.values())
        return bool(held), "; ".join(
            f"{NAMES[game]} {listed(mean.reindex(VARIANTS[:3]), 2)}" for game, mean in means.items()
        )

    return every(COMPREHENSION, read)


def labels_alter_behaviour(evidence: Evidence) -> Result:
    moved = {}
    for game in ROUNDS:
        changes = evidence.changes("total_points", "label", game=game)
        moved[game] = (changes.low > 0) | (changes.high < 0)
    return all(mask.sum() >= 3 for mask in moved.values()), "; ".join(
        f"{NAMES[game]} {part(mask, 'models')} ({', '.join(mask.index[mask])})" for game, mask in moved.items()
    )


def adaptation_is_sometimes_late(evidence: Evidence) -> Result:
    late = {}
    for game, rounds in ROUNDS.items():
        found = evidence.rows(game=game, opponent=SCRIPTS[game])[COMPREHENSION["as done"]]
        late[game] = (found > 0.75 * rounds) & (found <= rounds)
    return all(mask.mean() >= 0.05 for mask in late.values()), "; ".join(
        f"{NAMES[game]} {part(mask, 'matches')}" for game, mask in late.items()
    )


def thinking_costs_tokens_for_nothing(evidence: Evidence) -> Result:
    held, texts = [], []
    for game, (plain, twin) in product(ROUNDS, THINKING.items()):
        tokens, rounds = (evidence.by_model(name, game=game) for name in ("tokens", COMPREHENSION["as done"]))
        held.append(tokens[twin] > tokens[plain] and rounds[twin] >= rounds[plain])
        texts.append(
            f"{NAMES[game]} {twin} {tokens[twin] / tokens[plain] - 1:+.0%} tokens, m {rounds[twin] - rounds[plain]:+.1f}"
        )
    return any(held), "; ".join(texts)


def step_by_step_costs_tokens_for_nothing(evidence: Evidence) -> Result:
    held, texts = [], []
    for game in ROUNDS:
        rows = evidence.rows(game=game, agent=("zs", "cot")).groupby(["model", "agent"])
        tokens, rounds = (rows[name].mean().unstack() for name in ("tokens", COMPREHENSION["as done"]))
        more, late = tokens.cot > tokens.zs, rounds.cot >= rounds.zs
        held.append(int((more & late).sum()) >= 2)
        texts.append(
            f"{NAMES[game]} {part(more & late, 'models')} (more tokens {int(more.sum())}, no earlier {int(late.sum())})"
        )
    return all(held), "; ".join(texts)


def default_competence_does_not_transfer(evidence: Evidence) -> Result:
    changes = evidence.changes("total_points", "label", game="rps", opponent=("pp", "ap", "tft"))
    default = evidence.by_model("total_points", game="rps", variant="default", opponent=("pp", "ap", "tft"))
    fell = (default > 0) & (changes.high < 0).reindex(default.index)
    return bool(fell.mean() >= 0.5), f"{part(fell, 'models')}: {intervals(changes)}"


def claude_37_degrades_least(evidence: Evidence) -> Result:
    falls = {}
    for game in ROUNDS:
        falls[game] = evidence.changes("total_points", "label", game=game).value / ROUNDS[game]
    best = {game: fall.idxmax() for game, fall in falls.items()}
    held = all(name in ("C3.7S", "C3.7S(T)") for name in best.values())
    return held, "; ".join(f"{NAMES[game]} points a round {listed(fall, 2)}" for game, fall in falls.items())


def mistral_varies_most(evidence: Evidence) -> Result:
    spreads = {
        game: evidence.spreads("total_points", game=game)
        .groupby("model")
        .mean()
        .sort_values(ascending=False, kind="stable")
        for game in ROUNDS
    }
    return all(spread.index[0] == "Mistral" for spread in spreads.values()), "; ".join(
        f"{NAMES[game]} {listed(spread)}" for game, spread in spreads.items()
    )


def styles_matter_least_to_strong_models(evidence: Evidence) -> Result:
    spreads = {}
    for game in ROUNDS:
        cells = evidence.cells("total_points", game=game, agent=PLAIN)
        spreads[game] = cells.groupby(["variant", "model", "opponent"]).std().groupby("model").mean()
    strong = [*STRONG]
    held = all(spread[strong].max() < spread.drop(strong).min() for spread in spreads.values())
    return bool(held), "; ".join(f"{NAMES[game]} {listed(spread)}" for game, spread in spreads.items())


def votes_reduce_variance(evidence: Evidence) -> Result:
    held, texts = [], []
    for game in ROUNDS:
        variance = evidence.spreads("total_points", game=game) ** 2
        table = variance.unstack("agent")
        drop = pd.concat([(table[f"sc-{style}"] - table[style]).rename("change") for style in PLAIN]).reset_index()
        value, low, high, n = mean_of(drop.dropna(), "change")
        held.append(high < 0)
        texts.append(f"{NAMES[game]} variance {value:+.1f} ({low:+.1f} to {high:+.1f}, {n} pairs)")
    return all(held), "; ".join(texts)


def votes_keep_tendencies(evidence: Evidence) -> Result:
    ranks = {}
    for game in ROUNDS:
        table = evidence.cells("total_points", game=game, opponent=SCRIPTS[game]).unstack("agent")
        pairs = pd.concat([table[[f"sc-{style}", style]].set_axis(["voted", "plain"], axis=1) for style in PLAIN])
        ranks[NAMES[game]] = float(pairs.corr(method="spearman").iloc[0, 1])
    return min(ranks.values()) >= 0.7, f"rank correlation of cells with and without: {listed(ranks, 2)}"


def mistral_is_weakest_throughout(evidence: Evidence) -> Result:
    ranks = {}
    for game in ROUNDS:
        points, rounds, spent = (
            evidence.by_model(metric, game=game)
            for metric in ("total_points", COMPREHENSION["as done"], EFFICIENCY["as done"])
        )
        ranks[f"{NAMES[game]} points"] = points.rank()["Mistral"]
        ranks[f"{NAMES[game]} m"] = (-rounds).rank()["Mistral"]
        ranks[f"{NAMES[game]} efficiency"] = spent.rank()["Mistral"]
    return all(rank == 1 for rank in ranks.values()), f"rank from the bottom of eight: {listed(ranks, 0)}"


def claude_37_is_strong_in_both(evidence: Evidence) -> Result:
    ranks = {
        NAMES[game]: evidence.by_model("total_points", game=game).rank(ascending=False)["C3.7S"] for game in ROUNDS
    }
    return max(ranks.values()) <= 3, f"rank of eight by mean points over all variants: {listed(ranks, 0)}"


def llama_is_efficient_in_both(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        ranks = {NAMES[game]: evidence.by_model(metric, game=game).rank(ascending=False)["L3.3-70B"] for game in ROUNDS}
        return max(ranks.values()) <= 3, f"rank of eight {listed(ranks, 0)}"

    return every(EFFICIENCY, read)
