"""The same plan on Dask workers: they play and ask the models; limits, budget and recording stay here, shared by all."""

import asyncio
import logging
import pickle
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import dask
import pandas as pd
from distributed import Client, KilledWorker, LocalCluster, as_completed
from distributed.core import Server, rpc

from agon import AgonError
from agon.models import Answer, Answering, CallFailed, Halted, Message, Model
from agon.models.desk import Desk, Live
from agon.models.limits import BudgetReached
from agon.models.recording import Exchange, Failure
from agon.plan import Match
from agon.play import Played, ordered, play_async, play_at_once, table

CHUNK = 500
"""Matches to a task, where nothing is waited for."""
RETRIES = 100
"""Times a worker may be lost with the same task before it is taken to be the task's fault."""


class Office(Server):
    """Hands matches to workers, and answers for the desk. What a lost worker had in hand is handed out again."""

    def __init__(self, matches: Sequence[Match], desk: Desk, tick: Callable[[Match], object]) -> None:
        self.desk, self.tick = desk, tick
        self.waiting = list(reversed(matches))
        self.by_id = {match.id: match for match in matches}
        self.held: dict[str, set[str]] = {}
        """Worker task -> ids of the matches it plays."""
        self.done: set[str] = set()
        self.halted: dict[str, Halted] = {}
        self.failed: AgonError | None = None
        super().__init__(  # type: ignore[no-untyped-call]
            {name: getattr(self, f"on_{name}") for name in ("hello", "take", "end", "enter", "keep", "fail")}
        )

    @property
    def over(self) -> bool:
        """Whether nothing is left to hand out."""
        return self.failed is not None or any(isinstance(reason, BudgetReached) for reason in self.halted.values())

    async def on_hello(self, worker: str) -> None:
        """A worker task begins, perhaps for the second time: what it held before is to be played again."""
        for match in self.held.pop(worker, set()) - self.done - set(self.halted):
            self.waiting.append(self.by_id[match])
        self.held[worker] = set()

    async def on_take(self, worker: str) -> bytes | None:
        """One more match; None when there is none left."""
        if self.over or not self.waiting:
            return None
        match = self.waiting.pop()
        self.held[worker].add(match.id)
        return pickle.dumps(match)

    async def on_end(self, worker: str, match: str, reason: bytes | None) -> None:
        """A match is at its end; `reason` says why it is not, if so."""
        self.held[worker].discard(match)
        if reason is None:
            if match not in self.done:
                self.done.add(match)
                self.tick(self.by_id[match])
            return
        error = pickle.loads(reason)
        if isinstance(error, Halted):
            self.halted[match] = error
        else:
            self.failed = error if isinstance(error, AgonError) else AgonError(str(error))

    async def on_enter(self, name: str, key: str, size: int) -> bytes:
        """As Desk.enter."""
        try:
            return pickle.dumps(await self.desk.enter(name, key, size))
        except (CallFailed, Halted, AgonError) as error:
            return _packed(error)

    async def on_keep(self, name: str, line: bytes) -> bytes:
        """As Desk.keep."""
        try:
            await self.desk.keep(name, *pickle.loads(line))
        except AgonError as error:
            return _packed(error)
        return pickle.dumps(None)

    async def on_fail(self, name: str, line: bytes) -> bytes:
        """As Desk.failed."""
        try:
            await self.desk.failed(name, *pickle.loads(line))
        except AgonError as error:
            return _packed(error)
        return pickle.dumps(None)


def _packed(error: Exception) -> bytes:
    if isinstance(error, CallFailed):
        return pickle.dumps(("call", error.kind, str(error), error.then, error.after))
    return pickle.dumps(error)


def _unpacked(data: bytes) -> Any:
    found = pickle.loads(data)
    if isinstance(found, tuple) and found and found[0] == "call":
        raise CallFailed(*found[1:])
    if isinstance(found, Exception):
        raise found
    return found


class _Far:
    """The desk, from a worker."""

    def __init__(self, office: Any) -> None:
        self.office = office

    async def enter(self, name: str, key: str, size: int) -> Answer | None:
        found: Answer | None = _unpacked(await self.office.enter(name=name, key=key, size=size))
        return found

    async def keep(self, name: str, line: Exchange, messages: tuple[Message, ...]) -> None:
        _unpacked(await self.office.keep(name=name, line=pickle.dumps((line, messages))))

    async def failed(self, name: str, line: Failure, after: float | None) -> None:
        _unpacked(await self.office.fail(name=name, line=pickle.dumps((line, after))))


