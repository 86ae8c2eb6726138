"""Metrics of weighed decisions: exact where plays are only a sample, and absent where nothing was weighed."""

import json
from dataclasses import replace
from functools import partial
from math import log, sqrt

import numpy as np
import pytest
from harness import PD, RPS, Told, anything, at_the_table, seated

from agon.agents.llm import LLM
from agon.games.matrix.metrics import weighed
from agon.games.tables import equilibrium_table, games_table, payoff_table
from agon.models import Answer
from agon.play import turns_table

WEIGHS = partial(LLM, reads="weighed")


def sure(*chances, mass=0.5):
    """A model that gives each legal action with these probabilities, and something else with the rest of 1."""
    return Told(lambda request: Answer("", weights=tuple(log(chance * mass or 1e-300) for chance in chances)))


def weighing(*models, game=PD, rounds=4, other=WEIGHS, matches=1):
    """Turns of a model that weighs, against another one, or a script."""
    pairs = [seated(WEIGHS, other, game=replace(game, rounds=rounds), number=number) for number in range(matches)]
    return turns_table([(match, at_the_table(match, *models)) for match in pairs])


def measured(turns, game=PD, **more):
    return weighed(turns, payoff_table(games_table([game])), equilibrium_table(games_table([game])), **more)


def test_a_turn_holds_the_whole_distribution():
    turn = weighing(sure(0.25, 0.75), sure(1, 0)).iloc[0]
    detail = json.loads(turn.detail)
    assert [action for action, _ in detail["chances"]] == list(PD.options)
    assert [chance for _, chance in detail["chances"]] == pytest.approx([0.25, 0.75])
    assert detail["mass"] == pytest.approx(0.5) and turn.action in ("cooperation", "defection") and turn.valid


def test_a_round_by_hand():
    row = measured(weighing(sure(0.25, 0.75), sure(0.5, 0.5))).iloc[0]
    assert row.expected_payoff == pytest.approx((0.25 * (4 + 1) + 0.75 * (6 + 2)) / 2)
    assert row.regret == pytest.approx((6 + 2) / 2 - row.expected_payoff)
    assert row.exploitability == pytest.approx(2 - (0.25 * 1 + 0.75 * 2))
    assert (row.distance_to_uniform, row.distance_to_equilibrium, row.mass) == pytest.approx((0.25, 0.25, 0.5))


def test_against_a_script_the_payoff_is_that_against_what_it_did():
    turns = weighing(sure(0.25, 0.75), None, other=anything, rounds=12)
    theirs = turns[turns.seat == 1].action.map({"cooperation": 0.25 * 4 + 0.75 * 6, "defection": 0.25 + 0.75 * 2})
    assert measured(turns).expected_payoff.tolist() == pytest.approx(theirs.astype(float).tolist())


@pytest.mark.parametrize("game", [PD, RPS], ids=["pd", "rps"])
def test_the_exact_payoff_is_what_ten_thousand_plays_come_to(game):
    chances = np.array([0.2, 0.3, 0.5][-len(game.options) :]) / sum([0.2, 0.3, 0.5][-len(game.options) :])
    turns = weighing(sure(*chances), sure(*chances[::-1]), game=game, rounds=100, matches=100)
    paid, exact = turns[turns.seat == 0].payoff, measured(turns, game).expected_payoff
    assert len(paid) == 10_000 and exact.std() < 1e-9
    assert abs(paid.mean() - exact.mean()) < 3 * paid.std() / sqrt(len(paid))


def test_an_equilibrium_is_at_no_distance_and_cannot_be_exploited():
    row = measured(weighing(sure(1 / 3, 1 / 3, 1 / 3), sure(1, 0, 0), game=RPS), RPS).iloc[0]
    assert [row.exploitability, row.distance_to_equilibrium] == pytest.approx([0, 0], abs=1e-9)
    assert row.regret == pytest.approx(1)


def test_what_was_not_weighed_is_absent():
    turns = weighing(sure(0.25, 0.75), None, other=anything)
    assert set(measured(turns, seats=(0, 1)).seat) == {0} and len(measured(turns, seats=(1,))) == 0
    assert list(measured(turns[:0]).columns) == list(measured(turns).columns)


def test_a_payoff_against_a_void_action_is_absent_and_the_rest_is_there():
    turns = weighing(sure(0.25, 0.75), Told(lambda request: "never"), other=partial(LLM, attempts=1))
    found = measured(turns)
    assert found[["expected_payoff", "regret"]].isna().all(axis=None) and found.exploitability.notna().all()
    assert len(found) == 4
