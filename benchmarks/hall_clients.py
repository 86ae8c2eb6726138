"""People at tables, as light clients of `python -m agon serve`: `python benchmarks/hall_clients.py minutes=30 tables=20`.

A client speaks the browser's protocol (Bokeh's) without drawing anything: it gets the page of a seat, pulls its document,
follows what the server changes in it, fills in the form that is shown, and presses its button. When a match is over, its two
people go on at another table, with pages of their own. What is measured is said in `Load.found`.
"""

import asyncio
import html
import json
import os
import random
import re
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from itertools import count
from pathlib import Path
from statistics import linear_regression
from time import monotonic, process_time
from urllib.parse import urlencode

import msgspec
from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import websocket_connect

from agon.conf import expand_settings, load
from agon.plan import PERSON

KINDS = ("pd", "rps", "chameleon", "undercover", "cost_sharing", "prisoner3", "public_goods", "tradecraft")
PEOPLE, REST = 2, "magic_fair"
"""At each table; the other seats are the script's."""
AT_DOOR = ("Leave for now", "I am back", "I agree, and sit down")
AGAIN, TWICE = 0.02, 0.05
"""Shares of questions before which a page is loaded again, and of buttons that are pressed twice at once."""
STUCK = 20.0
"""Seconds that nobody waits for the other one, who thinks for 3 at most."""
ADDRESS = "127.0.0.1"
BIGGEST = 50_000_000


class Page:
    """One page in one browser: its models as the server has them."""

    def __init__(self, port, path, changed):
        self._port, self._path, self._changed = port, path, changed
        self._numbers, self._parts, self._socket = count(), [], None
        loop = asyncio.get_running_loop()
        self._greeted, self._pulled = loop.create_future(), loop.create_future()
        self._patched, self._pressed = {}, set()
        self.models, self.roots, self.errors = {}, [], []
        self.received = self.refusals = 0
        self.turned = Counter()
        """(model, True) -> how often it was disabled; (model, False) -> enabled again."""
        self.closed = False

    async def open(self):
        """The page, its websocket, its document."""
        url = f"http://{ADDRESS}:{self._port}{self._path}"
        page = await AsyncHTTPClient(max_clients=100).fetch(url, request_timeout=60)
        token = re.search(r'"token":"([^"]+)"', page.body.decode())[1]
        where, _, asked = self._path.partition("?")
        self._socket = await websocket_connect(
            f"ws://{ADDRESS}:{self._port}{where}/ws?{asked}",
            on_message_callback=self._heard,
            subprotocols=["bokeh", token],
            max_message_size=BIGGEST,
        )
        await asyncio.wait_for(self._greeted, 60)
        self._send("PULL-DOC-REQ", {})
        await asyncio.wait_for(self._pulled, 60)
        self._patch(_event("document_ready", {"type": "map"}))

    def close(self):
        """As when the browser's tab is closed."""
        self.closed = True
        if self._socket is not None:
            self._socket.close()

    def _send(self, kind, content):
        for part in ({"msgid": f"C{next(self._numbers)}", "msgtype": kind}, {}, content):
            self._socket.write_message(msgspec.json.encode(part))

    def _patch(self, event):
        self._send("PATCH-DOC", {"events": [event]})

    def _heard(self, frame):
        """A message is three frames, and two for each buffer."""
        if frame is None:
            self.closed = True
            return
        self.received += len(frame)
        self._parts.append(frame)
        if len(self._parts) < 3:
            return
        head = msgspec.json.decode(self._parts[0])
        if len(self._parts) < 3 + 2 * head.get("num_buffers", 0):
            return
        content, self._parts = msgspec.json.decode(self._parts[2]), []
        match head["msgtype"]:
            case "ACK":
                self._greeted.set_result(None)
            case "PULL-DOC-REPLY":
                self.roots = [root["id"] for root in content["doc"]["roots"]]
                self._learn(content["doc"]["roots"], {})
                self._pulled.set_result(None)
                self._changed()
            case "PATCH-DOC":
                for event in content["events"]:
                    if event["kind"] == "ModelChanged":
                        self._follow(event["model"]["id"], event["attr"], event["new"])
                if any(event["kind"] == "ModelChanged" for event in content["events"]):
                    self._changed()
            case "ERROR":
                self.errors.append(str(content)[:2000])

    def _follow(self, model, name, value):
        self._learn(value, self._patched)
        self.models[model][name] = value
        if name == "disabled":
            self.turned[model, value] += 1
        self.refusals += isinstance(value, str) and "Not sent." in value

    def _learn(self, value, whole):
        """Keeps every model that a value defines."""
        if isinstance(value, list):
            for each in value:
                self._learn(each, whole)
        elif isinstance(value, dict):
            if value.get("type") == "object" and "id" in value:
                self.models[value["id"]] = value.get("attributes", {})
                whole[value["id"]] = value
            for each in value.values():
                if isinstance(each, (list, dict)):
                    self._learn(each, whole)

    def shown(self):
        """Id -> attributes of what can be seen, from above."""
        found = {}

        def look(name):
            model = self.models[name]
            if model.get("visible", True):
                found[name] = model
                for child in model.get("children", []):
                    if isinstance(child, dict):
                        look(child["id"])

        for root in self.roots:
            look(root)
        return found

    def text(self):
        """All that can be read, as HTML."""
        return "\n".join(
            html.unescape(each["text"]) for each in self.shown().values() if isinstance(each.get("text"), str)
        )

    def buttons(self):
        """Label -> id of the buttons that can be pressed."""
        shown = self.shown().items()
        return {each["label"]: name for name, each in shown if "label" in each and not each.get("disabled")}

    def fields(self):
        """Title -> id of what can be filled in."""
        shown = self.shown().items()
        return {html.unescape(each["title"]): name for name, each in shown if each.get("title") and "label" not in each}

    def options(self, name):
        """What can be chosen in a field, but for what asks to choose; None where anything can be typed."""
        if "options" not in self.models[name]:
            return None
        named = [(each, each) if isinstance(each, str) else each for each in self.models[name]["options"]]
        return [value for value, label in named if not label.startswith("(")] or [named[0][0]]

    def fill(self, name, value):
        """Fills a field in."""
        self.models[name]["value"] = value
        self._patch({"kind": "ModelChanged", "model": {"id": name}, "attr": "value", "new": value})

    def press(self, name):
        """Presses a button. A browser sends, the first time, all it knows of a button that has come by a patch."""
        new = name in self._patched and name not in self._pressed
        self._pressed.add(name)
        button = self._patched[name] if new else {"id": name}
        self._patch(_event("button_click", {"type": "map", "entries": [["model", button]]}))


