# ruff: noqa: D103 - what each function decides is said in magic_claims.toml, under its name
"""The paper's statements on the game-theory games, its case studies and settings (sections 5.3, A.1, A.4 to A.6, Table 2)."""

import pandas as pd

from agon_papers.counterfactual.evidence import listed, part
from agon_papers.magic.bounds import defections, pools
from agon_papers.magic.cells import dilemma_scores
from agon_papers.magic.evidence import Evidence, Result, against, ranked, rising
from agon_papers.magic.facts import PGM
from agon_papers.statements import Missing

GPT35, GPT4 = "GPT-3.5-turbo", "GPT-4"


def win_rate_and_cost_differ(evidence: Evidence) -> Result:
    wins, costs = evidence.detail("cost_sharing_wr").vanilla, evidence.detail("cost_sharing_cost").vanilla
    return wins.idxmax() == GPT35 and costs.idxmin() == GPT4, f"win rate {ranked(wins)}; cost {ranked(costs)}"


def _cheaper(evidence: Evidence, model: str) -> Result:
    wins, costs = (evidence.detail(f"cost_sharing_{name}").loc[[model]] for name in ("wr", "cost"))
    held = wins.enhanced > wins.vanilla, costs.enhanced < costs.vanilla
    return bool(held[0].item() and held[1].item()), f"win rate {against(wins)}; cost {against(costs)}"


def gpt4_agrees_more_and_pays_less(evidence: Evidence) -> Result:
    return _cheaper(evidence, GPT4)


def gpt35_agrees_more_and_pays_less(evidence: Evidence) -> Result:
    return _cheaper(evidence, GPT35)


def gpt4_wins_more_and_scores_less(evidence: Evidence) -> Result:
    wins, scores = evidence.detail("prisoner_wr").enhanced, evidence.detail("prisoner_score").enhanced
    return bool(
        wins[GPT4] > wins[GPT35] and scores[GPT4] < scores[GPT35]
    ), f"with beliefs: win rate {ranked(wins)}; score {ranked(scores, digits=2)}"


def gpt4_is_more_rational_with_beliefs(evidence: Evidence) -> Result:
    values = evidence.pairs.rationality[[GPT4 + PGM, GPT35 + PGM]]
    return bool(values[GPT4 + PGM] > values[GPT35 + PGM]), ranked(values)


def beliefs_win_more_for_less(evidence: Evidence) -> Result:
    wins, paid = evidence.detail("public_good_wr"), evidence.detail("public_good_payback")
    held = (wins.enhanced > wins.vanilla) & (paid.enhanced < paid.vanilla)
    return bool(held.all()), f"win rate {against(wins)}; payback {against(paid)}"


def gpt4_is_paid_back_most(evidence: Evidence) -> Result:
    paid = evidence.detail("public_good_payback")
    return bool((paid.idxmax() == GPT4).all()), f"without beliefs {ranked(paid.vanilla)}; with {ranked(paid.enhanced)}"


def rational_play_earns_less(evidence: Evidence) -> Result:
    rational = {name: evidence.pair(name, "rationality") for name in evidence.detail("prisoner_score").index}
    table = pd.DataFrame(rational, index=["vanilla", "enhanced"]).T
    score, paid = evidence.detail("prisoner_score"), evidence.detail("public_good_payback")
    falls = pd.concat([score.enhanced < score.vanilla, paid.enhanced < paid.vanilla])
    text = f"Rationality rises ({against(table)}); score {against(score, 2)}; payback {against(paid)}"
    return bool((table.enhanced > table.vanilla).all() and falls.all()), text


def rational_play_wins(evidence: Evidence) -> Result:
    wins = evidence.details[["prisoner_wr", "public_good_wr"]].mean(axis=1)
    held, text = rising(wins, evidence.pairs.rationality)
    return held, f"Rationality against the mean of both win rates: {text}"


def cost_sharing_wins_are_cooperation(evidence: Evidence) -> Result:
    wins, agreed = evidence.details.cost_sharing_wr, evidence.pairs.cooperation.reindex(evidence.details.index)
    different = [f"{name} {wins[name]:.1f} and {agreed[name]:.1f}" for name in wins.index[wins != agreed]]
    return bool((wins == agreed).all()), f"{part(wins == agreed, 'rows')} are the same; not {', '.join(different)}"


def case_scores_follow(evidence: Evidence) -> Result:
    found = {
        name: dilemma_scores(evidence.facts, evidence.facts.drawn(8, f"moves_{name}")) for name in ("pgm", "vanilla")
    }
    printed = {name: [int(x) for x in evidence.facts.drawn(8, f"final_scores_{name}").split()] for name in found}
    return found == printed, f"with beliefs {found['pgm']}, without {found['vanilla']}"


