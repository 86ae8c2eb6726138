"""PettingZoo's and Gymnasium's own suites on every game in conf, and the environments against the engine."""

import warnings
from dataclasses import dataclass
from itertools import product
from random import Random

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from harness import anything
from pettingzoo.test import parallel_api_test, parallel_seed_test

from agon import AgonError
from agon.conf import games, load
from agon.games import Choice, Game, IllegalAction, Observation
from agon.games.matrix import MatrixGame
from agon.games.matrix.scripts import always, tit_for_tat
from agon.plan import Match, Seat
from agon.play import play_now
from agon_environments.gymnasium import parallel_env, single_agent_env

PUBLIC_GOOD = MatrixGame(
    "public_good",
    "three",
    ("give", "keep"),
    [[[[own + 0.5 * p.count(0) for own in p] for p in product([a], [b], (0, 1))] for b in (0, 1)] for a in (0, 1)],
    5,
)


MATRIX_GAMES = [game for game in games() if game.normal_form is not None]
GAMES = pytest.mark.parametrize("game", [*MATRIX_GAMES, PUBLIC_GOOD], ids=lambda game: f"{game.name}_{game.variant}")


@GAMES
@pytest.mark.parametrize("cycles", [3, 100])
def test_pettingzoos_own_tests_pass_without_a_warning(game, cycles):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(parallel_env(game), num_cycles=cycles)
        parallel_seed_test(lambda: parallel_env(game), num_cycles=cycles)


@GAMES
def test_observations_are_the_engines_and_rewards_sum_to_its_totals(game):
    env, dice = parallel_env(game), Random(1)
    views, _ = env.reset(seed=4)
    state, totals, earned = game.start(Random(4)), np.zeros(game.seats), np.zeros(game.seats)
    while env.agents:
        assert_same_views(env, game, state, views)
        actions = {agent: dice.randrange(len(game.options)) for agent in env.agents}
        views, rewards, ended, cut, _ = env.step(actions)
        state, paid = game.step(state, {seat: game.options[action] for seat, action in enumerate(actions.values())})
        totals += paid
        earned += list(rewards.values())
        assert set(ended.values()) == {not game.to_move(state)}
        assert not any(cut.values())
    assert_same_views(env, game, state, views)
    assert not game.to_move(state)
    assert earned.tolist() == totals.tolist()


def assert_same_views(env, game, state, views):
    for seat, agent in enumerate(env.possible_agents):
        past = game.observe(state, seat).past
        assert env.observation_space(agent).contains(views[agent])
        assert [tuple(game.options[code] for code in row) for row in views[agent][: len(past)]] == list(past)
        assert (views[agent][len(past) :] == len(game.options)).all()


def test_a_seat_sees_its_action_first_and_no_future_round():
    env = parallel_env(MATRIX_GAMES[0])
    before, _ = env.reset()
    after, *_ = env.step({"seat_0": 0, "seat_1": 1})
    assert (before["seat_0"] == 2).all()
    assert after["seat_0"][:2].tolist() == [[0, 1], [2, 2]]
    assert after["seat_1"][:2].tolist() == [[1, 0], [2, 2]]


def test_actions_outside_the_space_are_refused():
    for actions in [{"seat_0": 0}, {"seat_0": 0, "seat_1": 2}, {"seat_0": 0, "seat_1": -1}, {}]:
        env = parallel_env(MATRIX_GAMES[0])
        env.reset()
        with pytest.raises(IllegalAction):
            env.step(actions)


def test_a_match_that_is_over_takes_no_step():
    env = parallel_env(PUBLIC_GOOD)
    env.reset()
    for _ in range(PUBLIC_GOOD.rounds):
        env.step(dict.fromkeys(env.agents, 0))
    with pytest.raises(IllegalAction):
        env.step(dict.fromkeys(env.possible_agents, 0))


@dataclass(frozen=True)
class Dealt(Game):
    """A game with a card drawn at the start, which seat 0 moves on alone, or both if `together`."""

    name: str = "dealt"
    variant: str = "test"
    seats: int = 2
    rounds: int = 1
    together: bool = False

    def start(self, dice):
        return dice.random()

    def to_move(self, state):
        return (0, 1) if self.together else (0,)

    def legal_actions(self, state, seat):
        return Choice(("a", "b")[: 2 - seat])

    def observe(self, state, seat):
        return Observation(seat, 1, self.legal_actions(state, seat), (), self)

    def step(self, state, actions):
        return state, (0.0, 0.0)


def test_games_played_in_turn_or_with_different_options_are_refused():
    with pytest.raises(ValueError, match="all at once"):
        parallel_env(Dealt())
    with pytest.raises(ValueError, match="same for every seat"):
        parallel_env(Dealt(together=True))


@dataclass(frozen=True)
class Shuffled(MatrixGame):
    """A matrix game whose start throws dice, to see which ones."""

    def start(self, dice):
        THROWN.append(dice.random())
        return super().start(dice)


THROWN = []


