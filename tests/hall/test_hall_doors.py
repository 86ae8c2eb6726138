"""Who is let in, and what those who forge requests get: a refusal, a line in the log without any secret, and nothing else."""

import asyncio
import json
import os
import re
from http.client import HTTPConnection
from time import sleep
from urllib.parse import urlencode

import driving
import pytest
from driving import Server
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from agon import AgonError
from agon.plan import PERSON
from agon_hall.server import serve

PASSWORD = "open-sesame-of-these-tests"


@pytest.fixture(scope="module")
def locked(project, tmp_path_factory):
    """A server with a password."""
    made = Server(project, tmp_path_factory.mktemp("locked") / "hall", PASSWORD)
    yield made
    made.stop()


def asked(server, path, method="GET", body=None, **headers):
    """Status, headers and text of one request; nothing is followed."""
    connection = HTTPConnection("localhost", server.port, timeout=30)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode("utf-8", "replace")
    finally:
        connection.close()


def login(server, password, **headers):
    form = urlencode({"password": password})
    return asked(server, "/login", "POST", form, Content_Type="application/x-www-form-urlencoded", **headers)


def path(server, what, row, seat=None):
    return server.link(what, row, seat).removeprefix(server.url)


def silent(server, *secrets):
    """The log has none of these."""
    log = server.log.read_text()
    assert not [each for each in (PASSWORD, (server.folder / "secret").read_bytes().hex(), *secrets) if each in log]
    return log


def test_it_does_not_start_where_others_can_reach_it_without_a_password(project, tmp_path, monkeypatch):
    made = Server.__new__(Server)
    made.project, made.folder = project, tmp_path / "hall"
    made.environment = {name: value for name, value in os.environ.items() if not name.startswith("AGON")}
    made.environment["PYTHONPATH"] = str(project / "src")
    done = made.run("serve", "serve.address=0.0.0.0", f"serve.port={driving.free_port()}")
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "AGON_PASSWORD" in done.stderr
    monkeypatch.setenv("AGON_PASSWORD", "seven77")
    with pytest.raises(AgonError, match="8 letters") as said:
        serve(tmp_path / "hall", "0.0.0.0", 1, [], False, None, print)
    assert "seven77" not in str(said.value)


def test_the_password_opens_what_is_the_researchers_and_links_open_the_rest(locked):
    row = locked.opened("pd", [PERSON, PERSON])
    closed = ["/", path(locked, "host", row), "/transcripts", "/annotate"]
    for page in closed:
        status, headers, _ = asked(locked, page)
        assert (status, "/login" in headers["Location"]) == (302, True), page
    assert asked(locked, "/nowhere")[0] == 404
    assert "password" in asked(locked, "/login")[2]
    for page in (path(locked, "seat", row, 0), path(locked, "watch", row)):
        assert asked(locked, page)[0] == 200
    for wrong in ("", "guess-guess-guess", PASSWORD + "x", "é"):
        status, headers, said = login(locked, wrong)
        assert (status, "Set-Cookie" in headers) == (403, False)
        assert "not the password" in said
    assert login(locked, PASSWORD, Origin="http://evil.example")[0] == 403
    status, headers, _ = login(locked, PASSWORD, Origin=locked.url)
    cookie = headers["Set-Cookie"]
    assert status == 302
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    own = cookie.partition(";")[0]
    for page in closed:
        assert asked(locked, page, Cookie=own)[0] == 200, page
    assert asked(locked, "/", Cookie=own[:-2] + "xx")[0] == 302
    assert asked(locked, "/", Cookie="agon=researcher")[0] == 302
    for away in (
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "evil",
        "/\t/evil.example",
        "/\r\n/x",
        "/é",
    ):
        form = urlencode({"password": PASSWORD})
        kind = "application/x-www-form-urlencoded"
        headers = asked(locked, f"/login?{urlencode({'next': away})}", "POST", form, Content_Type=kind)[1]
        assert headers["Location"] == "/"
    unreadable = "application/x-www-form-urlencoded"
    assert asked(locked, "/login", "POST", b"password=quince-p\xe4ss", Content_Type=unreadable)[0] == 400
    assert asked(locked, f"{path(locked, 'seat', row, 0)}%ff")[0] == 400
    assert "quince" not in locked.log.read_text() and locked.key("seat", row, 0)[:30] not in locked.log.read_text()
    log = silent(locked, own.partition("=")[2], locked.key("seat", row, 0), locked.key("host", row), row.match)
    assert log.count("a wrong password") >= 4
    assert "from another site" in log


