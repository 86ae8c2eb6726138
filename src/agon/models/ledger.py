"""The way from agents to models. A recorded answer is not paid again, and new calls keep limits and budget."""

import asyncio
from asyncio import sleep
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from time import time
from typing import Any, Literal, Protocol

import msgspec

from agon.errors import AgonError
from agon.models.base import (
    Answer,
    CallFailed,
    Ended,
    Halted,
    Message,
    Model,
    ReadingRule,
    Request,
    RunOver,
    TooLong,
    clean,
    ended_of,
    key_of,
    require_distinct,
)
from agon.models.errors import broken_answer, failure
from agon.models.limits import AnswerTally, Budget, CostBound, RateLimiter
from agon.models.recording import Exchange, Failure, Recording, Writer

FREE = {"no connection", "key", "settings", "expired", "cancelled", "failed", "not taken"}
"""Kinds of failure before the model was asked. They cost nothing, as do statuses except `TIMED_OUT`. Other failures
may cost."""
NO_CALL = {"key", "settings"}
"""Kinds in `FREE` without any call. They end the run and are not recorded."""
TIMED_OUT = {"408", "504", "524"}
"""Statuses of a server in between that stopped waiting. The model may have answered."""
LENGTHS = "max_tokens", "max_completion_tokens", "max_output_tokens"
"""Names of the limit of an answer in `extra`."""
KNOCKS = 3
"""If a server has never answered in this run, it is absent after this many refused connections."""
LONGEST = 120
"""The longest pause between tries, as a multiple of the first pause, before chance makes it up to a half shorter or longer."""


FIELDS = (
    *("text", "thinking", "tokens_in", "tokens_cached", "tokens_written", "tokens_out"),
    *("seconds", "id", "stop", "unreported", "weights", "usd", "opaque", "ended"),
    *("served", "provider", "fingerprint"),
)
"""The fields of an answer that an exchange has too."""


class Unrecorded(AgonError):
    """A replay needs an exchange that is not recorded."""


class Unfinished(Halted):
    """All tries of a call failed."""


class Absent(RunOver):
    """No server runs at the address."""


class ServedByAnother(RunOver):
    """Another model, provider or host answers than before, and the settings say to stop then."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The recorded answers of a model, without the model."""

    name: str
    identity: str
    recording: Recording
    room: int | None = None
    """`Model.room`."""
    instant: bool = True

    async def answer(self, request: Request) -> Answer:
        """The recorded answer. Raises Unrecorded, and CallFailed for a recorded refusal."""
        recorded = self.recording.get(key_of(self.identity, request))
        if recorded is None:
            raise Unrecorded(f"no recorded answer of {self.name} for {request.sample}")
        return recorded


class Accounts(Protocol):
    """The interface that `Live` uses before and after every call. `Ledger` implements it."""

    async def enter(self, name: str, key: str, size: int) -> Answer | None:
        """The recorded answer. None: the call may be made now."""

    async def keep(self, name: str, line: Exchange, messages: tuple[Message, ...]) -> None:
        """Records a call that was answered or refused for good."""

    async def add_failure(self, name: str, line: Failure, fault: CallFailed) -> None:
        """Records a failed call that has no answer and no refusal for good."""

    def abandon(self, name: str, key: str) -> None:
        """Ends a call whose result nobody will know."""

    async def report_reading(self, name: str, request: Request, answer: Answer, fault: str) -> None:
        """Counts an answer of a model. `fault`: why the agent could not read it (empty: it could)."""


