"""PettingZoo's own suite on every game in conf, and the environment against the engine."""

import warnings
from dataclasses import dataclass
from itertools import product
from random import Random

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from pettingzoo.test import parallel_api_test, parallel_seed_test

from agon import ROOT
from agon.environments import parallel_env
from agon.games import Choice, IllegalAction, MatrixGame

PUBLIC_GOOD = MatrixGame(
    "public_good",
    "three",
    ("give", "keep"),
    [[[[own + 0.5 * p.count(0) for own in p] for p in product([a], [b], (0, 1))] for b in (0, 1)] for a in (0, 1)],
    5,
)


def from_conf(name):
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        return instantiate(compose(overrides=[f"+game={name}"]).game)


MATRIX_GAMES = [
    game for path in sorted((ROOT / "conf/game").glob("*.yaml")) if isinstance(game := from_conf(path.stem), MatrixGame)
]
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


def test_a_seat_sees_its_own_action_first_and_no_round_before_it_is_played():
    env = parallel_env(MATRIX_GAMES[0])
    before, _ = env.reset()
    after, *_ = env.step({"seat_0": 0, "seat_1": 1})
    assert (before["seat_0"] == 2).all()
    assert after["seat_0"][:2].tolist() == [[0, 1], [2, 2]]
    assert after["seat_1"][:2].tolist() == [[1, 0], [2, 2]]


@pytest.mark.parametrize("actions", [{"seat_0": 0}, {"seat_0": 0, "seat_1": 2}, {"seat_0": 0, "seat_1": -1}, {}])
def test_actions_outside_the_space_are_refused(actions):
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
class Dealt:
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
