"""Conditions compared by metrics: does chain of thought change cooperation, by how much, and is it enough?"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from agon.conf import offered, renaming_told
from agon.errors import AgonError
from agon.metrics.power import needed
from agon.scores import known, scores, with_all
from agon.turns import cut_off, partial, replaced
from agon_design.differences import Difference, alone, difference
from agon_design.prereg import condition_now
from agon_design.strengths import Strengths, strengths
from agon_design.units import OF_SEAT, in_both, silent_matches, units_of
from agon_design.words import condition_told, held_fixed, left_out, pair_told, why_apart, without_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEYS, CELL = (
    ["metric", "first", "second"],
    ["n_first", "n_second", "first_mean", "second_mean", "difference", "low", "high"],
)


@dataclass(frozen=True)
class Comparison:
    """What `compare` found, as tables; as a text it says the same in words."""

    pairs: pd.DataFrame
    """One row per metric and two conditions: metric, first, second; the fields of agon_design.differences.Difference, where
    `difference` is the second less the first; holm (p after Holm's correction over all rows), needed_to_detect (matches of each)."""
    strata: pd.DataFrame
    """One row per metric, two conditions and stratum: what they share, and CELL."""
    conditions: pd.DataFrame
    """One row per condition: matches, answers (asked for), void (no readable action), replaced (something was done in its
    stead), cut_off (the model's answer was not whole)."""
    notes: list[str]
    """What a reader must know: what was left out, and why something is absent."""

    def __str__(self) -> str:
        """In words."""
        return "\n".join(
            [*map(pair_told, self.pairs.itertuples()), *map(condition_told, self.conditions.itertuples()), *self.notes]
        )

    def figure(self, row: int = 0) -> "Figure":
        """The strata of a row of `pairs`, as a picture."""
        from agon.figures.strata import strata_figure  # here: matplotlib takes a while to be read

        together = self.pairs.iloc[row]
        own = (self.strata[KEYS] == together[KEYS]).all(axis=1)
        keys = [each for each in self.strata if each not in (*KEYS, *CELL)]
        [most] = [each.widest for each in known() if each.name == together.metric]
        return strata_figure(self.strata[own].reset_index(drop=True), together, keys, most)


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
    """Compares conditions by metrics (see `known` of agon.scores), match by match, within what the conditions share.

    `games`: the games of the turns (agon.turns.read_games).
    `by`: a column that has one value per match and seat, one of `turns` or opponent or opponent_model; COLUMN:ONE,OTHER compares
    these, else all values there are. Of three or more all pairs are compared.
    `within`: the columns whose values two matches must share to be compared; none: OF_SEAT without `by`. A match counts once: for the
    seats under test where its game has some, else for the first seat that has one of the conditions. With `repetition` among
    `within`, repetitions are pairs. A match in which a seat gave no answer of its own has no metric of what was played.
    A metric of OF_ASKING says how asking went, and counts these matches too: what gave no readable answer is a share of 0.
    `detect`: a difference, for which the matches needed are said too; of several metrics, the difference of each by its name.
    `alike`: all strata count alike, however many matches they have, as in `agon_design.power`; else as their matches weigh.
    Raises AgonError for a metric, column or condition that is not there, and where no two conditions share anything.
    """
    agents = {*turns.agent.dropna().unique()} if "agent" in turns else set()
    turns = with_all(turns)
    names = [metrics] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not names:
        raise AgonError("say by which metric to compare (agon list metrics)")
    wanted_differences = _by_metric(detect, names)
    column, _, listed = by.partition(":")
    strata = list(within) or [each for each in OF_SEAT if each != column]
    wanted = [each for each in dict.fromkeys(condition_now(column, each) for each in listed.split(",")) if each]
    _require_apart(column, strata, names)
    units = units_of(turns, games, column, strata, wanted)
    conditions = wanted or sorted(units.condition.unique())
    if gone := [each for each in conditions if each not in set(units.condition)]:
        there = units_of(turns, games, column, strata, ()).condition.unique()
        if column in turns and (turns[column] == gone[0]).any():
            raise AgonError(
                f"no match counts for {column} {gone[0]!r}: wherever it plays another condition sits before it, or is under test"
            )
        raise AgonError(f"no match has {column} {gone[0]!r}: {offered(gone[0], sorted(there))}")
    if len(conditions) < 2:
        raise AgonError(f"to compare takes two conditions, and {column} has {' '.join(conditions) or 'none'} alone")
    sides = units[["match", "seat_of"]].explode("seat_of").rename(columns={"seat_of": "seat"}).astype({"seat": int})
    known_scores = scores(turns[turns["match"].isin(units["match"])], games, names, sorted(sides.seat.unique()))
    means = sides.merge(known_scores, "left", ["match", "seat"]).groupby("match")[names].mean()
    units = units.join(means, on="match").assign(silent=units["match"].isin(silent_matches(turns)))
    metric_of = {each.name: each for each in known()}
    asking = {name for name, each in metric_of.items() if each.of_asking}
    units.loc[units.silent, [name for name in names if name not in asking]] = np.nan
    rows, cells, notes = (
        list[dict[str, Any]](),
        list[pd.DataFrame](),
        [
            *(f"note: partial: {each}" for each in partial(turns)),
            *renaming_told("agent", agents.union(re.split("[,+]", listed))),
        ],
    )
    apart = list[str]()
    for name in names:
        for pair in combinations(conditions, 2):
            shared, values = in_both(units, name, pair, strata)
            if not values:
                apart.append(why_apart(units, name, pair, strata))
                continue
            found = difference(values, alike=alike)
            of = {"metric": name, "first": pair[0], "second": pair[1]}
            fields, most = (
                _fields(found, wanted_differences.get(name), bool(wanted_differences)),
                metric_of[name].widest,
            )
            rows.append(of | _possible(fields, most))
            cells.append(shared.assign(**_possible(alone(values), most), **of))
    if not rows:
        raise AgonError(apart[0])
    pairs = pd.DataFrame(rows)
    pairs.insert(pairs.columns.get_loc("p_error") + 1, "holm", multipletests(pairs.p.to_numpy(), method="holm")[1])
    table = pd.concat(cells, ignore_index=True)
    counts = _counts(turns, sides, units, conditions)
    return Comparison(
        pairs,
        table[[*KEYS, *table.columns.drop(KEYS)]],
        counts,
        [
            *(held_fixed(table, strata), *notes, *dict.fromkeys(apart)),
            *left_out(units, names, asking, table, strata),
            *without_value(units, [metric_of[name] for name in names], turns),
        ],
    )


def _possible(found: Mapping[str, Any], most: float) -> dict[str, Any]:
    """What was found, with an interval that leaves out what no difference can be: more than `most`."""
    return dict(found) | {end: np.clip(found[end], -most, most) for end in ("low", "high")}


def _require_apart(column: str, strata: Sequence[str], names: Collection[str]) -> None:
    """Raises AgonError for a condition or stratum that no two matches can have, or whose name the result needs."""
    if column == "seat":
        raise AgonError("seat is no condition: every match has all its seats, and counts once")
    if "match" in (column, *strata):
        raise AgonError("match tells every match from all others: it is neither a condition nor what two can share")
    if column in strata:
        raise AgonError(f"{column} is what is compared: two conditions never share it, so leave it out of within")
    taken = {"condition", "both", "seat_of", "silent", *KEYS, *CELL, *names}
    if own := [each for each in strata if each in taken]:
        raise AgonError(f"within has a column {own[0]!r}, which the result has too: rename yours")


def _by_metric(detect: float | Mapping[str, float] | None, names: Sequence[str]) -> Mapping[str, float]:
    """The difference to be detected of each metric that has one. Raises AgonError."""
    differences = [*detect.values()] if isinstance(detect, Mapping) else [] if detect is None else [detect]
    if wrong := [each for each in differences if not 0 < each < inf]:
        raise AgonError(f"a difference to be detected must be a number above 0, not {wrong[0]}")
    if isinstance(detect, Mapping):
        if strange := [each for each in detect if each not in names]:
            raise AgonError(f"detect has {strange[0]!r}, which is not compared: {offered(strange[0], names)}")
        return detect
    if detect is not None and len(names) > 1:
        each = " ".join(f"--detect {name}=..." for name in names)
        raise AgonError(
            f"a difference of {detect:g} of which metric? Their units differ: write {each}, or some of them"
        )
    return {} if detect is None else {names[0]: detect}


def _fields(found: Difference, detect: float | None, asked: bool) -> dict[str, Any]:
    count = nan if detect is None else needed(detect, found.spread, found.how == "paired")
    return asdict(found) | ({"detect": nan if detect is None else detect, "needed_to_detect": count} if asked else {})


def _counts(turns: pd.DataFrame, sides: pd.DataFrame, units: pd.DataFrame, conditions: Sequence[str]) -> pd.DataFrame:
    """One row per condition: its matches, and what became of the answers of its seats."""
    asked = turns.asked
    rows = turns[["match", "seat"]].assign(
        answers=asked, void=asked & turns.action.isna(), replaced=replaced(turns), cut_off=cut_off(turns)
    )
    each = rows.groupby(["match", "seat"], observed=True).sum().reset_index().astype({"match": "str"})
    own = sides.merge(each, on=["match", "seat"]).merge(units[["match", "condition"]], on="match")
    sums = own.groupby("condition")[["answers", "void", "replaced", "cut_off"]].sum()
    sums.insert(0, "matches", own.groupby("condition")["match"].nunique())
    return sums.reindex(conditions).reset_index()


def rate(
    turns: pd.DataFrame, games: pd.DataFrame, metric: str = "points", by: Sequence[str] = ("agent", "model")
) -> Strengths:
    """How strong players are by a metric of which more is better, from the matches in which they met (agon_design.strengths).

    A player is what its seat has in the columns `by`, as agent@model. A match counts where every seat has the metric.
    Raises AgonError for a metric or column that is not there, and where no two players met.
    """
    turns = with_all(turns)
    if wrong := [name for name in by if name in ("match", metric)]:
        raise AgonError(f"by={wrong[0]} names no player: it tells apart what is compared (usual: agent,model)")
    if unknown := [each for each in by if each not in turns]:
        raise AgonError(f"turns have no column {unknown[0]!r}: {offered(unknown[0], [*map(str, turns)])}")
    seats = turns.drop_duplicates(["match", "seat"])[list(dict.fromkeys(["match", "seat", *by]))].astype(
        {"match": "str"}
    )
    names = seats[list(by)].astype("str").astype(object)
    texts = ["@".join(each for each in row if isinstance(each, str) and each) for row in names.to_numpy()]
    values = scores(turns, games, [metric]).rename(columns={metric: "score"})
    values.loc[values["match"].isin(silent_matches(turns)), "score"] = np.nan
    found = seats[["match", "seat"]].assign(player=texts).merge(values, on=["match", "seat"])
    return strengths(found[found.score.notna().groupby(found["match"]).transform("all")])
