# ruff: noqa: D103 - what each function decides is said in magic_claims.toml, under its name
"""The paper's statements on the models' abilities, win rates and areas (abstract, sections 1, 5.1 and 7, Figure 1)."""

import numpy as np
import pandas as pd
from scipy.stats import chi2_contingency

from agon_papers.counterfactual.evidence import listed, part
from agon_papers.magic.cells import SECOND, STRONGEST, WEAKEST, pairs
from agon_papers.magic.evidence import LEVEL, Evidence, Result, both, inorder, quoted, ranked, rising, top
from agon_papers.magic.facts import ABILITIES, MODELS, PAIRED

OTHERS = ["Claude 2", "PaLM 2", "Cohere"]
"""The commercial models that are not called the best."""


def seven_models(evidence: Evidence) -> Result:
    shown = len(evidence.abilities)
    return shown == evidence.facts.said("models"), f"Table 1 has {shown} models, Table 4 pairs {len(evidence.changes)}"


def over_a_hundred_cases(evidence: Evidence) -> Result:
    games = evidence.facts.tables[3]
    counts = games[games.field == "competitions"].set_index("scenario").value.astype(int)
    return bool(counts.sum() > evidence.facts.said("cases")), f"{listed(counts, 0)}: {counts.sum()} settings"


def strongest_is_o1(evidence: Evidence) -> Result:
    return both(evidence, lambda values: top(values, STRONGEST))


def weakest_is_llama(evidence: Evidence) -> Result:
    def read(values: pd.Series) -> Result:
        return values.idxmin() == WEAKEST, f"lowest {inorder(values.nsmallest(3))}"

    return both(evidence, read)


def _ratio(evidence: Evidence, model: str, column: str, key: str) -> Result:
    area, orders = evidence.measures["area"], evidence.orders[column]
    ratio, said = area[model] / area[WEAKEST], evidence.facts.said(key)
    return bool(ratio > said), (
        f"{area[model]:,.0f} / {area[WEAKEST]:,.0f} = {ratio:.2f}; over {len(orders)} orders of the axes "
        f"{orders.min():.2f} to {orders.max():.2f}, above {said:.0f} in {(orders > said).sum()}"
    )


def threefold_over_weakest(evidence: Evidence) -> Result:
    return _ratio(evidence, STRONGEST, "strongest_to_weakest", "gap")


def turbo_threefold_over_llama(evidence: Evidence) -> Result:
    return _ratio(evidence, SECOND, "second_to_weakest", "turbo_gap")


def gpts_are_superior(evidence: Evidence) -> Result:
    def read(values: pd.Series) -> Result:
        gpts = values.drop([*OTHERS, WEAKEST])
        low, high = gpts.nsmallest(1), values[OTHERS].nlargest(1)
        return bool(low.iloc[0] > high.iloc[0]), f"lowest GPT {ranked(low)}, highest other {ranked(high)}"

    return both(evidence, read)


def o1_judges_best(evidence: Evidence) -> Result:
    return top(evidence.abilities.judgement, STRONGEST)


def gpt4_is_most_rational(evidence: Evidence) -> Result:
    return top(evidence.abilities.rationality, "GPT-4")


def gpt35_is_more_cooperative(evidence: Evidence) -> Result:
    values = evidence.abilities.cooperation
    above = values[values > values["GPT-3.5-turbo"]]
    return bool(values["GPT-3.5-turbo"] > values.median()), f"{ranked(values)}; {len(above)} models are above it"


def _area_and_win_rate(area: pd.Series, win_rate: pd.Series) -> Result:
    held, text = rising(area, win_rate)
    rank = pd.DataFrame({"area": area, "win_rate": win_rate}).rank()
    moved = ", ".join(rank.index[(rank.area - rank.win_rate).abs() >= 1])
    return held, f"{text}, r = {np.corrcoef(area, win_rate)[0, 1]:.2f}; other rank: {moved}"


def larger_areas_win_more(evidence: Evidence) -> Result:
    return _area_and_win_rate(evidence.measures["area"], evidence.measures["win rate"])


def larger_areas_win_more_with_beliefs(evidence: Evidence) -> Result:
    return _area_and_win_rate(evidence.area_gains.enhanced, pairs(evidence.pairs.win_rate)[1])


def area_is_proportional_to_win_rate(evidence: Evidence) -> Result:
    share = 1000 * evidence.measures["win rate"] / evidence.measures["area"]
    factor = share.max() / share.min()
    return bool(factor < 1.1), f"points of win rate per 1000 of area: {ranked(share)}; factor {factor:.1f}"


def turbo_wins_most(evidence: Evidence) -> Result:
    return top(evidence.abilities.win_rate, SECOND)


