"""How often `agon compare` and `agon rate` err in simulated matches: `python benchmarks/error_rates.py [compare|rate] [runs]`.

The guides say what it printed: docs/how-to/compare-conditions.md and docs/how-to/rate-many-players.md.
"""

import sys
from itertools import combinations

import numpy as np
import pandas as pd

from agon_design.differences import difference
from agon_design.strengths import strengths

SEED = 20261128


def normal(spread):
    return lambda dice, n: dice.normal(0, spread, n)


def share(chance):
    return lambda dice, n: (dice.random(n) < chance).astype(float)


CELLS = {
    "5 and 5": [((5, normal(1)), (5, normal(1)))],
    "3 (sd 5) and 12 (sd 1)": [((3, normal(5)), (12, normal(1)))],
    "20 (sd 1) and 4 (sd 4)": [((20, normal(1)), (4, normal(4)))],
    "2 (sd 10) and 20 (sd 1), and mirrored": [
        ((2, normal(10)), (20, normal(1))),
        ((20, normal(1)), (2, normal(10))),
    ],
    "5 (sd 1) and 2 (sd 3)": [((5, normal(1)), (2, normal(3)))],
    "10 strata of 5 (sd 1) and 2 (sd 3)": [((5, normal(1)), (2, normal(3)))] * 10,
    "5 constant and 5": [((5, normal(0)), (5, normal(1)))],
    "8 pairs": [((1, normal(1)), (1, normal(1)))] * 8,
    "wins, 10 and 10 of 0.9": [((10, share(0.9)), (10, share(0.9)))],
    "wins, 5 and 50 of 0.05": [((5, share(0.05)), (50, share(0.05)))],
}
"""Design -> for each stratum, the matches of both conditions and what they draw. The means are equal."""


def compare(runs):
    """False alarms of p and of the interval, and how often the two say different things."""
    print("| design | p up to .05 | interval without 0 | they differ |\n|---|---|---|---|")
    for name, cells in CELLS.items():
        dice, rows = np.random.default_rng(SEED), []
        for run in range(runs):
            drawn = [tuple(draw(dice, n) for n, draw in cell) for cell in cells]
            result = difference(drawn, seed=run)
            rows.append((result.p <= 0.05, result.low > 0 or result.high < 0))
        alarms, outside = np.array(rows).T
        numbers = (alarms.mean(), outside.mean(), (alarms != outside).mean())
        print(f"| {name} | {' | '.join(f'{number:.3f}' for number in numbers)} |", flush=True)


SPREAD = np.array([-0.75, -0.25, 0.25, 0.75])
STRONG = np.array([-1.5, -1.0, -0.5, 3.0])


def duels(truth, each, tie=0.0):
    """Every two players meet so often; a tie of equals is so many times as likely as a win."""

    def draw(dice):
        players = np.array([*combinations(range(len(truth)), 2)] * each)
        half = (truth[players[:, 0]] - truth[players[:, 1]]) / 2
        odds = np.stack([np.exp(half), np.full(len(half), tie), np.exp(-half)], axis=-1)
        place = (dice.random((len(half), 1)) > (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
        return table(players, np.stack([1 - place, place - 1], axis=-1))

    return truth, draw


def tables(truth, matches, seats):
    """Matches of several, which end as Plackett and Luce's model says."""

    def draw(dice):
        players = np.array([dice.permutation(len(truth))[:seats] for _ in range(matches)])
        return table(players, truth[players] + dice.gumbel(size=players.shape))

    return truth, draw


def table(players, scores):
    match = np.repeat(np.arange(len(players)), players.shape[1])
    return pd.DataFrame({"match": match, "player": players.ravel().astype(str), "score": scores.ravel().astype(float)})


MATCHES = {
    "4 players, 4 matches of each two": duels(SPREAD, 4),
    "4 players, 10 of each two": duels(SPREAD, 10),
    "one wins nearly always, 4 of each two": duels(STRONG, 4),
    "one wins nearly always, 10 of each two": duels(STRONG, 10),
    "10 of each two, a third are ties": duels(SPREAD, 10, 1.0),
    "equals, 10 of each two": duels(np.zeros(4), 10),
    "8 players, 3 of each two": duels(np.linspace(-1.5, 1.5, 8), 3),
    "40 matches of 3 of 4 players": tables(SPREAD, 40, 3),
    "30 matches of 4, one wins nearly always": tables(STRONG, 30, 4),
}


def rate(runs):
    """How often a player's interval holds its strength, and the range of ranks its rank."""
    print("| design | intervals, by player | ranks, the least |\n|---|---|---|")
    for name, (truth, draw) in MATCHES.items():
        dice, inside, ranks = np.random.default_rng(SEED), [], []
        highest = 1 + (truth > truth[:, None]).sum(axis=1)
        lowest = (truth >= truth[:, None]).sum(axis=1)
        for _ in range(runs):
            players = strengths(draw(dice)).players.set_index("player").loc[[str(n) for n in range(len(truth))]]
            strength = truth - truth.mean()
            inside.append((players.low <= strength) & (strength <= players.high))
            ranks.append((players.rank_low <= highest) & (lowest <= players.rank_high))
        shares = " ".join(f"{number:.3f}" for number in np.mean(inside, axis=0))
        print(f"| {name} | {shares} | {np.mean(ranks, axis=0).min():.3f} |", flush=True)


if __name__ == "__main__":
    kind, number = (sys.argv[1:] + ["both", "200"][len(sys.argv) - 1 :])[:2]
    for simulate in (compare, rate):
        if kind in (simulate.__name__, "both"):
            simulate(int(number))
