# ruff: noqa: D103 - what each function decides is said in tradecraft_claims.toml, under its name
"""The paper's statements on social preferences, and on what goes with success (sections 4.3 and 4.4, Figures 4 d to i and k, 5 b, 6)."""

import numpy as np

from agon_papers.tradecraft.cells import persona_games
from agon_papers.tradecraft.evidence import Evidence, Result, chance, extreme, joined, spoken
from agon_papers.tradecraft.facts import DIMENSIONS, PANELS, PERSONAS, group_of

LEVEL = 0.05

LITTLE, NOTABLE = 0.10, 0.15
"""Below the one a relative difference of scores is little, from the other on it is notable: ours, as the paper gives no bounds."""

STRATEGIC = ("goal_alignment", "strategic_planning", "information_utilization")


def same_persona_is_consistent(evidence: Evidence) -> Result:
    apart: dict[bool, list[float]] = {True: [], False: []}
    means = evidence.scores(2).groupby(["name", "matchup", "dimension"]).score.mean()
    pairs = [pair for panel, pair in PANELS.items() if panel in "defghi"]
    for one, other in pairs:
        matchups = {matchup for name, matchup, _ in means.index if name == one}
        matchups &= {matchup for name, matchup, _ in means.index if name == other}
        for matchup in matchups:
            apart[group_of(one) == group_of(other)] += list((means[one, matchup] - means[other, matchup]).abs())
    same, mixed = (float(np.mean(apart[kind])) for kind in (True, False))
    return (
        same < mixed,
        f"mean difference between the two players: {same:.3f} with the same preference, {mixed:.3f} with different ones",
    )


def competitive_conceals(evidence: Evidence) -> Result:
    return evidence.against_rest("intention_concealment", "competitive")


def competitive_is_self_interested(evidence: Evidence) -> Result:
    return evidence.against_rest("self_interested_behavior", "competitive")


def cooperative_cooperates(evidence: Evidence) -> Result:
    return evidence.against_rest("cooperation", "cooperative")


def cooperative_aligns(evidence: Evidence) -> Result:
    return evidence.against_rest("goal_alignment", "cooperative")


def cooperative_plans(evidence: Evidence) -> Result:
    return evidence.against_rest("strategic_planning", "cooperative")


def cooperative_adapts(evidence: Evidence) -> Result:
    return evidence.against_rest("adaptability", "cooperative")


def cooperative_uses_information(evidence: Evidence) -> Result:
    return evidence.against_rest("information_utilization", "cooperative")


def cooperative_is_least_invalid(evidence: Evidence) -> Result:
    refusals, checks = (evidence.rated(measure, PERSONAS) for measure in ("refusals", "checks"))
    text = f"refused calls per turn: {refusals}; all craft checks per turn: {checks}"
    return extreme(evidence, "refusals", "cooperative"), text


def cooperative_accepts(evidence: Evidence) -> Result:
    return extreme(evidence, "rejection", "cooperative"), f"rejected: {evidence.rated('rejection', PERSONAS)}"


def same_persona_is_even(evidence: Evidence) -> Result:
    rows = evidence.heads[[group_of(row.one) == group_of(row.other) for row in evidence.heads.itertuples()]]
    texts = [f"{group_of(row.one)} {row.only_one} to {row.only_other}" for row in rows.itertuples()]
    return bool(((rows.only_one - rows.only_other).abs() <= 1).all()), ", ".join(texts)


def cooperative_wins_most(evidence: Evidence) -> Result:
    players = evidence.whole.players
    mixed = (
        players[players.matchup.isin(["com_vs_coo", "com_vs_un", "un_vs_coo"])]
        .groupby("group")
        .won.agg(["sum", "size"])
    )
    every = players[players.group.isin(PERSONAS)].groupby("group").won.agg(["sum", "size"])
    texts = [
        ", ".join(f"{name} {row['sum']} of {row['size']}" for name, row in table.iterrows()) for table in (mixed, every)
    ]
    return mixed["sum"].idxmax() == "cooperative", f"between preferences: {texts[0]}; all games: {texts[1]}"


def _ratio(evidence: Evidence, one: str, other: str) -> Result:
    head = evidence.head(one, other)
    printed = evidence.facts.said(f"{one}_{other}"), evidence.facts.said(f"{other}_{one}")
    return head[:2] == printed, spoken(head, one, other)


def cooperative_beats_competitive(evidence: Evidence) -> Result:
    return _ratio(evidence, "cooperative", "competitive")


def unprimed_beats_competitive(evidence: Evidence) -> Result:
    return _ratio(evidence, "unprimed", "competitive")


def competitive_is_outperformed(evidence: Evidence) -> Result:
    heads = {name: evidence.head(name, "competitive") for name in ("cooperative", "unprimed")}
    ahead = all(head[0] > head[1] for head in heads.values())
    p = {name: chance(*head[:2]) for name, head in heads.items()}
    text = "; ".join(f"{spoken(head, name, 'competitive')}, p = {p[name]:.2f}" for name, head in heads.items())
    return (True if max(p.values()) < LEVEL else None) if ahead else False, text


def sixty_records(evidence: Evidence) -> Result:
    found = persona_games(evidence.whole)
    return found == evidence.facts.said("records"), f"{found} logged games of social preferences"


def _deltas(evidence: Evidence, dimensions: tuple[str, ...]) -> str:
    texts = []
    for name in dimensions:
        each = ", first pass ".join(
            f"{row.delta:+.0%} ({row.low:+.0%} to {row.high:+.0%})"
            for row in (evidence.outcomes[run].loc[name] for run in (2, 1))
        )
        texts.append(f"{DIMENSIONS[name]} {each}")
    return "; ".join(texts)


def _little(evidence: Evidence, dimension: str) -> Result:
    values = [abs(evidence.outcomes[run].delta[dimension]) for run in (2, 1)]
    return (True if max(values) < LITTLE else False if min(values) >= LITTLE else None), _deltas(evidence, (dimension,))


def winners_cooperate_alike(evidence: Evidence) -> Result:
    return _little(evidence, "cooperation")


def winners_conceal_alike(evidence: Evidence) -> Result:
    return _little(evidence, "intention_concealment")


def _notable(evidence: Evidence, dimension: str) -> Result:
    rows = [evidence.outcomes[run].loc[dimension] for run in (2, 1)]
    held = [bool(row.delta >= NOTABLE and row.low > 0) or (None if row.delta > 0 else False) for row in rows]
    return joined(held), _deltas(evidence, (dimension,))


def winners_align(evidence: Evidence) -> Result:
    return _notable(evidence, "goal_alignment")


def winners_plan(evidence: Evidence) -> Result:
    return _notable(evidence, "strategic_planning")


def winners_use_information(evidence: Evidence) -> Result:
    return _notable(evidence, "information_utilization")


def strategy_differs_most(evidence: Evidence) -> Result:
    held, texts = [], []
    for run in (2, 1):
        deltas = evidence.outcomes[run].delta.sort_values(ascending=False, kind="stable")
        held.append(set(deltas.index[:3]) == set(STRATEGIC))
        listed = ", ".join(f"{DIMENSIONS[name]} {value:+.0%}" for name, value in deltas.items())
        texts.append(f"{'first pass: ' if run == 1 else ''}{listed}")
    return all(held), "; ".join(texts)


def orientation_works_indirectly(evidence: Evidence) -> Result:
    wins = evidence.rated("wins", PERSONAS)
    return None, f"share of games won: {wins}; scores were given with the outcome in the log"
