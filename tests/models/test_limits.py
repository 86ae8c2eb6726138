"""Limits: never more at once, never faster, never dearer than said; and nobody waits for ever. Time is simulated."""

import asyncio
import selectors
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agon.games.matrix.scripts import grim
from agon.models import Answer, CallFailed, Halted
from agon.models import limits as module
from agon.models.limits import REST, Bucket, Budget, BudgetReached, CostBound, RateLimiter
from agon.models.standin import StandIn

few = settings(max_examples=60, deadline=None)


class _Hurrying(selectors.SelectSelector):
    """Waits for nothing: says how long it would have waited."""

    waited = 1000.0

    def select(self, timeout=None):
        if timeout:
            self.waited += timeout
        return super().select(0)


class Simulated(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to whatever comes next."""

    def __init__(self):
        self.hurrying = _Hurrying()
        super().__init__(self.hurrying)

    def time(self):
        return self.hurrying.waited


def now():
    return asyncio.get_running_loop().time()


def run(main):
    """Runs a coroutine in simulated time."""
    real, module.monotonic = module.monotonic, now
    try:
        with asyncio.Runner(loop_factory=Simulated) as runner:
            return runner.run(asyncio.wait_for(main, 1e6))
    finally:
        module.monotonic = real


def model(**settings):
    return StandIn(**{"model": "m", "policy": grim, "concurrency": 4, "pause": 0.5} | settings)


@dataclass
class Watch:
    """Who is inside a limiter, and who has been."""

    limiter: RateLimiter
    inside: int = 0
    most: int = 0

    def __post_init__(self):
        self.entered: list[tuple[object, float]] = []

    async def call(self, name=None, seconds=1.0, failure=None, tokens=0.0):
        """One call through the limiter."""
        await self.limiter.enter(tokens)
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.append((name, now()))
        try:
            await asyncio.sleep(seconds)
        finally:
            self.inside -= 1
            self.limiter.leave(0.0, failure)


def calls(limiter, *many):
    """Everything there is to know after these calls (settings of Watch.call), all asked at once."""

    async def main():
        watch = Watch(limiter)
        await asyncio.gather(*(watch.call(number, **each) for number, each in enumerate(many)))
        return watch

    return run(main())


BUSY, BUSY_AFTER = CallFailed("429", "slow down"), CallFailed("429", "slow down", after=30.0)


# --- the limiter: how many at once


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60), st.integers(1, 7))
@few
def test_as_many_calls_are_in_flight_as_the_model_takes(seconds, concurrency):
    watch = calls(RateLimiter(model(concurrency=concurrency)), *[{"seconds": each} for each in seconds])
    assert (
        watch.most == min(concurrency, len(seconds))
        and len(watch.entered) == len(seconds)
        and watch.limiter.in_flight == 0
    )


@given(st.lists(st.floats(0, 3), min_size=1, max_size=40), st.integers(1, 4))
@few
def test_first_come_is_first_served(seconds, concurrency):
    watch = calls(RateLimiter(model(concurrency=concurrency)), *[{"seconds": each} for each in seconds])
    assert [name for name, _ in watch.entered] == list(range(len(seconds)))


def test_a_call_that_waits_is_not_overtaken():
    async def main():
        watch = Watch(RateLimiter(model(concurrency=1)))

        async def again_and_again():
            for _ in range(50):
                await watch.call("greedy", seconds=0.1)

        greedy = asyncio.create_task(again_and_again())
        await asyncio.sleep(0.05)
        await watch.call("patient", seconds=0.0)
        greedy.cancel()
        return watch.entered

    assert [name for name, _ in run(main())] == ["greedy", "patient"]


@given(st.lists(st.tuples(st.floats(0, 3), st.none() | st.floats(0, 6)), min_size=1, max_size=40), st.integers(1, 4))
@few
def test_who_gives_up_leaves_no_place_taken(many, concurrency):
    async def main():
        watch = Watch(RateLimiter(model(concurrency=concurrency, requests_per_minute=300)))

        async def one(number, seconds, patience):
            try:
                async with asyncio.timeout(patience):
                    await watch.call(number, seconds=seconds)
            except TimeoutError:
                return

        await asyncio.gather(*(one(number, *each) for number, each in enumerate(many)))
        return watch

    watch = run(main())
    patient = {number for number, (_, patience) in enumerate(many) if patience is None}
    assert watch.limiter.in_flight == watch.inside == 0 and watch.most <= concurrency
    assert patient <= {name for name, _ in watch.entered}


def test_who_is_cancelled_at_the_moment_it_is_let_in_hands_its_place_on():
    async def main():
        watch = Watch(RateLimiter(model(concurrency=1)))
        await watch.limiter.enter(0)
        second, third = (asyncio.create_task(watch.call(name)) for name in ("second", "third"))
        await asyncio.sleep(0)
        watch.limiter.leave()
        second.cancel()
        await asyncio.wait_for(third, 60)
        return watch

    watch = run(main())
    assert [name for name, _ in watch.entered] == ["third"] and watch.limiter.in_flight == 0


# --- the limiter: a provider that is busy


def test_a_429_takes_a_third_away_and_answers_give_it_back():
    async def main():
        watch = Watch(RateLimiter(model(concurrency=9)))
        await watch.call(failure=BUSY)
        limit, watch.most = watch.limiter.limit, 0
        await asyncio.gather(*(watch.call() for _ in range(6)))
        cut = watch.most
        await asyncio.gather(*(watch.call() for _ in range(60)))
        return limit, cut, watch.most, watch.limiter.limit

    assert run(main()) == (6, 6, 9, 9)


def test_no_answer_gives_back_more_than_there_was():
    watch = calls(RateLimiter(model(concurrency=3)), *[{}] * 50)
    assert watch.limiter.limit == 3 and watch.most == 3


def test_refusals_that_come_together_are_one_sign():
    watch = calls(RateLimiter(model(concurrency=9)), *[{"failure": BUSY}] * 9)
    assert watch.limiter.limit == 6


def test_however_often_it_is_busy_one_at_a_time_may_always_ask():
    watch = calls(RateLimiter(model(concurrency=5)), *[{"failure": BUSY}] * 60, {})
    assert len(watch.entered) == 61 and watch.limiter.limit >= 1


@pytest.mark.parametrize("kind", ["500", "timeout", "connection"])
def test_other_failures_take_no_places_away(kind):
    watch = calls(RateLimiter(model(concurrency=6)), *[{"failure": CallFailed(kind, "oh")}] * 12)
    assert watch.limiter.limit == 6 and watch.entered[-1][1] == 1001


@pytest.mark.parametrize(
    ("failure", "rest"),
    [
        (BUSY, REST * 0.5),
        (BUSY_AFTER, 30),
        (CallFailed("529", "overloaded"), REST * 0.5),
        (CallFailed("503", "x", after=7), 7),
    ],
)
def test_nobody_asks_before_the_provider_wants_to_be_asked_again(failure, rest):
    watch = calls(RateLimiter(model(concurrency=1)), {"failure": failure}, {}, {})
    assert [round(when - 1000, 6) for _, when in watch.entered] == [0, 1 + rest, 2 + rest]


def test_the_longest_wish_counts():
    wishes = [CallFailed("429", "x", after=after) for after in (2.0, 30.0, 5.0)]
    watch = calls(RateLimiter(model(concurrency=3)), *[{"failure": each} for each in wishes], {})
    assert watch.entered[-1][1] == 1031


def test_who_waits_for_the_rest_to_be_over_still_goes_one_after_another():
    watch = calls(RateLimiter(model(concurrency=2)), {"failure": BUSY_AFTER}, *[{}] * 9)
    assert watch.most <= 2 and len(watch.entered) == 10


# --- rates


@given(st.lists(st.floats(0, 50), min_size=1, max_size=80), st.floats(1, 600), st.floats(0, 20))
@few
def test_a_bucket_never_runs_faster_than_its_rate(amounts, per_minute, burst):
    async def main():
        bucket, used = Bucket(per_minute, burst), []
        for amount in amounts:
            await asyncio.sleep(bucket.take(amount))
            used.append((now(), amount))
        return used

    used = run(main())
    for first in range(len(used)):
        for last in range(first, len(used)):
            seconds = used[last][0] - used[first][0]
            taken = sum(amount for _, amount in used[first:last])
            assert taken <= per_minute / 60 * (seconds + burst) * (1 + 1e-6) + 1e-6


def test_a_bucket_that_is_always_used_keeps_its_rate():
    watch = calls(RateLimiter(model(concurrency=50, requests_per_minute=120)), *[{"seconds": 0.0}] * 600)
    assert 295 - 6 < watch.entered[-1][1] - 1000 < 300


def test_a_bucket_without_a_rate_never_waits():
    bucket = Bucket(None)
    assert [bucket.take(1e9) for _ in range(5)] == [0.0] * 5


def test_tokens_are_a_rate_of_their_own():
    watch = calls(RateLimiter(model(concurrency=9, tokens_per_minute=6000)), *[{"seconds": 0.0, "tokens": 1000.0}] * 7)
    assert [round(when - 1000) for _, when in watch.entered] == [0, 5, 15, 25, 35, 45, 55]


def test_what_a_call_took_beyond_what_was_booked_counts_too():
    async def main():
        limiter = RateLimiter(model(concurrency=1, tokens_per_minute=6000))
        await limiter.enter(100)
        limiter.leave(1900)
        start = now()
        await limiter.enter(100)
        return now() - start

    assert run(main()) == pytest.approx(15)


# --- the budget


def answer(usd, tokens):
    """(a model, an answer) that cost that much."""
    return model(price={"input": 1e6 * usd / tokens if tokens else 0, "output": 0}), Answer("", tokens_in=tokens)


async def spend(budget, number, bound, share, seconds):
    """One call that may cost `bound` and costs a share of it; whether it was made."""
    usd, tokens = bound
    try:
        await budget.book(str(number), CostBound(usd, tokens))
    except BudgetReached:
        return False
    await asyncio.sleep(seconds)
    budget.costs.add(*answer(usd * int(tokens * share) / tokens, int(tokens * share)))
    budget.settle(str(number))
    return True


bounds = st.tuples(st.floats(0.001, 5), st.integers(1, 1000))
spending = st.lists(st.tuples(bounds, st.floats(0, 1), st.floats(0, 3)), min_size=1, max_size=40)


@given(
    spending,
    st.none() | st.floats(0, 40),
    st.none() | st.integers(0, 8000),
    st.none() | st.integers(0, 40),
    st.integers(1, 12),
)
@few
def test_a_budget_is_never_passed_and_is_used_up(many, usd, tokens, count, at_once):
    async def main():
        budget, places = Budget(usd, tokens, count), asyncio.Semaphore(at_once)

        async def one(number, each):
            async with places:
                return await spend(budget, number, *each)

        return budget, await asyncio.gather(*(one(number, each) for number, each in enumerate(many)))

    budget, made = run(main())
    spent = budget.costs
    most = {"usd": usd, "tokens": tokens, "calls": count}
    left = {name: float("inf") if limit is None else limit - getattr(spent, name) for name, limit in most.items()}
    assert min(left.values()) >= -1e-9 and spent.calls == sum(made) and not budget.bookings
    for (bound, _, _), was_made in zip(many, made, strict=True):
        assert was_made or left["usd"] < bound[0] + 1e-9 or left["tokens"] < bound[1] or left["calls"] < 1
    assert all(made) or any(limit is not None for limit in most.values())


def test_it_waits_for_those_in_flight_rather_than_stopping_early():
    async def main():
        budget = Budget(usd=10)
        return await asyncio.gather(*(spend(budget, n, (6.0, 100), 0.1, 1.0) for n in range(7))), now()

    made, when = run(main())
    assert made == [True] * 7 and when == 1007


def test_it_stops_when_nothing_in_flight_can_make_room():
    async def main():
        budget = Budget(usd=10)
        made = await asyncio.gather(*(spend(budget, n, (6.0, 100), 1.0, 1.0) for n in range(7)))
        with pytest.raises(BudgetReached, match=r"^budget\.usd=10$"):
            await budget.book("more", CostBound(6.0, 100))
        await budget.book("less", CostBound(3.0, 100))
        return made

    assert run(main()) == [True] + [False] * 6


@pytest.mark.parametrize(
    ("most", "said"), [({"usd": 1}, "usd=1"), ({"tokens": 99}, "tokens=99"), ({"calls": 0}, "calls=0")]
)
def test_it_says_which_limit_was_reached(most, said):
    with pytest.raises(BudgetReached, match=f"^budget.{said}$"):
        run(Budget(**most).book("k", CostBound(2.0, 100)))


def test_a_call_that_failed_counts_as_a_call_and_costs_nothing():
    async def main():
        budget = Budget(usd=1, calls=2)
        for _ in range(2):
            await budget.book("k", CostBound(1.0, 10))
            budget.settle("k")
        with pytest.raises(BudgetReached, match="calls"):
            await budget.book("k", CostBound(1.0, 10))
        return budget.costs

    assert (spent := run(main())).calls == 2 and spent.usd == 0


def test_the_booking_of_a_lost_worker_is_freed_by_the_next_call():
    async def main():
        budget = Budget(usd=2)
        await budget.book("k", CostBound(1.0, 10))
        await asyncio.wait_for(budget.book("k", CostBound(1.0, 10)), 60)
        return budget.bookings, budget.unreported

    assert run(main()) == ({"k": CostBound(1.0, 10)}, CostBound(1.0, 10))  # the lost call may have been paid for


def test_a_call_that_does_not_say_what_it_cost_has_cost_the_most_it_can():
    async def main():
        budget = Budget(tokens=25)
        for _ in range(2):
            await budget.book("k", CostBound(0.0, 10))
            budget.settle("k", reported=False)
        await budget.book("k", CostBound(0.0, 10))

    with pytest.raises(
        BudgetReached, match=r"^budget.tokens=25, of which 20 at most went for calls without a credible count"
    ):
        run(main())


def test_a_wait_of_hours_ends_the_run():
    async def main():
        limiter = RateLimiter(model())
        await limiter.enter(1)
        limiter.leave(failure=CallFailed("429", "tomorrow", after=86400.0))
        with pytest.raises(Halted, match=r"^model m: the provider asks to wait 24.0 h$"):
            await limiter.enter(1)
        return limiter.in_flight

    assert run(main()) == 0


def test_who_gives_up_waiting_holds_nothing_up():
    async def main():
        budget = Budget(usd=1)
        await budget.book("first", CostBound(1.0, 10))
        waiting = [asyncio.create_task(budget.book(name, CostBound(1.0, 10))) for name in ("second", "third")]
        await asyncio.sleep(1)
        waiting[0].cancel()
        budget.settle("first")
        await asyncio.wait_for(waiting[1], 60)
        return set(budget.bookings)

    assert run(main()) == {"third"}


def test_without_limits_nothing_is_ever_refused():
    async def main():
        budget = Budget()
        return budget, await asyncio.gather(*(spend(budget, n, (5.0, 1000), 1.0, 0.1) for n in range(50)))

    budget, made = run(main())
    assert all(made) and budget.costs.usd == pytest.approx(250) and not budget.has_limits


def test_an_answer_of_unknown_price_is_counted_apart():
    budget = Budget()
    budget.costs.add(model(price={}), Answer("", tokens_in=5, tokens_out=5))
    assert (budget.costs.unpriced, budget.costs.usd, budget.costs.tokens) == (1, 0.0, 10)
