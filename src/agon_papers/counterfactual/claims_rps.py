# ruff: noqa: D103 - what each function decides is said in counterfactual_claims.toml, under its name
"""The paper's statements on rock-paper-scissors and its counterfactuals (sections 7.2, 7.2.1, D.6 to D.9)."""

import pandas as pd
from scipy.stats import chisquare

from agon_papers.counterfactual.evidence import (
    CLAUDE_4,
    MODELS,
    PEERS,
    PLAIN,
    SCRIPTS,
    Evidence,
    Pairs,
    Result,
    intervals,
    listed,
    mean_of,
    most,
    paired,
    part,
    ranked,
    rounded,
    span,
    within,
)

DEFAULT = {"game": "rps", "variant": "default"}

ADVANCED = ("C3.7S", "C3.7S(T)", *CLAUDE_4)
PATTERNED = ("pp", "ap", "tft")
POINTS, M = "total_points", "opponent_comprehension"


# 7.2: default


def peers_score_zero(evidence: Evidence) -> Result:
    rows = evidence.rows(**DEFAULT, opponent=PEERS)
    value, low, high, n = mean_of(rows, POINTS)
    spread, by_chance = rows[POINTS].std(ddof=1), float((evidence.matrix(**DEFAULT) ** 2).mean(axis=None) * 24) ** 0.5
    return low <= 0 <= high and spread <= by_chance, (
        f"{value:+.2f} ({low:+.2f} to {high:+.2f}, {n} matches); "
        f"standard deviation {spread:.1f}, under uniform play {by_chance:.1f}"
    )


def patterns_are_exploited(evidence: Evidence) -> Result:
    above = evidence.cells(POINTS, **DEFAULT, opponent=PATTERNED) > 0
    return bool(above.mean() >= 0.9), ", ".join(
        f"{name} {part(above.xs(name, level='opponent'))}" for name in PATTERNED
    )


def claude_beats_the_cycle(evidence: Evidence) -> Result:
    means = evidence.by_model(POINTS, **DEFAULT, opponent="pp")
    claude = [name for name in means.index if name.startswith("C")]
    return bool(means[claude].min() > means["L3.3-70B"] > means["Mistral"]), listed(means)


def adaptive_script_gives_less(evidence: Evidence) -> Result:
    pp, ap = (evidence.by_model(POINTS, **DEFAULT, opponent=name) for name in ("pp", "ap"))
    return bool((ap.abs() < pp.abs()).all()), f"{part(ap.abs() < pp.abs(), 'models')}; AP {listed(ap)}; PP {listed(pp)}"


def equilibrium_script_gives_nothing(evidence: Evidence) -> Result:
    value, low, high, n = mean_of(evidence.rows(**DEFAULT, opponent="srep"), POINTS)
    return low <= 0 <= high, f"{value:+.2f} ({low:+.2f} to {high:+.2f}, {n} matches)"


def comprehension_is_later_than_in_pd(evidence: Evidence) -> Result:
    rps = evidence.by_model(M, **DEFAULT) / 24
    pd_share = evidence.by_model(f"{M}_as_done", game="pd", variant="default") / 16
    later = rps > pd_share
    return most(later), f"{part(later, 'models')}; RPS {listed(rps, 2)}; PD {listed(pd_share, 2)}"


def early_comprehension_pays(evidence: Evidence) -> Result:
    columns = [evidence.cells(name, **DEFAULT, opponent="pp") for name in (POINTS, M)]
    rank = float(pd.concat(columns, axis=1).corr(method="spearman").iloc[0, 1])
    return rank <= -0.8, f"Spearman {rank:.2f} over {len(columns[0])} cells"


def comprehension_of_the_cycle(evidence: Evidence) -> Result:
    means = evidence.by_model(M, **DEFAULT, opponent="pp")
    held = means[[*ADVANCED]].max() < means["L3.3-70B"] < means["DS-R1"] < means["Mistral"]
    return bool(held), listed(means)


def adaptive_script_is_understood_late(evidence: Evidence) -> Result:
    means = evidence.by_model(M, **DEFAULT, opponent="ap")
    return bool((means > 12).all()), listed(means)


def peers_are_not_understood(evidence: Evidence) -> Result:
    cells = evidence.cells(M, **DEFAULT, opponent=PEERS)
    return most(cells >= 20), f"{part(cells >= 20)} at 20 or more, {part(cells > 24)} above 24; mean {cells.mean():.1f}"


