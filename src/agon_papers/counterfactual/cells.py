"""The 7,120 printed cells of the counterfactual paper's Tables 1 to 24, against the recorded matches."""

from collections.abc import Mapping

import pandas as pd

from agon.errors import AgonError
from agon.games.matrix.metrics import limits
from agon.metrics import summary
from agon_papers.cells import COLUMNS
from agon_papers.propositions import rounds_to

PAPER = "counterfactual"

MODELS = {
    "Claude 3.5 Sonnet v2": "C3.5Sv2",
    "Claude 3.7 Sonnet": "C3.7S",
    "Claude 3.7 Sonnet (Thinking)": "C3.7S(T)",
    "Claude Sonnet 4": "C4S",
    "Claude Sonnet 4 (Thinking)": "C4S(T)",
    "DeepSeek-R1": "DS-R1",
    "Llama 3.3 70B Instruct": "L3.3-70B",
    "Mistral Large (24.07)": "Mistral",
}
"""Name in the records -> name in the tables (appendix D). Llama 3.1 405B Instruct is in the records and in no table."""

SPELLED = {short: f"{short}: {name}" for name, short in MODELS.items()}
"""Name in the tables -> the same with the name in the records, for a legend."""

SHORT = {short: name for name, short in MODELS.items()} | {
    "pd, rps": "prisoner's dilemma and stag hunt; rock, paper, scissors",
    "default, label, payoff, joint": "the game as known; other words (in rock, paper, scissors: the losing action "
    "wins); other points; both",
    "zs, cot, spp": "ways to ask: at once, chain of thought, a discussion of several personas",
    "sc-": "with a vote over several samples",
    "srep, pp": "scripts: the equilibrium of one round; a fixed cycle",
    "mf, ap": "scripts: best reply to the most frequent move",
    "tft": "script: best reply to the last move; not tit for tat, though the paper's name reads so",
}
"""Short names of the tables -> their meaning, for readers of a page."""

_PRINTED = ("total_points", "opponent_comprehension", "cooperation_rate", "efficiency", "validity_rate")
_AS_DONE = {"opponent_comprehension": "opponent_comprehension_as_done", "efficiency": "efficiency_as_done"}
READINGS = {
    "literal": {metric: metric for metric in _PRINTED},
    "reconciled": {metric: _AS_DONE.get(metric, metric) for metric in _PRINTED},
}
"""Reading -> the paper's metric -> its column of agon.games.matrix.metrics.per_match."""

VARIANTS = ("default", "label", "payoff", "joint")

GROUPS = {"efficiency": ["variant", "model", "prompt"], "validity_rate": ["model"]}
"""Metric -> the keys of its printed cells, which average over all else. Cells of other metrics have all KEYS."""

KEYS = ["variant", "model", "prompt", "opponent"]


def of_the_paper(turns: pd.DataFrame) -> pd.DataFrame:
    """Returns `turns`. Raises AgonError if no model of the tables played one of the paper's variants."""
    seat = turns[turns.seat.eq(0) & turns.model.isin(list(MODELS))]
    variants = set(zip(seat.game, seat.variant, strict=True))
    if missing := [
        f"{game}/{variant}" for game in ("pd", "rps") for variant in VARIANTS if (game, variant) not in variants
    ]:
        others = sorted(set(turns.model.dropna()) - set(MODELS))
        raise AgonError(
            f"{', '.join(missing)}: no match of a model in the paper's tables"
            + f" (these are in none: {', '.join(map(repr, others[:5]))})" * bool(others)
            + "; take transcripts/counterfactual.parquet, or for matches of your own the notebook counterfactual_live"
        )
    return turns


def describe_matches(matches: pd.DataFrame) -> str:
    """A sentence on the numbers of matches, and on the models that are in no table."""
    of_models = matches[matches.model.notna()].astype({"model": str, "opponent": str})
    of_tables = of_models[of_models.model.isin(list(MODELS))]
    words = [f"{len(of_models):,} matches: {len(of_tables):,} of the {of_tables.model.nunique()} models in the tables"]
    for name, rows in of_models.drop(of_tables.index).groupby("model"):
        words.append(
            f"{len(rows):,} of {name}, which is in no table (against {', '.join(sorted(set(rows.opponent)))} alone)"
        )
    return f"{', '.join(words)}."


def statistics(
    matches: pd.DataFrame, reading: str, intervals: bool = False, names: Mapping[str, str] = MODELS
) -> pd.DataFrame:
    """Mean and standard deviation of every printed group: game, metric, KEYS ("all" for an average over a key), value, sd, n, low, high.

    The groups that an average combines are fixed cells: intervals have only the variance within them. `matches`:
    agon.games.matrix.metrics.per_match of the player under test. In the reconciled reading, validity in rps leaves out opponent ap.
    `names`: name of a model in the matches -> its name in the result; other models are left out.
    """
    of_tables = matches.astype(dict.fromkeys(("model", "agent", "opponent", "variant"), object))
    of_tables = of_tables.assign(model=of_tables.model.map(names), prompt=of_tables.agent).dropna(subset="model")
    parts = []
    for metric, column in READINGS[reading].items():
        by = ["game", *GROUPS.get(metric, KEYS)]
        rows = of_tables
        if metric == "validity_rate" and reading == "reconciled":
            rows = of_tables[of_tables.opponent != "ap"]
        averaged = {key: "all" for key in KEYS if key not in by}
        fixed = [key for key in KEYS if key in averaged]
        stats = summary(
            rows, [column], by, intervals=intervals, limits=limits(rows) if intervals else None, cells=fixed
        )
        parts.append(stats.assign(metric=metric, **averaged))
    return pd.concat(parts, ignore_index=True)


