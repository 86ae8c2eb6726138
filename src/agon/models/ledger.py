"""Between agents and models: what is recorded is not paid again, and what is paid stays within limits and budget."""

import asyncio
from asyncio import sleep
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from time import time
from typing import Any, Protocol

import msgspec

from agon.errors import AgonError
from agon.models.base import (
    Answer,
    CallFailed,
    Halted,
    Message,
    Model,
    Request,
    TooLong,
    clean,
    key_of,
    require_distinct,
)
from agon.models.ends import Ended, ended_of
from agon.models.errors import broken_off, failure
from agon.models.heard import Heard, RunOver
from agon.models.limits import Budget, CostBound, RateLimiter
from agon.models.recording import Exchange, Failure, Recording, Writer

FREE = {"no connection", "key", "settings", "expired", "cancelled", "failed", "not taken"}
"""Kinds of failure before a model is asked. These, and statuses but for `TIMED_OUT`, cost nothing; any other may be wanted paid."""
NO_CALL = {"key", "settings"}
"""Of these, those that end a run without any call: there is nothing to record."""
TIMED_OUT = {"408", "504", "524"}
"""Statuses with which a server in between gives up on a model that may well have answered."""
LENGTHS = "max_tokens", "max_completion_tokens", "max_output_tokens"
"""What a request may call the longest answer."""
KNOCKS = 3
"""So often a server is tried that refuses connections and has not answered once in this run: it is not there."""
LONGEST = 120
"""The longest pause before a further try, in first pauses."""


FIELDS = (
    *("text", "thinking", "tokens_in", "tokens_cached", "tokens_written", "tokens_out"),
    *("seconds", "id", "stop", "unreported", "weights", "usd", "opaque", "ended"),
)
"""Of an answer, what an exchange keeps."""


class Unrecorded(AgonError):
    """A replay needs an exchange that nobody has recorded."""


class Unfinished(Halted):
    """Every try of a call failed."""


class Absent(RunOver):
    """A server is not there."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A model's recorded answers, without the model."""

    name: str
    identity: str
    recording: Recording
    room: int | None = None
    """As of the model."""
    instant: bool = True

    async def answer(self, request: Request) -> Answer:
        """The recorded answer. Raises Unrecorded, and CallFailed for a recorded refusal."""
        recorded = self.recording.get(key_of(self.identity, request))
        if recorded is None:
            raise Unrecorded(f"no recorded answer of {self.name} for {request.sample}")
        return recorded


class Accounts(Protocol):
    """What a live model asks before and tells after each call; a Ledger, here or in another process."""

    async def enter(self, name: str, key: str, size: int) -> Answer | None:
        """The recorded answer, or None when the call may be made now."""

    async def keep(self, name: str, line: Exchange, messages: tuple[Message, ...]) -> None:
        """The call was answered, or refused for good."""

    async def failed(self, name: str, line: Failure, after: float | None) -> None:
        """The call failed, and may be made again."""

    def abandon(self, name: str, key: str) -> None:
        """Nobody will tell what became of the call."""

    async def heard(self, sample: str, round_: int, text: str, fault: str, new: bool, ended: Ended) -> None:
        """What an agent has made of an answer (agon.models.heard)."""


