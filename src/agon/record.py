"""Asking models: the bill before, and then every exchange paid for once and recorded; what is made of it is `play`'s."""

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Any, NamedTuple

from agon import AgonError
from agon.agents.keeping import Full
from agon.games.schemas import written
from agon.models import Answer, Answering, Halted, Model, Request
from agon.models.base import key_of, require_distinct
from agon.models.heard import RunOver
from agon.models.ledger import Ledger, Live, Unfinished
from agon.models.recording import Recording
from agon.plan import Match
from agon.play import play_async

LETTERS = 4
"""Letters to a token, about, in English."""
SECONDS = 0.7, 0.02
"""What a call may take: at least, and for each token of the answer."""
PATIENCE = 3
"""So many matches for each in flight may fail one after another before a model is taken to be down."""


class Asked(NamedTuple):
    """What is asked of one model: numbers of calls and of tokens."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def plus(self, other: "Asked") -> "Asked":
        """Both together."""
        return Asked(*map(sum, zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Bill:
    """What matches would ask of one model."""

    model: str
    matches: int
    asked: Asked
    usd: float | None
    """Without what prompt caches may save; None where the price is not known."""
    seconds: float
    """At the model's limits, at about 0.7 s and 0.02 s per token of answer for a call."""


def bills(matches: Sequence[Match], models: Mapping[str, Model], recording: Recording | None = None) -> list[Bill]:
    """What `matches` would still ask of each model, beside what `recording` holds; every new answer being readable.

    Calls and tokens are counted by playing the matches against answers of the expected length, alike ones once.
    """
    require_distinct(models)
    known = recording.calls_of if recording else Counter[str]()
    begun, total = Counter[str](), dict.fromkeys(models, Asked())
    cache: dict[Any, list[Asked]] = {}
    for match in matches:
        names = list(dict.fromkeys(seat.model for seat in match.seats if seat.model))
        if not names:
            continue
        recorded = recording if known[match.id] else None
        limits = tuple((models[name].parameters.get("max_tokens"), models[name].thinks) for name in names)
        seats = tuple((seat.agent, seat.model and names.index(seat.model)) for seat in match.seats)
        alike = match.id if recorded else (match.game, seats, limits)
        if alike not in cache:
            guesses = {name: _Guess(models[name], recorded) for name in names}
            with suppress(StopIteration, Full):
                play_async(match, guesses, instant=True).send(None)
            cache[alike] = [guess.asked for guess in guesses.values()]
        for name, asked in zip(names, cache[alike], strict=True):
            begun[name] += asked.calls > 0
            total[name] = total[name].plus(asked)
    return [_bill(name, model, begun[name], total[name]) for name, model in models.items()]


class _Guess:
    """Answers with a legal move after the expected number of tokens, and counts; what is recorded it gives for nothing."""

    instant = True

    def __init__(self, model: Model, recording: Recording | None = None) -> None:
        self.most, self.thinks = model.parameters.get("max_tokens"), model.thinks
        self.identity, self.recording, self.room = model.identity, recording, model.room
        self.asked = Asked()

    async def answer(self, request: Request) -> Answer:
        if self.recording and (found := self.recording.get(key_of(self.identity, request))) is not None:
            return found
        letters, out = sum(len(message.text) for message in request.messages), request.expected + self.thinks
        out = out if self.most is None else min(out, self.most)
        if request.options:  # it says nothing: a letter is read off one token, of words every token is asked for
            out = max(1, sum(map(len, request.options)) // LETTERS) if len(request.options[0]) > 1 else 1
        self.asked = self.asked.plus(Asked(1, letters / LETTERS, out))
        legal = request.view.legal
        action = legal.example(Random(request.sample))
        move = f"[move] {legal.spelled(action)}" if request.schema is None else written(legal.as_value(action))
        text = move.rjust(min(out, request.expected) * LETTERS)
        weights = (0.0,) * len(request.options)
        return Answer(text, tokens_in=letters // LETTERS, tokens_out=out, weights=weights)


def _bill(name: str, model: Model, matches: int, asked: Asked) -> Bill:
    each = SECONDS[0] + SECONDS[1] * asked.tokens_out / (asked.calls or 1)
    seconds = max(
        asked.calls * each / model.concurrency,
        asked.calls / (model.requests_per_minute or float("inf")) * 60,
        (asked.tokens_in + asked.tokens_out) / (model.tokens_per_minute or float("inf")) * 60,
    )
    return Bill(name, matches, asked, model.cost(asked.tokens_in, 0, asked.tokens_out), seconds)


async def record(
    matches: Sequence[Match],
    ledger: Ledger,
    concurrency: int | None = None,
    tick: Callable[[Match], object] = lambda match: None,
) -> list[Halted]:
    """Plays every match that asks a model; why some did not come to their end.

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
        except AgonError:
            await ledger.drain()  # an error ends all other matches too, but their calls in flight are paid for
            raise

    try:
        with little_garbage():
            async with asyncio.TaskGroup() as tasks:
                for pool, size in pools:
                    waiting = iter(pool)
                    rule = StopRule(size)
                    for _ in range(min(size, len(pool))):
                        tasks.create_task(to_the_end(_worker(waiting, answering, rule, halted, tick)))
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        await asyncio.gather(*(model.close() for model in models.values()))
    return halted


@contextmanager
def little_garbage() -> Iterator[None]:
    """Garbage collection as it suits many waiting matches: looking through everything took a sixth of the time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def in_flight(matches: int, calls: int) -> int:
    """How many matches to play at once where `calls` may be made at once.

    At least twice as many, so that at the end no places are empty for long, and so many that they come out even.
    """
    return -(-matches // max(1, matches // (2 * calls)))


class StopRule:
    """Whether models are worth asking further, as told by how matches ended; `in_flight` of them are played at once."""

    def __init__(self, in_flight: int) -> None:
        self.left = self.most = PATIENCE * in_flight
        self.over = False

    def ended(self, reason: Halted | None) -> None:
        """One more match has ended; `reason` says why before its time, if so."""
        self.left = self.most if reason is None else self.left - isinstance(reason, Unfinished)
        self.over = self.over or self.left <= 0 or isinstance(reason, RunOver)


async def _worker(
    waiting: Iterator[Match],
    answering: Mapping[str, Answering],
    rule: StopRule,
    halted: list[Halted],
    tick: Callable[[Match], object],
) -> None:
    for match in waiting:
        if rule.over:
            return
        try:
            await play_async(match, answering)
        except Halted as reason:
            halted.append(reason)
            rule.ended(reason)
        else:
            rule.ended(None)
            tick(match)
