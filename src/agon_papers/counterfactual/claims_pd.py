# ruff: noqa: D103 - what each function decides is said in counterfactual_claims.toml, under its name
"""The paper's statements on the prisoner's dilemma and its counterfactuals (sections 7.1, 7.1.1, D.1 to D.5)."""

import pandas as pd

from agon_papers.counterfactual.evidence import (
    COMPREHENSION,
    MODELS,
    PEERS,
    PLAIN,
    SCRIPTS,
    STRONG,
    THINKING,
    VOTED,
    WARY,
    Evidence,
    Result,
    every,
    intervals,
    listed,
    mean_of,
    most,
    part,
    recaptioned,
    span,
    within,
)

DEFAULT = {"game": "pd", "variant": "default"}

# 7.1: default


def near_mutual_defection(evidence: Evidence) -> Result:
    means = evidence.by_model("total_points", **DEFAULT, opponent="srep")
    near = means.between(28, 32)
    return most(near), f"{part(near, 'models')}: {listed(means)}"


def mistral_against_srep(evidence: Evidence) -> Result:
    means = evidence.by_model("total_points", **DEFAULT, opponent="srep")
    cells = evidence.cells("total_points", **DEFAULT, opponent="srep", model="Mistral")
    spans = round(cells.min(), 1) == 18.6 and round(cells.max(), 1) == 29.8
    return means.idxmin() == "Mistral" and spans, f"{span(cells)} over {len(cells)} styles; means {listed(means)}"


def mistral_without_void_rounds(evidence: Evidence) -> Result:
    rows = evidence.rows(**DEFAULT, opponent="srep")
    clean = rows[rows.validity_rate == 100].groupby(["model", "agent"]).total_points.mean()
    whole = rows.groupby(["model", "agent"]).total_points.mean()
    worst = whole["Mistral"].idxmin()
    kept = clean.get(("Mistral", worst), float("nan"))
    others = clean.drop("Mistral", level="model").min()
    return bool(kept == clean.min() and kept < others), (
        f"{worst}: {whole['Mistral', worst]:.1f} with and {kept:.1f} without matches with void rounds; "
        f"lowest cell of the other models {others:.1f}"
    )


def alternating_script_pays(evidence: Evidence) -> Result:
    cells = evidence.cells("total_points", **DEFAULT, opponent="pp")
    inside = cells.between(53.5, 63.5)
    return most(inside), f"{part(inside)}; all {span(cells)}"


def peers_cooperate(evidence: Evidence) -> Result:
    means = evidence.by_model("total_points", **DEFAULT, opponent=PEERS) / 16
    near = means >= 3.8
    return most(near), f"{part(near, 'models')}: {listed(means, 2)}"


def strong_models_cooperate_fully(evidence: Evidence) -> Result:
    where = {**DEFAULT, "opponent": PEERS, "model": STRONG}
    exact = evidence.cells("total_points", **where).eq(64) & evidence.spreads("total_points", **where).eq(0)
    return bool(exact.all()), f"{part(exact)} at 64.0 ± 0.0"


def wary_models_score_less(evidence: Evidence) -> Result:
    cells = evidence.cells("total_points", **DEFAULT, opponent=PEERS, model=WARY)
    inside = within(cells, 31.4, 49.4)
    return bool(inside.all()), f"{span(cells)}; {part(inside)} inside"


def thinking_does_not_help(evidence: Evidence) -> Result:
    gaps = _thinking_gaps(evidence, "total_points", variant="default", opponent=PEERS)
    return bool((gaps.low <= 0).all()), f"thinking minus plain, points: {intervals(gaps)}"


def _thinking_gaps(evidence: Evidence, metric: str, **wanted: str | tuple[str, ...]) -> pd.DataFrame:
    rows = evidence.rows(game="pd", model=[*THINKING, *THINKING.values()], **wanted)
    cells = rows.groupby(["model", "agent", "opponent"])[metric].mean()
    found = [
        mean_of((cells[twin] - cells[plain]).rename("gap").reset_index(), "gap") for plain, twin in THINKING.items()
    ]
    return pd.DataFrame(found, index=list(THINKING), columns=["value", "low", "high", "n"])


