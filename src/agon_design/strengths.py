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
from scipy.linalg import cho_factor, cho_solve
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
        parameters, value = start, self.likelihood(start)
        for _ in range(STEPS):
            gradient, curvature = self.derivatives(parameters)
            factor = cho_factor(self._definite(curvature))
            step = cho_solve(factor, gradient)
            if contrast is not None:
                course = cho_solve(factor, np.append(contrast, 0.0))
                step -= (contrast @ step[:-1]) / (contrast @ course[:-1]) * course
            step *= min(1.0, FARTHEST / max(np.abs(step).max(), FARTHEST))
            while (better := self.likelihood(parameters + step)) < value - SLACK:
                step /= 2
            parameters, value = parameters + step, better
            if np.abs(step).max() <= NEAR:
                break
        return parameters

    def likelihood(self, parameters: Numbers) -> float:
        """The logarithm of the likelihood of some parameters."""
        points = self.wins + self.ties / 2
        *_, total = self._chances(parameters)
        of_ties = parameters[-1] * self.ties.sum() / 2
        return float(points.sum(axis=1) @ parameters[:-1] + of_ties - (points * np.log(total)).sum())

    def derivatives(self, parameters: Numbers) -> tuple[Numbers, Numbers]:
        """The first and second derivatives of `likelihood`."""
        won, tied, _ = self._chances(parameters)
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

    def covariance(self, best: Numbers) -> Numbers:
        """The covariance of the most likely parameters. It is right for contrasts of strengths only."""
        return np.asarray(np.linalg.inv(self._definite(self.derivatives(best)[1])), dtype=np.float64)

    def _definite(self, curvature: Numbers) -> Numbers:
        """The negative curvature, where the sum of strengths cannot move, nor the constant of ties if there are none."""
        definite = -curvature
        definite[:-1, :-1] += 1
        definite[-1, -1] += not self.ties.any()
        return definite

    def _chances(self, parameters: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The chances that a player wins against another, and that they tie, and the sum of their odds.

        Each has the shape players x players.
        """
        odds = np.exp(parameters[:-1])
        tie = np.exp(parameters[-1]) * np.sqrt(np.multiply.outer(odds, odds)) * self.ties.any()
        total = odds[:, None] + odds + tie
        return odds[:, None] / total, tie / total, total


def _players(counts: pd.Series, fit: _Fit, group_of: NDArray[np.intp]) -> pd.DataFrame:
    """The table of `Strengths`."""
    best = fit.maximum(np.zeros(len(counts) + 1))
    same_group = group_of[:, None] == group_of
    contrasts = np.eye(len(counts)) - same_group / same_group.sum(axis=1, keepdims=True)
    strength = (contrasts @ best[:-1]).round(DECIMALS) + 0.0  # no zero with a sign
    covariance = fit.covariance(best)
    low, high = np.transpose([_interval(fit, best, covariance, contrast) for contrast in contrasts])
    stronger = _certainly_stronger(fit, best, covariance)
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


def _course(covariance: Numbers, contrast: Numbers) -> Numbers:
    """How the most likely parameters change, nearly, when a contrast of strengths grows by 1."""
    course: Numbers = covariance[:, :-1] @ contrast
    return course / (contrast @ course[:-1])


def _interval(fit: _Fit, best: Numbers, covariance: Numbers, contrast: Numbers) -> tuple[float, float]:
    """The values of a contrast of strengths that lose no more likelihood than chance does in 95 %."""
    course = _course(covariance, contrast)
    value, top = float(contrast @ best[:-1]), fit.likelihood(best)
    limit, near = float(chi2.ppf(1 - ERROR, 1)) ** 0.5, best

    def beyond(place: float) -> float:
        """How far the root of the deviance is above its limit. The root is nearly a straight line on either side."""
        nonlocal near  # a fit begins where the last one ended
        near = fit.maximum(near + (place - contrast @ near[:-1]) * course, contrast)
        return max(2 * (top - fit.likelihood(near)), 0.0) ** 0.5 - limit

    ends = []
    for far in (-1.0, 1.0):
        while beyond(value + far) < 0:
            far *= 2
        end = brentq(beyond, value, value + far, xtol=10 ** (1 - DECIMALS))
        ends.append(round(end, DECIMALS - 2))
    return ends[0], ends[1]


def _certainly_stronger(fit: _Fit, best: Numbers, covariance: Numbers) -> NDArray[np.bool_]:
    """Whether a player (row) is certainly stronger than another (column)."""
    size, top, limit = len(best) - 1, fit.likelihood(best), chi2.ppf(1 - ERROR, 1)
    deviances = np.zeros((size, size))
    for one, other in combinations(range(size), 2):
        contrast = np.zeros(size)
        contrast[[one, other]] = 1, -1
        equal = best - (best[one] - best[other]) * _course(covariance, contrast)
        deviance = 2 * (top - fit.likelihood(equal))
        if deviance >= limit:  # if not, the likeliest equal strengths have an even smaller one, and nothing is certain
            deviance = 2 * (top - fit.likelihood(fit.maximum(equal, contrast)))
        deviances[one, other] = deviances[other, one] = deviance
    p = chi2.sf(deviances, 1)
    np.fill_diagonal(p, np.inf)  # a player against itself comes last
    certain = np.zeros((size, size), dtype=bool)
    limits = ERROR / np.arange(size - 1, 0, -1)  # Holm's: the smallest p must be the smallest
    for player in range(size):
        others = np.delete(np.argsort(p[player], kind="stable"), -1)
        certain[player, others] = np.logical_and.accumulate(p[player, others] <= limits)
    return certain & (np.subtract.outer(best[:-1], best[:-1]) > 0)
