"""Twins of a game whose players have different actions."""

import pytest
from unlike_actions import GAME, SETS

from agon import AgonError
from agon.games.matrix import relabel
from agon_twins.check import check
from agon_twins.records import form_of
from agon_twins.twin import twin


@pytest.mark.parametrize(
    ("changes", "sets"),
    [
        ({"words": {"up": "moss", "left": "fern"}}, (("moss", "down"), ("fern", "middle", "right"))),
        ({"order": {"actions": "reversed"}}, (("down", "up"), ("right", "middle", "left"))),
        ({"order": {"seats": [1, 0]}, "scale": {"payoffs": 10}}, SETS[::-1]),
    ],
)
def test_twins_change_words_order_and_seats(changes, sets):
    other = twin(GAME, "t", **changes)
    assert other.normal_form.action_sets == sets
    assert check(GAME, other, other.map).counterexample == ""
    assert check(GAME, relabel(GAME, {name: name for own in SETS for name in own}), other.map).counterexample


def test_what_needs_the_same_actions_for_all_says_so():
    with pytest.raises((AgonError, ValueError), match="no permutation of"):
        _ = twin(GAME, "t", order={"actions": ["down", "up"]}).normal_form
    with pytest.raises(
        (AgonError, ValueError), match="the players have different actions: their mixes cannot be compared"
    ):
        form_of(GAME)
