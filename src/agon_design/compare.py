"""Compares conditions by metrics: does chain of thought change cooperation, by how much, and are the matches enough?"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from agon.conf import renaming_notes, suggest
from agon.errors import AgonError
from agon.metrics.power import needed
from agon.scores import all_metrics, require_values
from agon.turns import partial
from agon_design.differences import Difference, by_stratum, difference
from agon_design.prereg import condition_now
from agon_design.seats import COUNTS, seat_rows
from agon_design.strengths import Strengths, strengths
from agon_design.units import OF_SEAT, in_both, require_columns, silent_matches, units_of
from agon_design.words import (
    explain_condition,
    explain_fixed,
    explain_left_out,
    explain_missing_pair,
    explain_missing_values,
    explain_pair,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEYS, CELL = (
    ["metric", "first", "second"],
    ["n_first", "n_second", "first_mean", "second_mean", "difference", "low", "high"],
)


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`, as tables; `str` says the same in words."""

    pairs: pd.DataFrame
    """One row per metric and two conditions: metric, first, second; the fields of agon_design.differences.Difference, where
    `difference` is the second less the first; holm (p after Holm over all rows), needed_to_detect (matches of each condition)."""
    strata: pd.DataFrame
    """One row per metric, two conditions and stratum: the columns that the two share, and CELL."""
    conditions: pd.DataFrame
    """One row per condition: matches, answers (asked for), void (no readable action), replaced (another action stands in its
    place), cut_off (the model's answer was cut off)."""
    notes: list[str]
    """Notes for the reader: the matches left out, and the reasons for absent numbers."""
    alike: bool
    """Whether all strata weigh the same."""

    def __str__(self) -> str:
        """The comparison in words."""
        return "\n".join(
            [
                *map(explain_pair, self.pairs.itertuples()),
                *map(explain_condition, self.conditions.itertuples()),
                *self.notes,
            ]
        )

    def figure(self, row: int = 0) -> "Figure":
        """The figure of the strata of a row of `pairs`."""
        from agon_design.strata import strata_figure  # here, because matplotlib takes a while to import

        together = self.pairs.iloc[row]
        of_row = (self.strata[KEYS] == together[KEYS]).all(axis=1)
        keys = [item for item in self.strata if item not in (*KEYS, *CELL)]
        [most] = [item.widest for item in all_metrics() if item.name == together.metric]
        return strata_figure(self.strata[of_row].reset_index(drop=True), together, keys, most, self.alike)


@dataclass(frozen=True)
class Question:
    """The question of a comparison: its conditions, strata and metrics. See `compare`."""

    metrics: Sequence[str]
    column: str
    """The column of conditions."""
    choices: Sequence[str]
    """The conditions, by their present names; none: all values of the column."""
    strata: Sequence[str]
    """The columns whose values are equal within a stratum."""
    detect: Mapping[str, float]
    """Metric -> a difference to detect."""
    alike: bool
    """Whether all strata weigh the same."""
    words: Sequence[str]
    """The conditions as they were written."""


def question(
    metrics: str | Sequence[str],
    by: str,
    *,
    within: Sequence[str] = (),
    detect: float | Mapping[str, float] | None = None,
    alike: bool = False,
) -> Question:
    """The question of these arguments of `compare`. Raises AgonError."""
    names = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not names:
        raise AgonError("say by which metric to compare (agon list metrics)")
    column, _, values_text = by.partition(":")
    strata = list(within) or [item for item in OF_SEAT if item != column]
    choices = list(dict.fromkeys(condition_now(column, value) for value in values_text.split(",") if value))
    detectable = _by_metric(detect, names)
    _require_distinct(column, strata, names)
    return Question(names, column, choices, strata, detectable, alike, re.split("[,+]", values_text))


def compare(
    turns: pd.DataFrame,
    games: pd.DataFrame,
    metrics: str | Sequence[str],
    by: str,
    *,
    within: Sequence[str] = (),
    detect: float | Mapping[str, float] | None = None,
    alike: bool = False,
) -> Comparison:
    """Compares conditions by metrics (see `all_metrics` of agon.scores), match by match, within strata.

    `games`: the games of the turns (agon.turns.read_games).
    `by`: a column with one value per match and seat, one of `turns` or opponent or opponent_model. COLUMN:ONE,OTHER compares these
    two values; else all pairs of values are compared.
    `within`: the columns whose values are equal within a stratum; none: OF_SEAT without `by`. With `repetition` among them, repetitions
    are pairs. A match counts once: for the seats under test if its game has some, else for the first seat with one of the conditions.
    A match in which a seat gave no answer of its own has no metric of play. Metrics of OF_ASKING say how asking went, and count
    it too: an unreadable answer is a share of 0.
    `detect`: a difference whose number of matches is computed too; for several metrics, the difference of each by its name.
    `alike`: all strata weigh the same, as in `agon_design.power`; else they weigh by their matches.
    Raises AgonError for a metric, column or condition that does not exist, and where no two conditions share a stratum.
    """
    asked = question(metrics, by, within=within, detect=detect, alike=alike)
    return compare_seats(seats_for(asked, turns, games), games, asked)


