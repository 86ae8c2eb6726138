"""What tests of the hall share: short games with words that nobody else says, tables without pages, people at browsers."""

import asyncio
import json
import os
import re
import secrets
import shutil
import socket
import sqlite3
import subprocess
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from random import Random
from time import monotonic, sleep

import httpx
import prepared
import yaml
from bs4 import BeautifulSoup
from patience import LONG, comes

try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import TimeoutError as SlowPage
except ModuleNotFoundError:  # tests with a browser are skipped
    SlowPage = TimeoutError

from agon import ROOT, replay
from agon.agents import Reply
from agon.plan import PERSON, Match, Seat
from agon.play import play_async, turns_table
from agon.turns import action_text, matches, read, read_games, validated
from agon_hall import tables, web
from agon_hall.keys import Keys
from agon_hall.people import consent
from agon_hall.seat import seat_context
from agon_hall.seating import PEOPLE
from agon_hall.server import Server as Serving
from agon_hall.server import open_socket
from agon_hall.store import Store, TableRow
from agon_hall.table import lists_to_tuples
from agon_hall.tables import Hall

THOUGHT = "a stand-in speaks"
"""In every answer of a stand-in, before its move: nobody at a table may read it."""
WORDS = {"chameleon": "qzeppelinq", "undercover": "qharpsichordq", "spy": "qclavichordq"}
TARGET = ("jukebox", 41)
"""What Player 2 wants in TradeCraft, of which it has none."""

AIRLINES = [
    {"name": name, "flights": flights, "passengers": 9000 + flights, "hours": 2.0, "aircraft": "small"}
    for name, flights in (("A", 10), ("B", 20), ("C", 30))
]
SETTINGS = {
    "chameleon": {
        "topic": "Things that fly",
        "word": WORDS["chameleon"],
        "spy": 0,
        "clues": ["It is slow", "It is high up", "It is large"],
    },
    "undercover": {
        "word": WORDS["undercover"],
        "spy_word": WORDS["spy"],
        "spy": 2,
        "clues": ["It has keys", "It has strings", "It is old"],
    },
    "cost_sharing": {"tested": 0, "fee": 900, "airlines": AIRLINES, "proposals": [[50, 25, 25]] * 3},
    "prisoner3": {"tested": 0, "cooperate": 3, "one_defect": 5, "two_defect": 2, "defect": 1},
    "public_goods": {"tested": 0, "multiplier": 2},
    "tradecraft": {
        "ruleset": "minecraft",
        "hands": [{"gray_dye": 3, "oak_log": 2}, {"terracotta": 8, "white_dye": 5}],
        "targets": [{"oak_button": 5}, {TARGET[0]: TARGET[1]}],
    },
}
"""By game: a file that makes its one setting, and so what is hidden in it."""
SHORT = {
    "chameleon": {"rounds": 1, "length": 200_000},
    "undercover": {"rounds": 1, "length": 200_000},
    "cost_sharing": {"rounds": 2},
    "prisoner3": {"rounds": 2},
    "public_goods": {"rounds": 2},
    "tradecraft": {"turns": 2, "calls": 8},
    "pd": {"rounds": 3},
    "rps": {"rounds": 2},
}
"""By game: what is shorter than usual."""
KINDS = {
    "chameleon": "chameleon/quince-chameleon",
    "undercover": "undercover/quince-civilians",
    "cost_sharing": "cost_sharing/quince",
    "prisoner3": "prisoner3/quince",
    "public_goods": "public_goods/quince",
    "tradecraft": "tradecraft/tradecraft-quince",
    "pd": "pd",
    "rps": "rps",
    "auction": "auction",
}
"""The eight kinds of game, and a stranger's, as tables are opened; nobody's first clue is the table's."""
STRANGER = ROOT / "tests/games/stranger/auction"
"""A family that agon does not know: a folder, and a file in conf."""
AUCTION = {"_target_": "auction.game.Auction", "_convert_": "all", "name": "auction", "variant": "default"}
AUCTION |= {"seats": 3, "rounds": 2, "most": 10**9}


