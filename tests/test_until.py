"""Asking until a question is decided: the test, the order of matches, and a run that is stopped and goes on."""

import asyncio
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from test_record import Says

from agon import AgonError
from agon.conf import Until
from agon.inference.until import Order
from agon.metrics.sequential import AHEAD, ahead, capital, course, decided, interval
from agon.models.ledger import Ledger, Replayed
from agon.models.limits import Budget, BudgetReached
from agon.models.recording import Recording, Writer
from agon.plan import plan
from agon.record import record

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


PRICES = np.array([8.0, 1.0, 0.2, 0.2, 2.0])


def courses(means, by_price, runs=150):
    """Runs of conditions that score 1 with these chances, else 0; in 60 blocks, where each costs what PRICES says."""
    dice, prices = np.random.default_rng(6), np.tile(PRICES[:, None], (1, 60))
    drawn = ((dice.random((5, 60)) < means[:, None]).astype(float) for _ in range(runs))
    return [course(values, prices, 0.05, by_price=by_price) for values in drawn]


def test_an_order_by_price_is_seldom_wrong():
    wrong = np.mean([each.signs.any() for each in courses(np.full(5, 0.5), True)])
    assert wrong <= 0.05 + 2 * (0.05 * 0.95 / 150) ** 0.5


def test_an_order_by_price_decides_the_same_and_the_cheap_questions_first():
    means = np.array([0.9, 0.1, 0.9, 0.1, 0.5])
    plain, ordered = (courses(means, by_price, 20) for by_price in (False, True))
    for one, other in zip(plain, ordered, strict=True):
        assert (one.signs == other.signs).all() and one.decided[-1] == other.decided[-1] > 5
        first = [each.spent[each.decided > 0][0] for each in (one, other)]
        assert first[1] < 0.5 * first[0]


def test_the_cheapest_question_comes_next_as_far_as_it_is_looked_ahead():
    questions, blocks = np.array([[0, 1], [0, 2], [1, 2]]), 100
    start = ahead(np.zeros(3, int), questions, np.zeros(3), 4.0, np.array([5.0, 1.0, 1.0]), blocks)
    assert start.tolist() == [0, AHEAD, AHEAD]
    promising = ahead(np.full(3, 8), questions, np.array([3.9, 0.1, 0.1]), 4.0, np.array([5.0, 1.0, 1.0]), blocks)
    assert promising.tolist() == [8 + AHEAD, 8 + AHEAD, 8]
    assert ahead(np.full(3, blocks), questions, np.zeros(3), 4.0, np.ones(3), blocks).tolist() == [blocks] * 3
    assert ahead(np.full(3, 98), questions[:0], np.zeros(0), 4.0, np.ones(3), blocks).tolist() == [98] * 3


def test_what_costs_nothing_is_played_together():
    free = ahead(np.zeros(3, int), np.array([[0, 1], [1, 2]]), np.zeros(2), 4.0, np.zeros(3), 9)
    assert free.tolist() == [AHEAD] * 3


# --- matches in their order


def matches(repetitions=40, agents=("zs_once", "cot_once")):
    pairing = {
        "games": ["pd", "pd_label"],
        "models": ["standin"],
        "seats": [[*agents], ["uniform", "best_reply_to_last"]],
    }
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
    order, writer = Order(found, until, {"standin": model}), Writer(Recording(folder), folder / "lock")
    try:
        order.recorded({"standin": Replayed("standin", model.identity, writer.recording)})
        ledger = Ledger({"standin": model}, writer, budget or Budget())
        halted = asyncio.run(record(order.candidates, ledger, 4, gate=order))
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
    assert (after.answers(), after.played, halted) == (whole.answers(), whole.played, [])
    assert asked + rest == 16 * len(whole.played)


def test_every_block_is_one_match_of_each_condition_in_one_cell_and_none_comes_twice():
    order = Order(matches(), UNTIL, {"standin": Answers(context=None)})
    for block in order.blocks:
        (one, _), (other, _) = block.values()
        assert one.seats[1] == other.seats[1] and one.game == other.game and one.seats[0] != other.seats[0]
    cells = [(one.game.variant, one.seats[1].agent) for (one, _), _ in (block.values() for block in order.blocks)]
    assert len(set(cells)) == 4 and len({match.id for match in order.candidates}) == 2 * len(cells)
    assert Order(matches(), UNTIL, order.models).candidates == order.candidates  # the same at every run
    assert max(Counter(cells).values()) == 40  # until a cell has no more


def test_conditions_that_are_decided_are_asked_no_more():
    order = Order(matches(12, ("zs_once", "cot_once", "spp")), UNTIL, {"standin": Answers(context=None)})
    asked = Counter()
    while wanted := order._wanted():
        for match in wanted:
            agent = match.seats[0].agent
            asked[agent] += 1
            order.played.add(match.id)
            order._values[match.id], order._prices[match.id] = (
                {"zs_once": 0.8, "cot_once": 0.1, "spp": 0.12}[agent],
                1.0,
            )
    assert order.undecided() == [("cot_once", "spp")]  # these two are too alike to be told apart
    assert asked["zs_once"] < asked["cot_once"] == asked["spp"] == len(order.blocks)


@pytest.mark.parametrize("price", [{"input": 1.0, "output": 4.0}, {}, {"input": 1.0}], ids=["usd", "time", "no price"])
def test_what_asks_for_less_is_played_first(tmp_path, price):
    """Three votes cost three times as much: by prices, or where one is not known by the tokens received."""
    order, _, _ = run(tmp_path, matches(15, ("zs_once", "zs_sc3", "cot_once")), Budget(calls=16 * 8), price=price)
    asked = Counter(seat.agent for match in order.candidates if match.id in order.played for seat in match.seats)
    assert asked["zs_sc3"] == 0 < asked["zs_once"]


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
        Order(matches(), until, {"standin": Answers(context=None)})


def test_values_outside_of_the_range_are_refused(tmp_path):
    with pytest.raises(AgonError, match=r"has points [\d.]+, outside of until.range=\[0, 10\]"):
        run(tmp_path, matches(), until=Until(range=(0.0, 10.0)))
