"""The TradeCraft paper's printed numbers against its records: how they were pooled, what the bars count, who won."""

from dataclasses import replace

import pandas as pd
import pytest
from claims import executed, functions_of

from agon import ROOT
from agon.turns import read
from agon_papers.ingest import ingest
from agon_papers.report.agreement import agreed
from agon_papers.tradecraft import cells as tradecraft
from agon_papers.tradecraft import counts as tradecraft_counts
from agon_papers.tradecraft import pictures
from agon_papers.tradecraft import scores as tradecraft_scores
from agon_papers.tradecraft.facts import PANELS, group_of, read_facts

FACTS, SAMPLE = ROOT / "data/published/tradecraft", ROOT / "tests/smoke/tradecraft"


@pytest.fixture(scope="module")
def facts():
    if not FACTS.is_dir():
        pytest.skip("the published facts are not there: `dvc pull data.dvc` or `make repro`")
    return read_facts(FACTS, ingest("tradecraft", FACTS, []).turns)


@pytest.fixture(scope="module")
def cells(facts):
    return pd.concat([tradecraft.cells(facts, reading) for reading in tradecraft_scores.READINGS])


def test_how_many_printed_numbers_agree(cells):
    found = agreed(cells).set_index("reading")
    assert dict(found.agree) == {"literal": 18, "reconciled": 172} and set(found.of) == {177}
    assert list(cells) == tradecraft.COLUMNS and set(cells[cells.recomputed.isna()].table) == set(tradecraft.WHY)


def test_what_no_record_has_is_printed_and_not_recomputed(cells):
    found = cells[cells.recomputed.isna()].groupby(["reading", "table"]).published
    assert found.size().unstack().to_dict("list") == {"2": [9, 9], "text C.3": [3, 3]}
    assert not cells.agrees[cells.recomputed.isna()].any() and found.sum()["literal", "2"] == pytest.approx(2.443)


def test_which_printed_numbers_never_agree(cells):
    wrong = cells[(cells.reading == "reconciled") & ~cells.agrees & cells.recomputed.notna()]
    assert set(wrong.table + " " + wrong.row + " " + wrong.column) == {
        "figure 4b gemini intention_concealment",
        "figure 4k competitive turns",
        "figure 4k unprimed turns",
        "figure 5a gpt-4o against claude claude",
        "figure 5a claude against gemini gemini",
    }


def test_the_radars_are_the_second_pass_of_logged_turns_pooled(facts):
    ways = tradecraft_scores.ways(facts, tradecraft.RADAR + tradecraft.ROUNDING)
    best = ways.loc[ways.agree.idxmax()]
    assert (best["pass"], best.pooling, best.agree) == ("second pass", "turns", 143)
    assert ways.agree.drop(ways.agree.idxmax()).max() == 39


def test_the_odd_radar_value_lacks_one_score():
    turns = ROOT / "transcripts/tradecraft.parquet"
    if not turns.exists():
        pytest.skip("no transcripts yet: make repro")
    names = executed("tradecraft_tables", turns_path=str(turns), facts_path=str(FACTS))
    assert names["odd"][["game", "turn", "score"]].to_numpy().tolist() == [["o39FBawU", 1, 0.9]]


def test_what_players_did(facts):
    counted = facts.counts
    totals = counted.groupby("group")[["bad_checks", "bad_proposals", "decisions", "rejected", "defaults"]].sum()
    assert list(totals.loc["gpt-4o"]) == [188, 7, 43, 38, 23]
    assert counted.checks.sum() == 2105 and counted.defaults.sum() == 39 and counted.bad_proposals.sum() == 173


def test_only_all_checks_can_be_the_invalid_bars(facts):
    found = tradecraft_counts.invalid_definitions(facts).groupby("definition").possible.sum()
    assert (
        found["all checks and refused proposals"] == 6
        and found["refused calls"] == 4
        and found["refused proposals"] == 0
    )


def test_unlogged_turns_have_bounds(facts):
    found = tradecraft_counts.unlogged(facts)
    assert found[found.cut].most.eq(3).all() and not found[~found.cut].most.any()
    lost = found[found.match == "1JzhD2HI"]  # turns 13 to 15: seat 1 decides twice, seat 0 once
    assert lost[["least", "few", "many"]].to_numpy().tolist() == [[3, 1, 1], [3, 2, 2]]


def test_the_first_seat_wins_three_times_as_often(facts):
    last = functions_of("tradecraft_tables")["wins_by_seat"](facts).iloc[-1]
    assert (last["first"], last.second, last.both, last.games) == (62, 20, 7, 90)


def test_heads(facts):
    assert tradecraft_counts.head_to_head(facts, "gpt-4o", "gemini") == [7, 3, 0, 0]
    assert tradecraft_counts.head_to_head(facts, "cooperative", "competitive") == [4, 2, 2, 2]
    assert tradecraft_counts.head_to_head(facts, "gpt-4o", "nobody") is None
    drawn = pictures.head_table(facts).set_index("matchup").printed
    assert drawn["ge_vs_4o"] == "printed: 3 to 7, both 0, neither 0" and drawn["un1_vs_un2"].startswith("no numbers")


def test_the_assessor_against_itself(facts):
    found = tradecraft_scores.retest(facts).set_index("dimension")
    assert found.n["all"] == 7393 and round(found.mae["all"], 3) == 0.098 and round(found.alpha["all"], 2) == 0.79
    scored = tradecraft_scores.coverage(facts).set_index("pass")
    assert list(scored.scored) == [7402, 7397] and set(scored.due) == {7408} and scored.other["second pass"] == 70


def test_agreement_is_perfect_with_oneself_and_absent_without_spread(facts):
    second = facts.scores[facts.scores["pass"] == 2]
    twice = pd.concat([second, second.assign(**{"pass": 1})])
    assert tradecraft_scores.retest(replace(facts, scores=twice)).alpha.eq(1).all()
    assert tradecraft_scores.retest(replace(facts, scores=twice.assign(score=0.5))).alpha.isna().all()


def test_winners_score_more_where_they_plan(facts):
    found = tradecraft_scores.outcomes(facts).set_index(["source", "dimension"]).loc["second pass"]
    assert (found.n_winners == 196).all() and found.games.eq(60).all()
    assert round(found.delta["strategic_planning"], 3) == 0.257 and found.low["strategic_planning"] > 0
    assert found.low["cooperation"] < 0 < found.high["cooperation"]


def test_groups_are_models_or_personas():
    assert group_of("gemini-cooperative-2") == "cooperative" and group_of("gemini") == "gemini"
    assert {group_of(name) for pair in PANELS.values() for name in pair} == {
        *("gpt-4o", "claude", "gemini"),
        *("cooperative", "competitive", "unprimed"),
    }


def test_the_sample_gives_cells_too():
    facts = read_facts(SAMPLE, read("tests/smoke/tradecraft/turns.parquet"))
    assert set(tradecraft.cells(facts, "literal").table) >= {"2", "figure 4a", "figure 5a"}
