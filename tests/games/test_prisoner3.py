"""The three-player prisoner's dilemma: the paper's Figure 8, its score tables, and what cannot be read."""

import copy
import pickle
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import Run, any_or_void, family, prisoners
from refusals import unrefused

from agon.games.matrix import MatrixGame

NAMES = {"C": "cooperate", "D": "defect", "-": None}
seeds = st.integers(0, 2**32)


def played(moves, **scores):
    """A match of given moves, a word of three letters for each round."""
    rounds = [[NAMES[letter] for letter in word] for word in moves.split()]
    return Run(prisoners(rounds=len(rounds), **scores), lambda view, dice: rounds[view.round - 1][view.seat])


def test_figure_8():
    scores = {"cooperate": 3, "defect": 1, "one_defect": 5, "two_defect": 5}
    assert played("CCC CDC DDD CDD DDD", **scores).totals == (5, 15, 10)
    assert played("CCC CCC DCC DDD DDD", **scores).totals == (13, 8, 8)


def test_a_round_pays_by_the_number_of_defectors():
    for profile in map("".join, product("CD", repeat=3)):
        score = {0: 11, 1: 13, 2: 7, 3: 2}[profile.count("D")]
        payoffs = tuple(score if letter == "D" or "D" not in profile else 0 for letter in profile)
        assert played(profile, cooperate=11, one_defect=13, two_defect=7, defect=2).totals == payoffs


def test_an_unreadable_action_pays_as_cooperation_or_as_published():
    for profile in [word for word in map("".join, product("CD-", repeat=3)) if "-" in word]:
        assert played(profile).totals == played(profile.replace("-", "C")).totals
        assert played(profile, semantics="published").totals == played(profile.replace("-", "D")).totals


def test_what_cannot_be_read_stays_unread():
    assert played("C-D CCC").steps[1][0][0].past == (("cooperate", None, "defect"),)


@settings(max_examples=60, deadline=None)
@given(seed=seeds, number=st.integers(0, 20))
def test_who_always_defects_wins_against_anybody(seed, number):
    game = list(family("prisoner3").values())[number]
    (own,) = game.tested
    run = Run(game, [(lambda view, dice: "defect") if seat == own else any_or_void for seat in range(3)], seed)
    assert run.totals[own] == max(run.totals)


def test_calls_and_settings_are_those_of_the_paper():
    games = list(family("prisoner3").values())
    assert [game.tested for game in games] == [(0,), (1,), (2,)] * 7 and {len(Run(game).steps) for game in games} == {5}
    cells = [
        tuple(game.payoffs([NAMES[letter] for letter in word])[0] for word in ("CCC", "DCC", "DDC", "DDD"))
        for game in games
    ]
    assert cells[::3] == [
        (a, b, c, 1) for a, b, c in [(3, 5, 2), (3, 10, 2), (3, 20, 2), (3, 5, 3), (3, 5, 4), (3, 5, 5), (5, 5, 3)]
    ]


def test_no_seat_sees_who_is_under_test():
    views = [Run(prisoners(tested=[own])).steps[0][0] for own in range(3)]
    assert len({view.rules for seen in views for view in seen.values()}) == 1
    assert {view.rules.tested for seen in views for view in seen.values()} == {()}


def test_it_is_a_normal_form_game_whose_copies_are_equal():
    game = prisoners(tested=[2], semantics="published")
    for again in (copy.deepcopy(game), pickle.loads(pickle.dumps(game))):
        assert isinstance(again, MatrixGame) and again == game and hash(again) == hash(game)
        assert again.payoffs(["defect", None, "cooperate"]) == game.payoffs(["defect", None, "cooperate"])


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_the_same_answers_lead_to_the_same_states(seed):
    assert Run(prisoners(), any_or_void, seed).states == Run(prisoners(), any_or_void, seed).states


def test_a_game_that_cannot_be_says_why():
    cases = [
        ({"tested": [3]}, "there is no seat 3"),
        ({"semantics": "paper"}, "it must be strict or published"),
        ({"cooperate": "x"}, "payoff holds the text 'x': write numbers"),
        ({"rounds": 0}, "rounds is 0; it must be a whole number, 1 at least"),
    ]
    assert unrefused(prisoners, cases) == []
