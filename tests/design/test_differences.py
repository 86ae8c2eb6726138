"""Two conditions compared, against other ways to reckon the same."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import nct, permutation_test, t, ttest_ind, ttest_rel

from agon import ROOT
from agon.metrics.differences import estimate, kind_of, moments
from agon.metrics.exact import flips
from agon.metrics.interval import welch
from agon.metrics.power import needed
from agon_design.differences import by_stratum, difference
from agon_design.permutation import permutation

VALUES = st.integers(-20, 20).map(lambda whole: whole / 4)


FEW = st.integers(1, 3)


def cells(least=1, most=4, strata=FEW):
    cell = st.lists(VALUES, min_size=least, max_size=most).map(np.array)
    return strata.flatmap(lambda count: st.lists(st.tuples(cell, cell), min_size=count, max_size=count))


@given(cells(2, 6, st.just(1)))
@settings(max_examples=40, deadline=None)
def test_one_stratum_is_welchs_t_test(found):
    [(one, other)] = found
    made = estimate(found)
    if made.how == "welch":
        wanted = ttest_ind(other, one, equal_var=False).confidence_interval(0.95)
        assert (made.low, made.high) == pytest.approx((wanted.low, wanted.high))
        assert [by_stratum(found)[name][0] for name in ("low", "high")] == pytest.approx([wanted.low, wanted.high])


@given(cells(1, 1, st.integers(2, 8)))
@settings(max_examples=40, deadline=None)
def test_one_match_in_every_cell_is_the_paired_t_test(found):
    made, (one, other) = estimate(found), np.array(found)[:, :, 0].T
    if made.how == "paired":
        wanted = ttest_rel(other, one).confidence_interval(0.95)
        assert (made.low, made.high) == pytest.approx((wanted.low, wanted.high))


@given(cells())
@settings(max_examples=40, deadline=None)
def test_the_difference_is_that_of_least_squares_with_strata(found):
    rows = [
        ([float(second), *(stratum == place for place in range(len(found)))], value)
        for stratum, cell in enumerate(found)
        for second, values in enumerate(cell)
        for value in values
    ]
    wanted = np.linalg.lstsq(np.array([row for row, _ in rows], dtype=float), np.array([value for _, value in rows]))[
        0
    ][0]
    made = estimate(found)
    if made.how != "paired":  # there strata count alike
        assert made.second - made.first == pytest.approx(wanted, abs=1e-9)


def welch_p(one, other):
    """Of Welch's test, in steps of a millionth; 1 where neither differs nor spreads."""
    if np.ptp(one) == np.ptp(other) == 0:
        return float(one.mean() == other.mean())
    return round(ttest_ind(one, other, equal_var=False).pvalue, 9)


@given(cells(2, 4, st.just(1)))
@settings(max_examples=20, deadline=None)
def test_the_permutation_test_of_one_stratum_is_scipys(found):
    [(one, other)] = found
    if kind_of(found) == "welch":
        wanted = permutation_test((one, other), welch_p, alternative="less", n_resamples=np.inf)
        assert permutation(found, np.ones(1))[0] == pytest.approx(wanted.pvalue)


@given(cells(1, 3, st.integers(1, 2)))
@settings(max_examples=20, deadline=None)
def test_the_permutation_test_is_that_of_all_arrangements(found):
    def arrangements(one, other):
        both = np.concatenate([one, other])
        for chosen in combinations(range(len(both)), len(one)):
            yield both[list(chosen)], np.delete(both, chosen)

    def t_test(arranged):
        """As the interval has it: the p at which it ends at 0."""
        made = estimate(arranged)
        apart = abs(made.low + made.high) / 2
        if made.how.startswith("one match"):
            return -abs(made.second - made.first)
        if made.low != made.low:
            return float(abs(made.second - made.first) < 1e-9)
        return brentq(lambda p: estimate(arranged, 1 - p).high - estimate(arranged, 1 - p).low - 2 * apart, 1e-14, 1)

    seen = t_test(found)
    every = [t_test(list(arranged)) for arranged in product(*(list(arrangements(*cell)) for cell in found))]
    p = np.mean(np.array(every) <= seen + 1e-7 * abs(seen))
    assert permutation(found, estimate(found).weights) == (pytest.approx(p), 0)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=12))
@settings(max_examples=40, deadline=None)
def test_pairs_are_exchanged_as_in_the_sign_flip_test(apart):
    found = [(np.zeros(1), np.array([float(each)])) for each in apart]
    assert permutation(found, np.full(len(apart), 1 / len(apart)))[0] == pytest.approx(
        flips(np.array(apart, dtype=float))
    )


