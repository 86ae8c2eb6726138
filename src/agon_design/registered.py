"""Compares analyses with their registration: which matches it excludes, and whether the analysis is the registered one."""

from collections.abc import Collection, Sequence
from math import nan
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from statsmodels.stats.multitest import multipletests

from agon.errors import AgonError, count
from agon.paths import ROOT
from agon.report.registration import plan_hash, registration
from agon.turns import PARTIAL
from agon_design.compare import compare
from agon_design.prereg import Exclusion, Hypothesis, Preregistration, condition_now, content_of
from agon_design.seats import seat_rows
from agon_design.words import of_matches

LEVEL = 0.05
"""The largest p, after Holm's correction over all registered hypotheses, with which a verdict is no longer undecided."""


class Result(NamedTuple):
    """The result of one comparison in an analysis."""

    comparison: Hypothesis
    """What was compared. Its `expect` is ignored."""
    low: float
    high: float
    """The ends of the 95 % interval of the difference."""
    p: float
    """The p before any correction."""


def check_comparison(
    turns: pd.DataFrame, pairs: pd.DataFrame, by: str, within: Sequence[str], alike: bool
) -> list[str]:
    """Lines that say, for each experiment with a registration, whether the comparison is a registered one.

    `turns`: turns, or their seats. `pairs`: the pairs of `compare`, of the seats that `exclude` keeps.
    """
    column = by.partition(":")[0]
    analyses = [
        Result(
            Hypothesis(row.metric, f"{column}:{row.first},{row.second}", "difference", tuple(within), alike),
            row.low,
            row.high,
            row.p,
        )
        for row in pairs.itertuples()
    ]
    return [
        line
        for name, rows in _with_registration(turns)
        for line in check_registration(_recording(name), analyses, rows["match"].unique())
    ]


