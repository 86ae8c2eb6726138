# ruff: noqa: D103 - what each function decides is said in magic_claims.toml, under its name
"""The paper's statements on what beliefs add (sections 5.2, 5.3, A.3 and A.4, Figures 4 and 6, Table 4)."""

import pandas as pd

from agon_papers.counterfactual.evidence import listed, part
from agon_papers.magic.cells import STRONGEST, pairs, pooled_gain, slips
from agon_papers.magic.counts import SPIED, TESTS, VOTES, improved
from agon_papers.magic.evidence import LEVEL, Evidence, Result, averaged, ranked, rising, significant
from agon_papers.magic.facts import ABILITIES, DETAILED, PGM
from agon_papers.statements import Missing

PRONOUNCED = ["PaLM 2", "Claude 2", "Llama-2-70B"]
"""The models for which the paper calls the gain pronounced."""


def every_model_gains(evidence: Evidence) -> Result:
    area, wins = evidence.area_gains.gain, evidence.changes.win_rate
    cells = evidence.changes[list(ABILITIES)].stack()
    counts = f"of {len(cells)} single abilities {(cells > 0).sum()} rise, {(cells == 0).sum()} stay, {(cells < 0).sum()} fall"
    return bool(
        (area > 0).all() and (wins > 0).all()
    ), f"area {ranked(area)} percent; win rate {ranked(wins)}; {counts}"


def area_gain(evidence: Evidence) -> Result:
    said, gains, orders = evidence.facts.said("area_gain"), evidence.area_gains, evidence.orders
    ways = {
        "mean of the models' gains": gains.gain.mean(),
        "gain of the mean area": pooled_gain(gains),
        "median gain": gains.gain.median(),
        "mean gain of single abilities": _relative(evidence).stack().mean(),
    }
    needed = len(gains) * (1 + said / 100) * gains.vanilla.mean() - gains.enhanced.sum()
    with_o1 = needed + (1 + said / 100) * evidence.measures["area"][STRONGEST]
    spans = [
        f"{name} {orders[column].min():.1f} to {orders[column].max():.1f}"
        for name, column in (("mean", "mean_gain"), ("of the mean", "pooled_gain"))
    ]
    with_it = f"the second way gives it if {STRONGEST}{PGM}, not printed, had area {with_o1:,.0f}"
    text = f"{listed(ways)}; over all orders of the axes: {', '.join(spans)}; {with_it}"
    return any(round(value) == said for value in ways.values()), text


def _relative(evidence: Evidence) -> pd.DataFrame:
    before, _ = pairs(evidence.pairs)
    return 100 * evidence.changes[list(ABILITIES)] / before[list(ABILITIES)]


def win_rate_gain(evidence: Evidence) -> Result:
    held, text = averaged(evidence, "gain_win_rate")
    other = evidence.abilities.win_rate["GPT-4"]
    moved = evidence.changes.win_rate.sum() + evidence.pairs.win_rate["GPT-4"] - other
    return held, f"{text}; with GPT-4's {other:.1f} of Table 1 it would be {moved / len(evidence.changes):.2f}"


def win_rate_rises_everywhere(evidence: Evidence) -> Result:
    roles, texts, falls = evidence.roles["reconciled"], [], []
    for model in DETAILED:
        change = roles.social[model + PGM] - roles.social[model]
        error = roles.social_error[model + PGM] + roles.social_error[model]
        falls.append(change + error < 0)
        texts.append(f"{model} {change:+.1f} (± {error:.1f})")
    at_table = 7 * (evidence.pairs.win_rate["GPT-4"] - evidence.abilities.win_rate["GPT-4"])
    gpt4 = roles.social["GPT-4" + PGM] - roles.social["GPT-4"] + at_table
    scenarios = [evidence.detail(f"{game}_wr") for game in ("cost_sharing", "prisoner", "public_good")]
    rises = sum((table.enhanced > table.vanilla).sum() for table in scenarios)
    text = f"{rises} of {3 * len(DETAILED)} win rates of Table 2 rise; what is left for the four social roles together: {', '.join(texts)}"
    return not any(falls), f"{text}; GPT-4 with its win rate of Table 1 {gpt4:+.1f}"


