"""Scores from ratings: means, winners against losers, and reliability against published and hand-computed numbers."""

import json

import numpy as np
import pandas as pd
import pytest

from agon import AgonError
from agon.agents.scripts import anything
from agon.games.rating.game import Rating
from agon.games.rating.metrics import COLUMNS, averages, compare_raters, distance, outcomes, reliability, scores
from agon.metrics.interval import proportion_interval
from agon.plan import Match, Seat
from agon.play import play_now, turns_table

A = [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3]
B = [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None]
C = [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4]
"""Three coders and fifteen units, from Wikipedia's article on the coefficient and the example of the library krippendorff."""

ONE = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
OTHER = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
"""Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), A: two observers, ten units, yes or no."""


def judged(*raters, matches=None, **columns):
    """Scores by raters "0", "1", ...; a unit is a turn, None is no judgement."""
    rows = [
        ((matches or ["m"] * 99)[turn], str(rater), 0, "blind", "persuasion", "", turn, 0, value)
        for rater, values in enumerate(raters)
        for turn, value in enumerate(values)
        if value is not None
    ]
    return pd.DataFrame(rows, columns=COLUMNS).assign(**columns)


def measured(table, **settings):
    return reliability(table, by=(), **settings).set_index("metric").value


def test_alpha_is_that_of_the_published_examples():
    assert measured(judged(A, B, C)).alpha == pytest.approx(0.811, abs=0.0005)
    assert measured(judged(ONE, OTHER)).alpha == pytest.approx(0.095, abs=0.0005)


def test_alpha_is_that_of_the_library():
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff is a development dependency")
    dice, seen = np.random.default_rng(5), 0
    for _ in range(200):
        kind, raters, units = dice.integers(2, 7), dice.integers(2, 6), dice.integers(3, 30)
        values = np.where(dice.random((raters, units)) < 0.3, np.nan, dice.integers(0, kind, (raters, units)))
        coded = [[None if np.isnan(each) else each for each in row] for row in values.tolist()]
        paired = values[:, (~np.isnan(values)).sum(axis=0) > 1]
        found = measured(judged(*coded))
        if len(np.unique(paired[~np.isnan(paired)])) < 2:
            assert "alpha" not in found
            continue
        level = "nominal" if kind == 2 else "interval"
        assert found.alpha == pytest.approx(krippendorff.alpha(values, level_of_measurement=level))
        seen += 1
    assert seen > 150


def test_differences_and_agreement_are_over_pairs():
    found = measured(judged([0.5, 0.2], [0.7, 0.2], [0.5, None]))  # pairs: 0.2, 0, 0.2 and 0
    assert found.mae == pytest.approx(0.1) and found.agreement == 0.5


def test_raters_who_always_say_the_same_have_no_alpha():
    found = measured(judged([1, 1], [1, 1]))
    assert "alpha" not in found and found.agreement == 1


def test_a_unit_judged_once_does_not_count():
    assert reliability(judged([1, 0], [None, 0])).n.tolist() == [1, 1]
    assert reliability(judged([1, 0])).empty


def test_test_and_retest_are_compared_by_rater():
    again = pd.concat([judged([0.5], [0.1]), judged([0.5], [0.4]).assign(repetition=1)])
    found = reliability(again, "repetition", ["rater"]).set_index(["rater", "metric"]).value
    assert found["0", "agreement"] == 1 and found["1", "mae"] == pytest.approx(0.3)


def test_a_thing_judged_twice_by_the_same_is_refused():
    with pytest.raises(AgonError, match="match m, persuasion, turn 0: judged twice by the same rater"):
        reliability(pd.concat([judged([1], [1])] * 2))


def test_orders_of_theory_of_mind_are_units_of_their_own():
    orders = pd.concat([judged([1], [0], dimension="theory_of_mind", aspect=each) for each in ("first", "second")])
    assert reliability(orders).n.tolist() == [2, 2, 2] and len(reliability(orders, by=["dimension", "aspect"])) == 6


def test_intervals_are_between_matches():
    same, apart = judged([0, 1], [0, 1], matches=["m", "m"]), judged([0, 1], [1, 0], matches=["n", "n"])
    both = reliability(pd.concat([same, apart])).set_index("metric")
    row = both.loc["agreement"]
    assert row.value == 0.5 and [row.low, row.high] == pytest.approx([*proportion_interval(1, 2)])
    assert reliability(same).low.isna().all()


# --- people and an assessor


ASSESSED = pd.concat(
    [
        judged([0.5, 0.2], [0.7, 0.2], [0.5, None], matches=["m", "n"]),
        judged([1, 0], [0, 0], [1, None], matches=["m", "n"], dimension="theory_of_mind", aspect="first"),
        judged([0, 0], [0, 1], [1, None], matches=["m", "n"], dimension="theory_of_mind", aspect="second"),
    ]
)
"""Rater 0 is the assessor: 1 differs by 0.2 and 0, and in the first and the last of four booleans; 2 by 0, and in one of two."""


def test_raters_are_compared_with_the_assessor_in_pairs():
    found = distance(ASSESSED, "0").set_index(["dimension", "metric"])
    assert found.value["persuasion", "mae"] == pytest.approx(0.2 / 3) and found.n["persuasion", "mae"] == 3
    assert found.value["persuasion", "agreement"] == pytest.approx(2 / 3)
    assert found.value["theory_of_mind", "agreement"] == 0.5 and found.n["theory_of_mind", "agreement"] == 6
    own = distance(ASSESSED, "0", ["rater", "dimension"]).set_index(["rater", "dimension", "metric"]).value
    assert own["1", "persuasion", "mae"] == pytest.approx(0.1) and own["2", "persuasion", "mae"] == 0


