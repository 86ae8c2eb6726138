"""What every game of conf/game must do, whatever it is: end, pay every seat, be reproducible, and keep its rules."""

import json
import pickle
from pathlib import Path

import pytest
from harness import GAMES, anything_or_void, play_out
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import BUILT, any_legal, any_or_void, family
from tradecraft_games import tradecraft

from agon import ROOT
from agon.agents import seat_dice
from agon.conf import expand_settings, load
from agon.games import Choice, IllegalAction
from agon.games.rating.annotations import logs

GOLDEN = ROOT / "tests" / "golden"
SETTLED = {name: next(iter(family(name).values())) for name in BUILT}
"""Of games that have many settings, the first."""
LOGS = {name: logs("tests/smoke/logs", full=full)[0] for name, full in (("rating", False), ("rating_full", True))}
ALL = GAMES | SETTLED | LOGS | {"tradecraft": tradecraft()}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
every_game = pytest.mark.parametrize("name", ALL)


def answer(view, dice):
    """A strategy: any legal action, or none; where only options are offered, none is as likely as each of them."""
    return (anything_or_void if type(view.legal) is Choice and view.phase == "move" else any_or_void)(view, dice)


def transcript(name):
    """A match of random actions, some of them void, as plain data."""
    steps = play_out(ALL[name], seat_dice(7, 0), answer)
    return {
        "rules": ALL[name].rules,
        "steps": [[_plain(list(chosen.values())), list(payoffs)] for chosen, payoffs in steps],
    }


def test_every_family_of_conf_game_is_played_here():
    files = [path.stem for path in (ROOT / "conf/game").glob("*.yaml")]
    families = {load("game", expand_settings([file])[0]).name for file in files}
    assert families == {game.name for game in ALL.values()}


@every_game
@pytest.mark.parametrize("seed", range(5))
def test_a_game_ends_and_pays_every_seat_in_every_step(name, seed):
    steps = play_out(ALL[name], seat_dice(seed, 0), any_legal)
    assert 0 < len(steps) < 10_000 and all(len(payoffs) == ALL[name].seats for _, payoffs in steps)


@every_game
def test_the_same_dice_give_the_same_match(name):
    assert play_out(ALL[name], seat_dice(3, 0), answer) == play_out(ALL[name], seat_dice(3, 0), answer)


@every_game
def test_other_dice_give_another_match(name):
    assert play_out(ALL[name], seat_dice(3, 0), answer) != play_out(ALL[name], seat_dice(4, 0), answer)


@every_game
def test_every_space_is_as_json_and_holds_what_it_draws(name):
    def check(view, dice):
        action = view.legal.example(dice)
        assert _plain(view.legal.as_json()) == view.legal.as_json() and _plain(action) in view.legal
        assert None not in view.legal and {} not in view.legal
        return action

    play_out(ALL[name], seat_dice(2, 0), check)


@every_game
def test_views_and_rules_can_be_looked_up_and_say_who_is_asked(name):
    def check(view, dice):
        assert hash(view.rules) == hash(view.rules) and view.rules.name == ALL[name].name
        assert hash(view.past) is not None and view.seat in range(ALL[name].seats) and view.round >= 1
        return any_legal(view, dice)

    play_out(ALL[name], seat_dice(2, 0), check)


@every_game
def test_a_copy_is_equal_and_plays_the_same(name):
    copy = pickle.loads(pickle.dumps(ALL[name]))
    assert copy == ALL[name] and hash(copy) == hash(ALL[name])
    assert play_out(copy, seat_dice(6, 0), answer) == play_out(ALL[name], seat_dice(6, 0), answer)


@every_game
@settings(max_examples=25, deadline=None)
@given(action=json_values)
def test_any_json_value_is_played_or_refused(name, action):
    game = ALL[name]
    state = game.start(seat_dice(0, -1))
    asked = game.to_move(state)
    legal = action is None or all(action in game.legal_actions(state, seat) for seat in asked)
    try:
        game.step(state, dict.fromkeys(asked, action))
    except IllegalAction:
        assert not legal
    else:
        assert legal


@pytest.mark.parametrize("name", SETTLED)
def test_random_players_finish_every_setting(name):
    for game in family(name).values():
        assert play_out(game, seat_dice(5, 0), answer)


@every_game
def test_the_same_actions_lead_where_they_always_led(name):
    path = GOLDEN / f"{name}.json"
    if not path.exists():
        _write(path, transcript(name))
        pytest.fail(f"{path.name} was not there and is now written: read it, commit it, and run this again")
    known, found = json.loads(path.read_text()), transcript(name)
    assert found["rules"] == known["rules"], f"`rules` has changed: delete tests/golden/{name}.json and run this twice"
    assert found == known, (
        f"the same actions now lead elsewhere. If that is meant, raise `rules` in conf/game/{name}.yaml (so that old "
        f"matches are not reused), delete tests/golden/{name}.json and run this twice; if not, the change is a mistake"
    )


def _plain(value):
    return json.loads(json.dumps(value))


def _write(path: Path, found) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = ",\n  ".join(json.dumps(step) for step in found["steps"])
    path.write_text(f'{{"rules": {found["rules"]}, "steps": [\n  {lines}\n]}}\n')