def test_a_key_that_was_altered_opens_nothing(locked):
    row, other = (locked.opened("pd", [PERSON, PERSON]) for _ in range(2))
    seat, host = locked.key("seat", row, 0), locked.key("host", row)
    mac = seat.rpartition(".")[2]
    wrong = [
        "",
        "x",
        seat[:-1],
        seat + "0",
        f"{row.id}.1.{mac}",
        f"{other.id}.0.{mac}",
        host,
        seat.upper(),
        "..",
        "%00",
    ]
    for key in wrong:
        status, _, said = asked(locked, f"/seat?{urlencode({'key': key})}")
        assert (status, "Player" in said) == (403, False), key
    cookie = login(locked, PASSWORD)[1]["Set-Cookie"].partition(";")[0]
    for key in (seat, f"{other.id}.{host.rpartition('.')[2]}"):
        assert asked(locked, f"/host?{urlencode({'key': key})}", Cookie=cookie)[0] == 403
        assert asked(locked, f"/host?{urlencode({'key': key})}")[0] == 403
    assert asked(locked, "/seat")[0] == 403
    log = silent(locked, mac, host.rpartition(".")[2])
    assert "a seat link that is none" in log and "a host link that is none" in log


# --- forged messages


class Wire:
    """A page's connection, without the page."""

    def __init__(self, socket):
        self.socket, self.number = socket, 0

    async def hear(self, wanted, seconds=5.0):
        """The content of the next message of that type; None when none comes."""
        frames = []
        try:
            async with asyncio.timeout(seconds):
                while True:
                    frame = await self.socket.read_message()
                    if frame is None:
                        return None
                    frames.append(frame)
                    if len(frames) >= 3 and isinstance(frames[-3], str) and f'"{wanted}"' in frames[-3]:
                        return json.loads(frames[-1])
        except TimeoutError:
            return None

    async def say(self, kind, content):
        self.number += 1
        for part in ({"msgid": f"forged{self.number}", "msgtype": kind}, {}, content):
            await self.socket.write_message(json.dumps(part))

    async def models(self):
        """All models of the page's document, as JSON: id -> (type, attributes)."""
        await self.say("PULL-DOC-REQ", {})
        found = {}

        def walk(value):
            if isinstance(value, dict):
                if value.get("type") == "object" and "id" in value:
                    found[value["id"]] = (value["name"], value.get("attributes", {}))
                for each in value.values():
                    walk(each)
            elif isinstance(value, list):
                for each in value:
                    walk(each)

        walk(await self.hear("PULL-DOC-REPLY"))
        return found

    async def event(self, name, entries):
        event = {"type": "event", "name": name, "values": {"type": "map", "entries": entries}}
        await self.say("PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}]})

    async def click(self, model):
        await self.event("button_click", [["model", {"id": model}]])

    async def set(self, model, attribute, value):
        event = {"kind": "ModelChanged", "model": {"id": model}, "attr": attribute, "new": value}
        await self.say("PATCH-DOC", {"events": [event]})


async def wire(server, what, token, **headers):
    """Connects as the page that was given that token would."""
    url = f"ws://localhost:{server.port}/{what}{'/' if what else ''}ws"
    headers = {"Origin": server.url} | headers
    socket = await websocket_connect(HTTPRequest(url, headers=headers), subprotocols=["bokeh", token])
    made = Wire(socket)
    if await made.hear("ACK") is None:
        return None
    await made.event("document_ready", [])
    return made


def token_of(server, link):
    found = re.search(r'"token":"([^"]+)"', asked(server, link)[2])
    return found[1]


def labelled(models, label):
    return [name for name, (_, own) in models.items() if own.get("label") == label]


def test_forged_and_repeated_messages_change_nothing(server, person):
    row = server.opened("public_goods", [PERSON, PERSON, PERSON])
    people = [person() for _ in range(3)]
    for seat, each in enumerate(people):
        each.sit(server.link("seat", row, seat), f"P{seat}")
    for each in people:
        each.page.get_by_text("Your turn, round 1").wait_for()
    tokens = [token_of(server, path(server, "seat", row, seat)) for seat in range(2)]

    async def attack():
        own, other = [await wire(server, "seat", token) for token in tokens]
        models, others = await own.models(), await other.models()
        (send,), (sends,) = labelled(models, "Send"), labelled(others, "Send")
        boxes = {name: own for name, (kind, own) in models.items() if kind.endswith("TextInput")}
        (box,) = (name for name, own in boxes.items() if "A name for you" not in json.dumps(own))
        for wrong in ("5000", "-1", "1.5", "ten", "\u0661", "9" * 100_000):
            await own.set(box, "value", wrong)
            await own.click(send)
        await own.click(sends)  # of another seat's page
        await own.set(send, "disabled", False)
        await own.say("PATCH-DOC", {"events": [{"kind": "RootAdded", "model": {"id": "p1"}}]})
        await asyncio.sleep(0.7)
        assert server.answers(row) == []
        own, other = [await wire(server, "seat", token) for token in tokens]  # the server may have hung up
        await own.set(box, "value", "7")
        await own.click(send)
        for _ in range(3):  # the same click again
            await own.click(send)
        await asyncio.sleep(0.7)
        assert [(seat, number) for seat, number, _ in server.answers(row)] == [(0, 0)]

    apart(attack())
    assert [(seat, number, action) for seat, number, action in server.answers(row)] == [(0, 0, 7)]
    log = server.log.read_text()
    assert not [each for each in tokens if each in log]
    assert server.key("seat", row, 0) not in log
    people[1].page.get_by_text("Your turn, round 1").wait_for()


def apart(coroutine):
    """Runs in a thread of its own: the browser's has an event loop."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asyncio.wait_for(coroutine, 40)).result()


def test_a_connection_needs_a_token_of_this_server_and_a_page_of_its_own(locked):
    row = locked.opened("pd", [PERSON, PERSON])
    token = token_of(locked, path(locked, "seat", row, 0))
    head, _, rest = token.partition(".")
    forged = ["", "x", token[:-2], token[:-1] + ("A" if token[-1] != "A" else "B"), head, f"{head}.{rest[::-1]}", "é"]

    async def attack():
        assert await wire(locked, "seat", token) is not None
        for wrong in forged:
            try:
                made = await wire(locked, "seat", wrong)
            except (HTTPClientError, ValueError, UnicodeError):
                continue
            assert made is None or await made.models() == {}, wrong
        for origin in (
            "http://evil.example",
            "http://localhost",
            f"http://localhost.evil.example:{locked.port}",
            "null",
        ):
            with pytest.raises(HTTPClientError):
                await wire(locked, "seat", token, Origin=origin)

    apart(attack())
    sleep(0.2)
    log = silent(locked, token, locked.key("seat", row, 0))
    assert "evil.example" in log


def test_the_token_of_a_public_page_opens_no_other(locked):
    row = locked.opened("pd", [PERSON, PERSON])
    host = locked.key("host", row)
    token = token_of(locked, f"/watch?{urlencode({'table': row.id, 'key': host})}")
    cookie = login(locked, PASSWORD)[1]["Set-Cookie"].partition(";")[0]
    pages = {"host": f"/host?key={host}", "transcripts": "/transcripts", "annotate": "/annotate", "": "/"}

    def own(link):
        return re.search(r'"token":"([^"]+)"', asked(locked, link, Cookie=cookie)[2])[1]

    async def attack():
        for page, link in pages.items():
            with pytest.raises(HTTPClientError, match="403"):
                await wire(locked, page, token)
            with pytest.raises(HTTPClientError, match="410"):  # it names a page, but not one of these
                await wire(locked, page, token, Cookie=cookie)
            assert await wire(locked, page, own(link), Cookie=cookie) is not None

    apart(attack())
    for page in ("/", "/transcripts/", "/annotate/"):
        assert asked(locked, f"{page}autoload.js?bokeh-autoload-element=1")[0] == 404
    assert "/transcripts/ws without the password" in silent(locked, token, host)


def test_parts_in_bytes_are_not_gathered(locked):
    token = token_of(locked, path(locked, "watch", locked.opened("pd", [PERSON, PERSON])))

    async def attack():
        made = await wire(locked, "watch", token)
        for part in ({"msgid": "x", "msgtype": "PATCH-DOC", "num_buffers": 1_000_000}, {}, {"events": []}, {"id": "a"}):
            await made.socket.write_message(json.dumps(part))
        await made.socket.write_message(b"x" * 1_000_000, binary=True)
        assert await made.hear("nothing", 3) is None
        assert made.socket.protocol is None or made.socket.protocol.client_terminated

    apart(attack())


def test_no_page_does_what_its_policy_forbids(locked, person):
    """That is said of every page of every test with a browser; here of those that a password protects, and of the login."""
    row = locked.opened("pd", [PERSON] * 2)
    ada = person()
    ada.page.goto(locked.link("host", row))
    ada.page.get_by_label("Password").fill(PASSWORD)
    ada.page.get_by_role("button", name="Open").click()
    ada.page.get_by_text("Send each person").first.wait_for()
    for link, wanted in (
        ("/", "A new table"),
        ("/annotate", "name"),
        ("/transcripts", "Step 1 of"),
        ("/public", "Watch a match"),
    ):
        ada.page.goto(locked.url + link)
        ada.page.get_by_text(wanted).first.wait_for()
    ada.page.evaluate("document.body.append(document.createElement('iframe'))")
    ada.page.evaluate("document.querySelector('iframe').src = 'data:text/html,x'")
    ada.page.wait_for_timeout(300)
    assert "Content Security Policy" in str(ada.forbidden)  # so it would be heard
    ada.forbidden.clear()
