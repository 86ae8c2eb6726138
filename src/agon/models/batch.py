"""Batches: many questions are submitted together. They cost less, and the provider answers them within a day.

The keys of the requests are on disk before a batch is submitted, and the provider's id of the batch afterwards. So a
run may end at any moment and go on later, and nothing is submitted twice: a batch without an id is looked for in the
provider's list.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from time import time
from typing import Any, TypeVar

import msgspec

from agon.errors import AgonError, count
from agon.models.base import Answer, CallFailed, Halted, Model, Request, key_of
from agon.models.errors import one_line
from agon.models.limits import LONGEST_REST
from agon.models.remote import Remote, Results
from agon.paths import require_finite

T = TypeVar("T")
FILE = "batches.jsonl"
MOST_REQUESTS, MOST_BYTES = 10_000, 64_000_000
"""The most requests of a batch (a fifth of what providers allow), and the most bytes of its conversations."""
MOST_RESULTS = 1_000_000_000
"""The most bytes of the results of a batch."""
ANY = 1_000_000
"""The most requests that wait at once."""
DAY, LONG = 86_400.0, 600.0
"""Seconds until providers have answered a batch or given it up, and the most seconds to submit one."""
QUIET = 0.3
"""Waiting questions are submitted after this many seconds without a new one."""
APPEARS = 60.0
"""Seconds after which a submitted batch is surely in the provider's list."""
NO_BATCH = {"no connection", "key", "settings"}
"""After these kinds of failure, and statuses from 400 to 499, the provider has no batch."""
NO_RESULT = "no result"
"""The kind of failure of requests about which the provider says nothing."""


class Batch(msgspec.Struct, omit_defaults=True):
    """A line of the journal: a new batch before its submission, or a later change of it."""

    batch: str
    """Our name of the batch."""
    identity: str = ""
    """Identity of the model."""
    keys: list[str] = []
    """Keys of its requests, which become keys of exchanges."""
    time: float = 0.0
    """Time of submission in seconds since 1970."""
    id: str = ""
    """The provider's id."""
    lost: set[str] = set()
    """Keys of requests that it will never answer."""


