"""How strong many players are who met in matches of two or more: Bradley and Terry's model (1952), and Plackett and Luce's for more.

A player's strength is in log-odds: of two, the one that is stronger by d comes first with the chance 1 / (1 + exp(-d)).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, permutations
from operator import itemgetter

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from agon.errors import AgonError

Numbers = NDArray[np.float64]

PENALTY = 0.1
"""Times the sum of the squared strengths: of a player that won or lost all, the strength stays finite."""
RESAMPLES = 500
STEPS = 50
"""Of Newton's method, at most."""
BLOCK = 2_000_000
"""Numbers that are held at once, about, while choices are gone through."""
EQUAL = 1e-6
"""Strengths that are no further apart are the same: Newton's method does not find them more exactly."""


@dataclass(frozen=True)
class Strengths:
    """What `strengths` found."""

    players: pd.DataFrame
    """One row per player, the strongest first: player, matches, strength (their mean is 0), low, high, first (chance to come before a
    player of mean strength), rank (1 and the number of the stronger ones: equals share it), rank_low, rank_high (in 95 % of the
    resamples, from the first to the last place that is shared)."""
    seats: pd.DataFrame
    """One row per seat but the first: seat, advantage (log-odds over it), low, high; none where seats and players cannot be told apart."""
    groups: int
    """Of players that are linked by matches; strengths of different groups cannot be compared."""


