"""The rule of docs/statements-rule.md: planted statements of every kind, how resamples are drawn, and how often the rule errs."""

import re

import numpy as np
import pandas as pd
import pytest
from claims import cells_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, t, ttest_ind
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

from agon import ROOT
from agon.metrics.record_sets import BLOCK, ENOUGH, LOOKS, SEED, within_cells
from agon_papers import propositions, verdict
from agon_papers.propositions import (
    REST,
    all_of,
    any_of,
    aside,
    half,
    largest,
    most,
    nearly_all,
    none_of,
    of_each,
    open_if,
    order,
    printed,
    readings,
    several,
    share_of,
    smallest,
    text_of_all,
)
from agon_papers.resampling import (
    Replicates,
    Units,
    any_rows,
    centre,
    jeffreys,
    replicates_of,
    stretch_deviations,
)
from agon_papers.verdict import CLOSE, COLUMNS, KINDS, Missing, Statements, is_on_edge, rows, settle, steps_of

MODELS, OPPONENTS, MATCHES = ("A", "B", "C"), ("pp", "tft", "mf", "srep"), 5
CELL = ["model", "opponent"]
RULE = ROOT / "docs/statements-rule.md"


# ---- tests of rows


SERIES = arrays(float, st.integers(2, 12), elements=st.integers(-3, 3).map(float)).map(pd.Series)


@given(SERIES, st.integers(-3, 3))
def test_quantifiers_count_rows(numbers, bound):
    hits, n = int((numbers > bound).sum()), len(numbers)

    def above(x):
        return x > bound

    counts = {
        all_of: hits == n, none_of: hits == 0, any_of: hits > 0, most: hits > n / 2, half: hits >= n / 2
    }  # fmt: skip
    assert {quantifier: quantifier(numbers, above).true for quantifier in counts} == counts
    for least in range(1, n + 1):
        assert propositions.Test(numbers, above, least).true == (hits >= least)
        assert share_of(least / n, numbers, above).true == (hits >= least)
    assert most(numbers, above).estimate == hits / n and most(numbers, above).estimate_of == f"share of {n} rows"


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (nearly_all, {1: 1, 4: 4, 5: 4, 8: 7, 9: 8, 10: 9, 19: 18, 20: 18, 48: 44}),
        (several, {1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 8: 3, 48: 3}),
    ],
)
def test_words_need_so_many_rows_as_the_rule_says(words, needed):
    assert {n: words(pd.Series(range(n)), lambda x: x < 0).least for n in needed} == needed


@given(SERIES.filter(lambda numbers: len(numbers) > 2))
def test_orders_are_of_every_pair(numbers):
    first, *others = numbers.index
    top, rest, last = numbers[0], numbers[others], numbers.iloc[-1]
    assert largest(numbers, 0).true == (top > rest.max()) and smallest(numbers, 0).true == (top < rest.min())
    assert largest(numbers, 0).estimate == top - rest.max() and smallest(numbers, 0).estimate == rest.min() - top
    assert largest(numbers, 0).estimate_of == "smallest gap" and order(numbers, [0], [1]).estimate_of == "gap"
    middle = numbers.index[1:-1]
    chain = order(numbers, [first], middle, [numbers.index[-1]])
    assert chain.true == (top > numbers[middle].max() and numbers[middle].min() > last)
    assert order(numbers, REST, [first]).true == smallest(numbers, 0).true


def test_an_order_of_columns_is_asked_in_each_row():
    table = pd.DataFrame({"a": [3, 1], "b": [2, 2], "c": [1, 0]}, index=["x", "y"])
    assert order(table, "a", "c").true and not order(table, "a", "b").true
    assert order(table, "a", "b").estimate == -1


def test_a_word_is_asked_of_the_rows_of_each_name():
    index = pd.MultiIndex.from_product([["A", "B", "C"], range(3)], names=["model", "style"])
    numbers = pd.Series([1, 1, 1, 1, 1, 0, 0, 0, 0], index)
    each = of_each("model", most, numbers, lambda x: x == 1)
    assert most(numbers, lambda x: x == 1).true and [test.true for test in each] == [True, True, False]
    assert [str(test) for test in each] == ["A 3 of 3", "B 2 of 3", "C 0 of 3"]


def test_nothing_to_test_is_one_clear_error():
    with pytest.raises(ValueError, match=r"^there is no row to test$"):
        most(pd.Series(dtype=float), lambda x: x > 0)
    assert str(aside("cells", pd.Series(dtype=float))) == "cells: none"


def test_an_order_of_names_that_are_not_there_is_one_clear_error():
    with pytest.raises(ValueError, match=r"^no row is named D; there are A, B$"):
        assert largest(pd.Series({"A": 1.0, "B": 2.0}), "D").true


def test_tables_are_compared_with_what_is_printed_column_by_column():
    table = pd.DataFrame({"mean": [1.04], "sd": [0.25]}, index=["A"])
    assert printed(table, {"A": ["1.0", "0.3"]}).true and not printed(table, {"A": ["1.0", "0.4"]}).true
    assert printed(table, {"A": ["1.1", "0.4"]}).nearly and not printed(table, {"A": ["1.2", "0.4"]}).nearly


def test_numbers_round_as_they_are_printed():
    assert (
        propositions.printed_as(64.05, "64.0")
        and propositions.printed_as(64.05, 64.1)
        and propositions.printed_as(2.5, 3)
    )
    assert not propositions.printed_as(64.06, "64.0") and propositions.printed_as(64.06, "64.0", off=1)
    assert propositions.rounded(pd.Series([0.05, 0.149999]), 1).tolist() == [0.1, 0.1]