def gpt4_follows_turbo(evidence: Evidence) -> Result:
    rates = {"Table 1": evidence.abilities.win_rate[list(PAIRED)], "Table 4": evidence.pairs.win_rate[list(PAIRED)]}
    texts = [f"{name}: {ranked(values, 2)}" for name, values in rates.items()]
    return all([*values.nlargest(2).index] == [SECOND, "GPT-4"] for values in rates.values()), "; ".join(texts)


def gpt35_is_above_llama(evidence: Evidence) -> Result:
    return both(
        evidence,
        lambda values: (bool(values["GPT-3.5-turbo"] > values[WEAKEST]), ranked(values[["GPT-3.5-turbo", WEAKEST]])),
    )


def others_lie_between(evidence: Evidence) -> Result:
    def read(values: pd.Series) -> Result:
        within = values[OTHERS].between(values[WEAKEST], values["GPT-3.5-turbo"])
        return bool(
            within.all()
        ), f"{part(within, 'models')} between: {ranked(values[['GPT-3.5-turbo', *OTHERS, WEAKEST]])}"

    return both(evidence, read)


def o1_leads_four_abilities(evidence: Evidence) -> Result:
    best = evidence.abilities[list(ABILITIES)].idxmax()
    four = ["judgement", "self_awareness", "cooperation", "coordination"]
    return bool(best[four].eq(STRONGEST).all()), ", ".join(f"{name}: {model}" for name, model in best.items())


def gpt4_judgement(evidence: Evidence) -> Result:
    return quoted(evidence, "gpt4_judgement")


def gpt4_deception(evidence: Evidence) -> Result:
    return quoted(evidence, "gpt4_deception")


def gpt4_coordination(evidence: Evidence) -> Result:
    return quoted(evidence, "gpt4_coordination")


def gpt4_rationality(evidence: Evidence) -> Result:
    return quoted(evidence, "gpt4_rationality")


def gpt4_is_superior_in_deduction(evidence: Evidence) -> Result:
    found = {name: top(evidence.abilities[name], "GPT-4") for name in ("judgement", "deception")}
    return all(held for held, _ in found.values()), "; ".join(f"{name}: {text}" for name, (_, text) in found.items())


def reasoning_is_narrow(evidence: Evidence) -> Result:
    ranges = np.ptp(evidence.abilities[list(ABILITIES)], axis=0)
    return ranges.idxmin() == "reasoning", f"largest less smallest: {ranked(ranges)}"


def deception_differs(evidence: Evidence) -> Result:
    tested = evidence.tested
    rows = tested[(tested.table == 1) & (tested.reading == "reconciled")].set_index("metric")
    p = {}
    for name in ("deception", "reasoning"):
        counts = rows.loc[name, ["k", "n"]].astype(int)
        p[name] = chi2_contingency(np.array([counts.k, counts.n - counts.k])).pvalue
    ranges = np.ptp(evidence.abilities[["deception", "reasoning"]], axis=0)
    wide = bool(ranges.deception > ranges.reasoning and p["deception"] < LEVEL)
    return wide, f"largest less smallest: {ranked(ranges)}; all alike (chi squared): " + ", ".join(
        f"{k} p = {v:.1g}" for k, v in p.items()
    )


def llama_knows_itself(evidence: Evidence) -> Result:
    values = evidence.abilities.self_awareness
    (own, _), (other, _) = quoted(evidence, "llama_self_awareness"), quoted(evidence, "gpt35_self_awareness")
    held = own and other and values[WEAKEST] > max(values["GPT-3.5-turbo"], values.median())
    return bool(held), f"{ranked(values)}; median {values.median():.1f}"


def tables_agree(evidence: Evidence) -> Result:
    one, four = evidence.abilities.loc[list(PAIRED)], evidence.pairs.loc[list(PAIRED)]
    same = (one == four).stack()
    texts = [f"{model} {metric}: {one[metric][model]} and {four[metric][model]}" for model, metric in same.index[~same]]
    again = [
        name
        for (model, metric) in same.index[~same]
        for name in evidence.pairs.index
        if evidence.pairs[metric][name] == four[metric][model] and name != model
    ]
    return bool(same.all()), f"{part(same)} agree; {', '.join(texts)}" + (f", as {', '.join(again)}" if again else "")


def turbo_is_most_capable(evidence: Evidence) -> Result:
    return both(evidence, lambda values: top(values, SECOND))


def turbo_is_threefold_ahead(evidence: Evidence) -> Result:
    area = evidence.measures["area"]
    ratios = area[SECOND] / area.drop(SECOND)
    ahead = ratios.round() >= evidence.facts.said("conclusion_gap")
    return bool(ahead.all()), f"{part(ahead, 'models')} about threefold behind; {ranked(ratios, len(MODELS), 2)}"
