"""Each strategy against moves written out by hand; "-" is a void round."""

from collections import Counter
from dataclasses import dataclass
from functools import partial

import pytest
from harness import GAMES, PD, RPS, STAG, Fed, moves, seen, small

from agon.agents import seat_dice
from agon.conf import CONF, describe_file, load, names, renaming_notes, settings_of
from agon.games.matrix import MatrixGame
from agon.games.matrix.scripts import (
    _extortionate,
    _generous,
    alternator,
    always,
    best_reply_to_last,
    best_reply_to_most_frequent,
    cycle,
    dilemma_payoffs,
    extort_2,
    generous_tit_for_tat,
    grim,
    memory_one,
    one_shot_equilibrium,
    random_mix,
    tit_for_tat,
    tit_for_two_tats,
    win_stay_lose_shift,
)
from agon.paths import read_text_file

CLASSIC = small([[[3, 3], [0, 5]], [[5, 0], [1, 1]]], "CD", 16)  # Axelrod's payoffs
ORDERS = [["defection", "cooperation"], ["hare", "stag"], ["scissors", "rock", "paper"]]
low, high = partial(Fed, 0.0), partial(Fed, 0.999)


# --- the counterfactual paper's


def test_one_shot_equilibrium_always_defects_in_the_dilemma():
    assert moves(one_shot_equilibrium, against="CDDCCC", dice=Fed()) == "DDDDDD"


def test_one_shot_equilibrium_hunts_the_stag_one_time_in_three():
    assert moves(one_shot_equilibrium, against="CCCC", game=STAG, dice=Fed(0.3, 0.34, 0.99, 0.0)) == "CDDC"


def test_one_shot_equilibrium_is_uniform_in_rock_paper_scissors():
    assert moves(one_shot_equilibrium, against="RRRR", game=RPS, dice=Fed(0.32, 0.34, 0.65, 0.68)) == "RPPS"


def test_one_shot_equilibrium_prefers_scissors_where_paper_beats_by_three():
    thrown = Fed(0.19, 0.21, 0.39, 0.41, 0.99)
    assert moves(one_shot_equilibrium, against="RRRRR", game=GAMES["rps_payoff"], dice=thrown) == "RPPSS"


def test_cycle_repeats_its_order_whatever_the_other_does():
    assert moves(partial(cycle, orders=ORDERS), against="CDDC-C") == "DCDCDC"


def test_cycle_takes_the_order_that_fits_the_game():
    assert moves(partial(cycle, orders=ORDERS), against="RRRR", game=RPS) == "SRPS"


def test_cycle_stands_still_in_rounds_in_which_its_own_action_was_void():
    answers = [cycle(seen(own, "RRR", RPS), Fed(), ORDERS) for own in ("SRP", "S-P", "-S-")]
    assert answers == ["scissors", "paper", "rock"]


def test_cycle_says_when_no_order_fits():
    with pytest.raises(ValueError, match="none of the orders"):
        moves(partial(cycle, orders=ORDERS[:2]), against="R", game=RPS)


def test_best_reply_to_last_beats_the_last_action():
    assert moves(best_reply_to_last, against="RPSS", game=RPS, dice=low()) == "RPSR"


def test_best_reply_to_last_always_defects_under_the_dilemmas_payoffs():
    assert moves(best_reply_to_last, against="CDCC", dice=low()) == "CDDD"


def test_best_reply_to_last_answers_in_kind_under_stag_hunt_payoffs():
    assert moves(best_reply_to_last, against="CDCC", game=STAG, dice=high()) == "DCDC"


def test_best_reply_to_last_is_random_at_first():
    assert [moves(best_reply_to_last, "R", RPS, Fed(thrown)) for thrown in (0.0, 0.5, 0.9)] == ["R", "P", "S"]


def test_best_reply_to_last_takes_the_first_action_after_a_void_one():
    assert moves(best_reply_to_last, against="R-RR", game=RPS, dice=Fed(0.5)) == "PPRP"


def test_best_reply_to_most_frequent_beats_the_most_frequent_action():
    assert moves(best_reply_to_most_frequent, against="SSRRRP", game=RPS, dice=low()) == "RRRRPP"


def test_best_reply_to_most_frequent_takes_the_earlier_of_equals():
    assert moves(best_reply_to_most_frequent, against="SPRS", game=RPS, dice=low()) == "RRSP"


def test_best_reply_to_most_frequent_skips_void_actions():
    assert moves(best_reply_to_most_frequent, against="-S-RR-", game=RPS, dice=Fed(0.0, 0.4)) == "RPRRPP"


