"""How hard models may be asked, and how much may be spent."""

from asyncio import Future, get_running_loop, sleep
from collections import Counter, deque
from dataclasses import dataclass, field
from time import monotonic

from agon.models.base import Answer, CallFailed, Halted, Model
from agon.models.heard import RunOver

REST = 4
"""A model's pauses without new calls after a 429 that does not say how long."""

LONGEST_REST = 3600
"""Seconds that a run waits for a provider that wants to be left alone; where it wants more, the run stops and says so."""


class BudgetReached(RunOver):
    """The next call could pass the budget."""


class Bucket:
    """A rate: `amount` a minute, with up to `burst` seconds' worth at once. None: no limit."""

    def __init__(self, amount: float | None, burst: float = 5.0) -> None:
        self.rate = amount / 60 if amount else None
        self.burst = burst
        self.next = 0.0

    def take(self, amount: float) -> float:
        """Books `amount`; how many seconds to wait before using it. A negative amount gives back."""
        if self.rate is None:
            return 0.0
        now = monotonic()
        start = max(self.next, now - self.burst)
        self.next = start + amount / self.rate
        return max(0.0, start - now)


class RateLimiter:
    """The way to one model: calls in flight, requests and tokens a minute, and a rest when it says that it is too much.

    A 429 takes a third of the calls in flight away; every answer gives some of it back.
    """

    def __init__(self, model: Model) -> None:
        self.model = model.model
        self.most = self.limit = float(model.concurrency)
        self.requests, self.tokens = Bucket(model.requests_per_minute), Bucket(model.tokens_per_minute)
        self.in_flight = 0
        self.pause = REST * model.pause
        self.rest = 0.0
        self._waiting: deque[Future[None]] = deque()

    async def enter(self, tokens: float) -> None:
        """Waits for a place, first come first served, then for the rates. Every entry must be left."""
        turn: Future[None] = get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
        try:
            await turn
        except BaseException:
            if not turn.cancelled():  # it had its place already
                self._give_up()
            raise
        try:
            if wait := max(self.requests.take(1), self.tokens.take(tokens)):
                await sleep(wait)
            while (wait := self.rest - monotonic()) > 0:
                if wait > LONGEST_REST:
                    raise Halted(f"model {self.model}: the provider asks to be left alone for {wait / 3600:.1f} h")
                await sleep(wait)
        except BaseException:
            self._give_up()
            raise

    def _admit(self) -> None:
        while self._waiting and self.in_flight < max(1, int(self.limit)):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self.in_flight += 1

    def _give_up(self) -> None:
        self.in_flight -= 1
        self._admit()

    def leave(self, more_tokens: float = 0.0, failure: CallFailed | None = None) -> None:
        """The call is over and took `more_tokens` than was booked."""
        self.in_flight -= 1
        self.tokens.take(more_tokens)
        if failure is None:
            self.limit = min(self.most, self.limit + 1 / self.limit)
        else:
            now, busy = monotonic(), failure.kind in ("429", "529")
            if busy and now >= self.rest:  # else a call that was sent before the last cut
                self.limit = max(1.0, self.limit * 2 / 3)
            wait = self.pause if busy and failure.after is None else failure.after
            self.rest = max(self.rest, now + (wait or 0.0))
        self._admit()


DISCOUNT = 100
"""A server that says it charged less than our price by more than this factor is not believed: the budget would hold nothing."""


@dataclass
class Spent:
    """What calls have cost so far."""

    calls: int = 0
    """Tries, failed ones included."""
    answers: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    charged: float = 0.0
    """Of usd, what providers have said that they charged; the rest is reckoned from tokens and prices."""
    unpriced: int = 0
    """Answers whose price is not known: usd leaves them out."""
    untold: int = 0
    """Answers that did not say, or not credibly, how many tokens they took."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failed tries by kind."""
    last: str = ""
    """What the last failed try said."""

    @property
    def tokens(self) -> int:
        """Sent and received."""
        return self.tokens_in + self.tokens_out

    def add(self, model: Model, answer: Answer) -> None:
        """One more answer."""
        self.answers += 1
        self.tokens_in += answer.tokens_in
        self.tokens_cached += answer.tokens_cached
        self.tokens_out += answer.tokens_out
        cost = model.cost(answer.tokens_in, answer.tokens_cached, answer.tokens_out, answer.tokens_written)
        if answer.usd is not None and (cost is None or answer.usd * DISCOUNT >= cost):
            cost = answer.usd
            self.charged += cost
        if cost is None:
            self.unpriced += 1
        else:
            self.usd += cost


@dataclass(frozen=True, slots=True)
class CostBound:
    """The most that one call can cost."""

    usd: float
    tokens: int


class Budget:
    """What one command may spend. Nothing is sent that could pass it; near the end calls wait for those in flight."""

    def __init__(self, usd: float | None = None, tokens: float | None = None, calls: float | None = None) -> None:
        self.most = {"usd": usd, "tokens": tokens, "calls": calls}
        self.spent = Spent()
        self.unreported = CostBound(0.0, 0)
        """The most that calls have cost of which nobody said what they cost; it counts as spent."""
        self.booked: dict[str, CostBound] = {}
        self._waiting: list[Future[None]] = []
        self._usd, self._tokens = 0.0, 0

    @property
    def used(self) -> dict[str, float]:
        """What calls have cost that are over, in usd, tokens and calls; where nobody said, the most that it can be."""
        spent, unknown = self.spent, self.unreported
        return {"usd": spent.usd + unknown.usd, "tokens": spent.tokens + unknown.tokens, "calls": spent.calls}

    @property
    def at_most(self) -> dict[str, float]:
        """`used`, and the most that calls in flight can cost: what to go on from, should this process end now."""
        used = self.used
        return used | {"usd": used["usd"] + self._usd, "tokens": used["tokens"] + self._tokens}

    @property
    def limited(self) -> bool:
        """Whether there is any limit on money or tokens, so that a call's cost must have a bound."""
        return self.most["usd"] is not None or self.most["tokens"] is not None

    async def book(self, key: str, bound: CostBound) -> None:
        """Sets aside the most that the call `key` can cost.

        Waits for calls in flight when it does not fit beside them; raises BudgetReached when it does not fit at all.
        """
        self.settle(key, reported=False)  # left over from a worker that is gone
        while lacking := self._lacking(bound):
            if not self.booked:
                raise BudgetReached(lacking)
            turn: Future[None] = get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self.booked[key] = bound
        self._usd += bound.usd
        self._tokens += bound.tokens
        self.spent.calls += 1

    def _lacking(self, bound: CostBound) -> str:
        at_most = self.at_most
        wanted = {"usd": at_most["usd"] + bound.usd, "tokens": at_most["tokens"] + bound.tokens}
        wanted["calls"] = at_most["calls"] + 1
        for name, most in self.most.items():
            if most is not None and wanted[name] > most:
                unreported = getattr(self.unreported, name, 0)
                return f"budget.{name}={most:g}" + (
                    f", of which {unreported:g} at most went for calls that did not say what they cost"
                    if unreported
                    else ""
                )
        return ""

    def settle(self, key: str, reported: bool = True) -> None:
        """The call `key` is over; what it cost is in `spent`, or else not `reported`: then it is taken to be the most it can be."""
        bound = self.booked.pop(key, None)
        if bound is None:
            return
        if not reported:
            self.unreported = CostBound(self.unreported.usd + bound.usd, self.unreported.tokens + bound.tokens)
        self._usd = self._usd - bound.usd if self.booked else 0.0
        self._tokens -= bound.tokens
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)
