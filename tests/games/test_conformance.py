"""What every game of conf/game must do, whatever it is: end, pay every seat, be reproducible, and keep its rules."""

import json
import pickle
import re
from pathlib import Path

import pytest
from harness import GAMES, WITHOUT_LOGS, anything_or_void, at_the_table, play_out, seated
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import BUILT, any_legal, any_or_void, family
from tradecraft_games import tradecraft

from agon import ROOT
from agon.agents import seat_dice
from agon.agents.llm import LLM
from agon.agents.prompts import prompts, template_of
from agon.agents.scripts import reference
from agon.conf import expand_settings, load
from agon.games import Choice, IllegalAction
from agon.games.base import PUBLIC
from agon.games.rating.logs import logs
from agon.games.reading import read
from agon.games.tables import games_table, payoff_table, seat_table
from agon.loop import start_match
from agon.models.standin import StandIn
from agon.play import turns_table
from agon.replay import replay_in

GOLDEN = ROOT / "tests" / "golden"
SETTLED = {name: next(iter(family(name).values())) for name in BUILT}
"""Of games that have many settings, the first."""
LOGS = {name: logs("tests/smoke/logs", full=full)[0] for name, full in (("rating", False), ("rating_full", True))}
KNOWN = GAMES | SETTLED | LOGS | {"tradecraft": tradecraft()}
FILES = {path.stem: path for path in sorted((ROOT / "conf/game").glob("*.yaml")) if path.stem not in WITHOUT_LOGS}


def others():
    """Of every other family in conf/game the first game: a reader's own, dropped in, is tested like all."""
    families = {game.name for game in KNOWN.values()}
    for name in FILES:
        game = load("game", expand_settings([name])[0])
        if game.name not in families:
            families.add(game.name)
            yield name, game


ALL = KNOWN | dict(others())
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


def test_a_game_ends_and_pays_every_seat_in_every_step():
    for name, game in ALL.items():
        for seed in range(5):
            steps = play_out(game, seat_dice(seed, 0), any_legal)
            assert 0 < len(steps) < 10_000 and all(len(payoffs) == game.seats for _, payoffs in steps), name


def test_a_match_depends_on_its_dice_and_a_copy_plays_the_same():
    for name, game in ALL.items():
        copy = pickle.loads(pickle.dumps(game))
        steps = play_out(game, seat_dice(3, 0), answer)
        assert copy == game and hash(copy) == hash(game), name
        assert steps == play_out(game, seat_dice(3, 0), answer) == play_out(copy, seat_dice(3, 0), answer), name
        assert steps != play_out(game, seat_dice(4, 0), answer), name


def test_spaces_are_plain_data_and_views_are_hashable():
    for name, game in ALL.items():

        def check(view, dice, name=name, game=game):
            action = view.legal.example(dice)
            assert _plain(view.legal.as_json()) == view.legal.as_json() and _plain(action) in view.legal, name
            assert None not in view.legal and {} not in view.legal, name
            assert isinstance(hash(view.rules), int) and view.rules.name == game.name, name
            assert isinstance(hash(view.past), int) and view.seat in range(game.seats), name
            assert 1 <= view.round <= (game.max_rounds or view.round), name
            return action

        play_out(game, seat_dice(2, 0), check)


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


# --- what others ask of any game


def test_it_says_of_itself_what_others_ask():
    for name, game in ALL.items():
        assert len(game.players) == game.seats and len(game.roles) in (0, game.seats), name
        assert set(game.tested) <= set(range(game.seats)) and type(game.independent) is bool, name
        seats = seat_table(games_table([game]))
        assert list(seats.seat) == list(range(game.seats)) and seats.game.eq(game.name).all(), name
        assert payoff_table(games_table([game])).empty == (game.normal_form is None), name
        rounds = len(play_out(game, seat_dice(1, 0), any_legal))
        assert game.fixed_rounds in (None, rounds), name


def test_nobody_is_shown_what_is_kept_from_them():
    for name, game in ALL.items():
        match, (state, views, _), _ = start_match(game, 2)
        while views:
            for view in [*views.values(), game.watch(state)]:
                assert not [word for word in game.secrets(view.seat) if _said(word, view)], name
            assert game.watch(state).seat == PUBLIC and game.watch(state).legal is None, name
            state, views, _ = match.send({seat: any_legal(view, seat_dice(2, seat)) for seat, view in views.items()})


def _said(word, view):
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", repr((view.past, view.role)), re.IGNORECASE)


@every_game
def test_models_are_told_its_rules_and_an_answer_is_read_as_it_is_written(name):
    def check(view, dice):
        texts = prompts(template_of(view.rules), "zs")
        assert "\n# " in texts.system(view) and texts.turn(view, 0).strip()
        action = reference_or_any(view, dice)
        read_back = read(f"[move] {view.legal.format(action)}", view.legal).action
        assert read_back is not None and view.legal.format(read_back) == view.legal.format(action)
        assert texts.again("it is empty", view).strip() and read("", view.legal).action is None
        return action

    play_out(ALL[name], seat_dice(2, 0), check)


@every_game
def test_a_stand_in_plays_it_and_the_records_are_replayed(name):
    game = ALL[name]
    model = StandIn(model="x", policy=reference_or_any)
    match = seated(*[LLM] * game.seats, game=game)
    turns = turns_table([(match, at_the_table(match, *[model] * game.seats, live=True))])
    assert turns.valid.all() and turns.match.nunique() == 1
    assert set(turns[turns.legal.notna()].seat) <= set(range(game.seats))
    assert len(replay_in(game, turns.assign(match="0")).steps) == turns.turn.nunique()


def reference_or_any(view, dice):
    """The family's reference player where there is one."""
    try:
        return reference(view, dice)
    except ValueError:
        return any_legal(view, dice)


def test_random_players_finish_every_setting():
    games = [game for name in SETTLED for game in family(name).values()]
    assert len(games) > 100 and all(play_out(game, seat_dice(5, 0), answer) for game in games)


@every_game
def test_the_same_actions_lead_where_they_always_led(name):
    path = GOLDEN / f"{name}.json"
    if not path.exists() and name in KNOWN:
        _write(path, transcript(name))
        pytest.fail(f"{path.name} was not there and is now written: read it, commit it, and run this again")
    if not path.exists():
        pytest.skip(f"no tests/golden/{name}.json: what this game leads to is not pinned yet")
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
