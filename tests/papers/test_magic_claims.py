"""The verdicts on the MAgIC paper's statements: stable, computed, and turned by the numbers they lean on."""

import ast
import re
from dataclasses import replace

import msgspec
import pytest

from agon import ROOT
from agon_papers.magic.claims import FUNCTIONS, STATEMENTS, claims, decided, in_words
from agon_papers.magic.evidence import GROUPS, Evidence
from agon_papers.magic.facts import ABILITIES, MODELS, read_facts
from agon_papers.statements import decide, filled
from agon_papers.verdicts import COLUMNS, VERDICTS

FACTS, SAMPLE = ROOT / "data/published/magic", ROOT / "tests/smoke/magic"
SOURCES = [ROOT / "src/agon_papers/magic" / f"{name}.py" for name in ("claims", "evidence", "functions")]
TEXTS = ("claim", "published", "why")

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
temperature_is_nought social_games_are_biased gpt4_cooperation_is_significant
""".split()  # noqa: SIM905


pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture(scope="module")
def facts():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    return read_facts(FACTS)


@pytest.fixture(scope="module")
def found(facts):
    return claims(facts).assign(name=[*STATEMENTS]).set_index("name")


def with_cell(facts, table, model, metric, value):
    rows = facts.tables[table].copy()
    rows.loc[(rows.model == model) & (rows.metric == metric), "value"] = value
    return replace(facts, tables={**facts.tables, table: rows})


def verdict(facts, name):
    """What the numbers themselves say, whatever is drawn."""
    statement = filled(STATEMENTS[name], facts.text.set_index("key").value)
    return VERDICTS[decide(Evidence(facts), statement, FUNCTIONS).holds]


def test_every_statement_has_a_test_and_every_function_a_statement(facts):
    tables = {part.table for statement in STATEMENTS.values() for part in statement.tests()}
    assert set(FUNCTIONS) <= tables and len(STATEMENTS) >= 40
    words = in_words(facts)
    assert len(words) == len(STATEMENTS) and words.str.contains("holds if|shown|no test").all()


def test_every_statement_says_what_where_and_why():
    for statement in STATEMENTS.values():
        assert statement.section and statement.claim and statement.published


def test_groups_are_of_models_and_metrics_that_are_there():
    known = {*MODELS, *(f"{model}+PGM" for model in MODELS), *ABILITIES, *GROUPS["played"]}
    assert all(set(members) <= known for name, members in GROUPS.items() if name != "measures")


def test_verdicts_that_nothing_is_drawn_for_are_stable(found):
    exact = [name for name, statement in STATEMENTS.items() if statement.kind == "exact"]
    expected = (
        dict.fromkeys(exact, "fails") | dict.fromkeys(HOLD, "holds") | dict.fromkeys(UNCHECKED, "cannot be checked")
    )
    expected |= {"judgement_gain": "undecided"}  # by one unit of the printed number's last digit
    assert found.verdict[exact].to_dict() == expected


def test_every_row_has_the_numbers_that_decide_it(found):
    assert found.columns.tolist() == COLUMNS and not found.duplicated("claim").any()
    assert found.recomputed[found.verdict != "cannot be checked"].ne("").all() and found.why.ne("").all()
    assert not found[["claim", "published", "why"]].apply(lambda column: column.str.contains("[{}]")).any(axis=None)


def test_the_same_facts_give_the_same_claims(facts, found):
    assert claims(facts).equals(found.reset_index(drop=True))


def untyped(text):
    """A text without the names of models, places and the paper's numbers."""
    models = r"GPT-(?:3\.5|4)|GPT o1|PaLM 2|Claude 2|Llama-2-70B"
    places = r"(?:Tables?|Figures?|formulas?|section) \(?[\d.]+\)?(?:(?:,| and| to) \(?\d+\)?)*|[AD]\.\d"
    return re.sub(rf"\{{\w+\}}|{models}|{places}|table_\d", "", text)


def test_no_number_of_the_paper_is_typed_in_the_statements():
    for name, statement in STATEMENTS.items():
        for key in TEXTS:
            left = untyped(getattr(statement, key))
            assert not re.search(r"\d", left), (name, key, left)


