"""The verdicts on the TradeCraft paper's statements: stable, computed, and turned by the records they lean on."""

import re
from dataclasses import replace

import pytest
from agon_papers.verdicts import COLUMNS, ENOUGH

from agon import ROOT
from agon.games.tradecraft.problems import problem
from agon.ingest import ingest
from agon.metrics.exact import holm
from agon.turns import read
from agon_papers import draws
from agon_papers.tradecraft.claims import FUNCTIONS, STATEMENTS, claims, decided, in_words
from agon_papers.tradecraft.evidence import PLAIN, Evidence, chance
from agon_papers.tradecraft.facts import read_facts
from agon_papers.tradecraft.functions import gaps, targets
from agon_papers.tradecraft.scores import outcomes

FACTS, SAMPLE = ROOT / "data/published/tradecraft", ROOT / "tests/smoke/tradecraft"

FAIL = """
first_to_craft_wins only_allowed_crafts_are_done decisions_are_taken_as_said scores_are_averaged_over_games
invalid_bars_count_violations rejection_bars_are_shares turn_bars_are_means gpt_rejections_are_choices gpt_and_claude_are_even
claude_beats_gemini cooperative_beats_competitive unprimed_beats_competitive
nobody_succeeds_alone targets_are_craftable many_recipes_burn_fuel
""".split()  # noqa: SIM905
NO_TABLES = {"groups", "rows", "whole", "draws", "drawn", "by_chance", "unit", "correlated"}
UNPUBLISHED = ["first_order_is_strong", "no_second_order", "humans_agree_on_theory_of_mind"]


pytestmark = pytest.mark.usefixtures("few_draws")


@pytest.fixture(scope="module")
def facts():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    return read_facts(FACTS, ingest("tradecraft", FACTS, []).turns)


@pytest.fixture(scope="module")
def found(facts):
    return claims(facts).set_axis([*STATEMENTS])


def test_every_table_that_a_row_names_is_there_and_the_reverse():
    named = {part.table for statement in STATEMENTS.values() for part in statement.tests() if not part.missing}
    own = {name for name in vars(Evidence) if not name.startswith("_")} - {
        "groups",
        "rows",
        "whole",
        "draws",
        "drawn",
        "by_chance",
        "unit",
        "correlated",
    }
    assert named == {*FUNCTIONS, *PLAIN, *own}


def test_every_statement_that_is_decided_shows_its_test(facts, found):
    tests = in_words(facts).set_axis([*STATEMENTS])
    assert tests[found.verdict != "cannot be checked"].str.contains("holds if").all()
    assert tests["sixty_records"] == "players: match, where group personas → nunique → holds if all: value == 60"
    assert tests["first_order_is_strong"] == "no test"


def test_which_fail_of_those_that_nothing_is_drawn_for(found):
    exact = [name for name, statement in STATEMENTS.items() if statement.kind == "exact"]
    verdicts = found.verdict[exact]
    assert set(verdicts.index[verdicts == "fails"]) == set(FAIL) and "undecided" not in set(verdicts)
    assert list(found) == COLUMNS


def test_a_verdict_that_is_drawn_for_says_how_stable_it_is(found):
    drawn = found[found.stability.notna()]
    assert len(drawn) >= 30 and drawn.draws.eq(draws.BLOCK).all() and drawn.unit.eq("game").all()
    assert drawn.stability[drawn.verdict != "undecided"].ge(ENOUGH).all() and drawn.p.between(0, 1).all()


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
    assert row["verdict"] == "fails" and row["recomputed"] == "gpt-4o and gemini: 3 to 7, both 0, neither 0 of 10"


def test_no_deciding_number_is_typed():
    texts = [part.say or "" for statement in STATEMENTS.values() for part in statement.tests()]
    bare = [re.sub(r"\{[^}]*\}", "", text) for text in texts]
    assert not [text for text in bare if re.search(r"\d\.\d|\d{2}", text) and "turn 13" not in text]


def test_an_even_split_is_chance():
    assert chance(4, 4) == 1 and round(chance(7, 3), 2) == 0.34


def test_a_gap_is_said_with_its_interval_in_both_passes(facts):
    found = gaps(Evidence(facts), {"group": "gpt-4o"}, {"group": "claude"}, "cooperation").loc["Cooperation"]
    assert found.said == (
        "0.517 against 0.632 (-0.225 to -0.004, 30 games); first pass 0.506 against 0.594 (-0.178 to +0.003, 30 games)"
    )
    ends = found[["least", "most", "low", "high"]].astype(float).round(3)
    assert ends.tolist() == [-0.115, -0.087, -0.225, 0.003]


def test_the_first_seats_targets_are_never_the_shorter_ones(facts):
    found = targets(Evidence(facts))
    assert found.harder.value_counts().to_dict() == {"first": 4, "neither": 1} and found.trades.eq(1).all()
    for number, row in found.iterrows():  # the certified problems are the recorded ones, seat by seat
        certified = problem(ROOT / f"data/problems/minecraft_public/{int(number):02}.json")
        recorded = facts.players[facts.players.problem == number].groupby("seat").target.unique()
        assert [[*each] for each in recorded] == [[*each] for each in certified.targets]
        assert [row["first"], row["second"]] == [goal.operations for goal in certified.certificate.goals]
    row = decided(Evidence(facts), "setup_is_fair")
    assert (
        "takes more crafts in 4 of 5 problems; the second's in 0 of 5" in row["recomputed"]
        and "easier" not in row["why"]
    )


def test_winners_are_certain_in_the_same_dimensions_by_both_passes(facts):
    found = outcomes(facts)
    found["sure"] = holm(found.p.to_numpy()) < 0.05
    sure = found[found.sure & (found.delta > 0)].groupby("dimension").size()
    assert sure.eq(2).all() and len(sure) == 5 and found.sure.sum() == 10
    [near] = found[~found.sure & ((found.low > 0) | (found.high < 0))].to_dict("records")
    assert (near["dimension"], near["source"]) == ("intention_concealment", "first pass")
