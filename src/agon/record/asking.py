"""Asks models and records every exchange, so that it is paid for once. `agon.play` makes turns of the recordings."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from agon.models import Answering, Halted
from agon.models.base import RunOver
from agon.models.ledger import Ledger, Live, Unfinished
from agon.plan import Match
from agon.play import play_async

PATIENCE = 3
"""A model counts as down after this many successive failures for each match in flight."""


async def record(
    matches: Sequence[Match],
    ledger: Ledger,
    concurrency: int | None = None,
    tick: Callable[[Match], object] = lambda match: None,
) -> list[Halted]:
    """Plays every match that asks a model. Returns why some of them were halted.

    Matches wait for nothing but their own models: those that ask the same ones share a pool of `concurrency` matches in
    flight (None: see `in_flight`). Raises AgonError at once where no call can succeed.
    """
    models = ledger.models
    answering = {name: Live(name, model, ledger) for name, model in models.items()}
    pools: list[tuple[list[Match], int]] = []

    def models_of(match: Match) -> tuple[str, ...]:
        return tuple(sorted({seat.model for seat in match.seats if seat.model}))

    for names, group in groupby(sorted(matches, key=models_of), key=models_of):
        if names:
            pool = list(group)
            pools.append((pool, concurrency or in_flight(len(pool), min(models[name].concurrency for name in names))))
    halted: list[Halted] = []

    async def to_the_end(worker: Coroutine[Any, Any, None]) -> None:
        try:
            await worker
        except Exception:
            await ledger.drain()  # an error ends all other matches too, but their calls in flight are paid for
            raise

    try:
        async with asyncio.TaskGroup() as tasks:
            for pool, size in pools:
                waiting, rule = iter(pool), StopRule(size)
                for _ in range(min(size, len(pool))):
                    tasks.create_task(to_the_end(_worker(waiting, answering, rule, halted, tick)))
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        await asyncio.gather(*(model.close() for model in models.values()))
    return halted


def in_flight(matches: int, calls: int) -> int:
    """How many matches to play at once where `calls` may be made at once.

    At least twice as many, so that at the end no places are empty for long, and so many that they come out even.
    """
    return -(-matches // max(1, matches // (2 * calls)))


class StopRule:
    """Decides from the ends of matches whether to ask the models further. `in_flight` matches are played at once."""

    def __init__(self, in_flight: int) -> None:
        self.left = self.most = PATIENCE * in_flight
        self.over = False

    def ended(self, reason: Halted | None) -> None:
        """Counts the end of a match. `reason`: why it was halted, if it was."""
        self.left = self.most if reason is None else self.left - isinstance(reason, Unfinished)
        self.over = self.over or self.left <= 0 or isinstance(reason, RunOver)


async def _worker(
    waiting: Iterator[Match],
    answering: Mapping[str, Answering],
    rule: StopRule,
    halted: list[Halted],
    tick: Callable[[Match], object],
) -> None:
    while not rule.over and (match := next(waiting, None)):
        try:
            await play_async(match, answering)
        except Halted as reason:
            halted.append(reason)
            rule.ended(reason)
        else:
            rule.ended(None)
            tick(match)
