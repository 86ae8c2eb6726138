"""Between agents and models: nothing is paid twice, everything sent is written down, and no limit is passed."""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import AgonError
from agon.models import Answer, CallFailed, Model, Request, extend
from agon.models.ledger import Ledger, Live, Replayed, Unfinished, Unrecorded
from agon.models.limits import Budget, BudgetReached
from agon.models.recording import FILE, Exchange, Recording, Writer

RULES = extend((), "system", "the rules " * 20)
RETRY, STOP, VOID = CallFailed("500", "oh"), CallFailed("401", "wrong key", "stop"), CallFailed("400", "no", "void")


@dataclass(kw_only=True)
class Says(Model):
    """Answers with the sample; before that it raises what `failures` holds for it, one after another."""

    model: str = "says"
    pause: float = 0.0
    failures: dict = field(default_factory=dict)
    tokens: tuple = (10, 5)
    asked: Counter = field(default_factory=Counter)
    price: dict = field(default_factory=lambda: {"input": 1e6, "output": 1e6})

    async def answer(self, request):
        self.asked[request.sample] += 1
        await asyncio.sleep(0)
        if left := self.failures.get(request.sample):
            raise left.pop(0)
        return Answer(request.sample, tokens_in=self.tokens[0], tokens_out=self.tokens[1])


def request(sample):
    return Request(extend(RULES, "user", "move"), sample)


def asked(folder, samples, model, budget=None, at_once=True):
    """(what came of each sample: its text, or what was raised; the ledger) of one run."""

    async def run():
        writer = Writer(Recording(folder), folder / "lock")
        try:
            ledger = Ledger({"says": model}, writer, budget or Budget())
            live = Live("says", model, ledger)
            if at_once:
                found = await asyncio.gather(*(live.answer(request(each)) for each in samples), return_exceptions=True)
            else:
                found = [
                    (await asyncio.gather(live.answer(request(each)), return_exceptions=True))[0] for each in samples
                ]
            return [getattr(each, "text", each) for each in found], ledger
        finally:
            writer.close()

    return asyncio.run(run())


def lines(folder):
    """(exchanges, failures) on disk."""
    path = folder / FILE  # a recording of nothing is no file
    every = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    return [line for line in every if "exchange" in line], [line for line in every if "failed" in line]


MANY = [f"m/{n}/0.0.0" for n in range(30)]


# --- nothing is paid twice


def test_what_is_recorded_is_not_asked_again(tmp_path):
    first, again = Says(), Says()
    one, _ = asked(tmp_path, MANY[:20], first)
    other, ledger = asked(tmp_path, MANY, again)
    assert other[:20] == one and sorted(again.asked) == sorted(MANY[20:])
    assert ledger.budget.costs.calls == 10 and len(lines(tmp_path)[0]) == 30


def test_what_is_recorded_needs_no_budget(tmp_path):
    asked(tmp_path, MANY, Says())
    found, ledger = asked(tmp_path, MANY, Says(), Budget(calls=0))
    assert found == MANY and ledger.budget.costs.calls == 0


def test_an_answer_says_its_place_and_whether_it_was_paid_now(tmp_path):
    async def run(folder):
        writer = Writer(Recording(folder), folder / "lock")
        answer = await Live("says", model := Says(), Ledger({"says": model}, writer, Budget())).answer(
            request("m/0/0.0.0")
        )
        writer.close()
        return answer

    new, old = asyncio.run(run(tmp_path)), asyncio.run(run(tmp_path))
    assert replace(new, recorded=True) == old and not new.recorded
    assert new.exchange == lines(tmp_path)[0][0]["exchange"]


def test_other_parameters_are_another_model(tmp_path):
    asked(tmp_path, MANY[:3], Says())
    warm = Says(parameters={"temperature": 1.0})
    asked(tmp_path, MANY[:3], warm)
    assert warm.asked.total() == 3 and len(lines(tmp_path)[0]) == 6


def test_a_recording_alone_gives_the_same_answers(tmp_path):
    found, _ = asked(tmp_path, MANY, Says())
    replayed = Replayed("says", Says().identity, Recording(tmp_path))
    assert [asyncio.run(replayed.answer(request(each))).text for each in MANY] == found and replayed.instant


def test_a_recording_alone_says_what_it_lacks(tmp_path):
    with pytest.raises(Unrecorded, match=r"^no recorded answer of says for m/1/0.0.0$"):
        asyncio.run(Replayed("says", Says().identity, Recording(tmp_path)).answer(request("m/1/0.0.0")))


