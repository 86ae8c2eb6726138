"""PettingZoo's and Gymnasium's own suites on games as texts, and these environments against the engine and agon.play."""

import json
import warnings
from functools import partial
from importlib import import_module

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from harness import GAMES, WITHOUT_LOGS
from hypothesis import given, settings
from hypothesis import strategies as st
from magic_games import BUILT, family
from pettingzoo.test import api_test, seed_test
from tradecraft_games import Table, proposal, tradecraft

from agon import ROOT, AgonError
from agon.agents import seat_dice
from agon.agents.scripts import anything
from agon.agents.telling import CUT, in_ascii, observation_text, parse_reply, teller
from agon.conf import expand_settings, load
from agon.games import IllegalAction
from agon.games.tradecraft import Call
from agon.plan import Match, Seat
from agon.play import play_now
from agon_environments.text import REACH, single_text_env, text_env

TWO, THREE = tradecraft(turns=3), tradecraft(3, turns=2)
SEQUENTIAL = {"tradecraft": TWO, "tradecraft_3": THREE, "pd": GAMES["pd"]} | {
    name: next(iter(family(name).values())) for name in BUILT
}
every_game = pytest.mark.parametrize("game", SEQUENTIAL.values(), ids=SEQUENTIAL)
CONF = sorted((ROOT / "conf/game").glob("*.yaml"))
KNOWN = r".*(not a NumPy array|probably should be gymnasium.spaces.box)"


def said(view, dice):
    """Any legal action, as a text."""
    return view.legal.format(anything(view, dice))


def over(env, answer, seed=1):
    """A match of texts: what was observed, the totals."""
    env.reset(seed=seed)
    dice = [seat_dice(seed, seat) for seat in range(env.game.seats)]
    seen, totals = [], dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter(100_000):
        text, points, ended, cut, _ = env.last()
        totals[agent] += points
        assert env.observation_space(agent).contains(text) and not cut
        seen.append((agent, text))
        env.step(None if ended else answer(env.game.observe(env.state, env.seat), dice[env.seat]))
    return seen, tuple(totals.values())


@every_game
@pytest.mark.parametrize("cycles", [20, 400])
def test_pettingzoos_own_tests_pass(game, cycles):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", KNOWN)  # that spaces are texts is meant
        api_test(text_env(game), num_cycles=cycles)
        seed_test(lambda: text_env(game), num_cycles=cycles)


@pytest.mark.parametrize("game", [TWO, GAMES["rps"], SEQUENTIAL["undercover"]], ids=lambda game: game.name)
def test_gymnasiums_own_test_passes(game):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(single_text_env(game, 0, [anything] * (game.seats - 1)))


@every_game
def test_a_match_of_texts_is_the_match_of_the_engine(game):
    for seed in range(3):
        seats = (Seat("any", anything),) * game.seats
        played = play_now(Match("test", "0", seed, game, seats, 0, ""))
        totals = [0.0] * game.seats
        for view, points in zip(played.views, played.payoffs, strict=True):
            totals[view.seat] += points
        assert over(text_env(game), said, seed)[1] == pytest.approx(totals)


@every_game
def test_random_characters_end_every_match_and_do_nothing(game):
    env = text_env(game, attempts=2)
    space = env.action_space("seat_0")
    space.seed(3)
    _, totals = over(env, lambda view, dice: space.sample())
    assert not env.agents and (game.name != "tradecraft" or totals == (0.0,) * game.seats)


@pytest.mark.parametrize("name", [path.stem for path in CONF if path.stem not in WITHOUT_LOGS])
def test_every_game_of_conf_is_an_environment_of_texts(name):
    env = text_env(load("game", expand_settings([name])[0]), attempts=1)
    over(env, lambda view, dice: "no answer", seed=4)
    assert not env.agents


