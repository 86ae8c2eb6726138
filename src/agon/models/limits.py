"""The limits of a run: calls at once, calls and tokens a minute, costs, and the share of readable answers."""

from asyncio import Future, get_running_loop, sleep
from collections import Counter, deque
from dataclasses import dataclass, field
from math import sqrt
from time import monotonic

from agon.errors import visible
from agon.models.base import CUT, Answer, CallFailed, Ended, Halted, Model, RunOver

REST = 4
"""After a 429 without a time to wait, this many of the model's pauses pass without new calls."""

LONGEST_REST = 3600
"""The longest rest in seconds that a run waits for. If a provider asks for more, the run stops and says so."""


class BudgetReached(RunOver):
    """The next call could exceed the budget."""


class Unreadable(RunOver):
    """Too few answers can be read."""


class Bucket:
    """A rate: `amount` a minute. What `burst` seconds allow may be used at once. None: no limit."""

    def __init__(self, amount: float | None, burst: float = 5.0) -> None:
        self.rate = amount / 60 if amount else None
        self.burst = burst
        self.next = 0.0

    def take(self, amount: float) -> float:
        """Books `amount`, and returns the seconds to wait before it may be used. A negative amount is given back."""
        if self.rate is None:
            return 0.0
        now = monotonic()
        start = max(self.next, now - self.burst)
        self.next = start + amount / self.rate
        return max(0.0, start - now)


