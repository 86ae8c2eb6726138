"""Asks models and records every exchange, so that it is paid once. `agon.play` makes turns from recordings."""

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
"""A model is down if this many matches fail in a row, for each match in flight."""


async def record(
    matches: Sequence[Match],
    ledger: Ledger,
    concurrency: int | None = None,
    tick: Callable[[Match], object] = lambda match: None,
) -> list[Halted]:
    """Plays every match that asks a model. Returns why some of them were halted.

    Matches with the same models form a pool, of which `concurrency` matches are in flight (None: see `in_flight`).
    Pools do not wait for each other. `tick` is called with every complete match. Raises AgonError if no call can succeed, once the
    calls in flight are recorded.
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
            await (
                ledger.drain()
            )  # an error ends all other matches too, but their calls in flight are paid and must be recorded
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
    """The number of matches to play at once, if `calls` may be made at once.

    It is all of them if they are fewer than twice `calls`. Else it is at least twice `calls`, so that few places are empty at the end,
    and it divides the matches evenly.
    """
    return -(-matches // max(1, matches // (2 * calls)))


class StopRule:
    """Decides whether to go on, by how matches ended. `in_flight`: number of matches at once."""

    def __init__(self, in_flight: int) -> None:
        self.left = self.most = PATIENCE * in_flight
        self.over = False

    def count_end(self, reason: Halted | None) -> None:
        """Counts the end of a match. `reason`: why it was halted. None: it was not."""
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
            rule.count_end(reason)
        else:
            rule.count_end(None)
            tick(match)
