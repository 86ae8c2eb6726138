"""Means and their intervals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp, ttest_ind
from statsmodels.stats.proportion import proportion_confint

from agon import AgonError
from agon.metrics.interval import RATE, SHARE, contrast_ratios, ends, jackknife, pooled, proportion_interval, summary

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


def test_equal_values_without_limits_have_no_interval():
    row = of([5.0] * 4)
    assert row[["value", "sd", "n"]].tolist() == [5, 0, 4] and np.isnan([row.low, row.high]).all()


def test_equal_values_have_the_interval_of_as_many_yes_or_no():
    for n in [2, 5, 15]:
        row, exact = of([1.0] * n, limits={"v": (1, 17)}), binomtest(0, n).proportion_ci()
        assert (row.low, row.high) == (1, pytest.approx(1 + 16 * exact.high))


@settings(deadline=None, max_examples=40)
@given(values)
def test_without_limits_the_interval_is_students(numbers):
    row = of(numbers)
    if row.sd > 1e-9 * (1 + abs(row.value)):
        wanted = ttest_1samp(numbers, 0).confidence_interval()
        assert [row.low, row.high] == pytest.approx([*wanted], rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.booleans(), min_size=2, max_size=30))
def test_yes_and_no_have_clopper_and_pearsons_interval(hits):
    row = of([float(each) for each in hits], limits={"v": SHARE})
    assert [row.low, row.high] == pytest.approx(proportion_confint(sum(hits), len(hits), method="beta"))


def test_a_wide_range_makes_it_students_again():
    numbers = [3.0, 4.0, 8.0, 5.0]
    wide, free = of(numbers, limits={"v": (-1e6, 1e6)}), of(numbers)
    assert [wide.low, wide.high] == pytest.approx([free.low, free.high], rel=0.02)


def test_a_limit_on_one_side_cuts_students_interval():
    low, high = ends(1.0, 1.0, 1, 2, limits=RATE)
    assert (low, high) == (0, ends(1.0, 1.0, 1, 2)[1])


def test_what_lies_beyond_its_limits_is_refused():
    with pytest.raises(AgonError, match=r"v is 1\.2, but its limits are 0 and 1"):
        of([0.5, 1.2], limits={"v": SHARE})
    with pytest.raises(AgonError, match="beyond 0 to 1"):
        pooled(pd.DataFrame({"g": "x", "match": ["a", "b"], "hits": [1, 3], "n": 2}), ["g"], limits=SHARE)


def test_limits_may_differ_from_row_to_row():
    table = pd.DataFrame({"g": ["a", "a", "b", "b"], "v": 1.0, "most": [17, 17, 25, 25]})
    found = summary(table, ["v"], ["g"], limits={"v": (1, table.most)})
    assert (found.high - 1).to_numpy() / [16, 24] == pytest.approx(binomtest(0, 2).proportion_ci().high)


def test_what_differs_between_fixed_cells_is_no_noise():
    table = pd.DataFrame({"g": "x", "cell": ["a", "a", "b", "b"], "v": [1.0, 2.0, 11.0, 12.0]})
    fixed, drawn = (summary(table, ["v"], ["g"], cells=cells).iloc[0] for cells in (["cell"], []))
    half = ttest_ind([1, 2], [11, 12], equal_var=False).confidence_interval().high + 10
    assert (fixed.value, fixed.high - fixed.value) == (6.5, pytest.approx(half / 2))
    assert drawn.high - drawn.low > 3 * (fixed.high - fixed.low)


def test_a_cell_of_one_match_spreads_as_the_others_do():
    rows = [("a", 1.0), ("a", 3.0), ("b", 20.0)]
    table = pd.DataFrame(rows, columns=["cell", "v"]).assign(g="x")
    row = summary(table, ["v"], ["g"], cells=["cell"]).iloc[0]
    assert row.high - row.value == pytest.approx(
        12.706 * (2 / 3) ** 0.5, rel=1e-4
    )  # t with 1 degree; variance 2, over 3
    assert np.isnan(summary(table[1:], ["v"], ["g"], cells=["cell"]).low).all()


def test_intervals_are_left_out_when_not_asked_for():
    row = of([1.0, 3.0], intervals=False)
    assert np.isnan([row.low, row.high]).all() and row.sd == pytest.approx(2**0.5)


def test_keys_that_are_absent_are_a_group_too():
    table = pd.DataFrame({"model": ["m", None, None], "v": [1.0, 2.0, 4.0]})
    assert summary(table, ["v"], ["model"]).value.tolist() == [1, 3]


def test_labels_that_are_not_used_have_no_row():
    table = pd.DataFrame({"g": pd.Categorical(["a", "a"], categories=["a", "b"]), "v": [1.0, 2.0]})
    assert summary(table, ["v"], ["g"]).g.tolist() == ["a"]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(-50, 50), st.floats(1e-3, 100))
def test_an_interval_contains_its_mean_and_lies_within_the_limits(shares, low, width):
    row = of([low + width * each for each in shares], limits={"v": (low, low + width)})
    slack = 1e-9 * (1 + abs(low) + width)
    assert low - slack <= row.low <= row.value + slack and row.value - slack <= row.high <= low + width + slack


@settings(deadline=None, max_examples=12)
@given(values)
def test_a_higher_level_gives_a_wider_interval(numbers):
    for limits in (None, {"v": (-1e6, 1e6)}):
        wide, narrow = (of(numbers, level=level, limits=limits) for level in (0.99, 0.8))
        assert np.isnan(wide.low) or (wide.low <= narrow.low and narrow.high <= wide.high)


@settings(deadline=None, max_examples=25)
@given(values, st.lists(values, max_size=4))
def test_a_groups_interval_does_not_depend_on_its_neighbours(numbers, neighbours):
    groups = [*neighbours, numbers, numbers[::-1]]
    table = pd.DataFrame([{"g": f"{n:02}", "v": v} for n, group in enumerate(groups) for v in group])
    among = summary(table, ["v"], ["g"]).set_index("g").loc[f"{len(neighbours):02}"]
    alone = of(numbers)
    scale = 1e-12 * (1 + max(map(abs, numbers)))
    assert [among.low, among.high] == pytest.approx([alone.low, alone.high], rel=1e-9, abs=1e3 * scale, nan_ok=True)
    assert (among.n, among.value) == (alone.n, pytest.approx(alone.value, rel=1e-12, abs=scale))


def test_the_same_values_give_the_same_interval_every_time():
    assert of([1.0, 2.0, 4.0, 8.0]).equals(of([1.0, 2.0, 4.0, 8.0]))


def test_the_interval_of_a_proportion_is_exact():
    low, high = proportion_interval(3, 10)
    exact = binomtest(3, 10).proportion_ci()
    assert (low, high) == pytest.approx((exact.low, exact.high))
    assert proportion_interval(0, 5)[0] == 0 and proportion_interval(5, 5)[1] == 1


def test_a_ratio_of_equal_clusters_is_a_mean():
    hits = [1.0, 3.0, 2.0, 2.0]
    table = pd.DataFrame({"g": "x", "match": [*"abcd"], "hits": hits, "n": 4})
    row = pooled(table, ["g"], limits=SHARE).iloc[0]
    mean = of([each / 4 for each in hits], limits={"v": SHARE})
    assert (row.value, row.n) == (0.5, 16) and [row.low, row.high] == pytest.approx([mean.low, mean.high])
    assert np.isnan(pooled(table[:1], ["g"], limits=SHARE).low).all()


def test_clusters_of_unequal_size_count_as_fewer():
    """All hits everywhere: 3 clusters count as 2 of one size (Kish)."""
    table = pd.DataFrame({"g": "x", "match": [*"abc"], "hits": [4.0, 1, 1], "n": [4, 1, 1]})
    row = pooled(table, ["g"], limits=SHARE).iloc[0]
    assert (row.low, row.high) == (pytest.approx(0.025 ** (1 / 2)), 1)


def test_limits_go_by_metric():
    table = pd.DataFrame({"match": ["a", "b"] * 2, "metric": ["won", "won", "calls", "calls"], "hits": [1, 1, 9, 12.0]})
    found = pooled(table.assign(n=1), ["metric"], limits={"won": SHARE, "calls": RATE}).set_index("metric")
    assert found.high["won"] == 1 and found.low["calls"] == 0 and found.high["calls"] > 12


@settings(deadline=None, max_examples=40)
@given(values)
def test_the_jackknife_of_a_mean_is_its_standard_error(numbers):
    sums = np.column_stack([numbers, np.ones(len(numbers))])
    error, df = jackknife(sums, lambda each: each[:, 0] / each[:, 1])
    assert error == pytest.approx(np.std(numbers, ddof=1) / len(numbers) ** 0.5, rel=1e-6, abs=1e-6)
    assert error < 1e-6 or df == pytest.approx(len(numbers) - 1)


def test_the_jackknife_over_strata_is_welchs_error():
    one, other = [1.0, 4.0, 7.0], [2.0, 3.0, 9.0, 4.0]
    values, strata = np.array(one + other), np.array([0] * 3 + [1] * 4)
    sums = np.column_stack([values * (strata == 0), strata == 0, values * (strata == 1), strata == 1]).astype(float)
    error, df = jackknife(sums, lambda each: each[:, 2] / each[:, 3] - each[:, 0] / each[:, 1], strata)
    wanted = ttest_ind(other, one, equal_var=False)
    assert (error, df) == (pytest.approx((np.mean(other) - np.mean(one)) / wanted.statistic), pytest.approx(wanted.df))


def test_a_contrast_of_other_matches_is_welchs():
    one, other = [1.0, 4.0, 7.0], [2.0, 3.0, 9.0, 4.0]
    parts = [
        pd.DataFrame({"match": [f"{k}{v}" for v in each], "hits": each, "n": 1})
        for k, each in (("a", one), ("b", other))
    ]
    found = contrast_ratios(parts, lambda ratios: ratios[1] - ratios[0])
    assert [found.low, found.high] == pytest.approx([*ttest_ind(other, one, equal_var=False).confidence_interval()])


def test_a_contrast_of_ratios_leaves_out_whole_clusters_of_both():
    one = pd.DataFrame({"match": [*"aab"], "hits": [1.0, 0.0, 1.0], "n": 1})
    other = pd.DataFrame({"match": [*"ab"], "hits": [1.0, 0.0], "n": 2})
    found = contrast_ratios([one, other], lambda ratios: ratios[0] - ratios[1])
    assert found.ratios == [pytest.approx(2 / 3), 0.25] and (found.n, found.clusters) == ([3, 4], 2)
    value, error = 2 / 3 - 0.25, 0.5 * abs((1 - 0) - (0.5 - 0.5))  # b alone: 1 less 0; a alone: 1/2 less 1/2
    assert (found.low, found.high) == pytest.approx((value - 12.7062 * error, value + 12.7062 * error), rel=1e-4)
    assert np.isnan(contrast_ratios([one[:2], other[:1]], lambda ratios: ratios[0]).low)
