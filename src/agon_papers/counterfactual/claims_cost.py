# ruff: noqa: D103 - what each function decides is said in counterfactual_claims.toml, under its name
"""The paper's statements on efficiency and valid answers (sections 7.1, 7.2, D.4, D.5, D.8, D.9 and Table 25)."""

import pandas as pd

from agon_papers.counterfactual.evidence import (
    CLAUDE_4,
    EFFICIENCY,
    MODELS,
    PEERS,
    PLAIN,
    STRONG,
    Evidence,
    Pairs,
    Result,
    every,
    listed,
    most,
    paired,
    part,
    ranked,
    rounded,
    span,
)


def srep_is_most_efficient(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        rows = evidence.rows(game="pd", variant="default")
        means = rows.groupby(rows.opponent.where(~rows.opponent.isin(PEERS), "models"))[metric].mean()
        return means.idxmax() == "srep", ranked(means, 2)

    return every(EFFICIENCY, read)


def few_void_rounds(evidence: Evidence) -> Result:
    void = 100 - evidence.by_model("validity_rate", game="pd")
    return bool((void < 1).all()), f"void rounds in percent: {listed(void, 2)}"


def void_rounds_change_nothing(evidence: Evidence) -> Result:
    rows = evidence.rows(game="pd")
    keys = ["variant", "model", "agent", "opponent"]
    whole = rows.groupby(keys).total_points.mean()
    moved = (rows[rows.validity_rate == 100].groupby(keys).total_points.mean() - whole).dropna()
    far = moved.abs() > 1
    if not far.any():
        return True, f"{part(far)} move by more than a point"
    at = moved.abs().idxmax()
    return False, (
        f"{part(far)} move by more than a point ({listed(far[far].groupby('model').size(), 0)}); "
        f"most {' '.join(at)}: {whole[at]:.1f} to {whole[at] + moved[at]:.1f}"
    )


def cycle_is_efficient(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        rows = evidence.rows(game="rps", variant="default", opponent=("pp", "ap", "srep"))
        table = rows.groupby(["model", "opponent"])[metric].mean().unstack()
        above = table.pp > table[["ap", "srep"]].max(axis=1)
        return bool(above.all()), f"{part(above, 'models')}; means {listed(table.mean(), 2)}"

    return every(EFFICIENCY, read)


def efficiency_is_below_pd(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        rps, other = (evidence.by_model(metric, game=game, variant="default") for game in ("rps", "pd"))
        return bool((rps < other).all()), f"RPS {span(rps, 2)}, PD {span(other, 2)}"

    return every(EFFICIENCY, read)


def payoffs_lower_efficiency(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        before, after = (evidence.by_model(metric, game="rps", variant=name) for name in ("default", "payoff"))
        return most(after < before), f"lower in {part(after < before, 'models')}"

    return every(EFFICIENCY, read)


def llama_is_most_efficient(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        means = {name: evidence.by_model(metric, game="pd", variant=name) for name in ("payoff", "joint")}
        best = all(values.idxmax() == "L3.3-70B" for values in means.values())
        return best, "; ".join(f"{name}: {listed(values.nlargest(3), 2)}" for name, values in means.items())

    return every(EFFICIENCY, read)


def zero_shot_is_most_efficient(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        table = evidence.rows(game="pd").groupby(["model", "variant", "agent"])[metric].mean().unstack()
        best = table.idxmax(axis=1).eq("zs")
        lower = pd.concat([table[f"sc-{style}"] < table[style] for style in PLAIN])
        return most(best) and most(
            lower
        ), f"zero-shot best in {part(best, 'pairs')}, SC lower in {part(lower, 'pairs')}"

    return every(EFFICIENCY, read)


def claude_4_is_least_efficient(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        means = evidence.rows(game="pd").groupby(["variant", "model"])[metric].mean().unstack()
        below = means[[*CLAUDE_4]].max(axis=1) < means[[*STRONG]].min(axis=1)
        return bool(below.all()), f"{part(below, 'variants')}; overall {listed(means.mean(), 2)}"

    return every(EFFICIENCY, read)


def efficient_models_are_terse(evidence: Evidence) -> Result:
    means = evidence.by_model("tokens", game="pd") / 1000
    few = means[["DS-R1", "Mistral"]] < means.median()
    return bool(few.all()), f"thousand tokens per match: {listed(means)}; median {means.median():.1f}"


def mistral_has_low_efficiency(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        ranks = {
            game: int(evidence.by_model(metric, game=game).rank(ascending=False)["Mistral"]) for game in ("pd", "rps")
        }
        return min(ranks.values()) > len(MODELS) / 2, f"rank among 8: {', '.join(f'{g} {r}' for g, r in ranks.items())}"

    return every(EFFICIENCY, read)


def pd_validity(evidence: Evidence, printed: Pairs) -> Result:
    found = rounded(evidence.rows(game="pd"), "model", "validity_rate")
    return found == {name: printed.get(name, [100.0, 0.0]) for name in MODELS}, paired(found, printed)


def payoffs_are_most_efficient(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        table = evidence.rows(game="rps").groupby(["model", "variant"])[metric].mean().unstack()
        best = table.idxmax(axis=1).eq("payoff")
        return int(best.sum()) >= 7, f"{part(best, 'models')}; means {listed(table.mean(), 2)}"

    return every(EFFICIENCY, read)


def labels_lower_efficiency(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        table = evidence.rows(game="rps").groupby(["model", "variant"])[metric].mean().unstack()
        lower = {name: table[name] < table["default"] for name in ("label", "joint")}
        return all(map(most, lower.values())), ", ".join(
            f"{name} {part(mask, 'models')}" for name, mask in lower.items()
        )

    return every(EFFICIENCY, read)


def thinking_claude_37_is_most_efficient(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        overall, payoff = evidence.by_model(metric, game="rps"), evidence.by_model(metric, game="rps", variant="payoff")
        held = overall.idxmax() == payoff.idxmax() == "C3.7S(T)"
        return held, f"all {listed(overall.nlargest(3), 2)}, payoff {listed(payoff.nlargest(3), 2)}"

    return every(EFFICIENCY, read)


def votes_lower_efficiency(evidence: Evidence) -> Result:
    def read(metric: str) -> Result:
        table = evidence.rows(game="rps").groupby(["model", "variant", "agent"])[metric].mean().unstack()
        lower = pd.concat([table[f"sc-{style}"] < table[style] for style in PLAIN])
        return most(lower), part(lower, "pairs")

    return every(EFFICIENCY, read)


def rps_validity(evidence: Evidence, printed: Pairs) -> Result:
    rows = evidence.rows(game="rps")
    whole, part_of = (rounded(found, "model", "validity_rate") for found in (rows, rows[rows.opponent != "ap"]))
    held = whole == {name: printed.get(name, [100.0, 0.0]) for name in MODELS}
    return held, f"all matches: {paired(whole, printed)}; without AP: {paired(part_of, printed)}"
