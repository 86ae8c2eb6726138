"""Cost sharing by hand and by property: proposals in turn, votes at once, and what an agreement is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import AIRLINES, Run, any_or_void, cost_sharing, family, known, saying, seen
from refusals import unrefused

from agon.agents import seat_dice
from agon.games import IllegalAction
from agon.games.cost_sharing.game import CostSharing

P = ["Player 1", "Player 2", "Player 3"]
SPLITS = [(40, 30, 30), (50, 25, 25), (60, 20, 20)]
seeds = st.integers(0, 2**32)


def test_an_agreement_is_all_votes_for_the_same_numbers():
    for proposals, votes, agreed in [
        (SPLITS, [P[1]] * 3, SPLITS[1]),
        (SPLITS, [P[1], P[1], P[0]], None),
        (SPLITS, P, None),
        ([SPLITS[0], SPLITS[0], SPLITS[2]], [P[0], P[1], P[0]], SPLITS[0]),
        ([(40, 30, 30), (40.0, 30.0, 30), SPLITS[2]], [P[0], P[1], P[0]], SPLITS[0]),
        (SPLITS, [P[1], P[1], None], None),
        ([None, SPLITS[1], SPLITS[2]], [P[0]] * 3, None),
        ([None, None, None], P, None),
    ]:
        run = Run(cost_sharing(), saying(propose=proposals, vote=votes))
        assert (run.last.outcome, run.last.agreed) == ("agree" if agreed else "fail", agreed)
        assert run.last.round == (1 if agreed else 5) and run.totals == ((1,) * 3 if agreed else (0,) * 3)


def test_unreadable_proposals_match_each_other_as_published():
    run = Run(cost_sharing(semantics="published"), saying(propose=None, vote=P))
    assert run.last.outcome == "agree" and run.last.agreed is None


def test_a_proposal_that_is_no_division_is_refused():
    proposals = [(50, 30, 30), (40, 30, 29), (-10, 60, 50), (50, 50), (40, 30, "30")]
    cases = [({"shares": shares}, r"seat 0 may not play .* 'total': 100") for shares in proposals]
    match = lambda shares: Run(cost_sharing(), saying(propose=[shares]))  # noqa: E731
    assert unrefused(match, cases, IllegalAction) == []


def test_the_released_code_checks_no_sum():
    game = cost_sharing(semantics="published")
    assert ((50, 30, 30) in game.legal_actions(game.start(None), 0)) is True


def test_calls_of_a_match_are_those_of_the_paper():
    live = Run(cost_sharing(), saying(vote=P, propose=SPLITS))
    opened = Run(cost_sharing(tested=[1]), saying(vote=P, propose=SPLITS))
    assert live.asked("propose") == live.asked("vote") == 15
    assert opened.asked("propose") + opened.asked("vote") == 30 - 2


def test_all_but_the_challenger_open_with_the_settings_proposals():
    opening = [(40, 30, 30), (50, 25, 25), (45, 30, 25)]
    for tested in range(3):
        run = Run(cost_sharing(opening, tested=[tested]), saying(propose=[(20, 40, 40)] * 3, vote=P))
        first = {event.seat: event.value for event in run.last.past[:3]}
        assert first == {seat: (20, 40, 40) if seat == tested else opening[seat] for seat in range(3)}
        assert [seat for seat, _ in run.actions("propose")][:4] == [tested, 0, 1, 2]


def test_proposals_are_seen_at_once_and_votes_when_all_are_cast():
    run = Run(cost_sharing(), saying(propose=SPLITS, vote=P))
    heard = [len(view.past) for views, _, _ in run.steps for view in views.values()]
    assert heard[:9] == [0, 1, 2, 3, 3, 3, 6, 7, 8]
    in_turn = Run(cost_sharing(semantics="published_pgm"), saying(propose=SPLITS, vote=P))
    assert [len(view.past) for views, _, _ in in_turn.steps for view in views.values()][:7] == [*range(7)]


def test_later_opening_proposals_are_not_known_beforehand():
    one, other = cost_sharing(tested=[0]), cost_sharing(((40, 30, 30), (20, 40, 40), (10, 45, 45)), tested=[0])
    assert [seen(v) for v in known(one, one.start(None))] == [seen(v) for v in known(other, other.start(None))]


def test_twenty_one_settings_rotate_the_seat_under_test():
    games = list(family("cost_sharing").values())
    assert len(games) == 21 and [game.tested for game in games] == [(0,), (1,), (2,)] * 7
    assert len({game.airlines for game in games}) == 7


@settings(max_examples=80, deadline=None)
@given(seed=seeds, semantics=st.sampled_from(["strict", "published", "published_pgm"]), tested=st.integers(0, 2))
def test_every_match_ends_in_agreement_or_not_and_pays_all_the_same(seed, semantics, tested):
    run = Run(cost_sharing(semantics=semantics, tested=[tested]), any_or_void, seed)
    assert run.last.outcome in ("agree", "fail") and run.totals == (run.last.outcome == "agree",) * 3
    assert run.last.round <= 5 and Run(run.game, any_or_void, seed).states == run.states


def test_any_number_of_airlines_may_share():
    airlines = [(name, 10, 100, 1.0, "small") for name in "ABCDE"]
    run = Run(CostSharing("cost_sharing", "five", airlines, [(20,) * 5] * 5), saying(vote=["Player 5"] * 5))
    assert run.last.round == 1 and run.totals == (1,) * 5


def test_a_game_that_cannot_be_says_why():
    cases = [
        ({"proposals": [(40, 30, 30)] * 2}, "2 opening proposals for 3 airlines"),
        (
            {"proposals": [(40, 30, 30), (40, 30, 31), (40, 30, 30)]},
            r"seat 1, \[40, 30, 31\], must be 3 shares that sum to 100",
        ),
        ({"tested": [3]}, "there is no seat 3"),
        ({"semantics": "paper"}, "it must be strict or published or published_pgm"),
        ({"rounds": 0}, "rounds is 0; it must be a whole number, 1 at least"),  # would never end
        ({"rounds": "5"}, "rounds is '5'"),
        ({"fee": 0}, "fee is 0"),
    ]
    assert unrefused(cost_sharing, cases) == []


@pytest.mark.parametrize("airline", [1, {"name": "A"}, ["A", 1]])
def test_an_airline_has_all_its_fields(airline):
    with pytest.raises(ValueError, match="an airline needs name, flights, passengers, hours, aircraft"):
        CostSharing("cost_sharing", "test", [airline, *AIRLINES[1:]], [(40, 30, 30)] * 3)


def test_an_airline_that_cannot_be_is_refused():
    def game(place, value):
        airline = [*AIRLINES[0]]
        airline[place] = value
        return CostSharing("cost_sharing", "test", [airline, *AIRLINES[1:]], [(40, 30, 30)] * 3)

    cases = [
        ({"place": 0, "value": "B"}, "different names"),
        ({"place": 1, "value": 0}, "above 0"),
        ({"place": 2, "value": -5}, "above 0"),
        ({"place": 3, "value": 0.0}, "above 0"),
        ({"place": 4, "value": "huge"}, "not small, medium, large"),
        ({"place": 1, "value": "12"}, "above 0"),
        ({"place": 3, "value": None}, "above 0"),
    ]
    assert unrefused(game, cases) == []


def test_only_who_is_asked_acts_and_legally():
    game = cost_sharing()
    start, split = game.start(seat_dice(0, 0)), (40, 30, 30)
    cases = [({"actions": actions}, "") for actions in ({}, {1: split}, {0: "Player 1"}, {0: split, 1: split})]
    assert unrefused(lambda actions: game.step(start, actions), cases, IllegalAction) == []