def seats_for(asked: Question, turns: pd.DataFrame | Iterable[pd.DataFrame], games: pd.DataFrame) -> pd.DataFrame:
    """The seats of turns (agon_design.seats.seat_rows), with what a question needs."""
    return seat_rows(turns, games, asked.metrics, [asked.column, *asked.strata], (asked.column, asked.choices))


def compare_seats(seats: pd.DataFrame, games: pd.DataFrame, asked: Question) -> Comparison:
    """`compare` of the seats of turns (`seats_for`). Raises AgonError."""
    names, strata, detectable, alike = asked.metrics, asked.strata, asked.detect, asked.alike
    units, conditions = units_asked(seats, games, asked)
    sides = units[["match", "seat_of"]].explode("seat_of").rename(columns={"seat_of": "seat"}).astype({"seat": int})
    require_values(seats[seats["match"].isin(units["match"])], names)
    sides = sides.merge(seats[["match", "seat", *COUNTS, *names]], "left", ["match", "seat"])
    means = sides.groupby("match")[names].mean()
    units = units.join(means, on="match").assign(silent=units["match"].isin(silent_matches(seats)))
    metric_of = {metric.name: metric for metric in all_metrics()}
    asking = {name for name, metric in metric_of.items() if metric.of_asking}
    units.loc[units.silent, [name for name in names if name not in asking]] = np.nan
    rows, cells, gaps = list[dict[str, Any]](), list[pd.DataFrame](), list[str]()
    for name in names:
        for pair in combinations(conditions, 2):
            shared, values = in_both(units, name, pair, strata)
            if not values:
                gaps.append(explain_missing_pair(units, name, pair, strata))
                continue
            fields = _fields(difference(values, alike=alike), detectable.get(name), bool(detectable))
            labels, most = {"metric": name, "first": pair[0], "second": pair[1]}, metric_of[name].widest
            rows.append(labels | _clip_interval(fields, most))
            cells.append(shared.assign(**_clip_interval(by_stratum(values), most), **labels))
    if not rows:
        raise AgonError(gaps[0])
    pairs = pd.DataFrame(rows)
    pairs.insert(pairs.columns.get_loc("p_error") + 1, "holm", multipletests(pairs.p.to_numpy(), method="holm")[1])
    table = pd.concat(cells, ignore_index=True)
    notes = [
        explain_fixed(table, strata),
        *(f"note: partial: {text}" for text in partial(seats)),
        *renaming_notes("agent", {*seats.recorded, *asked.words}),
        *dict.fromkeys(gaps),
        *explain_left_out(units, names, asking, table, strata),
        *explain_missing_values(units, [metric_of[name] for name in names], seats),
    ]
    counts = _counts(sides, units, conditions)
    return Comparison(pairs, table[[*KEYS, *table.columns.drop(KEYS)]], counts, notes, alike)


def units_asked(seats: pd.DataFrame, games: pd.DataFrame, asked: Question) -> tuple[pd.DataFrame, Sequence[str]]:
    """The units (`units_of`) of a question, and its conditions. Raises AgonError where a condition has no match, or is the only one."""
    column, strata = asked.column, asked.strata
    units = units_of(seats, games, column, strata, asked.choices)
    conditions = asked.choices or sorted(units.condition.unique())
    if unknown := [item for item in conditions if item not in set(units.condition)]:
        existing = units_of(seats, games, column, strata, ()).condition.unique()
        if column in seats and (seats[column] == unknown[0]).any():
            raise AgonError(
                f"no match counts for {column} {unknown[0]!r}: wherever it plays another condition sits before it, or is under test"
            )
        raise AgonError(f"no match has {column} {unknown[0]!r}: {suggest(unknown[0], sorted(existing))}")
    if len(conditions) < 2:
        raise AgonError(f"to compare takes two conditions, and {column} has {' '.join(conditions) or 'none'} alone")
    return units, conditions