def judgement_gain(evidence: Evidence) -> Result:
    held, text = averaged(evidence, "gain_judgement")
    before, after = ((column * VOTES / 100).round() for column in pairs(evidence.pairs.judgement))
    exact = 100 * (after - before).mean() / VOTES
    return held, f"{text}; from the counts of {VOTES} ballots {exact:.2f}"


def reasoning_gain(evidence: Evidence) -> Result:
    return averaged(evidence, "gain_reasoning")


def deception_gain(evidence: Evidence) -> Result:
    held, text = averaged(evidence, "gain_deception")
    before, after = ((column * SPIED / 100).round() for column in pairs(evidence.pairs.deception))
    return held, f"{text} ({(after - before).sum():.0f} of {SPIED} games over all pairs)"


def coordination_and_rationality_gain_most(evidence: Evidence) -> Result:
    means = evidence.changes[list(ABILITIES)].mean()
    numbers = [averaged(evidence, f"gain_{name}")[0] for name in ("coordination", "rationality")]
    return all(numbers) and set(means.nlargest(2).index) == {"coordination", "rationality"}, ranked(means, 3, 2)


def every_ability_gains(evidence: Evidence) -> Result:
    means = evidence.changes[list(ABILITIES)].mean()
    return bool((means > 0).all()), ranked(means, digits=2)


def last_row_is_the_mean(evidence: Evidence) -> Result:
    printed = evidence.printed_average
    wrong = slips(evidence.facts)
    texts = []
    for row in wrong.itertuples():
        causes = [
            f"{words} {names}"
            for words, names in (
                ("if no change were counted for", row.left_out),
                ("with the sign turned for", row.turned),
            )
            if names
        ]
        texts.append(
            f"{row.metric} {row.recomputed:.2f} for {row.published}" + (f" ({' or '.join(causes)})" if causes else "")
        )
    return wrong.empty, f"{len(printed) - len(wrong)} of {len(printed)} are; not {', '.join(texts)}"


def most_pronounced(evidence: Evidence) -> Result:
    gains = evidence.area_gains
    ways = {
        "percent of area": gains.gain,
        "area": gains.enhanced - gains.vanilla,
        "win rate": evidence.changes.win_rate,
    }
    held = any(set(values.nlargest(len(PRONOUNCED)).index) == set(PRONOUNCED) for values in ways.values())
    return held, "; ".join(f"{name}: {ranked(values, 4)}" for name, values in ways.items())


def most_gain_in_three_or_four(evidence: Evidence) -> Result:
    table, low = evidence.significance, evidence.facts.said("improved_least")
    words = {
        "fisher": "two samples",
        "paired_least": "paired, most favourable",
        "paired_most": "paired, least favourable",
    }
    enough, texts = {}, []
    for test in TESTS:
        plain, corrected = (improved(table, name, LEVEL) for name in (test, f"holm_{test}"))
        enough[test] = bool((plain >= low).mean() > 0.5)
        after = f"after Holm {part(corrected >= low, 'models')}"
        texts.append(
            f"{words[test]}: {part(plain >= low, 'models')} in {low:.0f} or more ({listed(plain, 0)}), {after}"
        )
    return (enough["fisher"] if len(set(enough.values())) == 1 else None), "; ".join(texts)


def gpt35_rationality_is_significant(evidence: Evidence) -> Result:
    return significant(evidence, "GPT-3.5-turbo", "rationality")


def gpt35_deception_is_significant(evidence: Evidence) -> Result:
    return significant(evidence, "GPT-3.5-turbo", "deception")


def gpt4_cooperation_is_significant(evidence: Evidence) -> Result:
    return significant(evidence, "GPT-4", "cooperation")


def capable_models_gain_more(evidence: Evidence) -> Result:
    strength, gains = pairs(evidence.pairs.win_rate)[0], evidence.area_gains
    ways = {
        "percent of area": gains.gain,
        "area": gains.enhanced - gains.vanilla,
        "win rate": evidence.changes.win_rate,
    }
    found = {name: rising(strength, values) for name, values in ways.items()}
    text = "; ".join(f"{name}: {text}" for name, (_, text) in found.items())
    return all(held for held, _ in found.values()), f"win rate before against gain in {text}"


def o1_gains(evidence: Evidence) -> Result:
    raise Missing(f"Table 4 prints no row {STRONGEST}{PGM}; Figures 1 and 4 show it only as a picture")