def claude_35_against_its_peers(evidence: Evidence, printed: Pairs) -> Result:
    rows = evidence.rows(**DEFAULT, opponent=PEERS, model="C3.5Sv2", agent="zs")
    found = rounded(rows, "opponent", M)
    return found == printed, paired(found, printed)


def cycle_biases_actions(evidence: Evidence) -> Result:
    rows = evidence.rows(**DEFAULT, opponent=("pp", "ap", "srep"), model=ADVANCED)
    table = rows.groupby(["model", "opponent"]).distance_to_uniform.mean().unstack()
    far = table.idxmax(axis=1).eq("pp")
    return most(far), f"{part(far, 'models')}; mean distances {listed(table.mean(), 3)}"


def peers_are_played_uniformly(evidence: Evidence) -> Result:
    counts = evidence.actions(**DEFAULT, opponent=PEERS)
    far = _distance(counts, pd.Series(1 / 3, index=counts.columns))
    differ = pd.Series(chisquare(counts.to_numpy(), axis=1).pvalue < 0.05)
    return most(far <= 0.05), (
        f"{part(far <= 0.05, 'models')}; distances {listed(far, 3)}; {part(differ, 'models')} differ from uniform"
        f" ({span(counts.sum(axis=1), 0)} decisions each)"
    )


def _distance(counts: pd.DataFrame, target: pd.Series) -> pd.Series:
    shares = counts.div(counts.sum(axis=1), axis=0)
    return shares.sub(target, axis=1).abs().sum(axis=1) / 2


def weak_models_are_biased(evidence: Evidence) -> Result:
    means = evidence.by_model("distance_to_uniform", **DEFAULT, opponent=PEERS)
    weak = ["DS-R1", "Mistral"]
    return bool(means[weak].min() > means.drop(weak).max()), listed(means, 3)


# 7.2.1: counterfactuals


def labels_cost_points(evidence: Evidence) -> Result:
    changes = evidence.changes(POINTS, "label", game="rps", opponent=PATTERNED)
    return int((changes.high < 0).sum()) >= 3, f"{part(changes.high < 0, 'models')} fall: {intervals(changes)}"


def advanced_models_bear_labels(evidence: Evidence) -> Result:
    points = evidence.changes(POINTS, "label", game="rps", model=ADVANCED)
    rounds = evidence.changes(M, "label", game="rps", model=ADVANCED)
    held = (points.high >= 0).all() and (rounds.low <= 0).all()
    return bool(held), f"points {intervals(points)}; m {intervals(rounds)}"


def labels_delay_weak_models(evidence: Evidence) -> Result:
    weak = ("DS-R1", "Mistral")
    rounds = evidence.changes(M, "label", game="rps", model=weak)
    spread = {
        name: evidence.spreads(POINTS, game="rps", variant=name, model=weak).groupby("model").mean()
        for name in ("default", "label")
    }
    held = (rounds.low > 0).all() and (spread["label"] > spread["default"]).all()
    return bool(held), f"m {intervals(rounds)}; spreads {listed(spread['default'])} to {listed(spread['label'])}"


def uniform_play_persists(evidence: Evidence) -> Result:
    counts = evidence.actions(game="rps", variant="payoff", opponent=PEERS)
    uniform = _distance(counts, pd.Series(1 / 3, index=counts.columns))
    target = _distance(counts, pd.Series({"rock": 0.2, "paper": 0.2, "scissors": 0.6}))
    scissors = counts.scissors / counts.sum(axis=1)
    near = (uniform <= 0.1) & (uniform < target)
    return bool(near.mean() >= 0.5), (
        f"{part(near, 'models')}; to uniform {listed(uniform, 2)}; to equilibrium {span(target, 2)}; scissors {span(scissors, 2)}"
    )


def payoffs_delay_rps(evidence: Evidence) -> Result:
    changes = evidence.changes(M, "payoff", game="rps")
    before, after = (
        evidence.spreads(M, game="rps", variant=name).groupby("model").mean() for name in ("default", "payoff")
    )
    return most(changes.value > 0) and most(after > before), (
        f"later in {part(changes.value > 0, 'models')}, more variable in {part(after > before, 'models')}: {intervals(changes)}"
    )


