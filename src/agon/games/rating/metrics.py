"""Scores of ratings (of the game `rating`, or of people): means by player, winners against losers, and reliability.

A score is a row of COLUMNS. Theory of mind has three rows per turn and player, one for each order (`aspect`), with the value 1 or 0.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon.errors import AgonError
from agon.metrics.interval import SHARE, contrast_ratios, ends, jackknife, pooled, summary
from agon.turns import action_of, tidy

COLUMNS = ["match", "rater", "repetition", "view", "dimension", "aspect", "turn", "seat", "value"]
"""The rated match, the rater, the repetition (from 0), what the rater saw, the dimension and its aspect, the rated turn and seat,
and the score (0 to 1)."""

UNIT = ["match", "dimension", "aspect", "turn", "seat"]
"""The keys of a judgement, on which raters may agree."""
MEASURED = ["metric", "value", "n", "low", "high"]
SAME = 1e-9
"""Scores that differ by less are equal."""


def scores(turns: pd.DataFrame) -> pd.DataFrame:
    """The scores in turns of the game of rating. Unreadable answers, and random ones in their place, have none."""
    turns = tidy(turns)
    answers = turns[(turns.game == "rating") & turns.action.notna() & (turns.fallback == "")]
    rows = []
    for row in answers.itertuples():
        legal, detail = json.loads(row.legal)["ratings"], json.loads(row.detail)
        rater = row.agent if pd.isna(row.model) else f"{row.agent}@{row.model}"
        head = (detail["rated"], rater, row.repetition, detail["view"], row.phase)
        orders = legal["value"] if isinstance(legal["value"], list) else [""]
        for turn, player, value, _ in action_of(row.action):
            values = value if isinstance(value, list) else [value]
            seat = legal["players"].index(player)
            rows += [(*head, order, turn, seat, float(number)) for order, number in zip(orders, values, strict=True)]
    return pd.DataFrame(rows, columns=COLUMNS)


def averages(
    table: pd.DataFrame,
    by: Sequence[str] = ("rater", "dimension", "aspect"),
    pooling: str = "turns",
) -> pd.DataFrame:
    """Mean scores: the `by` keys, value, n, low, high; intervals are between matches. For an order of theory of mind it is the
    share of turns that show it.

    `pooling` turns, as published: all turns of all matches alike, so that long matches count for more; n counts turns. games:
    the mean over matches of the mean over turns; n counts matches.
    """
    if pooling == "turns":
        return pooled(table.assign(hits=table.value, n=1), by, limits=SHARE)
    if pooling != "games":
        raise AgonError(f"pooling is {pooling!r}; it must be turns or games")
    keys = list(by)
    means = table.groupby([*keys, "match"], observed=True, dropna=False).value.mean().reset_index()
    return summary(means, ["value"], keys, limits={"value": SHARE})[[*keys, "value", "n", "low", "high"]]


def outcomes(table: pd.DataFrame, by: Sequence[str] = ("dimension", "aspect")) -> pd.DataFrame:
    """Winners against losers: `by`, winners, losers (mean scores over turns), n_winners, n_losers, difference, delta, low, high, p.

    `table`: scores with a column `won`. delta, as published: winners over losers, less 1. low, high and p (two-sided, of this row by
    itself) belong to delta, and are between matches. Keys for which either has no score have no row; delta is absent where losers
    have none but 0.
    """
    rows = []
    rated = table[table.won.notna()].assign(hits=lambda scores: scores.value, n=1).astype({"won": bool})
    for key, part in rated.groupby(list(by), observed=True, sort=True, dropna=False):
        contrast = contrast_ratios([part[part.won], part[~part.won]], lambda means: means[0] / means[1] - 1)
        if not all(contrast.n):
            continue
        winners, losers = contrast.ratios
        delta = winners / losers - 1 if losers else np.nan
        rows.append(
            (
                *key,
                *contrast.ratios,
                *contrast.n,
                winners - losers,
                delta,
                contrast.low,
                contrast.high,
                contrast.p,
            )
        )
    names = ["winners", "losers", "n_winners", "n_losers", "difference", "delta", "low", "high", "p"]
    return pd.DataFrame(rows, columns=[*by, *names])


def reliability(table: pd.DataFrame, between: str = "rater", by: Sequence[str] = ("dimension",)) -> pd.DataFrame:
    """The agreement of judgements of the same unit: the `by` keys, metric, value, n (units judged at least twice), low, high.

    `between`: whose judgements are compared: rater (inter-rater, of one repetition), or repetition (test-retest; name rater in
    `by`). Metrics: alpha is Krippendorff's for interval data, which for booleans equals that for nominal data; it is absent where
    all judgements are the same. mae: mean absolute difference of two judgements. agreement: share of pairs of judgements that are
    equal. Orders of theory of mind are units of their own, taken together unless `by` names aspect. Intervals are between matches.
    Raises AgonError for a unit that somebody judged twice.
    """
    rows = []
    unit = list(dict.fromkeys([*UNIT, *(key for key in by if key != between)]))
    _require_single(table, unit, between)
    counts = _unit_counts(table, unit)
    groups = counts.groupby(list(by), observed=True, sort=True, dropna=False) if by else [((), counts)]
    for key, part in groups:
        sums = part.groupby("match", observed=True)[list(COUNTS)].sum().to_numpy(dtype=float)
        values = _measures(sums.sum(axis=0)[None, :])[0]
        errors, df = jackknife(sums, _measures) if len(sums) > 1 else (np.full(3, np.nan), np.zeros(3))
        for place, (metric, limits) in enumerate({"alpha": (-np.inf, 1.0), "mae": SHARE, "agreement": SHARE}.items()):
            if not np.isnan(values[place]):
                low, high = ends(values[place], errors[place], df[place], len(sums), limits=limits)
                rows.append((*key, metric, values[place], len(part), low, high))
    return pd.DataFrame(rows, columns=[*by, *MEASURED])


def distance(table: pd.DataFrame, reference: str, by: Sequence[str] = ("dimension",)) -> pd.DataFrame:
    """The distance of judgements from those of the rater `reference`: the `by` keys, metric, value, n, low, high.

    Every other rater's judgement makes a pair with the reference's; n counts pairs. agreement: share that are equal. mae: mean
    absolute difference. Intervals are between matches. Raises AgonError for a unit that somebody judged twice.
    """
    _require_single(table, UNIT, "rater")
    references = table.loc[table.rater == reference, [*UNIT, "value"]]
    both = table[table.rater != reference].merge(references, on=UNIT, suffixes=("", "_reference"))
    apart = (both.value - both.value_reference).abs()
    parts = [
        pooled(both.assign(hits=hits, n=1), by, limits=SHARE).assign(metric=metric)
        for metric, hits in (("agreement", apart < SAME), ("mae", apart))
    ]
    return pd.concat(parts, ignore_index=True)[[*by, *MEASURED]]


def compare_raters(table: pd.DataFrame, assessor: str) -> pd.DataFrame:
    """Compares raters with an assessor (`distance`) and with each other (`reliability`), for every dimension and order.

    Columns: between (assessor, raters), dimension, aspect (an order, or empty: all together), metric, value, n, low, high, absent
    (why there is no value, or no interval). Booleans have no mae: it would be 1 less the agreement. Only raters have an alpha.
    """
    raters = table[table.rater != assessor]
    parts = [
        part.assign(between=between).reindex(columns=["between", "dimension", "aspect", *MEASURED], fill_value="")
        for by in (["dimension"], ["dimension", "aspect"])
        for between, part in (
            ("assessor", distance(table, assessor, by)),
            ("raters", reliability(raters, by=by)),
        )
    ]
    key = ["between", "dimension", "aspect", "metric"]
    table_of_values = pd.concat(parts, ignore_index=True).drop_duplicates(key).set_index(key)
    keys = [
        (between, dimension, aspect, metric)
        for between, metrics in (("assessor", ("agreement", "mae")), ("raters", ("agreement", "mae", "alpha")))
        for dimension, part in table.groupby("dimension", sort=True)
        for aspect in dict.fromkeys(["", *part.aspect])
        for metric in metrics
        if metric != "mae" or not part.aspect.any()
    ]
    full = table_of_values.reindex(pd.MultiIndex.from_tuples(keys, names=key)).reset_index()
    full = full.astype(dict.fromkeys(("value", "n", "low", "high"), float)).fillna({"n": 0}).astype({"n": int})
    full["absent"] = [_why_absent(row, table, raters) for row in full.itertuples()]
    return full


def _why_absent(row: Any, table: pd.DataFrame, raters: pd.DataFrame) -> str:
    """The reason why a row of `compare_raters` has no value or no interval; empty if it has both."""
    if not np.isnan(row.value):
        return "no interval: one match, or all are alike" if np.isnan(row.low) else ""
    judgements = raters[
        (raters.dimension == row.dimension) & raters.aspect.isin([row.aspect] if row.aspect else raters.aspect)
    ]
    if judgements.empty:
        return "no rater has judged it"
    if row.between == "assessor":
        judged = (table.dimension == row.dimension).sum() > (raters.dimension == row.dimension).sum()
        return "no turn is judged by the assessor and a rater" if judged else "the assessor has not judged it"
    if judgements.rater.nunique() < 2:
        return "there is one rater only"
    twice = judgements.duplicated(UNIT).any()
    return "all judgements are the same" if twice else "no turn is judged by two raters"


def _require_single(table: pd.DataFrame, unit: Sequence[str], between: str) -> None:
    """Raises AgonError for a unit that somebody judged twice."""
    twice = table[table.duplicated([*unit, between])]
    if len(twice):
        first = twice.iloc[0]
        raise AgonError(
            f"match {first['match']}, {first.dimension}, turn {first.turn}: judged twice by the same {between}; "
            f"choose one, or name what tells them apart in `by`"
        )


COUNTS = ("judgements", "sum", "squares", "spread", "pairs", "apart", "equal")
"""The counts of a unit: judgements, their sum and sum of squares; the squared differences of all ordered pairs divided by the number
of other judgements; pairs, the sum of their absolute differences, and the number of equal ones."""


def _unit_counts(table: pd.DataFrame, unit: Sequence[str]) -> pd.DataFrame:
    """The COUNTS of every unit with at least two judgements."""
    rows = []
    for key, values in table.groupby(list(unit), observed=True, sort=True, dropna=False).value:
        x = values.to_numpy(dtype=float)
        m = len(x)
        if m < 2:
            continue
        apart = np.abs(x[:, None] - x[None, :])
        spread = (apart**2).sum() / (m - 1)
        equal = ((apart < SAME).sum() - m) / 2
        rows.append((*key, m, x.sum(), (x**2).sum(), spread, m * (m - 1) / 2, apart.sum() / 2, equal))
    return pd.DataFrame(rows, columns=[*unit, *COUNTS])


def _measures(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """alpha, mae and agreement (columns) of sums of COUNTS (rows)."""
    n, total, squares, spread, pairs, apart, equal = sums.T
    chance = 2 * (n * squares - total**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = np.where(chance > 1e-9 * n, 1 - (n - 1) * spread / chance, np.nan)
        return np.column_stack([alpha, apart / pairs, equal / pairs])