@pytest.mark.parametrize("sizes", [(9, 9), (6, 30), (40, 40)])
def test_drawn_arrangements_come_near_to_the_t_test_and_say_how_near(sizes):
    dice = np.random.default_rng(3)
    found = [tuple(dice.normal(shift, 1, size) for size, shift in zip(sizes, (0, 0.3), strict=True)) for _ in range(3)]
    p, error = permutation(found, estimate(found).weights)
    assert 0 < error < 0.01 and permutation(found, estimate(found).weights) == (p, error)
    made, (n, _, variances) = estimate(found), moments(found)
    standard_error, df = welch(made.weights, n, variances)
    wanted = 2 * t.sf(abs(made.second - made.first) / standard_error, df)
    assert abs(p - wanted) < 4 * error + 0.02


@pytest.mark.parametrize("many", [9_000, 30_000])
def test_one_match_against_many_is_quick_and_the_same_from_either_side(many):
    values = np.random.default_rng(5).normal(0, 1, many)
    odd = np.array([np.sort(values)[-many // 100]])
    (p, error), other = (permutation([cell], np.ones(1)) for cell in ((values, odd), (odd, values)))
    both = np.append(values, odd)
    wanted = (np.abs(both - both.mean()) >= abs(odd[0] - both.mean()) - 1e-9).mean()
    assert abs(p - wanted) <= 4 * error + 1e-12 and abs(other[0] - wanted) <= 4 * other[1] + 1e-12


def test_many_pairs_are_drawn():
    dice = np.random.default_rng(4)
    apart = dice.integers(-5, 7, 60).astype(float)
    p, error = permutation([(np.zeros(1), np.array([each])) for each in apart], np.full(60, 1 / 60))
    assert abs(p - flips(apart)) < 4 * error + 1e-3


# --- how often p finds a difference that is not there, by simulation


NULLS = {
    "few spread more": [((3, 5.0), (12, 1.0))],
    "fewer spread more": [((20, 1.0), (4, 4.0))],
    "two strata, mirrored": [((2, 10.0), (20, 1.0)), ((20, 1.0), (2, 10.0))],
    "alike": [((5, 1.0), (5, 1.0))],
}


@pytest.mark.parametrize("design", NULLS)
def test_p_seldom_finds_a_difference_where_only_spreads_differ(design):
    dice, runs = np.random.default_rng(8), 150
    alarms = contradictions = 0
    for run in range(runs):
        drawn = [tuple(dice.normal(0, spread, n) for n, spread in cell) for cell in NULLS[design]]
        result = difference(drawn, seed=run)
        alarms += result.p <= 0.05
        contradictions += (result.p <= 0.05) != (result.low > 0 or result.high < 0)
    assert alarms / runs < 0.1 and contradictions / runs < 0.06


# --- what the interval covers, by simulation


DRAWS = {
    "normal": lambda dice, size: dice.normal(0, 1, size),
    "shares of 16": lambda dice, size: dice.binomial(16, dice.beta(1, 1, size)) / 16,
    "skewed": lambda dice, size: dice.exponential(1, size),
}


LEAST, MOST = 0.93, 0.97
"""Between these the coverage is held, as the guide says."""


def covered(sizes, draw, factor, runs=600, shared=0.0):
    """How often the interval holds the truth; `sizes`: matches of each condition, by stratum; `shared`: how strata spread."""
    dice = np.random.default_rng(len(sizes) + sizes[0][1])
    truth = (factor - 1) * np.mean(draw(dice, 200_000))
    hits = known = 0
    for _ in range(runs):
        levels = dice.normal(0, shared, len(sizes))
        sides = []
        for times, side in zip((1, factor), zip(*sizes, strict=True), strict=True):
            parts = np.split(times * draw(dice, sum(side)), np.cumsum(side)[:-1])
            sides.append([level + part for level, part in zip(levels, parts, strict=True)])
        made = estimate(list(zip(*sides, strict=True)))
        known += made.low == made.low
        hits += made.low <= truth <= made.high
    return hits / known


@pytest.mark.parametrize(("n", "strata"), [(2, 1), (2, 8), (5, 1), (5, 4), (30, 1)])
@pytest.mark.parametrize("draw", DRAWS)
def test_intervals_cover_what_they_say(draw, n, strata):
    error = (0.05 * 0.95 / 600) ** 0.5
    most = 0.985 if n == 2 else MOST  # with two matches of each they are a little too wide
    assert LEAST - 2 * error <= covered([(n, n)] * strata, DRAWS[draw], 2) <= most + 2 * error


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("draw", DRAWS)
def test_intervals_of_pairs_cover_what_they_say(draw, n):
    error = (0.05 * 0.95 / 600) ** 0.5
    assert LEAST - 2 * error <= covered([(1, 1)] * n, DRAWS[draw], 1.5, shared=2) <= MOST + 2 * error


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("draw", DRAWS)
def test_intervals_where_some_cells_have_one_match_cover_what_they_say(draw, n):
    error = (0.05 * 0.95 / 600) ** 0.5
    found = covered([(1, n), (n, n), (n, n), (n, 1)], DRAWS[draw], 1.5)
    assert LEAST - 2 * error <= found <= (0.985 if n == 2 else MOST) + 2 * error


def test_the_guide_says_between_what_the_coverage_is_held():
    guide = (ROOT / "docs/how-to/compare-conditions.md").read_text(encoding="utf-8")
    assert f"between {100 * LEAST:.0f} and {100 * MOST:.0f} %, by simulation" in guide


def test_a_cell_of_one_match_has_its_conditions_variance_and_no_other():
    [alone_] = by_stratum([(np.array([1.0]), np.array([4.0, 6.0]))])["low"]
    assert np.isnan(alone_)
    cells = [(np.array([1.0]), np.array([4.0, 6.0])), (np.array([1.0, 5.0]), np.array([3.0, 9.0]))]
    made, weights = estimate(cells), np.array([2 / 3, 1]) / (5 / 3)
    own = weights**2 @ [8, 8 / 2]  # the first condition spreads as its one cell of two matches does
    parts = np.array([own, weights[0] ** 2 * 1, weights[1] ** 2 * 9])
    half = t.ppf(0.975, parts.sum() ** 2 / (parts**2).sum()) * parts.sum() ** 0.5
    assert (made.low, made.high) == pytest.approx((made.second - made.first - half, made.second - made.first + half))


@pytest.mark.parametrize(("n", "shares"), [(3, (0.2, 0.6)), (5, (0.5, 0.5)), (10, (0.05, 0.3)), (30, (0.5, 0.9))])
def test_intervals_of_wins_cover_what_they_say(n, shares):
    dice, hits = np.random.default_rng(n), 0
    for _ in range(1_000):
        made = estimate([tuple((dice.random(n) < share).astype(float) for share in shares)])
        hits += made.how == "shares" and made.low <= shares[1] - shares[0] <= made.high
    assert hits / 1_000 > 0.93


# --- effect size and power


@given(cells(2, 6, st.integers(1, 3)))
@settings(max_examples=30, deadline=None)
def test_the_effects_interval_is_that_of_the_noncentral_t(found):
    made, compared = estimate(found), difference(found)
    if compared.effect == compared.effect and abs(compared.effect) < 5:
        at = (made.second - made.first) / (made.spread * made.reach)
        tails = [nct.cdf(at, made.df, limit / made.reach) for limit in (compared.effect_low, compared.effect_high)]
        assert tails == pytest.approx([0.975, 0.025], abs=1e-4)
        assert abs(compared.effect) <= abs(made.second - made.first) / made.spread


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("size", [0.1, 0.5, 1.3])
def test_so_many_matches_have_the_power_and_one_less_has_not(size, paired):
    def power(n):
        df, shift = (n - 1, size * n**0.5) if paired else (2 * n - 2, size * (n / 2) ** 0.5)
        cut = t.ppf(0.975, df)
        return nct.sf(cut, df, shift) + nct.cdf(-cut, df, shift)

    n = int(needed(size * 3, 3, paired))
    assert power(n - 1) < 0.8 <= power(n)


# --- what cannot be said


def test_matches_that_are_all_alike_have_no_interval():
    made = difference([(np.full(3, 2.0), np.full(3, 5.0))])
    assert made.difference == 3 and np.isnan([made.low, made.effect, made.needed]).all() and "alike" in made.how
    assert made.p == 0.1  # two of the twenty arrangements


def test_one_match_of_each_says_the_difference_alone():
    made = difference([(np.array([1.0]), np.array([4.0]))])
    assert made.difference == 3 and np.isnan([made.low, made.effect, made.needed]).all() and made.p == 1


def test_cells_of_one_match_take_the_spread_of_the_others():
    made = difference([(np.array([1.0]), np.array([4.0])), (np.array([1.0, 2.0]), np.array([3.0, 5.0]))])
    assert made.how == "pooled" and made.spread == pytest.approx(1.25**0.5) and made.low < made.difference < made.high