def advanced_models_use_payoffs(evidence: Evidence) -> Result:
    where = {"game": "rps", "opponent": ("pp", "tft"), "model": ADVANCED}
    points, rounds = (evidence.changes(metric, "payoff", **where) for metric in (POINTS, M))
    shares = {
        name: evidence.rows(game="rps", variant=name, opponent="pp", model=ADVANCED)[POINTS].mean() / best
        for name, best in (
            ("default", _best_against_cycle(evidence, "default")),
            ("payoff", _best_against_cycle(evidence, "payoff")),
        )
    }
    held = (points.value > 0).all() and (rounds.value < 0).all()
    return bool(
        held
    ), f"points {intervals(points)}; m {intervals(rounds)}; share of best against PP {listed(shares, 2)}"


def _best_against_cycle(evidence: Evidence, variant: str) -> float:
    return float(evidence.matrix("rps", variant).max().sum() * 24 / 3)


def joint_is_most_demanding(evidence: Evidence) -> Result:
    means = evidence.rows(game="rps").groupby("variant")[M].mean()
    cells = {
        name: evidence.cells(M, game="rps", variant=name).droplevel("variant") for name in ("label", "payoff", "joint")
    }
    rises = {}
    for name in ("label", "payoff"):
        rises[name] = mean_of((cells["joint"] - cells[name]).rename("rise").reset_index(), "rise")
    held = means.idxmax() == "joint" and all(low > 0 for _, low, _, _ in rises.values())
    text = ", ".join(
        f"joint minus {name} {v:+.2f} ({low:+.2f} to {high:+.2f}, {n} cells)"
        for name, (v, low, high, n) in rises.items()
    )
    return bool(held), f"means {listed(means)}; {text}"


def joint_keeps_some_at_horizon(evidence: Evidence) -> Result:
    late = evidence.cells(M, game="rps", variant="joint", model=("Mistral", "C3.7S(T)", "C4S(T)")) >= 20
    shares = late.groupby("model").mean()
    held = shares["Mistral"] > 0.5 and shares[["C3.7S(T)", "C4S(T)"]].max() > 0.5
    return bool(held), f"share of cells at 20 or more: {listed(shares, 2)}"


# D.6: total points


def cycle_and_reply_pay_most(evidence: Evidence) -> Result:
    inside = within(evidence.cells(POINTS, **DEFAULT, opponent=("pp", "tft")), 15, 24)
    return bool(inside.mean() >= 0.5), part(inside)


def advanced_models_lead(evidence: Evidence) -> Result:
    means = evidence.by_model(POINTS, **DEFAULT, opponent=SCRIPTS["rps"])
    return bool(means[[*ADVANCED]].min() > means.drop([*ADVANCED]).max()), listed(means)


def votes_raise_exploitation(evidence: Evidence) -> Result:
    value, low, high, n = mean_of(_votes(evidence, "default"), "gain")
    return low > 0, f"{value:+.1f} points ({low:+.1f} to {high:+.1f}, {n} pairs of cells)"


def _votes(
    evidence: Evidence, variant: str, opponents: tuple[str, ...] = PATTERNED, models: tuple[str, ...] = MODELS
) -> pd.DataFrame:
    table = evidence.cells(POINTS, game="rps", variant=variant, opponent=opponents, model=models).unstack("agent")
    return pd.concat([(table[f"sc-{style}"] - table[style]).rename("gain") for style in PLAIN]).reset_index()


def labels_make_the_cycle_win(evidence: Evidence) -> Result:
    means = evidence.by_model(POINTS, game="rps", variant="label", opponent="pp")
    held = (means < 0).sum() >= 3 and means[["C3.5Sv2", "L3.3-70B"]].max() < 0
    return bool(held), listed(means)


def adaptive_script_stays_exploitable(evidence: Evidence) -> Result:
    above = (evidence.cells(POINTS, game="rps", variant="label") > 0).groupby("opponent").mean()
    return (
        above.idxmax() == "ap",
        f"share of cells above 0: {listed(above.sort_values(ascending=False, kind='stable'), 2)}",
    )


def claude_37_leads_under_labels(evidence: Evidence) -> Result:
    means = evidence.by_model(POINTS, game="rps", variant="label", opponent=SCRIPTS["rps"])
    lead = ["C3.7S", "C3.7S(T)"]
    return bool(means[lead].min() > means.drop(lead).max()), listed(means)


