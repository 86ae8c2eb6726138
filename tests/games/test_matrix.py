"""Normal-form games: the specification's numbers, the transforms, and the rules that hold for every payoff table."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError
from itertools import product
from math import inf

import pytest
from harness import GAMES, PD, RPS, STAG, actions, anything_or_void, play_out, small
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import unrefused

from agon.agents import seat_dice
from agon.games import IllegalAction
from agon.games.matrix import MatrixGame, joint, relabel, repay
from agon.games.tables import games_table, payoff_table

DILEMMA = (4, 4), (1, 6), (6, 1), (2, 2)
HUNT = (6, 6), (1, 4), (4, 1), (2, 2)
STAGS = {"cooperation": "stag", "defection": "hare"}
HUNT_TABLE = [[[6, 6], [1, 4]], [[4, 1], [2, 2]]]
NINE = ["RR", "RP", "RS", "PR", "PP", "PS", "SR", "SP", "SS"]
KINDS, STAG_KINDS = ["CC", "CD", "DC", "DD"], ["SS", "SH", "HS", "HH"]
FIRST_EARNS = {
    "rps": (0, -1, 1, 1, 0, -1, -1, 1, 0),
    "rps_label": (0, 1, -1, -1, 0, 1, 1, -1, 0),
    "rps_payoff": (0, -3, 1, 3, 0, -1, -1, 1, 0),
    "rps_joint": (0, 3, -1, -3, 0, 1, 1, -1, 0),
}
SPECIFIED = {
    "pd": dict(zip(KINDS, DILEMMA, strict=True)),
    "pd_label": dict(zip(STAG_KINDS, DILEMMA, strict=True)),
    "pd_payoff": dict(zip(KINDS, HUNT, strict=True)),
    "pd_joint": dict(zip(STAG_KINDS, HUNT, strict=True)),
} | {name: {pair: (n, -n) for pair, n in zip(NINE, earned, strict=True)} for name, earned in FIRST_EARNS.items()}


# --- the eight games of the counterfactual paper


def test_the_eight_variants_are_all_there():
    assert SPECIFIED.keys() <= GAMES.keys()


def test_payoffs_are_those_of_the_specification():
    for name, pays in SPECIFIED.items():
        game = GAMES[name]
        assert {pair: game.payoffs(actions(pair, game)) for pair in pays} == pays, name


def test_a_match_has_the_rounds_of_its_family():
    assert {(GAMES[name].name, GAMES[name].rounds) for name in SPECIFIED} == {("pd", 16), ("rps", 24)}


def test_a_match_of_the_dilemma_pays_between_16_and_96():
    totals = [16 * payoff for pair in SPECIFIED["pd"].values() for payoff in pair]
    assert (min(totals), max(totals)) == (16, 96)


# --- transforms


def test_relabel_changes_words_only():
    other = relabel(PD, STAGS)
    assert (other.options, other.payoff, other.variant) == (("stag", "hare"), PD.payoff, "label")


def test_repay_changes_incentives_only():
    other = repay(PD, HUNT_TABLE)
    assert (other.options, other.payoffs(("cooperation",) * 2), other.variant) == (PD.options, (6, 6), "payoff")


def test_joint_changes_both():
    assert joint(PD, STAGS, HUNT_TABLE) == GAMES["pd_joint"]


def test_a_relabelled_game_pays_the_relabelled_profile_the_same():
    swap = {"rock": "paper", "paper": "rock", "scissors": "scissors"}
    other = relabel(RPS, swap)
    profiles = product(RPS.options, repeat=2)
    assert all(other.payoffs([swap[label] for label in profile]) == RPS.payoffs(profile) for profile in profiles)


def test_relabelling_back_gives_the_first_game():
    assert relabel(relabel(PD, STAGS), {new: old for old, new in STAGS.items()}, PD.variant) == PD


def test_relabel_takes_a_word_of_its_own_for_every_action():
    partial = [{"cooperation": "stag"}, STAGS | {"third": "fox"}, {"c": "stag", "d": "hare"}]
    cases = [({"labels": labels}, "must name every action of pd") for labels in partial]
    cases += [({"labels": dict.fromkeys(PD.options, "stag")}, "must be distinct")]
    assert unrefused(lambda labels: relabel(PD, labels), cases) == []


def test_repay_keeps_the_number_of_seats():
    with pytest.raises(ValueError, match="has 2 seats, the new payoff table 1"):
        repay(PD, [[1], [2]])


# --- what is refused


def first_step(actions):
    return PD.step(PD.start(seat_dice(0, -1)), actions)


def test_an_illegal_action_names_the_seat_the_action_and_the_legal_ones():
    illegal = ["stag", "Cooperation", "", 0, True, ["cooperation"], {"a": 1}]
    message = r"seat 1 may not play .* only cooperation, defection"
    cases = [({"actions": {0: "defection", 1: action}}, message) for action in illegal]
    assert unrefused(first_step, cases, IllegalAction) == []


def test_every_seat_and_no_other_must_act():
    message = r"acted; to move: \[0, 1\]"
    cases = [({"actions": dict.fromkeys(seats, "defection")}, message) for seats in ((), (0,), (1,), (0, 1, 2), (0, 2))]
    assert unrefused(first_step, cases, IllegalAction) == []


def test_nobody_acts_after_the_end():
    game = small([[5]], rounds=1)
    over, _ = game.step(game.start(seat_dice(0, -1)), {0: "a"})
    with pytest.raises(IllegalAction, match=r"to move: \[\]"):
        game.step(over, {0: "a"})


BAD_SHAPES = {
    "empty": [],
    "a number": 3,
    "no seats": [1, 2],
    "ragged": [[[1, 1], [2, 2]], [[3, 3]]],
    "one number too few": [[[1, 1], [2, 2]], [[3, 3], [4]]],
    "a third action": [[[1, 1]] * 3] * 3,
}


def test_a_game_that_cannot_be_says_why():
    def game(options=("a", "b"), payoff=([[1, 1], [1, 1]],) * 2, rounds=1):
        return MatrixGame("g", "v", options, payoff, rounds)

    cases = [({"payoff": payoff}, "its shape does not fit") for payoff in BAD_SHAPES.values()]
    cases += [({"options": labels}, "must be distinct labels") for labels in (("a", "a"), (), (1, 2), (True, False))]
    cases += [({"rounds": rounds}, "it must be a whole number, 1 at least") for rounds in (0, -1)]
    assert unrefused(game, cases) == [] and game()


# --- a game is a value


def test_payoffs_may_be_fractions():
    """As Gambit writes them in its files."""
    game = MatrixGame("mine", "x", ("A", "B"), [[["1/3", "-1/2"], [0, "10/5"]], [[" 5 / 4 ", "+0/7"], [1, 1e0]]], 2)
    assert game.payoff == (((1 / 3, -0.5), (0, 2)), ((1.25, 0), (1, 1.0)))
    assert game == MatrixGame("mine", "x", ("A", "B"), [[[1 / 3, -0.5], [0, 2]], [[1.25, 0], [1, 1]]], 2)


@pytest.mark.parametrize(
    "value", ["1/0", "a third", "1/3/4", "0x1/3", "1/-3", "⅓", "", "1e9/2", "1,5", None, True, inf, {"a": 1}]
)
def test_a_payoff_that_is_no_number_is_named(value):
    held = f"the text {value!r}" if isinstance(value, str) else repr(value)
    with pytest.raises(ValueError, match=re.escape(f"payoff holds {held}: write numbers")):
        MatrixGame("mine", "x", ("A", "B"), [[[1, value], [0, 1]], [[1, 1], [1, 1]]], 2)


def test_a_game_is_frozen():
    with pytest.raises(FrozenInstanceError):
        PD.rounds = 3


def test_later_changes_to_the_lists_it_was_built_from_do_not_reach_a_game():
    table = [[1], [2]]
    game = small(table)
    table[0][0] = 9
    assert game.payoffs(["a"]) == (1,)


def test_copies_are_equal_have_one_hash_and_play_on():
    for again in (copy.copy(PD), copy.deepcopy(PD), pickle.loads(pickle.dumps(PD))):
        assert again == PD and hash(again) == hash(PD) and again.payoffs(PD.options) == (1, 6)


def test_games_that_differ_in_anything_are_not_equal():
    assert len({PD, STAG, GAMES["pd_label"], MatrixGame("pd", "default", PD.options, PD.payoff, 15)}) == 4


def test_payoff_tables_are_the_table_in_long_form():
    assert payoff_table(games_table([small([[[1, 2]]])])).to_dict("records") == [
        {"game": "small", "variant": "test", "seat": 0, "action": "a", "others": "a", "payoff": 1},
        {"game": "small", "variant": "test", "seat": 1, "action": "a", "others": "a", "payoff": 2},
    ]


# --- every normal-form game


def tables(seats, count):
    table = st.lists(st.integers(-9, 9), min_size=seats, max_size=seats)
    for _ in range(seats):
        table = st.lists(table, min_size=count, max_size=count)
    return table


any_game = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda n: tables(n[0], n[1]).map(lambda table: small(table, rounds=n[2]))
)
any_dice = st.integers(0, 2**32).map(lambda seed: seat_dice(seed, 0))


def cell(game, profile):
    """The payoff table's own entry."""
    found = game.payoff
    for action in profile:
        found = found[game.options.index(action)]
    return found