# --- what fails


failing = st.dictionaries(st.sampled_from(MANY), st.integers(0, 7), max_size=20)


@given(failing, st.sets(st.sampled_from(MANY), max_size=5))
@settings(max_examples=25, deadline=None)
def test_lines_are_calls_whatever_fails(tmp_path_factory, failing, voided):
    folder = tmp_path_factory.mktemp("ledger")
    failures = {each: [RETRY] * count for each, count in failing.items()}
    for each in voided:
        failures.setdefault(each, []).append(VOID)
    model = Says(failures=failures)
    found, ledger = asked(folder, MANY, model)
    exchanges, failed = lines(folder)
    assert len(exchanges) + len(failed) == model.asked.total() == ledger.budget.costs.calls
    assert len(failed) == sum(failing.values()) == ledger.budget.costs.errors["500"]
    assert {each for each, what in zip(MANY, found, strict=True) if isinstance(what, CallFailed)} == voided
    assert all(limiter.in_flight == 0 for limiter in ledger.limiters.values()) and not ledger.budget.bookings


def test_a_call_is_tried_so_many_times_and_not_more(tmp_path):
    model = Says(tries=3, failures={MANY[0]: [RETRY] * 9})
    (found, other), _ = asked(tmp_path, MANY[:2], model)
    assert isinstance(found, Unfinished) and str(found) == "model says: 3 tries failed, the last: oh"
    assert other == MANY[1] and model.asked == {MANY[0]: 3, MANY[1]: 1}


def test_a_conversation_refused_for_good_is_asked_once_and_for_all(tmp_path):
    model = Says(failures={MANY[0]: [VOID]})
    for _ in range(2):
        (found,), _ = asked(tmp_path, MANY[:1], model)
        assert isinstance(found, CallFailed) and (str(found), found.then) == ("no", "void")
    with pytest.raises(CallFailed, match=r"^no$"):
        asyncio.run(Replayed("says", model.identity, Recording(tmp_path)).answer(request(MANY[0])))
    assert model.asked.total() == 1


def test_what_no_try_can_mend_is_tried_once_and_said_in_a_line(tmp_path):
    model = Says(failures={MANY[0]: [STOP]})
    (found,), _ = asked(tmp_path, MANY[:1], model)
    assert isinstance(found, AgonError) and str(found) == "model says: wrong key"
    assert model.asked.total() == 1 and lines(tmp_path)[1][0]["kind"] == "401"


@pytest.mark.parametrize(
    "raised", [TypeError, OverflowError, RecursionError, KeyError, MemoryError, AssertionError, OSError]
)
def test_any_error_of_an_adapter_is_a_failure_on_record(tmp_path, raised):
    model = Says(failures={MANY[3]: [raised("\x1b[31mwhy\nnot")]}, parameters={"max_tokens": 100})
    found, ledger = asked(tmp_path, MANY, model, Budget(tokens=1e6))
    (failed,) = lines(tmp_path)[1]
    assert failed["kind"] == raised.__name__ and "x1b[31mwhy" in failed["text"] and "\x1b" not in failed["text"]
    assert isinstance(found[3], AgonError) and str(found[3]).startswith(f"model says: {raised.__name__}: ")
    assert found[:3] + found[4:] == MANY[:3] + MANY[4:]
    assert not ledger.in_flight and not ledger.budget.bookings and ledger.budget.unreported.tokens > 100
    asyncio.run(asyncio.wait_for(ledger.drain(), 60))


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": None},
        {"text": 3},
        {"thinking": b"x"},
        {"id": 7},
        {"tokens_in": -1},
        {"tokens_in": 1.5},
        {"tokens_out": "5"},
    ]
    + [
        {"tokens_in": 2**60},
        {"tokens_cached": None},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"seconds": -1.0},
    ],
)
def test_an_adapters_answer_that_cannot_be_kept_is_a_failure(tmp_path, wrong):
    class Odd(Says):
        async def answer(self, request):
            return replace(await super().answer(request), **wrong)

    (found,), ledger = asked(tmp_path, MANY[:1], Odd())
    assert isinstance(found, AgonError) and not ledger.in_flight
    assert len(lines(tmp_path)[1]) == 1 and Recording(tmp_path).failures == 1


