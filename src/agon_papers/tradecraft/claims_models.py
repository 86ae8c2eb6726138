# ruff: noqa: D103 - what each function decides is said in tradecraft_claims.toml, under its name
"""The paper's statements on the three models (sections 4.1 and 4.2, Figures 4 a to c and j, 5 a, Table 2)."""

import pandas as pd

from agon_papers.statements import Missing
from agon_papers.tradecraft.evidence import Evidence, Result, chance, extreme, spoken
from agon_papers.tradecraft.facts import DIMENSIONS, MODELS

LEVEL = 0.05


def claude_leads(evidence: Evidence) -> Result:
    own, other = {"group": "claude"}, {"against": "claude"}
    decided = {name: evidence.compared(name, own, other) for name in DIMENSIONS}
    clear = [text for held, text in decided.values() if held]
    higher = sum(held is not False for held, _ in decided.values())
    text = f"higher than its opponents in both passes: {higher} of {len(decided)} dimensions, beyond chance in {len(clear)}"
    return len(clear) >= 2, "; ".join([text, *clear])


def claude_is_uniform(evidence: Evidence) -> Result:
    spreads = _spreads(evidence)
    return bool((spreads.idxmin(axis=1) == "claude").all()), "; ".join(
        f"pass {run}: " + ", ".join(f"{name} {value:.3f}" for name, value in row.items())
        for run, row in spreads.iterrows()
    )


def _spreads(evidence: Evidence) -> pd.DataFrame:
    """Standard deviation over the eight dimensions of each model's means, by pass."""
    rows = {}
    for run in (2, 1):
        means = evidence.scores(run).groupby(["group", "dimension"]).score.mean().unstack()
        rows[run] = means.loc[list(MODELS)].std(axis=1, ddof=1)
    return pd.DataFrame(rows).T


def gpt_cooperates_least(evidence: Evidence) -> Result:
    return evidence.against_rest("cooperation", "gpt-4o", -1)


def gpt_conceals_most(evidence: Evidence) -> Result:
    return evidence.against_rest("intention_concealment", "gpt-4o")


def gemini_persuades_least(evidence: Evidence) -> Result:
    return evidence.against_rest("persuasion", "gemini", -1)


def gemini_conceals_least(evidence: Evidence) -> Result:
    return evidence.against_rest("intention_concealment", "gemini", -1)


def gemini_cooperates_less_with_claude(evidence: Evidence) -> Result:
    one, other = ({"matchup": matchup, "name": "gemini"} for matchup in ("ge_vs_4o", "ge_vs_cl"))
    return evidence.compared("cooperation", one, other)


def gpt_conceals_less_from_claude(evidence: Evidence) -> Result:
    one, other = ({"matchup": matchup, "name": "gpt-4o"} for matchup in ("ge_vs_4o", "4o_vs_cl"))
    return evidence.compared("intention_concealment", one, other)


def gpt_is_most_invalid(evidence: Evidence) -> Result:
    text = f"refused calls per turn: {evidence.rated('refusals', MODELS)}; all craft checks per turn: {evidence.rated('checks', MODELS)}"
    return extreme(evidence, "refusals", "gpt-4o", -1), text


def gpt_rejects_nearly_all(evidence: Evidence) -> Result:
    share = evidence.rates.loc["gpt-4o", "rejection"]
    said = evidence.facts.said("rejected")
    return bool(
        100 * share.low <= said <= 100 * share.high
    ), f"{evidence.rated('rejection', ['gpt-4o'])} of {share.n:.0f} proposals"


def gpt_rejections_are_choices(evidence: Evidence) -> Result:
    own = evidence.counted[evidence.counted.group == "gpt-4o"]
    defaults, rejected, chosen = int(own.defaults.sum()), int(own.rejected.sum()), int(own.chosen.sum())
    text = f"{defaults} of {rejected} rejections are step-limit defaults; of its {chosen} own decisions {own.chosen_reject.sum()} reject"
    return defaults * 2 < rejected, f"{text}; {evidence.rated('chosen', MODELS)}"


