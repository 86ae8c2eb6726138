"""How strong many players are who met in matches of two or more: Bradley and Terry's model (1952), fitted by choix.

A player's strength is in log-odds: of two, the one that is stronger by d comes first with the chance 1 / (1 + exp(-d)).
A match of more than two counts as all its pairs: Plackett and Luce's model says the same of each pair.
"""

from dataclasses import dataclass

import choix
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from scipy.stats import rankdata

from agon.errors import AgonError

Numbers = NDArray[np.float64]

PRIOR = 0.1
"""Regularization of choix: a player that won or lost all keeps a finite strength."""
RESAMPLES = 500
STEPS = 1_000
"""Of choix, at most."""
DECIMALS = 6
"""Of strengths: choix does not find them more exactly."""


@dataclass(frozen=True)
class Strengths:
    """The result of `strengths`."""

    players: pd.DataFrame
    """One row per player, the strongest first: player, matches, strength (their mean is 0), low, high, first (chance to come before a
    player of mean strength), rank (1 and the number of the stronger ones: equals share it), rank_low, rank_high (in 95 % of the
    resamples, from the first to the last place that is shared)."""
    groups: int
    """Of players that are linked by matches; strengths of different groups cannot be compared."""


def strengths(results: pd.DataFrame, seed: int = 1, resamples: int = RESAMPLES) -> Strengths:
    """Players' strengths from `results`: a row per match and seat, with match, player and score (more is better).

    A tie is half a win for each. Intervals are percentiles of a bootstrap over matches.
    Raises AgonError where no two different players met.
    """
    rows = results.dropna(subset="score")[["match", "player", "score"]]
    pairs = rows.merge(rows, on="match", suffixes=("", "_other"))
    pairs = pairs[pairs.player != pairs.player_other].sort_values("match", kind="stable")
    if pairs.empty:
        raise AgonError("no two different players met: strengths come from matches between players")
    names = sorted(pairs.player.unique())
    size, place = len(names), {name: number for number, name in enumerate(names)}
    wins = (pairs.score > pairs.score_other) + (pairs.score == pairs.score_other) / 2
    match, matches = pd.factorize(pairs["match"])
    pair = pairs.player.map(place) * size + pairs.player_other.map(place)
    by_match = csr_array((wins, (match, pair)), shape=(len(matches), size**2))
    every = np.full(len(matches), 1)
    best = _fit(every @ by_match, size)
    dice = np.random.default_rng(seed)
    weights = dice.multinomial(len(matches), every / len(matches), size=resamples)
    resampled = np.array([_fit(table, size, best) for table in weights @ by_match])
    counts = pairs.groupby("player")["match"].nunique()
    linked = (every @ by_match).reshape(size, size)
    return Strengths(_players(counts[names], best, resampled), int(connected_components(csr_array(linked))[0]))


def _fit(wins: Numbers, size: int, start: Numbers | None = None) -> Numbers:
    """Strengths from a table of who won how often against whom."""
    return choix.ilsr_pairwise_dense(wins.reshape(size, size), PRIOR, initial_params=start, max_iter=STEPS)


def _players(counts: pd.Series, best: Numbers, resampled: Numbers) -> pd.DataFrame:
    best, resampled = best.round(DECIMALS) + 0.0, resampled.round(DECIMALS) + 0.0  # no zero with a sign
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    firsts, lasts = (rankdata(-resampled, way, axis=1) for way in ("min", "max"))
    table = pd.DataFrame(
        {
            "player": counts.index,
            "matches": counts.to_numpy(),
            "strength": best,
            "low": low,
            "high": high,
            "first": expit(best),
            "rank": rankdata(-best, "min").astype(int),
            "rank_low": np.quantile(firsts, 0.025, axis=0, method="inverted_cdf").astype(int),
            "rank_high": np.quantile(lasts, 0.975, axis=0, method="inverted_cdf").astype(int),
        }
    )
    return table.sort_values(["rank", "player"], ignore_index=True)
