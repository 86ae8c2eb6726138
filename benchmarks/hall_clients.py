"""People at tables, as light clients of `python -m agon serve`: `python benchmarks/hall_clients.py minutes=1 tables=100`.

A client does what a browser does, without drawing: it gets the page of a seat, hears its news, and sends its forms. When a match is
over, its two people go on at another table. Now and then a client reloads its page, loses its connection, or loses the answer to a form
that it has sent, and sends the form again. Measured is how long after an action is sent the other one's page is told of it.
"""

import asyncio
import html
import json
import os
import re
import signal
import socket
import sqlite3
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic

import httpx

GAME = {"game": "pd", "press": "Make the table"}
DICE = Random()
THINKS = (0.5, 3.0)
"""Seconds for an answer, from and to."""
AGAIN = 0.05
"""Share of questions before which a page is loaded again."""
DROPS = 0.05
"""Share of questions before which a page is offline for AWAY seconds, and of forms whose answer is lost on the way."""
AWAY = (0.2, 5.0)
"""Seconds, from and to."""
SLOW = 300
"""Seconds after which a server has failed, on a machine that does much else."""


class Server:
    """`python -m agon serve` on a folder, and what it takes."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.url = Path(folder), f"http://127.0.0.1:{self.port}"

    async def __aenter__(self):
        command = [sys.executable, "-m", "agon", "serve", f"--port={self.port}", f"--folder={self.folder}"]
        self._process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
        for _ in range(10 * SLOW):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return self
            assert self._process.returncode is None, "the server has ended"
            await asyncio.sleep(0.1)
        raise AssertionError("the server does not start")

    async def __aexit__(self, *why):
        self._process.send_signal(signal.SIGINT)
        await asyncio.wait_for(self._process.wait(), SLOW)

    def memory(self):
        """Resident MB."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def used(self):
        """Seconds of CPU time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def opened(self, client):
        """The links of the people's seats at a new table."""
        made = await client.post("/", data=GAME | {"once": str(DICE.random())})
        host = await client.get(made.headers["location"])
        return [html.unescape(link) for link in re.findall(r'href="[^"]+(/seat\?key=[^"]+)"', host.text)]


class Seat:
    """Somebody at a page."""

    def __init__(self, load, link):
        self.load, self.link, self.parts, self.round, self.known, self.other = load, link, {}, 0, 0, None
        self.changed, self.over, self.steady, self.heard = asyncio.Event(), False, True, monotonic()

    async def hears(self):
        """The news of the page, until the match is over; a server that ends is waited for."""
        while not self.over:
            with suppress(httpx.TransportError):
                await self._listens()
            self.steady = False
            assert monotonic() < self.heard + SLOW, "the server sends no news"
            await asyncio.sleep(not self.over)

    async def _listens(self):
        at = self.link.replace("?", "/~events?")
        async with self.load.client.stream("GET", at, timeout=60) as reply:
            async for line in reply.aiter_lines():
                self.heard = monotonic()
                if not line.startswith("data: {"):
                    continue
                self.parts |= json.loads(line.removeprefix("data: "))["parts"]
                status = self.parts["status"]
                found = re.search(r'data-round="(\d+)"', status)
                self.round = int(found[1]) if found else 0
                self.over = "The match is over" in status
                if self.over or self.round > self.known:  # both have answered: the later one is seen
                    is_timed = self.known > 0 and self.steady and self.other.steady  # news that nobody was offline for
                    later = max(self.load.last.get(each.link, 0) for each in (self, self.other))
                    self.load.told += [monotonic() - later] * is_timed
                    self.known, self.steady = self.round, True
                self.changed.set()
                if self.over:
                    return

    async def plays(self):
        """Sits down, and answers whatever is asked."""
        await self.load.client.post(self.link, data={"form": "sit", "name": "Ada", "press": "agree"})
        hearing, answered = asyncio.create_task(self.hears()), 0
        while not self.over:
            await self.changed.wait()
            self.changed.clear()
            if self.round <= answered:
                continue
            answered = self.round
            await asyncio.sleep(DICE.uniform(*THINKS))
            if DICE.random() < AGAIN:
                await self.load.client.get(self.link)
            if DICE.random() < DROPS:
                hearing.cancel()
                self.steady, self.load.drops = False, self.load.drops + 1
                await asyncio.sleep(DICE.uniform(*AWAY))
                hearing = asyncio.create_task(self.hears())
            number = re.search(r'name="question" value="(\d+)"', self.parts["ask"])[1]
            action = DICE.choice(["cooperation", "defection"])
            self.load.sent[self.link, int(number)] = action
            self.load.last[self.link] = began = monotonic()
            sent = {"form": "answer", "question": number, "press": action}
            sends = partial(self.load.client.post, self.link, data=sent, headers={"X-Hall": "1"})
            if lost := DICE.random() < DROPS:
                with suppress(TimeoutError):  # the form may have come or not: it is sent again
                    await asyncio.wait_for(sends(), DICE.uniform(0, 0.05))
                self.load.lost += 1
            reply = await sends()
            self.load.pressed += [monotonic() - began] * (not lost)
            assert reply.status_code == 200 or (lost and "answered already" in reply.text), reply.text[-500:]
        await hearing