def _event(name, values):
    data = {"type": "event", "name": name, "values": values}
    return {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data}


class Pressed:
    """A button that sent an answer, and when the other person of the table had what follows."""

    def __init__(self, kind, expected):
        self.kind, self.at, self.first, self.last = kind, monotonic(), None, None
        self.expected = expected
        """Whether the other one was waiting, so that something must come: else the step waits for the other one's own answer."""


class Person:
    """Somebody at a seat, who thinks for a while and answers whatever is asked."""

    def __init__(self, load, place, key):
        self.load, self.place, self.key, self.seat = load, place, key, int(key.split(".")[1])
        self.dice = random.Random(f"{load.seed}/{place.number}/{self.seat}")
        self.page = None
        self.sent, self.sending = [], []
        """What the page says was sent, and what was on its way at the end; None for what is not compared."""
        self.asked = False
        """Whether a form is open that has not been sent."""
        self._news = asyncio.Event()

    def _changed(self):
        self._news.set()
        self.place.told(self)

    async def play(self):
        """Sits down and answers until the match is over."""
        await self._open()
        self.page.fill(self.page.fields()["A name for you at this table"], f"P {self.seat}")
        self.page.press(self.page.buttons()["I agree, and sit down"])
        while True:
            await self._until(lambda: self._over() or self._form())
            if self._over():
                break
            self.asked = True
            if self.sent and self.dice.random() < AGAIN:
                self.page.close()
                await self._open()
                self.load.again += 1
                await self._until(self._form)
            await self._think()
            await self._answer()
        await self._think()
        self.page.close()

    async def _think(self):
        await asyncio.sleep(self.dice.uniform(*self.load.think))

    async def _open(self):
        self.page = Page(self.load.port, f"/seat?{urlencode({'key': self.key})}", self._changed)
        self.load.pages.append(self.page)
        start = monotonic()
        await self.page.open()
        self.load.opened.append(monotonic() - start)

    def _over(self):
        said = self.page.text()
        assert "has been stopped" not in said and "given up" not in said, f"{self.place.game}: {said[:300]}"
        return "The match is over" in said

    def _form(self):
        return {label: name for label, name in self.page.buttons().items() if label not in AT_DOOR}

    async def _until(self, true):
        """Waits until something is so, and says so when it is not for too long."""
        until = monotonic() + STUCK
        while not true():
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), until - monotonic())
            except TimeoutError:
                self.load.stuck.append(f"{self.place.game} seat {self.seat}: {self.page.text()[:400]}")
                until = monotonic() + STUCK
            assert not self.page.closed, f"{self.place.game} seat {self.seat}: the connection was closed"

    async def _answer(self):
        """Fills the form in and sends it."""
        form, page = self._form(), self.page
        if "Send this proposal" in form:
            button, sending = await self._proposes(), [None]
        elif "Finish without crafting" in form:
            button, sending = await self._crafts()
        elif "Send" in form:
            button, sending = "Send", [self._fills()]
        else:
            button = self.dice.choice(list(form))
            sending = [None if "Accept" in form else button]
        name, refused = self._form()[button], page.refusals
        closed, opened = page.turned[name, True], page.turned[name, False]
        self.asked, self.sending = False, sending
        pressed = self.place.presses(self)
        page.press(name)
        if self.dice.random() < TWICE:
            page.press(name)
        await self._until(
            lambda: page.turned[name, True] > closed or name not in page.shown() or page.refusals > refused
        )
        self.sending = []
        if page.refusals > refused:
            why = re.search(r"Not sent\.</strong>(.*?)</p>", page.text())
            self.load.refused.append(f"{self.place.game}: {why and why[1]}")
            self.place.takes_back(pressed)
            self.asked = True
            return
        self.sent += sending
        await self._until(lambda: page.turned[name, False] > opened or name not in page.shown())

    def _fills(self):
        """Fills every field in; the answer, where it is one field."""
        held = []
        fields = {title: name for title, name in self.page.fields().items() if not title.startswith("Look up")}
        shares = [title for title in fields if ": a share from" in title]
        for title, name in fields.items():
            if options := self.page.options(name):
                value = self.dice.choice(options)
            elif title in shares:
                each = 100 // len(shares)
                value = str(100 - each * (len(shares) - 1) if title == shares[0] else each)
            elif found := re.search(r"from ([\d,]+) to ([\d,]+)", title):
                low, high = (int(each.replace(",", "")) for each in found.groups())
                value = str(self.dice.randint(low, low + (high - low) // 5))
            else:
                value = f"a clue, said by {self.seat} as number {len(self.sent)}: {self.dice.random()}"
            self.page.fill(name, value)
            held.append(int(value) if value.isdigit() else value)
        return held[0] if len(held) == 1 else None

    async def _proposes(self):
        own = [name for title, name in self.page.fields().items() if "(you have" in title]
        if not own or self.dice.random() < 0.4:
            return "Propose nothing"
        self.page.fill(self.dice.choice(own), "1")
        await asyncio.sleep(0.3)
        return "Send this proposal"

    async def _crafts(self):
        """Sometimes one craft before the end of the turn."""
        page, refused, end = self.page, self.page.refusals, "Craft these and finish the turn"
        if "Add to the list" in self._form() and self.dice.random() < 0.5:
            recipe = page.fields()["What to make"]
            page.fill(recipe, self.dice.choice(page.options(recipe)))
            await self._think()
            page.press(self._form()["Add to the list"])
            await self._until(lambda: end in self._form() or page.refusals > refused)
            await self._think()
        return (end, [None, None]) if end in self._form() else ("Finish without crafting", [None])


class Place:
    """A table: two people, and what one of them did last."""

    def __init__(self, load, game, keys):
        self.game, self.load, self.id, self.number = game, load, keys[0].partition(".")[0], len(load.places)
        self.people = [Person(load, self, key) for key in keys]
        self._last = None

    def presses(self, person):
        """Somebody answers: the other is to have what follows."""
        (other,) = (each for each in self.people if each is not person)
        made = Pressed(self.game.partition("/")[0], not other.asked)
        self._last = (person, made)
        self.load.pressed.append(made)
        return made

    def takes_back(self, pressed):
        """It was refused."""
        self.load.pressed.remove(pressed)
        self._last = None

    def told(self, person):
        """The server has changed somebody's page: because of the other one's answer, if that one answered last."""
        if self._last is None or self._last[0] is person or not self._last[1].expected:
            return
        pressed, now = self._last[1], monotonic()
        pressed.first = pressed.first or now
        if now - pressed.first < 0.5:  # before anything is typed here
            pressed.last = now


class Load:
    """So many tables at once, for some time."""

    def __init__(self, port, server, tables, think, said, seed=1):
        self.port, self.server, self.tables, self.think, self.said, self.seed = port, server, tables, think, said, seed
        self.pressed, self.places, self.pages, self.opened = [], [], [], []
        self.refused, self.stuck, self.failed, self.over, self.again = [], [], [], Counter(), 0
        self.samples = []
        """Every 10 seconds: MB, sessions, tables in memory."""
        self._kinds = count()
        self._settings = {kind: expand_settings([kind]) for kind in KINDS}
        self._dice = random.Random(seed)

    async def run(self, seconds):
        """Plays for so long; all begin within some seconds."""
        self.started, self.ended = monotonic(), monotonic() + seconds
        before, own = self.server.used(), process_time()
        watching = asyncio.create_task(self._watch())
        tables = [asyncio.create_task(self._table(place * 0.5)) for place in range(self.tables)]
        await asyncio.sleep(seconds)
        self.busy = (self.server.used() - before) / seconds, (process_time() - own) / seconds
        self.seconds = seconds
        for each in (watching, *tables):
            if each.done():
                each.result()  # what has ended before its time has failed
        watching.cancel()
        for each in tables:
            each.cancel()
        await asyncio.wait(tables, timeout=5)
        await asyncio.sleep(1)  # what was pressed last arrives
        for page in self.pages:
            if not page.closed:
                page.close()

    async def _table(self, later):
        """One table after another."""
        await asyncio.sleep(later)
        while monotonic() < self.ended:
            kind = KINDS[next(self._kinds) % len(KINDS)]
            game = self._dice.choice(self._settings[kind])
            scripts = load("game", game).seats - PEOPLE
            place = Place(self, game, await self.server.open(game, [PERSON] * PEOPLE + [REST] * scripts))
            self.places.append(place)
            try:
                async with asyncio.TaskGroup() as group:
                    for person in place.people:
                        group.create_task(person.play())
                self.over[kind] += 1
            except* Exception as errors:
                self.failed += [f"{game}: {error!r}" for error in errors.exceptions]
                for person in place.people:
                    if person.page is not None:
                        person.page.close()

    async def _watch(self):
        while True:
            await asyncio.sleep(10)
            sample = {"second": round(monotonic() - self.started, 1), "MB": round(self.server.memory(), 1)}
            self.samples.append(sample | await self.server.stands())
            self.said({**self.samples[-1], "presses": len(self.pressed), "matches over": self.over.total()})

    def found(self, folder):
        """Seconds from a person's press of a button until the other person of the table has the change that follows.

        Where both are asked at once, from the later one's press. `first` is the first change that arrives; `all`, the last
        of those that come together. `unseen`: nothing came before somebody pressed again, as after what nobody may see.
        `lost`, `doubled`: beside the answers of the store, seat by seat and in their order; `others`: answers that differ.
        """
        seen = [each for each in self.pressed if each.first is not None]
        late = [each.last - each.at for each in seen]
        warm = [each for each in self.samples if each["second"] > min(300, self.seconds / 3)]
        line = (
            linear_regression([each["second"] / 60 for each in warm], [each["MB"] for each in warm])
            if warm[2:]
            else None
        )
        unseen = [each for each in self.pressed if each.expected and each.first is None and each.at < self.ended - 2]
        return {
            "presses": len(self.pressed),
            "presses per second": round(len(self.pressed) / self.seconds, 2),
            "seconds to the other, first": _quantiles([each.first - each.at for each in seen]),
            "seconds to the other, all": _quantiles(late),
            "share within 0.5 s": round(sum(each <= 0.5 for each in late) / max(1, len(late)), 4),
            "p95 by kind": {
                kind: _quantiles([each.last - each.at for each in seen if each.kind == kind]).get("p95")
                for kind in KINDS
            },
            "measured": len(seen),
            "unseen": len(unseen),
            "seconds to open a page": _quantiles(self.opened),
            "pages": len(self.opened),
            "loaded again": self.again,
            "matches over": dict(self.over),
            "server CPU": round(self.busy[0], 3),
            "server CPU ms per press": round(1000 * self.busy[0] * self.seconds / max(1, len(self.pressed)), 1),
            "clients' CPU": round(self.busy[1], 3),
            "MB received": round(sum(page.received for page in self.pages) / 1e6, 1),
            "MB per minute": line and round(line.slope, 3),
            "errors": [error for page in self.pages for error in page.errors],
            "refused": self.refused,
            "stuck": self.stuck,
            "failed": self.failed,
            **self._kept(folder),
        }

    def _kept(self, folder):
        """What people sent, beside what the store has; what was on its way at the end may be there or not."""
        found = Counter({"answers sent": 0, "answers kept": 0, "lost": 0, "doubled": 0, "others": 0})
        db = sqlite3.connect(f"file:{folder / 'tables.sqlite'}?mode=ro", uri=True)
        asked = "select action from answers where place = ? and seat = ? order by number"
        for place in self.places:
            for person in place.people:
                stored = [json.loads(action) for (action,) in db.execute(asked, (place.id, person.seat)) if action]
                found["answers sent"] += len(person.sent)
                found["answers kept"] += len(stored)
                found["lost"] += max(0, len(person.sent) - len(stored))
                found["doubled"] += max(0, len(stored) - len(person.sent) - len(person.sending))
                pairs = zip(person.sent, stored, strict=False)
                found["others"] += sum(own is not None and own != kept for own, kept in pairs)
        db.close()
        return dict(found)


def _quantiles(values):
    if not values:
        return {}
    ordered = sorted(values)
    found = {f"p{share}": ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 95, 99)}
    return {name: round(value, 4) for name, value in (found | {"most": ordered[-1]}).items()}


class Server:
    """`python -m agon serve` in a process of its own, whose tables are opened through its standard input."""

    def __init__(self, process):
        self._process, self._one = process, asyncio.Lock()

    @classmethod
    async def start(cls, folder, port):
        """A server that listens."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "stderr.txt").open("w") as errors:
            command, pipe = [sys.executable, __file__, "serve", str(folder), str(port)], asyncio.subprocess.PIPE
            made = cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=errors))
        while not (line := await made._process.stdout.readline()).startswith(b"http"):
            assert line, (folder / "stderr.txt").read_text()
        return made

    async def _ask(self, asked):
        async with self._one:
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            return json.loads(await self._process.stdout.readline())

    async def open(self, game, entrants):
        """The keys of the people's seats at a new table."""
        return await asyncio.shield(self._ask({"game": game, "entrants": entrants}))

    async def stands(self):
        """Sessions, and tables in memory."""
        return await asyncio.shield(self._ask(None))

    def used(self):
        """Seconds of CPU time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Resident MB."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    async def close(self):
        """Ends it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(self._process.wait(), 20)
        except TimeoutError:
            self._process.kill()


def serve(folder, port):
    """Serves; each line of standard input opens a table, or (null) asks how things stand."""
    import panel as pn

    from agon_hall import server
    from agon_hall.tables import Hall

    class Opened(Hall):
        def __init__(self, folder, sampling=None):
            super().__init__(folder, sampling)
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._asked)

        def _asked(self):
            line = sys.stdin.readline()
            asked = json.loads(line or "null")
            if asked is None:
                sessions = sum(len(found.get_sessions()) for found, *_ in pn.state._servers.values())
                said = {"sessions": sessions, "tables": len(self.tables)}
            else:
                made = self.open(asked["game"], asked["entrants"])
                said = [self.key("seat", made.id, seat) for seat in made.people]
            if line:
                print(json.dumps(said), flush=True)
            else:
                asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    server.Hall = Opened
    server.serve(folder, ADDRESS, port, [], "as_done", lambda line: print(line, flush=True))