class Ledger:
    """Limits, budget and recording of one run, for all its players.

    note: called after every change of costs and bookings. readable: if a smaller share of the answers is readable, the
    run stops (None: only if none at all is). say: prints that another model, provider or host answers than before in the
    recording. served: stop ends the run then. Raises AgonError for models that cannot be told apart or whose costs have no bound.
    """

    def __init__(
        self,
        models: Mapping[str, Model],
        writer: Writer,
        budget: Budget,
        note: Callable[[], object] = lambda: None,
        readable: float | None = None,
        say: Callable[[str], object] = lambda line: None,
        served: Literal["go_on", "stop"] = "go_on",
    ) -> None:
        if served not in ("go_on", "stop"):
            raise AgonError(f"served is {served!r}; it must be go_on or stop")
        self.models, self.writer, self.budget, self.note = models, writer, budget, note
        self.say, self.served = say, served
        self.changed: ServedByAnother | None = None
        """Why the run stops, if another answers than before."""
        self.answers = AnswerTally(readable)
        self.limiters = {name: RateLimiter(model) for name, model in models.items()}
        self.in_flight: dict[str, int] = {}
        """Key of a call in flight -> length of its prompt in bytes."""
        self.per_byte = 1.0
        """The most tokens to a byte of prompt. English has about 0.25. It grows if a provider counts more."""
        self.longest: dict[str, int] = {}
        """Model -> tokens of its longest answer, because some servers ignore max_tokens."""
        self.closed = False
        require_distinct(models)
        for name, model in models.items():
            _check(name, model, budget)

    async def enter(self, name: str, key: str, size: int) -> Answer | None:
        """The recorded answer. None: the call may be made now. Before that, it waits for the limits. Raises Halted and AgonError.

        size: the length of the prompt in bytes.
        """
        if (recorded := self.writer.recording.get(key)) is not None:
            return recorded
        if stop := self.answers.too_few or self.changed:
            raise stop
        if key in self.in_flight:  # a call of a worker that is gone
            self._leave(name, key, reported=False)
        await self.limiters[name].enter(size / 4)
        try:
            if self.closed:
                raise Halted("the run was stopped")
            self.writer.require_room()
            await self.budget.book(key, self._bound(name, size))
        except BaseException:
            self.limiters[name].leave(-size / 4)
            raise
        self.in_flight[key] = size
        try:
            self.note()
        except BaseException:  # the booking could not be stored, so the call is not made
            self.in_flight.pop(key)
            self.budget.settle(key)
            self.limiters[name].leave(-size / 4)
            raise
        return None

    def _bound(self, name: str, size: int) -> CostBound:
        model = self.models[name]
        if not self.budget.has_limits:
            return CostBound(0.0, 0)
        tokens_in = int(size * self.per_byte) + 1
        tokens_out = max(_longest(model), self.longest.get(name, 0))
        dearest = max(model.cost(tokens_in, 0, tokens_out, written) or 0.0 for written in (0, tokens_in))
        return CostBound(dearest, tokens_in + tokens_out)

    async def keep(self, name: str, line: Exchange, messages: tuple[Message, ...]) -> None:
        """Records an exchange, and returns when it is on disk."""
        size = self.in_flight.get(line.exchange, 0)
        change = "" if line.void else self.writer.recording.describe_change(line)
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
                self.budget.costs.errors["too long" if line.too_long else "refused"] += 1
                self.budget.costs.last, self.budget.costs.again = line.void, False
            else:
                self.budget.costs.add(self.models[name], answer)
                self.budget.costs.without_usage += not reported and self.models[name].cost(1, 0, 1) != 0
            if size:
                self.per_byte = max(self.per_byte, line.tokens_in / size)
            self.longest[name] = max(line.tokens_out, self.longest.get(name, 0))
            self._leave(name, line.exchange, line.tokens_in + line.tokens_out - size / 4, reported=reported)
            if change:
                self._report_change(name, change)

    def _report_change(self, name: str, change: str) -> None:
        """Says that another answers than before, and stops the run if the settings say so."""
        self.say(f"note: model {name}: {change}")
        if self.served == "stop":
            self.changed = ServedByAnother(f"model {name}: {change} (served=stop); its answer is recorded")

    async def add_failure(self, name: str, line: Failure, fault: CallFailed) -> None:
        """Records a failure, and returns when it is on disk."""
        spent = self.budget.costs
        if is_call := line.kind not in NO_CALL:
            spent.errors[line.kind] += 1
            if fault.then != "stop":  # the error that ends the run says such a failure
                spent.last, spent.again = line.text, fault.then == "retry"
        else:
            spent.calls -= 1
        free = line.kind in FREE or (line.kind.isdecimal() and line.kind not in TIMED_OUT)
        self._leave(name, line.failed, 0, fault, free)
        if is_call:
            await self.writer.add(line)

    def abandon(self, name: str, key: str) -> None:
        """Ends a call whose result nobody will know. The budget counts its bound."""
        self._leave(name, key, reported=False)

    async def report_reading(self, name: str, request: Request, answer: Answer, fault: str) -> None:
        """Counts an answer of a model. `fault`: why the agent could not read it (empty: it could)."""
        round_ = getattr(request.view, "round", 0)
        self.answers.add(request.sample, round_, answer.text, fault, not answer.recorded, answer.ended, name)
        self.note()

    async def drain(self) -> None:
        """Refuses new calls, and returns when those in flight are over and recorded, since they are paid."""
        self.closed = True
        for model in self.models.values():
            model.let_go()
        while self.in_flight:  # every call has a time limit
            await asyncio.sleep(0.05)

    def _leave(
        self, name: str, key: str, more: float = 0.0, failure: CallFailed | None = None, reported: bool = True
    ) -> None:
        if self.in_flight.pop(key, None) is not None:
            self.budget.settle(key, reported)
            self.limiters[name].leave(more, failure)
        self.note()


