"""TradeCraft's own games in the form of the paper's: names, seats, and the printed numbers beside them."""

import pandas as pd
import pytest
from claims import functions_of

from agon import ROOT, AgonError
from agon.conf import configuration
from agon.games.rating.metrics import COLUMNS, scores
from agon.plan import plan
from agon.turns import read
from agon_papers.tradecraft import own, pictures
from agon_papers.tradecraft.facts import DIMENSIONS, PERSONAS, read_facts

SAMPLE = ROOT / "tests/smoke/tradecraft"
PAPER = read_facts(SAMPLE, read(SAMPLE / "turns.parquet"))
TURNS = read(ROOT / "tests/smoke/tradecraft_live/turns.parquet")
RATED = scores(read(ROOT / "tests/smoke/tradecraft_live/ratings.parquet"))
NO_SCORES = pd.DataFrame(columns=COLUMNS)


def between_models(turns):
    """The same games, but the unprimed players of each pair are different models."""
    unprimed = turns[turns.agent.eq("tradecraft_unprimed").groupby(turns.match).transform("all")]
    names = unprimed.seat.map({0: "one", 1: "other"}).astype("category")
    return unprimed.assign(model=names).reset_index(drop=True)


def test_personas_stand_in_the_papers_panels_and_take_every_seat():
    facts = own.own_facts(TURNS, RATED, PAPER)
    assert sorted(facts.games.matchup.unique()) == sorted(own.panels(facts)) == list("defghi")
    assert own.seatings(facts).balanced.all()


def test_a_persona_has_the_printed_values_of_the_same_persona():
    table = pictures.radar_table(own.own_facts(TURNS, RATED, PAPER), "g")
    printed = PAPER.figure_4[PAPER.figure_4.panel == "g"].set_index(["name", "measure"]).value
    assert len(table) == 2 * len(DIMENSIONS)
    assert all(row.printed == printed[f"gemini-{row.name}", row.dimension] for row in table.itertuples(index=False))


def test_a_score_is_the_mean_over_the_turns_of_the_player():
    facts = own.own_facts(TURNS, RATED, PAPER)
    [row] = pictures.radar_table(facts, "g").query("name == 'cooperative' and dimension == 'persuasion'").itertuples()
    seats = facts.seats[(facts.seats.matchup == "g") & (facts.seats.name == "cooperative")]
    mine = RATED.merge(seats[["match", "seat"]], on=["match", "seat"]).query("dimension == 'persuasion'").value
    assert row.value == pytest.approx(mine.mean()) and row.n == len(mine)


def test_models_have_panels_without_printed_values():
    facts = own.own_facts(between_models(TURNS), RATED, PAPER)
    assert own.panels(facts)["a1"] == ("one", "other")
    table = pictures.radar_table(facts, "a1")
    assert set(table.name) == {"one", "other"} and table.printed.isna().all()
    bars = pictures.bar_panels(facts, "j")["turns per game"].set_index("name")
    assert bars.printed.notna().sum() == 3 and bars.value.notna().sum() == 2


def test_theory_of_mind_has_the_orders_of_table_2():
    table = own.theory_of_mind(RATED, own.own_facts(TURNS, RATED, PAPER))
    assert set(table.order) == set(PAPER.table_2.order) and set(table.name) == set(PERSONAS)


def test_games_that_nobody_rated_have_heads_and_bars_and_no_radars():
    facts = own.own_facts(TURNS, NO_SCORES, PAPER)
    assert len(pictures.head_table(facts)) == 6 and pictures.radar_table(facts, "d").empty


def test_pairs_and_problems_of_the_papers_design_that_were_not_played_are_named():
    whole = own.own_facts(TURNS, NO_SCORES, PAPER)
    assert set(own.coverage(whole, PAPER).itertuples(index=False, name=None)) == {
        (f"{one} against {other}", 2, 10)
        for one, other in [
            *((f"{persona}-1", f"{persona}-2") for persona in PERSONAS),
            ("cooperative", "competitive"),
            ("unprimed", "competitive"),
            ("unprimed", "cooperative"),
        ]
    }
    assert own.missing_problems(whole, PAPER) == [f"minecraft_public-0{number}" for number in (1, 2, 3, 4)]
    kind = TURNS[~TURNS.match.isin(TURNS.match[TURNS.agent.eq("tradecraft_unprimed")])]
    played = own.coverage(own.own_facts(kind, NO_SCORES, PAPER), PAPER).set_index("players").played
    assert played.sum() == 6 and set(played[played.index.str.contains("unprimed")]) == {0}


def test_games_of_other_problems_do_not_count_and_models_that_met_have_a_row():
    others = own.own_facts(TURNS.assign(variant="minecraft-02"), NO_SCORES, PAPER)
    assert own.coverage(others, PAPER).played.sum() == 0 and len(own.missing_problems(others, PAPER)) == 5
    models = own.coverage(own.own_facts(between_models(TURNS), NO_SCORES, PAPER), PAPER)
    assert models.set_index("players").played.to_dict()["one against other"] == 2 and len(models) == 7


@pytest.mark.skipif(not (ROOT / "data/problems").is_dir(), reason="no problems: dvc pull")
def test_a_whole_run_of_the_experiment_is_the_papers_design():
    words = ["experiment=tradecraft_live", "experiment.models=[standin_tradecraft]"]
    matches = plan(configuration(words)["experiment"])
    rows = own.coverage(own.own_facts(TURNS, NO_SCORES, PAPER), PAPER)
    assert len(matches) == rows.designed.sum()
    assert {match.game.variant for match in matches} == {f"minecraft_public-0{number}" for number in range(5)}


def test_what_cannot_be_laid_side_by_side_is_refused():
    scripts = TURNS.assign(model=TURNS.model.mask(TURNS.model.notna()))
    with pytest.raises(AgonError, match="no matches of TradeCraft between two models"):
        own.own_facts(scripts, NO_SCORES, PAPER)
    halves = (
        TURNS.match.astype(str).isin(sorted(TURNS.match.astype(str).unique())[:6]).map({True: "one", False: "other"})
    )
    with pytest.raises(AgonError, match=r"personas of several models \(one, other\)"):
        own.own_facts(TURNS.assign(model=halves.astype("category")), NO_SCORES, PAPER)


@pytest.mark.skipif(not (ROOT / "data/problems").is_dir(), reason="no problems: dvc pull")
def test_one_trade_is_enough_in_all_own_problems_and_units_differ():
    table = functions_of("tradecraft_live")["difficulty"]("data/problems/minecraft")
    assert len(table) == 40 and set(table.trades) == {1} and table.units.nunique() > 10
