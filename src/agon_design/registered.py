"""Analyses beside what was registered: which matches are left out, and whether what is compared is what was to be compared."""

from collections.abc import Collection, Sequence
from math import nan
from pathlib import Path

import pandas as pd

from agon.errors import AgonError, count
from agon.paths import ROOT
from agon.scores import with_all
from agon.turns import PARTIAL, replaced
from agon_design.compare import compare
from agon_design.prereg import Exclusion, Hypothesis, Preregistration, condition_now, plan_hash, registration
from agon_design.words import of_matches


def registered(turns: pd.DataFrame, found: pd.DataFrame, by: str, within: Sequence[str], alike: bool) -> list[str]:
    """Of the experiments in turns that carry a preregistration: whether `found` is what it names, in words.

    `found`: the pairs of `compare`, of what `excluded` leaves of the turns.
    """
    column = by.partition(":")[0]
    own = [
        (
            Hypothesis(row.metric, f"{column}:{row.first},{row.second}", "difference", tuple(within), alike),
            row.low,
            row.high,
        )
        for row in found.itertuples()
    ]
    lines = [line for name, rows in _carrying(turns) for line in checked(_recording(name), own, rows["match"].unique())]
    return lines + excluded(turns)[1]


def excluded(turns: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """`turns` without the matches that their experiments' preregistrations leave out, and how many each exclusion names, in words.

    Exclusions in free words leave out nothing. Raises AgonError where a column is missing.
    """
    gone, lines = set[str](), list[str]()
    for name, rows in _carrying(turns):
        for each in [each for each in _content(name).exclusions if isinstance(each, Exclusion)]:
            own = _named_by(each, with_all(rows))
            lines.append(f"registered exclusion: {each}: {of_matches(len(own), rows['match'].unique())} left out")
            gone |= own
    return turns[~turns["match"].isin(gone)], lines


def _named_by(exclusion: Exclusion, turns: pd.DataFrame) -> set[str]:
    """The matches that it names."""
    if exclusion.unreadable is not None:
        asked = turns[turns.asked]
        lost = asked.action.isna() | replaced(asked)
        shares = lost.groupby([asked["match"], asked.seat], observed=True).mean()
        return set(shares[shares > exclusion.unreadable].index.get_level_values("match"))
    if exclusion.rounds is not None:
        rounds = turns.groupby("match", observed=True)["round"].nunique()
        return set(rounds.index[rounds < exclusion.rounds])
    column, value = ("agent", exclusion.agent) if exclusion.agent is not None else ("model", exclusion.model)
    return set(turns["match"][turns[column] == condition_now(column, str(value))])


def as_registered(turns: pd.DataFrame, games: pd.DataFrame) -> list[str]:
    """What the registered analyses of the experiments in turns say, in words: every hypothesis is compared as it was registered."""
    lines = []
    for name, rows in _carrying(turns):
        kept, left_out = excluded(rows)
        found, failed = [], list[str]()
        for each in _content(name).hypotheses:
            try:
                pairs = compare(kept, games, each.metric, each.by, within=each.within, alike=each.alike).pairs
            except AgonError as error:
                found.append((each, nan, nan))
                failed.append(f"{each.metric} by {each.by}: {error}")
            else:
                found.append((each, pairs.low[0], pairs.high[0]))
        lines += checked(_recording(name), found, rows["match"].unique()) + left_out + failed
    return lines


def checked(
    folder: Path, found: Sequence[tuple[Hypothesis, float, float]], matches: Collection[str] | None = None
) -> list[str]:
    """Whether an analysis is the registered one, and what it says of the hypotheses, in words.

    `found`: what was compared (`expect` is not looked at), and the interval of each difference. `matches`: ids of those analysed
    (none: nothing is said of them).
    """
    known = registration(folder)
    if known is None:
        return []
    content = known.content
    lines = [f"registered ({known.fingerprint}): {content.question}"]
    if content.until is not None:
        lines.append(f"registered: asking stops when {content.until}")
        lines.append("note: after such a stop the interval of `agon record-until` holds; intervals here are too narrow")
    elif matches is not None and plan_hash(matches) != known.plan:
        lines.append(f"note: {count(len(matches), 'match')} are here, and {known.matches:,} were registered")
    keys = {_key(each): each for each in content.hypotheses}
    for analysis, low, high in found:
        own = keys.pop(_key(analysis), None)
        if own is None:
            near = [each for each in content.hypotheses if _key(each)[:2] == _key(analysis)[:2]]
            differs = f"; registered was: {near[0]}" if near else ""
            lines.append(f"not registered: {analysis.metric} by {analysis.by}{differs}")
        else:
            lines.append(f"registered: {own}: {_verdict(own.expect, low, high)}")
    lines += [f"registered, and not looked at here: {each}" for each in keys.values()]
    words = [each for each in content.exclusions if isinstance(each, str)]
    return lines + [f"registered exclusion, not checked: {each}" for each in words]


def _key(each: Hypothesis) -> tuple[str, str, frozenset[str], bool]:
    column, _, conditions = each.by.partition(":")
    by = ",".join(condition_now(column, condition) for condition in conditions.split(","))
    return each.metric, f"{column}:{by}", frozenset(each.within), each.alike


def _verdict(expect: str, low: float, high: float) -> str:
    if not low <= high:
        return "no interval"
    sign = 1 if low > 0 else -1 if high < 0 else 0
    wanted = {"more": (1,), "less": (-1,), "difference": (1, -1)}[expect]
    return "undecided" if sign == 0 else "as expected" if sign in wanted else "the opposite"


def _carrying(turns: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The experiments in turns whose recordings carry a registration, partial ones too, and their turns."""
    return [
        (each, turns[turns.experiment == each])
        for each in turns.experiment.unique()
        if registration(_recording(each)) is not None
    ]


def _content(experiment: str) -> Preregistration:
    known = registration(_recording(experiment))
    assert known is not None
    return known.content


def _recording(experiment: str) -> Path:
    """The folder of its recording; turns may call it partial, or by its folders."""
    return ROOT / "data/recordings" / PARTIAL.sub("", experiment).replace("/", "_")