def test_an_adapter_that_does_not_end_is_ended(tmp_path):
    class Endless(Says):
        async def answer(self, request):
            await super().answer(request)
            await asyncio.sleep(60)

    (found,), ledger = asked(
        tmp_path, MANY[:1], Endless(timeout=0.02, tries=2, parameters={"max_tokens": 9}), Budget(tokens=1e6)
    )
    assert isinstance(found, Unfinished) and "2 tries failed, the last: no answer within the time limit" in str(found)
    assert ledger.budget.unreported.tokens > 18 and len(lines(tmp_path)[1]) == 2


def test_an_error_that_cannot_even_be_told_leaves_no_call_behind(tmp_path):
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    (found,), ledger = asked(tmp_path, MANY[:1], Says(failures={MANY[0]: [Mute()]}))
    assert isinstance(found, RuntimeError) and not ledger.in_flight


def test_an_adapter_that_raises_does_not_leave_a_run_waiting(tmp_path):
    class Odd(Says):
        async def answer(self, request):
            await asyncio.sleep(0.01 * (request.sample != MANY[0]))
            raise TypeError("unsupported operand") if request.sample == MANY[0] else CallFailed("401", "no", "stop")

    found, _ = asked(tmp_path, MANY[:4], Odd())
    assert all(isinstance(each, AgonError) for each in found) and len(lines(tmp_path)[1]) == 4


def test_a_cancelled_call_frees_its_place_and_counts_at_its_most(tmp_path):
    async def story(ledger):
        live = Live("says", Silent(parameters={"max_tokens": 1}), ledger)
        asking = asyncio.create_task(live.answer(request(MANY[0])))
        await asyncio.sleep(0.01)
        assert ledger.in_flight and ledger.budget.at_most["tokens"] > ledger.budget.used["tokens"]
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled() and ledger.budget.unreported.tokens > 1
        assert ledger.budget.at_most == ledger.budget.used
        await ledger.drain()

    class Silent(Says):
        async def answer(self, request):
            await asyncio.sleep(60)

    lost(tmp_path, story, Budget(tokens=1e6))


def test_a_call_whose_cost_cannot_be_kept_is_not_made(tmp_path):
    async def story(ledger):
        def full():
            raise OSError("no space left")

        ledger.note = full
        with pytest.raises(OSError):
            await ledger.enter("says", "k", 10)
        ledger.note = lambda: None

    lost(tmp_path, story, Budget(tokens=1000))


def test_any_number_of_tries_is_possible(tmp_path):
    model = Says(tries=1200, failures={MANY[0]: [RETRY] * 1100})
    assert asked(tmp_path, MANY[:1], model)[0] == MANY[:1] and model.asked.total() == 1101


