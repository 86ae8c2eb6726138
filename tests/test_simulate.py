"""The simulator against the engine, draw for draw, and against what equilibrium play must earn."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from agon.games.equilibria import equilibria, symmetric_equilibrium
from agon.games.matrix import MatrixGame
from agon.games.matrix import scripts as scripted
from agon.games.matrix.simulate import (
    CHUNK,
    Policy,
    best_reply_to_last,
    cycle,
    memory_one,
    mixed,
    simulate,
    tit_for_tat,
    win_stay_lose_shift,
)

PD = MatrixGame("pd", "default", ("cooperation", "defection"), [[[4, 4], [1, 6]], [[6, 1], [2, 2]]], 16)
RPS = MatrixGame(
    "rps",
    "default",
    ("rock", "paper", "scissors"),
    [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]],
    24,
)


class Fed:
    """Dice that show one given number."""

    def __init__(self, number):
        self.number = float(number)

    def random(self):
        return self.number

    def choice(self, seq):
        return seq[int(self.number * len(seq))]


def played(game, scripts, draws):
    """Actions (positions) and payoffs of one match on the engine; `draws` is (rounds, seats)."""
    state, actions, payoffs = game.start(Random(0)), [], []
    for numbers in draws:
        chosen = {seat: scripts[seat](game.observe(state, seat), Fed(numbers[seat])) for seat in game.to_move(state)}
        state, paid = game.step(state, chosen)
        actions.append([game.options.index(chosen[seat]) for seat in (0, 1)])
        payoffs.append(paid)
    assert not game.to_move(state)
    return actions, payoffs


def script_of(policy):
    """The policy as a script: drawn from the same tables by the scripts' own code."""

    def script(view, dice):
        weights = policy.first
        if view.past:
            weights = policy.after[tuple(view.legal.options.index(action) for action in view.past[-1])]
        return scripted.random_mix(view, dice, weights.tolist())

    return script


def assert_same(game, policies, scripts, draws):
    simulated = simulate(game, policies, len(draws), np.random.default_rng(0), draws)
    for match, numbers in enumerate(draws):
        actions, payoffs = played(game, scripts, numbers)
        assert simulated.actions[match].tolist() == actions
        assert simulated.payoffs[match].tolist() == [list(paid) for paid in payoffs]


def weights_of(options):
    """Mixes with certain options, thirds and numbers next to the draws among them."""
    shares = st.lists(st.sampled_from([0, 0, 1, 1, 2, 3, 7, 0.1]), min_size=options, max_size=options)
    return shares.filter(any).map(lambda parts: (np.array(parts) / sum(parts)).tolist())


def policies_of(options):
    rows = st.lists(weights_of(options), min_size=options**2, max_size=options**2)
    return st.builds(
        lambda first, after: Policy(np.array(first), np.reshape(after, (options,) * 3)), weights_of(options), rows
    )


def games_of(options):
    pay = st.one_of(st.integers(-9, 9), st.sampled_from([0.1, 1 / 3, 2.5, 40000]))
    table = st.lists(
        st.lists(st.tuples(pay, pay), min_size=options, max_size=options), min_size=options, max_size=options
    )
    return st.builds(MatrixGame, st.just("g"), st.just("t"), st.just(tuple("abc"[:options])), table, st.integers(1, 6))


@st.composite
def simulations(draw):
    options, width = draw(st.sampled_from([2, 3])), draw(st.sampled_from([32, 64]))
    game, policies = draw(games_of(options)), (draw(policies_of(options)), draw(policies_of(options)))
    edges = [0.0, 0.1, 1 / 3, 0.25, 0.5, 2 / 3, 0.75, *policies[0].first, *policies[1].after[0, -1]]
    below_one = np.nextafter(np.dtype(f"f{width // 8}").type(1), 0)
    number = st.one_of(
        st.floats(0, 1, width=width, exclude_max=True),
        st.sampled_from(edges).map(lambda edge: min(np.dtype(f"f{width // 8}").type(edge), below_one)),
    )
    draws = draw(arrays.arrays(f"f{width // 8}", (draw(st.integers(1, 4)), game.rounds, 2), elements=number))
    return game, policies, draws


@settings(max_examples=150, deadline=None)
@given(simulations())
def test_the_simulator_plays_as_the_engine_does_draw_for_draw(simulation):
    game, policies, draws = simulation
    assert_same(game, policies, [script_of(policy) for policy in policies], draws)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_draws_next_to_the_weights_fall_as_they_do_for_scripts(kind):
    dice = np.random.default_rng(5)
    for _ in range(60):
        options = int(dice.integers(2, 5))
        weights = dice.choice([dice.dirichlet([1] * options), dice.permutation([0.7, 0.1, 0.2, 0][:options])])
        weights = (weights / weights.sum()).tolist()
        steps = [np.cumsum(weights)[:-1].astype(kind)]
        for _ in range(3):
            steps = [np.nextafter(steps[0], kind(-1)), *steps, np.nextafter(steps[-1], kind(2))]
        draws = np.clip(np.concatenate(steps), 0, np.nextafter(kind(1), kind(0)))
        game = MatrixGame("g", "t", tuple("abcd"[:options]), np.zeros((options, options, 2)).tolist(), 1)
        found = simulate(game, (mixed(weights),) * 2, len(draws), dice, np.repeat(draws, 2).reshape(-1, 1, 2))
        assert found.actions[:, 0, 0].tolist() == [
            "abcd".index(scripted.random_mix(game.observe(game.start(Random(0)), 0), Fed(draw), weights))
            for draw in draws
        ]


