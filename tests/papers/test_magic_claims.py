"""The verdicts on the MAgIC paper's statements: stable, computed, and turned by the numbers they lean on."""

import ast
import re
import shutil
from dataclasses import replace

import nbformat
import numpy as np
import pandas as pd
import pytest
from claims import claims_table, executed

from agon import ROOT
from agon_papers.magic.facts import read_facts
from agon_papers.magic.records import Records
from agon_papers.verdict import COLUMNS, Missing, Statements

FACTS, RESULTS = ROOT / "data/published/magic", ROOT / "results/replication/magic_claims.csv"

HOLD = """
gpts_are_superior
over_a_hundred_cases gpt4_deception deception_differs llama_knows_itself win_rate_gain reasoning_gain
coordination_and_rationality_gain_most gpt4_is_paid_back_most scores_are_over_21_games
case_scores_follow case_is_won_with_beliefs case_beliefs_are_probabilities judgement_formula cooperation_formula
rationality_formula roles_are_seven
no_model_leads_everywhere lone_defector_earns_most multipliers_exceed_one settings_are_as_many_as_said
settings_are_turned_through_the_seats case_ballots_turn_with_beliefs case_outcomes_follow_from_ballots
""".split()  # noqa: SIM905
UNCHECKED = """
rational_play_earns_less
most_gain_in_three_or_four gpt35_rationality_is_significant
gpt4_cooperation_is_significant o1_gains case_beliefs_turn_right investment_ignores_the_multiplier
most_models_overspend defection_ignores_the_scores both_prompts_work settings_are_fair deception_formula
temperature_is_nought social_games_are_biased
""".split()  # noqa: SIM905

pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture(scope="module")
def facts():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    return read_facts(FACTS)


@pytest.fixture(scope="module")
def notebook(facts, few_draws):
    return executed("magic_claims", facts_path=FACTS)


@pytest.fixture(scope="module")
def found(notebook):
    return notebook["decided"].set_index("statement")


def test_verdicts_that_nothing_is_drawn_for_are_stable(found):
    exact = found[found.rule == "exact"].verdict
    expected = dict.fromkeys(exact.index, "fails") | dict.fromkeys(HOLD, "holds")
    expected |= dict.fromkeys(UNCHECKED, "cannot be checked")
    near = ["judgement_gain", "cost_sharing_wins_are_cooperation", "reasoning_formula", "self_awareness_formula"]
    expected |= dict.fromkeys(near, "undecided")  # by one unit of the printed number's last digit
    assert exact.to_dict() == expected and found.draws[exact.index].isna().all()


@pytest.mark.skipif(not RESULTS.exists(), reason="no results yet: make repro")
def test_statements_and_their_numbers_are_those_of_the_results(found):
    known = pd.read_csv(RESULTS).set_index("statement").loc[found.index]
    same = ["paper", "section", "claim", "published", "rule"]
    assert len(known) == 97 and found[same].equals(known[same].astype(found[same].dtypes))
    assert (found.verdict == known.verdict)[found.rule == "exact"].all()
    apart = found.index[~np.isclose(found.estimate, known.estimate, rtol=1e-9, equal_nan=True)]
    # few draws find another test of these weaker
    few_draws = {"gpt35_is_above_llama", "gpts_shine_in_coordination", "turbo_is_most_capable"}
    assert {*apart} <= few_draws


def test_every_row_has_the_numbers_that_decide_it(found):
    table = found.reset_index()[COLUMNS]
    assert not found.index.duplicated().any() and not table.claim.duplicated().any()
    assert table.recomputed[table.verdict != "cannot be checked"].ne("").all() and table.why.ne("").all()
    assert not table[["claim", "published", "why"]].apply(lambda column: column.str.contains("[{}]")).any(axis=None)


def test_the_same_facts_give_the_same_claims(found):
    assert claims_table("magic", facts_path=FACTS).equals(found)


def test_record_sets_draw_games_and_know_no_costs(facts):
    records = Records(facts)
    table = records.rows("abilities", {})
    drawn = [records.redraws(table, "mean")(number) for number in range(4)]
    assert all((each[name] != table[name]).all() for each in drawn for name in ("win_rate", "judgement"))
    spread = np.std([records.redraws(table, "mean")(number).win_rate["GPT o1"] for number in range(240)])
    assert 3 < spread < 5  # points: of 140 games at most, won or lost
    costs = records.redraws(records.rows("details", {}), "mean")(0)
    assert costs.cost_sharing_cost.isna().all() and costs.cost_sharing_wr.notna().all()
    assert all(each.area.between(0, 27_364).all() and (each.area != table.area).all() for each in drawn)
    pairs = records.redraws(records.rows("pairs", {}), "mean")(0)
    assert pairs.judgement["GPT-4"] == drawn[0].judgement["GPT-4"]  # the same number in two tables is drawn once
    assert [len(records.redraws(table, "correlation")(number)) for number in range(4)] == [7] * 4
    with pytest.raises(Missing):
        records.by_chance(table, "uniform", 0)


def code_cells():
    """Those that decide: from the first that reads the text's numbers to the table of all that was decided."""
    cells = nbformat.read(ROOT / "notebooks/magic_claims.ipynb", as_version=4).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    first, last = (next(n for n, cell in enumerate(code) if start in cell) for start in ("def number(", "decided = "))
    return code[first:last]