def test_no_number_of_the_paper_is_typed_in_the_tests():
    shown = re.compile(r"\{[^}]*\}|2n|3n")
    for name, statement in STATEMENTS.items():
        fields = {key: value for key, value in msgspec.to_builtins(statement).items() if key not in (*TEXTS, "section")}
        left = shown.sub("", untyped(repr(fields)))
        numbers = set(re.findall(r"\d[\d.e-]*", left)) - {
            "0",
            "1",
        }  # digits of `rounded`, and shown numbers' formats aside:
        # places, thousands, ranks up to three, a tenth, the rule's margin of correlations, half a unit of three digits, Table 2,
        # Figures 5 and 7, and the range of percents
        assert numbers <= {"2", "3", "5", "7", "100.0", "1000", "1.1", "0.3", "0.9985", "1.0015", "1e-9"}, (
            name,
            numbers,
        )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_number_of_the_paper_is_typed_in_the_decisions(path):
    numbers = {
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and type(node.value) in (int, float)
    }
    # figures and tables by number; the seven roles; percent
    assert numbers <= {0, 1, 2, 3, 5, 7, 8, 10, 100}


@pytest.mark.parametrize(("name", "table", "model", "metric", "value", "expected"), [
    ("gpt4_judgement", 1, "GPT-4", "judgement", "90.0", "holds"),
    ("gpt4_deception", 1, "GPT-4", "deception", "72.5", "fails"),
    ("tables_agree", 4, "GPT-4", "win_rate", "53.3", "holds"),
    ("gpt4_follows_turbo", 4, "GPT-4", "win_rate", "53.3", "holds"),
    ("turbo_threefold_over_llama", 1, "GPT-4-turbo", "judgement", "85.0", "holds"),
    ("threefold_over_weakest", 1, "Llama-2-70B", "self_awareness", "100.0", "fails"),
    ("every_model_gains", 4, "Cohere+PGM", "deception", "10.0", "fails"),
    ("deception_gain", 4, "Cohere+PGM", "deception", "37.5", "holds"),
    ("gpt4_cooperation_is_significant", 4, "GPT-4+PGM", "cooperation", "100.0", "holds"),
    ("gpt4_cooperation_is_significant", 4, "GPT-4+PGM", "cooperation", "52.4", "fails"),
    ("gpt35_rationality_is_significant", 4, "GPT-3.5-turbo+PGM", "rationality", "45.2", "cannot be checked"),
    ("gpts_shine_in_coordination", 1, "GPT-4", "coordination", "0.0", "fails"),
    ("capable_models_reason_better", 1, "GPT o1", "reasoning", "99.0", "fails"),
    ("win_rate_rises_everywhere", 2, "Llama-2-70B+PGM", "prisoner_wr", "0.0", "fails"),
    ("win_rates_are_over_21_games", 2, "Llama-2-70B+PGM", "prisoner_wr", "38.1", "fails"),
    ("cost_sharing_wins_are_cooperation", 2, "Llama-2-70B", "cost_sharing_wr", "42.9", "holds"),
    ("beliefs_win_more_for_less", 2, "GPT-4+PGM", "public_good_payback", "180.0", "fails"),
    ("judgement_formula", 1, "GPT-4", "judgement", "84.0", "fails"),
])  # fmt: skip
def test_a_verdict_turns_with_the_number_it_leans_on(facts, name, table, model, metric, value, expected):
    assert verdict(with_cell(facts, table, model, metric, value), name) == expected


def test_what_the_text_says_turns_a_verdict_too(facts):
    text = facts.text.copy()
    text.loc[text.key == "area_gain", "value"] = "49"
    changed = replace(facts, text=text)
    row = decided(Evidence(changed), "area_gain")
    assert row["verdict"] == "holds" and row["published"] == "49 percent" and "49 percent" in row["claim"]


def test_a_sample_of_models_says_what_is_missing():
    found = claims(read_facts(SAMPLE)).assign(name=[*STATEMENTS]).set_index("name")
    assert found.why["strongest_is_o1"].startswith("Missing: Table 1 here has no row GPT o1")
    assert (
        found.verdict["beliefs_win_more_for_less"] in ("holds", "undecided")
        and found.verdict["a_wrong_accusation_is_a_win"] == "fails"
    )
    assert "Average improvement" in found.why["last_row_is_the_mean"]
