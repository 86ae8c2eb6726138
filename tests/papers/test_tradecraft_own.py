"""TradeCraft's own games in the form of the paper's: names, seats, and the printed numbers beside them."""

import pandas as pd
import pytest

from agon import ROOT, AgonError
from agon.games.rating.metrics import COLUMNS, scores
from agon.turns import read
from agon_papers.tradecraft import own, pictures, setups
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
    table = setups.difficulty("data/problems/minecraft")
    assert len(table) == 40 and set(table.trades) == {1} and table.units.nunique() > 10