@dataclass(frozen=True)
class _Choices:
    """Every choice of one among several that are left, once."""

    features: Numbers
    """choices x places x parameters: who could have been chosen, and in which seat; the one that was stands at place 0."""
    present: NDArray[np.bool_]
    """choices x places: whether somebody is there."""

    def fitted(self, weights: Numbers, penalty: float, start: Numbers) -> Numbers:
        """The most likely parameters for each row of `weights` (samples x choices), with the penalty; by Newton's method."""
        (count, places), size = self.present.shape, len(start)
        found = np.repeat(start[None], len(weights), axis=0)
        step = max(1, BLOCK // (places * max(size * size, len(weights))))
        blocks = [slice(at, at + step) for at in range(0, count, step)]
        for _ in range(STEPS):
            gradient = -2 * penalty * found
            curvature = np.repeat(2 * penalty * np.eye(size)[None], len(weights), axis=0)
            for each in blocks:
                features, own = self.features[each], weights[:, each, None]
                eta = np.where(self.present[each], np.einsum("ckp,sp->sck", features, found), -np.inf)
                chances = np.exp(eta - eta.max(axis=2, keepdims=True))
                chances /= chances.sum(axis=2, keepdims=True)
                mean = (chances.transpose(1, 0, 2) @ features).transpose(1, 0, 2)  # samples x choices x parameters
                gradient += (own * (features[:, 0] - mean)).sum(axis=1)
                squares = (features[..., None] * features[:, :, None]).reshape(-1, size * size)
                curvature += ((own * chances).reshape(len(weights), -1) @ squares).reshape(-1, size, size)
                curvature -= (own * mean).transpose(0, 2, 1) @ mean
            newton = np.linalg.solve(curvature, gradient[..., None])[..., 0]
            found = found + np.clip(newton, -2, 2)
            if np.abs(newton).max() < 1e-9:
                break
        return found


def strengths(results: pd.DataFrame, seed: int = 1, penalty: float = PENALTY, resamples: int = RESAMPLES) -> Strengths:
    """Players' strengths from `results`: a row per match and seat, with match, seat, player and score (more is better).

    Of players who tie each two have half a win against each other, and each comes before those behind them; a tie of n counts as
    much as an order of n, n - 1 choices (ties broken into pairs: Azari Soufiani, Parkes and Xia, 2014). Equals share a rank.
    The advantage of a seat is estimated too where players changed seats. Intervals are percentiles of a bootstrap over matches.
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
    told: dict[_Choice, int] = {}
    parts = list[tuple[int, int, float]]()
    for match, (_, own) in enumerate(groupby(coded, key=itemgetter(0))):
        places = [(player, seat, score) for _, player, seat, score in own]
        parts += [(match, told.setdefault(choice, len(told)), weight) for choice, weight in _choices(places)]
    count, choices = rows.match.nunique(), _coded([*told], len(names), len(seats))
    where = [np.array(each) for each in zip(*parts, strict=True)]  # match, choice, weight
    each = csr_array((where[2], (where[0], where[1])), shape=(count, len(told)))
    apart = _apart(choices.features, choices.present, len(names))
    if not apart:
        choices = _Choices(choices.features[:, :, : len(names)], choices.present)
    best = choices.fitted(each.sum(axis=0)[None], penalty, np.zeros(choices.features.shape[2]))[0]
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    found = choices.fitted(drawn @ each, penalty, best)
    return Strengths(
        _players(rows, names, best[: len(names)], found[:, : len(names)]),
        _seats(seats, best[len(names) :], found[:, len(names) :]),
        _groups(choices, len(names)),
    )


_Choice = tuple[tuple[int, int], ...]
"""(player, seat) of all that could be chosen; the first was."""


def _choices(places: list[tuple[int, int, float]]) -> Iterator[tuple[_Choice, float]]:
    """The choices that scores tell of, and how much each counts: one after another, each best one among those that are left."""
    worth = sorted({score for *_, score in places}, reverse=True)
    groups = [[(player, seat) for player, seat, score in places if score == each] for each in worth]
    for at, equals in enumerate(groups):
        behind = [each for group in groups[at + 1 :] for each in group]
        if behind:
            yield from (((each, *behind), 1.0) for each in equals)
        yield from ((pair, 1 / len(equals)) for pair in permutations(equals, 2))


def _coded(told: list[_Choice], players: int, seats: int) -> _Choices:
    most = max(map(len, told))
    features, present = np.zeros((len(told), most, players + seats - 1)), np.zeros((len(told), most), dtype=bool)
    for place, choice in enumerate(told):
        for at, (player, seat) in enumerate(choice):
            features[place, at, player], present[place, at] = 1, True
            if seat:
                features[place, at, players + seat - 1] = 1
    return _Choices(features, present)


def _apart(features: Numbers, present: NDArray[np.bool_], players: int) -> bool:
    """Whether seats and players can be told apart."""
    beside = (features - features[:, :1])[present]
    ranks = [np.linalg.matrix_rank(each) for each in (beside, beside[:, :players])]
    return bool(ranks[0] == ranks[1] + features.shape[2] - players)


def _groups(choices: _Choices, players: int) -> int:
    together = choices.features[:, :, :players].sum(axis=1)
    return int(connected_components(csr_array(together.T @ together))[0])


def _players(rows: pd.DataFrame, names: list[str], best: Numbers, drawn: Numbers) -> pd.DataFrame:
    best, drawn = best - best.mean(), drawn - drawn.mean(axis=1, keepdims=True)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    firsts, lasts = shared_ranks(drawn, EQUAL)
    lowest, highest = (
        np.quantile(ranks, at, axis=0, method="inverted_cdf").astype(int)
        for ranks, at in ((firsts, 0.025), (lasts, 0.975))
    )
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
    found = found.assign(rank=shared_ranks(best[None], EQUAL)[0][0], rank_low=lowest, rank_high=highest)
    return found.sort_values(["rank", "player"], ignore_index=True)


def shared_ranks(values: Numbers, equal: float = 1e-9) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Samples x players: the first and the last place that each shares with its equals, no further apart than `equal`; most is first."""
    columns = values.T[:, :, None]
    before = np.stack([(values > each + equal).sum(axis=1) for each in columns], axis=1)
    behind = np.stack([(values < each - equal).sum(axis=1) for each in columns], axis=1)
    return before + 1, values.shape[1] - behind


def _seats(seats: list[int], best: Numbers, drawn: Numbers) -> pd.DataFrame:
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0) if drawn.shape[1] else (best, best)
    return pd.DataFrame({"seat": seats[1 : len(best) + 1], "advantage": best, "low": low, "high": high})