class Ledger:
    """Limits, budget and recording of one run, for all its players. `note` is called whenever what is spent or booked changes.

    `readable`: the share of answers below which no more calls are made; None: any.
    """

    def __init__(
        self,
        models: Mapping[str, Model],
        writer: Writer,
        budget: Budget,
        note: Callable[[], object] = lambda: None,
        readable: float | None = None,
    ) -> None:
        self.models, self.writer, self.budget, self.note = models, writer, budget, note
        self.answers = Heard(readable)
        self.limiters = {name: RateLimiter(model) for name, model in models.items()}
        self.in_flight: dict[str, int] = {}
        """Key of each call in flight -> its prompt's bytes."""
        self.per_byte = 1.0
        """Tokens that a byte of prompt may be; English has about a quarter. Raised when a provider counts more."""
        self.longest: dict[str, int] = {}
        """Tokens of the longest answer: some servers do not keep to max_tokens."""
        self.closed = False
        require_distinct(models)
        for name, model in models.items():
            _check(name, model, budget)

    async def enter(self, name: str, key: str, size: int) -> Answer | None:
        """The recorded answer, or None when the call may be made now (after waiting for limits). Raises RunOver.

        `size` is the prompt's length in bytes.
        """
        if (recorded := self.writer.recording.get(key)) is not None:
            return recorded
        if too_few := self.answers.too_few:
            raise too_few
        if key in self.in_flight:  # asked by a worker that is gone
            self._leave(name, key, reported=False)
        await self.limiters[name].enter(size / 4)
        try:
            if self.closed:
                raise Halted("the run was stopped")
            if self.writer.fault:  # what is answered could not be kept
                raise AgonError(self.writer.fault)
            await self.budget.book(key, self._bound(name, size))
        except BaseException:
            self.limiters[name].leave(-size / 4)
            raise
        self.in_flight[key] = size
        try:
            self.note()
        except BaseException:  # what may be spent cannot be kept: the call is not made
            self.in_flight.pop(key)
            self.budget.settle(key)
            self.limiters[name].leave(-size / 4)
            raise
        return None

    def _bound(self, name: str, size: int) -> CostBound:
        model = self.models[name]
        if not self.budget.limited:
            return CostBound(0.0, 0)
        tokens_in = int(size * self.per_byte) + 1
        tokens_out = max(_longest(model), self.longest.get(name, 0))
        dearest = max(model.cost(tokens_in, 0, tokens_out, written) or 0.0 for written in (0, tokens_in))
        return CostBound(dearest, tokens_in + tokens_out)

    async def keep(self, name: str, line: Exchange, messages: tuple[Message, ...]) -> None:
        """Returns when the exchange is on disk."""
        size = self.in_flight.get(line.exchange, 0)
        try:
            await self.writer.add(line, messages)
        finally:
            answer = Answer(
                *(line.text, "", line.tokens_in, line.tokens_cached, line.tokens_out),
                tokens_written=line.tokens_written,
                usd=line.usd,
            )
            reported = bool(line.void or line.tokens_in) and not line.unreported
            if line.void:
                self.budget.spent.errors["too long" if line.too_long else "refused"] += 1
                self.budget.spent.last = line.void
            else:
                self.budget.spent.add(self.models[name], answer)
                self.budget.spent.untold += not reported
            if size:
                self.per_byte = max(self.per_byte, line.tokens_in / size)
            self.longest[name] = max(line.tokens_out, self.longest.get(name, 0))
            self._leave(name, line.exchange, line.tokens_in + line.tokens_out - size / 4, reported=reported)

    async def failed(self, name: str, line: Failure, after: float | None) -> None:
        """Returns when the failure is on disk."""
        spent = self.budget.spent
        if is_call := line.kind not in NO_CALL:
            spent.errors[line.kind] += 1
            spent.last = line.text
        else:
            spent.calls -= 1
        free = line.kind in FREE or (line.kind.isdecimal() and line.kind not in TIMED_OUT)
        self._leave(name, line.failed, 0, CallFailed(line.kind, line.text, after=after), free)
        if is_call:
            await self.writer.add(line)

    def abandon(self, name: str, key: str) -> None:
        """Whoever made the call is gone, and nobody will tell what became of it."""
        self._leave(name, key, reported=False)

    async def heard(self, sample: str, round_: int, text: str, fault: str, new: bool, ended: Ended) -> None:
        """What an agent has made of an answer."""
        self.answers.add(sample, round_, text, fault, new, ended)
        self.note()

    async def drain(self) -> None:
        """Lets no more calls be made, and returns when those in flight are over: they are paid for, and the writer has them."""
        self.closed = True
        for model in self.models.values():
            model.let_go()
        while self.in_flight:  # each has its own time limit
            await asyncio.sleep(0.05)

    def _leave(
        self, name: str, key: str, more: float = 0.0, failure: CallFailed | None = None, reported: bool = True
    ) -> None:
        if self.in_flight.pop(key, None) is not None:
            self.budget.settle(key, reported)
            self.limiters[name].leave(more, failure)
        self.note()


def _longest(model: Model) -> int:
    """Tokens that a model's answers to one request may have, as it is asked; `extra` may ask for more, and for several answers."""
    extra = model.parameters.get("extra") or {}
    longest, several = (
        max([value for name in names if isinstance(value := extra.get(name), int)], default=0)
        for names in (LENGTHS, ("n", "best_of"))
    )
    return max(model.parameters["max_tokens"], longest) * max(1, several)


def _check(name: str, model: Model, budget: Budget) -> None:
    if budget.limited and not model.parameters.get("max_tokens"):
        raise AgonError(
            f"model {name}: without max_tokens a call's cost has no bound: write parameters: {{max_tokens: N}} into "
            f"conf/model/{name}.yaml, or max_tokens: N into the file of conf/sampling that the experiment names, or use budget.calls"
        )
    if budget.most["usd"] is not None and model.cost(1, 0, 1) is None:
        raise AgonError(
            f"model {name}: budget.usd needs its price: fill in conf/model/{name}.yaml, or use budget.tokens"
        )