def test_chance_comes_from_the_seed_alone():
    game = Shuffled("g", "t", ("a", "b"), [[[0, 0]] * 2] * 2, 1)
    for _ in range(2):
        env = parallel_env(game, seed=3)
        env.reset()
        env.reset()
        env.reset(seed=3)
    again = THROWN[: len(THROWN) // 2]
    assert again == THROWN[len(THROWN) // 2 :]
    assert again[-1] == again[1] != again[2]


# --- one seat against scripts (Gymnasium)


def alone(game, seat=0, script=anything, **settings):
    return single_agent_env(game, seat, [script] * (game.seats - 1), **settings)


def episode(env, learner, **reset):
    """What an episode was, to the last bit: observations and rewards."""
    view, _ = env.reset(**reset)
    seen, earned, over = [view.tolist()], [], False
    while not over:
        view, points, over, cut, _ = env.step(learner(view))
        assert not cut
        seen.append(view.tolist())
        earned.append(points)
    return seen, earned


def first(view):
    """A learner that always plays the first option."""
    return 0


@GAMES
@pytest.mark.parametrize("seat", [0, 1])
def test_gymnasiums_own_check_passes_without_a_warning(game, seat):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(alone(game, seat))


@GAMES
def test_the_spaces_are_those_of_the_parallel_environment(game):
    env, table = alone(game, 1), parallel_env(game)
    assert env.observation_space == table.observation_space("seat_1") and env.action_space == table.action_space(
        "seat_1"
    )


@GAMES
@pytest.mark.parametrize("seat", [0, 1])
def test_an_episode_is_the_match_that_play_plays_with_the_same_seed(game, seat):
    def mirror(view, dice):
        return view.past[-1][1] if view.past else view.legal.options[0]

    def learner(view):
        played = view[view[:, 0] < len(game.options)]
        return played[-1][1] if len(played) else 0

    for seed in (0, 7, 2**64 - 1):
        scripts = [mirror if place == seat else anything for place in range(game.seats)]
        seats = tuple(Seat(script.__name__, script) for script in scripts)
        payoffs = play_now(Match("test", "0", seed, game, seats, 0, "")).payoffs
        _, earned = episode(alone(game, seat), learner, seed=seed)
        assert earned == payoffs[seat :: game.seats]


def test_the_same_seed_gives_the_same_episode_whatever_came_before():
    env = alone(PUBLIC_GOOD)
    fresh = [episode(alone(PUBLIC_GOOD), first, seed=seed) for seed in range(5)]
    assert [episode(env, first, seed=seed) for seed in reversed(range(5))] == fresh[::-1]
    assert any(one != fresh[0] for one in fresh)


def test_resets_without_a_seed_go_on_in_the_same_way():
    env, other = alone(PUBLIC_GOOD, seed=3), alone(PUBLIC_GOOD, seed=3)
    own = [episode(env, first) for _ in range(5)]
    assert own[0] == episode(alone(PUBLIC_GOOD), first, seed=3)
    assert own == [episode(other, first) for _ in range(5)]
    assert any(one != own[0] for one in own)
    assert [episode(env, first, seed=3), episode(env, first)] == own[:2]


def test_the_opponents_of_a_seed_are_always_the_same():
    """A change here changes what published seeds mean."""
    seen, _ = episode(alone(load("game", "rps")), first, seed=11)
    assert "".join("RPS"[other] for _, other in seen[-1]) == "PPSSSRRPPPRPRPPPSPRSPSPR"


def test_an_environment_can_be_made_again_from_its_spec():
    env = alone(PUBLIC_GOOD, 2, seed=5)
    assert episode(gymnasium.make(env.spec), first) == episode(env, first)


@pytest.mark.parametrize("action", [2, -1, "cooperation", None, 0.5])
def test_an_illegal_action_is_refused_and_changes_nothing(action):
    env = alone(PUBLIC_GOOD)
    undisturbed = episode(env, first, seed=1)

    def stumbling(view):
        with pytest.raises(IllegalAction, match=r"seat_0 may not play .*: only 0 to 1"):
            env.step(action)
        return 0

    assert episode(env, stumbling, seed=1) == undisturbed


def test_a_step_needs_a_match():
    env = alone(PUBLIC_GOOD)
    with pytest.raises(IllegalAction, match="call reset"):
        env.step(0)
    episode(env, first)
    with pytest.raises(IllegalAction, match="call reset"):
        env.step(0)


def test_an_opponent_that_answers_nonsense_is_named():
    for answer in ["surrender", None, ["give"], 0]:
        env = alone(PUBLIC_GOOD, script=lambda view, dice, answer=answer: answer)
        env.reset()
        with pytest.raises(AgonError, match=r"script at seat 1 answered .*: only give, keep are legal"):
            env.step(0)


def test_seats_and_opponents_must_fit_the_game():
    for seat, opponents in [(3, 2), (-1, 2), (0, 1), (0, 3)]:
        with pytest.raises(AgonError, match="has seats 0 to 2"):
            single_agent_env(PUBLIC_GOOD, seat, [anything] * opponents)


def test_opponents_sit_in_order_at_the_other_seats():
    env = single_agent_env(PUBLIC_GOOD, 1, [tit_for_tat, lambda view, dice: always(view, dice, 1)])
    env.reset()
    view, *_ = env.step(1)
    assert view[0].tolist() == [1, 0, 1]