class RateLimiter:
    """Limits the calls to one model: calls in flight, requests and tokens a minute, and a rest when the provider asks
    for it.

    After a 429 the limit of calls in flight is a third lower. Every answer raises it a little again.
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
        """Waits for a place (first come, first served) and then for the rates. `leave` must follow. Raises Halted."""
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
                    raise Halted(f"model {self.model}: the provider asks to wait {wait / 3600:.1f} h")
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
        """Ends a call. `more_tokens`: the tokens that it took beyond those that were booked."""
        self.in_flight -= 1
        self.tokens.take(more_tokens)
        if failure is None:
            self.limit = min(self.most, self.limit + 1 / self.limit)
        else:
            now, busy = monotonic(), failure.kind in ("429", "529")
            if busy and now >= self.rest:  # else the call was sent before the last cut
                self.limit = max(1.0, self.limit * 2 / 3)
            wait = self.pause if busy and failure.after is None else failure.after
            self.rest = max(self.rest, now + (wait or 0.0))
        self._admit()


DISCOUNT = 100
"""If a server says that it charged less than our price by more than this factor, it is not believed: no budget would
hold."""


UNCOUNTED = "without a credible count of tokens (it is absent, or too small for the text)"


@dataclass
class Costs:
    """The costs of the calls so far."""

    calls: int = 0
    """Tries. Failed ones count."""
    answers: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    charges: float = 0.0
    """The part of `usd` that providers say they charged. The rest is computed from tokens and prices."""
    unpriced: int = 0
    """Number of answers without a known price. `usd` leaves them out."""
    without_usage: int = 0
    """Number of answers of models with a price that came without a credible count of tokens."""
    errors: Counter[str] = field(default_factory=Counter)
    """Number of failed tries by kind."""
    last: str = ""
    """The text of the last failure that does not end the run."""
    again: bool = False
    """Whether the call of that failure is tried again."""

    @property
    def tokens(self) -> int:
        """Tokens sent and received."""
        return self.tokens_in + self.tokens_out

    def add(self, model: Model, answer: Answer) -> None:
        """Adds an answer."""
        self.answers += 1
        self.tokens_in += answer.tokens_in
        self.tokens_cached += answer.tokens_cached
        self.tokens_out += answer.tokens_out
        cost = model.cost(answer.tokens_in, answer.tokens_cached, answer.tokens_out, answer.tokens_written)
        if answer.usd is not None and (cost is None or answer.usd * DISCOUNT >= cost):
            cost = answer.usd
            self.charges += cost
        if cost is None:
            self.unpriced += 1
        else:
            self.usd += cost


@dataclass(frozen=True, slots=True)
class CostBound:
    """The highest possible cost of a call."""

    usd: float
    tokens: int


class Budget:
    """The limits on the costs of one command. No call is sent that could exceed them.

    Near a limit, calls wait until calls in flight are over.
    """

    def __init__(self, usd: float | None = None, tokens: float | None = None, calls: float | None = None) -> None:
        self.most = {"usd": usd, "tokens": tokens, "calls": calls}
        self.costs = Costs()
        self.unreported = CostBound(0.0, 0)
        """The highest possible cost of all calls whose cost nobody reported. The budget counts it as spent."""
        self.bookings: dict[str, CostBound] = {}
        self._waiting: list[Future[None]] = []
        self._usd, self._tokens = 0.0, 0

    @property
    def used(self) -> dict[str, float]:
        """The cost of finished calls in usd, tokens and calls. Unreported costs count with their bounds."""
        costs, unreported = self.costs, self.unreported
        return {"usd": costs.usd + unreported.usd, "tokens": costs.tokens + unreported.tokens, "calls": costs.calls}

    @property
    def at_most(self) -> dict[str, float]:
        """`used` and the bounds of calls in flight. If this process ended now, the next would start from here."""
        used = self.used
        return used | {"usd": used["usd"] + self._usd, "tokens": used["tokens"] + self._tokens}

    @property
    def has_limits(self) -> bool:
        """Whether money or tokens have a limit. The cost of every call must then have a bound."""
        return self.most["usd"] is not None or self.most["tokens"] is not None

    async def book(self, key: str, bound: CostBound) -> None:
        """Sets aside the highest possible cost of the call `key`.

        Waits for calls in flight if it does not fit beside them. Raises BudgetReached if it does not fit at all.
        """
        self.settle(key, reported=False)  # left over from a worker that is gone
        while lacking := self._lacking(bound):
            if not self.bookings:
                raise BudgetReached(lacking)
            turn: Future[None] = get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self.bookings[key] = bound
        self._usd += bound.usd
        self._tokens += bound.tokens
        self.costs.calls += 1

    def _lacking(self, bound: CostBound) -> str:
        """The limit that a call with this bound could exceed, in words. Empty: none."""
        at_most = self.at_most
        totals = {"usd": at_most["usd"] + bound.usd, "tokens": at_most["tokens"] + bound.tokens}
        totals["calls"] = at_most["calls"] + 1
        for name, most in self.most.items():
            if most is not None and totals[name] > most:
                unreported = getattr(self.unreported, name, 0)
                return f"budget.{name}={most:g}" + (
                    f", of which {unreported:g} at most went for calls {UNCOUNTED}" if unreported else ""
                )
        return ""

    def settle(self, key: str, reported: bool = True) -> None:
        """Ends the booking of the call `key`. `reported`: `costs` has its cost.

        If not, its bound counts as its cost.
        """
        bound = self.bookings.pop(key, None)
        if bound is None:
            return
        if not reported:
            self.unreported = CostBound(self.unreported.usd + bound.usd, self.unreported.tokens + bound.tokens)
        self._usd = self._usd - bound.usd if self.bookings else 0.0
        self._tokens -= bound.tokens
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


LEAST = 30
"""With fewer answers, nothing is said about the readable share."""
SURE = 2.33
"""Standard deviations: how clearly the share must lie below the required one (99 % sure)."""
FEW = 0.1
"""If the readable share is below this, the way of asking is wrong."""
MOST_LETTERS = 80
"""The most letters of an answer that are printed."""

MORE_ROOM = "Give answers more room (max_tokens, in conf/sampling or the model's file), or take agents that say less"
"""Advice when answers are cut off."""
READABLE_AGENTS = (
    "Write `reads: constrained` into the agent's file in conf/agent: then it answers nothing but an action. Or take another model: "
    "docs/how-to/choose-how-answers-are-read.md"
)
"""Advice when answers cannot be read."""


@dataclass
class AnswerTally:
    """Counts the answers of a run, and those that no agent could read.

    Recorded answers count too, but only new ones are a reason to stop: the server may have been repaired since.
    """

    minimum: float | None = None
    """The share of new answers that must be readable. None: one of the first `LEAST` of each model. 0: no limit."""
    answers: int = 0
    unreadable: int = 0
    new_answers: int = 0
    new_unreadable: int = 0
    questions: int = 0
    """Number of new questions. Further attempts at the same question do not count."""
    last: str = ""
    """The beginning of the last answer with text, in quotes."""
    example: str = ""
    """The beginning of the last unreadable answer, in quotes."""
    ends: Counter[Ended] = field(default_factory=Counter)
    """Number of answers by why they ended."""
    silent: Counter[str] = field(default_factory=Counter)
    """Model -> number of its new answers, as long as none could be read, new or recorded; afterwards -1."""
    rounds_by_match: dict[str, int] = field(default_factory=dict)
    """Match -> its highest round with a new answer."""

    @property
    def rounds(self) -> int:
        """Rounds of all matches."""
        return sum(self.rounds_by_match.values())

    @property
    def share(self) -> str:
        """The readable shares of new and of recorded answers, and how many were cut off, in words. Empty before the first answer."""
        recorded, unreadable, parts = (
            self.answers - self.new_answers,
            self.unreadable - self.new_unreadable,
            list[str](),
        )
        if self.new_answers:
            of = f" of {self.new_answers:,} new answers" if recorded else ""
            parts.append(f"{1 - self.new_unreadable / self.new_answers:.0%}{of}")
        if recorded:
            parts.append(f"{1 - unreadable / recorded:.0%} of {recorded:,} recorded before")
        return f"{' and '.join(parts)} readable{self._cuts}" if parts else ""

    @property
    def _cuts(self) -> str:
        return "".join(f", {self.ends[end]:,} {words}" for end, words in CUT.items() if self.ends[end])

    def add(
        self, sample: str, round_: int, text: str, fault: str, new: bool, ended: Ended = "unknown", model: str = ""
    ) -> None:
        """Adds an answer of a model. `fault`: why it could not be read (empty: it could). `ended`: why it ended."""
        if self.silent[model] >= 0:
            self.silent[model] = self.silent[model] + new if fault else -1
        self.answers += 1
        self.ends[ended] += 1
        beginning = f'"{" ".join(text[:MOST_LETTERS].split())}{"..." * (len(text) > MOST_LETTERS)}"'
        self.last = beginning if text else self.last
        if fault:
            self.unreadable += 1
            self.example = beginning
        if new:
            self.new_answers += 1
            self.new_unreadable += bool(fault)
            self.questions += sample.endswith(".0")
            match = sample.partition("/")[0]
            self.rounds_by_match[match] = max(round_, self.rounds_by_match.get(match, 0))

    @property
    def cause(self) -> str:
        """What is wrong and what to do, if hardly any answer can be read: of the new ones, if there are some. Empty otherwise."""
        answers, unreadable = (
            (self.new_answers, self.new_unreadable) if self.new_answers else (self.answers, self.unreadable)
        )
        if not answers or 1 - unreadable / answers >= FEW:
            return ""
        summary = self._summary(answers, unreadable)
        return f"{summary}; asking again costs calls, and fills the conversation. {self._advice}"

    @property
    def _advice(self) -> str:
        if 2 * self.ends["length"] > self.unreadable:
            return f"{MORE_ROOM}; or: {READABLE_AGENTS}"
        return READABLE_AGENTS

    def _summary(self, answers: int, unreadable: int) -> str:
        readable = "none" if unreadable == answers else f"{answers - unreadable:,}"
        return f"{readable} of {answers:,} answers could be read as an action{self._cuts}"

    @property
    def too_few(self) -> Unreadable | None:
        """The reason to stop: no new answer of a model can be read, or their readable share is clearly below the minimum.

        Wilson's interval says how clearly. With a minimum of 0 there is no such reason.
        """
        if (
            self.minimum != 0
            and (silent := next((name for name, n in self.silent.items() if n >= LEAST), None)) is not None
        ):
            return Unreadable(
                f"none of the first {self.silent[silent]:,} new answers of {silent or 'the model'} could be read as an action{self._cuts}, "
                f"the last that could not: {visible(self.example)}. {self._advice}; or go on all the same: readable=0"
            )
        if not self.minimum or self.new_answers < LEAST:
            return None
        n, share = self.new_answers, 1 - self.new_unreadable / self.new_answers
        middle, half = share + SURE**2 / (2 * n), SURE * sqrt(share * (1 - share) / n + SURE**2 / (4 * n * n))
        if (middle + half) / (1 + SURE**2 / n) >= self.minimum:
            return None
        last = visible(self.example)
        return Unreadable(
            f"{self._summary(n, self.new_unreadable)} (readable={self.minimum:g}), the last that could not: {last}. {self._advice}"
        )
