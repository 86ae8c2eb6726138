"""How often intervals cover, as it is simulated."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap

from agon import ROOT
from agon_papers.coverage import INTERVALS, Design, Samples, bca, coverage, in_use, percentiles, student

DRAWN = np.random.default_rng(3).normal(size=500)
NORMAL = Design("p", "normal", [[np.column_stack([DRAWN, np.ones(500)])]], None)


def samples(*values, cells=1, limits=None):
    """Samples of matches."""
    hits = np.array(values, dtype=float)
    return Samples(hits, np.ones_like(hits), cells, limits)


def test_students_t_covers_normal_values_and_the_percentiles_do_not():
    found = coverage([NORMAL], [3], 2000, INTERVALS).set_index("interval")
    assert found.covers["in use"] == pytest.approx(0.95, abs=4 * found.error["in use"]) and found.given.min() == 1
    assert found.covers["bootstrap percentiles"] < 0.8 and found.covers["BCa"] < 0.85


def test_a_fixed_cell_is_no_noise_to_what_is_in_use():
    given = samples([1, 2, 101, 102], cells=2)
    widths = {name: np.ptp(interval(given)) for name, interval in (("in use", in_use), ("before", percentiles))}
    assert widths["in use"] < 5 < 90 < widths["before"]


def test_samples_that_are_all_alike_have_no_interval_without_limits():
    alike = samples([1, 1, 1], limits=(0, 1))
    assert np.isnan(student(alike)).all() and np.isnan(bca(alike)).all()
    assert in_use(alike)[0].tolist() == [pytest.approx(0.025 ** (1 / 3)), 1] and percentiles(alike)[0].tolist() == [
        1,
        1,
    ]


def test_rows_without_spread_are_left_out():
    still = np.ones((4, 2))
    given, truth = Design("p", "m", [[still], NORMAL.rows[0]], None).samples(5, 100)
    assert len(truth) == 100 and set(truth) == {DRAWN.mean()} and given.hits.shape == (100, 5)


def test_bca_is_scipys():
    values = np.random.default_rng(1).exponential(size=30)
    wanted = bootstrap((values,), np.mean, n_resamples=9999, random_state=1).confidence_interval
    assert bca(samples(values))[0] == pytest.approx([*wanted], abs=0.05 * values.std())


def test_the_tables_that_are_shown_have_every_design_and_interval():
    shown = pd.read_csv(ROOT / "docs/statistics/intervals.csv")
    assert set(shown.interval) == set(INTERVALS) and {2, 3, 5, 10, 30} == set(shown.n)
    assert set(shown.paper) == {"Counterfactual", "TradeCraft", "MAgIC"} and shown.error.max() < 0.01
