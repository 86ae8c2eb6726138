"""Simulated matches of players without skill against the opponents of the counterfactual paper."""

import ast
import json

import numpy as np
import pytest
from test_counterfactual_claims import payoff_rows

from agon import ROOT
from agon.games.tables import payoff_table
from agon.turns import read, read_games
from agon_papers.counterfactual.chance import CONSTANT, MATCHES, UNIFORM, Opponents, all_opponents, cycles_of, steady
from agon_papers.counterfactual.records import SCRIPTS

TWINS = ROOT / "notebooks/twins.ipynb"
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


def same_in(game, variants):
    """The scripts that are the same opponent in these variants. Those that cycle repeat the same words in all of them."""
    words = {"pd": ["defection", "cooperation"], "rps": ["scissors", "rock", "paper"]}[game]
    return steady(SCRIPTS[game], [opponents(game, variant, words) for variant in variants])


@pytest.mark.parametrize(
    ("game", "variants", "same"),
    [
        ("pd", ["default", "label"], ["srep", "pp", "mf", "tft"]),
        ("pd", ["default", "payoff"], ["pp"]),
        ("pd", ["payoff", "joint"], ["srep", "pp", "mf", "tft"]),
        ("rps", ["default", "label"], ["srep", "ap", "tft"]),
        ("rps", ["default", "payoff"], ["pp", "ap", "tft"]),
        ("rps", ["payoff", "joint"], ["srep", "ap", "tft"]),
        ("rps", ["label", "joint"], ["pp", "ap", "tft"]),
        ("rps", ["default", "label", "payoff", "joint"], ["ap", "tft"]),
    ],
)
def test_a_script_is_the_same_opponent_where_it_does_the_same(game, variants, same):
    assert same_in(game, variants) == same


def test_a_cycle_that_is_not_known_is_not_the_same_opponent():
    assert steady(["pp", "zs"], [opponents("pd", "default"), opponents("pd", "label")]) == ["zs"]


@pytest.mark.skipif(not TWINS.exists(), reason="the room of twins is not there")
def test_the_twins_are_compared_by_scripts_that_are_the_same_in_both():
    sources = ["".join(cell["source"]) for cell in json.loads(TWINS.read_text(encoding="utf-8"))["cells"]]
    [named] = [line for text in sources for line in text.splitlines() if line.startswith("SCRIPTS = ")]
    listed = ast.literal_eval(named.removeprefix("SCRIPTS = "))
    assert {game: {*scripts} for game, scripts in listed.items()} == {
        game: {*same_in(game, ["default", "label"])} for game in SCRIPTS
    }
