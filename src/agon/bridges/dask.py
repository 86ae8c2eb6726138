"""The same plan on Dask workers: they play and ask the models; limits, budget and recording stay here, shared by all.

Dask's machines send each other pickled code and ask nobody who he is: only certificates (tls://) keep others out.
"""

import asyncio
import logging
import pickle
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any
from uuid import uuid4

import dask
import pandas as pd
from distributed import Client, KilledWorker, LocalCluster, as_completed
from distributed.comm.addressing import get_address_host
from distributed.comm.core import connect
from distributed.core import Server, Status, rpc
from distributed.security import Security

from agon.errors import AgonError
from agon.models import Answer, Answering, CallFailed, Halted, Message, Model
from agon.models.ledger import Ledger, Live
from agon.models.recording import Exchange, Failure
from agon.plan import Match
from agon.play import Played, ordered, play_async, play_at_once, table
from agon.record import StopRule, in_flight

CHUNK = 500
"""Matches to a task, where nothing is waited for."""
RETRIES = 100
"""Times a worker may be lost with the same task before it is taken to be the task's fault."""


class Coordinator(Server):
    """Hands matches to workers, and answers for the ledger. What a lost worker had in hand is handed out again."""

    def __init__(
        self,
        matches: Sequence[Match],
        ledger: Ledger,
        in_flight: int,
        tick: Callable[[Match], object] = lambda match: None,
    ) -> None:
        self.ledger, self.tick = ledger, tick
        self.waiting = list(reversed(matches))
        self.by_id = {match.id: match for match in matches}
        self.held: dict[str, set[str]] = {}
        """Worker -> ids of the matches it plays."""
        self.asking: dict[str, set[asyncio.Task[Answer | None]]] = {}
        """Worker -> its questions that wait for a place."""
        self.calls: dict[str, dict[str, str]] = {}
        """Worker -> key of each call it makes, and whose model's."""
        self.stop_rule = StopRule(in_flight)
        self.done: set[str] = set()
        self.halted: dict[str, Halted] = {}
        self.failed: AgonError | None = None
        super().__init__(  # type: ignore[no-untyped-call]
            {name: getattr(self, f"on_{name}") for name in ("stay", "take", "end", "enter", "keep", "fail", "heard")}
        )

    @property
    def over(self) -> bool:
        """Whether nothing is left to hand out."""
        return self.failed is not None or self.stop_rule.over or not self.waiting

    async def on_stay(self, comm: Any, worker: str) -> Any:
        """A worker begins. Its line stays open while it lives."""
        self.held[worker], self.asking[worker], self.calls[worker] = set(), set(), {}
        await comm.write("welcome")
        try:
            await comm.read()
        except OSError:
            self._lost(worker)
        return Status.dont_reply

    def _lost(self, worker: str) -> None:
        for question in self.asking.pop(worker):
            question.cancel()
        for key, name in self.calls.pop(worker).items():
            self.ledger.abandon(name, key)
        self.waiting += [self.by_id[match] for match in self.held.pop(worker) - self.done - set(self.halted)]

    async def on_take(self, worker: str) -> bytes | None:
        """One more match; None when there is none left, and for a worker that was taken for lost."""
        if self.over or worker not in self.held:
            return None
        match = self.waiting.pop()
        self.held[worker].add(match.id)
        return pickle.dumps(match)

    async def on_end(self, worker: str, match: str, reason: bytes | None) -> None:
        """A match is at its end; `reason` says why it is not, if so."""
        if worker not in self.held:
            return
        self.held[worker].discard(match)
        error = None if reason is None else pickle.loads(reason)
        if error is None:
            self.stop_rule.ended(None)
            self.done.add(match)
            self.tick(self.by_id[match])
        elif isinstance(error, Halted):
            self.stop_rule.ended(error)
            self.halted[match] = error
        elif self.failed is None:
            self.failed, self.ledger.closed = error, True

    async def on_enter(self, worker: str, name: str, key: str, size: int) -> bytes:
        """As Ledger.enter; halted when the run has failed, or the worker was taken for lost."""
        if self.failed is not None or worker not in self.held:
            return pickle.dumps(Halted("the run was stopped"))
        question = asyncio.create_task(self.ledger.enter(name, key, size))
        self.asking[worker].add(question)
        try:
            found = await question
        except (CallFailed, Halted, AgonError) as error:
            return pickle.dumps(error)
        except asyncio.CancelledError:
            return pickle.dumps(Halted("the worker was lost"))
        finally:
            self.asking.get(worker, set()).discard(question)
        if found is None:
            self.calls[worker][key] = name
        return pickle.dumps(found)

    async def on_keep(self, worker: str, name: str, line: bytes) -> bytes:
        """As Ledger.keep."""
        return await self._forward(worker, self.ledger.keep, name, line)

    async def on_fail(self, worker: str, name: str, line: bytes) -> bytes:
        """As Ledger.failed."""
        return await self._forward(worker, self.ledger.failed, name, line)

    async def on_heard(self, told: bytes) -> None:
        """As Ledger.heard."""
        await self.ledger.heard(*pickle.loads(told))

    async def _forward(self, worker: str, tell: Callable[..., Awaitable[None]], name: str, line: bytes) -> bytes:
        record, *more = pickle.loads(line)
        self.calls.get(worker, {}).pop(record.key, None)
        try:
            await tell(name, record, *more)
        except AgonError as error:
            return pickle.dumps(error)
        return pickle.dumps(None)


