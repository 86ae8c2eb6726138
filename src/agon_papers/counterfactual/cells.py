"""The 7,120 printed cells of the counterfactual paper's Tables 1 to 24, against the recorded matches."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from agon.metrics import summary
from agon.report import whole_cells
from agon_papers.comparisons import rounds_to

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
"""Name in the records -> name in the tables (appendix D). Llama 3.1 405B is in the records and in no table."""

READINGS = {
    "literal": {
        "total_points": "total_points",
        "opponent_comprehension": "opponent_comprehension",
        "cooperation_rate": "cooperation_rate",
        "efficiency": "efficiency",
        "validity_rate": "validity_rate",
    },
    "reconciled": {
        "total_points": "total_points",
        "opponent_comprehension": "opponent_comprehension_as_done",
        "cooperation_rate": "cooperation_rate",
        "efficiency": "efficiency_as_done",
        "validity_rate": "validity_rate",
    },
}
"""Reading -> the paper's metric -> the column of agon.metrics.per_match that it means."""

GROUPS = {"efficiency": ["variant", "model", "prompt"], "validity_rate": ["model"]}
"""What a printed cell of these metrics averages over: everything but these keys. The others: one row and one opponent."""

KEYS = ["variant", "model", "prompt", "opponent"]


def statistics(matches: pd.DataFrame, reading: str, intervals: bool = False) -> pd.DataFrame:
    """Mean and standard deviation of every printed group: game, metric, KEYS ("all" where averaged over), value, sd, n, low, high.

    `matches` is agon.metrics.per_match of the player under test. As done, validity in rps leaves out opponent ap.
    """
    known = matches.assign(model=matches.model.astype(object).map(MODELS), prompt=matches.agent.astype(object))
    known = known.assign(opponent=known.opponent.astype(object), variant=known.variant.astype(object)).dropna(
        subset="model"
    )
    parts = []
    for metric, column in READINGS[reading].items():
        by = ["game", *GROUPS.get(metric, KEYS)]
        rows = known
        if metric == "validity_rate" and reading == "reconciled":
            rows = known[known.opponent != "ap"]
        averaged = {key: "all" for key in KEYS if key not in by}
        parts.append(summary(rows, [column], by, intervals=intervals).assign(metric=metric, **averaged))
    return pd.concat(parts, ignore_index=True)