def conf(folder):
    """The project's settings in `folder`, with these short games, and stand-ins that always say what they think."""
    shutil.copytree(ROOT / "conf", folder / "conf")
    for game, shorter in SHORT.items():
        path = folder / "conf/game" / f"{game}.yaml"
        settings = yaml.safe_load(path.read_text()) | shorter
        if game in SETTINGS:
            own = folder / "settings" / game
            own.mkdir(parents=True)
            (own / "quince.json").write_text(json.dumps(SETTINGS[game]))
            if game == "tradecraft":
                third = {"hands": [{"string": 2}], "targets": [{"bow": 9}]}
                three = {name: SETTINGS[game][name] + each for name, each in third.items()}
                (own / "three.json").write_text(json.dumps(SETTINGS[game] | three))
            settings["settings"] = str(own)
        path.write_text(yaml.safe_dump(settings))
    config = folder / "conf/config.yaml"
    config.write_text(config.read_text() + f"families: [{STRANGER}]\npackages: [driving]\n")
    (folder / "conf/game/auction.yaml").write_text(yaml.safe_dump(AUCTION))
    stand_in = {"_target_": "agon.models.standin.StandIn", "_convert_": "all", "model": "standin-of-these-tests"}
    stand_in |= {"context": 200_000, "concurrency": 5, "words": 3}
    stand_in["policy"] = {"_target_": "driving.policy", "_partial_": True}
    (folder / "conf/model/thinker.yaml").write_text(yaml.safe_dump(stand_in))
    stand_in["policy"] = {"_target_": "driving.hostile", "_partial_": True}
    (folder / "conf/model/hostile.yaml").write_text(yaml.safe_dump(stand_in | {"model": "hostile"}))
    return folder / "conf"


def policy(view, dice):
    """A script: texts that can be told from all others, and anything for the rest."""
    if view.phase in ("clue", "guess"):
        return f"clue of the model {view.seat}"
    return view.legal.example(dice)


HOSTILE = (
    "<script>window.evil=1</script><svg onload='window.evil=1'></svg><img src=x onerror='window.evil=1'> "
    "[link](javascript:window.evil=1) [other](https://evil.example/) <a href='https://evil.example/'>here</a> "
    "\u202etfel ot thgir\u202c {{ 7*7 }} ${7*7} $$x$$ </textarea></title><!-- *bold* <plaintext>"
)
"""What is to stay text wherever it is shown."""


def hostile(view, dice):
    """A script that means harm."""
    return HOSTILE.replace("\n", " ") if view.phase in ("clue", "guess") else view.legal.example(dice)


CRAFTS = (
    {"tool": "craft_done"},
    {"tool": "history"},
    {"tool": "craft_apply", "inputs": {"oak_log": 1}, "outputs": {"oak_planks": 4}},
    {"tool": "craft_apply", "inputs": {"no such thing": 1}, "outputs": {}},
    {"tool": "item_info", "name": "gray_dye"},
)


def answer_of(seed, seat, number, view):
    """What the person at `seat` answers to its question `number`: it depends on these, and on what is legal."""
    dice = Random(f"{seed}/{seat}/{number}")
    return dict(dice.choice(CRAFTS)) if view.phase == "craft" else view.legal.example(dice)


@asynccontextmanager
async def hall(folder, sampling=None):
    """A hall as long as it is used."""
    made = Hall(folder, sampling)
    try:
        yield made
    finally:
        await made.close()


def seat_parts(place, seat):
    """What the page of a seat shows, part by part; of None, that of those who watch."""
    return web.parts_of("seat.html", seat_context(place, seat))


async def settled(place):
    """Returns when nothing happens at a table before somebody answers."""
    for _ in range(LONG * 200 if place.models else 2000):
        await asyncio.sleep(0)
        open_ = [each for each in place.questions.values() if not each.future.done()]
        if place.status != "playing" or (open_ and len(open_) == len(place.questions)):
            await asyncio.sleep(0)
            return
        if place.models:
            await asyncio.sleep(0.005)
    raise AssertionError(f"nothing goes on: {place.status}, {place.why}")


def sit_all(place, names=("Ada", "Bo", "Cy")):
    """Everybody sits down."""
    for seat in place.people:
        place.sit(seat, names[seat])