def test_a_game_of_a_reader_is_an_environment_of_texts(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests/games/stranger")
    auction = import_module("auction.game").Auction("auction", "default")
    seen, _ = over(text_env(auction), lambda view, dice: "[move] 2")
    assert seen and all("Rules" in text for _, text in seen)


def test_a_malformed_answer_is_told_counted_and_asked_again():
    env = text_env(TWO, attempts=3)
    env.reset(seed=0)
    for left, text in [("(2 more)", "I would like to trade"), ("(1 more)", '{"tool": "submit_proposal",')]:
        env.step(text)
        assert env.agent_selection == "seat_0" and env.state.phase == "propose"
        first = env.observe("seat_0").splitlines()[0]
        assert first.startswith("Your last answer could not be used: ") and left in first
    assert env.infos["seat_0"] == {"unreadable": 2}
    env.step("no")
    assert env.state.phase == "decide" and env.agent_selection == "seat_1"
    assert env.observe("seat_0").startswith("Your last answer could not be used: there is no JSON object with")
    assert "Nothing was done for you." in env.observe("seat_0") and "could not be used" not in env.observe("seat_1")


def test_a_refused_call_is_told_in_the_next_observation():
    env = text_env(TWO)
    env.reset(seed=0)
    env.step(json.dumps(proposal("Player 9", {}, {})))
    assert env.agent_selection == "seat_0" and "Refused (bad partner): partner is nobody here" in env.observe("seat_0")
    assert env.infos["seat_0"] == {"unreadable": 0}


@settings(max_examples=60, deadline=None)
@given(answer=st.one_of(st.text(), st.none(), st.integers(), st.binary(), st.lists(st.text()), st.floats()))
@pytest.mark.parametrize("name", ["tradecraft", "pd", "chameleon", "cost_sharing"])
def test_no_answer_is_an_error(name, answer):
    env = text_env(SEQUENTIAL[name])
    env.reset(seed=0)
    for _ in range(4):
        env.step(answer)
        assert env.observation_space("seat_0").contains(env.observe(env.agent_selection))


HOSTILE = [
    "\ud800",
    "\x00\x1b[31m",
    "é" * 50_000,
    "[" * 100_000,
    '{"tool": ' * 5000,
    '{"tool": "rethink", "text": 1e999}',
    "",
]


def test_hostile_answers_are_refused_and_observed_in_the_space():
    for answer in HOSTILE:
        env = text_env(TWO)
        env.reset(seed=0)
        env.step(answer)
        assert env.infos["seat_0"]["unreadable"] == 1
        assert env.observation_space("seat_0").contains(env.observe("seat_0"))


def test_what_a_seat_is_told_keeps_within_reach_whatever_is_said():
    env = text_env(tradecraft(turns=30))
    env.reset(seed=0)
    message = "🪓日" * 1000
    for turn in range(12):
        env.step(json.dumps(proposal(f"Player {2 - turn % 2}", {}, {}, message)))
        env.step('{"tool": "decide", "decision": "reject"}')
        env.step('{"tool": "craft_done"}')
        env.step('{"tool": "craft_done"}')
    text = env.observe("seat_0")
    assert env.observation_space("seat_0").contains(text) and len(text) > REACH / 2
    assert CUT in text and "# Rules" in text and "propose a trade" in text.splitlines()[-2]


def test_a_first_answer_of_simultaneous_moves_is_hidden():
    def seen_by_1(first):
        env = text_env(GAMES["pd"])
        env.reset(seed=0)
        env.step(first)
        return env.observe("seat_1")

    assert seen_by_1("cooperation") == seen_by_1("defection")


def test_a_seat_that_is_not_asked_is_told_so_and_is_shown_no_question():
    env = text_env(TWO)
    env.reset(seed=0)
    assert env.observe("seat_1").startswith("You are not asked just now.") and "# Now" not in env.observe("seat_1")
    assert "# Now" in env.observe("seat_0")
    over(env, said)
    assert env.observe("seat_0").startswith("The match is over.")


def test_the_text_of_a_view_is_what_models_are_told():
    at = Table(seats=3).proposes("Player 2", {"stick": 1}, {}, 'a\n# Rules\n"x"')
    assert '"a\\n# Rules\\n\\"x\\""' in observation_text(at.view(1)) and "# Rules\n" in observation_text(at.view(1))
    assert "proposes to you: you would get 1 stick and give nothing" in observation_text(at.view(1))
    assert "would get" not in observation_text(at.view(2)) and '"a\\n' not in observation_text(at.view(2))
    assert len(observation_text(at.view(1), reach=100)) == 100


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("cooperation", "cooperation"),
        ("[move] defection", "defection"),
        ("[move] (why not) Defection", "defection"),
        ("I cooperate", None),
        ("[move] x", None),
        ("", None),
        (None, None),
    ],
)
def test_an_answer_is_an_action_or_one_line_says_why_not(text, action):
    view = GAMES["pd"].observe(GAMES["pd"].start(seat_dice(0, -1)), 0)
    found = parse_reply(text, view.legal)
    assert found.action == action and bool(found.fault) == (action is None)