@pytest.mark.parametrize("tie", [4.405, 4.455, 0.03125, -5.275, 0.2225])
def test_a_tie_is_written_alike_by_every_processor(tie):
    seen = [np.nextafter(tie, -10), tie, np.nextafter(tie, 10)]
    row = {"claim": "", "section": "", "published": "", "verdict": "", "recomputed": "", "why": "", "draws": 1}
    pages = {
        verdict.words(
            row
            | {"estimate": x, "estimate_of": "number", "low": x, "high": x, "stability": 1.0}
            | {"chance": x, "chance_true": 1.0}
            | {"constant_low": x, "constant_high": x}
        )
        for x in seen
    }
    assert len(pages) == 1 and len({propositions.text_of(x) for x in seen}) == 1
    assert len({f"{x:.3g}" for x in seen}) == 2  # unrounded, they would differ


def test_numbers_are_listed_and_many_are_spanned():
    few = most(pd.Series({"A": 40.25, "B": 1200}), lambda x: x > 50)
    assert str(few) == "1 of 2: A 40.2, B 1,200"
    index = pd.MultiIndex.from_product([["A", "B"], range(15)], names=["model", "cell"])
    many = most(pd.Series(np.arange(30.0), index), lambda x: x > 10)
    assert str(many) == "19 of 30 by model and cell; 0.00 to 29.0"
    assert text_of_all([few, [aside("of", pd.Series({"A": 1.0}))], ""]) == f"{few}; of: A 1.00"


# ---- one step


@pytest.mark.parametrize(
    ("name", "threshold", "moved"),
    [
        ("least", 53.5, [53.6, 53.4]),
        ("least", 4, [5, 3]),
        ("least", 0.2, [0.22, 0.18]),
        ("least", 1, [1.1, 0.9]),
        ("least", 0, []),
        ("margin", 4, [4.8, 3.2]),
    ],
)
def test_a_step_is_a_last_digit_or_a_tenth_or_a_fifth_of_a_margin(name, threshold, moved):
    assert steps_of(name, threshold) == pytest.approx(moved)


@given(st.lists(st.booleans(), min_size=3, max_size=9))
def test_a_count_that_one_row_turns_lies_on_the_edge(hits):
    mask = pd.Series(hits)
    n, true = len(hits), sum(hits)
    assert is_on_edge([most(mask)]) == (len({2 * (true + step) > n for step in (-1, 0, 1)}) > 1)
    assert not is_on_edge([all_of(mask)]) and not is_on_edge([any_of(mask)])


# ---- how resamples are drawn


codes = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(lambda cells: np.unique(cells, return_inverse=True)[1])


@given(codes, st.booleans(), st.integers(0, 3))
def test_cells_keep_their_size(cells, whole, block):
    weights, sizes = within_cells(cells, block, whole=whole), np.bincount(cells)
    drawn = np.stack([weights[:, cells == cell].sum(axis=1) for cell in range(len(sizes))], axis=1)
    assert weights.shape == (BLOCK, len(cells)) and (drawn == sizes).all()
    assert np.array_equal(weights, within_cells(cells, block, whole=whole))


@given(st.integers(2, 9), st.integers(0, 3))
def test_rows_are_drawn_but_for_one(n, block):
    drawn = any_rows(n, block)
    assert drawn.shape == (BLOCK, n - 1) and drawn.min() >= 0 and drawn.max() < n
    assert np.array_equal(drawn, any_rows(n, block)) and not np.array_equal(any_rows(9, 0), any_rows(9, 1))


@given(codes, st.booleans(), st.integers(0, 2 * BLOCK))
def test_means_are_those_of_the_rows_that_are_drawn(cells, whole, number):
    dice = np.random.default_rng(number)
    points = np.where(dice.random(len(cells)) < 0.2, np.nan, dice.normal(size=len(cells)))
    table = pd.DataFrame({"cell": cells, "pair": cells // 2, "points": points, "void": 0, "match": map(str, cells)})
    table["match"] += table.index.astype(str).map("/{}".format)
    units = Units(table, ["cell"])
    for part in (table, table[table.pair > 0]):
        drawn = units.redraws(part, whole=whole)(number)
        for by in (["cell"], ["pair"], ["void", "pair"]):
            means = units.redraws(part, by, whole=whole)(number)
            pd.testing.assert_series_equal(means.points, drawn.groupby(by).points.mean())


def test_means_over_cells_of_different_sizes_keep_their_weights():
    table = pd.DataFrame(
        {"cell": [0] * 5 + [1] * 2, "points": [0.0] * 5 + [1.0] * 2, "void": 0, "match": list("abcdefg")}
    )
    units = Units(table, ["cell"])
    means, drawn = units.redraws(table, ["void"]), units.redraws(table)
    assert {means(number).points.item() for number in range(20)} == {2 / 7}
    assert {drawn(number).points.mean() for number in range(20)} == {2 / 7}


def values(n: int, cells: int, samples: int) -> np.ndarray:
    return np.random.default_rng([SEED, n, cells]).normal(size=(samples, cells * n))


def mean_weights(n: int, cells: int, blocks: int) -> np.ndarray:
    """Of the mean over all cells: resamples x units."""
    labels = np.repeat(np.arange(cells), n)
    weights = np.concatenate([within_cells(labels, block) for block in range(blocks)])
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_drawn_means_vary_as_much_as_means_do(n):
    samples = values(n, 42, 200)
    spread = (mean_weights(n, 42, 4) @ samples.T).var(axis=0)
    within = samples.reshape(200, 42, n).var(axis=2, ddof=1).mean(axis=1) / (42 * n)
    assert spread.mean() == pytest.approx(within.mean(), rel=0.05)


@pytest.mark.parametrize("n", [2, 5])
def test_stretched_draws_keep_the_size_of_variances(n):
    table = pd.DataFrame({"cell": np.repeat(np.arange(300), n), "points": values(n, 300, 1)[0]})
    made = stretch_deviations(table, ["cell"])
    pd.testing.assert_series_equal(made.groupby("cell").points.mean(), table.groupby("cell").points.mean())
    weights = within_cells(table.cell.to_numpy(), 0, whole=True).reshape(BLOCK, 300, n).astype(float)
    points = made.points.to_numpy().reshape(300, n)
    mean = (weights * points).sum(axis=2) / n
    found = ((weights * points**2).sum(axis=2) - n * mean**2) / (n - 1)
    assert found.mean() == pytest.approx(table.groupby("cell").points.var().mean(), rel=0.05)


@given(st.integers(1, 200), st.data())
def test_counts_are_drawn_from_jeffreys_interval(n, data):
    k = data.draw(st.integers(0, n))
    low, high = proportion_confint(k, n, method="jeffreys")
    many = np.concatenate([jeffreys(k, n, "a count", block) for block in range(8)])
    inside = ((low <= many) & (many <= high)).mean()
    assert inside == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / len(many)) ** 0.5)


