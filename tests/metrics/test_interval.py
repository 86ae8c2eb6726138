"""Means and their intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from agon.metrics.interval import LARGE, contrasted, percentile_interval, proportion_interval, summary

ROWS = pd.DataFrame(
    {
        "agent": ["a", "a", "a", "b", "c", "c"],
        "points": [1.0, 2.0, 6.0, 4.0, np.nan, np.nan],
        "rounds": [1.0, np.nan, 3.0, np.nan, 5.0, 5.0],
    }
)
values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


def of(numbers, **more):
    """The summary of one group."""
    return summary(pd.DataFrame({"g": "x", "v": numbers}), ["v"], ["g"], **more).iloc[0]


def test_a_mean_comes_with_its_n_and_sample_standard_deviation():
    row = summary(ROWS, ["points"], ["agent"]).set_index("agent").loc["a"]
    assert (row.metric, row.value, row.n) == ("points", 3, 3) and row.sd == pytest.approx(7**0.5)


def test_absent_values_do_not_count():
    row = summary(ROWS, ["rounds"], ["agent"]).set_index("agent").loc["a"]
    assert (row.value, row.n) == (2, 2)


def test_a_group_without_a_value_has_no_row():
    found = summary(ROWS, ["points", "rounds"], ["agent"])
    assert list(zip(found.metric, found.agent, strict=True)) == [
        ("points", "a"),
        ("points", "b"),
        ("rounds", "a"),
        ("rounds", "c"),
    ]


def test_a_group_of_one_has_a_mean_and_nothing_else():
    row = summary(ROWS, ["points"], ["agent"]).set_index("agent").loc["b"]
    assert (row.value, row.n) == (4, 1) and np.isnan([row.sd, row.low, row.high]).all()


def test_equal_values_have_an_interval_without_width():
    assert of([5.0] * 4)[["value", "sd", "low", "high"]].tolist() == [5, 0, 5, 5]


def test_two_values_have_the_interval_between_them():
    assert of([1.0, 3.0])[["low", "high"]].tolist() == [1, 3]


def test_intervals_are_left_out_when_not_asked_for():
    row = of([1.0, 3.0], intervals=False)
    assert np.isnan([row.low, row.high]).all() and row.sd == pytest.approx(2**0.5)


def test_keys_that_are_absent_are_a_group_too():
    table = pd.DataFrame({"model": ["m", None, None], "v": [1.0, 2.0, 4.0]})
    assert summary(table, ["v"], ["model"]).value.tolist() == [1, 3]


def test_labels_that_are_not_used_have_no_row():
    table = pd.DataFrame({"g": pd.Categorical(["a", "a"], categories=["a", "b"]), "v": [1.0, 2.0]})
    assert summary(table, ["v"], ["g"]).g.tolist() == ["a"]


@settings(deadline=None, max_examples=40)
@given(values)
def test_an_interval_contains_its_mean_and_lies_within_the_values(numbers):
    row, slack = of(numbers), 1e-9 * (1 + max(map(abs, numbers)))
    assert row.low - slack <= row.value <= row.high + slack
    assert min(numbers) - slack <= row.low and row.high <= max(numbers) + slack


@settings(deadline=None, max_examples=40)
@given(values)
def test_a_higher_level_gives_a_wider_interval(numbers):
    wide, narrow = of(numbers, level=0.99), of(numbers, level=0.8)
    assert wide.low <= narrow.low and narrow.high <= wide.high


@settings(deadline=None, max_examples=40)
@given(values, st.lists(values, max_size=4))
def test_a_groups_interval_does_not_depend_on_its_neighbours(numbers, neighbours):
    groups = [*neighbours, numbers, numbers[::-1]]
    table = pd.DataFrame([{"g": f"{n:02}", "v": v} for n, group in enumerate(groups) for v in group])
    among = summary(table, ["v"], ["g"]).set_index("g").loc[f"{len(neighbours):02}"]
    alone = of(numbers)
    scale = 1e-12 * (1 + max(map(abs, numbers)))
    assert [among.low, among.high] == pytest.approx([alone.low, alone.high], rel=1e-12, abs=scale)
    assert (among.n, among.value) == (alone.n, pytest.approx(alone.value, rel=1e-12, abs=scale))


def test_the_same_values_give_the_same_interval_every_time():
    assert of([1.0, 2.0, 4.0, 8.0]).equals(of([1.0, 2.0, 4.0, 8.0]))


def test_an_interval_is_right_nearly_as_often_as_it_says():
    rng = np.random.default_rng(1)
    low, high = percentile_interval(rng.normal(size=(2000, 40)), 0.95).T
    assert 0.91 < ((low < 0) & (high > 0)).mean() < 0.97


def test_the_normal_interval_of_large_groups_goes_on_where_the_bootstrap_ends():
    sample = np.random.default_rng(2).normal(size=LARGE + 1)
    normal, bootstrap = percentile_interval(sample[None], 0.95)[0], percentile_interval(sample[None, :-1], 0.95)[0]
    assert normal == pytest.approx(bootstrap, abs=0.01)


def test_the_interval_of_a_proportion_is_exact():
    low, high = proportion_interval(3, 10)
    exact = binomtest(3, 10).proportion_ci()
    assert (low, high) == pytest.approx((exact.low, exact.high))
    assert proportion_interval(0, 5)[0] == 0 and proportion_interval(5, 5)[1] == 1


def test_a_contrast_of_ratios_draws_whole_clusters_of_both():
    one = pd.DataFrame({"match": ["a", "a", "b"], "hits": [1.0, 0.0, 1.0], "n": 1})
    other = pd.DataFrame({"match": ["a", "b"], "hits": [1.0, 0.0], "n": 2})
    found = contrasted([one, other], lambda ratios: ratios[0] - ratios[1])
    assert found.ratios == [pytest.approx(2 / 3), 0.25] and (found.n, found.clusters) == ([3, 4], 2)
    assert (found.low, found.high) == (0, 1)  # match a alone: 1/2 less 1/2; match b alone: 1 less 0
    assert np.isnan(contrasted([one[:2], other[:1]], lambda ratios: ratios[0]).low)