def untyped(text):
    """A text without the names of models, places and the paper's numbers."""
    models = r"GPT-(?:3\.5|4)|GPT o1|PaLM 2|Claude 2|Llama-2-70B"
    places = r"(?:Tables?|Figures?|formulas?|section) \(?[\d.]+\)?(?:(?:,| and| to) \(?\d+\)?)*|[AD]\.\d"
    return re.sub(rf"\{{\w+\}}|{models}|{places}|table_\d", "", text)


def test_no_number_of_the_paper_is_typed_in_the_statements():
    nodes = [node for cell in code_cells() for node in ast.walk(ast.parse(cell))]
    statements = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.decorator_list]
    assert len(statements) >= 98
    for node in statements:
        published = [each.args[2].value for each in node.decorator_list if isinstance(each, ast.Call)]
        for text in [ast.get_docstring(node), *published]:
            assert not re.search(r"\d", untyped(text)), (node.name, untyped(text))


def test_no_number_of_the_paper_is_typed_in_the_decisions():
    numbers = {
        (node.value, cell)
        for cell in code_cells()
        for node in ast.walk(ast.parse(cell))
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    }
    # places and ranks up to three, percents and thousands, the rule's margins and draws, a tenth, half a unit of three digits,
    # Figures 5, 7, 8 and 10
    allowed = {0, 1, 2, 3, 5, 7, 8, 10, 100, 120, 1000, 1.1, 0.0015, 1e-9}
    assert not {(number, cell) for number, cell in numbers if number not in allowed}


@pytest.mark.parametrize(("name", "table", "model", "metric", "value", "expected"), [
    ("gpt4_judgement", 1, "GPT-4", "judgement", "90.0", "holds"),
    ("gpt4_deception", 1, "GPT-4", "deception", "72.5", "fails"),
    ("tables_agree", 4, "GPT-4", "win_rate", "53.3", "holds"),
    ("gpt4_follows_turbo", 4, "GPT-4", "win_rate", "53.3", "holds"),
    ("turbo_threefold_over_llama", 1, "GPT-4-turbo", "judgement", "85.0", "undecided"),
    ("threefold_over_weakest", 1, "Llama-2-70B", "win_rate", "10.0", "holds"),
    ("threefold_over_weakest", 1, "Llama-2-70B", "win_rate", "40.0", "undecided"),
    ("every_model_gains", 4, "Cohere+PGM", "deception", "10.0", "fails"),
    ("deception_gain", 4, "Cohere+PGM", "deception", "37.5", "holds"),
    ("gpt4_cooperation_is_significant", 4, "GPT-4+PGM", "cooperation", "100.0", "holds"),
    ("gpt4_cooperation_is_significant", 4, "GPT-4+PGM", "cooperation", "52.4", "fails"),
    ("gpt35_rationality_is_significant", 4, "GPT-3.5-turbo+PGM", "rationality", "45.2", "cannot be checked"),
    ("gpts_shine_in_coordination", 1, "GPT-4", "coordination", "0.0", "fails"),
    ("capable_models_reason_better", 1, "GPT o1", "reasoning", "9.0", "fails"),
    ("win_rate_rises_everywhere", 2, "Llama-2-70B+PGM", "prisoner_wr", "0.0", "fails"),
    ("win_rates_are_over_21_games", 2, "Llama-2-70B+PGM", "prisoner_wr", "38.1", "fails"),
    ("cost_sharing_wins_are_cooperation", 2, "Llama-2-70B", "cost_sharing_wr", "42.9", "holds"),
    ("beliefs_win_more_for_less", 2, "GPT-4+PGM", "public_good_payback", "180.0", "fails"),
    ("judgement_formula", 1, "GPT-4", "judgement", "84.0", "fails"),
])  # fmt: skip
def test_a_verdict_turns_with_the_number_it_leans_on(
    notebook, facts, monkeypatch, name, table, model, metric, value, expected
):
    rows = facts.tables[table].copy()
    rows.loc[(rows.model == model) & (rows.metric == metric), "value"] = value
    changed = replace(facts, tables={**facts.tables, table: rows})
    monkeypatch.setitem(notebook, "facts", changed)
    for cached in notebook.values():
        getattr(cached, "cache_clear", lambda: None)()
    statement = Statements("magic", Records(changed), notebook["text"])
    statement("", "exact", "")(notebook[name])  # what the numbers themselves say, whatever is drawn
    assert statement.rows[0]["verdict"] == expected


def test_what_the_text_says_turns_a_verdict_too(facts, tmp_path):
    shutil.copytree(FACTS, tmp_path / "magic")
    text = facts.text.assign(value=facts.text.value.mask(facts.text.key == "area_gain", "49"))
    text.to_csv(tmp_path / "magic/text.csv", index=False)
    row = claims_table("magic", facts_path=tmp_path / "magic").loc["area_gain"]
    assert row.verdict == "holds" and row.published == "49 percent" and "49 percent" in row.claim


def test_a_sample_of_models_says_what_is_missing():
    found = claims_table("magic")  # by default
    assert found.why["strongest_is_o1"].startswith("Missing: Table 1 here has no row GPT o1")
    assert found.verdict["beliefs_win_more_for_less"] in ("holds", "undecided")
    assert found.verdict["a_wrong_accusation_is_a_win"] == "fails"
    assert "Average improvement" in found.why["last_row_is_the_mean"]
