"""The bill, unpaid: as many calls as will be made, about as many tokens, and only what is not recorded yet."""

import asyncio
import time
from dataclasses import replace

import pytest
from harness import GAMES, experiment

from agon import AgonError
from agon.agents import seat_dice
from agon.conf import configuration
from agon.games.matrix.scripts import tit_for_tat
from agon.models import Request, extend
from agon.models.ledger import Ledger
from agon.models.limits import Budget
from agon.models.recording import Recording, Writer
from agon.models.standin import StandIn
from agon.plan import models_of, plan
from agon.record import LETTERS, bills, record

EXPECTED = {"zs": 15, "zs_sc3": 15, "cot": 250}
"""Tokens of an answer, as the agents' files say."""


def standin(words=11, **settings):
    return StandIn(**{"model": "standin", "policy": tit_for_tat, "words": words} | settings)


def as_long_as(tokens, game):
    """A stand-in whose answers in a game are of that length, with the shortest label at the least."""
    view = GAMES[game].observe(GAMES[game].start(seat_dice(0, -1)), 0)
    shortest = min(map(len, view.legal.options))

    def letters(model):
        text = asyncio.run(model.answer(Request(extend((), "user", "move"), "s", view=view))).text
        return len(text) - len(view.legal.options[0]) + shortest

    return next(model for words in range(400) if letters(model := standin(words)) > LETTERS * tokens)


def pairing(*seats, games=("pd",), repetitions=2, models=("standin",)):
    """The matches of a pairing."""
    one = {"games": list(games), "seats": [list(seat) for seat in seats], "models": list(models)}
    return plan({"name": "test", "repetitions": repetitions, "pairings": [one]})


def paid(folder, matches, model, budget=None):
    """What is spent in recording these matches."""

    async def run():
        ledger = Ledger({"standin": model}, Writer(Recording(folder), folder / "lock"), budget or Budget())
        await record(matches, ledger)
        ledger.writer.close()
        return ledger.budget.spent

    return asyncio.run(run())


def bill(matches, model, recording=None):
    """The only bill."""
    (found,) = bills(matches, {"standin": model}, recording)
    return found


# --- as many calls, about as many tokens


@pytest.mark.parametrize("other", ["tft", None], ids=["script", "itself"])
@pytest.mark.parametrize("agent", EXPECTED)
@pytest.mark.parametrize("game", ["pd", "rps_joint"])
def test_calls_are_those_that_are_made_and_tokens_nearly(tmp_path, agent, game, other):
    matches = pairing([agent], [other or agent], games=[game])
    model = as_long_as(EXPECTED[agent], game)
    expected, spent = bill(matches, model).asked, paid(tmp_path, matches, model)
    assert expected.calls == spent.calls
    assert expected.tokens_in == pytest.approx(spent.tokens_in, rel=0.05)
    assert expected.tokens_out == pytest.approx(spent.tokens_out, rel=0.05)


@pytest.mark.parametrize("agent", ["zs_constrained", "cot_constrained", "zs_weighed"])
@pytest.mark.parametrize("game", ["pd", "rps_joint"])
def test_answers_that_are_enforced_or_weighed_are_billed_as_they_are_asked_for(tmp_path, agent, game):
    matches, model = pairing([agent], ["tft"], games=[game]), standin(words=200)
    expected, spent = bill(matches, model).asked, paid(tmp_path, matches, model)
    assert expected.calls == spent.calls == len(matches) * GAMES[game].rounds
    assert expected.tokens_in == pytest.approx(spent.tokens_in, rel=0.05)


