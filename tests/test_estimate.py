"""What plan says beforehand is a range in which what is really asked lies; never a point."""

import asyncio
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agon.estimate import Habits, estimates
from agon.games.matrix.scripts import tit_for_tat
from agon.models.ledger import Ledger
from agon.models.limits import Budget
from agon.models.recording import Recording, Writer
from agon.models.standin import StandIn
from agon.plan import plan
from agon.record import record


def standin(words=11, name="own", **more):
    price = {"input": 2.0, "cached": 0.2, "output": 8.0}
    return StandIn(
        **{"model": name, "policy": tit_for_tat, "words": words, "price": price, "parameters": {"max_tokens": 400}}
        | more
    )


def pairing(*seats, game="pd", repetitions=2):
    one = {"games": [game], "seats": [[seat] for seat in seats], "models": ["standin"]}
    return plan({"name": "test", "repetitions": repetitions, "pairings": [one]})


def paid(folder, matches, model):
    async def run():
        recording = Recording(folder)
        ledger = Ledger({"standin": model}, Writer(recording, folder / "lock"), Budget())
        await record(matches, ledger)
        ledger.writer.close()
        return ledger.budget.spent

    return asyncio.run(run())


def estimate(matches, model, folder=None, recording=None):
    (found,) = estimates(matches, {"standin": model}, recording, None if folder is None else Habits(folder))
    return found


def holds(found, spent):
    """Whether what was spent lies in the range."""
    load = found.load
    pairs = (
        (load.calls, spent.answers),
        (load.tokens_in, spent.tokens_in),
        (load.tokens_out, spent.tokens_out),
        (found.usd, spent.usd),
    )
    return [low <= actual <= high for (low, _, high), actual in pairs] == [True] * 4


@given(
    st.floats(0, 1),
    st.integers(0, 60),
    st.sampled_from(["zs", "cot", "zs_sc3", "zs_constrained", "beliefs_matrix"]),
    st.sampled_from(["tft", None]),
)
@settings(max_examples=12, deadline=None)
def test_without_recordings_whatever_is_possible_lies_in_the_range(tmp_path_factory, malformed, words, agent, other):
    matches, model = pairing(agent, other or agent, repetitions=1), standin(words, malformed=malformed)
    found = estimate(matches, model)
    assert holds(found, paid(tmp_path_factory.mktemp("e"), matches, model))
    assert found.basis.startswith("bounds where nothing is recorded")


@given(st.floats(0, 0.6), st.integers(0, 200), st.sampled_from(["zs", "cot", "zs_sc3"]), st.integers(1, 12))
@settings(max_examples=10, deadline=None)
def test_recordings_of_the_same_agent_and_game_narrow_it_and_it_still_holds(
    tmp_path_factory, malformed, words, agent, recorded
):
    folder, model = tmp_path_factory.mktemp("e"), standin(words, malformed=malformed)
    matches = pairing(agent, "tft", repetitions=recorded + 12)
    paid(folder / "mine", matches[:recorded], model)
    found = estimate(matches, model, folder, Recording(folder / "mine"))
    blind = estimate(matches[recorded:], model)
    narrow = (part.high - part.low for part in found.load)
    assert found.basis == f"{min(recorded, 16)} recorded seats of {agent} in pd"
    assert all(
        one < another for one, another in zip(narrow, (part.high - part.low for part in blind.load), strict=True)
    )
    assert all(part.low <= part.middle < part.high for part in found.load)  # no question can be asked less than once
    assert holds(found, paid(folder / "theirs", matches[recorded:], model))


def test_it_says_by_what_it_was_calibrated(tmp_path):
    matches, model = pairing("zs", "zs", repetitions=4), standin()
    paid(tmp_path / "mine", matches[:2], model)
    assert estimate(matches, model, tmp_path).basis == "4 recorded seats of zs in pd"
    assert estimate(matches[:2], model, tmp_path, Recording(tmp_path / "mine")).basis == "nothing is left to ask"
    other = estimate(pairing("zs", "zs", game="rps"), model, tmp_path)
    assert other.basis.startswith("bounds where nothing is recorded")


def test_one_script_tells_nothing_of_another(tmp_path):
    matches = pairing("zs", "tft", repetitions=2)
    paid(tmp_path / "mine", matches, standin())
    assert estimate(matches, standin(name="another"), tmp_path).basis.startswith("bounds")


def test_what_is_recorded_in_part_is_left_out(tmp_path):
    matches, model = pairing("zs", "tft", repetitions=2), standin()
    paid(tmp_path / "mine", matches[:1], model)
    left = estimate(matches, model, recording=Recording(tmp_path / "mine"))
    assert (left.matches, left.load.calls.low, left.load.calls.middle) == (1, 16, 16)


def test_without_max_tokens_there_is_no_bound():
    found = estimate(pairing("zs", "tft"), standin(parameters={}))
    assert math.isinf(found.load.tokens_out.high) and math.isinf(found.usd.high) and math.isfinite(found.usd.middle)
    assert math.isfinite(estimate(pairing("zs", "tft"), standin(parameters={}, context=1000)).load.tokens_in.high)


def test_no_more_is_sent_than_fits():
    short, long = (estimate(pairing("cot", "tft"), standin(context=each)).load.tokens_in.high for each in (3000, None))
    assert short <= 2 * 16 * 5 * 3000 < long


def test_a_match_takes_as_long_as_its_questions_one_after_another():
    one = estimate(pairing("zs", "zs", repetitions=1), standin(concurrency=50)).seconds
    assert one.low >= 16 * 0.2 and one.middle >= 16 * 0.7
    many = estimate(pairing("zs", "zs", repetitions=100), standin(concurrency=4)).seconds
    assert many.middle == pytest.approx(100 * 32 / 4 * (0.7 + 0.02 * 15))


def test_recorded_calls_tell_how_long_calls_take(tmp_path):
    class Timed(StandIn):
        async def answer(self, request):
            return replace(await super().answer(request), seconds=0.02)

    model = Timed(model="timed", policy=tit_for_tat)
    matches = pairing("zs", "tft", repetitions=2)
    paid(tmp_path / "mine", matches[:1], model)
    found = estimate(matches, model, tmp_path, Recording(tmp_path / "mine")).seconds
    assert found.middle == pytest.approx(16 * 0.02) and 0.05 < found.low < found.middle < found.high < 2


@pytest.mark.parametrize("price", [{}, {"input": 1.0}])
def test_an_unknown_price_is_unknown(price):
    assert estimate(pairing("zs", "tft"), standin(price=price)).usd is None