class Load:
    """All people, and what they meet."""

    def __init__(self, server):
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self.client, self.server = httpx.AsyncClient(base_url=server.url, limits=limits, timeout=SLOW), server
        self.sent, self.last, self.told, self.pressed, self.places, self.memory = {}, {}, [], [], [], []
        self.drops = self.lost = 0

    async def table(self, until):
        """Two people, and when their match is over they have another one."""
        while monotonic() < until:
            seats = [Seat(self, link) for link in await self.server.opened(self.client)]
            for seat, other in zip(seats, seats[::-1], strict=True):
                seat.other = other
            await asyncio.gather(*(seat.plays() for seat in seats))
            self.places.append(seats)

    async def watches(self):
        """Memory, every 5 seconds."""
        while True:
            self.memory.append(round(self.server.memory()))
            await asyncio.sleep(5)


async def measured(folder, minutes=1.0, tables=100):
    """What so many tables meet in that time; matches are played to their end."""
    async with Server(folder) as server:
        load = Load(server)
        watching, began, before = asyncio.create_task(load.watches()), monotonic(), server.used()
        await asyncio.gather(*(load.table(began + 60 * minutes) for _ in range(tables)))
        watching.cancel()
        seconds = monotonic() - began
        used = server.used() - before
        await load.client.aclose()
    with sqlite3.connect(Path(folder) / "tables.sqlite") as db:
        rows = db.execute("select place, seat, number, action from answers").fetchall()
    kept = {(f"{place}.{seat}", number): json.loads(action) for place, seat, number, action in rows}
    sent = {(re.search(r"key=(\w+\.\d+)", link)[1], number): action for (link, number), action in load.sent.items()}
    return {
        "people": 2 * tables,
        "seconds": round(seconds),
        "actions": len(sent),
        "lost or other": sum(kept.get(each) != action for each, action in sent.items()),
        "doubled": len(kept) - len(sent),
        "connections dropped": load.drops,
        "forms sent again": load.lost,
        "told, seconds": _quantiles(load.told),
        "pressed, seconds": _quantiles(load.pressed),
        "server CPU": round(used / seconds, 2),
        "MB": [*load.memory[::12], load.memory[-1]],  # at each minute, and at the end
    }


def _quantiles(values):
    ordered = sorted(values)
    found = {f"p{share}": ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 95, 99)}
    return {name: round(value, 3) for name, value in (found | {"n": len(ordered)}).items()}


if __name__ == "__main__":
    asked = dict(each.split("=") for each in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        made = measured(folder, float(asked.get("minutes", 1)), int(asked.get("tables", 100)))
        print(json.dumps(asyncio.run(made), indent=1))
