"""The browser's server under load: `pytest benchmarks/bench_hall.py --benchmark-only`, on a machine that does nothing else.

Wanted of 20 tables with 40 people on 2 cores: 95 % of actions seen by the others within 0.5 s, no action lost, memory steady.
AGON_MINUTES=30 plays for so long, not for one minute, and then memory is looked at.
"""

import asyncio
import os
import socket

import pytest
from hall_clients import Page, Server, measured

from agon.plan import PERSON

MINUTES = float(os.environ.get("AGON_MINUTES", 1))


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


@pytest.mark.parametrize("game", ["pd", "tradecraft/minecraft-01"])
def test_a_page_is_opened(benchmark, tmp_path, game):
    """Its HTML, its websocket and its document, one after the other; nobody has sat down yet."""
    port = free_port()
    with asyncio.Runner() as runner:
        server = runner.run(Server.start(tmp_path, port))
        key, _ = runner.run(server.open(game, [PERSON, PERSON]))

        async def opened():
            page = Page(port, f"/seat?key={key}", lambda: None)
            await page.open()
            page.close()

        benchmark.pedantic(lambda: runner.run(opened()), rounds=30, warmup_rounds=3)
        runner.run(server.close())


@pytest.mark.parametrize("tables", [5, 20])
def test_people_see_what_others_do(benchmark, tmp_path, tables):
    found = benchmark.pedantic(measured, args=(tmp_path, free_port(), MINUTES, tables), rounds=1)
    samples = found.pop("samples")
    marks = [each for each in samples if round(each["second"] / 60, 1) in (1, 5, 10, 20, 30)] + samples[-1:]
    found["MB by minute"] = {round(each["second"] / 60): each["MB"] for each in marks}
    benchmark.extra_info.update(found)
    assert found["lost"] == found["doubled"] == found["others"] == 0
    assert not found["errors"] and not found["failed"] and not found["stuck"]
    if MINUTES >= 30:
        assert found["MB per minute"] < 0.5