@pytest.fixture
def pauses(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr("agon.models.ledger.sleep", sleep)
    return slept


def test_pauses_double_and_there_is_none_after_the_last_try(tmp_path, pauses):
    asked(tmp_path, MANY[:1], Says(pause=2.0, tries=11, failures={MANY[0]: [RETRY] * 11}))
    assert len(pauses) == 10
    assert all(0.5 <= pause / (2.0 * min(120, 2**number)) < 1.5 for number, pause in enumerate(pauses))


def test_pauses_differ_from_call_to_call(tmp_path, pauses):
    asked(tmp_path, MANY, Says(pause=2.0, failures={each: [RETRY] for each in MANY}))
    assert len(set(pauses)) == 30


@pytest.mark.parametrize(("after", "paused"), [(None, 1), (0.01, 0), (0.0, 1)])
def test_a_providers_own_wish_comes_first_unless_it_is_nothing(tmp_path, pauses, after, paused):
    asked(tmp_path, MANY[:1], Says(failures={MANY[0]: [CallFailed("503", "oh", after=after)]}))
    assert len(pauses) == paused


# --- limits


def test_no_more_calls_are_in_flight_than_the_model_takes(tmp_path):
    in_flight = []

    class Slow(Says):
        async def answer(self, request):
            in_flight.append(1)
            most.append(len(in_flight))
            await asyncio.sleep(0.002)
            in_flight.pop()
            return await super().answer(request)

    most = []
    asked(tmp_path, MANY, Slow(concurrency=3))
    assert max(most) == 3


@given(
    st.none() | st.integers(0, 40),
    st.none() | st.integers(0, 6000),
    st.none() | st.floats(0, 6000),
    failing,
    st.integers(1, 9),
    st.integers(0, 9),
)
@settings(max_examples=25, deadline=None)
def test_a_budget_is_never_passed(tmp_path_factory, calls, tokens, usd, failing, concurrency, seed):
    dice, folder = Random(seed), tmp_path_factory.mktemp("budget")

    class Varied(Says):
        async def answer(self, request):
            answer = await super().answer(request)
            return replace(answer, tokens_in=dice.randint(1, 60), tokens_out=dice.randint(0, 100))

    model = Varied(
        concurrency=concurrency,
        parameters={"max_tokens": 100},
        failures={each: [RETRY] * count for each, count in failing.items()},
    )
    found, ledger = asked(folder, MANY, model, Budget(usd, tokens, calls))
    spent = ledger.budget.costs
    assert calls is None or spent.calls <= calls
    assert tokens is None or spent.tokens <= tokens
    assert usd is None or spent.usd <= usd + 1e-9
    assert spent.calls == model.asked.total() and spent.answers == len(lines(folder)[0])
    reached = [each for each in found if isinstance(each, BudgetReached)]
    bound = len(RULES[0].text + "move") + 1 + 100
    left = (
        (calls is not None and calls - spent.calls < 1)
        or (tokens is not None and tokens - spent.tokens < bound)
        or (usd is not None and usd - spent.usd < bound + 1e-9)
    )
    assert left or not reached
    assert len(reached) + sum(isinstance(each, str) for each in found) == len(MANY)


def test_what_a_budget_stopped_is_gone_on_with_for_what_is_left(tmp_path):
    model = Says()
    runs = [asked(tmp_path, MANY, model, Budget(calls=12))[1].budget.costs.calls for _ in range(4)]
    assert runs == [12, 12, 6, 0] and set(model.asked.values()) == {1} and len(model.asked) == 30


@pytest.mark.parametrize("budget", [{"usd": 1.0}, {"tokens": 1000}])
def test_a_budget_wants_to_know_how_long_an_answer_may_be(tmp_path, budget):
    with pytest.raises(
        AgonError,
        match=r"^model says: without max_tokens a call's cost has no bound: write parameters:",
    ):
        asked(tmp_path, MANY, Says(), Budget(**budget))


@pytest.mark.parametrize("price", [{}, {"input": 1.0}, {"output": 1.0}, {"input": None, "output": 1.0}])
def test_a_budget_in_money_wants_to_know_the_price(tmp_path, price):
    with pytest.raises(
        AgonError, match=r"^model says: budget.usd needs its price: fill in conf/model/says.yaml, or use"
    ):
        asked(tmp_path, MANY, Says(price=price, parameters={"max_tokens": 9}), Budget(usd=1.0))


def test_a_budget_in_tokens_or_calls_needs_no_price(tmp_path):
    model = Says(price={}, parameters={"max_tokens": 9})
    found, ledger = asked(tmp_path, MANY, model, Budget(tokens=1e6, calls=100))
    assert found == MANY and ledger.budget.costs.unpriced == 30


def test_more_tokens_than_expected_widen_the_next_bounds(tmp_path):
    size = len((RULES[0].text + "move").encode())
    model = Says(tokens=(2 * size, 1), parameters={"max_tokens": 1})
    found, ledger = asked(tmp_path, MANY, model, Budget(tokens=5 * (2 * size + 1) + size), at_once=False)
    assert sum(isinstance(each, str) for each in found) == 5 and ledger.budget.costs.tokens == 5 * (2 * size + 1)


def test_a_budget_holds_from_the_first_call_where_every_byte_is_a_token(tmp_path):
    size = len((RULES[0].text + "move").encode())
    model = Says(tokens=(size, 1), parameters={"max_tokens": 1}, concurrency=8)
    _, ledger = asked(tmp_path, MANY, model, Budget(tokens=7 * size))
    assert 0 < ledger.budget.costs.tokens <= 7 * size


def test_answers_that_do_not_say_what_they_cost_do_not_pass_a_budget(tmp_path):
    model = Says(tokens=(0, 0), parameters={"max_tokens": 100})
    _, ledger = asked(tmp_path, MANY, model, Budget(tokens=2000))
    assert model.asked.total() * 100 <= 2000 and ledger.budget.unreported.tokens <= 2000


@pytest.mark.parametrize(
    ("kind", "counts"),
    [("timeout", True), ("no answer", True), ("too large", True), ("ValueError", True), ("504", True), ("408", True)]
    + [("500", False), ("429", False), ("no connection", False), ("key", False)],
)
def test_a_failed_call_counts_where_it_may_be_billed(tmp_path, kind, counts):
    model = Says(parameters={"max_tokens": 100}, failures={MANY[0]: [CallFailed(kind, "oh")]})
    _, ledger = asked(tmp_path, MANY[:1], model, Budget(tokens=5000))
    assert (ledger.budget.unreported.tokens > 100) is counts


@pytest.mark.parametrize(
    ("extra", "longest"),
    [
        ({}, 10),
        (None, 10),
        ({"max_tokens": 70}, 70),
        ({"max_completion_tokens": 70, "max_tokens": 5}, 70),
        ({"n": 4}, 40),
    ]
    + [({"n": 3, "max_output_tokens": 70}, 210), ({"n": "many"}, 10), ({"n": 0}, 10)],
)
def test_what_extra_asks_for_counts_in_a_calls_bound(tmp_path, extra, longest):
    model = Says(tokens=(0, 0), parameters={"max_tokens": 10, "extra": extra})
    _, ledger = asked(tmp_path, MANY[:1], model, Budget(tokens=5000))
    assert ledger.budget.used["tokens"] == len((RULES[0].text + "move").encode()) + 1 + longest


def test_an_answer_whose_cost_is_not_believed_counts_at_its_most(tmp_path):
    class Unclear(Says):
        async def answer(self, request):
            return replace(await super().answer(request), unreported=True)

    model = Unclear(tokens=(10, 0), parameters={"max_tokens": 100})
    _, ledger = asked(tmp_path, MANY, model, Budget(tokens=2000))
    assert model.asked.total() * 300 <= 2000 < ledger.budget.used["tokens"] + 300
    assert all(line["unreported"] for line in lines(tmp_path)[0])


def test_an_answer_longer_than_max_tokens_makes_the_next_bounds_wider(tmp_path):
    model = Says(tokens=(10, 500), parameters={"max_tokens": 1})
    _, ledger = asked(tmp_path, MANY, model, Budget(tokens=3000), at_once=False)
    assert 0 < ledger.budget.costs.tokens <= 3000


def test_two_files_of_one_model_cannot_share_a_recording(tmp_path):
    writer = Writer(Recording(tmp_path), tmp_path / "lock")
    with pytest.raises(AgonError, match=r"^models one and two cannot be told apart: they have the same `model`"):
        Ledger({"one": Says(), "two": Says(concurrency=3)}, writer, Budget())
    writer.close()


# --- workers that are lost


def lost(folder, story, budget=None):
    """Tells a story of workers to a ledger where one call may be in flight; then every place must be free again."""

    async def run():
        writer = Writer(Recording(folder), folder / "lock")
        ledger = Ledger({"says": Says(concurrency=1, parameters={"max_tokens": 1})}, writer, budget or Budget())
        try:
            async with asyncio.timeout(60):
                await story(ledger)
        finally:
            writer.close()
        assert ledger.limiters["says"].in_flight == 0 and not ledger.budget.bookings

    asyncio.run(run())


async def keep(ledger, key):
    line = Exchange(key, "says", {}, RULES[-1].id, f"m/0/{key}", f"answer to {key}", tokens_in=1)
    await ledger.keep("says", line, RULES)


def test_a_call_that_a_lost_worker_had_in_hand_may_be_made_again(tmp_path):
    async def story(ledger):
        assert await ledger.enter("says", "k", 10) is None  # by a worker that is then lost
        assert await ledger.enter("says", "k", 10) is None
        await keep(ledger, "k")
        assert (await ledger.enter("says", "k", 10)).text == "answer to k"

    lost(tmp_path, story)


def test_a_call_of_which_nobody_will_tell_leaves_its_place_to_others(tmp_path):
    async def story(ledger):
        assert await ledger.enter("says", "k", 10) is None
        ledger.abandon("says", "k")
        assert await ledger.enter("says", "other", 10) is None
        await keep(ledger, "k")  # it was not gone after all
        await keep(ledger, "other")
        assert (await ledger.enter("says", "k", 10)).text == "answer to k"

    lost(tmp_path, story)


@pytest.mark.parametrize("budget", [{}, {"tokens": 13.0}], ids=["limiter", "budget"])
def test_who_gives_up_waiting_keeps_nobody_out(tmp_path, budget):
    async def story(ledger):
        assert await ledger.enter("says", "first", 10) is None
        given_up, patient = (asyncio.create_task(ledger.enter("says", key, 10)) for key in ("second", "third"))
        await asyncio.sleep(0.01)
        given_up.cancel()
        await keep(ledger, "first")
        assert await patient is None
        await keep(ledger, "third")

    lost(tmp_path, story, Budget(**budget))
