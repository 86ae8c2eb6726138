"""The search for counts behind percentages, and the tests on them, on made-up numbers."""

from itertools import combinations

import pandas as pd
import pytest
from scipy.stats import binomtest

from agon import ROOT
from agon.metrics.exact import mcnemar_bounds
from agon_papers.magic.counts import (
    as_printed,
    counted,
    definitions,
    fitting,
    granularity,
    p_values,
    significance,
    sizes,
    summed,
)
from agon_papers.magic.facts import read_facts

FACTS = ROOT / "data/published/magic"


@pytest.mark.parametrize(("text", "filled", "number", "digits"), [
    ("9.50", False, 95, 1), ("9.50", True, 950, 2), ("0.0", False, 0, 1), ("52.0", False, 520, 1), ("90", False, 900, 1),
    ("6.57", True, 657, 2),
])  # fmt: skip
def test_a_printed_number_is_read_exactly(text, filled, number, digits):
    assert as_printed(text, filled) == (number, digits)


@pytest.mark.parametrize(("text", "n", "fits"), [
    ("53.7", 80, True), ("53.8", 80, True), ("53.9", 80, False),  # 43 / 80 is 53.75: half may round either way
    ("38.5", 21, False), ("38.5", 13, True), ("33.4", 21, False), ("33.3", 21, True), ("100.0", 7, True), ("0.0", 7, True),
])  # fmt: skip
def test_a_number_fits_when_a_count_rounds_to_it(text, n, fits):
    assert counted(n, "").fits(as_printed(text)) is fits


def test_all_counts_fit_their_own_size():
    assert all(counted(n, "").fits(as_printed(f"{100 * k / n:.1f}")) for n in (21, 40, 210, 300) for k in range(n + 1))


def test_the_sizes_that_give_a_number():
    assert sizes(as_printed("38.5"), 60) == [13, 26, 39, 52]
    assert sizes(as_printed("50.0"), 6) == [2, 4, 6]


def test_sizes_common_to_several_numbers():
    assert set(sizes(as_printed("33.3"), 60)) & set(sizes(as_printed("42.9"), 60)) == {21, 42}


def test_chance_counts_the_printable_values():
    assert counted(21, "").chance(1) == 22 / 1001
    assert counted(1000, "").chance(1) == 1


def test_sums_hold_every_pair():
    found = summed("", (range(3), 2), (range(4), 3))
    assert found.denominator == 6 and sorted(found.numerators) == sorted(
        {3 * a + 2 * b for a in range(3) for b in range(4)}
    )


def test_formula_5_exceeds_one():
    definition = definitions()["self_awareness"]["literal"]
    assert definition.numerators.max() / definition.denominator == pytest.approx(1.6)


def test_how_a_number_was_cut_is_said():
    definition = counted(21, "")
    assert [definition.how(as_printed(text)) for text in ("42.9", "42.8", "33.4", "45.0")] == [
        "rounded",
        "cut off",
        "rounded up",
        "",
    ]


def test_the_bounds_of_a_paired_test_are_those_of_all_pairings():
    n = 6
    for before in range(n + 1):
        for after in range(n + 1):
            first, p = set(range(before)), []
            for second in map(set, combinations(range(n), after)):
                gained, lost = len(second - first), len(first - second)
                p.append(binomtest(gained, gained + lost).pvalue if gained + lost else 1.0)
            assert mcnemar_bounds(before, after, n) == pytest.approx((min(p), max(p)))


def test_no_change_is_no_evidence():
    assert p_values(5, 5, 10) == {"t": 1.0, "fisher": 1.0, "paired_least": 1.0, "paired_most": 1.0}


@pytest.fixture(scope="module")
def facts():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull` or `make repro`")
    return read_facts(FACTS)


@pytest.fixture(scope="module")
def tested(facts):
    return granularity(facts)


@pytest.mark.parametrize(("metric", "reading", "fit"), [
    ("judgement", "literal", 15), ("reasoning", "literal", 13), ("reasoning", "reconciled", 15), ("deception", "reconciled", 15),
    ("self_awareness", "literal", 9), ("self_awareness", "reconciled", 6), ("coordination", "literal", 2),
    ("coordination", "reconciled", 14), ("rationality", "literal", 15),
])  # fmt: skip
def test_how_many_cells_fit_their_definition(tested, metric, reading, fit):
    found = fitting(tested).set_index(["metric", "reading"]).loc[(metric, reading)]
    assert (found.cells, found.fit) == (15, fit)


def test_every_cell_is_tested_and_counts_are_near(tested, facts):
    printed = pd.concat([facts.tables[n].assign(table=n) for n in (1, 2, 4)])
    keys = ["table", "model", "metric"]
    assert len(tested[keys].drop_duplicates()) == (printed.model != "Average improvement").sum()
    near = tested[tested.n.notna() & (tested.metric != "prisoner_score") & tested.fits]
    assert ((100 * near.k / near.n - near.published.astype(float)).abs() <= 0.05 + 1e-9).all()


def test_the_one_game_count_that_is_not_21(tested):
    row = tested[(tested.metric == "prisoner_wr") & ~tested.fits & (tested.reading == "literal")]
    assert row.model.tolist() == ["Llama-2-70B+PGM"] and row.other_n.iloc[0].startswith("13 26 39")


def test_significance_of_known_pairs(tested):
    found = significance(tested).set_index(["model", "metric"])
    assert len(found) == 49
    cooperation = found.loc[("GPT-4", "cooperation")]
    assert (cooperation.k_vanilla, cooperation.k_enhanced, cooperation.n) == (10, 13, 21)
    assert cooperation.paired_least == 0.25  # three games more, none less: 2 / 2**3
    assert (found.paired_least <= found.paired_most).all() and (found.holm_fisher >= found.fisher).all()
