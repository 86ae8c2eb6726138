"""Many calls in a storm (storm.py): none hangs, none is lost, none is paid beyond the budget. `make soak`, or python soak.py CALLS."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.request import urlopen

from storm import KINDS, LIMIT, PRICE

from agon import AgonError
from agon.models import Answer, CallFailed, Halted, Model, Request, message
from agon.models.anthropic import Anthropic
from agon.models.ledger import Ledger, Live
from agon.models.limits import Budget
from agon.models.openai import OpenAI
from agon.models.recording import FILE, Recording, Writer

KEY, SECRET = "SOAK_KEY", "sk-soak-5f0c1e77d2a94b36"
PAUSE = 0.2
"""Seconds for which nothing may stop the event loop: what it computes itself, as other processes may hold it up at any time."""


@contextmanager
def storm(share: float = 0.0) -> Iterator[str]:
    """The provider, in a process of its own; its address."""
    command = [sys.executable, str(Path(__file__).with_name("storm.py")), str(share)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def told(url: str) -> Any:
    """What the provider has counted: requests, usd, and kinds met."""
    return json.loads(urlopen(url, timeout=10).read())


class Ticker:
    """How long the event loop stood still at most: by the clock, and by what it computed itself meanwhile."""

    def __init__(self) -> None:
        self.wall = self.own = 0.0

    async def tick(self) -> None:
        """Ticks until it is cancelled."""
        while True:
            wall, own = time.monotonic(), time.thread_time()
            await asyncio.sleep(0.01)
            self.wall = max(self.wall, time.monotonic() - wall - 0.01)
            self.own = max(self.own, time.thread_time() - own)


@dataclass
class Found:
    """What came of one run."""

    outcomes: dict[str, Any]
    """Sample -> an Answer, or what was raised."""
    budget: Budget
    recording: Recording
    lines: list[dict[str, Any]]
    took: list[float]
    """Seconds of each try."""
    seconds: dict[str, float] = field(default_factory=dict)


def timed(kind: type[Model], took: list[float]) -> type[Any]:
    """An adapter that tells how long each try took."""

    class Timed(kind):  # type: ignore[misc, valid-type]
        async def answer(self, request: Request) -> Answer:
            start = time.monotonic()
            try:
                return await super().answer(request)
            finally:
                took.append(time.monotonic() - start)

    return Timed


async def asked(kind: type[Model], url: str, folder: Path, texts: Sequence[str], budget: Budget, calls: int) -> Found:
    """Asks the provider all `texts`, by one ledger."""
    took: list[float] = []
    address = f"{url}/v1" if kind is OpenAI else url
    settings = {"model": "storm", "key": KEY, "base_url": address, "price": PRICE, "concurrency": calls, "pause": 0.001}
    model: Model = timed(kind, took)(parameters={"max_tokens": 20}, timeout=LIMIT, tries=12, **settings)
    writer = Writer(Recording(folder), folder.with_suffix(".lock"))
    ledger = Ledger({"storm": model}, writer, budget)
    live = Live("storm", model, ledger)

    async def one(text: str) -> Any:
        try:
            return await live.answer(Request((message("system", "The rules."), message("user", text)), text))
        except (AgonError, CallFailed, Halted) as error:
            return error

    outcomes = await asyncio.gather(*map(one, texts))
    await ledger.drain()
    await model.close()
    writer.close()
    assert not ledger.in_flight and not budget.bookings and ledger.limiters["storm"].in_flight == 0
    path = folder / FILE
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    return Found(dict(zip(texts, outcomes, strict=True)), budget, Recording(folder), lines, took)


def checked(found: Found, charged: float) -> None:
    """What holds of any run, of which the provider truly charges so much (USD)."""
    spent, most = found.budget.costs, found.budget.most["usd"]
    assert len(found.recording) + found.recording.failures == spent.calls == len(found.took)
    assert most is None or charged <= most + 1e-9, f"charged {charged}, budget {most}"
    assert charged <= found.budget.used["usd"] + 1e-9, f"charged {charged}, counted {found.budget.used}"
    assert max(found.took, default=0) < 2 * LIMIT, f"a call took {max(found.took)} s"
    shown = [
        line.get("void", "") + line.get("text", "") for line in found.lines if "exchange" in line or "failed" in line
    ]
    shown += [str(each) for each in found.outcomes.values() if isinstance(each, Exception)]
    for text in shown:
        assert text.isprintable() and SECRET[8:18] not in text, repr(text)
    assert SECRET[8:18] not in json.dumps(found.lines)


async def soak(calls: int, folder: Path, share: float = 0.3, chunk: int = 500) -> dict[str, Any]:
    """The whole of it, chunk by chunk, each with a budget of its own, by turns with both SDKs; what was counted."""
    totals: Counter[str] = Counter()
    dice, ticker, met, took = Random(calls), Ticker(), Counter[str](), list[float]()
    with storm(share) as url:
        for kind in (OpenAI, Anthropic):  # the SDKs are read, once
            await asked(kind, url, folder / f"first_{kind.__name__}", ["begin"], Budget(), 4)
        ticking = asyncio.create_task(ticker.tick())
        for number, start in enumerate(range(0, calls, chunk)):
            texts = [
                f"question {n} " + "and so on " * dice.randrange(40) for n in range(start, min(start + chunk, calls))
            ]
            budget = Budget(usd=len(texts) * dice.choice([0.00008, 0.00012, 1.0]))
            before = await asyncio.to_thread(told, url)
            found = await asked(
                (OpenAI, Anthropic)[number % 2], url, folder / str(number), texts, budget, dice.choice([4, 16, 64])
            )
            after = await asyncio.to_thread(told, url)
            checked(found, after["usd"] - before["usd"])
            outcomes = Counter(type(each).__name__ for each in found.outcomes.values())
            totals.update(outcomes)
            totals.update(
                requests=after["requests"] - before["requests"],
                tries=budget.costs.calls,
                exchanges=len(found.recording),
                failures=found.recording.failures,
                unreported=sum("unreported" in line for line in found.lines),
                budgets_reached=outcomes["BudgetReached"] > 0,
                micro_usd_charged=round((after["usd"] - before["usd"]) * 1e6),
                micro_usd_counted=round(budget.used["usd"] * 1e6),
            )
            took += found.took
        met = Counter(told(url)["met"])
        ticking.cancel()
    del met["answer: plain good"]
    return dict(totals) | {
        "faults": met.total(), "kinds": len(met), "longest try": round(max(took), 3),
        "longest pause": round(ticker.wall, 3), "longest own pause": round(ticker.own, 3),
    }  # fmt: skip


def each_kind(kind: type[Model], url: str, folder: Path, names: Mapping[str, int]) -> Any:
    """A call for each of these kinds: it comes first, and then good answers."""
    return asked(
        kind, url, folder, [f"<kind {number}> {name!r}" for name, number in names.items()], Budget(usd=1e6), 64
    )


if __name__ == "__main__":
    os.environ[KEY] = SECRET
    with tempfile.TemporaryDirectory() as made:
        began = time.monotonic()
        counted = asyncio.run(soak(int(sys.argv[1]), Path(made)))
    print(json.dumps(counted | {"seconds": round(time.monotonic() - began), "kinds known": len(KINDS)}, indent=1))
    sys.exit(counted["longest own pause"] > PAUSE)
