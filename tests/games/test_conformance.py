"""What every game of conf/game must do, whatever it is: end, pay every seat, be reproducible, and keep its rules."""

import json
from pathlib import Path

import pytest
from harness import GAMES, anything_or_void, play_out

from agon import ROOT
from agon.agents import seat_dice

GOLDEN = ROOT / "tests" / "golden"
every_game = pytest.mark.parametrize("name", GAMES)


def transcript(name):
    """A match of random actions, some of them void, as plain data."""
    steps = play_out(GAMES[name], seat_dice(7, 0), anything_or_void)
    return {"rules": GAMES[name].rules, "steps": [[list(chosen.values()), list(payoffs)] for chosen, payoffs in steps]}


def test_every_file_of_conf_game_is_played_here():
    assert {path.stem for path in (ROOT / "conf/game").glob("*.yaml")} == GAMES.keys()


@every_game
@pytest.mark.parametrize("seed", range(5))
def test_a_game_ends_and_pays_every_seat_in_every_step(name, seed):
    steps = play_out(GAMES[name], seat_dice(seed, 0))
    assert 0 < len(steps) < 10_000 and all(len(payoffs) == GAMES[name].seats for _, payoffs in steps)


@every_game
def test_the_same_dice_give_the_same_match(name):
    assert play_out(GAMES[name], seat_dice(3, 0)) == play_out(GAMES[name], seat_dice(3, 0))


@every_game
def test_other_dice_give_another_match(name):
    assert play_out(GAMES[name], seat_dice(3, 0)) != play_out(GAMES[name], seat_dice(4, 0))


@every_game
def test_every_legal_action_is_as_json_says(name):
    game = GAMES[name]
    space = game.legal_actions(game.start(seat_dice(0, -1)), 0)
    assert json.loads(json.dumps(space.as_json())) == {"choice": list(space.options)}
    assert all(option in space for option in space.options) and "anything else" not in space


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


def _write(path: Path, found) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = ",\n  ".join(json.dumps(step) for step in found["steps"])
    path.write_text(f'{{"rules": {found["rules"]}, "steps": [\n  {lines}\n]}}\n')