class _RemoteLedger:
    """The ledger, from a worker."""

    def __init__(self, coordinator: Any, worker: str) -> None:
        self.coordinator, self.worker = coordinator, worker

    async def enter(self, name: str, key: str, size: int) -> Answer | None:
        found: Answer | None = _unpacked(
            await self.coordinator.enter(worker=self.worker, name=name, key=key, size=size)
        )
        return found

    async def keep(self, name: str, line: Exchange, messages: tuple[Message, ...]) -> None:
        _unpacked(await self.coordinator.keep(worker=self.worker, name=name, line=pickle.dumps((line, messages))))

    async def failed(self, name: str, line: Failure, after: float | None) -> None:
        _unpacked(await self.coordinator.fail(worker=self.worker, name=name, line=pickle.dumps((line, after))))

    async def heard(self, *told: Any) -> None:
        await self.coordinator.heard(told=pickle.dumps(told))

    def abandon(self, name: str, key: str) -> None:
        """Nothing to tell: a worker whose calls end in this way ends too, and its line with it."""


def _unpacked(data: bytes) -> Any:
    found = pickle.loads(data)
    if isinstance(found, Exception):
        raise found
    return found


async def _work(coordinator_address: str, models: Mapping[str, Model], concurrency: int) -> None:
    """One worker's part: takes matches while there are any, `concurrency` in flight."""
    worker = uuid4().hex
    secured: dict[str, Any] = Security().get_connection_args("worker")
    open_line = await connect(coordinator_address, **secured)
    async with rpc(coordinator_address, connection_args=secured) as coordinator:
        await open_line.write({"op": "stay", "worker": worker})
        await open_line.read()
        ledger = _RemoteLedger(coordinator, worker)
        answering = {name: Live(name, model, ledger) for name, model in models.items()}

        async def player() -> None:
            while (packed := await coordinator.take(worker=worker)) is not None:
                match = pickle.loads(packed)
                reason: bytes | None = None
                try:
                    await play_async(match, answering)
                except (Halted, AgonError) as error:
                    reason = pickle.dumps(error)
                await coordinator.end(worker=worker, match=match.id, reason=reason)

        try:
            await asyncio.gather(*(player() for _ in range(concurrency)))
        finally:
            await open_line.close()
            await asyncio.gather(*(model.close() for model in models.values()))


