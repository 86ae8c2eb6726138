"""What follows from the MAgIC paper's printed numbers, checked by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from agon import ROOT
from agon_papers.magic import bounds
from agon_papers.magic import cells as magic
from agon_papers.magic.facts import ABILITIES, AVERAGE, MODELS, Missing, read_facts

FACTS = ROOT / "data/published/magic"
pytestmark = pytest.mark.skipif(
    not FACTS.is_dir(), reason="the published facts are not there: `dvc pull data.dvc` or `make repro`"
)


@pytest.fixture(scope="module")
def facts():
    return read_facts(FACTS)


@pytest.fixture(scope="module")
def literal(facts):
    return magic.cells(facts, "literal")


def printed_as(facts, table, model, metric, value):
    """The facts with another number in one cell."""
    rows = facts.tables[table].copy()
    rows.loc[(rows.model == model) & (rows.metric == metric), "value"] = value
    return replace(facts, tables={**facts.tables, table: rows})


def cell(cells, table, row, column, statistic="mean"):
    [found] = cells[
        cells[["table", "row", "column", "statistic"]].eq([table, row, column, statistic]).all(axis=1)
    ].itertuples()
    return found


def test_seven_hundreds_have_the_area_of_the_largest_heptagon():
    table = pd.DataFrame(100.0, index=["all"], columns=list(ABILITIES))
    assert round(magic.areas(table)["all"]) == 27_364


@pytest.mark.parametrize(("model", "area"), [("GPT o1", 12_901), ("GPT-4-turbo", 9_316), ("Llama-2-70B", 3_135)])
def test_areas_of_table_1(facts, model, area):
    assert round(magic.areas(facts.wide(1))[model]) == area


def test_an_area_is_the_sum_of_triangles():
    table = pd.DataFrame([[1, 2, 3, 4, 5, 6, 7]], columns=list(ABILITIES)).astype(float)
    triangles = 1 * 2 + 2 * 3 + 3 * 4 + 4 * 5 + 5 * 6 + 6 * 7 + 7 * 1
    assert magic.areas(table)[0] == pytest.approx(np.sin(2 * np.pi / 7) / 2 * triangles)


def test_turning_and_mirroring_the_axes_changes_no_area(facts):
    turned, mirrored = (*ABILITIES[3:], *ABILITIES[:3]), ABILITIES[::-1]
    for order in (turned, mirrored):
        np.testing.assert_allclose(magic.areas(facts.wide(1), order), magic.areas(facts.wide(1)))


def test_there_are_360_orders_and_the_first_is_the_papers(facts):
    orders = magic.axis_orders(facts)
    assert len(orders) == orders.order.nunique() == 360 and orders.order[0].split() == list(ABILITIES)
    assert orders.second_to_weakest[0] < 3 < orders.strongest_to_weakest.min()


def test_the_areas_gain_more_than_is_printed(facts):
    gains = magic.area_gains(facts.wide(4))
    assert (round(gains.gain.mean(), 1), round(magic.pooled_gain(gains), 1)) == (49.0, 41.7)


def test_averages_are_those_of_seven_pairs(literal):
    sums = {"win_rate": 46.0, "judgement": 61.1, "deception": 72.5, "self_awareness": 8.6, "coordination": 85.6}
    for metric, total in sums.items():
        assert cell(literal, "4", AVERAGE, metric).recomputed == pytest.approx(total / 7)
    agree = literal[(literal.row == AVERAGE) & (literal.table == "4")].set_index("column").agrees
    assert agree.to_dict() == {name: name not in ("judgement", "deception", "self_awareness") for name in agree.index}


def test_one_slip_explains_the_printed_average_of_deception(facts):
    table = magic.last_row(facts).set_index("metric")
    found = table[~table.agrees]
    assert [*found.index] == ["judgement", "deception", "self_awareness"]
    assert found.loc["deception", ["left_out", "turned"]].tolist() == ["Cohere", "Llama-2-70B"]


def test_gpt4_has_two_win_rates(literal):
    copies = literal[(literal.table == "4") & (literal.statistic == "copy")]
    wrong = copies[~copies.agrees]
    assert len(copies) == 56 and wrong[["row", "column", "published", "recomputed"]].values.tolist() == [
        ["GPT-4", "win_rate", 58.3, 53.3]
    ]


def test_numbers_of_the_text_that_are_another_models(facts, literal):
    quoted = literal[(literal.table == "text 5.1") & (literal.statistic == "copy")]
    assert quoted[~quoted.agrees].column.tolist() == ["judgement", "coordination", "rationality"]
    reconciled = magic.cells(facts, "reconciled")
    assert reconciled[(reconciled.table == "text 5.1") & (reconciled.statistic == "copy")].agrees.all()


def test_every_number_of_table_1_stands_beside_a_count(facts, literal):
    found = {reading: magic.cells(facts, reading) for reading in magic.READINGS}
    for cells in found.values():
        cells = cells[cells.table == "1"]
        assert len(cells) == 64 and cells.recomputed[cells.column == "win_rate"].isna().all()
    one = cell(found["reconciled"], "1", "GPT-4-turbo", "judgement", "counted")
    assert (one.published, one.recomputed, one.agrees) == (81.2, 65 / 80 * 100, True)
    wrong = found["reconciled"].query("table == '1' and recomputed.notna() and not agrees", engine="python")
    assert set(wrong.column) == {"coordination", "self_awareness"}


def test_eleven_of_twelve_matrices_follow_from_one_analysis(facts, literal):
    cells = magic.cells(facts, "reconciled")
    cells = cells[cells.table == "figure 5"]
    assert len(cells) == 108 and cells.agrees.equals(cells.recomputed.notna())
    assert set(cells.row[~cells.agrees].str.partition(" row")[0]) == {"matrix_0_Player1"}
    apart = (cells.published - cells.recomputed).abs()
    assert apart.max() < 0.0006 and literal.recomputed[literal.table == "figure 5"].isna().all()


def test_a_wrong_digit_in_a_matrix_does_not_agree(facts):
    figures = facts.figures.assign(value=facts.figures.value.str.replace("0.237 0.372 0.391", "0.273 0.372 0.355"))
    cells = magic.cells(replace(facts, figures=figures), "reconciled")
    assert not cells[cells.row.str.startswith("matrix_5")].agrees.any()


def test_case_scores_by_hand(facts):
    assert magic.dilemma_scores(facts, "CCC CDC DDD CDD DDD") == [5, 15, 10]
    assert magic.dilemma_scores(facts, "CCC CCC DCC DDD DDD") == [13, 8, 8]


def test_a_missing_row_leaves_its_numbers_absent_and_not_agreeing(facts):
    one = facts.tables[1]
    gone = replace(facts, tables={**facts.tables, 1: one[one.model != "GPT o1"]})
    found = cell(magic.cells(gone, "literal"), "text abstract", "GPT o1 over Llama-2-70B", "area", "more than")
    assert np.isnan(found.recomputed) and not found.agrees
    with pytest.raises(Missing, match="GPT o1"):
        gone.complete_table("abilities")


def test_every_table_has_its_models(facts):
    assert [*facts.complete_table("abilities").index] == MODELS and len(facts.complete_table("pairs")) == 14


def test_ballots_are_those_of_every_vote_without_self_votes():
    found: dict[str, set[int]] = {}
    for votes in product((1, 2), (0, 2), (0, 1)):  # the spy sits on seat 2 and others on 0 and 1
        counts = [votes.count(seat) for seat in range(3)]
        top = [seat for seat in range(3) if counts[seat] == max(counts)]
        outcome = "even" if len(top) > 1 else "caught" if top == [2] else "wrong"
        found.setdefault(outcome, set()).add(sum(vote == 2 for vote in votes[:2]))
    assert found == {name: set(bounds.BALLOTS[name]) for name in found} and len(found) == 3


def test_credits_as_printed_cannot_give_gpt4(facts):
    found = {reading: bounds.roles(facts, reading).set_index("model") for reading in magic.READINGS}
    assert found["reconciled"].possible.all()
    literal = found["literal"]
    assert literal.index[~literal.possible].tolist() == ["GPT-4", "GPT-4+PGM"]
    assert literal.least["GPT-4+PGM"] > literal.win_rate["GPT-4+PGM"]


def test_what_is_left_for_social_roles_by_hand(facts):
    found = bounds.roles(facts, "reconciled").set_index("model")
    assert found.social["Llama-2-70B"] == pytest.approx(7 * 26.5 - 42.8 - 0 - 0)
    assert found.social["Llama-2-70B+PGM"] == pytest.approx(7 * 30.8 - 52.4 - 38.5 - 4.8)
    assert (found.social["Llama-2-70B+PGM"] - found.social["Llama-2-70B"]) < -2 * found.social_error.max()


def test_a_win_rate_beyond_its_parts_is_impossible(facts):
    too_high = printed_as(facts, 4, "Llama-2-70B", "win_rate", "31.0")
    found = bounds.roles(too_high, "reconciled").set_index("model")
    assert not found.possible["Llama-2-70B"] and found.most["Llama-2-70B"] < 31.0


def test_who_always_defects_never_loses(facts):
    for moves in product(("".join(pair) for pair in product("CD", repeat=2)), repeat=3):
        scores = magic.dilemma_scores(facts, " ".join("D" + others for others in moves))
        assert scores[0] == max(scores)


def test_bounds_of_defection_by_hand(facts):
    found = bounds.defections(facts).set_index("model")
    assert found.rational["GPT-4"] == 145  # 69.0 % of 210; 12 lost dilemmas and 8 lost public goods
    assert found.loc["GPT-4", ["low", "high"]].tolist() == pytest.approx(
        [100 * (145 - 97) / 105, 100 * (105 - 12) / 105]
    )


def test_bounds_of_pools_are_those_of_linear_programming(facts):
    found = bounds.pools(facts).set_index("model")
    m = [1, 1.2, 1.5, 1.8, 2, 2.5, 3]
    for model, payback in facts.wide(2).public_good_payback.items():
        ends = [
            sign * linprog(sign * np.full(7, 1 / 7), A_eq=[np.array(m) / 21], b_eq=[payback], bounds=(0, 300)).fun
            for sign in (1, -1)
        ]
        assert found.loc[model, ["low", "high"]].tolist() == pytest.approx(ends)
        assert found.low[model] <= found.value[model] <= found.high[model]
