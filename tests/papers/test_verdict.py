"""The rule of docs/statements-rule.md: planted statements of every kind, the variances of the draws, and the rule's error rates."""

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t, ttest_ind
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

from agon import ROOT
from agon_papers import verdicts
from agon_papers.comparisons import Trial, stepped
from agon_papers.draws import SEED, STATS, Draws, any_rows, correlations, jeffreys, stretched, uncoded, within_cells
from agon_papers.simulations import Case, Design, simulated
from agon_papers.statements import KINDS, Statement, selected
from agon_papers.verdicts import COLUMNS, ENOUGH, Settled, judge, row, settle, table_of

MODELS, OPPONENTS, MATCHES = ("A", "B", "C"), ("pp", "tft", "mf", "srep"), 5
CELL = ["model", "opponent"]
RULE = ROOT / "docs/statements-rule.md"


def records(a: float, b: float, c: float, noise: float = 0.5, wild: float = 1) -> pd.DataFrame:
    """Matches in which A, B and C earn so many points on average in every cell; A's points vary `wild` times as much."""
    dice = np.random.default_rng(SEED)
    cells = [(model, opponent, n) for model in MODELS for opponent in OPPONENTS for n in range(MATCHES)]
    rows = pd.DataFrame(cells, columns=[*CELL, "repetition"])
    off = noise * np.where(rows.model == "A", wild, 1.0) * dice.normal(size=len(rows))
    off -= pd.Series(off).groupby([rows.model, rows.opponent]).transform("mean")
    points = rows.model.map({"A": a, "B": b, "C": c}) + off
    return rows.assign(
        match=[f"m{n}" for n in range(len(rows))], points=points, rounds=rows.model.map({"A": 2.0, "B": 1.0, "C": 0.0})
    )


@dataclass(frozen=True)
class Given:
    """Evidence of matches in cells."""

    matches: pd.DataFrame
    draws: Draws | None = None
    unit = "match"
    correlated = None
    groups: ClassVar = {"cell": CELL}

    def rows(self, table, where):
        return selected(self.matches, where)

    def drawn(self, drawing, block):
        whole = drawing == "spread"
        matches = stretched(self.matches, CELL) if whole else self.matches
        cells = matches.model + matches.opponent
        return Given(matches, within_cells(pd.Index(matches.match), cells, block, whole=whole))

    def by_chance(self):
        return None


def judged(matches, **fields):
    said = {"section": "1", "claim": "c", "published": "p", "why": "w.", "measure": "points"}
    statement = Statement(**{**said, **fields})
    return row("x", "said", statement, lambda: judge(Given(matches), statement, {}))


PER_MODEL = {"how": "mean per model"}
GAP = {"how": ["mean per model opponent", "spread model", "A - B", "mean"]}
PLANTED = {
    "level": {**PER_MODEL, "test": "all of A: value > 3"},
    "share": {"how": "mean per model opponent", "test": "most: value > 1"},
    "comparison": {**GAP, "test": "all: value > 0"},
    "order": {**PER_MODEL, "test": "order: A > B > C"},
    "extreme": {**PER_MODEL, "test": "largest: A"},
    "correlation": {"measure": ["points", "rounds"], "how": ["mean per cell", "spearman"], "test": "all: value >= 0.3"},
    "equivalence": {**GAP, "range": 20, "test": "all: abs(value) <= margin"},
}
HOLD = dict.fromkeys(PLANTED, (8, 4, 0)) | {"equivalence": (4, 4, 0)}
FAIL = dict.fromkeys(PLANTED, (-8, -4, 0)) | {"equivalence": (8, 4, 0)}
ON_THE_EDGE = dict.fromkeys(PLANTED, (0.02, 0.01, 0)) | {
    "level": (3.01, 0, 0),
    "share": (1.01, 1.01, 0),
    "equivalence": (4.99, 4, 0),
}


EDGES = {"correlation": {"test": "all: value >= 0.9"}}  # the means of cells are in order, whatever the noise


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize(
    ("means", "noise", "expected"), [(HOLD, 0.5, "holds"), (FAIL, 0.5, "fails"), (ON_THE_EDGE, 4, "undecided")]
)
def test_a_planted_statement_gets_its_verdict(kind, means, noise, expected):
    matches = records(*means[kind], noise)
    fields = PLANTED[kind] | (EDGES if means is ON_THE_EDGE else {}).get(kind, {})
    found = judged(matches, kind=kind, **fields)
    assert found["verdict"] == expected and found["rule"] == kind
    assert (found["stability"] >= ENOUGH) == (expected != "undecided") and found["low"] <= found["high"]
    assert (found["n"], found["unit"]) == (len(matches), "match")


