"""Strengths of many players from matches of two or more, by a model of paired comparisons with ties.

A player's strength is in log-odds: one that is stronger by d wins exp(d) times as often as it loses. Ties are Davidson's (On extending
the Bradley-Terry model to accommodate ties in paired comparison experiments, JASA 65, 1970): the odds of a tie are one constant for
equals, and fall the further two players are apart. Without ties this is Bradley and Terry's model (1952).
A match of more than two counts as all its pairs.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from scipy.stats import chi2, rankdata

from agon.errors import AgonError

Numbers = NDArray[np.float64]

PRIOR = 0.1
"""Wins that every player has over every other before they meet: one that won or lost all keeps a finite strength."""
ERROR = 0.05
"""Chance that an interval, or a range of ranks, misses what is true."""
STEPS = 100
"""The most steps of Newton's method."""
FARTHEST = 3.0
"""The longest step of Newton's method."""
NEAR = 1e-7
"""A step of Newton's method that is not longer is the last one."""
SLACK = 1e-9
"""A likelihood that falls by less has not fallen, but for rounding."""
DECIMALS = 6
"""Decimals of strengths. The ends of intervals have two less."""


@dataclass(frozen=True)
class Strengths:
    """The result of `strengths`."""

    players: pd.DataFrame
    """One row per player, the strongest first: player, matches, strength (their mean is 0 in each group), low, high,
    first (chance to win a decided match against a player of mean strength), rank (1 plus the number of stronger
    players; equals share it), rank_low (1 plus the number of players that are certainly stronger), rank_high (the
    number of players, itself included, that are not certainly weaker)."""
    groups: int
    """Number of groups of players that are linked by matches. Strengths of different groups cannot be compared."""
    ties: float
    """Share of the pairs of players who met that tied."""


def strengths(results: pd.DataFrame) -> Strengths:
    """Players' strengths from `results`: a row per match and seat, with match, player and score (more is better).

    Intervals are those of the profile likelihood. A range of ranks holds the true rank with a chance of 95 % at least: all comparisons
    of a player, by likelihood ratio, are corrected together (Holm). In a match of k seats each pair weighs 3 / (k + 1): among equals
    the sum over a player's pairs then spreads as much as the model says. Raises AgonError where no two different players met.
    """
    rows = results.dropna(subset="score")[["match", "player", "score"]]
    rows = rows.assign(seats=rows.groupby("match")["score"].transform("size"))
    pairs = rows.merge(rows, on=["match", "seats"], suffixes=("", "_other"))
    pairs = pairs[pairs.player != pairs.player_other]
    if pairs.empty:
        raise AgonError("no two different players met: strengths come from matches between players")
    counts = pairs.groupby("player")["match"].nunique()
    fit = _Fit(*_counts(pairs, [*counts.index]))
    groups, group_of = connected_components(csr_array(fit.wins + fit.ties > PRIOR), directed=False)
    table = _players(counts, fit, group_of)
    return Strengths(table, int(groups), float((pairs.score == pairs.score_other).mean()))


def _counts(pairs: pd.DataFrame, names: list[str]) -> tuple[Numbers, Numbers]:
    """Wins of each player against each other one, prior wins included, and their ties (players x players)."""
    size, weights = len(names), 3 / (pairs.seats + 1)
    places = pairs.player.map(names.index) * size + pairs.player_other.map(names.index)
    wins, ties = (
        np.bincount(places, weights * outcome, size**2).reshape(size, size)
        for outcome in (pairs.score > pairs.score_other, pairs.score == pairs.score_other)
    )
    return wins + PRIOR * (1 - np.eye(size)), ties.astype(float)