def _longest(model: Model) -> int:
    """The most tokens of the answers to one request. `extra` may raise the limit and ask for several answers."""
    extra = model.parameters.get("extra") or {}
    longest, several = (
        max([value for name in names if isinstance(value := extra.get(name), int)], default=0)
        for names in (LENGTHS, ("n", "best_of"))
    )
    return max(model.parameters["max_tokens"], longest) * max(1, several)


def _check(name: str, model: Model, budget: Budget) -> None:
    if budget.has_limits and not model.parameters.get("max_tokens"):
        raise AgonError(
            f"model {name}: without max_tokens a call's cost has no bound: write parameters: {{max_tokens: N}} into "
            f"conf/model/{name}.yaml, or max_tokens: N into the file of conf/sampling that the experiment names, or use budget.calls"
        )
    if budget.most["usd"] is not None and model.cost(1, 0, 1) is None:
        raise AgonError(
            f"model {name}: budget.usd needs its price: fill in conf/model/{name}.yaml, or use budget.tokens, or "
            "ask other models (experiment.models=[...])"
        )


class Live:
    """A live model with a ledger. Every call is booked before and recorded afterwards. Failed calls are tried again."""

    instant = False

    def __init__(self, name: str, model: Model, ledger: Accounts, clock: Callable[[], float] = time) -> None:
        self.name, self.model, self.ledger, self.clock = name, model, ledger, clock
        self.identity, self.room = model.identity, model.room
        self._settings: dict[str, Any] = msgspec.json.decode(self.identity)
        self._responds = False
        """Whether anything came back from the server in this run."""

    async def answer(self, request: Request) -> Answer:
        """The recorded answer, or a new one.

        Raises CallFailed for a conversation that is refused for good, AgonError if no call can succeed (as with a wrong
        key), Unfinished if all tries failed, Absent if no server runs there, BudgetReached, and what `Accounts.enter` raises.
        """
        key = key_of(self.identity, request)
        size = sum([len(message.text.encode()) for message in request.messages])
        for attempt in range(self.model.tries):
            if (recorded := await self.ledger.enter(self.name, key, size)) is not None:
                return recorded
            try:
                outcome = await self._try_once(key, request)
            except BaseException:  # the run was stopped, so nobody will know the result
                self.ledger.abandon(self.name, key)
                raise
            if isinstance(outcome, Answer):
                return outcome
            if not self._responds and attempt + 1 >= KNOCKS:
                raise Absent(
                    f"model {self.name}: no server answers ({outcome}): "
                    f"start it, or correct base_url in conf/model/{self.name}.yaml"
                )
            if attempt + 1 < self.model.tries and not outcome.after:
                await sleep(self.model.pause * _pauses(key, attempt))
        raise Unfinished(f"{self._model_and_place()}: {self.model.tries} tries failed, the last: {outcome}")

    async def report_reading(
        self, request: Request, answer: Answer, fault: str, reread: Callable[[ReadingRule], Any]
    ) -> None:
        """Counts an answer. `fault`: why the agent could not read it (empty: it could)."""
        await self.ledger.report_reading(self.name, request, answer, fault)

    async def _try_once(self, key: str, request: Request) -> Answer | CallFailed:
        """Makes one try and records it. Returns the answer, or the failure if a further try makes sense.

        Else raises the failure.
        """
        line = Exchange(
            **{"exchange": key, "asked": request.messages[-1].id, "sample": request.sample, **self._settings},
            reading_rule=request.reading_rule,
            host=self.model.host,
        )
        try:
            line.sent = self.model.sent(request)
            async with asyncio.timeout(2 * self.model.timeout):  # for adapters that ignore their time limit
                answer = _storable(await self.model.answer(request), key, self.model.parameters.get("max_tokens"))
            if answer.ended == "error":  # an incomplete answer, whatever the adapter says
                raise broken_answer(answer.stop)
        except CallFailed as error:
            fault = error
        except Halted:
            raise
        except Exception as error:  # whatever an adapter raises, the call may be paid
            fault = failure(error)
        else:
            self._responds = True
            for field in FIELDS:
                setattr(line, field, getattr(answer, field))
            line.time = self.clock()
            await self.ledger.keep(self.name, line, request.messages)
            return replace(answer, reading_rule=request.reading_rule)
        if fault.then == "void":
            self._responds = True
            line.void, line.too_long, line.time = str(fault), isinstance(fault, TooLong), self.clock()
            await self.ledger.keep(self.name, line, request.messages)
            raise fault
        self._responds = self._responds or fault.kind != "no connection"
        failed = Failure(key, fault.kind, str(fault), self.clock(), self.model.model)
        await self.ledger.add_failure(self.name, failed, fault)
        if fault.then == "stop":
            raise AgonError(f"{self._model_and_place()}: {fault}")
        return fault

    def _model_and_place(self) -> str:
        """The model, and where it was asked if that is another machine."""
        return f"model {self.name}" + f" ({self.model.place})" * bool(self.model.host)


def _storable(answer: Answer, key: str, most: int | None = None) -> Answer:
    """The answer as a replay will return it (but for `recorded`). `most`: its limit of tokens.

    Raises msgspec.ValidationError if an adapter's answer cannot be recorded.
    """
    fields = {name: getattr(answer, name) for name in FIELDS}
    fields["ended"] = _ended(answer, most)
    for name in ("text", "thinking", "id", "stop", "served", "provider", "fingerprint"):
        if not fields[name].isascii():
            fields[name] = clean(fields[name])
    return msgspec.convert(fields | {"exchange": key}, Answer)


def _ended(answer: Answer, most: int | None) -> Ended:
    """Why an answer ended. Weighed answers are complete.

    An answer without text that took all its tokens was cut off while it was thinking, also if the provider says that it stopped.
    """
    if answer.weights:
        return "stop"
    ended = answer.ended if answer.ended != "unknown" else ended_of(str(answer.stop))
    spent = bool(most) and answer.tokens_out >= (most or 0)
    return "length" if spent and not answer.text.strip() and ended in ("stop", "unknown") else ended


def _pauses(key: str, attempt: int) -> float:
    return min(LONGEST, 2.0 ** min(attempt, 10)) * (0.5 + Random(f"{key}/{attempt}").random())