@pytest.mark.parametrize(("wild", "expected"), [(6, "holds"), (1 / 6, "fails"), (1, "undecided")])
def test_spreads_are_compared(wild, expected):
    fields = {"how": ["sd per cell", "mean per model"], "test": "order: A > B"}
    assert judged(records(0, 0, 0, 1, wild), kind="spread", **fields)["verdict"] == expected


def test_a_share_that_one_row_turns_is_undecided_however_sure_the_rows_are():
    fields = {"kind": "share", "how": "mean per model", "test": "most: value > 1"}
    found = judged(records(8, 4, 0), **fields)
    assert (found["verdict"], found["stability"], found["estimate"]) == ("undecided", 1, pytest.approx(2 / 3))
    assert judged(records(8, 8, 8), **fields)["verdict"] == "holds"


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("6", "holds"),
        ("7", "undecided"),
        ("7.9", "undecided"),
        ("7.93", "holds"),
        ("7.99", "fails"),
        ("8.0", "undecided"),
    ],
)
def test_a_threshold_that_turns_the_verdict_by_one_unit_of_its_last_digit_leaves_it_undecided(bound, expected):
    found = judged(records(7.95, 4, 0, 0.01), kind="level", **PER_MODEL | {"test": f"all of A: value >= {bound}"})
    assert found["verdict"] == expected


def test_thresholds_are_the_numbers_that_are_compared():
    assert stepped("0.75 < value <= `a 2`") == ["0.76 < value <= `a 2`", "0.74 < value <= `a 2`"]
    assert stepped("abs(value - 90 / 100) <= margin and m < 4")[-2:] == [
        "abs(value - 90 / 100) <= margin and m < 5", "abs(value - 90 / 100) <= margin and m < 3"
    ]  # fmt: skip
    assert stepped("value > 0 and value == 64 and largest == 'pp'") == []


@pytest.mark.parametrize("bound", [3.5, 4, 4.5])
def test_a_share_of_noisy_cells_lies_in_its_own_interval(bound):
    matches = records(4, 4, 4, 1)
    matches["points"] += (
        pd.Series(np.random.default_rng(3).normal(size=12), range(12)).repeat(MATCHES).to_numpy() / MATCHES**0.5
    )
    found = judged(matches, kind="share", how="mean per model opponent", test=f"most: value > {bound}")
    assert found["low"] <= found["estimate"] <= found["high"]


def test_few_units_are_judged_by_student_s_t():
    sure = Trial(pd.Series([1.0]), pd.DataFrame([[True]]))
    many = Trial(pd.Series(np.ones(120)), pd.DataFrame(np.ones((120, 1), dtype=bool)))
    few, enough = (settle([sure], lambda block: [many], *size) for size in ([(10,)], [()]))
    assert few.wanted == pytest.approx(norm.cdf(t.ppf(ENOUGH, 9))) and enough.wanted == pytest.approx(ENOUGH)
    assert few.tails[0] < enough.tails[0] == pytest.approx(0.025) and few.p > enough.p


def test_the_statements_of_a_section_are_seen_together():
    each = {
        "paper": "x",
        "claim": "c",
        "published": "",
        "recomputed": "",
        "verdict": "holds",
        "why": "",
        "rule": "level",
    }
    rows = [
        {**each, "section": section, "p": p} for section, p in (("1", 0.01), ("1, 2", 0.2), ("1", 0.04), ("2", 0.04))
    ]
    found = table_of([*rows, {**each, "section": "1"}])
    assert found.p_section[:4].tolist() == pytest.approx([0.03, 0.2, 0.06, 0.04]) and pd.isna(found.p_section[4])
    assert found.verdict_section.tolist() == ["holds", "undecided", "undecided", "holds", "holds"]


def test_a_printed_number_is_missed_by_more_than_a_unit_of_its_last_digit_or_the_statement_is_undecided():
    fields = {"kind": "exact", "how": "mean per model", "test": "all: as_printed", "where": {"model": "A"}}
    for printed, expected in ((8.0, "holds"), (8.1, "undecided"), (8.2, "fails")):
        assert judged(records(8, 4, 0), printed={"A": printed}, **fields)["verdict"] == expected


def test_propositions_on_their_margin_are_simulated():
    """How often they are decided is measured in the notebook statistics; here, that what is simulated is what lies on the margin."""
    design = Design.of(records(3, 2, 1), CELL, "points")
    case = Case(
        "comparison",
        "",
        "",
        design.twice(),
        lambda m: m[..., :12].mean(axis=-1, keepdims=True) - m[..., 12:].mean(axis=-1, keepdims=True),
    )
    [found] = simulated([case], 400).to_dict("records")
    assert 0.02 < found["holds"] < 0.09 and 0.02 < found["fails"] < 0.09 and 0.91 < found["covers"] < 0.98


