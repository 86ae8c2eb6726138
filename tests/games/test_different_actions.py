"""Normal-form games whose players have different actions: declared, told, played, solved, measured and twinned."""

import json
from fractions import Fraction

import pytest
from refusals import unrefused
from unlike_actions import GAME, PAYOFF, SETS, SETTINGS

from agon import AgonError
from agon.agents.llm import LLM
from agon.agents.scripts import reference
from agon.games import IllegalAction
from agon.games.equilibria import best_replies, equilibria
from agon.games.html import as_text
from agon.games.matrix import MatrixGame, scripts
from agon.games.matrix.metrics import per_match
from agon.games.pages import Scene, board_of
from agon.games.tables import PayoffTable, equilibrium_table, games_table, payoff_table
from agon.plan import Match, Seat
from agon.plan.symmetry import difference
from agon.play import play_now, turns_table
from agon.replay import games_of

START = GAME.start(None)
THREE = MatrixGame("three", "x", (*SETS, ("go", "stay")), [[[[1, 2, 3]] * 2] * 3] * 2, 2)


def turns_of(*pair):
    match = Match("test", f"{1:016x}", 1, GAME, tuple(Seat(script.__name__, script) for script in pair), 0, "c")
    return turns_table([(match, play_now(match))])


def test_a_conf_file_lists_the_actions_of_each_player():
    assert (GAME.seats, GAME.action_sets, GAME.options) == (2, SETS, SETS)
    assert [GAME.legal_actions(START, seat).options for seat in (0, 1)] == [*SETS]
    assert GAME.payoffs(("down", "right")) == (0, 5)


def test_the_same_list_for_all_is_one_list():
    once, twice = (MatrixGame("g", "v", options, [[[1, 1]] * 2] * 2, 1) for options in (("a", "b"), (("a", "b"),) * 2))
    assert once == twice and hash(once) == hash(twice) and twice.options == ("a", "b")


def test_lists_that_do_not_fit_the_payoffs_are_named():
    def game(options):
        return MatrixGame("g", "v", options, PAYOFF, 1)

    cases = [
        ({"options": (*SETS, ("a",))}, "options are lists for 3 players, and payoff is for 2"),
        ({"options": SETS[::-1]}, "each of the 3 x 2 action profiles; its shape does not fit"),
        ({"options": (("up", "up"), SETS[1])}, "must be distinct labels"),
        ({"options": ("up", SETS[1])}, "must be distinct labels"),
        ({"options": ((), SETS[1])}, "must be distinct labels"),
    ]
    assert unrefused(game, cases) == [] and game(SETS)


def test_an_action_of_the_other_player_is_illegal():
    with pytest.raises(IllegalAction, match="seat 0 may not play 'left' in cut: only up, down"):
        GAME.step(START, {0: "left", 1: "left"})


@pytest.mark.parametrize("prompts", ["ours", "as_printed", "as_played"])
def test_each_player_is_told_both_lists_from_its_side(prompts):
    word = "action" if prompts == "ours" else "move"
    for seat, (own, other) in enumerate((SETS, SETS[::-1])):
        said = LLM.texts(GAME, prompts=prompts).system(GAME.observe(START, seat))
        assert f"Your {word}s are: {', '.join(own)}. The {word}s of the other player are: {', '.join(other)}." in said
    assert "if you choose right and the other player chooses down, you get 5 and the other player gets 0" in said


def test_of_several_others_the_lists_come_in_the_order_of_names():
    said = LLM.texts(THREE).system(THREE.observe(THREE.start(None), 1))
    assert "in the order in which they are always named, are: up, down; then go, stay." in said


def test_the_page_has_a_row_for_each_own_action():
    shown = [as_text(board_of(Scene(GAME.observe(START, seat)))["payoffs"]) for seat in (0, 1)]
    assert "you play down | you 1, the other 1 | you 4, the other 2 | you 0, the other 5" in shown[0]
    assert "you play right | you 2, the other 2 | you 5, the other 0" in shown[1]


def test_the_solver_finds_the_equilibrium():
    mixed_game = MatrixGame("g", "v", SETS, [[[2, 0], [0, 2], [0, 0]], [[0, 2], [2, 0], [0, 0]]], 1)
    half = Fraction(1, 2)
    assert equilibria(mixed_game).profiles == (((half, half), (half, half, 0)),)
    assert equilibria(GAME).profiles == (((1, 0), (0, 0, 1)),)
    assert best_replies(GAME, 1, ((0, 1), ())) == ("right",) and best_replies(GAME, 0, ((), (0, 1, 0))) == ("down",)


def test_scripts_reply_with_their_own_actions():
    past = ((("up", "middle"),), (("middle", "up"),))
    views = [GAME.observe(past, seat) for seat in (0, 1)]
    for script in (scripts.best_reply_to_last, scripts.best_reply_to_most_frequent):
        assert [script(view, None) for view in views] == ["down", "right"], script
    assert [reference(view, None) for view in views] == ["up", "right"]


@pytest.mark.parametrize("name", ["tit_for_tat", "tit_for_two_tats", "grim", "win_stay_lose_shift"])
def test_a_script_that_copies_the_other_says_that_it_cannot(name):
    with pytest.raises(ValueError, match="the players have different actions: this script needs the same for all"):
        getattr(scripts, name)(GAME.observe(START, 0), None)


def test_a_match_is_played_measured_and_paid():
    turns = turns_of(scripts.best_reply_to_last, scripts.favourite_equilibrium)
    games = games_table([GAME], [SETTINGS])
    assert set(turns.legal) == {json.dumps({"choice": list(own)}) for own in SETS}
    measured = per_match(turns, payoff_table(games), equilibrium_table(games), seats=(0, 1)).set_index("seat")
    assert measured.total_points.tolist() == turns.groupby("seat").payoff.sum().tolist()
    assert measured.distance_to_equilibrium[1] == 0 and measured.cooperation_rate.isna().all()
    assert measured.distance_to_uniform[1] == pytest.approx(2 / 3)


def test_the_games_beside_turns_have_all_lists():
    games = games_table([GAME], [SETTINGS])
    row = next(games.itertuples())
    assert [list(row.options), row.payoffs[-1]] == [[], [0, 5]]
    assert [fact["actions"] for fact in json.loads(row.facts)] == [[*own] for own in SETS]
    form = PayoffTable.of(row)
    assert form.action_sets == SETS and form.payoffs(("down", "middle")) == (4, 2)
    assert games_of(games) == [GAME]


def test_what_needs_the_same_actions_for_all_says_so():
    refusals = [
        (lambda: scripts.one_shot_equilibrium(GAME.observe(START, 0), None), "is not symmetric"),
        (lambda: scripts.extort_2(GAME.observe(START, 0), None), "needs two players with the same two actions"),
    ]
    for call, said in refusals:
        with pytest.raises((AgonError, ValueError), match=said):
            call()


def test_the_seats_differ():
    assert difference(GAME) == "the players have different actions"