# --- Axelrod's


def test_tit_for_tat_answers_in_kind():
    assert moves(tit_for_tat, against="CDDC") == "CCDD"


def test_tit_for_tat_is_kind_after_a_void_action():
    assert moves(tit_for_tat, against="D-DC") == "CDCD"


def test_tit_for_tat_copies_any_action():
    assert moves(tit_for_tat, against="PSRR", game=RPS) == "RPSR"


def test_tit_for_two_tats_wants_two_in_a_row():
    assert moves(tit_for_two_tats, against="DCDDDCC") == "CCCCDDC"


def test_a_void_action_breaks_a_row_of_two_tats():
    assert moves(tit_for_two_tats, against="D-DDC") == "CCCCD"


def test_grim_never_forgives():
    assert moves(grim, against="CCDCCC") == "CCCDDD"


def test_grim_takes_no_offence_at_a_void_action():
    assert moves(grim, against="C-CDC") == "CCCCD"


@pytest.mark.parametrize(("position", "answers"), [(0, "RRRR"), (1, "PPPP"), (2, "SSSS")])
def test_always_is_always_the_same(position, answers):
    assert moves(partial(always, position=position), against="RP-S", game=RPS) == answers


def test_alternator_counts_every_round():
    assert moves(alternator, against="DD-CC") == "CDCDC"


def test_random_mix_is_uniform_where_nothing_is_said():
    assert moves(random_mix, against="RRRRR", game=RPS, dice=Fed(0.0, 0.33, 0.34, 0.67, 0.999)) == "RRPSS"


def test_random_mix_keeps_to_its_weights():
    assert moves(partial(random_mix, weights=[0.2, 0, 0.8]), "RRRR", RPS, Fed(0.1, 0.19, 0.2, 0.9)) == "RRSS"


def test_what_is_certain_throws_no_dice():
    assert moves(partial(random_mix, weights=[0, 1, 0]), against="RRR", game=RPS, dice=Fed()) == "PPP"


def test_random_mix_takes_each_action_as_often_as_it_should():
    throws, dice = 30_000, seat_dice(5, 0)
    counts = Counter(random_mix(seen("", "", RPS), dice, (0.5, 0.3, 0.2)) for _ in range(throws))
    assert [counts[label] / throws for label in RPS.options] == pytest.approx([0.5, 0.3, 0.2], abs=0.012)


# --- memory-one


def test_win_stay_lose_shift_stays_after_kindness_and_else_changes():
    assert moves(win_stay_lose_shift, against="CDDCCD") == "CCDCCC"


def test_memory_one_looks_at_its_own_action_first():
    after = [memory_one(seen(*pair), Fed(), 0, kind) for pair, kind in zip(("CC", "CD", "DC", "DD"), FOUR, strict=True)]
    assert after == ["cooperation"] * 4


FOUR = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)


def test_memory_one_starts_with_its_first_probability():
    assert moves(partial(memory_one, first=0.5, kind=(1, 1, 1, 1)), against="C", dice=Fed(0.49)) == "C"
    assert moves(partial(memory_one, first=0.5, kind=(1, 1, 1, 1)), against="C", dice=Fed(0.5)) == "D"


def test_memory_one_takes_a_void_action_for_a_kind_one():
    assert [memory_one(seen(*pair), Fed(), 0, FOUR[0]) for pair in ("--", "C-", "-C")] == ["cooperation"] * 3


def test_generous_tit_for_tat_forgives_one_in_three_with_axelrods_payoffs():
    assert _generous(CLASSIC) == pytest.approx((1, 1 / 3, 1, 1 / 3))


def test_generous_tit_for_tat_forgives_when_the_dice_say_so():
    assert moves(generous_tit_for_tat, against="DDDCC", game=CLASSIC, dice=Fed(0.3, 0.4, 0.3)) == "CCDCC"


def test_generosity_is_a_probability_in_every_game():
    assert all(0 <= share <= 1 for game in (PD, STAG, CLASSIC) for share in _generous(game))


def test_extort_2_has_the_published_probabilities():
    assert _extortionate(CLASSIC) == pytest.approx((8 / 9, 1 / 2, 1 / 3, 0))


def test_extort_2_never_forgives_mutual_defection():
    assert moves(extort_2, against="DDDD", game=CLASSIC, dice=Fed(0.7)) == "CDDD"


def test_dilemma_payoffs_are_those_of_the_table():
    assert dilemma_payoffs(PD) == (4, 1, 6, 2)