def cells(
    stats: pd.DataFrame, published: pd.DataFrame, reading: str, variants: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Every printed cell beside its recomputed value; see COLUMNS.

    `stats`: `statistics` under `reading`. `published`: tables.csv with numbers as text (their decimals count). `variants`: `true_variants`;
    without it the captions are taken as true. A cell agrees if the recomputed value rounds to the printed one. Without records,
    recomputed is absent and the cell does not agree.
    """
    both = _beside(stats, published, variants)
    shared = pd.DataFrame({"paper": PAPER, "table": both.table})
    shared["row"] = both.model.where(both.prompt == "all", both.model + " " + both.prompt)
    shared["column"] = both.opponent.where(both.opponent != "all", both.captioned_variant)
    decimals = both.table.map(_decimals(published))
    parts = []
    for statistic, printed, recomputed in (("mean", both["mean"], both.value), ("sd", both["std"], both.sd)):
        numbers = {"published": printed.astype(float), "recomputed": recomputed}
        agrees = rounds_to(recomputed, numbers["published"], decimals)
        parts.append(shared.assign(statistic=statistic, **numbers, agrees=agrees, reading=reading))
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)[COLUMNS]


def _beside(stats: pd.DataFrame, published: pd.DataFrame, variants: pd.DataFrame | None) -> pd.DataFrame:
    """Every printed cell with the statistics of its variant: the true one, or the captioned one without `variants`."""
    cells_of_variants = published.assign(variant=published.captioned_variant)
    if variants is not None:
        keys = ["table", "captioned_variant"]
        cells_of_variants = published.merge(variants[[*keys, "variant"]], on=keys, how="left", validate="m:1")
    return cells_of_variants.merge(stats, on=["game", "metric", *KEYS], how="left", validate="m:1")


def _decimals(published: pd.DataFrame) -> pd.Series:
    """Table -> the most decimals of any of its numbers."""
    decimals = published["mean"].str.partition(".")[2].str.len()
    return decimals.groupby(published.table).max()


def agreement(stats: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """For every captioned set of cells and every variant: how many cells agree with the numbers of that variant.

    `stats`: `statistics` under the reconciled reading. Columns: table, captioned_variant, variant, agree, of.
    """
    one = published[published.captioned_variant != "all"]
    pairs = one.merge(stats, on=["game", "metric", "model", "prompt", "opponent"], how="inner")
    decimals = pairs.table.map(_decimals(published))
    agree = rounds_to(pairs.value, pairs["mean"].astype(float), decimals)
    agree &= rounds_to(pairs.sd, pairs["std"].astype(float), decimals)
    groups = pairs.assign(agree=agree).groupby(["table", "captioned_variant", "variant"], observed=True).agree
    return groups.agg(agree="sum", of="size").astype(int).reset_index()


def true_variants(counts: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The true variant of each captioned set of cells: the variant with which most of its cells agree.

    `counts`: `agreement`. Columns: paper, table, captioned_variant, variant, agree, of, and the second best variant: runner_up,
    runner_up_agree. The caption "all" stays "all", without counts.
    """
    keys = ["table", "captioned_variant"]
    ranked = counts.sort_values("agree", ascending=False, kind="stable").groupby(keys, sort=True)
    second = ranked.nth(1).rename(columns={"variant": "runner_up", "agree": "runner_up_agree"}).drop(columns="of")
    best = ranked.nth(0).sort_values(keys).merge(second, on=keys, how="left")
    rest = published.loc[published.captioned_variant == "all", keys].drop_duplicates()
    table = pd.concat([best, rest.assign(variant="all")], ignore_index=True)
    types = dict.fromkeys(["agree", "of", "runner_up_agree"], "Int64")
    columns = ["paper", *keys, "variant", "agree", "of", "runner_up", "runner_up_agree"]
    return table.astype(types).assign(paper=PAPER)[columns]


def with_intervals(stats: pd.DataFrame, published: pd.DataFrame, variants: pd.DataFrame) -> pd.DataFrame:
    """Every printed cell with its recomputed value, sd, n, low, high beside the printed numbers.

    `stats`: `statistics` under the reconciled reading, with intervals. `variants`: `true_variants`.
    Columns: table, game, metric, captioned_variant, variant, model, prompt, opponent, published, published_sd, value, sd, n, low, high.
    """
    both = _beside(stats, published, variants).rename(columns={"mean": "published", "std": "published_sd"})
    names = ["table", "game", "metric", "captioned_variant", *KEYS, "published", "published_sd"]
    return both[[*names, "value", "sd", "n", "low", "high"]]
