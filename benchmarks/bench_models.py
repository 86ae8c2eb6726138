"""CPU time that one call costs on our side, adapters beside plain aiohttp; the server is another process.

Run with `make bench`. A call sends 32 messages, the length of a match's history; 100 are in flight at once.
extra_info holds milliseconds of this process's CPU time per call.
"""

import asyncio
import json
import subprocess
import sys
import time

import aiohttp
import pytest

from agon import ROOT
from agon.models import Request, message
from agon.models.anthropic import Anthropic
from agon.models.openai import OpenAI

AT_ONCE = 100
CALLS = 2000
ROUND = "Round {0}: you said cooperation, the other player said defection; you got 1 point and the other player 6 in all {0}."
HISTORY = (
    message("system", "The rules of the game, the payoffs of both players, and how to answer. " * 12),
    *(message("user" if place % 2 == 0 else "assistant", ROUND.format(place)) for place in range(31)),
)


@pytest.fixture(scope="module")
def server():
    command = [sys.executable, ROOT / "tests/models/fault_server.py", "--latency", "0.05"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait(60)


async def cpu_of(call) -> float:
    """Milliseconds of CPU time per call, with 100 in flight; the first hundred calls only warm up."""
    left = iter(range(CALLS))

    async def caller():
        for number in left:
            await call(number)

    await asyncio.gather(*(call(-number) for number in range(AT_ONCE)))
    start = time.process_time()
    await asyncio.gather(*(caller() for _ in range(AT_ONCE)))
    return 1000 * (time.process_time() - start) / CALLS


def measure(benchmark, use) -> None:
    found = []
    benchmark.pedantic(lambda: found.append(asyncio.run(use())), rounds=5)
    benchmark.extra_info["cpu_ms_per_call"] = round(sorted(found)[len(found) // 2], 3)


@pytest.mark.parametrize("kind", [OpenAI, Anthropic])
def test_adapter(benchmark, server, kind):
    async def use():
        address = f"{server}/v1" if kind is OpenAI else server
        model = kind(
            model="m", base_url=address, concurrency=AT_ONCE, parameters={"max_tokens": 4096, "temperature": 1.0}
        )
        try:
            return await cpu_of(lambda number: model.answer(Request(HISTORY, str(number))))
        finally:
            await model.close()

    measure(benchmark, use)


def test_plain_aiohttp(benchmark, server):
    body = {"model": "m", "messages": [{"role": message.role, "content": message.text} for message in HISTORY]}

    async def use():
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)) as session:

            async def call(number):
                async with session.post(f"{server}/v1/chat/completions", data=json.dumps(body)) as response:
                    return await response.json()

            return await cpu_of(call)

    measure(benchmark, use)
