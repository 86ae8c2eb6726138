"""What claims on the TradeCraft paper's games are decided from: whole tables, differences with intervals, and how numbers are said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from agon_papers.statements import Missing
from agon_papers.tradecraft import counts as tradecraft_counts
from agon_papers.tradecraft import scores as tradecraft_scores
from agon_papers.tradecraft.facts import DIMENSIONS, MODELS, PANELS, PERSONAS, Facts, group_of
from agon_papers.tradecraft.replay import Replay, replay
from agon_papers.tradecraft.scores import ratio_intervals

Result = tuple[bool | None, str]
"""Whether the records support the claim (None: they do not decide it), and the numbers."""

Who = Mapping[str, str]
"""Column of `tradecraft_scores.scored` -> the value wanted: whose scores."""

PASSES = (2, 1)
"""The second pass is the paper's, so it comes first."""


@dataclass(frozen=True)
class Gap:
    """A difference of two mean scores, with the interval over games."""

    one: float
    other: float
    low: float
    high: float
    games: int

    @property
    def value(self) -> float:
        """What `one` has more than `other`."""
        return self.one - self.other

    def __str__(self) -> str:
        return f"{self.one:.3f} against {self.other:.3f} ({self.low:+.3f} to {self.high:+.3f}, {self.games} games)"


@dataclass(frozen=True, eq=False)
class Evidence:
    """The facts, and tables of them. Asking for one whose games are not all there raises Missing."""

    facts: Facts

    @cached_property
    def whole(self) -> Facts:
        """The facts, if every pair of players has played all its ten games."""
        games = self.facts.players.groupby("matchup").match.nunique()
        if len(games) < len(PANELS) or (games < 10).any():
            raise Missing("the records of some pair of players are not all here")
        return self.facts

    @cached_property
    def counted(self) -> pd.DataFrame:
        """Counts by game and seat."""
        return tradecraft_counts.tallies(self.whole)

    @cached_property
    def rates(self) -> pd.DataFrame:
        """Rates by group and measure (index): value, n, games, low, high."""
        return tradecraft_counts.rates(self.counted).set_index(["group", "measure"])

    @cached_property
    def heads(self) -> pd.DataFrame:
        """Wins of each pair."""
        return tradecraft_counts.heads(self.whole)

    @cached_property
    def replayed(self) -> Replay:
        """All games replayed."""
        return replay(self.whole)

    @cached_property
    def outcomes(self) -> dict[int, pd.DataFrame]:
        """Winners against losers by pass, index dimension."""
        return {run: tradecraft_scores.outcomes(self.whole, run).set_index("dimension") for run in PASSES}

    @cached_property
    def retest(self) -> pd.DataFrame:
        """One pass against the other, index dimension."""
        return tradecraft_scores.retest(self.whole).set_index("dimension")

    @cached_property
    def bars(self) -> pd.Series:
        """The printed bars: index (measure, name)."""
        return self.facts.figure_4.set_index(["measure", "name"]).value.astype(float)

    @cache  # noqa: B019 - one evidence lives as long as its claims
    def scores(self, run: int) -> pd.DataFrame:
        """One pass's scores of logged turns."""
        return tradecraft_scores.scored(self.whole, run, logged_only=True)

    def gap(self, dimension: str, one: Who, other: Who, run: int = 2) -> Gap:
        """Mean score of one against another's, turns pooled; games are resampled."""
        table = self.scores(run)
        table = table[table.dimension == dimension]
        parts = [_selected(table, who).groupby("game").score.agg(["sum", "size"]) for who in (one, other)]
        games = sorted(set(parts[0].index) | set(parts[1].index))
        sums = [part.reindex(games).fillna(0).to_numpy(dtype=float) for part in parts]
        low, high = ratio_intervals(sums, lambda means: means[0] - means[1])
        means = [float(part[:, 0].sum() / part[:, 1].sum()) for part in sums]
        return Gap(means[0], means[1], low, high, len(games))

    def compared(self, dimension: str, one: Who, other: Who, sign: int = 1) -> Result:
        """Whether one scores higher (sign 1) or lower (-1): in both passes, by more than chance; undecided if only by the sign."""
        gaps = [self.gap(dimension, one, other, run) for run in PASSES]
        ends = [gap.low if sign > 0 else -gap.high for gap in gaps]
        right = all(sign * gap.value > 0 for gap in gaps)
        held = all(end > 0 for end in ends)
        return (held or None) if right else False, f"{DIMENSIONS[dimension]} {gaps[0]}; first pass {gaps[1]}"

    def against_rest(self, dimension: str, group: str, sign: int = 1) -> Result:
        """`compared` of a model or persona with every other one, in all its games; supported if it is against each."""
        others = [name for name in (MODELS if group in MODELS else PERSONAS) if name != group]
        found = {name: self.compared(dimension, {"group": group}, {"group": name}, sign) for name in others}
        return joined([held for held, _ in found.values()]), "; ".join(
            f"{group} and {name}: {text}" for name, (_, text) in found.items()
        )

    def rated(self, measure: str, names: Sequence[str], digits: int = 2) -> str:
        """'gpt-4o 2.10 (1.41 to 2.66)' for each name."""
        rows = self.rates.loc[[(name, measure) for name in names]]
        return ", ".join(
            f"{name} {row.value:.{digits}f} ({row.low:.{digits}f} to {row.high:.{digits}f})"
            for (name, _), row in rows.iterrows()
        )

    def rate(self, group: str, measure: str) -> float:
        """One of `rates`."""
        return float(self.rates.value[group, measure])

    def head(self, one: str, other: str) -> tuple[int, int, int, int]:
        """Games of a pair: won by one alone, by the other alone, by both, by neither."""
        table = self.heads
        groups = table[["one", "other"]].map(group_of)
        row = table[((groups.one == one) & (groups.other == other)) | ((groups.one == other) & (groups.other == one))]
        found = row.iloc[0]
        alone = [found.only_one, found.only_other]
        if group_of(found.one) != one:
            alone.reverse()
        return int(alone[0]), int(alone[1]), int(found.both), int(found.neither)


