"""Exact tests, against all that they count."""

import gc
from itertools import combinations, product

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from agon.metrics.exact import flips, mcnemar_bounds


@pytest.fixture(scope="module", autouse=True)
def nothing_left_to_look_through():
    """`multipletests` collects garbage at every call."""
    gc.freeze()


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_exchanging_settings_is_exact(apart):
    sums = [
        sum(sign * each for sign, each in zip(signs, apart, strict=True))
        for signs in product((1, -1), repeat=len(apart))
    ]
    wanted = sum(abs(each) >= abs(sum(apart)) for each in sums) / len(sums)
    assert flips(pd.Series(apart, dtype=float).to_numpy()) == pytest.approx(wanted)


@given(st.integers(0, 30), st.integers(0, 30))
def test_of_one_decision_a_setting_it_is_mcnemars_exact_test(better, worse):
    wanted = binomtest(better, better + worse).pvalue if better + worse else 1
    assert flips(pd.Series([1.0] * better + [-1.0] * worse).to_numpy()) == pytest.approx(wanted)


def test_large_numbers_are_rounded_finely():
    large = pd.Series([1e9 + 7, -1e9, 3e8 + 1, 5e8, -2e8])
    assert flips(large.to_numpy()) == pytest.approx(flips((large / 1e8).round().to_numpy()))


def test_the_bounds_of_a_paired_test_are_those_of_all_pairings():
    n = 6
    for before in range(n + 1):
        for after in range(n + 1):
            first, p = set(range(before)), []
            for second in map(set, combinations(range(n), after)):
                gained, lost = len(second - first), len(first - second)
                p.append(binomtest(gained, gained + lost).pvalue if gained + lost else 1.0)
            assert mcnemar_bounds(before, after, n) == pytest.approx((min(p), max(p)))