def test_a_fact_is_not_drawn_anew():
    found = judged(records(0.02, 0.01, 0, 4), kind="exact", how="count per model opponent", test="all: value == 5")
    assert found["verdict"] == "holds" and "stability" not in found
    assert pd.isna(table_of([found]).stability[0]) and list(table_of([found])) == COLUMNS


def test_planted_statements_are_of_every_kind():
    assert {*PLANTED, "spread", "exact"} == set(KINDS)


def test_the_rule_names_every_kind_and_the_numbers_of_the_program():
    text = RULE.read_text(encoding="utf-8").partition("## What stands beside a verdict")[0]
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == list(KINDS)
    assert (
        f"at least {ENOUGH:.0%}".replace("%", " %") in text and f"exact {verdicts.SURE:.0%}".replace("%", " %") in text
    )


def test_the_rule_says_how_often_it_errs_as_it_was_measured():
    measured = pd.read_csv(ROOT / "docs/statistics/rule.csv")
    assert (measured[["holds", "fails"]] - 3 * measured[["error_holds", "error_fails"]].to_numpy() <= 0.06).all(
        axis=None
    )
    rows = re.findall(
        r"^\| (`\w+`[^|]*) \| (\d+ to \d+) % \| (\d+ to \d+) % \| (\d+ to \d+) % \|$",
        RULE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    for kinds, *said in rows:
        part = measured[measured.kind.isin(re.findall(r"`(\w+)`", kinds))]
        assert said == [
            f"{100 * part[each].min():.0f} to {100 * part[each].max():.0f}" for each in ("holds", "fails", "covers")
        ], kinds
    assert (
        {kind for kinds, *_ in rows for kind in re.findall(r"`(\w+)`", kinds)}
        == set(measured.kind)
        == set(KINDS) - {"exact"}
    )


def test_the_same_records_give_the_same_row():
    once, again = (judged(records(0.02, 0.01, 0, 4), kind="comparison", **PLANTED["comparison"]) for _ in range(2))
    assert once == again


@pytest.mark.parametrize("stat", STATS)
@pytest.mark.parametrize("keys", [["model"], ["model", "opponent"]])
def test_what_is_reduced_without_taking_rows_is_what_the_rows_give(stat, keys):
    rows = records(3, 2, 1)
    rows = pd.concat(
        [rows, rows.assign(points=rows.points.where(rows.opponent != "pp"))]
    )  # two rows of a unit, some values absent
    drawn = within_cells(pd.Index(rows.match.unique()), rows.groupby("match", sort=False).opponent.first(), 0)
    found = drawn.reduced(rows, keys, ["points", "rounds"], [stat])
    taken = uncoded(drawn.take(rows).groupby(["draw", *keys], observed=True)[["points", "rounds"]].agg(stat))
    pd.testing.assert_frame_equal(found, taken, check_dtype=False, check_index_type=False, check_column_type=False)


@pytest.mark.parametrize("what", ["spearman", "pearson", "kendall"])
def test_correlations_of_record_sets_are_those_of_each(what):
    rows = any_rows(records(3, 2, 1).round({"points": 0})[["points", "rounds"]], 0)
    found = correlations(rows, ["points", "rounds"], what)
    each = rows.groupby(level="draw").apply(lambda one: one.corr(method=what).iloc[0, 1])
    np.testing.assert_allclose(found.value, each)


def values(n: int, cells: int, samples: int) -> np.ndarray:
    return np.random.default_rng([SEED, n, cells]).normal(size=(samples, cells * n))


def drawn_means(n: int, cells: int, whole: bool = False) -> np.ndarray:
    """Weights of the mean over all cells, record sets x units."""
    labels = pd.Series(np.repeat(np.arange(cells), n))
    draws = [within_cells(pd.RangeIndex(cells * n), labels, block, whole=whole).weights for block in range(4)]
    weights = np.concatenate(draws)
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_drawn_means_vary_as_much_as_means_do(n):
    samples = values(n, 42, 200)
    spread = (drawn_means(n, 42) @ samples.T).var(axis=0)
    within = samples.reshape(200, 42, n).var(axis=2, ddof=1).mean(axis=1) / (42 * n)
    assert spread.mean() == pytest.approx(within.mean(), rel=0.05)


@pytest.mark.parametrize("n", [2, 5])
def test_stretched_draws_keep_the_size_of_variances(n):
    rows = pd.DataFrame({"cell": np.repeat(np.arange(300), n), "points": values(n, 300, 1)[0]})
    made = stretched(rows, ["cell"]).assign(match=range(len(rows)))
    drawn = within_cells(pd.Index(made.match), made.cell, 0, whole=True).take(made)
    found = drawn.groupby(["draw", "cell"]).points.var().groupby("draw").mean().mean()
    assert found == pytest.approx(rows.groupby("cell").points.var().mean(), rel=0.05)


@pytest.mark.parametrize(
    ("n", "cells", "least", "most"), [(5, 42, 0.04, 0.06), (2, 42, 0.04, 0.065), (5, 6, 0.04, 0.07)]
)
def test_what_lies_on_its_margin_is_seldom_decided(n, cells, least, most):
    """Two models that are alike: how often is it said that the first is better? Nominal: 5 %."""
    samples = values(n, 2 * cells, 4000)
    labels = pd.Series(np.repeat(np.arange(2 * cells), n))
    weights = np.concatenate([within_cells(pd.RangeIndex(len(labels)), labels, block).weights for block in range(2)])
    half = cells * n
    apart = weights[:, :half] @ samples[:, :half].T - weights[:, half:] @ samples[:, half:].T
    assert least <= ((apart > 0).mean(axis=0) >= ENOUGH).mean() <= most


def decided(apart: np.ndarray, n: int) -> Settled:
    """Whether the mean of n and n matches, one less the other, is above 0: by the rule. `apart`: of the record sets, the records first."""
    tests = [Trial(pd.Series(each), pd.DataFrame(each > 0)) for each in (apart[:1], apart[1:])]
    return settle(tests[:1], lambda block: [Trial(tests[1].estimate[block::8], tests[1].parts[block::8])], (n, n))


def test_a_comparison_is_decided_as_by_students_t_test():
    """On random samples of ten matches and ten: 300 of them."""
    dice, n = np.random.default_rng(SEED), 10
    labels = pd.Series(np.repeat([0, 1], n))
    weights = [within_cells(pd.RangeIndex(2 * n), labels, block).weights / (n - 1) for block in range(8)]
    sides = np.concatenate([np.full((1, 2 * n), 1 / n), *weights]) * np.where(labels == 0, 1, -1)
    ours, theirs = [], []
    for _ in range(300):
        sample = dice.normal(dice.choice([0, 0.5, 1.5]) * (labels == 0), 1)
        found = decided(sides @ sample, n)
        ours.append((found.p, found.decided))
        p = ttest_ind(sample[:n], sample[n:], equal_var=False).pvalue / 2
        theirs.append((p, p < 1 - ENOUGH))
    apart = np.abs(np.array(ours, dtype=float) - np.array(theirs, dtype=float)).mean(axis=0)
    assert apart[0] < 0.02 and apart[1] < 0.05


def test_a_level_is_decided_as_by_two_one_sided_tests():
    """Whether a mean is within a margin, on 300 random samples of twelve matches: statsmodels' TOST."""
    dice, n, margin = np.random.default_rng(SEED), 12, 0.6
    labels = pd.Series(np.zeros(n, dtype=int))
    weights = np.concatenate([within_cells(pd.RangeIndex(n), labels, block).weights for block in range(8)]) / (n - 1)
    alike = []
    for _ in range(300):
        sample = dice.normal(dice.choice([0, 0.6, 1.5]), dice.choice([0.3, 1]), size=n)
        within = np.abs(np.append(sample.mean(), weights @ sample)) <= margin
        trials = [Trial(pd.Series(each * 1.0), pd.DataFrame({0: each})) for each in (within[:1], within[1:])]
        found = settle(
            trials[:1], lambda block, trial=trials[1]: [Trial(trial.estimate[block::8], trial.parts[block::8])], (n,)
        )
        holds = found.decided and trials[0].true
        alike.append(holds == (ttost_paired(sample, np.zeros(n), -margin, margin)[0] < 1 - ENOUGH))
    assert np.mean(alike) > 0.95


@given(st.integers(1, 200), st.data())
@settings(max_examples=150, deadline=None)
def test_counts_are_drawn_from_jeffreys_interval(n, data):
    k = data.draw(st.integers(0, n))
    low, high = proportion_confint(k, n, method="jeffreys")
    many = np.concatenate([jeffreys(k, n, "a count", block) for block in range(8)])
    inside = ((low <= many) & (many <= high)).mean()
    assert inside == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / len(many)) ** 0.5)


def test_counts_are_drawn_as_uncertain_as_they_are():
    share = jeffreys(20, 21, "a", 0)
    assert share.mean() == pytest.approx(20.5 / 22, abs=0.01) and (share < 1).all()
    assert not np.array_equal(share, jeffreys(20, 21, "b", 0)) and np.array_equal(share, jeffreys(20, 21, "a", 0))


def test_drawing_ends_early_where_nothing_is_in_doubt():
    sure = judged(records(8, 4, 0), kind="comparison", **PLANTED["comparison"])
    assert sure["draws"] == len(jeffreys(1, 2, "a", 0)) * min(verdicts.LOOKS)
