"""What recording and replaying cost on our side: whole matches, full histories, the server in another process.

Run with `make bench`. 200 matches of 16 rounds between a model and chance, 100 calls at once; the bound is calls x latency / 100.
extra_info holds medians: wall over bound, milliseconds of this process's CPU time per call (prompt, call, reading and
recording together), decisions replayed per second, and peak memory of 1,600 matches at once; beside them those of a plain
client and of the SDK by itself, which neither read nor keep the answers.
"""

import asyncio
import json
import multiprocessing
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import aiohttp
import pytest
from openai import AsyncOpenAI, DefaultAioHttpClient

from agon import ROOT
from agon.models.ledger import Ledger, Replayed
from agon.models.limits import Budget
from agon.models.openai import OpenAI
from agon.models.recording import Recording, Writer
from agon.plan import plan
from agon.play import play
from agon.record import record

AT_ONCE, ROUNDS = 100, 16


def matches(count):
    pairing = {"games": ["pd"], "models": ["standin"], "seats": [["zs"], ["uniform"]]}
    return plan({"name": "bench", "repetitions": count, "pairings": [pairing]})


@contextmanager
def serving(latency):
    command = [sys.executable, ROOT / "tests/models/fault_server.py", "--answer", "[move] cooperation"]
    process = subprocess.Popen([*command, "--latency", str(latency)], stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().strip()
    process.terminate()
    process.wait(60)


def model(url, concurrency=AT_ONCE):
    parameters = {"max_tokens": 4096, "temperature": 1.0}
    return OpenAI(model="m", base_url=f"{url}/v1", concurrency=concurrency, parameters=parameters)


def recorded(folder, found, asked):
    """Records all matches; seconds of wall and of CPU time."""
    writer = Writer(Recording(folder), folder / "lock")
    start, used = time.perf_counter(), time.process_time()
    halted = asyncio.run(record(found, Ledger({"standin": asked}, writer, Budget())))
    spent = time.perf_counter() - start, time.process_time() - used
    writer.close()
    assert halted == [] and len(writer.recording) == len(found) * ROUNDS
    return spent


def plain(url, conversations):
    """The same conversations through a plain client that neither reads nor keeps anything; seconds of wall and of CPU time."""

    async def talk(session, bodies):
        for body in bodies:
            async with session.post(f"{url}/v1/chat/completions", data=json.dumps(body)) as response:
                await response.json()

    async def talk_all():
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=AT_ONCE)) as session:
            await asyncio.gather(*(talk(session, bodies) for bodies in conversations))

    start, used = time.perf_counter(), time.process_time()
    asyncio.run(talk_all())
    return time.perf_counter() - start, time.process_time() - used


def sdk(url, conversations):
    """The same by the SDK alone, as its documentation shows it; seconds of wall and of CPU time."""

    async def talk(client, bodies):
        for body in bodies:
            await client.chat.completions.create(**body)

    async def talk_all():
        async with AsyncOpenAI(
            base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=DefaultAioHttpClient()
        ) as client:
            await asyncio.gather(*(talk(client, bodies) for bodies in conversations))

    start, used = time.perf_counter(), time.process_time()
    asyncio.run(talk_all())
    return time.perf_counter() - start, time.process_time() - used


def conversations(folder, count):
    """The bodies of the requests of `count` matches, out of a recording."""
    lines = [json.loads(line) for line in (folder / "exchanges.jsonl").read_bytes().splitlines()]
    known = {line["message"]: line for line in lines if "message" in line}

    def body(last):
        said = []
        while last:
            said.append({"role": known[last]["role"], "content": known[last]["text"]})
            last = known[last]["after"]
        return {"model": "m", "messages": said[::-1], "max_completion_tokens": 4096, "temperature": 1.0}

    of_match = {}
    for line in lines:
        if "exchange" in line:
            of_match.setdefault(line["sample"].partition("/")[0], []).append(body(line["asked"]))
    return list(of_match.values())[:count]


@pytest.mark.parametrize("latency", [0.05, 0.5])
def test_recording(benchmark, tmp_path, latency):
    found, runs, plains, sdks = matches(200), [], [], []
    calls = len(found) * ROUNDS
    bound = calls * latency / AT_ONCE
    with serving(latency) as url:
        recorded(tmp_path / "warm", found[:20], model(url))

        def run():
            folder = tmp_path / str(len(runs))
            runs.append(recorded(folder, found, model(url)))
            said = conversations(folder, len(found))
            plains.append(plain(url, said))
            sdks.append(sdk(url, said))

        benchmark.pedantic(run, rounds=5 if latency < 0.1 else 3)
    for name, found_ in (("agon", runs), ("the SDK alone", sdks), ("plain aiohttp", plains)):
        benchmark.extra_info[f"{name}: wall / bound"] = round(median(wall for wall, _ in found_) / bound, 3)
        benchmark.extra_info[f"{name}: CPU ms per call"] = round(1000 * median(cpu for _, cpu in found_) / calls, 3)


def test_replay(benchmark, tmp_path):
    found = matches(1000)
    with serving(0) as url:
        asked = model(url)
        recorded(tmp_path, found, asked)

    def run():
        shutil.rmtree(tmp_path / "journal", ignore_errors=True)
        return play(found, tmp_path / "journal", {"standin": Replayed("standin", asked.identity, recording)})

    recording = Recording(tmp_path)
    turns = benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    assert turns.cached[turns.model.notna()].all()
    benchmark.extra_info["decisions per second"] = round(len(turns) / benchmark.stats.stats.median)
    benchmark.extra_info["the model's, half of them"] = round(len(turns) / 2 / benchmark.stats.stats.median)
    start = time.perf_counter()
    Recording(tmp_path)
    benchmark.extra_info["exchanges read per second"] = round(len(recording) / (time.perf_counter() - start))


def peak() -> float:
    """The most memory (MB) that this process has had."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def peak_of(folder, url, count):
    """Peak memory before, and with `count` matches at once."""
    before = peak()
    recorded(Path(folder), matches(count), model(url, concurrency=count))
    return before, peak()


def test_memory(benchmark, tmp_path):
    def run():
        shutil.rmtree(tmp_path / "memory", ignore_errors=True)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as child:
            return child.submit(peak_of, str(tmp_path / "memory"), url, 1600).result(600)

    with serving(0.5) as url:
        before, most = benchmark.pedantic(run, rounds=1)
    benchmark.extra_info["MB before"], benchmark.extra_info["peak MB"] = round(before), round(most)