class Live:
    """A live model behind a ledger: every call is booked before and recorded after it; failed ones are tried again."""

    instant = False

    def __init__(self, name: str, model: Model, ledger: Accounts, clock: Callable[[], float] = time) -> None:
        self.name, self.model, self.ledger, self.clock = name, model, ledger, clock
        self.identity, self.room = model.identity, model.room
        self._settings: dict[str, Any] = msgspec.json.decode(self.identity)
        self._there = False
        """Whether anything has come back in this run."""

    async def answer(self, request: Request) -> Answer:
        """Recorded or new.

        Raises CallFailed for a conversation that is refused for good, AgonError when no call can succeed (a wrong key),
        Unfinished when every try failed, Absent where nobody listens, BudgetReached.
        """
        key = key_of(self.identity, request)
        size = sum([len(message.text.encode()) for message in request.messages])
        for attempt in range(self.model.tries):
            if (recorded := await self.ledger.enter(self.name, key, size)) is not None:
                return recorded
            try:
                outcome = await self._try_once(key, request)
            except BaseException:  # where the run was stopped, nobody will tell what became of the call
                self.ledger.abandon(self.name, key)
                raise
            if isinstance(outcome, Answer):
                return outcome
            if not self._there and attempt + 1 >= KNOCKS:
                raise Absent(
                    f"model {self.name}: nobody answers there ({outcome}): "
                    f"start its server, or mend base_url in conf/model/{self.name}.yaml"
                )
            if attempt + 1 < self.model.tries and not outcome.after:
                await sleep(self.model.pause * _pauses(key, attempt))
        raise Unfinished(f"model {self.name}: {self.model.tries} tries failed, the last: {outcome}")

    async def heard(self, request: Request, answer: Answer, fault: str) -> None:
        """What an agent has made of an answer; `fault`: why it could not be read, if so."""
        round_ = getattr(request.view, "round", 0)
        await self.ledger.heard(request.sample, round_, answer.text, fault, not answer.recorded, answer.ended)

    async def _try_once(self, key: str, request: Request) -> Answer | CallFailed:
        """One try, recorded: the answer, or why it may be tried again. Raises what makes that useless."""
        line = Exchange(exchange=key, asked=request.messages[-1].id, sample=request.sample, **self._settings)
        try:
            async with asyncio.timeout(2 * self.model.timeout):  # should an adapter not keep to it
                answer = _storable(await self.model.answer(request), key, self.model.parameters.get("max_tokens"))
            if answer.ended == "error":  # half an answer, whoever tells it
                raise broken_off(answer.stop)
        except CallFailed as error:
            failed = error
        except Halted:
            raise
        except Exception as error:  # whatever an adapter raises: the call may be paid for
            failed = failure(error)
        else:
            self._there = True
            for field in FIELDS:
                setattr(line, field, getattr(answer, field))
            line.time = self.clock()
            await self.ledger.keep(self.name, line, request.messages)
            return answer
        if failed.then == "void":
            self._there = True
            line.void, line.too_long, line.time = str(failed), isinstance(failed, TooLong), self.clock()
            await self.ledger.keep(self.name, line, request.messages)
            raise failed
        self._there = self._there or failed.kind != "no connection"
        await self.ledger.failed(self.name, Failure(key, failed.kind, str(failed), self.clock()), failed.after)
        if failed.then == "stop":
            raise AgonError(f"model {self.name}: {failed}")
        return failed


def _storable(answer: Answer, key: str, most: int | None = None) -> Answer:
    """What a replay will give, but that it is not recorded; `most`: tokens that it may have.

    Raises what comes of an adapter's answer that cannot be kept.
    """
    fields = {name: getattr(answer, name) for name in FIELDS}
    fields["ended"] = _ended(answer, most)
    for name in ("text", "thinking", "id", "stop"):
        if not fields[name].isascii():
            fields[name] = clean(fields[name])
    return msgspec.convert(fields | {"exchange": key}, Answer)


def _ended(answer: Answer, most: int | None) -> Ended:
    """Why an answer ended. One that was weighed is whole; one that is all thought, up to the limit, was cut off whatever is said."""
    if answer.weights:
        return "stop"
    ended = answer.ended if answer.ended != "unknown" else ended_of(str(answer.stop))
    spent = bool(most) and answer.tokens_out >= (most or 0)
    return "length" if spent and not answer.text.strip() and ended in ("stop", "unknown") else ended


def _pauses(key: str, attempt: int) -> float:
    return min(LONGEST, 2.0 ** min(attempt, 10)) * (0.5 + Random(f"{key}/{attempt}").random())