def test_weighing_costs_what_its_labels_have_of_tokens_and_no_answer():
    one, free = (bill(pairing([agent], ["tft"], repetitions=1), standin()).asked for agent in ("zs_weighed", "zs"))
    labels = sum(len(f"[move] {label}") for label in GAMES["pd"].options)
    assert one.calls == free.calls and one.tokens_out == 16 * (labels // LETTERS) and free.tokens_out == 16 * 15


def test_samples_of_a_vote_are_all_counted():
    one, three = (bill(pairing([agent], ["tft"]), standin()).asked.calls for agent in ("zs", "zs_sc3"))
    assert three == 3 * one == 3 * 2 * 16


def test_scripts_are_for_nothing():
    assert bills(pairing(["tft"], ["srep"], models=[]), {}) == []
    assert bill(pairing(["zs"], ["tft"]) + pairing(["tft"], ["srep"], models=[]), standin()).matches == 2


def test_each_model_has_a_bill_of_its_own():
    asked = experiment(agents=["zs", "tft"], models=["standin", "gpt_4o"], repetitions=1)
    found = {bill.model: bill for bill in bills(plan(asked), models_of(asked))}
    rounds = 16
    assert found["standin"].asked.calls == found["gpt_4o"].asked.calls == (2 + 1 + 1) * rounds
    assert found["standin"].matches == found["gpt_4o"].matches == 3
    assert found["standin"].usd == 0 and found["gpt_4o"].usd > 0


# --- what is left


def test_two_files_of_one_model_are_refused_since_their_matches_would_be_the_same():
    with pytest.raises(AgonError, match=r"^models standin and slow cannot be told apart"):
        bills([], {"standin": standin(), "slow": standin(delay=1.0)})


def test_what_is_recorded_is_left_out(tmp_path):
    matches, model = pairing(["zs", "cot"], ["zs", "tft"], repetitions=3), standin(concurrency=2)
    whole = bill(matches, model).asked.calls
    made = paid(tmp_path, matches, model, Budget(calls=150)).calls
    left = bill(matches, model, Recording(tmp_path))
    assert made == 150 and left.asked.calls == pytest.approx(whole - 150) and left.matches < len(matches)
    paid(tmp_path, matches, model)
    done = bill(matches, model, Recording(tmp_path))
    assert (done.asked.calls, done.asked.tokens_in, done.usd, done.matches, done.seconds) == (0, 0, 0, 0, 0)


def test_a_match_that_took_more_calls_than_expected_is_not_less_than_nothing(tmp_path):
    matches, model = pairing(["zs"], ["tft"]), standin(malformed=0.6)
    assert paid(tmp_path, matches[:1], model).calls > 16
    assert bill(matches, model, Recording(tmp_path)).asked.calls == 16


def test_what_was_recorded_and_leads_nowhere_is_not_left_out(tmp_path):
    """An answer that has been altered since: the match goes another way, and asks for what nobody has recorded."""
    matches, model = pairing(["zs"], ["tft"]), standin()
    paid(tmp_path, matches[:1], model)
    file = Recording(tmp_path).path
    first, second = "[move] cooperation", "[move] defection"
    file.write_text(file.read_text().replace(f'{first}","tokens_in"', f'{second}","tokens_in"'))
    assert bill(matches[:1], model, Recording(tmp_path)).asked.calls == 15


def test_what_other_matches_recorded_does_not_count(tmp_path):
    model = standin()
    paid(tmp_path, pairing(["zs"], ["grim"]), model)
    assert bill(pairing(["zs"], ["tft"]), model, Recording(tmp_path)) == bill(pairing(["zs"], ["tft"]), model)


# --- money and time


def test_a_price_is_per_million_tokens():
    matches = pairing(["zs"], ["tft"])
    found = bill(matches, standin(price={"input": 2.0, "cached": 0.1, "output": 8.0}))
    assert found.usd == pytest.approx((2 * found.asked.tokens_in + 8 * found.asked.tokens_out) / 1e6)


@pytest.mark.parametrize("price", [{}, {"input": 1.0}, {"input": None, "output": None}])
def test_an_unknown_price_is_unknown(price):
    assert bill(pairing(["zs"], ["tft"]), standin(price=price)).usd is None


def test_no_answer_is_longer_than_it_may_be():
    matches = pairing(["cot"], ["tft"], repetitions=1)
    free, short = bill(matches, standin()).asked, bill(matches, standin(parameters={"max_tokens": 50})).asked
    assert (free.tokens_out, short.tokens_out) == (16 * 250, 16 * 50) and short.tokens_in < free.tokens_in


def test_a_history_is_sent_again_in_every_round():
    short, long = (bill(plan_of(rounds), standin()).asked.tokens_in for rounds in (8, 16))
    assert 2.3 < long / short < 4 and LETTERS == 4


def plan_of(rounds):
    return [replace(match, game=replace(match.game, rounds=rounds)) for match in pairing(["zs"], ["tft"])]


def test_time_is_that_of_the_tightest_limit():
    matches = pairing(["zs"], ["tft"], repetitions=10)
    calls = 160
    free, narrow = (bill(matches, standin(concurrency=n)).seconds for n in (10, 1))
    assert narrow == pytest.approx(10 * free) and narrow == pytest.approx(calls * (0.7 + 0.02 * 15))
    assert bill(matches, standin(requests_per_minute=10)).seconds == pytest.approx(calls / 10 * 60)
    rated = bill(matches, standin(tokens_per_minute=1000))
    assert rated.seconds == pytest.approx((rated.asked.tokens_in + rated.asked.tokens_out) / 1000 * 60)


# --- a whole paper


def test_the_whole_experiment_of_the_paper_is_estimated_in_seconds():
    asked = configuration(["experiment=counterfactual_live"])["experiment"]
    matches, models = plan(asked), models_of(asked)
    start = time.process_time()
    found = bills(matches, models)
    assert time.process_time() - start < 5
    one_shot = (3 * 3 * 2 + 3 * 4) * 4 * 5
    voted = {k: (3 * 3 * (k + 1) + 3 * 4 * k) * 4 * 2 for k in (3, 5)}
    assert {bill.asked.calls for bill in found} == {16 * (one_shot + voted[3]) + 24 * (one_shot + voted[5])}
    assert len(found) == 8 and sum(bill.matches for bill in found) == len(matches) == 9408
