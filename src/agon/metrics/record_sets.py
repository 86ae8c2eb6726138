"""Resamples: what the same design could have recorded. A verdict needs that nearly all of them agree (docs/statements-rule.md)."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

SEED = 20261123

BLOCK = 120
"""Number of resamples in a block: they are drawn together."""

LOOKS = (1, 2, 4, 8)
"""Numbers of blocks after which the rule looks at the share of resamples that agree."""

ENOUGH = 0.95
"""Share of the resamples that must agree with the records."""

SURE = 0.99
"""Level of the interval of that share. An interval on one side of the required share ends the drawing."""


def within_cells(cells: NDArray[np.intp], block: int, *, whole: bool = False) -> NDArray[np.int8]:
    """Draws units within cells, with replacement. Returns how often each unit is in each resample (BLOCK x units).

    From a cell with n units it draws n. The mean of n draws varies too little, by the factor (n - 1) / n. So in a share
    n / (2 (n - 1)) of the resamples the last unit is the same as the one before: then the mean has the right variance, and each
    cell keeps its weight. If `whole`, this is left out, for units whose deviations are stretched already. A cell of one unit keeps it.
    `cells`: the code of each unit's cell. `block`: the seed; the same number gives the same resamples.
    """
    by_cell = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    dice = np.random.default_rng([SEED, block])
    weights = np.zeros((BLOCK, len(cells)), dtype=np.int8)
    for n in np.unique(sizes):
        which = np.flatnonzero(sizes == n)
        members = by_cell[starts[which, None] + np.arange(n)]
        draws = dice.integers(0, n, size=(BLOCK, len(which), n))
        if n > 1 and not whole:
            twice = dice.random((BLOCK, len(which))) < n / (2 * (n - 1))
            draws[..., -1] = np.where(twice, draws[..., -2], draws[..., -1])
        units = members[np.arange(len(which))[None, :, None], draws].reshape(BLOCK, -1)
        np.add.at(weights, (np.arange(BLOCK)[:, None], units), 1)
    return weights


def required_share(free: float, parts: int = 1) -> float:
    """The share that must agree: ENOUGH, raised by Student's t where units are few, and by Bonferroni's correction for parts.

    `free`: the units without the cells that they lie in (degrees of freedom).
    """
    return float(ndtr(stdtrit(free, 1 - (1 - ENOUGH) / parts)))
