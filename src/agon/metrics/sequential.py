"""A test that stays valid however often one looks: bets against "the mean is 0", for bounded values drawn one after another.

Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (JRSS B 86, 2024), sections 3 and 4; bets are a fixed
mixture (their "diversified Kelly betting"). Who bets a share of the capital on each next value cannot expect to gain where the mean is 0,
so by Ville's inequality the capital ever reaches 1 / error with a chance of at most `error`. No shape of distribution is assumed.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

BETS = np.geomspace(0.01, 0.98, 16)
"""Shares of what may be bet, each made with the same part of the capital."""
GRID = 401
"""Means that are tried for an interval."""
AHEAD = 4
"""Blocks, of one match of every condition in the same cell, that are played before it is looked again what is decided."""
NEAR = 1.5
"""Questions that are expected to cost at most so many times what the cheapest does are played along with it."""
PRIOR = 4.0
"""A price that is expected before any was seen counts as much as so many that were."""


class Decision(NamedTuple):
    """What values have decided so far."""

    n: int
    """Values that were looked at: all, or those up to the one that decided."""
    sign: int
    """Of the mean: 1, -1, or 0 where it is undecided."""


def capital(values: Numbers, mean: float = 0.0) -> tuple[Numbers, Numbers]:
    """Logarithms of the two capitals after each value in -1 to 1: on a larger mean than `mean` (between), and on a smaller."""
    apart = np.asarray(values, dtype=float) - mean
    return _grown(apart / (1 + mean)), _grown(-apart / (1 - mean))


def _grown(returns: Numbers) -> Numbers:
    """Of returns per share bet, -1 at the least."""
    logs = np.log1p(BETS[:, None] * returns).cumsum(axis=1)
    return np.logaddexp.reduce(logs, axis=0) - np.log(len(BETS))


def decided(values: Numbers, error: float = 0.05) -> Decision:
    """The first time that the sign of the mean of `values` (in -1 to 1) is decided: ever wrongly with a chance of at most `error`."""
    if not len(values):
        return Decision(0, 0)
    larger, smaller = (np.flatnonzero(each >= np.log(2 / error)) for each in capital(values))
    first = [(int(found[0]) + 1, sign) for found, sign in ((larger, 1), (smaller, -1)) if len(found)]
    return Decision(*min(first)) if first else Decision(len(values), 0)


def interval(values: Numbers, error: float = 0.05) -> tuple[float, float]:
    """The means that no bet has refuted so far; of all such intervals, after any number of values, all hold at once (1 - `error`)."""
    means = np.linspace(-1, 1, GRID)[1:-1]
    inside = [max(each.max(initial=0.0) for each in capital(values, mean)) < np.log(2 / error) for mean in means]
    held = means[np.array(inside)]
    step = means[1] - means[0]
    return (max(-1.0, held[0] - step), min(1.0, held[-1] + step)) if len(held) else (np.nan, np.nan)


# ---- which question next


def costs(sums: Numbers, n: Numbers, before: Numbers) -> Numbers:
    """What the next match of each condition is expected to cost, of which `n` cost `sums` so far.

    `before`: what was expected before any was played; it is corrected by what all of them came to, beside it.
    """
    thought = float((n * before).sum())
    ratio = float(sums.sum()) / thought if thought else 1.0
    return (PRIOR * ratio * before + sums) / (PRIOR + n)


def ahead(
    fronts: NDArray[np.int64], questions: NDArray[np.int64], gains: Numbers, goal: float, prices: Numbers, blocks: int
) -> NDArray[np.int64]:
    """How many blocks each condition is to have played next, so that most is decided per price; `fronts`: how many it has now.

    `questions`: those that are undecided, each two conditions; `gains`: logarithm of the capital of each, which decides it at `goal`.
    A question is expected to gain per block what it gained so far, one block that gains 1 added; the one that is expected to be decided
    for the least money comes next, with those of nearly its price (NEAR), by AHEAD blocks, up to `blocks`. Unchanged: nothing is left.

    This looks at nothing but the past, and leaves each question its blocks in their order: so its test is as valid as by itself.
    """
    found, n = fronts.copy(), fronts[questions].min(axis=1)
    there = n < blocks
    questions, n, gains = questions[there], n[there], gains[there].clip(min=0)
    if len(questions):
        end = n + (goal - gains) * (n + 1) / (gains + 1)
        price = ((end[:, None] - fronts[questions]).clip(min=0) * prices[questions]).sum(axis=1)
        for pair in (price <= NEAR * price.min()).nonzero()[0]:
            found[questions[pair]] = np.maximum(found[questions[pair]], min(n[pair] + AHEAD, blocks))
    return found


class Course(NamedTuple):
    """What a run came to, each time that it was looked."""

    spent: Numbers
    """So far."""
    decided: NDArray[np.int64]
    """Questions that are."""
    signs: NDArray[np.int64]
    """Of each question, at the end: as of `Decision`."""


def course(values: Numbers, prices: Numbers, error: float, *, by_price: bool) -> Course:
    """A run that plays matches, of `values` in 0 to 1 (conditions x blocks) and `prices`, until all is decided or no block is left.

    Every two conditions are a question; all together are decided wrongly with a chance of at most `error`. `by_price`: the order is
    that of `ahead`; else all conditions of which a question is undecided go on together.
    """
    conditions, blocks = values.shape
    questions = np.array(list(combinations(range(conditions), 2)))
    goal = np.log(2 * len(questions) / error)
    sides = np.stack([np.stack(capital(values[other] - values[one])) for one, other in questions])
    gains = np.concatenate([np.zeros((len(questions), 1)), sides.max(axis=1)], axis=1)  # after 0 blocks, 1 block ...
    reached = gains >= goal
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), blocks + 1)
    paid = np.concatenate([np.zeros((conditions, 1)), prices.cumsum(axis=1)], axis=1)
    fronts, own = np.zeros(conditions, np.int64), np.arange(conditions)
    steps = [(0.0, 0)]
    while True:
        open_ = (n := fronts[questions].min(axis=1)) < first
        if by_price:
            expected = costs(paid[own, fronts], fronts.astype(float), np.ones(conditions))
            after = ahead(fronts, questions[open_], gains[open_, n[open_]], float(goal), expected, blocks)
        else:
            going = np.isin(own, questions[open_])
            after = np.where(going, np.minimum(fronts + AHEAD, blocks), fronts)
        if (after == fronts).all():
            break
        fronts = after
        sure = fronts[questions].min(axis=1) >= first
        steps.append((float(paid[own, fronts].sum()), int(sure.sum())))
    at = first.clip(max=blocks) - 1
    signs = np.where(sides[np.arange(len(questions)), 0, at] >= goal, 1, -1)
    sure = fronts[questions].min(axis=1) >= first
    spent, number = map(np.array, zip(*steps, strict=True))
    return Course(spent, number, np.where(sure, signs, 0))
