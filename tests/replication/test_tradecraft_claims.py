"""The verdicts on the TradeCraft paper's statements: stable, computed, and turned by the records they lean on."""

import ast
import re
from dataclasses import replace

import pytest

from agon import ROOT
from agon.ingest import ingest
from agon.turns import read
from agon_papers.tradecraft.claims import COLUMNS, DECISIONS, STATEMENTS, claims, decided
from agon_papers.tradecraft.evidence import Evidence, Gap, chance, joined
from agon_papers.tradecraft.facts import read_facts

FACTS, SAMPLE = ROOT / "data/published/tradecraft", ROOT / "tests/smoke/tradecraft"
SOURCES = sorted((ROOT / "src/agon_papers/tradecraft").glob("claims*.py"))

FAIL = """
first_to_craft_wins only_allowed_crafts_are_done decisions_are_taken_as_said setup_is_fair every_turn_is_scored
scores_are_averaged_over_games invalid_bars_count_violations rejection_bars_are_shares turn_bars_are_means gpt_conceals_most
gpt_is_most_invalid gpt_rejections_are_choices gpt_and_claude_are_even claude_beats_gemini cooperative_aligns cooperative_wins_most
cooperative_beats_competitive unprimed_beats_competitive strategy_differs_most
""".split()  # noqa: SIM905
UNPUBLISHED = ["first_order_is_strong", "no_second_order", "humans_agree_on_theory_of_mind"]


@pytest.fixture(scope="module")
def facts():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull` or `make repro`")
    return read_facts(FACTS, ingest("tradecraft", FACTS, []).turns)


@pytest.fixture(scope="module")
def found(facts):
    return claims(facts).set_axis([*STATEMENTS])


def test_every_statement_has_its_decision():
    assert set(STATEMENTS) == set(DECISIONS) and len(STATEMENTS) >= 30


def test_how_many_hold_and_fail(found):
    assert found.verdict.value_counts().to_dict() == {"holds": 28, "cannot be checked": 24, "fails": 19}
    assert list(found) == COLUMNS


def test_which_fail(found):
    assert set(found.index[found.verdict == "fails"]) == set(FAIL)


def test_what_is_not_published_cannot_be_checked(found):
    assert (
        set(found.verdict[UNPUBLISHED]) == {"cannot be checked"}
        and found.why[UNPUBLISHED].str.startswith("Missing").all()
    )


def test_numbers_stand_beside_every_verdict(found):
    decided_ones = found[found.verdict != "cannot be checked"]
    assert decided_ones.recomputed.str.contains(r"\d").all() and found.why.str.len().gt(5).all()


def test_most_of_gpts_rejections_are_defaults(found):
    assert found.recomputed["gpt_rejections_are_choices"].startswith("23 of 38 rejections are step-limit defaults")


def test_a_sample_decides_nothing_that_needs_all_games():
    table = claims(read_facts(SAMPLE, read("tests/smoke/tradecraft/turns.parquet")))
    assert (table.verdict == "cannot be checked").sum() >= 60


def test_a_verdict_turns_with_the_records(facts):
    games = facts.games.assign(won_0=facts.games.won_1, won_1=facts.games.won_0)
    row = decided(Evidence(replace(facts, games=games)), "gpt_beats_gemini")
    assert row["verdict"] == "fails" and row["recomputed"] == "gpt-4o 3, gemini 7, both 0, neither 0 of 10"


def test_no_deciding_number_is_typed():
    texts = [
        node.value
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.JoinedStr)
        for node in ast.walk(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert not [text for text in texts if re.search(r"\d\.\d|\d{2}", text) and "turn 13" not in text]


def test_verdicts_join():
    assert joined([True, None]) is None and joined([True, None, False]) is False and joined([True, True]) is True


def test_an_even_split_is_chance():
    assert chance(4, 4) == 1 and round(chance(7, 3), 2) == 0.34


def test_a_gap_is_said_with_its_interval():
    assert str(Gap(0.5, 0.25, 0.1, 0.4, 10)) == "0.500 against 0.250 (+0.100 to +0.400, 10 games)"