@pytest.mark.parametrize(
    ("policy", "script"),
    [
        (tit_for_tat(), scripted.tit_for_tat),
        (win_stay_lose_shift(), scripted.win_stay_lose_shift),
        (cycle([0, 1]), scripted.alternator),
        (best_reply_to_last(PD), scripted.best_reply_to_last),
        (memory_one(0.5, (0.9, 0.2, 0.7, 0.1)), lambda v, d: scripted.memory_one(v, d, 0.5, (0.9, 0.2, 0.7, 0.1))),
        (mixed([0.3, 0.7]), lambda v, d: scripted.random_mix(v, d, [0.3, 0.7])),
        (mixed(symmetric_equilibrium(PD)), scripted.one_shot_equilibrium),
    ],
)
def test_policies_are_the_scripts_of_the_same_name(policy, script):
    draws = np.random.default_rng(1).random((20, PD.rounds, 2))
    noise = mixed([0.5, 0.5])
    assert_same(PD, (policy, noise), [script, script_of(noise)], draws)
    assert_same(PD, (noise, policy), [script_of(noise), script], draws)


def test_policies_of_three_options_are_the_scripts_of_the_same_name():
    draws = np.random.default_rng(1).random((20, RPS.rounds, 2))
    orders = [("paper", "rock", "scissors")]
    scripts = [scripted.best_reply_to_last, lambda view, dice: scripted.cycle(view, dice, orders)]
    assert_same(RPS, (best_reply_to_last(RPS), cycle([1, 0, 2])), scripts, draws)


def test_tit_for_tat_answers_in_kind():
    actions = simulate(PD, (tit_for_tat(), cycle([1, 0])), 3, np.random.default_rng(0)).actions
    assert actions[:, :, 1].tolist() == [[1, 0] * 8] * 3
    assert actions[:, :, 0].tolist() == [[0] + ([1, 0] * 8)[:15]] * 3


def test_equilibrium_play_earns_what_the_equilibrium_is_worth():
    """Within 5 standard errors, in the paper's changed rock-paper-scissors (value 0) and in its stag hunt (8/3)."""
    three = [[[0, 0], [-3, 3], [1, -1]], [[3, -3], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]]
    hunt = MatrixGame("pd", "payoff", ("stag", "hare"), [[[6, 6], [1, 4]], [[4, 1], [2, 2]]], 16)
    for game, value in ((MatrixGame("rps", "payoff", RPS.options, three, 24), 0), (hunt, 8 / 3)):
        profile = equilibria(game).profiles[-1]
        found = simulate(
            game, tuple(mixed([float(p) for p in mix]) for mix in profile), 50_000, np.random.default_rng(7)
        )
        for seat in (0, 1):
            points = found.payoffs[:, :, seat].ravel()
            assert abs(points.mean() - value) < 5 * points.std() / points.size**0.5
            shares = np.bincount(found.actions[:, :, seat].ravel()) / points.size
            assert shares == pytest.approx([float(p) for p in profile[seat]], abs=0.005)


def test_the_same_seed_gives_the_same_matches_and_rounds_are_independent():
    one, two = (simulate(PD, (mixed([0.5, 0.5]),) * 2, CHUNK + 5, np.random.default_rng(3)).actions for _ in range(2))
    assert (one == two).all()
    assert one.shape == (CHUNK + 5, 16, 2)
    assert np.abs(np.corrcoef(one.reshape(len(one), -1).T) - np.eye(32)).max() < 5 / len(one) ** 0.5


def test_differences_of_payoffs_do_not_overflow():
    game = MatrixGame("g", "t", ("a", "b"), [[[30000, -30000], [0, 0]], [[0, 0], [0, 0]]], 1)
    payoffs = simulate(game, (mixed([1, 0]),) * 2, 1, np.random.default_rng(0)).payoffs
    assert payoffs[0, 0, 0] - payoffs[0, 0, 1] == 60000
    assert simulate(PD, (mixed([1, 0]),) * 2, 1, np.random.default_rng(0)).payoffs.dtype == np.int16


def test_what_does_not_fit_is_refused():
    dice = np.random.default_rng(0)
    with pytest.raises(ValueError, match="do not fit"):
        simulate(RPS, (mixed([1, 0]),) * 2, 1, dice)
    with pytest.raises(ValueError, match="draws have the shape"):
        simulate(PD, (mixed([1, 0]),) * 2, 2, dice, np.zeros((2, 15, 2)))
    with pytest.raises(ValueError, match="sum to 1"):
        mixed([0.5, 0.6])
    with pytest.raises(ValueError, match="shapes"):
        Policy(np.ones(1), np.ones((1, 1)))
