"""What is left of thinking: matrices where they change, words as words, and nothing of what is neither."""

import json

import numpy as np
import pandas as pd
import pytest
from magic_games import any_or_void

from agon import figures
from agon.conf import games
from agon.figures import viewer
from agon.plan import Match, Seat
from agon.play import play_now, turns_table

CLUES = games(["chameleon/01-crowd"])[0]
NAMES = ["Player 1", "Player 2", "Player 3"]


def believing(*details):
    """A match in which seat 1 leaves these in its turns, one after another."""
    match = Match("test", "a", 10, CLUES, (Seat("any", any_or_void),) * 3, 0, "c")
    turns = turns_table([(match, play_now(match))])
    own = turns.index[turns.seat == 1][: len(details)]
    column = pd.Series(None, index=turns.index, dtype=object)
    column[own] = [json.dumps(each) for each in details]
    return turns.assign(detail=column)


ONE, TWO = [[0.5, 0, 0.5], [0, 0, 1], [0.25, 0.75, 0]], [[0, 0.5, 0.5], [None, 0, 1], [1, 0, 0]]


def test_beliefs_are_shown_where_they_change():
    turns = believing({"beliefs": ONE}, {"beliefs": ONE, "suspect": 2}, {"beliefs": TWO}, {"beliefs": ONE})
    found = viewer.beliefs(turns)
    assert [belief.seat for belief in found] == [1, 1, 1] and found[0].matrix.tolist() == ONE
    assert np.isnan(found[1].matrix[1, 0])


@pytest.mark.parametrize("held", [None, [], "words", [[1, 2], [3]], [["a", "b"]], [1, 2], {"beliefs": ONE}])
def test_what_is_no_matrix_is_none(held):
    turns = believing({"beliefs": held}, ["beliefs"], {"overspend": 5})
    assert viewer.beliefs(turns) == []


def test_forecasts_are_beliefs_in_words():
    words = [[None, "raise", "<b>"], ["keep", None, "lower"], [None, None, None]]
    turns = believing({"beliefs": words}, {"beliefs": words}, {"beliefs": ONE})
    found = viewer.forecasts(turns, NAMES)
    assert found[["player", "view", "of", "forecast"]].to_numpy().tolist() == [
        ["Player 2", "Player 1", "Player 2", "raise"],
        ["Player 2", "Player 1", "Player 3", "<b>"],
        ["Player 2", "Player 2", "Player 1", "keep"],
        ["Player 2", "Player 2", "Player 3", "lower"],
    ]
    assert viewer.forecasts(believing(), ["a"]).empty


def test_thoughts_are_shown_with_their_turn():
    turns = believing({"thought": ["a", "b"], "beliefs": ONE}, {"thought": []}, {"thought": "no list"}, ["thought"])
    found = viewer.thoughts(turns, NAMES)
    assert found[["player", "thought"]].to_numpy().tolist() == [["Player 2", "a\nb"]]
    assert viewer.thoughts(believing(), ["a"]).empty


def test_a_figure_of_beliefs_has_the_first_and_the_last_ones_and_the_same_bytes(tmp_path):
    turns = believing({"beliefs": ONE}, {"beliefs": TWO})
    for copy in ("one", "two"):
        made = viewer.belief_figure(viewer.beliefs(turns), NAMES, "Beliefs")
        figures.save(made, tmp_path / copy)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    [axes] = made.axes
    marks = [np.transpose([line.get_xdata() for line in axes.get_lines()[kind:-1:2]]) for kind in (0, 1)]
    assert np.array_equal(marks, np.array([ONE, TWO], dtype=float), equal_nan=True)
    assert [text.get_text() for text in axes.texts][1] == "Player 2 suspects"


@pytest.mark.parametrize(("shares", "said"), [((0.5, 0.5), "no suspicion is more than 0"), ((0.2, 0.8), "80 %")])
def test_a_figure_of_beliefs_says_how_strong_they_are(shares, said):
    beliefs = viewer.beliefs(believing({"beliefs": [shares, shares]}))
    assert said in viewer.belief_figure(beliefs, NAMES, "Beliefs").get_suptitle().replace("\n", " ").replace(
        "\xa0", " "
    )