def _clip_interval(result: Mapping[str, Any], most: float) -> dict[str, Any]:
    """`result` with its interval clipped at `most`, the largest possible difference."""
    return dict(result) | {end: np.clip(result[end], -most, most) for end in ("low", "high")}


def _require_distinct(column: str, strata: Sequence[str], names: Collection[str]) -> None:
    """Raises AgonError for a condition or stratum that no two matches can share, or whose name the result needs."""
    if column == "seat":
        raise AgonError("seat is no condition: every match has all its seats, and counts once")
    if "match" in (column, *strata):
        raise AgonError("match tells every match from all others: it is neither a condition nor what two can share")
    if column in strata:
        raise AgonError(f"{column} is what is compared: two conditions never share it, so leave it out of within")
    reserved = {"condition", "beside", "seat_of", "silent", *KEYS, *CELL, *names}
    if clashes := [column_name for column_name in strata if column_name in reserved]:
        raise AgonError(f"within has a column {clashes[0]!r}, which the result has too: rename yours")


def _by_metric(detect: float | Mapping[str, float] | None, names: Sequence[str]) -> Mapping[str, float]:
    """Metric -> the difference to detect. Raises AgonError."""
    differences = [*detect.values()] if isinstance(detect, Mapping) else [] if detect is None else [detect]
    if wrong := [number for number in differences if not 0 < number < inf]:
        raise AgonError(f"a difference to be detected must be a number above 0, not {wrong[0]}")
    if isinstance(detect, Mapping):
        if strange := [name for name in detect if name not in names]:
            raise AgonError(f"detect has {strange[0]!r}, which is not compared: {suggest(strange[0], names)}")
        return detect
    if detect is not None and len(names) > 1:
        options = " ".join(f"--detect {name}=..." for name in names)
        raise AgonError(
            f"a difference of {detect:g} of which metric? Their units differ: write {options}, or some of them"
        )
    return {} if detect is None else {names[0]: detect}


def _fields(result: Difference, detect: float | None, is_wanted: bool) -> dict[str, Any]:
    count = nan if detect is None else needed(detect, result.spread, result.how == "paired")
    return asdict(result) | (
        {"detect": nan if detect is None else detect, "needed_to_detect": count} if is_wanted else {}
    )


def _counts(sides: pd.DataFrame, units: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """One row per condition: its matches, and counts of its seats' answers."""
    by_condition = sides.merge(units[["match", "condition"]], on="match").groupby("condition")
    sums = by_condition[COUNTS[:4]].sum().set_axis(["answers", "void", "replaced", "cut_off"], axis="columns")
    sums.insert(0, "matches", by_condition["match"].nunique())
    return sums.reindex(conditions).reset_index()


def rate(
    turns: pd.DataFrame, games: pd.DataFrame, metric: str = "points", by: Sequence[str] = ("agent", "model")
) -> Strengths:
    """The strengths of players (agon_design.strengths) by a metric of which more is better, from the matches between them.

    A player is named by the values of its seat in the columns `by`, as agent@model. A match counts if every seat has the metric.
    Raises AgonError for a metric or column that does not exist, and where no two players met.
    """
    return rate_seats(seats_to_rate(turns, games, metric, by), metric, by)


def seats_to_rate(
    turns: pd.DataFrame | Iterable[pd.DataFrame], games: pd.DataFrame, metric: str, by: Sequence[str]
) -> pd.DataFrame:
    """The seats of turns (agon_design.seats.seat_rows), with what `rate_seats` needs. Raises AgonError."""
    if wrong := [name for name in by if name in ("match", metric)]:
        raise AgonError(f"by={wrong[0]} names no player: it tells apart what is compared (usual: agent,model)")
    if not by:
        raise AgonError("by= names no column that tells players apart (usual: agent,model)")
    if len({*by}) < len(by):
        raise AgonError(f"by={','.join(by)} has a column twice: name each once (usual: agent,model)")
    return seat_rows(turns, games, [metric], by)


def rate_seats(seats: pd.DataFrame, metric: str, by: Sequence[str]) -> Strengths:
    """`rate` of the seats of turns (`seats_to_rate`). Raises AgonError."""
    require_columns(by, [*map(str, seats)])
    require_values(seats, [metric])
    names = ["@".join(filter(None, map(str, row))) for row in seats[list(by)].to_numpy()]
    results = seats[["match", "seat"]].assign(
        player=names, score=seats[metric].mask(seats["match"].isin(silent_matches(seats)))
    )
    return strengths(results[results.score.notna().groupby(results["match"]).transform("all")])
