"""What a design detects, against other ways to reckon it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nct, t

from agon.metrics.power import POWER, detectable, fewest, needed, power


@given(st.floats(0.01, 8), st.integers(1, 200))
@settings(max_examples=200, deadline=None)
def test_power_is_that_of_the_noncentral_t(shift, df):
    cut = t.ppf(0.975, df)
    below = np.nan_to_num(nct.cdf(-cut, df, shift))  # absent where it is too small to be reckoned
    assert power(shift, df) == pytest.approx(nct.sf(cut, df, shift) + below, abs=1e-6)


@given(st.integers(2, 300), st.floats(0.1, 50))
@settings(max_examples=200, deadline=None)
def test_what_is_detected_is_what_so_many_matches_are_needed_for(n, spread):
    least = detectable(spread * (2 / n) ** 0.5, 2 * n - 2)
    assert power(least / spread * (n / 2) ** 0.5, 2 * n - 2) == pytest.approx(POWER)
    assert needed(least * 1.0001, spread) == n


def test_power_is_the_share_of_experiments_that_find_the_difference():
    dice, n, spread = np.random.default_rng(1), 5, 3.0
    least = detectable(spread * (2 / n) ** 0.5, 2 * n - 2)
    one, other = dice.normal(0, spread, (4000, n)), dice.normal(least, spread, (4000, n))
    error = ((one.var(axis=1, ddof=1) + other.var(axis=1, ddof=1)) / n) ** 0.5
    found = np.abs(other.mean(axis=1) - one.mean(axis=1)) / error > t.ppf(0.975, 2 * n - 2)
    assert found.mean() == pytest.approx(POWER, abs=4 * (POWER * (1 - POWER) / 4000) ** 0.5)


def test_nothing_is_detected_without_a_second_match():
    assert np.isnan([detectable(1.0, 0), needed(0, 1), needed(1, 0)]).all()


@given(st.integers(2, 10**7), st.integers(2, 10**7))
@settings(deadline=None)
def test_the_fewest_that_are_enough_are_found_up_to_the_most(least, most):
    assert fewest(lambda n: n >= least, most) == (least if least <= most else np.inf)