async def _work(office_address: str, worker: str, models: Mapping[str, Model], concurrency: int) -> None:
    """One worker's part: takes matches while there are any, `concurrency` in flight."""
    async with rpc(office_address) as office:
        await office.hello(worker=worker)
        far = _Far(office)
        answering = {name: Live(name, model, far) for name, model in models.items()}

        async def player() -> None:
            while (packed := await office.take(worker=worker)) is not None:
                match = pickle.loads(packed)
                reason: bytes | None = None
                try:
                    await play_async(match, answering)
                except (Halted, AgonError) as error:
                    reason = pickle.dumps(error)
                await office.end(worker=worker, match=match.id, reason=reason)

        try:
            await asyncio.gather(*(player() for _ in range(concurrency)))
        finally:
            await asyncio.gather(*(model.close() for model in models.values()))


async def record(
    matches: Sequence[Match],
    desk: Desk,
    executor: Mapping[str, Any],
    concurrency: int | None = None,
    tick: Callable[[Match], object] = lambda match: None,
) -> list[Halted]:
    """As agon.record.record, on the workers of a Dask scheduler at `executor.address`, or of a cluster made for it.

    `concurrency` matches are in flight in all (None: as many as all models together take calls). Workers may come to
    grief at any moment: what they had paid for is recorded here.
    """
    office: Any = Office(matches, desk, tick)
    await office.listen("tcp://127.0.0.1" if executor["address"] is None else "tcp://")
    in_all = concurrency or sum(model.concurrency for model in desk.models.values())
    try:
        async with _client(executor) as client:
            workers = await _workers(client)
            each = max(1, -(-min(in_all, len(matches)) // len(workers)))
            parts = [
                client.submit(
                    _work,
                    office.address,
                    f"part {number}",
                    dict(desk.models),
                    each,
                    workers=[worker],
                    allow_other_workers=True,
                    pure=False,
                )
                for number, worker in enumerate(workers)
            ]
            await client.gather(parts)
    except KilledWorker as error:
        raise AgonError(f"workers were lost again and again ({error}); the same command goes on where it was") from None
    finally:
        await office.close()
    if office.failed is not None:
        raise office.failed
    return list(office.halted.values())


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
    async with _client(executor) as client:
        known = await client.scatter(dict(models), broadcast=True)
        chunks = [matches[start : start + CHUNK] for start in range(0, len(matches), CHUNK)]
        tasks = [client.submit(_part, chunk, known, pure=False) for chunk in chunks]
        async for task in as_completed(tasks):
            tick(len(chunks[tasks.index(task)]))
        return ordered(await client.gather(tasks), matches)


def _part(matches: Sequence[Match], models: Mapping[str, Answering]) -> pd.DataFrame:
    done: list[tuple[Match, Played]] = []
    play_at_once(matches, models, lambda match, played: done.append((match, played)))
    return table(done)


async def _workers(client: Client) -> list[str]:
    scheduler: Any = client.scheduler
    return list((await scheduler.identity(n_workers=-1))["workers"])


@asynccontextmanager
async def _client(executor: Mapping[str, Any]) -> AsyncIterator[Client]:
    """A client of the scheduler at executor.address, or of a local cluster of executor.workers processes."""
    with dask.config.set({"distributed.scheduler.allowed-failures": RETRIES}):
        if executor["address"] is not None:
            try:
                async with Client(executor["address"], asynchronous=True, timeout="10s") as client:
                    if not await _workers(client):
                        raise AgonError(f"the Dask scheduler at {executor['address']} has no workers")
                    yield client
            except OSError as error:
                raise AgonError(f"no Dask scheduler answers at {executor['address']}: {error}") from None
            return
        async with (
            LocalCluster(
                n_workers=executor["workers"],
                threads_per_worker=1,
                dashboard_address=None,
                asynchronous=True,
                silence_logs=logging.CRITICAL,
            ) as cluster,
            Client(cluster, asynchronous=True) as client,
        ):
            yield client