async def reference(place, seed):
    """The turns of the same match with the same answers, without a hall."""

    class Answering:
        def __init__(self, at):
            self.seat, self.number = at.seat, -1

        async def act(self, view, dice):
            self.number += 1
            return Reply(lists_to_tuples(answer_of(seed, self.seat, self.number, view)))

    found = tables.seating(place.row.game, place.row.entrants)
    seats = tuple(Seat(PERSON, Answering) if each.agent == PERSON else each for each in found.seats)
    match = Match(PEOPLE, place.row.match, int(place.row.match, 16), found.game, seats, 0, found.config)
    return turns_table([(match, await play_async(match, {}))])


# --- a server, and people at browsers


def folder_of(place):
    """A copy of the project in `place`, with short games and the project's data; `python -m agon` runs there."""
    shutil.copytree(ROOT / "src", place / "src", ignore=shutil.ignore_patterns("*.pyc.*"))  # not what is being compiled
    conf(place)
    (place / "data").mkdir()
    for part in ("rulesets", "problems", "settings", "logs"):
        (place / "data" / part).symlink_to(ROOT / "data" / part)
    (place / "transcripts").mkdir()
    for kind in ("", ".games"):
        shutil.copy(ROOT / f"tests/smoke/scripted_turns{kind}.parquet", place / f"transcripts/scripted{kind}.parquet")
    return place


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Server:
    """`python -m agon serve` in a copy of the project, on a folder of its own."""

    def __init__(self, project, folder, password="", **more):
        self.project, self.folder, self.port, self.more = project, folder, free_port(), more
        self.log = folder.with_suffix(".log")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AGON")}
        self.environment["PYTHONPATH"] = os.pathsep.join(map(str, (project / "src", *Path(__file__).parents[:2])))
        if password:
            self.environment["AGON_PASSWORD"] = password
        self.process = None
        self.start()

    @property
    def url(self):
        return f"http://localhost:{self.port}"

    def command(self, verb, *settings):
        """The words of a command."""
        return [verb, f"--folder={self.folder}", *settings]

    def start(self):
        """Begins, or begins again; returns when pages are served."""
        settings = [f"--port={self.port}", *(f"--{name}={value}" for name, value in self.more.items())]
        self.process = prepared.Command(self.command("serve", *settings), self.project, self.environment, self.log)
        for _ in range(6000):  # five minutes, on a machine that does much else
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self.process.poll() is None, self.log.read_text()
            sleep(0.05)
        raise AssertionError(f"no page is served: {self.log.read_text()}")

    def kill(self):
        """Ends it as a power cut does."""
        self.process.kill()
        self.process.wait(LONG)

    def stop(self):
        """Ends it as people do."""
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()

    def run(self, verb, *settings):
        """Another command on the same folder, to its end."""
        return prepared.run(self.command(verb, *settings), self.project, self.environment)

    def opened(self, kind, entrants, seconds=None, language="en"):
        """A table, made beside the server, which finds it when it is asked for."""
        store = Store.__new__(Store)
        store._path = self.folder / "tables.sqlite"
        store._db, store._file = (
            sqlite3.connect(store._path, isolation_level=None, timeout=60),
            store._path.stat().st_ino,
        )
        row = TableRow(
            secrets.token_hex(6), secrets.token_hex(8), KINDS.get(kind, kind), tuple(entrants), seconds,
            {"usd": None, "tokens": None, "calls": None}, {}, language=language,
        )  # fmt: skip
        store.add(row, *consent(language))
        store._db.close()
        return row

    def newest(self):
        """The table that was made last."""
        store = Store(self.folder, read_only=True)
        try:
            return store.tables()[-1]
        finally:
            store.close()

    def key(self, what, row, seat=None):
        """The key of a seat or a host."""
        return Keys(self.folder / "secret").key_of(what, row.id, seat)

    def link(self, what, row, seat=None):
        """The link of a seat, of a host, or of who watches."""
        query = f"table={row.id}" if what == "watch" else f"key={self.key(what, row, seat)}"
        return f"{self.url}/{what}?{query}"

    def answers(self, row):
        """All accepted answers of a table: (seat, number, action)."""
        with closing(sqlite3.connect(self.folder / "tables.sqlite", timeout=60)) as db:
            found = db.execute("select seat, number, action from answers where place = ? order by 1, 2", (row.id,))
            return [(seat, number, json.loads(action or "null")) for seat, number, action in found]


