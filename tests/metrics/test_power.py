"""What a design detects, against other ways to reckon it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import nct, t

from agon.metrics.power import POWER, allocated, cells_of, detectable, fewest, mean_of, needed, power

SPREADS = st.lists(st.integers(1, 20), min_size=1, max_size=5)


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


def test_the_power_is_the_share_of_drawn_experiments_that_find_the_difference():
    dice, n, spread = np.random.default_rng(1), 5, 3.0
    least = detectable(spread * (2 / n) ** 0.5, 2 * n - 2)
    one, other = dice.normal(0, spread, (4000, n)), dice.normal(least, spread, (4000, n))
    error = ((one.var(axis=1, ddof=1) + other.var(axis=1, ddof=1)) / n) ** 0.5
    found = np.abs(other.mean(axis=1) - one.mean(axis=1)) / error > t.ppf(0.975, 2 * n - 2)
    assert found.mean() == pytest.approx(POWER, abs=4 * (POWER * (1 - POWER) / 4000) ** 0.5)


def test_nothing_is_detected_without_a_second_match():
    assert np.isnan([detectable(1.0, 0), needed(0, 1), needed(1, 0)]).all()


def test_the_mean_of_cells_has_the_error_that_draws_of_it_have():
    dice, sizes, spreads = np.random.default_rng(2), (2, 3, 6), (1.0, 4.0, 2.0)
    rows = pd.DataFrame({"cell": np.repeat([0, 1, 2], sizes), "points": dice.normal(size=sum(sizes))})
    means, errors = [], []
    for _ in range(300):
        rows["points"] = dice.normal(0, np.repeat(spreads, sizes))
        found = cells_of(rows, "points", ["cell"])
        means.append(found["mean"].mean())
        errors.append(mean_of(found).error ** 2)
    assert np.mean(errors) ** 0.5 == pytest.approx(np.std(means), rel=0.15)


@given(SPREADS, st.data())
@settings(max_examples=25, deadline=None)
def test_money_is_spent_where_it_tells_most(spreads, data):
    prices = data.draw(st.lists(st.integers(1, 9), min_size=len(spreads), max_size=len(spreads)))
    total = data.draw(st.integers(2 * sum(prices), 400 * sum(prices)))
    n, spread, price = allocated(spreads, prices, total), np.array(spreads), np.array(prices)
    assert n.min() >= 2 and n @ price <= total
    best = minimize(
        lambda each: (spread**2 / each).sum(),
        np.full(len(n), total / price.sum()),
        bounds=[(2, None)] * len(n),
        constraints={"type": "ineq", "fun": lambda each: total - each @ price},
    )
    assert ((spread**2 / (n + 1)).sum() <= best.fun * (1 + 1e-6)).all()  # but for what rounding down leaves over


@given(st.integers(2, 10**7), st.integers(2, 10**7))
@settings(deadline=None)
def test_the_fewest_that_are_enough_are_found_up_to_the_most(least, most):
    assert fewest(lambda n: n >= least, most) == (least if least <= most else np.inf)