def cells(
    found: pd.DataFrame, published: pd.DataFrame, reading: str, variants: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Every printed cell beside its recomputed value: paper, table, row, column, statistic, published, recomputed, agrees, reading.

    `found`: `statistics` under `reading`. `published`: tables.csv with numbers as text (their decimals count). `variants`: `true_variants`;
    without it captions are believed. A cell agrees when the recomputed value rounds to the printed one; where there are no records,
    recomputed is absent and the cell does not agree.
    """
    both = _beside(found, published, variants)
    shared = pd.DataFrame(
        {
            "paper": PAPER,
            "table": both.table,
            "row": both.model.where(both.prompt == "all", both.model + " " + both.prompt),
            "column": both.opponent.where(both.opponent != "all", both.captioned_variant),
        }
    )
    decimals = both.table.map(_decimals(published))
    parts = []
    for statistic, printed, recomputed in (("mean", both["mean"], both.value), ("sd", both["std"], both.sd)):
        parts.append(
            shared.assign(
                statistic=statistic,
                published=printed.astype(float),
                recomputed=recomputed,
                agrees=rounds_to(recomputed, printed.astype(float), decimals),
                reading=reading,
            )
        )
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def _beside(found: pd.DataFrame, published: pd.DataFrame, variants: pd.DataFrame | None) -> pd.DataFrame:
    """Every printed cell with the statistics of its variant: the true one, or the captioned one where `variants` is not given."""
    asked = published.assign(variant=published.captioned_variant)
    if variants is not None:
        keys = ["table", "captioned_variant"]
        asked = published.merge(variants[[*keys, "variant"]], on=keys, how="left", validate="m:1")
    return asked.merge(found, on=["game", "metric", *KEYS], how="left", validate="m:1")


def _decimals(published: pd.DataFrame) -> pd.Series:
    """Table -> decimals of its numbers: the most that any of them shows."""
    shown = published["mean"].str.partition(".")[2].str.len()
    return shown.groupby(published.table).max()


def agreement(found: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """For every captioned set of cells and every variant: how many cells would agree if it were the one shown.

    `found`: `statistics` under the reconciled reading. Columns: table, captioned_variant, variant, agree, of.
    """
    one = published[published.captioned_variant != "all"]
    decimals = one.table.map(_decimals(published))
    pairs = one.assign(decimals=decimals).merge(
        found, on=["game", "metric", "model", "prompt", "opponent"], how="inner"
    )
    means = rounds_to(pairs.value, pairs["mean"].astype(float), pairs.decimals)
    spreads = rounds_to(pairs.sd, pairs["std"].astype(float), pairs.decimals)
    counted = (
        pairs.assign(agree=means & spreads).groupby(["table", "captioned_variant", "variant"], observed=True).agree
    )
    return counted.agg(agree="sum", of="size").astype(int).reset_index()


def true_variants(counts: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The variant whose matches each captioned set of cells was computed from: the one with which most cells agree.

    `counts`: `agreement`. Columns: paper, table, captioned_variant, variant, agree, of, and the variant with which the next most cells
    agree: runner_up, runner_up_agree. "all" stays "all", and is not counted.
    """
    keys = ["table", "captioned_variant"]
    ranked = counts.sort_values("agree", ascending=False, kind="stable").groupby(keys, sort=True)
    best = ranked.nth(0).sort_values(keys)
    second = ranked.nth(1)[[*keys, "variant", "agree"]].rename(
        columns={"variant": "runner_up", "agree": "runner_up_agree"}
    )
    rest = published.loc[published.captioned_variant == "all", keys].drop_duplicates()
    table = pd.concat([best.merge(second, on=keys, how="left"), rest.assign(variant="all")], ignore_index=True)
    counted = dict.fromkeys(["agree", "of", "runner_up_agree"], "Int64")
    return table.astype(counted).assign(paper=PAPER)[
        ["paper", *keys, "variant", "agree", "of", "runner_up", "runner_up_agree"]
    ]


def with_intervals(found: pd.DataFrame, published: pd.DataFrame, variants: pd.DataFrame) -> pd.DataFrame:
    """Every printed cell with what it is computed from: value, sd, n, low, high beside the printed numbers.

    `found`: `statistics` under the reconciled reading, with intervals. `variants`: `true_variants`.
    Columns: table, game, metric, captioned_variant, variant, model, prompt, opponent, published, published_sd, value, sd, n, low, high.
    """
    both = _beside(found, published, variants).rename(columns={"mean": "published", "std": "published_sd"})
    names = ["table", "game", "metric", "captioned_variant", *KEYS, "published", "published_sd"]
    return both[[*names, "value", "sd", "n", "low", "high"]]


def differences(
    matches: pd.DataFrame, cells: pd.DataFrame, published: pd.DataFrame, variants: pd.DataFrame
) -> pd.DataFrame:
    """The printed cells that do not agree under the reconciled reading, with what they would need and the likely cause.

    `cells`: those of the reconciled reading. Columns: table, row, column, published (mean and sd), recomputed, recorded (the matches'
    own values), likely_cause.
    """
    wrong = whole_cells(cells)
    found = cells.set_index(["table", "row", "column", "statistic"]).sort_index()
    shown = variants.set_index(["table", "captioned_variant"]).variant
    decimals = _decimals(published)
    rows = []
    for table, row, column in wrong.loc[~wrong.agrees, ["table", "row", "column"]].itertuples(index=False):
        cell = found.loc[(table, row, column)]
        one = published[published.table == table].iloc[0]
        values = _recorded(matches, one.game, shown[table, one.captioned_variant], row, column)[
            READINGS["reconciled"][one.metric]
        ]
        printed, ours = (
            [f"{value:.{decimals[table]}f}" for value in cell[which]] for which in ("published", "recomputed")
        )
        rows.append(
            {
                "table": table,
                "row": row,
                "column": column,
                "published": " ± ".join(printed),
                "recomputed": " ± ".join(ours),
                "recorded": ", ".join(f"{value:g}" for value in values),
                "likely_cause": _cause(printed, ours, values.tolist()) + _same_pair(published, table, row, column),
            }
        )
    return pd.DataFrame(rows, columns=["table", "row", "column", "published", "recomputed", "recorded", "likely_cause"])


def _recorded(matches: pd.DataFrame, game: str, variant: str, row: str, opponent: str) -> pd.DataFrame:
    short, _, prompt = row.partition(" ")
    model = matches.model.astype(object).map(MODELS)
    chosen = (matches.game == game) & (matches.variant == variant) & (model == short)
    return matches[chosen & (matches.agent == prompt) & (matches.opponent == opponent)]


def _cause(printed: Sequence[str], ours: Sequence[str], values: Sequence[float]) -> str:
    digits = sum(a != b for a, b in zip(printed[0], ours[0], strict=False))
    if printed[1] == ours[1] and len(printed[0]) == len(ours[0]) and digits == 1:
        return (
            f"misprint: the standard deviation agrees, and the mean differs in one digit ({printed[0]} for {ours[0]})"
        )
    if len(values) == 2:
        half = float(printed[1]) / np.sqrt(2)
        needed = (round(float(printed[0]) - half), round(float(printed[0]) + half))
        return f"another match: the printed mean and deviation need values {needed[0]} and {needed[1]}, which are not those recorded"
    return "unknown"


def _same_pair(published: pd.DataFrame, table: int, row: str, column: str) -> str:
    """Whether the same mean and deviation are printed elsewhere for the same model, as when a line is copied."""
    here = published[(published.table == table) & (published.opponent == column)]
    here = here.assign(row=here.model + " " + here.prompt)
    cell = here[here.row == row].iloc[0]
    twins = here[
        (here.model == cell.model) & (here["mean"] == cell["mean"]) & (here["std"] == cell["std"]) & (here.row != row)
    ]
    return f"; the same pair is printed for {', '.join(twins.row)}, perhaps copied from there" if len(twins) else ""