HEARD = """window.EventSource = class extends window.EventSource { constructor(...given) {
  super(...given); this.addEventListener("parts", (event) => window.heardHere(event.data)); } };"""
"""Keeps what is told while a page is open."""


class Person:
    """Somebody at a browser of their own, who finds everything by its role and name.

    Of who `listens` all that the server sends is kept in `traffic`.
    """

    def __init__(self, browser, listens=False, **context):
        self.context, self.listens = browser.new_context(**context), listens
        self.context.set_default_timeout(LONG * 1000)
        self.traffic, self.errors, self.forbidden = [], [], []
        self.page, self.clue = self.tab(), ""

    def tab(self):
        """Another tab of the same browser."""
        page = self.context.new_page()
        if self.listens:
            page.expose_function("heardHere", lambda said: self.traffic.append(said))
            page.add_init_script(HEARD)
            page.on("response", self._responded)
        page.on("dialog", lambda dialog: (self.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._told)
        return page

    def _told(self, message):
        """What a page may not do by its own policy, and what it asks for and does not get."""
        if re.search("Content.Security.Policy|MIME type|status of 404", message.text):
            self.forbidden.append(f"{message.page.url}: {message.text}")

    def _responded(self, response):
        self.traffic.append(response.url)
        self.traffic.append(str(response.headers))
        if response.request.resource_type in ("document", "fetch", "xhr"):
            with suppress(Exception):
                self.traffic.append(response.body())

    def heard(self):
        """All that came from the server, as one text."""
        assert self.listens
        parts = [each if isinstance(each, str) else each.decode("utf-8", "replace") for each in self.traffic]
        return "\n".join(parts)

    def sit(self, link, name):
        """Opens the link of a seat, agrees, and sits down."""
        self.page.goto(link)
        self.agree(name)

    def agree(self, name):
        """Agrees, on the page of a seat, and sits down."""
        self.page.get_by_role("textbox", name="A name for you").fill(name)
        self.press("I agree, and sit down")

    def button(self, name):
        """A button."""
        return self.page.get_by_role("button", name=name, exact=True).locator("visible=true")

    def press(self, name):
        """Presses a button, and returns when it is gone: what it does has been done."""
        found = self.button(name)
        try:
            found.wait_for()
        except SlowPage as error:
            raise SlowPage(f"no button {name!r}:\n{self.page.locator('body').aria_snapshot()}") from error
        handle = found.element_handle()
        found.click()
        handle.wait_for_element_state("hidden")

    def status(self):
        """What the page says about the match."""
        return self.page.locator("#status").inner_text()

    def asked(self):
        """Round and phase of the question on the page; None when nothing is asked."""
        found = self.page.evaluate(
            "() => { const on = document.querySelector('[data-phase]'); return on && !document.querySelector('[data-sending]')"
            " ? [Number(on.dataset.round), on.dataset.phase] : null; }"
        )
        return found and tuple(found)

    def phase(self):
        """The phase of the question on the page; empty when nothing is asked."""
        return (self.asked() or (0, ""))[1]

    def fill(self, name, value):
        """Fills a field in, whose name begins so."""
        self.page.get_by_role("textbox", name=re.compile(f"^{re.escape(name)}")).locator("visible=true").fill(value)

    def choose(self, name, value):
        """Chooses from a list: the option of that name, or the first that a pattern fits."""
        found = self.page.get_by_role("combobox", name=name, exact=True).locator("visible=true")
        if isinstance(value, re.Pattern):
            value = found.get_by_role("option").filter(has_text=value).first.inner_text()
        found.select_option(value)

    def fields(self, role):
        """All fields of a kind that can be seen, in order, once the form is there."""
        self.button("Send").wait_for()
        found = self.page.get_by_role(role).locator("visible=true")
        return found.all()

    def close(self):
        self.context.close()


def checked(server, row, monkeypatch):
    """The turns of a match that is over: complete, legal, replayed by its game, with what is kept of people."""
    path = server.folder / "played" / f"{row.match}.parquet"
    turns = validated(read(path))
    game = tables.seating(row.game, row.entrants, conf=server.project / "conf").game
    assert not game.to_move(replay.replay_match(turns, read_games(path)).state)
    assert set(turns.match) == {row.match}
    assert len(matches(turns)) == game.seats
    asked = turns[turns.legal.notna()]
    assert asked.action.notna().all()
    assert (asked.fallback == "").all()
    for seat, entrant in enumerate(row.entrants):
        own = asked[asked.seat == seat]
        if entrant == PERSON:
            assert set(own.agent) == {"human"}
            assert (own.seconds.iloc[0] > 0) and (own.seconds >= 0).all()
            known = json.loads(own.detail.iloc[0])
            assert known["consent"] == {"version": consent().version, "words": consent().words}
            assert known["name"]
            kept = [action_text(action) for at, _, action in server.answers(row) if at == seat]
            assert list(own.action) == kept[: len(own)]
    return turns


def answered(person, seat, round_, phase, kind):
    """Answers what is asked, as `PLAYS` says, by the page's own fields and buttons."""
    players = [f"Player {number + 1}" for number in range(3)]
    others = [player for player in players if player != players[seat]]
    options = {"pd": ["defection", "cooperation"], "rps": ["rock", "paper"], "pd~amber": ["slate", "amber"]}
    if kind in options:
        return person.press(options[kind][(seat + round_) % 2])
    if kind == "prisoner3":
        return person.press(["cooperate", "defect"][(seat + round_) % 2])
    if phase in ("contribute", "bid"):
        person.fields("textbox")[0].fill(str(10 * seat + round_))
    elif phase == "propose" and kind == "cost_sharing":
        shares = (20, 30, 50) if seat == 0 else (15, 30, 55)
        for field, share in zip(person.fields("textbox"), shares, strict=True):
            field.fill(str(share))
    elif phase in ("clue", "guess"):
        person.fields("textbox")[0].fill(person.clue or f"{phase} number {round_} of seat {seat}")
    elif phase == "vote":
        return person.press(others[0])
    elif phase == "identify":
        if kind == "chameleon":
            return person.press(f"{players[seat]}, {'chameleon' if seat == 0 else 'non-chameleon'}")
        person.fields("combobox")[0].select_option(f"{players[seat]}, civilian")
    elif phase == "evaluate":
        for field in person.fields("textbox"):  # of the chameleon alone
            field.fill("a balloon")
        for field in person.fields("combobox"):
            field.select_option("nobody")
    elif phase == "propose":
        mine, yours = (("gray_dye", "white_dye"), ("white_dye", "gray_dye"))[seat]
        person.fill(f"{mine.replace('_', ' ')} (you have", "1")
        person.fill(f"{yours.replace('_', ' ')} (they", "1")
        person.fill("Message", f"secret message of seat {seat}")
        return person.press("Send this proposal")
    elif phase == "decide":
        person.fill("Reply", f"secret reply of seat {seat}")
        return person.press("Accept")
    elif phase == "craft":
        if seat == 0 and round_ == 1:
            person.choose("What to make", re.compile("oak planks"))
            person.button("Add to the list").click()
            person.button("Take the last one off the list").wait_for()
            return person.press("Craft these and finish the turn")
        return person.press("Finish without crafting")
    return person.press("Send")


def play_on(people, kind, before=None, patience=LONG, looks=lambda person, phase: None):
    """People (seat -> Person) answer whatever they are asked, until the match is over for all, or all are asked in phase `before`.

    `looks` is called with whoever is about to answer.
    """
    end, slow, answers = monotonic() + patience, "", {}
    for each in people.values():
        each.context.set_default_timeout(4_000)  # pages change while they are looked at
    try:
        while True:
            assert monotonic() < end, ({seat: each.status() for seat, each in people.items()}, slow)
            asked = {seat: person.asked() for seat, person in people.items()}
            for seat, (question, since) in answers.items():  # what a page says may be a moment older than its buttons
                if asked[seat] == question and monotonic() < since + 1:
                    asked[seat] = None
            if all(question is not None and question[1] == before for question in asked.values()):
                return
            for seat, question in asked.items():
                if question is not None and question[1] != before:
                    looks(people[seat], question[1])
                    try:
                        answered(people[seat], seat, *question, kind)
                        answers[seat] = (question, monotonic())
                    except (SlowPage, IndexError, ValueError) as error:  # the page has changed under it: looks again
                        slow = str(error)
                    break
            else:
                if all("The match is over" in person.status() for person in people.values()):
                    return
                sleep(0.1)
    finally:
        for each in people.values():
            each.context.set_default_timeout(LONG * 1000)


PHONE = {"viewport": {"width": 320, "height": 640}}
NARROW = "() => [document.scrollingElement.scrollWidth, innerWidth]"
UNNAMED = re.compile(r"^\s*- (textbox|button|combobox|checkbox|radio|slider|spinbutton)(:| \[|$)", re.MULTILINE)


def fits(each, wanted):
    """Everything has a name, nothing is wider than the screen, and axe finds nothing that bars anybody."""
    each.page.get_by_text(wanted).first.wait_for()
    each.page.wait_for_timeout(150)
    at = each.page.url.partition("?")[0]
    wide, room = each.page.evaluate(NARROW)
    assert wide <= room, (at, wide, room)
    unnamed = UNNAMED.findall(each.page.locator("body").aria_snapshot())
    assert not unnamed, (at, unnamed)
    found = Axe().run(each.page)
    assert not found.violations_count, (at, found.generate_report())


# --- pages without a browser


class Visitor:
    """Somebody whose browser runs no scripts: a page is read, and its forms are sent as they are."""

    def __init__(self, url, link, **more):
        self.client = httpx.AsyncClient(base_url=url, follow_redirects=True, timeout=LONG, verify=False, **more)
        self.link, self.page = link, None

    async def opens(self):
        """Reads the page anew."""
        return self._shown(await self.client.get(self.link))

    def _shown(self, reply):
        self.reply, self.page = reply, BeautifulSoup(reply.text, "html.parser")
        return self

    def text(self, part="main"):
        """All that can be read, of the page or of a part of it."""
        found = self.page.find(id=part)
        return " ".join(found.get_text(" ").split()) if found else ""

    def form(self, button):
        """The form that has a button of that name, and what is filled in there."""
        found = next(each for each in self.page.find_all("button") if each.get_text(strip=True) == button)
        form = found.find_parent("form")
        values = {}
        for each in form.find_all(["input", "textarea", "select"]):
            if each.name == "select":
                options = each.find_all("option")
                chosen = next((one for one in options if one.has_attr("selected")), options[0])
                values[each["name"]] = chosen.get_text()
            elif each.name == "textarea":
                values[each["name"]] = each.get_text().removeprefix("\n")
            elif each.get("type") not in ("radio", "checkbox"):
                values[each["name"]] = each.get("value", "")
            elif each.has_attr("checked"):
                values.setdefault(each["name"], []).append(each["value"])
        if found.has_attr("name"):
            values[found["name"]] = found.get("value", "")
        return values

    async def presses(self, button, **entered):
        """Fills in fields by their names, and presses a button."""
        return self._shown(await self.client.post(self.link, data=self.form(button) | entered))

    async def sends(self, values, **headers):
        """Sends a form that may be none of the page."""
        return await self.client.post(self.link, data=values, headers=headers)


@asynccontextmanager
async def serving(tmp_path, **more):
    """A table with one person at it, the path of the other's seat, the hall, and the server's port."""
    async with hall(tmp_path) as made:
        place = made.open("pd", [PERSON] * 2)
        place.sit(1, "Bo")
        server = Serving(made, open_socket(), **more)
        running = asyncio.create_task(server.run_here())
        try:
            await comes(lambda: server.started, "a server")
            yield place, f"/seat?key={made.keys.key_of('seat', place.id, 0)}", made, server.port
        finally:
            server.end()
            await running


async def events(port, path, seen="", **headers):
    """What a page is told, as it comes: parts (id -> HTML)."""
    url = f"http://localhost:{port}{path.replace('?', '/~events?')}&seen={seen}"
    async with (
        httpx.AsyncClient(timeout=LONG, verify=False) as client,
        client.stream("GET", url, headers=headers) as reply,
    ):
        assert reply.status_code == 200, await reply.aread()
        async for line in reply.aiter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))["parts"]
