"""How strong many players are who met in matches of two or more: Bradley and Terry's model (1952), and Plackett and Luce's for more.

A player's strength is in log-odds: of two, the one that is stronger by d comes first with the chance 1 / (1 + exp(-d)).
"""

from dataclasses import dataclass
from itertools import groupby, permutations, product
from operator import itemgetter

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from agon import AgonError

Numbers = NDArray[np.float64]

PENALTY = 0.1
"""Times the sum of the squared strengths: of a player that won or lost all, the strength stays finite."""
RESAMPLES = 500
STEPS = 50
"""Of Newton's method, at most."""


@dataclass(frozen=True)
class Strengths:
    """What `strengths` found."""

    players: pd.DataFrame
    """One row per player, the strongest first: player, matches, strength (their mean is 0), low, high, first (chance to come before a
    player of mean strength), rank, rank_low, rank_high (in 95 % of the resamples)."""
    seats: pd.DataFrame
    """One row per seat but the first: seat, advantage (log-odds over it), low, high; none where seats and players cannot be told apart."""
    groups: int
    """Of players that are linked by matches; strengths of different groups cannot be compared."""


@dataclass(frozen=True)
class _Orders:
    """Every order in which players came in, once."""

    features: Numbers
    """orders x places x parameters: who is at a place, and in which seat."""
    present: NDArray[np.bool_]
    """orders x places: whether somebody is there."""

    def fitted(self, weights: Numbers, penalty: float, start: Numbers) -> Numbers:
        """The most likely parameters for each row of `weights` (samples x orders), with the penalty; by Newton's method."""
        size, found = len(start), np.repeat(start[None], len(weights), axis=0)
        for _ in range(STEPS):
            gradient = -2 * penalty * found
            curvature = np.repeat(2 * penalty * np.eye(size)[None], len(weights), axis=0)
            eta = np.where(self.present, np.einsum("okp,sp->sok", self.features, found), -np.inf)
            for stage in range(self.present.shape[1] - 1):
                going = self.present[:, stage + 1]  # two are left, at least
                left, features = eta[:, going, stage:], self.features[going, stage:]
                chances = np.exp(left - left.max(axis=2, keepdims=True))
                chances /= chances.sum(axis=2, keepdims=True)
                own = weights[:, going, None]
                mean = (chances.transpose(1, 0, 2) @ features).transpose(1, 0, 2)  # samples x orders x parameters
                gradient += (own * (features[:, 0] - mean)).sum(axis=1)
                squares = (features[..., None] * features[:, :, None]).reshape(-1, size * size)
                curvature += ((own * chances).reshape(len(weights), -1) @ squares).reshape(-1, size, size)
                curvature -= (own * mean).transpose(0, 2, 1) @ mean
            step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
            found = found + np.clip(step, -2, 2)
            if np.abs(step).max() < 1e-9:
                break
        return found


def strengths(results: pd.DataFrame, seed: int = 1, penalty: float = PENALTY, resamples: int = RESAMPLES) -> Strengths:
    """Players' strengths from `results`: a row per match and seat, with match, seat, player and score (more is better).

    Players who tie share their places: every order that breaks the tie counts for its part, so of two each has half a win. The
    advantage of a seat is estimated too where players changed seats. Intervals are percentiles of a bootstrap over matches.
    Raises AgonError where no two different players met.
    """
    rows = results.dropna(subset="score").sort_values(["match", "seat"])
    size = rows.groupby("match")["player"].transform("size")
    met = rows.groupby("match")["player"].transform("nunique") > 1
    rows = rows[met & (size > 1)]
    if rows.empty:
        raise AgonError("no two different players met: strengths come from matches between players")
    names, seats = sorted(rows.player.unique()), sorted(rows.seat.unique())
    columns = (rows["match"], rows.player.map(names.index), rows.seat.map(seats.index), rows.score)
    coded = zip(*(column.tolist() for column in columns), strict=True)
    told: dict[tuple[tuple[int, int], ...], int] = {}
    parts = list[tuple[int, int, float]]()
    for match, (_, own) in enumerate(groupby(coded, key=itemgetter(0))):
        places = [(player, seat, score) for _, player, seat, score in own]
        possible = _orders(places)
        parts += [(match, told.setdefault(order, len(told)), 1 / len(possible)) for order in possible]
    count, orders = rows.match.nunique(), _coded([*told], len(names), len(seats))
    where = [np.array(each) for each in zip(*parts, strict=True)]  # match, order, part
    each = csr_array((where[2], (where[0], where[1])), shape=(count, len(told)))
    apart = _apart(orders.features, orders.present, len(names))
    if not apart:
        orders = _Orders(orders.features[:, :, : len(names)], orders.present)
    best = orders.fitted(each.sum(axis=0)[None], penalty, np.zeros(orders.features.shape[2]))[0]
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    found = orders.fitted(drawn @ each, penalty, best)
    return Strengths(
        _players(rows, names, best[: len(names)], found[:, : len(names)]),
        _seats(seats, best[len(names) :], found[:, len(names) :]),
        _groups(orders, len(names)),
    )


def _orders(places: list[tuple[int, int, float]]) -> list[tuple[tuple[int, int], ...]]:
    """The orders of (player, seat), best first, that scores leave possible."""
    worth = sorted({score for *_, score in places}, reverse=True)
    tied = [[(player, seat) for player, seat, score in places if score == each] for each in worth]
    return [tuple(each for group in groups for each in group) for groups in product(*map(permutations, tied))]


def _coded(orders: list[tuple[tuple[int, int], ...]], players: int, seats: int) -> _Orders:
    most = max(map(len, orders))
    features, present = np.zeros((len(orders), most, players + seats - 1)), np.zeros((len(orders), most), dtype=bool)
    for place, order in enumerate(orders):
        for at, (player, seat) in enumerate(order):
            features[place, at, player], present[place, at] = 1, True
            if seat:
                features[place, at, players + seat - 1] = 1
    return _Orders(features, present)


def _apart(features: Numbers, present: NDArray[np.bool_], players: int) -> bool:
    """Whether seats and players can be told apart."""
    beside = (features - features[:, :1])[present]
    ranks = [np.linalg.matrix_rank(each) for each in (beside, beside[:, :players])]
    return bool(ranks[0] == ranks[1] + features.shape[2] - players)


def _groups(orders: _Orders, players: int) -> int:
    together = orders.features[:, :, :players].sum(axis=1)
    return int(connected_components(csr_array(together.T @ together))[0])


def _players(rows: pd.DataFrame, names: list[str], best: Numbers, drawn: Numbers) -> pd.DataFrame:
    best, drawn = best - best.mean(), drawn - drawn.mean(axis=1, keepdims=True)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    ranks = (-drawn).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable") + 1
    lowest, highest = np.quantile(ranks, [0.025, 0.975], axis=0, method="inverted_cdf").astype(int)
    found = pd.DataFrame(
        {
            "player": names,
            "matches": rows.groupby("player")["match"].nunique().reindex(names).to_numpy(),
            "strength": best,
            "low": low,
            "high": high,
            "first": 1 / (1 + np.exp(-best)),
        }
    )
    order = (-best).argsort(kind="stable")
    found = found.assign(rank=order.argsort(kind="stable") + 1, rank_low=lowest, rank_high=highest)
    return found.iloc[order].reset_index(drop=True)


def _seats(seats: list[int], best: Numbers, drawn: Numbers) -> pd.DataFrame:
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0) if drawn.shape[1] else (best, best)
    return pd.DataFrame({"seat": seats[1 : len(best) + 1], "advantage": best, "low": low, "high": high})