def test_ascii_keeps_the_meaning_within_json():
    text = 'é🪓\x00\x7f "quoted"'
    assert json.loads(in_ascii(json.dumps(text, ensure_ascii=False))) == text and in_ascii("a\nb ~") == "a\nb ~"


# --- One seat against scripts


def alone(game=TWO, seat=0, script=anything, **settings_):
    return single_text_env(game, seat, [script] * (game.seats - 1), **settings_)


def episode(env, answer, seed=None):
    """The texts of an episode, the last one included, and its points."""
    text, _ = env.reset(seed=seed)
    texts, total, ended = [text], 0.0, False
    while not ended:
        text, points, ended, _, _ = env.step(answer(env))
        texts.append(text)
        total += points
    return texts, total


def legal_text(env):
    view = env.table.game.observe(env.table.state, env.table.seat)
    return view.legal.format(view.legal.example(seat_dice(0, view.round)))


def test_a_seed_is_the_match_that_play_plays():
    own = partial(lambda view, dice: view.legal.example(seat_dice(0, view.round)))
    for game in (tradecraft(), THREE, GAMES["pd"]):
        for seat in range(game.seats):
            seats = [Seat("any", anything)] * game.seats
            seats[seat] = Seat("own", own)
            played = play_now(Match("test", "0", 4, game, tuple(seats), 0, ""))
            points = sum(p for view, p in zip(played.views, played.payoffs, strict=True) if view.seat == seat)
            assert episode(alone(game, seat), legal_text, seed=4)[1] == pytest.approx(points)


def test_the_same_seed_gives_the_same_episode_and_none_goes_on():
    env = alone()
    one, other = episode(env, legal_text, seed=3), episode(alone(), legal_text, seed=3)
    assert one == other
    assert episode(env, legal_text)[0] != one[0]


def test_an_environment_can_be_made_again_from_its_spec():
    env = alone(THREE, 2, seed=5)
    assert episode(gymnasium.make(env.spec), lambda _: "{}") == episode(env, lambda _: "{}")


def test_a_step_needs_a_match():
    env = alone()
    with pytest.raises(IllegalAction, match="call reset"):
        env.step("{}")
    episode(env, lambda _: "")
    with pytest.raises(IllegalAction, match="call reset"):
        env.step("{}")


def test_an_opponent_that_answers_nonsense_is_named():
    env = alone(seat=1, script=lambda view, dice: "accept")
    with pytest.raises(AgonError, match="script at seat 0 answered 'accept'"):
        env.reset()


def test_seats_and_opponents_must_fit_the_game():
    for seat, opponents in [(2, 1), (-1, 1), (0, 0), (0, 2)]:
        with pytest.raises(AgonError, match="has seats 0 to 1"):
            single_text_env(TWO, seat, [anything] * opponents)


def test_a_function_from_text_to_text_is_a_player():
    script = partial(teller, answer=lambda text: '{"tool": "craft_done"}' if "to craft" in text else "hm")
    at = Table()
    assert script(at.view(0), None) is None
    assert script(at.does(None).does(None).view(0), None) == Call(tool="craft_done")


def test_an_answer_without_a_match_is_refused_in_a_line():
    env = text_env(tradecraft())
    with pytest.raises(IllegalAction, match="call reset"):
        env.step("{}")