def test_the_same_count_is_drawn_once():
    share = jeffreys(20, 21, "a", 0)
    assert share.mean() == pytest.approx(20.5 / 22, abs=0.01) and (share < 1).all()
    assert not np.array_equal(share, jeffreys(20, 21, "b", 0)) and np.array_equal(share, jeffreys(20, 21, "a", 0))


def test_record_sets_are_moved_to_what_the_records_give():
    own = [all_of(pd.Series({"A": 1.0, "B": 2.0})), "shown"]
    sets = [[all_of(pd.Series({"A": a, "B": 5.0}))] for a in (3.0, 5.0)]
    moved = centre(sets, own[:1])
    assert [test.numbers.to_dict() for [test] in moved] == [{"A": 0.0, "B": 2.0}, {"A": 2.0, "B": 2.0}]


# ---- the share that agrees


def trial(hits) -> Replicates:
    """A test of one row, in a block of resamples."""
    return in_sets(np.resize(hits, BLOCK)[:, None], 1)


def in_sets(parts, needed, estimate=None, rows=False) -> Replicates:
    """A test in resamples: of which parts it is true, and how many it needs."""
    draws, size = parts.shape
    sizes = np.full(draws, float(size)) if rows else None
    estimate = np.where(parts.all(axis=1), 1.0, -1.0) if estimate is None else estimate
    return Replicates(estimate, parts, np.full(draws, float(needed)), sizes)


SURE = all_of(1.0, lambda x: x > 0)


def test_drawing_ends_early_where_nothing_is_in_doubt():
    asked = []
    for agrees, looks in (([True], LOOKS[0]), ([True] * 19 + [False], LOOKS[-1])):
        asked.clear()
        found = settle([SURE], lambda block, agrees=agrees: asked.append(block) or [trial(agrees)])
        assert asked == [*range(looks)] and found.draws == looks * BLOCK
        assert found.stability == np.mean(np.resize(agrees, BLOCK))


def test_few_units_are_judged_by_student_s_t():
    few, enough = (settle([SURE], lambda block: [trial([True])], cells) for cells in ((10,), ()))
    assert few.required_share == pytest.approx(norm.cdf(t.ppf(ENOUGH, 9))) and enough.required_share == pytest.approx(
        ENOUGH
    )
    assert few.tails[0] < enough.tails[0] == pytest.approx(0.025) and few.p > enough.p


def test_one_refuted_part_of_several_is_corrected_for_their_number():
    own = order(pd.Series({"A": 0.0, "B": 1.0, "C": 0.5}), "A", REST)
    parts = np.column_stack([np.zeros(BLOCK, dtype=bool), np.resize([True, False], BLOCK)])
    found = settle([own], lambda block: [in_sets(parts, 2)])
    assert (found.stability, found.parts) == (1, 2) and found.required_share == pytest.approx(1 - (1 - ENOUGH) / 2)
    either = settle([own], lambda block: [in_sets(parts[:, [1, 1]] ^ [True, False], 2)])
    assert either.stability == 0.5