def srep_is_understood_early(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        means = evidence.by_model(metric, **DEFAULT, opponent="srep")
        return most(means <= 4), listed(means)

    return every(COMPREHENSION, read)


def wary_models_start_right(evidence: Evidence) -> Result:
    rows = evidence.rows(**DEFAULT, opponent="srep", model=WARY)
    shares = rows.opponent_comprehension_as_done.eq(1).groupby(rows.model).mean()
    return bool((shares > 0.5).all()), f"share of matches with m = 1: {listed(shares, 2)}"


def mistral_never_understands(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        never = evidence.rows(**DEFAULT, opponent="srep", model="Mistral")[metric] > 16
        return bool(never.any()), part(never, "matches")

    return every(COMPREHENSION, read)


def alternation_is_hardest(evidence: Evidence) -> Result:
    means = _by_script(evidence, COMPREHENSION["as done"], "default")
    latest = means.idxmax(axis=1).eq("pp")
    return most(latest), f"{part(latest, 'models')}; means over models {listed(means.mean())}"


def _by_script(evidence: Evidence, metric: str, variant: str, models: tuple[str, ...] = MODELS) -> pd.DataFrame:
    rows = evidence.rows(game="pd", variant=variant, opponent=SCRIPTS["pd"], model=models)
    return rows.groupby(["model", "opponent"])[metric].mean().unstack()


def wary_models_vary_in_comprehension(evidence: Evidence) -> Result:
    where = {**DEFAULT, "opponent": PEERS, "model": (*WARY, *STRONG)}
    spread = evidence.spreads(COMPREHENSION["as done"], **where).groupby("model").mean()
    held = spread[[*WARY]].min() > spread[[*STRONG]].max() and spread["C4S"] > spread["C4S(T)"]
    return bool(held), f"mean standard deviation of m: {listed(spread, 2)}"


def little_cooperation_with_srep(evidence: Evidence) -> Result:
    cells = evidence.cells("cooperation_rate", **DEFAULT, opponent="srep")
    near = within(cells, 0.1, 0.1)
    means = evidence.by_model("cooperation_rate", **DEFAULT, opponent="srep")
    return most(near), f"{part(near)} round to 0.1; means {listed(means, 2)}"


def some_cooperation_with_pp(evidence: Evidence) -> Result:
    cells = evidence.cells("cooperation_rate", **DEFAULT, opponent="pp")
    inside = within(cells, 0.3, 0.5)
    return most(inside), f"{part(inside)}; {part(cells < 0.25)} below"


def little_cooperation_with_repliers(evidence: Evidence) -> Result:
    inside = within(evidence.cells("cooperation_rate", **DEFAULT, opponent=("mf", "tft")), 0.1, 0.2)
    return most(inside), part(inside)


def wary_models_defect(evidence: Evidence) -> Result:
    means = evidence.by_model("cooperation_rate", **DEFAULT, opponent=PEERS, model=WARY)
    return bool(within(means, 0, 0.1).all()), listed(means, 2)


# 7.1.1 and D.1: total points in the counterfactuals


def labels_leave_strong_models(evidence: Evidence, variant: str) -> Result:
    changes = evidence.changes("total_points", variant, game="pd", opponent=PEERS, model=STRONG)
    return bool((changes.value.abs() <= 0.05 * 64).all()), intervals(changes)


def labels_unsettle_mistral(evidence: Evidence, variant: str) -> Result:
    where = {"game": "pd", "opponent": PEERS, "model": "Mistral"}
    points, rounds = (
        [evidence.by_model(metric, variant=name, **where).iloc[0] for name in ("default", variant)]
        for metric in ("total_points", COMPREHENSION["as done"])
    )
    spread = [evidence.spreads("total_points", variant=name, **where).mean() for name in ("default", variant)]
    held = points[1] < points[0] and rounds[1] > rounds[0] and spread[1] > spread[0]
    names = ("points", "m", "spread")
    pairs = zip(names, (points, rounds, spread), strict=True)
    return bool(held), ", ".join(f"{name} {old:.1f} to {new:.1f}" for name, (old, new) in pairs)


def payoffs_bring_cooperation(evidence: Evidence, variant: str) -> Result:
    means = evidence.by_model("total_points", game="pd", variant=variant, opponent=PEERS)
    near = means >= 0.9 * 96
    return bool(near.mean() >= 0.5), f"{part(near, 'models')}: {listed(means)}"


def wary_models_stay_cautious(evidence: Evidence, variant: str) -> Result:
    means = evidence.by_model("cooperation_rate", game="pd", variant=variant, opponent=PEERS)
    return bool(means[[*WARY]].max() < means[[*STRONG]].min()), listed(means, 2)


def payoffs_separate_more_than_labels(evidence: Evidence) -> Result:
    metrics = {"cooperation": "cooperation_rate", "m": COMPREHENSION["as done"], "points": "total_points"}

    def spread(variant: str) -> pd.Series:
        found = {
            name: evidence.by_model(metric, game="pd", variant=variant, opponent=PEERS).std()
            for name, metric in metrics.items()
        }
        return pd.Series(found | {"points": found["points"] / _mutual(evidence, variant)})

    def compare(label: str, payoff: str) -> Result:
        low, high = spread(label), spread(payoff)
        return most(high > low), f"label {listed(low, 2)}; payoff {listed(high, 2)}"

    return recaptioned(evidence, {"label": 10, "payoff": 11}, compare)


def _mutual(evidence: Evidence, variant: str) -> float:
    """Points of mutual cooperation over the match."""
    return float(evidence.matrix("pd", variant).iloc[0, 0] * 16)


def labels_keep_the_maximum(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells("total_points", game="pd", variant=variant, opponent=PEERS, model=STRONG)
    top, mutual = within(cells, 96, 96), _mutual(evidence, variant)
    full = within(cells, mutual, mutual)
    return most(top), f"{part(top)} at 96.0, {part(full)} at the {mutual:.0f} of mutual cooperation"


def labels_hurt_wary_models(evidence: Evidence, variant: str) -> Result:
    changes = evidence.changes("total_points", variant, game="pd", opponent=PEERS, model=WARY)
    return bool((changes.high < 0).all()), intervals(changes)


def labels_leave_mf_exploitable(evidence: Evidence, variant: str) -> Result:
    means = _by_script(evidence, "total_points", variant)
    best = means.idxmax(axis=1).eq("mf")
    return most(best), f"{part(best, 'models')}; means over models {listed(means.mean())}"


def labels_unsettle_play_with_tft(evidence: Evidence, variant: str) -> Result:
    spreads = evidence.spreads("total_points", game="pd", variant=variant, opponent=SCRIPTS["pd"])
    means = spreads.groupby("opponent").mean()
    return bool(means.idxmax() == "tft" and means["tft"] > 10), f"mean standard deviations {listed(means)}"


def mistral_is_least_consistent_under_labels(evidence: Evidence, variant: str) -> Result:
    means = evidence.spreads("total_points", game="pd", variant=variant).groupby("model").mean()
    return (
        means.idxmax() == "Mistral",
        f"mean standard deviations {listed(means.sort_values(ascending=False, kind='stable'))}",
    )


def mistral_is_least_consistent_under_payoffs(evidence: Evidence, variant: str) -> Result:
    return mistral_is_least_consistent_under_labels(evidence, variant)


def payoffs_reach_the_maximum(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells("total_points", game="pd", variant=variant, opponent=PEERS, model=STRONG)
    top = within(cells, 96, 96)
    return bool(top.mean() >= 0.9), f"{part(top)} at 96.0"


def deepseek_stays_low(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells("total_points", game="pd", variant=variant, model="DS-R1")
    inside, high = within(cells, 30, 50), cells >= 90
    return bool(most(inside) and high.mean() < 0.1), f"{part(inside)} inside, {part(high)} at 90 or more"


def repliers_pay_in_stag_hunt(evidence: Evidence, variant: str) -> Result:
    high = evidence.cells("total_points", game="pd", variant=variant, model=STRONG, opponent=("mf", "tft")) >= 89.5
    mf, tft = (high.xs(name, level="opponent") for name in ("mf", "tft"))
    return most(mf) and bool(tft.any()), f"MF {part(mf)}, TFT {part(tft)}"


def srep_and_pp_pay_less(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells("total_points", game="pd", variant=variant, opponent=("srep", "pp"))
    inside = within(cells, 40, 59.9)
    return most(inside), f"{part(inside)}; {span(cells)}"


def joint_stays_at_64(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells("total_points", game="pd", variant=variant, opponent=PEERS, model=STRONG)
    at = within(cells, 64, 64)
    return most(at), f"{part(at)} at 64.0, {part(within(cells, 96, 96))} at 96.0"


def joint_is_hardest_in_pd(evidence: Evidence) -> Result:
    def compare(label: str, payoff: str, joint: str) -> Result:
        shares = {}
        for name, variant in (("label", label), ("payoff", payoff), ("joint", joint)):
            cells = evidence.cells("total_points", game="pd", variant=variant, opponent=PEERS, model=STRONG)
            mutual = _mutual(evidence, variant)
            shares[name] = float(within(cells, mutual, mutual).mean())
        return shares["joint"] < min(shares["label"], shares["payoff"]), listed(shares, 2)

    return recaptioned(evidence, {"label": 2, "payoff": 3, "joint": 4}, compare)


def joint_keeps_wary_models_low(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells("total_points", game="pd", variant=variant, opponent=PEERS, model=WARY)
    inside = within(cells, 30, 49.9)
    return most(inside), f"{part(inside)}; {span(cells)}"


def joint_keeps_pp_exploitable(evidence: Evidence, variant: str) -> Result:
    means, base = (_by_script(evidence, "total_points", name) for name in (variant, "default"))
    best, moved = means.idxmax(axis=1).eq("pp"), (means.mean() - base.mean())[["srep", "mf", "tft"]]
    held = most(best) and bool((moved.abs() <= 5).all())
    return held, f"PP best for {part(best, 'models')}; moved {listed(moved)}"


# 7.1.1 and D.2: comprehension


def strong_models_understand_at_once(evidence: Evidence) -> Result:
    where = {**DEFAULT, "opponent": PEERS, "model": STRONG}
    name = COMPREHENSION["as done"]
    exact = evidence.cells(name, **where).eq(1) & evidence.spreads(name, **where).eq(0)
    return bool(exact.mean() >= 0.95), part(exact)


def pp_takes_half_the_game(evidence: Evidence) -> Result:
    cells = evidence.cells(COMPREHENSION["as done"], **DEFAULT, opponent="pp", model=STRONG)
    inside = within(cells, 8, 15, digits=0)
    return most(inside), f"{part(inside)}; {span(cells)}"


def mistral_near_horizon(evidence: Evidence) -> Result:
    cells = evidence.cells(COMPREHENSION["as done"], **DEFAULT, opponent=("srep", "mf", "tft"), model="Mistral")
    late = cells >= 15.5
    return int(late.sum()) >= 3, f"{part(late)}; {span(cells)}"


def votes_settle_thinking_claude_4(evidence: Evidence) -> Result:
    cells = evidence.cells(COMPREHENSION["as done"], **DEFAULT, agent=VOTED, model="C4S(T)")
    return most(cells.eq(1)), f"{part(cells.eq(1))}; without: " + part(
        evidence.cells(COMPREHENSION["as done"], **DEFAULT, agent=PLAIN, model="C4S(T)").eq(1)
    )


def labels_delay_comprehension(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells(COMPREHENSION["as done"], game="pd", variant=variant, opponent=("srep", "pp"), model=STRONG)
    return most(cells >= 13.5), f"{part(cells >= 13.5)}; means {listed(cells.groupby('opponent').mean())}"


def labels_leave_mf_readable(evidence: Evidence, variant: str) -> Result:
    means = evidence.by_model(COMPREHENSION["as done"], game="pd", variant=variant, opponent="mf")
    spreads = evidence.spreads(COMPREHENSION["as done"], game="pd", variant=variant, opponent=("mf", "tft"))
    spread = spreads.groupby("opponent").mean()
    early = within(means, 0, 3)
    held = early.mean() >= 0.5 and spread["tft"] >= 2 * spread["mf"]
    return bool(held), f"{part(early, 'models')} by round 3; mean spreads {listed(spread)}"


def payoffs_delay_comprehension(evidence: Evidence, variant: str) -> Result:
    def late(metric: str) -> Result:
        cells = evidence.cells(metric, game="pd", variant=variant, opponent="srep", model=STRONG)
        return most(cells >= 13.5), f"{part(cells >= 13.5)}, mean {cells.mean():.1f}"

    return every(COMPREHENSION, late)


def payoffs_leave_mf_easiest(evidence: Evidence, variant: str) -> Result:
    means = _by_script(evidence, COMPREHENSION["as done"], variant, STRONG)
    easy = means.idxmin(axis=1).eq("mf") & within(means.mf, 0, 3, digits=0)
    return most(easy), f"{part(easy, 'models')}; means {listed(means.mean())}"


def joint_is_read_early(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells(
        COMPREHENSION["as done"], game="pd", variant=variant, opponent=("srep", "mf", "tft"), model=WARY
    )
    early = within(cells, 1, 2, digits=0)
    return most(early), f"{part(early)}; means {listed(cells.groupby('opponent').mean())}"


def joint_disturbs_less(evidence: Evidence) -> Result:
    def compare(joint: str, payoff: str) -> Result:
        where = {"game": "pd", "opponent": SCRIPTS["pd"], "model": STRONG}
        after, before = (evidence.cells(COMPREHENSION["as done"], variant=name, **where) for name in (joint, payoff))
        gaps = (after.droplevel("variant") - before.droplevel("variant")).rename("gap").reset_index()
        value, low, high, n = mean_of(gaps, "gap")
        return high < 0, f"m {value:+.1f} ({low:+.1f} to {high:+.1f}, {n} cells)"

    return recaptioned(evidence, {"joint": 8, "payoff": 7}, compare)


# D.3: cooperation


def mistral_cooperates_with_scripts(evidence: Evidence) -> Result:
    where = {**DEFAULT, "opponent": SCRIPTS["pd"]}
    inside = within(evidence.cells("cooperation_rate", **where, model="Mistral"), 0.4, 0.8)
    means = evidence.by_model("cooperation_rate", **where)
    return bool(inside.sum() >= 3 and means.idxmax() == "Mistral"), f"{part(inside)}; means {listed(means, 2)}"


def labels_lift_cooperation_with_mf(evidence: Evidence, variant: str) -> Result:
    cells = evidence.cells("cooperation_rate", game="pd", variant=variant, opponent="mf", model=(*STRONG, "Mistral"))
    return most(within(cells, 0.9, 1)), f"{part(within(cells, 0.9, 1))}, mean {cells.mean():.2f}"


def labels_lift_cooperation_with_scripts(evidence: Evidence, variant: str) -> Result:
    changes = evidence.changes("cooperation_rate", variant, game="pd", opponent=SCRIPTS["pd"])
    return most(changes.low > 0), f"{part(changes.low > 0, 'models')} rise: {intervals(changes, 2)}"


def labels_make_mistral_kinder(evidence: Evidence, variant: str) -> Result:
    changes = evidence.changes("cooperation_rate", variant, game="pd", opponent=PEERS, model="Mistral")
    return bool(changes.value.iloc[0] > 0), intervals(changes, 2)


def payoffs_lift_cooperation(evidence: Evidence, variant: str) -> Result:
    changes = evidence.changes("cooperation_rate", variant, game="pd", opponent=SCRIPTS["pd"])
    return most(changes.low > 0), f"{part(changes.low > 0, 'models')} rise: {intervals(changes, 2)}"


def joint_resembles_default(evidence: Evidence) -> Result:
    def compare(joint: str, payoff: str) -> Result:
        rates = {
            name: evidence.rows(
                game="pd", variant=variant, opponent=SCRIPTS["pd"], model=STRONG
            ).cooperation_rate.mean()
            for name, variant in (("default", "default"), ("payoff", payoff), ("joint", joint))
        }
        return abs(rates["joint"] - rates["default"]) < abs(rates["joint"] - rates["payoff"]), listed(rates, 2)

    return recaptioned(evidence, {"joint": 12, "payoff": 11}, compare)