def measured(folder, port, minutes, tables, think=(1.0, 3.0), said=lambda sample: None):
    """What is found with so many tables for so long, `samples` included."""

    async def run():
        server = await Server.start(folder, port)
        try:
            load = Load(port, server, tables, think, said)
            await load.run(60 * minutes)
            return load
        finally:
            await server.close()

    load = asyncio.run(run())
    return load.found(folder) | {"samples": load.samples}


def main():
    """Settings as name=value: minutes, tables, port, folder, least, most (seconds that people think)."""
    if sys.argv[1:2] == ["serve"]:
        serve(Path(sys.argv[2]), int(sys.argv[3]))
        return
    asked = {"minutes": 2, "tables": 20, "port": 8650, "folder": "", "least": 1, "most": 3}
    asked |= dict(each.split("=", 1) for each in sys.argv[1:])
    folder, think = Path(asked["folder"] or tempfile.mkdtemp()), (float(asked["least"]), float(asked["most"]))

    def said(sample):
        print(json.dumps(sample), flush=True)

    found = measured(folder, int(asked["port"]), float(asked["minutes"]), int(asked["tables"]), think, said)
    (folder / "found.json").write_text(json.dumps(found, indent=1))
    print(json.dumps({name: each for name, each in found.items() if name != "samples"}, indent=1))


if __name__ == "__main__":
    main()