def case_is_won_with_beliefs(evidence: Evidence) -> Result:
    seat = int(evidence.facts.drawn(8, "challenger")) - 1
    best = {}
    for name in ("pgm", "vanilla"):
        scores = dilemma_scores(evidence.facts, evidence.facts.drawn(8, f"moves_{name}"))
        best[name] = scores[seat] == max(scores)
    return best["pgm"] and not best[
        "vanilla"
    ], f"Player {seat + 1} on top: with beliefs {best['pgm']}, without {best['vanilla']}"


def first_digit_is_mutual_defection(evidence: Evidence) -> Result:
    names = ("cooperate", "defect", "one_defect", "two_defect")
    points = {name: float(evidence.facts.drawn(8, name)) for name in names}
    listed_triples = evidence.facts.drawn_rows(10, "prisoner_settings")
    ways = {first: [points[first], points["one_defect"], points["two_defect"]] for first in ("defect", "cooperate")}
    texts = [
        f"with {first} first {_triple(way)}: {'listed' if way in listed_triples else 'not listed'}"
        for first, way in ways.items()
    ]
    return ways[
        "defect"
    ] in listed_triples, f"Figure 8's game {', '.join(texts)} among {', '.join(map(_triple, listed_triples))}"


def _triple(numbers: list[float]) -> str:
    return "-".join(f"{number:g}" for number in numbers)


def samples_are_among_the_settings(evidence: Evidence) -> Result:
    [multipliers] = evidence.facts.drawn_rows(10, "multipliers")
    sample = float(evidence.facts.listed("public_good", "sample_multiplier"))
    points = {
        name: float(evidence.facts.listed("prisoner", f"sample_{name}"))
        for name in ("cooperate", "defect", "one_defect", "two_defect")
    }
    triples = evidence.facts.drawn_rows(10, "prisoner_settings")
    either = [[points[first], points["one_defect"], points["two_defect"]] for first in ("cooperate", "defect")]
    held = sample in multipliers and any(way in triples for way in either)
    scores = f"scores {' or '.join(map(_triple, either))} among {', '.join(map(_triple, triples))}"
    return held, f"multiplier {sample:g} among {', '.join(f'{m:g}' for m in multipliers)}; {scores}"


def case_beliefs_are_probabilities(evidence: Evidence) -> Result:
    figures = evidence.facts.figures
    names = figures.item[(figures.figure == 5) & figures.item.str.startswith("matrix")]
    sums = pd.Series(
        {(name, row): sum(numbers) for name in names for row, numbers in enumerate(evidence.facts.drawn_rows(5, name))}
    )
    return bool(
        ((sums - 1).abs() <= 3 * 0.0005 + 1e-9).all()
    ), f"{len(sums)} rows of {len(names)} matrices sum to {sums.min():.3f} to {sums.max():.3f}"


def case_beliefs_turn_right(evidence: Evidence) -> Result:
    raise Missing(
        "which of Figure 5's matrices belongs to which model and clue is a matter of the picture, not of the printed text"
    )


def investment_ignores_the_multiplier(evidence: Evidence) -> Result:
    found = pools(evidence.facts).set_index("model").loc[evidence.details.index]
    text = f"mean pools that the paybacks allow if nobody overspends and the pool may follow the multiplier: {_spans(found)}"
    return None, text


def most_models_overspend(evidence: Evidence) -> Result:
    found, budget = pools(evidence.facts).set_index("model").loc[evidence.details.index], evidence.facts.said("budget")
    each = found.value / 3
    text = f"points per seat and game, if the pool is the same at all multipliers: {listed(each)}"
    return None, f"{text}; above {budget:.0f} in {(each > budget).sum()}"


def defection_ignores_the_scores(evidence: Evidence) -> Result:
    found = defections(evidence.facts).set_index("model").loc[evidence.details.index]
    return None, f"defections in percent, over all score settings: {_spans(found)}"


def _spans(found: pd.DataFrame) -> str:
    return ", ".join(f"{row.Index} {row.low:.0f} to {row.high:.0f}" for row in found.itertuples())


def both_prompts_work(evidence: Evidence) -> Result:
    found = evidence.roles["reconciled"].rename(columns={"vote_low": "low", "vote_high": "high"})
    text = f"right ballots in Chameleon, in percent, as far as Tables 2 and 4 bound them: {_spans(found)}"
    return None, f"{text}; of the matrix prompt nothing is printed"


def settings_are_fair(evidence: Evidence) -> Result:
    raise Missing("neither the simulated games nor the win rates of the chosen settings are printed")