def exclude(seats: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Removes the matches that the registrations of their experiments exclude; returns the other seats, and a line per exclusion.

    `seats`: agon_design.seats.seat_rows. Exclusions in free words remove nothing.
    """
    ids, lines = set[str](), list[str]()
    for name, rows in _with_registration(seats):
        for exclusion in _content(name).exclusions:
            if isinstance(exclusion, str):
                continue
            matches = _matches_excluded(exclusion, rows)
            lines.append(
                f"registered exclusion: {exclusion}: {of_matches(len(matches), rows['match'].unique())} left out"
            )
            ids |= matches
    return seats[~seats["match"].isin(ids)], lines


def _matches_excluded(exclusion: Exclusion, seats: pd.DataFrame) -> set[str]:
    """The ids of the matches that an exclusion leaves out."""
    if exclusion.unreadable is not None:
        excluded = (seats.n_asked - seats.n_own) / seats.n_asked > exclusion.unreadable
    elif exclusion.rounds is not None:
        excluded = seats.n_rounds < exclusion.rounds
    else:
        column, value = ("agent", exclusion.agent) if exclusion.agent is not None else ("model", exclusion.model)
        excluded = seats[column] == condition_now(column, str(value))
    return set(seats["match"][excluded])


def run_registered(turns: pd.DataFrame, games: pd.DataFrame) -> list[str]:
    """Runs the registered analyses of the experiments in turns; returns their results as lines."""
    lines = []
    for name, rows in _with_registration(turns):
        seats, left_out = exclude(seat_rows(rows, games))
        analysed = rows[rows["match"].isin(seats["match"])]
        results, failed = [], list[str]()
        for hypothesis in _content(name).hypotheses:
            try:
                pairs = compare(
                    analysed, games, hypothesis.metric, hypothesis.by, within=hypothesis.within, alike=hypothesis.alike
                ).pairs
            except AgonError as error:
                results.append(Result(hypothesis, nan, nan, nan))
                failed.append(f"{hypothesis.metric} by {hypothesis.by}: {error}")
            else:
                results.append(Result(hypothesis, pairs.low[0], pairs.high[0], pairs.p[0]))
        lines += check_registration(_recording(name), results, rows["match"].unique()) + left_out + failed
    return lines


def check_registration(folder: Path, results: Sequence[Result], matches: Collection[str] | None = None) -> list[str]:
    """Lines that say whether an analysis is the registered one, and the verdict on each hypothesis.

    A verdict takes the interval, and p after Holm's correction over all registered hypotheses. One without a result counts as if
    its p were 1, so that the corrected p of the others is an upper limit. `matches`: the ids of the matches in the analysis; None:
    no line compares them with the registered ones.
    """
    entry = registration(folder)
    if entry is None:
        return []
    content = content_of(entry)
    lines = [f"registered ({entry.fingerprint}): {content.question}"]
    if content.until is not None:
        lines.append(f"registered: asking stops when {content.until}")
        lines.append("note: after such a stop the interval of `agon record-until` holds; intervals here are too narrow")
    elif matches is not None and plan_hash(matches) != entry.plan:
        lines.append(f"note: {count(len(matches), 'match')} are here, and {entry.matches:,} were registered")
    keys = {_key(item): item for item in content.hypotheses}
    result_of = {_key(result.comparison): result for result in results}
    p_values = [result_of[key].p if key in result_of and result_of[key].p <= 1 else 1.0 for key in keys]
    corrected = dict(zip(keys, multipletests(p_values, method="holm")[1], strict=True))
    for key, result in result_of.items():
        hypothesis = keys.pop(key, None)
        if hypothesis is None:
            near = [item for item in content.hypotheses if _key(item)[:2] == key[:2]]
            differs = f"; registered was: {near[0]}" if near else ""
            lines.append(f"not registered: {result.comparison.metric} by {result.comparison.by}{differs}")
        else:
            lines.append(f"registered: {hypothesis}: {_verdict(hypothesis.expect, result, corrected[key])}")
    if len(corrected) > 1:
        over = f"p of the verdicts is after Holm over the {len(corrected)} registered hypotheses"
        lines.append(f"note: {over}" + "; it is an upper limit, because some are not looked at here" * bool(keys))
    lines += [f"registered, and not looked at here: {item}" for item in keys.values()]
    words = [item for item in content.exclusions if isinstance(item, str)]
    return lines + [f"registered exclusion, not checked: {item}" for item in words]


def _key(hypothesis: Hypothesis) -> tuple[str, str, frozenset[str], bool]:
    column, _, conditions = hypothesis.by.partition(":")
    by = ",".join(condition_now(column, condition) for condition in conditions.split(","))
    return hypothesis.metric, f"{column}:{by}", frozenset(hypothesis.within), hypothesis.alike


def _verdict(expect: str, result: Result, p: float) -> str:
    """The verdict, with what decides it: the interval, and p after the correction."""
    if not result.low <= result.high:
        return "no interval"
    sign = 1 if result.low > 0 else -1 if result.high < 0 else 0
    signs = {"more": (1,), "less": (-1,), "difference": (1, -1)}[expect]
    verdict = "undecided" if sign == 0 or p > LEVEL else "as expected" if sign in signs else "the opposite"
    return f"{verdict} (95 % interval {result.low:+.4g} to {result.high:+.4g}, p {p:.3g})"


def _with_registration(turns: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """(name, turns) of the experiments whose recordings have a registration; partial ones too."""
    return [
        (name, turns[turns.experiment == name])
        for name in turns.experiment.unique()
        if registration(_recording(name)) is not None
    ]


def _content(experiment: str) -> Preregistration:
    entry = registration(_recording(experiment))
    assert entry is not None
    return content_of(entry)


def _recording(experiment: str) -> Path:
    """The folder of an experiment's recording. Its name in turns may be marked as partial, or contain folders."""
    return ROOT / "data/recordings" / PARTIAL.sub("", experiment).replace("/", "_")