class _Fit(NamedTuple):
    """The likelihood of strengths. Its parameters are the strengths, and at last the logarithm of the constant of ties."""

    wins: Numbers
    ties: Numbers

    def maximum(self, start: Numbers, contrast: Numbers | None = None) -> Numbers:
        """The most likely parameters whose strengths have the same sum as those of `start`, and the same value of the `contrast`."""
        size = len(start)
        fixed = np.zeros((3, size))
        fixed[0, :-1] = 1
        fixed[1, -1] = not self.ties.any()
        fixed[2, :-1] = 0 if contrast is None else contrast
        fixed = fixed[fixed.any(axis=1)]
        system = np.zeros((size + len(fixed), size + len(fixed)))
        system[size:, :size], system[:size, size:] = fixed, fixed.T
        parameters, value = start, self.likelihood(start)
        for _ in range(STEPS):
            gradient, system[:size, :size] = self.derivatives(parameters)
            step = np.linalg.solve(system, np.append(-gradient, np.zeros(len(fixed))))[:size]
            step *= min(1.0, FARTHEST / max(np.abs(step).max(), FARTHEST))
            while (better := self.likelihood(parameters + step)) < value - SLACK:
                step /= 2
            parameters, value = parameters + step, better
            if np.abs(step).max() <= NEAR:
                break
        return parameters

    def likelihood(self, parameters: Numbers) -> float:
        """The logarithm of the likelihood of some parameters."""
        won, tied = self._log_chances(parameters)
        return float((self.wins * won).sum() + (self.ties * np.where(self.ties > 0, tied, 0)).sum() / 2)

    def derivatives(self, parameters: Numbers) -> tuple[Numbers, Numbers]:
        """The first and second derivatives of `likelihood`."""
        won, tied = map(np.exp, self._log_chances(parameters))
        met, lead = self.wins + self.wins.T + self.ties, (won - won.T) / 2
        of_strengths = ((self.wins - self.wins.T) / 2 - met * lead).sum(axis=1)
        of_ties = (self.ties - met * tied).sum() / 2
        links = met * ((1 - tied) / 4 - lead**2)
        mixed = (met * lead * tied).sum(axis=1)
        curvature = np.empty((len(parameters), len(parameters)))
        curvature[:-1, :-1] = links - np.diag(links.sum(axis=1))
        curvature[:-1, -1] = curvature[-1, :-1] = mixed
        curvature[-1, -1] = -(met * tied * (1 - tied)).sum() / 2
        return np.append(of_strengths, of_ties), curvature

    def _log_chances(self, parameters: Numbers) -> tuple[Numbers, Numbers]:
        """The logarithms of the chances that a player wins against another, and that they tie (players x players)."""
        half = np.subtract.outer(parameters[:-1], parameters[:-1]) / 2
        tie = parameters[-1] if self.ties.any() else -np.inf
        total = np.logaddexp(np.logaddexp(half, -half), tie)
        return half - total, tie - total


def _players(counts: pd.Series, fit: _Fit, group_of: NDArray[np.intp]) -> pd.DataFrame:
    """The table of `Strengths`."""
    best = fit.maximum(np.zeros(len(counts) + 1))
    same_group = group_of[:, None] == group_of
    contrasts = np.eye(len(counts)) - same_group / same_group.sum(axis=1, keepdims=True)
    strength = (contrasts @ best[:-1]).round(DECIMALS) + 0.0  # no zero with a sign
    low, high = np.transpose([_interval(fit, best, contrast) for contrast in contrasts])
    stronger = _certainly_stronger(fit, best)
    table = pd.DataFrame(
        {
            "player": counts.index,
            "matches": counts.to_numpy(),
            "strength": strength,
            "low": low,
            "high": high,
            "first": expit(strength),
            "rank": rankdata(-strength, "min").astype(int),
            "rank_low": 1 + stronger.sum(axis=0),
            "rank_high": len(counts) - stronger.sum(axis=1),
        }
    )
    return table.sort_values(["rank", "player"], ignore_index=True)


def _interval(fit: _Fit, best: Numbers, contrast: Numbers) -> tuple[float, float]:
    """The values of a contrast of strengths that lose no more likelihood than chance does in 95 %."""
    direction = np.append(contrast, 0) / (contrast @ contrast)
    value, top = float(contrast @ best[:-1]), fit.likelihood(best)
    limit, near = float(chi2.ppf(1 - ERROR, 1)) ** 0.5, best

    def beyond(place: float) -> float:
        """How far the root of the deviance is above its limit. The root is nearly a straight line on either side."""
        nonlocal near  # a fit begins where the last one ended
        near = fit.maximum(near + (place - contrast @ near[:-1]) * direction, contrast)
        return max(2 * (top - fit.likelihood(near)), 0.0) ** 0.5 - limit

    ends = []
    for far in (-1.0, 1.0):
        while beyond(value + far) < 0:
            far *= 2
        end = brentq(beyond, value, value + far, xtol=10 ** (1 - DECIMALS))
        ends.append(round(end, DECIMALS - 2))
    return ends[0], ends[1]


def _certainly_stronger(fit: _Fit, best: Numbers) -> NDArray[np.bool_]:
    """Whether a player (row) is certainly stronger than another (column)."""
    size, top = len(best) - 1, fit.likelihood(best)
    p = np.full((size, size), np.inf)  # so a player against itself comes last in the order of p
    for one, other in combinations(range(size), 2):
        contrast = np.zeros(size)
        contrast[[one, other]] = 1, -1
        start = best.copy()
        start[[one, other]] = best[[one, other]].mean()
        p[one, other] = p[other, one] = chi2.sf(2 * (top - fit.likelihood(fit.maximum(start, contrast))), 1)
    certain = np.zeros((size, size), dtype=bool)
    limits = ERROR / np.arange(size - 1, 0, -1)  # Holm's: the smallest p must be the smallest
    for player in range(size):
        others = np.delete(np.argsort(p[player], kind="stable"), -1)
        certain[player, others] = np.logical_and.accumulate(p[player, others] <= limits)
    return certain & (np.subtract.outer(best[:-1], best[:-1]) > 0)