def test_of_one_rater_the_assessor_is_just_another():
    two = ASSESSED[ASSESSED.rater != "2"]
    both = reliability(two).merge(distance(two, "0"), on=["dimension", "metric"])
    assert len(both) == 4 and np.allclose(both.filter(regex="_x$"), both.filter(regex="_y$"))


def test_the_interval_of_the_distance_is_between_matches():
    row = distance(judged([0, 0], [0, 1], matches=["m", "n"]), "0").set_index("metric").loc["mae"]
    assert row.value == 0.5 and [row.low, row.high] == pytest.approx([*proportion_interval(1, 2)])


def test_a_turn_that_the_assessor_judged_twice_is_refused():
    with pytest.raises(AgonError, match="judged twice by the same rater"):
        distance(pd.concat([judged([1], [1])] * 2), "0")


def test_all_comparisons_stand_in_one_table():
    found = compare_raters(ASSESSED, "0")
    assert not found.duplicated(["between", "dimension", "aspect", "metric"]).any()
    known = found.set_index(["between", "dimension", "aspect", "metric"]).value
    assert known["assessor", "theory_of_mind", "", "agreement"] == 0.5
    assert known["assessor", "theory_of_mind", "second", "agreement"] == pytest.approx(1 / 3)
    assert known["raters", "persuasion", "", "mae"] == pytest.approx(0.2)  # 1 and 2 of one turn
    assert "mae" not in found[found.dimension == "theory_of_mind"].metric.tolist()
    assert set(found[found.between == "assessor"].metric) == {"agreement", "mae"}


@pytest.mark.parametrize(
    ("table", "between", "metric", "why"),
    [
        (judged([1, 0]), "assessor", "mae", "no rater has judged it"),
        (judged([None], [1]), "assessor", "mae", "the assessor has not judged it"),
        (judged([1, None], [None, 1]), "assessor", "mae", "no turn is judged by the assessor and a rater"),
        (judged([1], [1]), "raters", "alpha", "there is one rater only"),
        (judged([None] * 2, [1, None], [None, 1]), "raters", "alpha", "no turn is judged by two raters"),
        (judged([0, 0], [1, 1], [1, 1]), "raters", "alpha", "all judgements are the same"),
        (judged([0, 0], [1, 0], [1, 1]), "raters", "alpha", "no interval: one match, or all are alike"),
        (judged([0, 0], [1, 0], [1, 1], matches=["m", "n"]), "raters", "agreement", ""),
    ],
)
def test_what_cannot_be_computed_says_why(table, between, metric, why):
    [row] = compare_raters(table, "0").query("between == @between and metric == @metric").itertuples()
    assert row.absent == why and np.isnan(row.value) == (why != "" and "interval" not in why)


# --- means


POOLED = judged([1.0, 0.0, 0.0, 0.0], matches=["m", "n", "n", "n"], seat=[0, 0, 0, 1], won=[True, False, False, True])


def test_turns_are_pooled_as_published_or_matches_are_averaged():
    assert averages(POOLED, ["rater"])[["value", "n"]].values.tolist() == [[0.25, 4]]
    assert averages(POOLED, ["rater"], "games")[["value", "n"]].values.tolist() == [[0.5, 2]]
    with pytest.raises(AgonError, match="turns or games"):
        averages(POOLED, ["rater"], "rounds")


def test_intervals_of_means_are_between_matches():
    two = judged([0.0, 0.0, 1.0, 1.0], matches=["m", "m", "n", "n"])
    row = averages(two, ["rater"]).iloc[0]
    assert (row.value, row.n) == (0.5, 4) and [row.low, row.high] == pytest.approx([*proportion_interval(1, 2)])
    assert averages(two[:2], ["rater"]).low.isna().all()


def test_winners_are_compared_with_losers():
    [row] = outcomes(POOLED.assign(value=[1, 0.5, 0.25, 0.5])).itertuples()
    assert (row.winners, row.losers, row.n_winners, row.n_losers) == (0.75, 0.375, 2, 2)
    assert row.difference == 0.375 and row.delta == 1.0
    assert outcomes(POOLED[POOLED.won]).empty


# --- from turns


LOG = json.dumps({"match": "m9", "game": "x", "players": ["Ann", "Bob"], "turns": [[{"player": "Ann", "did": 1}]] * 2})


def rating_turns(script, agent="script"):
    match = Match("test", "a1", 1, Rating("rating", "01", LOG), (Seat(agent, script),), 0, "c")
    return turns_table([(match, play_now(match))])


def test_scores_say_what_was_judged_of_whom():
    found = scores(rating_turns(anything))
    assert list(found) == COLUMNS and len(found) == 8 * 4 + 3 * 4
    assert set(found["match"]) == {"m9"} and set(found.rater) == {"script"} and set(found.view) == {"blind"}
    assert sorted(set(found.seat)) == [0, 1] and sorted(set(found.turn)) == [1, 2]
    assert set(found.aspect[found.dimension == "theory_of_mind"]) == {"first", "second", "third"}


def test_what_stands_in_for_an_unreadable_answer_is_no_score():
    turns = rating_turns(lambda view, dice: None if view.round == 1 else anything(view, dice))
    assert "goal_alignment" not in set(scores(turns).dimension)
    instead = turns.assign(fallback=pd.Categorical(["random_legal: no"] * len(turns)))
    assert scores(instead).empty


def test_a_rater_with_a_model_is_called_by_both():
    turns = rating_turns(anything).assign(model=pd.Categorical(["gpt"] * 9))
    assert set(scores(turns).rater) == {"script@gpt"}
