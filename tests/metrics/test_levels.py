"""Thin cells: the mixed model against drawn truth, and against what it must be where cells are full."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from agon import AgonError
from agon.metrics.levels import levels

CONDITIONS, CELLS = 3, 12


def drawn(dice, spreads=(3.0, 2.0, 4.0), least=1, most=4):
    """Matches of conditions that lie 1 apart; cells, what a condition has in a cell alone, and matches spread so much."""
    cells, own = dice.normal(0, spreads[0], CELLS), dice.normal(0, spreads[1], (CONDITIONS, CELLS))
    rows = [
        (str(condition), f"c{cell}", condition + cells[cell] + own[condition, cell] + dice.normal(0, spreads[2]))
        for condition in range(CONDITIONS)
        for cell in range(CELLS)
        for _ in range(dice.integers(least, most + 1))
    ]
    return pd.DataFrame(rows, columns=["model", "cell", "points"])


def test_intervals_of_differences_cover_and_spreads_are_found():
    dice, inside, spreads = np.random.default_rng(4), [], []
    for _ in range(10):
        found = levels(drawn(dice), "points", "model", "cell")
        truth = found.pairs.second.astype(int) - found.pairs["first"].astype(int)
        inside += found.pairs.low.le(truth).mul(found.pairs.high.ge(truth)).tolist()
        spreads.append(found.spreads.sd.to_numpy() ** 2)
    assert np.mean(inside) > 0.85
    assert np.mean(spreads, axis=0) ** 0.5 == pytest.approx([3, 2, 4], rel=0.3)


def test_full_cells_give_the_pooled_estimate_and_the_balanced_analysis_of_variance():
    rows = drawn(np.random.default_rng(1), spreads=(3.0, 4.0, 1.0), least=4, most=4)
    found = levels(rows, "points", "model", "cell")
    assert found.converged and found.conditions.estimate.to_numpy() == pytest.approx(found.conditions.pooled, abs=1e-6)
    means = rows.groupby(["cell", "model"]).points.mean().unstack()
    rest = means.sub(means.mean(axis=1), axis=0).sub(means.mean() - means.to_numpy().mean())
    error = (rest**2).to_numpy().sum() / ((CELLS - 1) * (CONDITIONS - 1))  # mean square of condition x cell
    half = found.pairs.high - found.pairs.difference
    wanted = (2 * error / CELLS) ** 0.5 * float(t.ppf(0.975, (CELLS - 1) * (CONDITIONS - 1)))
    assert half.to_numpy() == pytest.approx([wanted] * 3, rel=1e-2)


def test_a_thin_cell_is_drawn_towards_the_others():
    rows = drawn(np.random.default_rng(2), spreads=(1.0, 1.0, 6.0), least=3, most=3)
    odd = pd.DataFrame({"model": ["0"], "cell": ["odd"], "points": [20.0]})
    found = levels(pd.concat([rows, odd]), "points", "model", "cell").conditions.set_index("condition")
    assert found.estimate["0"] < found.pooled["0"] - 0.3


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({"model": ["a"] * 4, "cell": list("xyzz"), "points": [1.0, 2, 3, 4]}, "take two conditions"),
        ({"model": list("aabb"), "cell": list("xyzx"), "points": [1.0, 2, 3, 4]}, "two matches in some cell"),
        ({"model": list("aabb"), "cell": list("xxyz"), "points": [1.0] * 4}, "no spread"),
    ],
)
def test_what_cannot_be_fitted_is_refused(rows, said):
    with pytest.raises(AgonError, match=said):
        levels(pd.DataFrame(rows), "points", "model", "cell")