def payoffs_disrupt_more_than_labels(evidence: Evidence) -> Result:
    rounds, below = (
        {
            name: evidence.cells(metric, game="rps", variant=name, opponent=PATTERNED)
            for name in ("default", "label", "payoff")
        }
        for metric in (M, POINTS)
    )
    late = {name: cells.mean() for name, cells in rounds.items()}
    lost = {name: (cells < 0).mean() for name, cells in below.items()}
    held = late["payoff"] > late["label"] and lost["payoff"] > lost["label"]
    return bool(held), f"mean m {listed(late)}; share of cells below 0 {listed(lost, 2)}"


def payoffs_make_patterns_pay(evidence: Evidence) -> Result:
    table = evidence.cells(POINTS, game="rps", variant="payoff").unstack("opponent")
    best = table.idxmax(axis=1).isin(["pp", "tft"])
    return most(best), f"{part(best, 'rows')}; highest cell {table.max().max():.1f}"


def equilibrium_script_gives_nothing_under_payoffs(evidence: Evidence) -> Result:
    where = {"game": "rps", "variant": "payoff", "opponent": "srep"}
    near = evidence.cells(POINTS, **where).abs() <= 7.2
    value, low, high, n = mean_of(evidence.rows(**where), POINTS)
    return most(near), f"{part(near)} within 7.2; mean {value:+.2f} ({low:+.2f} to {high:+.2f}, {n} matches)"


def claude_37_leads_under_joint(evidence: Evidence) -> Result:
    means = evidence.by_model(POINTS, game="rps", variant="joint", opponent=SCRIPTS["rps"])
    return means.idxmax() == "C3.7S", ranked(means)


def joint_breaks_weak_models(evidence: Evidence) -> Result:
    means = evidence.by_model(POINTS, game="rps", variant="joint", opponent="pp")
    return bool((means[["DS-R1", "L3.3-70B", "Mistral"]] < 0).all()), listed(means)


def votes_amplify_under_joint(evidence: Evidence) -> Result:
    others = tuple(name for name in MODELS if name not in ADVANCED)
    lifted = mean_of(_votes(evidence, "joint", ("pp", "tft"), ADVANCED), "gain")
    worse = mean_of(_votes(evidence, "joint", ("pp",), others), "gain")
    held = lifted[0] > 0 and worse[0] < 0
    return held, "; ".join(
        f"{name} {value:+.1f} ({low:+.1f} to {high:+.1f}, {n} pairs)"
        for name, (value, low, high, n) in (("Claude 3.7 and 4", lifted), ("others", worse))
    )


# D.7: comprehension


def patterns_are_read_at_once(evidence: Evidence) -> Result:
    models = (*ADVANCED, "L3.3-70B")
    early = within(evidence.cells(M, **DEFAULT, opponent=("pp", "tft"), model=models), 1, 2, 0)
    return most(early), part(early)


def labels_delay_rps(evidence: Evidence) -> Result:
    after, before = (evidence.cells(M, game="rps", variant=name).droplevel("variant") for name in ("label", "default"))
    value, low, high, n = mean_of((after - before).rename("rise").reset_index(), "rise")
    return low > 0, f"{value:+.2f} rounds ({low:+.2f} to {high:+.2f}, {n} cells)"


def labels_break_claude_35(evidence: Evidence) -> Result:
    where = {"game": "rps", "variant": "label", "model": "C3.5Sv2"}
    one = evidence.rows(**where, opponent="pp", agent="zs")[M]
    never = evidence.cells(M, **where, agent=[f"sc-{style}" for style in PLAIN]).eq(25)
    held = (round(one.mean(), 1), round(one.std(), 1)) == (21.6, 3.8) and never.sum() >= 3
    return bool(held), f"{one.mean():.1f} ± {one.std():.1f} (n {len(one)}); {part(never, 'SC cells')} at 25.0"


def payoffs_polarise(evidence: Evidence) -> Result:
    where = {"game": "rps", "variant": "payoff", "model": ADVANCED}
    early = within(evidence.cells(M, **where, opponent=("pp", "tft")), 1, 2, 0)
    late = evidence.cells(M, **where, opponent=("srep", *PEERS)) >= 20
    return most(early) and most(late), f"PP and TFT {part(early)} early; SREP and models {part(late)} late"