@pytest.mark.parametrize("strategy", [generous_tit_for_tat, extort_2])
def test_strategies_of_the_dilemma_say_when_the_game_is_none(strategy):
    with pytest.raises(ValueError, match="this needs two players with the same two actions"):
        moves(strategy, against="R", game=RPS)


@pytest.mark.parametrize("strategy", [generous_tit_for_tat, extort_2])
@pytest.mark.parametrize(
    ("payoff", "why"),
    [
        ([[[1, 1], [1, 0]], [[0, 1], [0, 0]]], "the same whatever the other does|with R >= P >= S"),
        ([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]], "its seats are paid by different tables"),
    ],
)
def test_strategies_of_the_dilemma_refuse_other_payoffs(strategy, payoff, why):
    with pytest.raises(ValueError, match=why):
        moves(strategy, against="A", game=small(payoff))


THREE = MatrixGame("trio", "test", ("a", "b"), [[[[1, 1, 1]] * 2] * 2] * 2, 2)


@pytest.mark.parametrize(
    "strategy",
    [tit_for_two_tats, grim, best_reply_to_last, best_reply_to_most_frequent, win_stay_lose_shift],
)
def test_strategies_against_one_other_refuse_several(strategy):
    state, _ = THREE.step(THREE.start(None), dict.fromkeys(range(3), "a"))
    with pytest.raises(ValueError, match="trio has 3 seats: this script plays against one other"):
        strategy(THREE.observe(state, 0), low())


@pytest.mark.parametrize("weights", [[0.2, 0.3], [0.2, 0.3, 0.5], [-1, 2], []])
def test_random_mix_refuses_weights_that_are_no_probabilities(weights):
    with pytest.raises(ValueError, match="must be 2 probabilities that sum to 1"):
        moves(partial(random_mix, weights=weights), against="C", game=PD)


@pytest.mark.parametrize("position", [-1, 2])
def test_always_refuses_a_position_that_the_game_lacks(position):
    with pytest.raises(ValueError, match="the actions have the positions 0 to 1"):
        moves(partial(always, position=position), against="C", game=PD)


# --- conf/agent


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("pp", "DCDCD"),
        ("always_kind", "CCCCC"),
        ("always_unkind", "DDDDD"),
        ("grim", "CCDDD"),
        ("tit_for_tat", "CCDDC"),
    ],
)
def test_a_file_in_conf_agent_plays_what_it_says(name, answers):
    assert moves(load("agent", name), against="CDDCC") == answers


def test_mf_and_ap_are_one_strategy():
    assert load("agent", "mf").func is load("agent", "ap").func is best_reply_to_most_frequent


def test_best_reply_to_last_replies_best_and_not_in_kind():
    script = load("agent", "best_reply_to_last")
    assert moves(script, against="CDCD", dice=low())[1:] == "DDD", "defection pays most, whatever the other did"
    assert moves(script, against="RPSR", game=RPS, dice=low())[1:] == "PSR", "each beats the move before"


def test_the_papers_tft_is_best_reply_to_last_and_says_so():
    assert load("agent", "tft").func is load("agent", "best_reply_to_last").func is best_reply_to_last
    assert "not tit for tat" in renaming_notes("agent", ["tft"])[0] and "tft" not in names("agent")


@pytest.mark.parametrize("name", ["srep", "pp", "mf", "ap"])
def test_a_name_of_the_papers_says_that_it_is_one_and_what_it_does(name):
    said = describe_file("agent", name)
    assert said.startswith(f"The counterfactual paper's {name.upper()}") and len(said) > 60


def test_a_file_without_a_comment_is_described_by_its_class_and_never_by_a_signature(tmp_path, monkeypatch):
    @dataclass
    class Bare:
        heaps: int = 3

    class Told(Bare):
        """Nim with heaps. Who takes the last piece wins."""

    (tmp_path / "game").mkdir()
    (tmp_path / "game/nim.yaml").write_text("_target_: nim.Nim\n")
    said = {}
    for kind in (Bare, Told):
        monkeypatch.setattr("agon.conf.files.locate", lambda _, kind=kind: kind)
        said[kind] = describe_file("game", "nim", tmp_path)
    assert said[Bare] == "(no description: begin conf/game/nim.yaml with a comment)"
    assert said[Told] == "Nim with heaps."


@pytest.mark.parametrize("name", names("agent"))
def test_an_agent_is_called_as_its_function_or_says_what_it_does(name):
    function = settings_of("agent", name)["_target_"].rpartition(".")[2]
    assert name == function or read_text_file(CONF / f"agent/{name}.yaml").startswith("# ")