class Journal:
    """The batches of one recording. The file lies beside the recording until all answers are recorded."""

    def __init__(self, folder: Path, is_recorded: Callable[[str], bool]) -> None:
        self.path, self.is_recorded = folder / FILE, is_recorded
        self.batches: dict[str, Batch] = {}
        """Our name -> the batch, with all changes."""
        if require_finite(self.path).exists():
            for raw in self.path.read_bytes().splitlines(keepends=True):
                if raw.endswith(b"\n"):  # else a crash tore the line, and its batch was not submitted
                    self._hold(self._read(raw))

    def _read(self, raw: bytes) -> Batch:
        try:
            return msgspec.json.decode(raw, type=Batch)
        except msgspec.DecodeError as error:
            raise AgonError(
                f"{self.path} is damaged ({error}): restore it, or the batches in it are paid again"
            ) from None

    def _hold(self, line: Batch) -> None:
        batch = self.batches.setdefault(line.batch, line)
        batch.id, batch.lost = line.id or batch.id, batch.lost | line.lost

    def add(self, line: Batch) -> None:
        """Adds a line, and returns when it is on disk. Raises AgonError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                end = self.path.read_bytes().rfind(b"\n") + 1  # after the last complete line
                os.ftruncate(file, end)
                os.pwrite(file, msgspec.json.encode(line) + b"\n", end)
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise AgonError(f"{self.path} cannot be written: {error.strerror}") from None
        self._hold(line)

    def open(self, identity: str) -> dict[str, Batch]:
        """Key -> batch, for every request in a batch to this model that has no recorded answer yet."""
        return {
            key: batch
            for batch in self.batches.values()
            if batch.identity == identity
            for key in batch.keys
            if key not in batch.lost and not self.is_recorded(key)
        }

    @property
    def waiting(self) -> int:
        """Number of requests in batches, to any model, that have no recorded answer yet."""
        return sum(len(self.open(identity)) for identity in {batch.identity for batch in self.batches.values()})

    def require_none_waiting(self) -> None:
        """Raises AgonError if requests are in batches, which a run without batches would pay again."""
        if self.waiting:
            raise AgonError(
                f"{self.waiting:,} requests are in batches: add batch=true to collect them, or delete {self.path} to give them up"
            )

    def close(self) -> None:
        """Deletes the file if all its answers are recorded."""
        if self.path.exists() and not self.waiting:
            self.path.unlink()


class Outcome(msgspec.Struct):
    """The outcome of one request."""

    what: bytes | CallFailed
    """The body of the response, or the failure."""
    batch: Batch
    twice: bool = False
    """Whether there was a second response, which may cost too."""


@dataclass(kw_only=True)
class BatchModel(Model):
    """A model that is asked in batches. For agents and the ledger it is a model with any number of calls at once."""

    remote: Remote
    """The model without batches, at its full price."""
    journal: Journal
    say: Callable[[str], object] = lambda line: None
    """Prints a line when the state of a batch changes."""
    concurrency: int = ANY
    timeout: float = DAY
    quiet: float = QUIET
    appears: float = APPEARS

    def __post_init__(self) -> None:
        super().__post_init__()
        self._identity = self.remote.identity
        self._desk = replace(
            self.remote, most_bytes=MOST_RESULTS, timeout=max(self.remote.timeout, LONG), concurrency=4
        )
        self._new: dict[str, Request] = {}
        """Key -> request that is not submitted yet."""
        self._waiting: dict[str, asyncio.Future[Outcome]] = {}
        """Key -> future of the caller who waits for the answer."""
        self._open = self.journal.open(self._identity)
        """Key -> batch that will answer the request."""
        self._unclaimed: dict[str, Outcome] = {}
        """Key -> outcome that nobody has asked for in this run."""
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def obstacle(self) -> str:
        """That of the model without batches."""
        return self.remote.obstacle

    @property
    def identity(self) -> str:
        """The identity of the model without batches, so that recordings are the same."""
        return self._identity

    @property
    def host(self) -> str:
        """The host of the model without batches."""
        return self.remote.host

    @property
    def key_name(self) -> str:
        """The variable of the model without batches."""
        return self.remote.key_name

    def sent(self, request: Request) -> dict[str, Any]:
        """The fields of the request's body, as without batches."""
        return self.remote.sent(request)

    async def answer(self, request: Request) -> Answer:
        """The answer, perhaps after a day.

        Raises CallFailed, Halted if a batch is out of reach now, and AgonError if the journal cannot be written.
        """
        if request.options:
            raise CallFailed("settings", "probabilities are not asked for in batches: leave batch=true out", "stop")
        key = key_of(self._identity, request)
        outcome = self._unclaimed.pop(key, None) or await self._await_outcome(key, request)
        what = outcome.what
        if isinstance(what, CallFailed):
            raise CallFailed(what.kind, str(what), what.then, what.after)
        try:
            answer = self.remote.read_response(what, request)
        except CallFailed:
            self._lose(outcome.batch, [key])
            raise
        return replace(
            answer, seconds=max(0.0, time() - outcome.batch.time), unreported=answer.unreported or outcome.twice
        )

    async def _await_outcome(self, key: str, request: Request) -> Outcome:
        waiting = self._waiting[key] = asyncio.get_running_loop().create_future()
        if batch := self._open.get(key):
            self._start(batch.batch, lambda: self._follow(batch))
        else:
            self._new[key] = request
            self._start("", self._gather)
        try:
            return await waiting
        finally:
            self._new.pop(key, None)
            self._waiting.pop(key, None)

    def _start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Starts some work, unless it is running."""
        if name not in self._tasks or self._tasks[name].done():
            self._tasks[name] = asyncio.create_task(self._run_safely(work))

    async def _run_safely(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Does some work. An unexpected error ends the run, so that nobody waits for ever."""
        try:
            await work()
        except Exception as error:
            why = one_line(f"batches cannot go on: {type(error).__name__}: {error}")
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(CallFailed(type(error).__name__, why, "stop"))

    async def _gather(self) -> None:
        """Submits the waiting requests when no new ones come for a while."""
        while self._new:
            before = 0
            while before != len(self._new):
                before = len(self._new)
                await asyncio.sleep(self.quiet)
            size, requests = 0, dict[str, Request]()
            for key, request in self._new.items():
                size += sum(len(message.text.encode()) for message in request.messages)
                if requests and (size > MOST_BYTES or len(requests) == MOST_REQUESTS):
                    break
                requests[key] = request
            for key in requests:
                del self._new[key]
            if requests:
                await self._submit(requests)

    async def _submit(self, requests: Mapping[str, Request]) -> None:
        batch = Batch(f"agon-{token_hex(8)}", self._identity, list(requests), time())
        try:
            self.journal.add(batch)
            self._open |= dict.fromkeys(batch.keys, batch)
            self._record_id(batch, await self._desk.in_time(self._desk.submit(batch.batch, requests)), "is submitted")
        except CallFailed as fault:
            if fault.kind in NO_BATCH or (fault.kind.startswith("4") and fault.kind != "408"):
                self._lose(batch, batch.keys)
                self._fail(batch, fault)
                return
        except AgonError as error:  # the journal cannot be written
            self._fail(batch, error)
            return
        self._start(batch.batch, lambda: self._follow(batch))

    def _record_id(self, batch: Batch, id_: str, event: str) -> None:
        self.journal.add(Batch(batch.batch, id=id_))
        self.say(f"{self.model}: batch {id_} of {count(len(batch.keys), 'request')} {event}")

    async def _follow(self, batch: Batch) -> None:
        """Waits until a batch is finished, and gives out its results."""
        try:
            if not batch.id and not await self._is_submitted(batch):
                return
            while (results := await self._patiently(batch, lambda: self._desk.results(batch.id))) is None:
                await asyncio.sleep(self.remote.poll)
            self._give_out(batch, results)
        except (AgonError, CallFailed, Halted) as error:
            self._fail(batch, error)

    async def _is_submitted(self, batch: Batch) -> bool:
        """Whether the provider has a batch whose id did not come back.

        The journal has the time before the submission, which may take long. So the batch has time from now on to
        appear.
        """

        async def look() -> str | None:
            others = {batch.id for batch in self.journal.batches.values()}
            return await self._desk.find_batch(batch.batch, {*batch.keys}, batch.time, others)

        start = time()
        while True:
            began = time()
            id_ = await self._patiently(batch, look)
            if id_ is not None:
                self._record_id(batch, id_, "was submitted before")
                return True
            if began > start + self.appears:
                self._lose(batch, batch.keys)
                self._fail(batch, CallFailed("not taken", "the batch did not reach the provider"))
                return False
            await asyncio.sleep(min(self.remote.poll, self.appears))

    async def _patiently(self, batch: Batch, look: Callable[[], Awaitable[T]]) -> T:
        """Repeats a request to the provider until it succeeds.

        Raises CallFailed if it never will, Halted after too many failures.
        """
        failures = 0
        while True:
            try:
                return await self._desk.in_time(look())
            except CallFailed as fault:
                if fault.kind == "404":
                    why = "the provider does not know it: it is too old, or was submitted with another key"
                    raise self._paid_batch_error(batch, fault.kind, why) from None
                failures += fault.kind != "under way"
                if fault.then != "retry":
                    raise
                if failures == self.tries:
                    raise Halted(f"batch {batch.id or batch.batch} cannot be reached: {fault}") from None
                await asyncio.sleep(min(fault.after or self.remote.poll, LONGEST_REST))

    def _paid_batch_error(self, batch: Batch, kind: str, why: str) -> CallFailed:
        """The failure that ends the run because of a paid batch.

        The batch stays in the journal, so it is not submitted again.
        """
        anew = f"Without its lines in {self.journal.path.name} they are asked, and paid, anew"
        return CallFailed(kind, f"batch {batch.id} of {count(len(batch.keys), 'request')}: {why}. {anew}", "stop")

    def _give_out(self, batch: Batch, results: Results) -> None:
        """Gives the outcomes to those who wait. Raises CallFailed if a batch must have answers and none can be read."""
        responses, twice = dict[str, bytes | CallFailed](), set[str]()
        for key, what in results.answers:
            earlier = responses.get(key)
            if isinstance(earlier, bytes) and isinstance(what, bytes):
                twice.add(key)
            if not isinstance(earlier, bytes) or (isinstance(what, bytes) and not self.remote.has_answer(earlier)):
                responses[key] = what
        outcomes = [responses.get(key, results.rest) for key in batch.keys]
        if not any(isinstance(what, bytes) and self.remote.has_answer(what) for what in outcomes):
            missing = sum(key not in responses and results.rest.kind == NO_RESULT for key in batch.keys)
            if missing or any(isinstance(what, bytes) for what in outcomes):
                raise self._paid_batch_error(batch, NO_RESULT, "it is over, but no answer in its results can be read")
        keys = [key for key in batch.keys if self._open.get(key) is batch]
        failures = [key for key in keys if not isinstance(responses.get(key), bytes)]
        self._lose(batch, failures)
        self.say(
            f"{self.model}: batch {batch.id} is over: {count(len(keys) - len(failures), 'answer')}, {count(len(failures), 'failure')}"
        )
        for key in keys:
            outcome, waiting = Outcome(responses.get(key, results.rest), batch, key in twice), self._waiting.get(key)
            if waiting is None:
                self._unclaimed[key] = outcome
            elif not waiting.done():
                waiting.set_result(outcome)

    def _lose(self, batch: Batch, keys: Sequence[str]) -> None:
        """Records on disk that a batch does not answer some requests. They may be submitted again."""
        if keys:
            self.journal.add(Batch(batch.batch, lost={*keys}))
        for key in keys:
            self._open.pop(key, None)

    def _fail(self, batch: Batch, error: Exception) -> None:
        """Ends all waiting for a batch with an error."""
        for key in batch.keys:
            waiting = self._waiting.get(key)
            if waiting is None or waiting.done():
                continue
            if isinstance(error, CallFailed):
                waiting.set_result(Outcome(error, batch))
            else:
                waiting.set_exception(error)

    def let_go(self) -> None:
        """Stops all waiting. The same command later fetches the submitted batches."""
        for task in self._tasks.values():
            task.cancel()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(
                    Halted("the run was stopped; the batches go on, and the same command fetches them")
                )

    async def close(self) -> None:
        """Stops waiting, and closes connections."""
        self.let_go()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._desk.close()


def use_batches(models: Mapping[str, Model], journal: Journal, say: Callable[[str], object]) -> dict[str, Model]:
    """The models by name, with batches if they have a batch interface. Raises AgonError if none has one."""
    if not any(isinstance(model, Remote) and model.batch for model in models.values()):
        raise AgonError(
            f"batch=true: no batch interface is known of {', '.join(models)} (`batch` in conf/model): leave it out"
        )
    return {name: _use_batches(model, journal, say) for name, model in models.items()}


def _use_batches(model: Model, journal: Journal, say: Callable[[str], object]) -> Model:
    if not isinstance(model, Remote) or not model.batch:
        return model
    price = {name: usd and usd * model.batch for name, usd in model.price.items()}
    names = "model", "parameters", "context", "thinks", "tries", "pause", "batch", "priced"
    return BatchModel(
        remote=model, journal=journal, say=say, price=price, **{name: getattr(model, name) for name in names}
    )
