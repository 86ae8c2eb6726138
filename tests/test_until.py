"""Asking until a question is decided: the test, the order of matches, and a run that is stopped and goes on."""

import asyncio
from dataclasses import replace
from itertools import groupby
from random import Random

import numpy as np
import pytest
from test_record import Says

from agon import AgonError
from agon.conf import Until
from agon.metrics.sequential import capital, decided, interval
from agon.models.ledger import Ledger, Replayed
from agon.models.limits import Budget, BudgetReached
from agon.models.recording import Recording, Writer
from agon.plan import plan
from agon.record import record
from agon.until import AHEAD, Order

WORLDS = {
    "coin": lambda dice, n: dice.choice([-1.0, 1.0], n),
    "narrow": lambda dice, n: dice.normal(0, 0.1, n).clip(-1, 1),
    "rare": lambda dice, n: np.where(dice.random(n) < 0.1, -0.9, 0.1),
}


@pytest.mark.parametrize("world", WORLDS)
def test_who_looks_after_every_value_is_seldom_wrong(world):
    dice = np.random.default_rng(1)
    wrong = np.mean([decided(WORLDS[world](dice, 300)).sign != 0 for _ in range(400)])
    assert wrong <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_capital_is_a_mixture_of_bets_reckoned_one_by_one():
    values = np.array([0.5, -0.25, 0.75])
    bets = np.geomspace(0.01, 0.98, 16)
    by_hand = np.mean([(1 + 0.5 * bet) * (1 - 0.25 * bet) * (1 + 0.75 * bet) for bet in bets])
    assert capital(values)[0][-1] == pytest.approx(np.log(by_hand))
    shifted = np.mean([np.prod([1 + bet * (each - 0.2) / 1.2 for each in values]) for bet in bets])
    assert capital(values, 0.2)[0][-1] == pytest.approx(np.log(shifted))


def test_the_sign_is_decided_when_zero_leaves_the_interval():
    values = np.random.default_rng(2).uniform(-0.2, 0.6, 200)
    n, sign = decided(values)
    assert sign == 1 and n < 200
    assert interval(values[: n - 1])[0] <= 0 < interval(values[:n])[0] + 0.011 and decided(-values) == (n, -1)
    assert decided(values[: n - 1]) == (n - 1, 0) and decided(values[:0]) == (0, 0)


# --- matches in their order


def matches(repetitions=40, agents=("zs_once", "cot_once")):
    pairing = {"games": ["pd", "pd_label"], "models": ["standin"], "seats": [[*agents], ["uniform", "tft"]]}
    return plan({"name": "until", "repetitions": repetitions, "pairings": [pairing]})


UNTIL = Until(metric="cooperation_rate", by="agent", range=(0.0, 1.0))


class Answers(Says):
    """Cooperates nine times in ten where it is not asked to think, and three times in ten where it is."""

    async def answer(self, request):
        found = await super().answer(request)
        thinks = any("think step by step" in each.text for each in request.messages)
        kind = Random(request.sample).random() < (0.3 if thinks else 0.9)
        return replace(found, text=f"[move] {request.view.legal.options[0 if kind else 1]}")


def run(folder, found, budget=None, until=UNTIL, **more):
    """Asks until it is decided: the order, why some matches stopped, and how often the model was asked."""
    model = Answers(context=None, **more)
    order, writer = Order(found, until), Writer(Recording(folder), folder / "lock")
    try:
        order.recorded({"standin": Replayed("standin", model.identity, writer.recording)})
        ledger = Ledger({"standin": model}, writer, budget or Budget())
        halted = asyncio.run(record(order.ordered, ledger, 4, gate=order))
    finally:
        writer.close()
    return order, halted, model.asked


def test_asking_ends_when_the_question_is_decided(tmp_path):
    found = matches()
    order, halted, asked = run(tmp_path, found)
    [answer] = order.answers()
    assert (answer.first, answer.second, answer.sign) == ("cot_once", "zs_once", 1) and halted == []
    assert 0 < answer.low < 0.6 < answer.high and "zs_once more than cot_once after" in str(answer)
    assert (
        2 * answer.blocks <= len(order.played) <= 2 * (answer.blocks + AHEAD) < len(found) / 2
    )  # those in flight come to their end
    assert asked == 16 * len(order.played)
    again, _, more = run(tmp_path, found)
    assert again.answers() == order.answers() and more == 0


def test_a_run_that_was_stopped_goes_on_and_decides_the_same(tmp_path):
    found = matches()
    whole, _, _ = run(tmp_path / "whole", found)
    _, halted, asked = run(tmp_path / "cut", found, Budget(calls=150))
    assert any(isinstance(each, BudgetReached) for each in halted) and asked <= 150
    after, halted, rest = run(tmp_path / "cut", found)
    assert (after.answers(), halted) == (whole.answers(), []) and asked + rest <= 16 * (
        2 * whole.answers()[0].blocks + 8
    )


def test_every_block_is_one_match_of_each_condition_in_one_cell_and_none_comes_twice():
    order = Order(matches(), UNTIL)
    for block in order.blocks:
        (one, _), (other, _) = block.values()
        assert one.seats[1] == other.seats[1] and one.game == other.game and one.seats[0] != other.seats[0]
    cells = [(one.game.variant, one.seats[1].agent) for (one, _), _ in (block.values() for block in order.blocks)]
    assert len(set(cells)) == 4 and len({match.id for match in order.ordered}) == 2 * len(cells)
    assert [*Order(matches(), UNTIL).ordered] == order.ordered  # the same at every run
    longest = max(len([*own]) for _, own in groupby(sorted(cells)))
    assert longest == 40  # until a cell has no more


def test_conditions_that_are_decided_are_wanted_no_more(tmp_path):
    order = Order(matches(12, ("zs_once", "cot_once", "spp")), UNTIL)
    for block in order.blocks:
        for name, (match, _) in block.items():
            order.played.add(match.id)
            order._values[match.id] = {"zs_once": 0.8, "cot_once": 0.1, "spp": 0.12}[name]
    assert order.wanted() == {"cot_once", "spp"}  # these two are too alike to be told apart


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (Until(metric="nonsense", range=(0, 1)), "there is no metric 'nonsense'"),
        (Until(by="agent:zs_once,srep", range=(0, 1)), "share no cell"),
        (Until(by="model", range=(0, 1)), "share no cell"),
    ],
)
def test_questions_that_the_plan_cannot_answer_are_refused(until, said):
    with pytest.raises(AgonError, match=said):
        Order(matches(), until)


def test_values_outside_of_the_range_are_refused(tmp_path):
    with pytest.raises(AgonError, match=r"has points [\d.]+, outside of until.range=\[0, 10\]"):
        run(tmp_path, matches(), until=Until(range=(0.0, 10.0)))