def _selected(table: pd.DataFrame, who: Who) -> pd.DataFrame:
    for column, value in who.items():
        table = table[table[column] == value]
    return table


def joined(held: Sequence[bool | None]) -> bool | None:
    """Several verdicts as one: false if one is, else undecided if one is."""
    return False if False in held else None if None in held else True


def spoken(head: tuple[int, int, int, int], one: str, other: str) -> str:
    """'gpt-4o 4, claude 3, both 0, neither 3 of 10'."""
    return f"{one} {head[0]}, {other} {head[1]}, both {head[2]}, neither {head[3]} of {sum(head)}"


def chance(one: int, other: int) -> float:
    """Two-sided p of a split among games that one of two won alone, if each were as likely."""
    return float(binomtest(one, one + other).pvalue) if one + other else np.nan


def extreme(evidence: Evidence, measure: str, name: str, sign: int = 1) -> bool | None:
    """Whether a group's rate is below (sign -1: above) every other's, by more than chance; undecided if only by the value."""
    above, below = tradecraft_counts.SHARES[measure]
    sums = tradecraft_counts.lengths(evidence.counted).groupby(["group", "match"])[[above, below]].sum()
    held: list[bool | None] = []
    for other in MODELS if name in MODELS else PERSONAS:
        if other != name:
            games = sorted({*sums.loc[name].index, *sums.loc[other].index})
            parts = [sums.loc[group].reindex(games).fillna(0).to_numpy(dtype=float) for group in (name, other)]
            low, high = ratio_intervals(parts, lambda rates: rates[0] - rates[1])
            right = sign * evidence.rate(name, measure) < sign * evidence.rate(other, measure)
            held.append(((high < 0 if sign > 0 else low > 0) or None) if right else False)
    return joined(held)
