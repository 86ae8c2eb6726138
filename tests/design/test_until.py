"""Asking until a question is decided: the test, the blocks of matches, and a run that is stopped and goes on."""

import asyncio
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from test_record import Says

from agon import AgonError
from agon.models.ledger import Ledger
from agon.models.limits import Budget, BudgetReached
from agon.models.recording import Recording, Writer
from agon.plan import plan
from agon_design.prereg import Until
from agon_design.sequential import capital, decide_sign, interval
from agon_design.until import AHEAD, Answer, blocks, record_until

WORLDS = {
    "coin": lambda dice, n: dice.choice([-1.0, 1.0], n),
    "narrow": lambda dice, n: dice.normal(0, 0.1, n).clip(-1, 1),
    "rare": lambda dice, n: np.where(dice.random(n) < 0.1, -0.9, 0.1),
}


@pytest.mark.parametrize("world", WORLDS)
def test_who_looks_after_every_value_is_seldom_wrong(world):
    dice = np.random.default_rng(1)
    wrong = np.mean([decide_sign(WORLDS[world](dice, 300)).sign != 0 for _ in range(400)])
    assert wrong <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


def test_copies_of_a_match_decide_what_is_not_so():
    dice = np.random.default_rng(1)
    copies = [np.repeat(dice.choice([-1.0, 1.0], 30), 10) for _ in range(40)]  # no difference, ten copies of each match
    assert np.mean([decide_sign(values).sign != 0 for values in copies]) > 0.5, "so record-until warns of copies"


def test_capital_is_a_mixture_of_bets_reckoned_one_by_one():
    values = np.array([0.5, -0.25, 0.75])
    bets = np.geomspace(0.01, 0.98, 16)
    by_hand = np.mean([(1 + 0.5 * bet) * (1 - 0.25 * bet) * (1 + 0.75 * bet) for bet in bets])
    assert capital(values)[0][-1] == pytest.approx(np.log(by_hand))
    shifted = np.mean([np.prod([1 + bet * (each - 0.2) / 1.2 for each in values]) for bet in bets])
    assert capital(values, 0.2)[0][-1] == pytest.approx(np.log(shifted))


def test_the_sign_is_decided_when_zero_leaves_the_interval():
    values = np.random.default_rng(2).uniform(-0.2, 0.6, 200)
    n, sign = decide_sign(values)
    assert sign == 1 and n < 200
    assert interval(values[: n - 1])[0] <= 0 < interval(values[:n])[0] + 0.011 and decide_sign(-values) == (n, -1)
    assert decide_sign(values[: n - 1]) == (n - 1, 0) and decide_sign(values[:0]) == (0, 0)


# --- matches in their order


def matches(repetitions=40, agents=("zs_once", "cot_once")):
    pairing = {
        "games": ["pd", "pd_label"],
        "models": ["standin"],
        "seats": [[*agents], ["uniform", "best_reply_to_last"]],
    }
    return plan({"name": "until", "repetitions": repetitions, "pairings": [pairing]})


UNTIL = Until(metric="cooperation_rate", by="agent:cot_once,zs_once", range=(0.0, 1.0))


class Answers(Says):
    """Cooperates nine times in ten where it is not asked to think, and three times in ten where it is."""

    async def answer(self, request):
        found = await super().answer(request)
        thinks = any("think step by step" in each.text for each in request.messages)
        kind = Random(request.sample).random() < (0.3 if thinks else 0.9)
        return replace(found, text=f"[move] {request.view.legal.options[0 if kind else 1]}")


def run(folder, found, budget=None, rule=UNTIL):
    """Asks until it is decided: the answer, why some matches stopped, and how often the model was asked."""
    model = Answers(context=None)
    writer = Writer(Recording(folder), folder / "lock")
    try:
        ledger = Ledger({"standin": model}, writer, budget or Budget())
        answer, halted = asyncio.run(record_until(blocks(found, rule), rule, ledger, writer.recording, 4))
    finally:
        writer.close()
    return answer, halted, model.asked


def test_asking_ends_when_the_question_is_decided(tmp_path):
    found = matches()
    answer, halted, asked = run(tmp_path, found)
    assert (answer.first, answer.second, answer.sign) == ("cot_once", "zs_once", 1) and halted == []
    assert 0 < answer.low < 0.6 < answer.high and "zs_once more than cot_once after" in str(answer)
    played = asked // 16
    assert 2 * answer.blocks <= played <= 2 * (answer.blocks + AHEAD) < len(found) / 2
    again, _, more = run(tmp_path, found)
    assert again == answer and more == 0


def test_a_run_that_was_stopped_goes_on_and_decides_the_same(tmp_path):
    found = matches()
    whole, _, all_ = run(tmp_path / "whole", found)
    _, halted, asked = run(tmp_path / "cut", found, Budget(calls=150))
    assert any(isinstance(each, BudgetReached) for each in halted) and asked <= 150
    after, halted, rest = run(tmp_path / "cut", found)
    assert (after, halted, asked + rest) == (whole, [], all_)


def test_a_block_has_one_new_match_of_each_condition_in_one_cell():
    found = blocks(matches(), UNTIL)
    for (one, _), (other, _) in found:
        assert one.seats[1] == other.seats[1] and one.game == other.game
        assert (one.seats[0].agent, other.seats[0].agent) == ("cot_once", "zs_once")
    cells = Counter((one.game.variant, one.seats[1].agent) for (one, _), _ in found)
    assert len(cells) == 4 and max(cells.values()) == 40  # until a cell has no more
    assert len({match.id for block in found for match, _ in block}) == 2 * len(found)
    assert blocks(matches(), UNTIL) == found  # the same at every run


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Until(metric="nonsense", by="agent:zs_once,cot_once", range=(0, 1)), "there is no metric 'nonsense'"),
        (Until(by="agent:zs_once,srep", range=(0, 1)), "share no cell"),
        (Until(by="model:standin,other", range=(0, 1)), "share no cell"),
    ],
)
def test_questions_that_the_plan_cannot_answer_are_refused(rule, said):
    with pytest.raises(AgonError, match=said):
        blocks(matches(), rule)


def test_values_outside_of_the_range_are_refused(tmp_path):
    with pytest.raises(AgonError, match=r"has points [\d.]+, outside of until.range=\[0, 10\]"):
        run(tmp_path, matches(), rule=Until(by=UNTIL.by, range=(0.0, 10.0)))


def test_a_metric_that_fails_ends_the_run_in_its_words(tmp_path, monkeypatch):
    def fails(*_):
        raise AgonError("the metric is broken")

    monkeypatch.setattr("agon.games.matrix.metrics.measured", fails)
    with pytest.raises(AgonError, match="the metric is broken"):
        run(tmp_path, matches())


def test_an_answer_counts_its_blocks():
    assert "after 1 block (" in str(Answer("a", "b", 1, 0, -1.0, 1.0))
    assert "after 1,200 blocks (" in str(Answer("a", "b", 1200, 0, -1.0, 1.0))