def states(game, steps):
    """Every state that the actions of `steps` lead to, the first included."""
    found = [game.start(seat_dice(0, -1))]
    for chosen, _ in steps:
        found.append(game.step(found[-1], chosen)[0])
    return found


@settings(max_examples=40, deadline=None)
@given(any_game, any_dice)
def test_every_game_ends_after_its_rounds(game, dice):
    assert len(play_out(game, dice, anything_or_void)) == game.rounds


@settings(max_examples=40, deadline=None)
@given(any_game, any_dice)
def test_every_game_pays_what_its_table_says_and_0_when_an_action_is_void(game, dice):
    for chosen, payoffs in play_out(game, dice, anything_or_void):
        profile = tuple(chosen.values())
        assert payoffs == ((0,) * game.seats if None in profile else cell(game, profile))


@settings(max_examples=40, deadline=None)
@given(any_game, any_dice)
def test_the_same_actions_lead_to_the_same_states(game, dice):
    steps = play_out(game, dice, anything_or_void)
    again = pickle.loads(pickle.dumps(game))
    assert states(game, steps) == states(again, steps)


@settings(max_examples=40, deadline=None)
@given(any_game, any_dice)
def test_a_seat_sees_all_finished_rounds_own_action_first_and_no_other(game, dice):
    steps = play_out(game, dice, anything_or_void)
    for number, state in enumerate(states(game, steps)):
        for seat in range(game.seats):
            view = game.observe(state, seat)
            rounds = [tuple(chosen.values()) for chosen, _ in steps[:number]]
            assert (view.seat, view.round, view.rules) == (seat, number + 1, game)
            assert view.past == tuple((past[seat], *past[:seat], *past[seat + 1 :]) for past in rounds)


@settings(max_examples=40, deadline=None)
@given(any_game, any_dice)
def test_a_step_leaves_the_state_it_started_from_as_it_was(game, dice):
    steps = play_out(game, dice)
    first = game.start(dice)
    game.step(first, steps[0][0])
    assert first == ((),) * game.seats
