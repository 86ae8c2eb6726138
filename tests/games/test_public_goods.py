"""The public good by hand and by property: its accounts, its budget, and what is known when."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import Run, any_legal, any_or_void, family, public_goods, saying
from refusals import unrefused

from agon.games import IllegalAction
from agon.games.public_goods.twins import solutions

seeds = st.integers(0, 2**32)
multipliers = st.sampled_from([1, 1.2, 1.5, 1.8, 2, 2.5, 3, 3.5])


def test_everybody_gives_10_five_times():
    assert Run(public_goods(), saying(contribute=10)).totals == (225,) * 3
    assert Run(public_goods(semantics="published"), saying(contribute=10)).totals == (225,) * 3
    assert Run(public_goods(semantics="published_pgm"), saying(contribute=10)).totals == (190,) * 3


@settings(max_examples=100, deadline=None)
@given(seed=seeds, by=multipliers, seats=st.integers(2, 5), rounds=st.integers(1, 6))
def test_points_are_conserved_but_for_what_the_pool_grows(seed, by, seats, rounds):
    run = Run(public_goods(by, seats=seats, rounds=rounds), any_or_void, seed)
    pool = sum(points or 0 for given in run.last.given for points in given)
    assert sum(run.totals) == pytest.approx(100 * seats + (by - 1) * pool)
    assert all(run.game.remaining(state.given, seat) >= 0 for state in run.states for seat in range(seats))
    assert all(not any(payoffs) for _, _, payoffs in run.steps[:-1])


@settings(max_examples=60, deadline=None)
@given(seed=seeds, by=multipliers)
def test_who_gave_least_is_paid_most(seed, by):
    run = Run(public_goods(by), any_legal, seed)
    given = [sum(points[seat] for points in run.last.given) for seat in range(3)]
    assert run.totals[given.index(min(given))] == max(run.totals)


def test_more_than_is_left_is_cut_and_noted():
    run = Run(public_goods(), saying(contribute=[90, 10, 0]))
    assert run.last.given == ((90, 10, 0), (10, 10, 0), (0, 10, 0), (0, 10, 0), (0, 10, 0))
    assert [state.notes for state in run.states] == [(), (), ((0, "overspend", 80),), *[((0, "overspend", 90),)] * 3]


def test_the_released_code_has_no_budget():
    run = Run(public_goods(semantics="published"), saying(contribute=[90, 0, 0]))
    assert run.game.remaining(run.last.given, 0) == -350 and run.totals == (-350 + 525, 100 + 525, 100 + 525)


def test_an_unreadable_answer_gives_nothing_and_is_seen_as_none():
    run = Run(public_goods(), saying(contribute=[10, None, 20]))
    assert run.totals == (225, 275, 175) and run.game.observe(run.last, 0).past == ((10, None, 20),) * 5


def test_a_seat_sees_finished_rounds_own_contribution_first():
    run = Run(public_goods(), saying(contribute=[1, 2, 3]))
    pasts = [(view.round, seat, view.past) for views, _, _ in run.steps[:2] for seat, view in views.items()]
    assert pasts == [
        (1, 0, ()),
        (1, 1, ()),
        (1, 2, ()),
        (2, 0, ((1, 2, 3),)),
        (2, 1, ((2, 1, 3),)),
        (2, 2, ((3, 1, 2),)),
    ]


def test_no_seat_sees_who_is_under_test():
    one, other = (public_goods(tested=[own]) for own in (0, 1))
    assert [one.observe(one.start(None), seat) for seat in range(3)] == [
        other.observe(other.start(None), seat) for seat in range(3)
    ]
    assert one != other


def test_calls_and_settings_are_those_of_the_paper():
    games = list(family("public_goods").values())
    assert [game.tested for game in games] == [(0,), (1,), (2,)] * 7
    assert [game.multiplier for game in games[::3]] == [1, 1.2, 1.5, 1.8, 2, 2.5, 3]
    assert {Run(game).asked("contribute") for game in games} == {15}


@settings(max_examples=60, deadline=None)
@given(seed=seeds, number=st.integers(0, 20))
def test_who_always_gives_nothing_wins_against_anybody(seed, number):
    game = list(family("public_goods").values())[number]
    (own,) = game.tested
    run = Run(game, [saying(contribute=0) if seat == own else any_or_void for seat in range(3)], seed)
    assert run.totals[own] == max(run.totals)
    assert all(given[own] == min(points or 0 for points in given) for given in run.last.given)


@pytest.mark.parametrize("endowment", [100, 5000])
def test_the_solution_of_any_endowment_is_found(endowment):
    best = solutions(public_goods(1.5, endowment=endowment))
    assert (best["alone"], best["together"]) == (0, endowment)
    assert best["worth"] == {"nothing": endowment, "everything": 1.5 * endowment}


def test_a_contribution_is_whole_points_within_the_endowment():
    cases = [({"points": points}, "seat 1 may not play") for points in (-1, 101, 2.5, True, "10", [10])]
    match = lambda points: Run(public_goods(), saying(contribute=[0, points, 0]))  # noqa: E731
    assert unrefused(match, cases, IllegalAction) == []


def test_a_game_that_cannot_be_says_why():
    cases = [
        ({"multiplier": 0}, "must be above 0"),
        ({"multiplier": float("nan")}, "must be above 0"),
        ({"multiplier": "2"}, "must be above 0"),
        ({"seats": 1}, "2 seats"),
        ({"rounds": 0}, "1 round"),
        ({"rounds": 2.5}, "in whole numbers"),
        ({"endowment": 2.5}, "in whole numbers"),
        ({"tested": [3]}, "there is no seat 3"),
        ({"semantics": "paper"}, "it must be strict or"),
    ]
    assert unrefused(public_goods, cases) == []