async def record(
    matches: Sequence[Match],
    ledger: Ledger,
    executor: Mapping[str, Any],
    concurrency: int | None = None,
    tick: Callable[[Match], object] = lambda match: None,
) -> list[Halted]:
    """As agon.record.record, on the workers of a Dask scheduler at `executor.address`, or of a cluster made for it.

    `concurrency` matches are in flight in all (None: see `in_flight`). Workers may
    fail at any moment: the calls that they had paid for are recorded here.
    """
    _trusted(executor)
    address = executor["address"]
    calls = sum(model.concurrency for model in ledger.models.values())
    in_all = min(len(matches), concurrency or in_flight(len(matches), calls))
    coordinator: Any = Coordinator(matches, ledger, in_all, tick)
    if address is not None and address.startswith("tls://"):
        await coordinator.listen("tls://", **Security().get_listen_args("scheduler"))
    else:
        await coordinator.listen("tcp://127.0.0.1" if address is None or _is_here(address) else "tcp://")
    try:
        async with _client(executor) as client:
            while not coordinator.over:
                workers = await _workers(client)
                each = -(-in_all // len(workers))
                parts = [
                    client.submit(
                        _work,
                        coordinator.address,
                        dict(ledger.models),
                        each,
                        workers=[worker],
                        allow_other_workers=True,
                        pure=False,
                    )
                    for worker in workers
                ]
                await asyncio.gather(
                    *(part.result() for part in parts)
                )  # Client.gather's own leaves warnings after a Ctrl-C
    except KilledWorker as error:
        raise AgonError(f"workers were lost again and again ({error}); the same command goes on where it was") from None
    finally:
        await coordinator.close()
    if coordinator.failed is not None:
        raise coordinator.failed
    return list(coordinator.halted.values())


def play(
    matches: Sequence[Match],
    models: Mapping[str, Answering],
    executor: Mapping[str, Any],
    tick: Callable[[int], object] = lambda n: None,
) -> pd.DataFrame:
    """As agon.play.play without a journal: scripts and recorded models, `CHUNK` matches to a task."""
    return asyncio.run(_play(matches, models, executor, tick))


async def _play(
    matches: Sequence[Match],
    models: Mapping[str, Answering],
    executor: Mapping[str, Any],
    tick: Callable[[int], object],
) -> pd.DataFrame:
    _trusted(executor)
    async with _client(executor) as client:
        known = await client.scatter(dict(models), broadcast=True) if models else {}
        chunks = [matches[start : start + CHUNK] for start in range(0, len(matches), CHUNK)]
        tasks = [client.submit(_part, chunk, known, pure=False) for chunk in chunks]
        async for task in as_completed(tasks):
            tick(len(chunks[tasks.index(task)]))
        return ordered(await client.gather(tasks), [match.id for match in matches])


def _part(matches: Sequence[Match], models: Mapping[str, Answering]) -> pd.DataFrame:
    done: list[tuple[Match, Played]] = []
    play_at_once(matches, models, lambda match, played: done.append((match, played)))
    return table(done)


async def _workers(client: Client) -> list[str]:
    scheduler: Any = client.scheduler
    return list((await scheduler.identity(n_workers=-1))["workers"])


def _is_here(address: str) -> bool:
    """Whether an address is this machine's own, or leads nowhere: then connecting says why."""
    try:
        found = socket.getaddrinfo(get_address_host(address), None)
    except (OSError, ValueError, TypeError):
        return True
    return all(ip_address(str(place[0]).partition("%")[0]).is_loopback for *_, place in found)


def _trusted(executor: Mapping[str, Any]) -> None:
    """Raises AgonError where others could take part: neither certificates nor `executor.insecure`."""
    address = executor["address"]
    if not (address is None or address.startswith("tls://") or _is_here(address) or executor["insecure"]):
        raise AgonError(
            f"{address} is on another machine and has no TLS: whoever reaches it runs code as you. "
            "Take tls:// (docs/how-to/run-live-models.md), or in a closed network executor.insecure=true"
        )


async def _knock(address: str) -> None:
    """Sees that somebody is there: a client given a wrong address leaves warnings behind."""
    try:
        line = await connect(address, timeout=5, **Security().get_connection_args("client"))
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise AgonError(f"no Dask scheduler answers at {address}: {error}") from None
    await line.close()


@asynccontextmanager
async def _client(executor: Mapping[str, Any]) -> AsyncIterator[Client]:
    """A client of the scheduler at executor.address, or of a local cluster of executor.workers processes."""
    with dask.config.set({"distributed.scheduler.allowed-failures": RETRIES}):
        if executor["address"] is not None:
            await _knock(executor["address"])
            async with Client(executor["address"], asynchronous=True) as client:
                if not await _workers(client):
                    raise AgonError(f"the Dask scheduler at {executor['address']} has no workers")
                yield client
            return
        logging.getLogger("distributed.diskutils").setLevel(logging.WARNING)  # it tells of what killed runs left behind
        async with (
            LocalCluster(
                n_workers=executor["workers"],
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",  # any port: two runs at once would quarrel over one
                asynchronous=True,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster, asynchronous=True) as client,
        ):
            yield client