def test_parts_that_must_all_hold_are_judged_one_by_one():
    """Each of two parts is true in 96 % of the resamples, and both together in 92 %."""
    own = order(pd.Series({"A": 2.0, "B": 1.0, "C": 0.5}), "A", REST)
    parts = np.ones((BLOCK, 2), dtype=bool)
    parts[: BLOCK // 25, 0] = parts[-(BLOCK // 25) :, 1] = False
    found = settle([own], lambda block: [in_sets(parts, 2)])
    assert found.is_clear and found.parts == 1 and parts.all(axis=1).mean() < ENOUGH < found.stability


def test_a_row_at_the_bound_does_not_undo_those_that_are_certain():
    """Half of eight rows are certainly above; one more is above as often as not."""
    own = half(pd.Series([1, 1, 1, 1, 1, -1, -1, -1]), lambda x: x > 0)
    parts = np.tile([True] * 5 + [False] * 3, (BLOCK, 1))
    parts[::2, 4] = False
    found = settle([own], lambda block: [in_sets(parts, 4, rows=True)])
    assert found.is_clear and (found.stability, found.parts) == (1, 5)


def test_what_is_true_of_as_many_rows_as_of_coins_is_undecided():
    """Three of eight rows are above, each only a little more often than not."""
    own = several(pd.Series([1.0] * 5 + [-1.0] * 3), lambda x: x > 0)
    parts = np.random.default_rng(SEED).random((BLOCK * LOOKS[-1], 8)) < 0.7
    found = settle([own], lambda block: [in_sets(parts[block * BLOCK : (block + 1) * BLOCK], 3, rows=True)])
    assert (parts.sum(axis=1) >= 3).mean() > ENOUGH and not found.is_clear


def test_record_sets_without_a_number_refute_nothing():
    own = all_of(pd.Series({"tau": 0.5}), lambda x: x > 0)
    drawn = [all_of(pd.Series({"tau": value}), lambda x: x > 0) for value in [0.4] * 100 + [np.nan] * 20]
    found = settle([own], lambda block: [replicates_of(drawn)])
    assert found.stability == 1 and found.draws % 100 == 0
    none = settle([own], lambda block: [replicates_of([all_of(pd.Series({"tau": np.nan}), lambda x: x > 0)])])
    assert none.draws == 0 and not none.is_clear


def test_who_is_chosen_among_several_pays_too():
    own = any_of(pd.Series([1.0, -1.0, -1.0]), lambda x: x > 0)
    parts = np.tile([True, False, True], (BLOCK, 1))
    found = settle([own], lambda block: [in_sets(parts, 1, rows=True)])
    assert (found.stability, found.parts) == (1, 3)


def test_many_rows_of_few_matches_are_counted_in_every_record_set():
    own = share_of(0.3, pd.Series([True] * 12 + [False] * 8))
    parts = np.arange(20) < np.resize([10, 12, 14], BLOCK)[:, None]
    found = settle([own], lambda block: [in_sets(parts, 6, rows=True)], [5] * 20)
    assert (found.stability, found.parts) == (1, 1)


def test_none_of_all_record_sets_is_not_never():
    found = settle([SURE], lambda block: [trial([True])])
    assert 0 < found.p < 0.01


@pytest.mark.parametrize(
    ("n", "cells", "least", "highest"), [(5, 42, 0.04, 0.06), (2, 42, 0.04, 0.065), (5, 6, 0.04, 0.07)]
)
def test_what_lies_on_its_margin_is_seldom_decided(n, cells, least, highest):
    """Two models that are alike: how often is it said that the first is better? Nominal: 5 %."""
    samples = values(n, 2 * cells, 4000)
    weights = mean_weights(n, 2 * cells, 2) * np.repeat([2, -2], cells * n)
    assert least <= ((weights @ samples.T > 0).mean(axis=0) >= ENOUGH).mean() <= highest


def decide(apart: np.ndarray, condition, sizes) -> tuple[bool, float]:
    """Whether a proposition is said to hold, and its p. `apart`: of the resamples, the records first."""
    own, sets = all_of(float(apart[0]), condition), apart[1:].reshape(-1, BLOCK)
    found = settle([own], lambda block: [in_sets(condition(sets[block])[:, None], 1, sets[block])], sizes)
    return own.true and found.stability >= found.required_share, found.p


def test_a_comparison_is_decided_as_by_students_t_test():
    """On random samples of ten matches and ten: 300 of them."""
    dice, n = np.random.default_rng(SEED), 10
    labels = np.repeat([0, 1], n)
    weights = [within_cells(labels, block) / n for block in range(8)]
    sides = np.concatenate([np.full((1, 2 * n), 1 / n), *weights]) * np.where(labels == 0, 1, -1)
    ours, theirs = [], []
    for _ in range(300):
        sample = dice.normal(dice.choice([0, 0.5, 1.5]) * (labels == 0), 1)
        apart = sides @ sample * np.sign((sides @ sample)[0])
        ours.append(decide(apart, lambda x: x > 0, (n, n)))
        p = ttest_ind(sample[:n], sample[n:], equal_var=False).pvalue / 2
        theirs.append((p < 1 - ENOUGH, p))
    off = np.abs(np.array(ours, dtype=float) - np.array(theirs, dtype=float)).mean(axis=0)
    assert off[0] < 0.05 and off[1] < 0.02


def test_a_level_is_decided_as_by_two_one_sided_tests():
    """Whether a mean is within a margin, on 300 random samples of twelve matches: statsmodels' TOST."""
    dice, n, margin = np.random.default_rng(SEED), 12, 0.6
    weights = np.concatenate([within_cells(np.zeros(n, dtype=int), block) for block in range(8)]) / n
    alike = []
    for _ in range(300):
        sample = dice.normal(dice.choice([0, 0.6, 1.5]), dice.choice([0.3, 1]), size=n)
        means = np.append(sample.mean(), weights @ sample)
        holds, _ = decide(means, lambda x: abs(x) <= margin, (n,))
        alike.append(holds == (ttost_paired(sample, np.zeros(n), -margin, margin)[0] < 1 - ENOUGH))
    assert np.mean(alike) > 0.95


# ---- statements


def matches(a: float, b: float, c: float, noise: float = 0.5, wild: float = 1) -> pd.DataFrame:
    """Matches in which A, B and C earn so many points on average in every cell; A's points vary `wild` times as much."""
    dice = np.random.default_rng(SEED)
    cells = [(model, opponent, n) for model in MODELS for opponent in OPPONENTS for n in range(MATCHES)]
    table = pd.DataFrame(cells, columns=[*CELL, "repetition"])
    off = noise * np.where(table.model == "A", wild, 1.0) * dice.normal(size=len(table))
    off -= pd.Series(off).groupby([table.model, table.opponent]).transform("mean")
    points = table.model.map({"A": a, "B": b, "C": c}) + off
    later = table.model.map({"A": 2.0, "B": 1.0, "C": 0.0})
    return table.assign(match=[f"m{n}" for n in range(len(table))], points=points, rounds=later)


class Given:
    """Records of matches in cells; what models are given by `variant` is the table of that variant's caption."""

    unit = "match"

    def __init__(self, table: pd.DataFrame, chance: pd.DataFrame | None = None) -> None:
        self.table, self.chance = table, chance

    def rows(self, table, where):
        rows = self.table
        for key, value in where.items():
            rows = rows[rows[key].isin([value] if isinstance(value, str) else value)]
        if rows.empty and where.get("model") == "D":
            raise Missing("no records of model D")
        return rows

    def redraws(self, table, drawing, by=()):
        table = stretch_deviations(table, CELL) if drawing in ("spread", "correlation") else table
        return Units(self.table, CELL).redraws(table, by, whole=drawing == "spread")

    def cells(self, tables):
        return [*tables[0].groupby(CELL).size()]

    players = ("uniform", ("always first",))
    not_by_chance = ("points",)

    def by_chance(self, table, player, number):
        if self.chance is None:
            raise Missing("how uniform players fare is not known")
        return self.chance

    def true_variant(self, table, variant):
        return {4: "joint"}.get(table, variant)


def means(table: pd.DataFrame, by="model") -> pd.Series:
    return table.groupby(by).points.mean()


def gaps(table: pd.DataFrame) -> pd.Series:
    return means(table, CELL).unstack("model").eval("A - B")


def judged(records: pd.DataFrame | Given, kind: str, function, section: str = "1", **how) -> pd.Series:
    """What is decided of a statement, as a row of the table of claims."""
    statements = Statements("x", records if isinstance(records, Given) else Given(records))
    statements(section, kind, "p", **how)(function)
    return statements.table().iloc[0]


def level(m=rows("matches", model="A"), least=3):
    """A earns more than 3."""
    return all_of(m.points.mean(), lambda x: x > least)


def share(m=rows("matches"), least=1):
    """Most cells are above 1."""
    return most(means(m, CELL), lambda x: x > least)


def comparison(m=rows("matches")):
    """A is above B."""
    return all_of(gaps(m).mean(), lambda x: x > 0)


def chain(m=rows("matches")):
    """A before B before C."""
    return order(means(m), "A", "B", "C")


def test_a_statement_about_means_is_decided_as_one_about_their_matches():
    table = matches(2, 1, 0.9).assign(rounds=np.nan)
    for kind in ("level", "share", "spread", "correlation"):

        def of_matches(m=rows("matches", model=["A", "B"]), least=1.2):
            """Most cells are above 1.2."""
            return most(means(m, CELL), lambda x: x > least)

        def of_means(m=verdict.means("matches", CELL, model=["A", "B"]), least=1.2):
            """Most cells are above 1.2."""
            return most(m.points, lambda x: x > least)

        given = Given(table, chance=table.assign(points=0.0))
        one, other = (judged(given, kind, function).drop("statement") for function in (of_matches, of_means))
        assert one.n == 40 and 0 < one.stability < 1 and one.chance == 0
        pd.testing.assert_series_equal(one, other)


def test_means_of_what_are_no_matches_are_an_error():
    def statement(p=verdict.means("payoffs", "model")):
        """Payoffs are means."""
        return all_of(p.points, lambda x: x > 0)

    with pytest.raises(ValueError, match="means are of matches, and the table payoffs has none: ask for its rows"):
        judged(Given(matches(2, 1, 0).drop(columns="match")), "level", statement)


def extreme(m=rows("matches")):
    """A is best."""
    return largest(means(m), "A")


def together(m=rows("matches"), least=0.3):
    """Points go with rounds."""
    cells = m.groupby(CELL)[["points", "rounds"]].mean()
    return all_of(cells.points.corr(cells.rounds, method="spearman"), lambda x: x >= least)


def always_together(m=rows("matches"), least=0.9):
    """Points go with rounds, nearly always."""
    return together(m, least)


def alike(m=rows("matches"), margin=1.0):
    """A and B earn the same."""
    return all_of(abs(gaps(m).mean()), lambda x: x <= margin)


PLANTED = {
    "level": level,
    "share": share,
    "comparison": comparison,
    "order": chain,
    "extreme": extreme,
    "correlation": together,
    "equivalence": alike,
}
HOLD = dict.fromkeys(PLANTED, (8, 4, 0)) | {"equivalence": (4, 4, 0)}
FAIL = dict.fromkeys(PLANTED, (-8, -4, 0)) | {"equivalence": (8, 4, 0)}
EDGE = dict.fromkeys(PLANTED, (0.02, 0.01, 0)) | {
    "level": (3.01, 0, 0), "share": (1.01, 1.01, 0), "equivalence": (4.99, 4, 0)
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize(
    ("planted", "noise", "expected"), [(HOLD, 0.5, "holds"), (FAIL, 0.5, "fails"), (EDGE, 4, "undecided")]
)
def test_a_planted_statement_gets_its_verdict(kind, planted, noise, expected):
    table = matches(*planted[kind], noise)
    function = always_together if (kind, planted) == ("correlation", EDGE) else PLANTED[kind]
    found = judged(table, kind, function, biased=kind == "correlation")
    assert (found.verdict, found.rule, found.statement) == (expected, kind, function.__name__)
    assert (found.stability >= ENOUGH) == (expected != "undecided") and found.low <= found.high
    asked = 20 if kind == "level" else len(table)
    assert (found.n, found.unit) == (asked, "match")


@pytest.mark.parametrize(("wild", "expected"), [(6, "holds"), (1 / 6, "fails"), (1, "undecided")])
def test_spreads_are_compared(wild, expected):
    def varies(m=rows("matches")):
        """A varies more than B."""
        return order(m.groupby(CELL).points.std().groupby("model").mean(), "A", "B")

    assert judged(matches(0, 0, 0, 1, wild), "spread", varies).verdict == expected


def test_planted_statements_are_of_every_kind():
    assert {*PLANTED, "spread", "exact"} == set(KINDS)


def test_a_share_that_one_row_turns_is_undecided():
    def above(m=rows("matches"), least=1):
        """Most models are above 1."""
        return most(means(m), lambda x: x > least)

    found = judged(matches(8, 4, 0), "share", above)
    assert (found.verdict, found.stability, found.estimate) == ("undecided", 1, pytest.approx(2 / 3))
    assert judged(matches(8, 8, 8), "share", above).verdict == "holds"


@pytest.mark.parametrize(
    ("bound", "expected"),
    [(6, "holds"), (7, "undecided"), (7.9, "undecided"), (7.93, "holds"), (7.99, "fails"), (8.0, "undecided")],
)
def test_a_verdict_that_one_step_turns_is_undecided(bound, expected):
    def above(m=rows("matches", model="A"), least=bound):
        """A earns so much."""
        return all_of(m.points.mean(), lambda x: x >= least)

    assert judged(matches(7.95, 4, 0, 0.01), "level", above).verdict == expected


@pytest.mark.parametrize("bound", [3.5, 4, 4.5])
def test_a_share_of_noisy_cells_lies_in_its_own_interval(bound):
    table = matches(4, 4, 4, 1)
    table["points"] += np.random.default_rng(3).normal(size=12).repeat(MATCHES) / MATCHES**0.5
    found = judged(table, "share", lambda m=rows("matches"): most(means(m, CELL), lambda x: x > bound))
    assert found.low <= found.estimate <= found.high


def test_a_number_that_does_not_exist_decides_nothing():
    def constant(m=rows("matches")):
        """Points go with nothing that does not vary."""
        return all_of(m.points.corr(0 * m.points), lambda x: x > 0)

    found = judged(matches(8, 4, 0), "correlation", constant)
    assert found.verdict == "cannot be checked" and "does not exist" in found.why


def test_several_tests_must_all_hold_and_the_weakest_is_shown():
    def both(m=rows("matches")):
        """A is above B and C."""
        apart = means(m)
        return [
            all_of(apart.A - apart.B, lambda x: x > 0),
            all_of(apart.A - apart.C, lambda x: x > 0),
            aside("C", apart.C),
        ]

    found = judged(matches(4.05, 4, 0, 1), "comparison", both)
    assert found.verdict == "undecided" and found.estimate == pytest.approx(0.05)
    assert found.recomputed.endswith("; C: -0.00") or found.recomputed.endswith("; C: 0.00")
    assert judged(matches(8, 4, 0), "comparison", both).verdict == "holds"
    assert judged(matches(8, 9, 0), "comparison", both).verdict == "fails"


def test_what_is_biased_is_moved_to_what_the_records_give():
    """Noise makes means differ: between alike models the spread of drawn means is larger than that of the records."""

    def spread(m=rows("matches"), least=0.2):
        """Models differ."""
        return all_of(means(m).std(), lambda x: x > least)

    table = matches(0, 0, 0, 2)
    plain, moved = (judged(table, "level", spread, biased=biased) for biased in (False, True))
    assert plain.low > 0 and moved.low < 0 < moved.high and moved.estimate == pytest.approx(plain.estimate)


def test_drawn_spreads_are_moved_to_those_of_the_records():
    """The standard deviation of a few drawn matches is too small on average."""

    def spread(m=rows("matches", model="A")):
        """A varies."""
        return all_of(m.groupby(CELL).points.std().mean(), lambda x: x > 0)

    found = judged(matches(0, 0, 0, 2), "spread", spread)
    plain = judged(matches(0, 0, 0, 2), "level", spread)
    assert found.estimate - found.low == pytest.approx(found.high - found.estimate, rel=0.5)
    assert plain.estimate - plain.low > 3 * (plain.high - plain.estimate)


def test_cells_of_one_match_never_vary_so_their_noise_is_unknown():
    def above(m=rows("matches")):
        """A is above B."""
        return order(means(m), "A", "B")

    table = matches(8, 4, 0, 1)
    assert judged(table, "comparison", above).verdict == "holds"
    found = judged(table[(table.opponent != "pp") | (table.repetition == 0)], "comparison", above)
    assert (found.verdict, found.reason) == ("undecided", verdict.UNKNOWN)


def exact(m=rows("matches", model="A")):
    """A earns 8.0."""
    return printed(means(m), {"A": "8.0"})


@pytest.mark.parametrize(("earned", "expected"), [(8.04, "holds"), (8.1, "undecided"), (8.2, "fails")])
def test_an_exact_statement_that_is_off_by_one_unit_is_undecided(earned, expected):
    found = judged(matches(earned, 4, 0), "exact", exact)
    assert found.verdict == expected and pd.isna([found.stability, found.p, found.estimate]).all()


def nearly_eight(m=rows("matches", model="A"), margin=1.0):
    """A earns nearly 8."""
    return all_of(means(m), lambda x: 8 - x <= margin)


@pytest.mark.parametrize(
    ("earned", "expected"), [(7.5, "holds"), (7.1, "undecided"), (6.9, "undecided"), (6.5, "fails")]
)
def test_an_exact_statement_that_a_step_of_its_margin_turns_is_undecided(earned, expected):
    assert judged(matches(earned, 4, 0), "exact", nearly_eight).verdict == expected


def test_what_the_records_lack_cannot_be_checked():
    def absent(m=rows("matches", model="D")):
        """D earns."""
        return all_of(m.points.mean(), lambda x: x > 0)

    def unknown():
        """Temperature is low.

        The paper says so.
        """
        raise Missing("top-p is not recorded")

    for function, gap in ((absent, "no records of model D"), (unknown, "top-p is not recorded")):
        found = judged(matches(8, 4, 0), "level", function)
        assert (found.verdict, found.why, found.recomputed) == ("cannot be checked", f"Missing: {gap}.", "")


@pytest.mark.parametrize(("true", "doubt", "expected"), [(0, 1, "cannot be checked"), (0, 0, "fails"), (1, 1, "holds")])
def test_a_doubt_leaves_open_only_what_is_false(true, doubt, expected):
    function = lambda m=rows("matches"): open_if(all_of(bool(true)), bool(doubt))  # noqa: E731
    assert judged(matches(8, 4, 0), "exact", function).verdict == expected


def test_what_only_shows_decides_nothing():
    found = judged(matches(8, 4, 0), "level", lambda m=rows("matches"): aside("means", means(m), lambda x: x > 1))
    assert (found.verdict, found.recomputed, found.n) == ("cannot be checked", "means: 2 of 3", 60)


def test_a_statement_on_a_wrongly_captioned_table_is_read_twice():
    table = pd.concat([matches(8, 4, 0).assign(variant="label"), matches(0, 4, 8).assign(variant="joint")])

    def best(m=rows("matches", variant="label")):
        """A is best."""
        return largest(means(m), "A")

    found = judged(table, "exact", best, captions={"label": 4})
    assert found.verdict == "holds"
    assert re.search(
        r"A 8\.00.* \| as the tables show \(label: joint\): A -?0\.00.* \(false there\)$", found.recomputed
    )
    assert " | " not in judged(table, "exact", best, captions={"label": 5}).recomputed


def test_uniform_play_stands_beside_a_verdict_where_it_is_known():
    table, chance = matches(8, 4, 0), matches(2, 2, 2)
    found = judged(Given(table, chance), "level", level)
    assert found.chance == found.constant_low == found.constant_high == pytest.approx(2)
    assert (found.verdict, found.chance_true) == ("holds", 0)
    assert pd.isna(judged(Given(table), "level", level).chance)
    assert pd.isna(judged(Given(table, chance.drop(columns="points")), "level", level).chance)


def test_a_number_of_play_that_uniform_players_lack_is_an_error():
    def late(m=rows("matches")):
        """A plays at least a round."""
        return all_of(m[m.model == "A"].rounds.mean(), lambda x: x >= 1)

    table = matches(8, 4, 0)
    assert judged(Given(table, table), "level", late).chance == 2
    with pytest.raises(AttributeError, match="rounds"):
        judged(Given(table, table.drop(columns="rounds")), "level", late)


def test_what_uniform_play_does_as_well_has_a_word_of_its_own():
    found = judged(Given(matches(8, 4, 0), matches(7, 7, 7)), "level", level)
    assert (found.verdict, found.chance_true) == ("holds, as chance does", 1)


def test_definitions_that_disagree_decide_nothing():
    def more(m=rows("matches")):
        """A has more than B."""
        table = m.assign(less=-m.points).groupby("model")[["points", "less"]].mean()
        return readings(["points", "less"], lambda column: order(table[column], "A", "B"))

    for kind in ("comparison", "exact"):
        found = judged(matches(8, 4, 0), kind, more)
        assert (found.verdict, found.reason) == ("undecided", "two readings: holds by points, fails by less")
        assert found.recomputed.startswith("points: ") and "; less: " in found.recomputed


def test_numbers_and_gaps_have_a_unit():
    def gap(m=rows("matches")):
        """A has more than B."""
        return order(m.groupby("model").points.mean(), "A", "B")

    def share(m=rows("matches")):
        """Most models have points."""
        return most(m.groupby("model").points.mean(), lambda x: x > 0)

    for function, said in ((gap, "gap (points)"), (share, "share of 3 rows")):
        statements = Statements("x", Given(matches(8, 4, 1)))
        statements("1", "comparison", "p", measured_in="points")(function)
        assert statements.table().estimate_of.tolist() == [said]


def test_a_definition_has_a_name_of_its_own():
    table = pd.DataFrame({"long_name": {"A": 2.0, "B": 1.0}})
    [found] = readings({"as done": "long_name"}, lambda column: largest(table[column], "A"))
    assert found.reading == "as done" and found.true


@pytest.mark.parametrize(
    ("lead", "reason"), [(0.4, "too few records: with about "), (0.001, "with more than 100 times")]
)
def test_an_undecided_statement_says_how_many_matches_would_decide(lead, reason):
    found = judged(matches(lead, 0, 0, 3), "comparison", comparison)
    assert found.verdict == "undecided" and reason in found.reason


def test_more_records_are_not_asked_for_where_one_step_would_turn_the_statement():
    def most_have_points(m=rows("matches")):
        """Most models have points."""
        return most(means(m), lambda x: x > 0)

    found = judged(matches(8, 0.02, -4, 3), "share", most_have_points)
    assert (found.verdict, found.p > 0.05) == ("undecided", True)
    assert found.reason == CLOSE.format("one row more or less")


def test_the_docstring_is_the_claim_and_how_it_is_read():
    def claim(m=rows("matches")):
        """All {models} models
        play.

        Whoever is
        recorded.
        """
        return all_of(m.model.nunique() == 3)

    statements = Statements("x", Given(matches(8, 4, 0)), {"models": "3"})
    assert statements("1", "exact", "{models}")(claim) is claim
    found = statements.table().iloc[0]
    assert (found.claim, found.published, found.why) == ("All 3 models play", "3", "Whoever is recorded.")
    assert [*found.index] == COLUMNS and found.paper == "x"


def test_the_same_records_give_the_same_row():
    once, again = (judged(matches(0.02, 0.01, 0, 4), "comparison", comparison) for _ in range(2))
    pd.testing.assert_series_equal(once, again)


def test_an_unknown_kind_is_one_clear_error():
    with pytest.raises(ValueError, match=r"^there is no kind fact; there are exact, level, .*spread$"):
        Statements("x", Given(matches(8, 4, 0)))("1", "fact", "p")


def test_an_empty_table_is_one_clear_error():
    with pytest.raises(ValueError, match=r"^there is no row to test$"):
        judged(matches(8, 4, 0), "exact", lambda m=rows("matches", model="E"): most(means(m), lambda x: x > 0))


def test_the_statements_of_a_section_are_seen_together():
    found = Statements("x", Given(matches(8, 4, 0)))
    for section, p in (("1", 0.01), ("1, 2", 0.2), ("1", 0.04), ("2", 0.04), ("1", None)):
        found.rows.append({"section": section, "p": p, "verdict": "holds"})
    table = found.table()
    assert table.p_section[:4].tolist() == pytest.approx([0.03, 0.2, 0.06, 0.04]) and pd.isna(table.p_section[4])
    assert table.verdict_section.tolist() == ["holds", "undecided", "undecided", "holds", "holds"]


def test_a_statement_on_the_page_breaks_no_table():
    row = {"claim": "a | b", "section": "1", "published": "p", "verdict": "holds", "recomputed": "x | y", "why": ""}
    assert verdict.words(row) == "**a \\| b** (1)  \n*holds* · the paper: p  \nx \\| y"
    row |= {"estimate": 0.5, "estimate_of": "number", "low": 0.25, "high": 0.75, "stability": 0.975, "draws": 120}
    assert (
        verdict.words(row)
        .splitlines()[1]
        .startswith("*holds* · the paper: p · estimate 0.5 (number; 0.25 to 0.75) · 98% of 120 resamples agree")
    )


# ---- what the rule says of itself


def test_the_rule_names_every_kind_and_the_numbers_of_the_program():
    text = RULE.read_text(encoding="utf-8").partition("## The columns beside a verdict")[0]
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(KINDS)
    assert f"at least {ENOUGH:.0%}".replace("%", " %") in text
    assert f"exact {verdict.SURE:.0%}".replace("%", " %") in text
    assert f"There are {BLOCK};" in text and f"up to {LOOKS[-1] * BLOCK}." in text


BOUNDS = {"most": "0.5", "half": "0.5", "nearly_all": "0.9"}
"""Function of a word -> the bound of one share, where a statement asks for a share and not for a number of rows."""


@pytest.mark.parametrize("paper", ["counterfactual", "magic", "tradecraft"])
def test_statements_count_a_word_as_the_rule_says(paper):
    table = RULE.read_text(encoding="utf-8").partition("| words | so many rows | function |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| ([^|]+) \| [^|]+ \| `(\w+)` \|$", table, re.MULTILINE)
    functions = {word: function for words, function in listed for word in words.split(", ")}
    assert len(functions) > 20
    met = 0
    for name, source in cells_of(paper)[1].items():
        _, docstring, code = source.split('"""')
        for word in re.findall(r'"([A-Z][a-z ]+)" (?:of [a-z ]+ )?means', " ".join(docstring.split())):
            if function := functions.get(word.lower()):
                met += 1
                assert re.search(rf"\b{function}[(,]", code) or BOUNDS[function] in source, (name, word)
    assert met > 0


def test_the_rule_says_how_often_it_errs_as_it_was_measured():
    measured = pd.read_csv(ROOT / "docs/statistics/rule.csv")
    errors = measured[["error_holds", "error_fails"]].to_numpy()
    assert (measured[["holds", "fails"]] - 3 * errors <= 1 - ENOUGH).all(axis=None)
    table = re.findall(
        r"^\| (`\w+`[^|]*) \| (\d+ to \d+) % \| (\d+ to \d+) % \| (\d+ to \d+) % \|$",
        RULE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    for kinds, *ranges in table:
        part = measured[measured.kind.isin(re.findall(r"`(\w+)`", kinds))]
        spans = [
            f"{100 * part[name].min():.0f} to {100 * part[name].max():.0f}" for name in ("holds", "fails", "covers")
        ]
        assert ranges == spans, kinds
    kinds = {kind for kinds, *_ in table for kind in re.findall(r"`(\w+)`", kinds)}
    assert kinds == set(measured.kind) == set(KINDS) - {"exact"}


def forgetful(m=rows("matches")):
    """The return is forgotten."""


@pytest.mark.parametrize(
    ("function", "how", "error"),
    [
        (forgetful, {}, "forgetful returns no test and shows nothing"),
        (level, {"drawing": "sprad"}, "resamples are not drawn for sprad, but for mean, spread, correlation"),
    ],
)
def test_a_statement_that_tests_nothing_is_one_clear_error(function, how, error):
    with pytest.raises(ValueError, match=error):
        judged(matches(8, 4, 0), "share", function, **how)
