"""Simulated matches of players without skill against the opponents of the counterfactual paper."""

import numpy as np
import pytest
from test_counterfactual_claims import payoff_rows

from agon.games.tables import payoff_table
from agon.turns import read, read_games
from agon_papers.counterfactual.chance import CONSTANT, MATCHES, UNIFORM, Opponents, all_opponents, cycles_of

SAMPLE = "tests/smoke/counterfactual_turns.parquet"
ALTERNATING = {("pd", "default"): ["defection", "cooperation"]}


def opponents(game, variant, cycle=()):
    return Opponents(game, variant, payoff_rows(), cycle)


def played(game, variant, player, opponent, cycle=()):
    return opponents(game, variant, cycle).play(player, opponent, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("opponent", "player", "points"),
    [("srep", 0, 16), ("srep", 1, 32), ("pp", 0, 40), ("pp", 1, 64), ("zs", 0, 64), ("zs", 1, 32)],
)
def test_one_action_always_gets_what_the_rules_pay(opponent, player, points):
    found = played("pd", "default", CONSTANT[player], opponent, ALTERNATING["pd", "default"])
    assert len(found) == MATCHES and (found.total_points == points).all()


@pytest.mark.parametrize(("opponent", "low", "high"), [("tft", 32, 36), ("mf", 32, 36)])
def test_a_script_that_replies_draws_its_first_move(opponent, low, high):
    found = played("pd", "default", CONSTANT[1], opponent)
    assert set(found.total_points) == {low, high} and (found.opponent_comprehension_as_done == 1).all()


def test_uniform_play_reads_as_late_in_every_variant_of_rps():
    rounds = [
        played("rps", name, UNIFORM, "zs").opponent_comprehension.mean() for name in ("default", "label", "payoff")
    ]
    assert rounds == pytest.approx([22.15] * 3, abs=0.15)


def test_the_equilibrium_script_draws_its_moves_under_stag_hunt():
    found = played("pd", "payoff", CONSTANT[1], "srep")
    assert (
        found.total_points.mean() == pytest.approx(16 * (4 / 3 + 2 * 2 / 3), abs=0.3)
        and found.total_points.nunique() > 5
    )
    assert found.opponent_comprehension_as_done.mean() == pytest.approx(14.3, abs=0.2)


@pytest.mark.parametrize(
    ("game", "variant", "opponent", "reach"),
    [
        ("pd", "default", "zs", 80),
        ("pd", "default", "srep", 16),
        ("pd", "default", "pp", 24),
        ("pd", "default", "tft", 20),
        ("rps", "default", "pp", 48),
        ("rps", "payoff", "pp", 80),
        ("rps", "payoff", "srep", 144),
    ],
)
def test_totals_reach_as_far_as_the_opponent_lets_them(game, variant, opponent, reach):
    assert opponents(game, variant).reach(opponent) == reach


@pytest.mark.parametrize("opponent", ["pp", "srep", "ap", "tft", "zs"])
def test_no_simulated_total_lies_beyond_the_reach(opponent):
    games = opponents("rps", "joint", ["scissors", "rock", "paper"])
    found = games.play(UNIFORM, opponent, np.random.default_rng(2)).total_points
    assert np.ptp(found) <= games.reach(opponent)


def test_the_order_of_a_cycle_is_read_from_its_matches():
    cycles = cycles_of(read(SAMPLE))
    every = [*all_opponents(payoff_table(read_games(SAMPLE)), cycles)]
    assert cycles and all(set(games.cycle) <= set(games.options) for games in every)
    assert all(len(order) == len(set(order)) >= 2 for order in cycles.values())