def gemini_accepts(evidence: Evidence) -> Result:
    text = evidence.rated("rejection", MODELS)
    return extreme(evidence, "rejection", "gemini"), f"rejected: {text}"


def gpt_is_quick(evidence: Evidence) -> Result:
    return extreme(evidence, "turns", "gpt-4o"), f"turns per game: {evidence.rated('turns', MODELS, 1)}"


def claude_is_slow(evidence: Evidence) -> Result:
    games = evidence.whole.players.drop_duplicates("match")
    by_pair = games.assign(length=games.turns.where(~games.cut.astype(bool), 15)).groupby("matchup").length.mean()
    pairs = ", ".join(f"{name} {by_pair[name]:.1f}" for name in ("ge_vs_4o", "4o_vs_cl", "ge_vs_cl"))
    text = f"turns per game: {evidence.rated('turns', MODELS, 1)}; by pair {pairs}"
    return extreme(evidence, "turns", "claude", -1), text


def gpt_and_claude_are_even(evidence: Evidence) -> Result:
    head = evidence.head("gpt-4o", "claude")
    printed = evidence.facts.said("gpt-4o_claude"), evidence.facts.said("claude_gpt-4o")
    return head[:2] == printed, spoken(head, "gpt-4o", "claude")


def gpt_beats_gemini(evidence: Evidence) -> Result:
    head = evidence.head("gpt-4o", "gemini")
    keys = ("gpt-4o_gemini", "gemini_gpt-4o", "gpt-4o_gemini_both", "gpt-4o_gemini_neither")
    return head == tuple(evidence.facts.said(key) for key in keys), spoken(head, "gpt-4o", "gemini")


def gpt_exploits_gemini(evidence: Evidence) -> Result:
    head = evidence.head("gpt-4o", "gemini")
    p = chance(*head[:2])
    return (
        True if p < LEVEL else None
    ), f"{spoken(head, 'gpt-4o', 'gemini')}; an even chance gives such a split with p = {p:.2f}"


def claude_beats_gemini(evidence: Evidence) -> Result:
    head = evidence.head("claude", "gemini")
    printed = evidence.facts.said("claude_gemini"), evidence.facts.said("gemini_claude")
    return head[:2] == printed, spoken(head, "claude", "gemini")


def claude_and_gemini_both_lose(evidence: Evidence) -> Result:
    head = evidence.head("claude", "gemini")
    table = evidence.whole.players
    lost = table[(table.matchup == "ge_vs_cl") & ~table.groupby("match").won.transform("any")].drop_duplicates("match")
    text = f"{spoken(head, 'claude', 'gemini')}; {int(lost.cut.sum())} of the {len(lost)} ran into the turn limit"
    return head[3] == evidence.facts.said("claude_gemini_neither"), text


def gemini_dominates_nobody(evidence: Evidence) -> Result:
    heads = {other: evidence.head("gemini", other) for other in ("gpt-4o", "claude")}
    return all(head[0] <= head[1] for head in heads.values()), "; ".join(
        spoken(head, "gemini", other) for other, head in heads.items()
    )


def first_order_is_strong(evidence: Evidence) -> Result:
    raise Missing(
        "no judgement of theory of mind is in the records, and the assessor's prompt for it is printed in part only"
    )


def first_order_ranks_the_models(evidence: Evidence) -> Result:
    logged = evidence.counted.groupby("group").logged.sum()
    texts = []
    for name in MODELS:
        printed, n = evidence.facts.said(f"tom_{name}"), int(logged[name])
        fits = any(round(k / n, 3) == printed for k in range(n + 1))
        texts.append(f"{name} {printed:.3f} is {'a' if fits else 'no'} count over its {n} logged turns")
    return None, "; ".join(texts)


def no_second_order(evidence: Evidence) -> Result:
    raise Missing("no judgement of theory of mind is in the records, nor are the players' thoughts")
