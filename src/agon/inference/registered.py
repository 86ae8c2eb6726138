"""Analyses beside what was registered: which matches are left out, and whether what is compared is what was to be compared."""

from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path

import pandas as pd

from agon.conf import names, settings_of
from agon.errors import AgonError
from agon.inference.compare import compare
from agon.inference.prereg import Exclusion, Hypothesis, checked, condition_now, exclusions, hypotheses, registrations
from agon.inference.scores import with_all
from agon.inference.words import of_matches
from agon.paths import ROOT
from agon.turns import PARTIAL, replaced


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
    lines = [
        line
        for name, rows in _carrying(turns)
        for line in checked(_recording(name), own, _file(name), rows["match"].unique())
    ]
    return lines + excluded(turns)[1]


def excluded(turns: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """`turns` without the matches that their experiments' preregistrations leave out, and how many each exclusion names, in words.

    Exclusions in free words leave out nothing. Raises AgonError where a column is missing.
    """
    gone, lines = set[str](), list[str]()
    for name, rows in _carrying(turns):
        for each in exclusions(_recording(name)):
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
        for each in hypotheses(_recording(name)):
            try:
                pairs = compare(kept, games, each.metric, each.by, within=each.within, alike=each.alike).pairs
            except AgonError as error:
                found.append((each, nan, nan))
                failed.append(f"{each.metric} by {each.by}: {error}")
            else:
                found.append((each, pairs.low[0], pairs.high[0]))
        lines += checked(_recording(name), found, _file(name), rows["match"].unique()) + left_out + failed
    return lines


def carrying(experiments: Iterable[str]) -> list[str]:
    """Those whose recording carries a preregistration, as turns call them (partial ones too)."""
    return [each for each in experiments if registrations(_recording(each))]


def _carrying(turns: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(each, turns[turns.experiment == each]) for each in carrying(turns.experiment.unique())]


def _recording(experiment: str) -> Path:
    return ROOT / "data/recordings" / _named_alone(experiment)


def _named_alone(experiment: str) -> str:
    """Without what turns say of being partial, or of folders."""
    return PARTIAL.sub("", experiment).replace("/", "_")


def _file(experiment: str) -> str | None:
    """The preregistration that an experiment names now."""
    name = _named_alone(experiment)
    return settings_of("experiment", name).get("prereg") if name in names("experiment") else None
