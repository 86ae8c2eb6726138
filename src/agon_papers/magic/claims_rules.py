# ruff: noqa: D103 - what each function decides is said in magic_claims.toml, under its name
"""The paper's formulas, credits and sample sizes, against the numbers it prints (sections 3.3, A.1 and A.2, Tables 1 to 4)."""

from agon_papers.magic.counts import as_printed, sizes
from agon_papers.magic.evidence import Evidence, Result, fitted
from agon_papers.magic.facts import COMPETITIONS

TICKS = {
    "judgement": {"chameleon", "undercover"},
    "reasoning": {"chameleon", "undercover"},
    "deception": {"chameleon", "undercover"},
    "self_awareness": {"chameleon", "undercover"},
    "cooperation": {"cost_sharing"},
    "coordination": {"cost_sharing"},
    "rationality": {"prisoner", "public_good"},
}
"""Ability -> the games that its formula counts."""


def judgement_formula(evidence: Evidence) -> Result:
    return fitted(evidence, "judgement")


def reasoning_formula(evidence: Evidence) -> Result:
    return fitted(evidence, "reasoning")


def deception_formula(evidence: Evidence) -> Result:
    return fitted(evidence, "deception")


def self_awareness_formula(evidence: Evidence) -> Result:
    return fitted(evidence, "self_awareness")


def cooperation_formula(evidence: Evidence) -> Result:
    return fitted(evidence, "cooperation")


def coordination_formula(evidence: Evidence) -> Result:
    return fitted(evidence, "coordination")


def rationality_formula(evidence: Evidence) -> Result:
    return fitted(evidence, "rationality")


def self_awareness_is_a_share(evidence: Evidence) -> Result:
    most = evidence.facts.said("weight_chameleon") + 1
    return most <= 1, f"all answers right give {most:.1f}"


def roles_are_seven(evidence: Evidence) -> Result:
    social = len(evidence.facts.credits[["game", "role"]].drop_duplicates())
    games = evidence.facts.tables[3].scenario.nunique() - evidence.facts.credits.game.nunique()
    return social + games == evidence.facts.said("roles"), f"{social} social roles, {games} other games"


def credits_are_shared(evidence: Evidence) -> Result:
    sums = evidence.facts.credits.groupby(["game", "outcome"]).credits.sum()
    said, texts = evidence.facts.said("credits_divisor"), []
    for game, rows in evidence.facts.credits.groupby("game"):
        most = rows.credits.max()
        texts.append(
            f"{game}: {'-'.join(map(str, sorted(set(sums[game]))))} credits a game, a rate of up to {most / said:.1f}"
        )
    return bool((sums == said).all()), "; ".join(texts)


def win_rate_is_the_mean_of_roles(evidence: Evidence) -> Result:
    texts = []
    for reading, words in (("literal", "over 2n"), ("reconciled", "over 3n in Undercover, labels as in the code")):
        table = evidence.roles[reading]
        wrong = [
            f"{row.Index} ({row.win_rate:.1f}; {row.least:.1f} to {row.most:.1f})"
            for row in table[~table.possible].itertuples()
        ]
        texts.append(
            f"{words}: {table.possible.sum()} of {len(table)} possible" + (f", not {', '.join(wrong)}" if wrong else "")
        )
    return bool(evidence.roles["literal"].possible.all()), "; ".join(texts)


def a_wrong_accusation_is_a_win(evidence: Evidence) -> Result:
    table = evidence.facts.credits
    paid = table[(table.game == "chameleon") & (table.role == "spy")].set_index("label").credits
    shown = evidence.facts.said("wrong_accusation_credits")
    return (
        bool(paid["spy wins"] == shown),
        f"for the spy: win {paid['spy wins']}, even votes {paid['even votes']}; Figure 5 pays {shown:.0f} for a wrong accusation",
    )


def table_3_names_the_games(evidence: Evidence) -> Result:
    rows = evidence.facts.tables[3]
    ticked = rows[rows.value == "ticked"].groupby("field").scenario.agg(set)
    texts = [
        f"{name} ticked for {', '.join(sorted(ticked[name] - games))} too"
        for name, games in TICKS.items()
        if ticked[name] - games
    ]
    return bool(all(ticked[name] == games for name, games in TICKS.items())), "; ".join(texts)


def win_rates_are_over_21_games(evidence: Evidence) -> Result:
    rows = evidence.tested
    rows = rows[(rows.table == 2) & rows.metric.str.endswith("_wr") & (rows.reading == "literal")]
    texts = []
    for row in rows[~rows.fits].itertuples():
        fewer = [str(n) for n in sizes(as_printed(row.published)) if n <= 2 * COMPETITIONS]
        whole = f"{row.k} of {row.n} {row.how}" if row.how else f"fits {' or '.join(fewer)} games"
        texts.append(f"{row.model} {row.metric} {row.published} ({whole})")
    return bool(rows.fits.all()), f"{rows.fits.sum()} of {len(rows)} are; not {', '.join(texts)}"


def scores_are_over_21_games(evidence: Evidence) -> Result:
    return fitted(evidence, "prisoner_score")
