"""What strangers may try: the server stays up, serves everybody else, and gives away nothing."""

import asyncio
import json
import logging
import re
import socket
import stat
import sys
from contextlib import suppress
from time import monotonic
from urllib.request import urlopen

import driving
import pytest
from driving import Page, serving, shown
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest

from agon import ROOT, AgonError
from agon.plan import PERSON
from agon_hall import door, gate, server, wire
from agon_hall.gate import Password
from agon_hall.server import LONG, serve

PASSWORD = "open-sesame-of-these-tests"
LOGIN = {"Content-Type": "application/x-www-form-urlencoded"}


async def asked(port, path, method="GET", body=None, follow=False, **headers):
    """The reply to one request."""
    request = HTTPRequest(
        f"http://localhost:{port}{path}",
        method,
        {name.replace("_", "-"): value for name, value in headers.items()},
        body,
        follow_redirects=follow,
        allow_nonstandard_methods=True,
    )
    return await AsyncHTTPClient().fetch(request, raise_error=False)


async def login(port, password, **headers):
    return await asked(port, "/login", "POST", f"password={password}", **LOGIN, **headers)


async def raw(port, sent, seconds=10.0):
    """What comes back for these bytes until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        return await asyncio.wait_for(reader.read(), seconds)
    finally:
        writer.close()


# --- what can be asked for

NOWHERE = [
    "/components/this/x/css/y", "/components/panel.widgets/Button/_stylesheets/css/button.css",
    "/components/os/path/__css__/x", "/liveness", "/rest/session_info", "/admin", "/logout",
    "/autoload.js?bokeh-autoload-element=1", "/metadata", "/seat/metadata", "/seat/autoload.js",
    "/static/../door.py", "/static/js/../../../settings.py", "/static/%2e%2e/%2e%2e/settings.py", "/static//etc/passwd",
    "/static/js/%2e%2e%2f%2e%2e%2fsettings.py", "/static/extensions/panel/../config.py", "/static/extensions/agon/x.js",
    "/static/js/", "/static/js/%00", "/static/js/bokeh%2emin.js", "/%73eat", "/seat%2fws",
    "/seat/static/js/bokeh.min.js", "/seat/ws/", "//evil.example/", "/index.html",
]  # fmt: skip


def test_only_pages_and_their_files_are_there(tmp_path, short):
    async def run():
        async with serving(tmp_path) as (_, path, _, port):
            for each in NOWHERE:
                reply = await asked(port, each)
                assert reply.code in (403, 404) and b"agon" not in reply.body, each
            assert "this" not in sys.modules
            for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "POST", "TRACE"):
                assert (await asked(port, "/", method)).code == 405, method
            page = (await asked(port, path)).body.decode()
            files = re.findall(r'(?:src|href)="(static/[^"]+\.(?:js|css))[?"]', page)
            assert len(files) > 4
            for each in files:
                assert (await asked(port, f"/{each}")).code == 200, each

    asyncio.run(run())


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "localhost:1", "", "127.0.0.1.nip.io", "[::1]"]
)
def test_a_name_that_was_not_given_is_not_answered(tmp_path, short, host):
    """Else a page elsewhere could have its own name lead here, and read everything."""

    async def run():
        port = driving.free_port()
        async with driving.hall(tmp_path) as hall:
            made = server.served(hall, tmp_path, port=port, hosts=[f"localhost:{port}"])
            made.start()
            try:
                assert (await asked(port, "/")).code == 200
                assert (await asked(port, "/", Host=host)).code in (400, 421)
                said = await raw(port, b"GET / HTTP/1.0\r\n\r\n")
                assert said.startswith(b"HTTP/1.1 421")
            finally:
                made.stop()

    asyncio.run(run())


def test_every_reply_says_what_browsers_may_do_with_it(tmp_path, short):
    async def run():
        async with serving(tmp_path, password=PASSWORD) as (place, path, _, port):
            replies = [
                path,
                f"/watch?table={place.id}",
                "/",
                "/login",
                "/nowhere",
                "/static/js/bokeh.min.js",
                "/seat?key=x",
            ]
            for each in replies:
                headers = (await asked(port, each)).headers
                policy = headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy, each
                assert "unsafe-eval" not in policy and "script-src 'unsafe" not in policy, each
                assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"]) == ("DENY", "nosniff"), each
                assert headers["Referrer-Policy"] == ("same-origin" if each == "/login" else "no-referrer")
                assert "Server" not in headers, each
            pages = [await asked(port, path) for _ in range(2)]
            nonces = {re.search(r"'nonce-([^']+)'", each.headers["Content-Security-Policy"])[1] for each in pages}
            assert len(nonces) == 2
            for each in pages:
                scripts = re.findall(r"<script[^>]*>", each.body.decode())
                assert scripts and all('nonce="' in script for script in scripts)

    asyncio.run(run())


# --- how much can be asked for


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\npass",
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"GET /login HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_half_a_request_is_not_waited_for_and_shuts_nobody_out(tmp_path, short, monkeypatch, half):
    for name, value in {"MOST": 16, "IDLE": 1.0, "SLOW": 1.0}.items():
        monkeypatch.setattr(door, name, value)

    async def run():
        async with serving(tmp_path) as (_, _, _, port):
            crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
            for _, writer in crowd:
                with suppress(OSError):
                    writer.write(half)
            before = monotonic()
            assert (await asked(port, "/login")).code == 200
            assert monotonic() - before < 2
            for reader, writer in crowd:
                with suppress(OSError):
                    await asyncio.wait_for(reader.read(), 8)
                writer.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "much",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"x" * 100_000,
        b"GET /" + b"x" * 100_000,
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n",
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000,
        b"\x16\x03\x01" + b"\xff" * 100_000,
    ],
)
def test_a_request_has_a_length(tmp_path, short, much):
    async def run():
        async with serving(tmp_path) as (_, _, _, port):
            with suppress(ConnectionError):
                assert len(await raw(port, much, 5)) < 1000
            assert (await asked(port, "/login")).code == 200

    asyncio.run(run())


def test_pages_are_counted_by_address_and_those_that_nobody_looks_at_are_given_back(tmp_path, short, monkeypatch):
    monkeypatch.setattr(wire, "MOST", 16)
    monkeypatch.setattr(server, "UNUSED", 2000)

    async def run():
        async with serving(tmp_path) as (place, path, made, port):
            there = f"/watch?table={place.id}"
            assert [(await asked(port, there)).code for _ in range(6)] == [200, 200, 503, 503, 503, 503]
            assert [(await asked(port, path)).code for _ in range(3)] == [
                200,
                200,
                503,
            ]  # players have room of their own
            page_of_mine = f"{there}&bokeh-session-id=mine"
            assert (await asked(port, page_of_mine)).code == 403
            assert (await asked(port, there, Bokeh_Session_Id="mine")).code == 403
            async with asyncio.timeout(10):
                while made.get_sessions():
                    await asyncio.sleep(0.1)
            assert (await asked(port, there)).code == 200

    asyncio.run(run())


def test_an_open_page_is_not_pushed_out(tmp_path, short, monkeypatch):
    monkeypatch.setattr(door, "MOST", 16)

    async def run():
        async with serving(tmp_path) as (_, path, _, port):
            pages = [await Page.opens(port, path) for _ in range(4)]
            crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
            for each in pages:
                await each.tells("document_ready")
            assert not any(each.reading.done() for each in pages)  # all are connected, and have been answered
            for _, writer in crowd:
                writer.close()

    asyncio.run(run())


def test_a_page_has_one_connection_and_a_connection_makes_no_page(tmp_path, short, monkeypatch):
    monkeypatch.setattr(server, "UNUSED", 300)

    async def run():
        async with serving(tmp_path) as (_, path, made, port):
            first = await Page.opens(port, path)
            again = await first.again()
            await asyncio.wait_for(first.reading, 10)
            await again.tells("document_ready")
            assert len(made.get_sessions()) == 1
            again.socket.close()
            async with asyncio.timeout(10):
                while made.get_sessions():
                    await asyncio.sleep(0.1)
            for _ in range(3):
                with pytest.raises(HTTPClientError, match="410"):
                    await again.again()
            assert not made.get_sessions()

    asyncio.run(run())


# --- what a browser can say

FORGED = [
    {"kind": "RootAdded", "model": {"type": "object", "name": "Div", "id": "new", "attributes": {"text": "x"}}},
    {"kind": "RootRemoved", "model": {"id": "ROOT"}},
    {"kind": "TitleChanged", "title": "x"},
    {"kind": "ModelChanged", "model": {"id": "HTML"}, "attr": "text", "new": "forged"},
    {"kind": "ModelChanged", "model": {"id": "HTML"}, "attr": "visible", "new": False},
    {"kind": "ModelChanged", "model": {"id": "ROOT"}, "attr": "children", "new": []},
    {"kind": "ModelChanged", "model": {"id": "ROOT"}, "attr": "js_event_callbacks", "new": {"type": "map", "entries": []}},
    {"kind": "ModelChanged", "model": {"id": "TextInput"}, "attr": "value", "new": {"type": "object", "name": "Div", "id": "q"}},
    {"kind": "ModelChanged", "model": {"id": "TextInput"}, "attr": "max_length", "new": 10**9},
    {"kind": "ModelChanged", "model": {"id": "TextInput"}, "attr": "stylesheets", "new": ["*{}"]},
    {"kind": "ModelChanged", "model": {"id": "none"}, "attr": "value", "new": "x"},
    {"kind": "ColumnDataChanged", "model": {"id": "ROOT"}, "attr": "data", "data": {}, "cols": None},
    {"kind": "ColumnsStreamed", "model": {"id": "ROOT"}, "attr": "data", "data": {}, "rollover": None},
    {"kind": "MessageSent", "msg_type": "ipywidget", "msg_data": {}},
    {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {"type": "event", "name": "dom_event", "values": {}}},
]  # fmt: skip
BROKEN = [
    ({"msgtype": "PUSH-DOC"}, {"doc": {"roots": []}}),
    ({"msgtype": "PATCH-DOC"}, {"events": 7}),
    ({"msgtype": "PATCH-DOC"}, {"events": ["x", None, 5]}),
    ({"msgtype": "PATCH-DOC"}, "[" * 50_000),
    ({"msgtype": "PATCH-DOC"}, '{"events": [{"kind": "ModelChanged", "new": NaN}]}'),
    ({"msgtype": "NONE"}, {}),
    ({}, {}),
    ([], []),
    ("null", "null"),
]


def test_who_watches_changes_nothing_and_adds_nothing(tmp_path, short):
    async def run():
        async with serving(tmp_path) as (place, path, made, port):
            for link in (f"/watch?table={place.id}", path):
                page = await Page.opens(port, link)
                await page.tells("document_ready")
                (session,) = made.get_sessions(link.partition("?")[0])
                before, facts = shown(session.document), (len(session.document.roots), session.document.title)
                names = {type(each).__name__: each.id for each in session.document.models} | {
                    "ROOT": session.document.roots[0].id
                }
                for forged in FORGED:
                    told = json.dumps(forged)
                    for name, id_ in names.items():
                        told = told.replace(f'"id": "{name}"', f'"id": "{id_}"')
                    await page.asks("PATCH-DOC", {"events": [json.loads(told)]})
                    assert shown(session.document) == before, forged
                    assert (len(session.document.roots), session.document.title) == facts

    asyncio.run(run())


def test_what_is_no_message_ends_the_connection_and_nothing_else(tmp_path, short, caplog):
    async def run():
        async with serving(tmp_path) as (place, path, _, port):
            there = await Page.opens(port, path)
            await there.tells("document_ready")
            for head, said in BROKEN:
                page = await Page.opens(port, f"/watch?table={place.id}")
                for part in (head, {}, said):
                    page.socket.write_message(part if isinstance(part, str) else json.dumps(part))
                await asyncio.wait_for(page.reading, 10)
            page = await Page.opens(port, f"/watch?table={place.id}")
            page.socket.write_message("x" * 600_000)
            await asyncio.wait_for(page.reading, 10)
            page = await Page.opens(port, f"/watch?table={place.id}")
            page.socket.write_message(json.dumps({"msgtype": "x" * 2000}))
            await asyncio.wait_for(page.reading, 10)
            place.leave(1)
            await there.asks("PULL-DOC-REQ", {})

    asyncio.run(run())
    assert str(ROOT) not in caplog.text


def test_an_error_tells_a_browser_no_more_than_that_there_was_one(tmp_path, short, monkeypatch):
    async def run():
        async with serving(tmp_path) as (_, path, _, port):
            page = await Page.opens(port, path)
            await page.tells("document_ready")
            (box,) = (each for each in page.document.models if type(each).__name__ == "TextInput")
            said = await page.asks(
                "PATCH-DOC", {"events": [{"kind": "ModelChanged", "model": {"id": box.id}, "attr": "value", "new": 5}]}
            )
            assert said == {"text": "This could not be done.", "traceback": None}
            monkeypatch.setattr("agon_hall.server.SeatPage", None)
            page = await Page.opens(port, path)
            texts = str(shown(page.document)) + (await asked(port, path)).body.decode()
            assert "could not be made" in texts
            assert not re.search(r"Traceback|\.py\b|NoneType", texts)

    asyncio.run(run())


def test_a_flood_of_messages_leaves_time_for_others(tmp_path, short):
    async def run():
        async with serving(tmp_path) as (place, path, _, port):
            flood = await Page.opens(port, f"/watch?table={place.id}")
            event = {"kind": "MessageSent", "msg_type": "bokeh_event"}
            event |= {"msg_data": {"type": "event", "name": "button_click", "values": {"entries": []}}}
            for number in range(3000):
                for part in ({"msgid": str(number), "msgtype": "PATCH-DOC"}, {}, {"events": [event] * 3}):
                    flood.socket.write_message(json.dumps(part))
            before = monotonic()
            page = await Page.opens(port, path)
            await page.tells("document_ready")
            assert monotonic() - before < 10

    asyncio.run(run())


def test_a_browser_that_takes_nothing_is_given_up(tmp_path, short, monkeypatch, caplog):
    """Else all that it is sent would be kept for it."""
    monkeypatch.setattr(wire, "STUCK", 0.5)

    async def run():
        async with serving(tmp_path) as (place, _, made, port):
            there = f"/watch?table={place.id}"
            token = re.search(r'"token":"([^"]+)"', (await asked(port, there)).body.decode())[1]
            with socket.socket() as lazy:
                lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                lazy.connect(("127.0.0.1", port))
                lines = (
                    f"GET /watch/ws HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                )
                lines += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                lazy.sendall(f"{lines}Sec-WebSocket-Protocol: bokeh, {token}\r\n\r\n".encode())
                asks = [b'{"msgid": "1", "msgtype": "PULL-DOC-REQ"}', b"{}", b"{}"]
                frames = b"".join(b"\x81" + bytes([128 + len(each)]) + bytes(4) + each for each in asks)
                await asyncio.sleep(0.3)
                lazy.sendall(frames * 200)
                assert [each.connection_count for each in made.get_sessions()] == [1]
                async with asyncio.timeout(20):
                    while any(each.connection_count for each in made.get_sessions()):
                        await asyncio.sleep(0.1)
                assert "closed: a page that takes nothing" in caplog.text

    asyncio.run(run())


# --- the password


def test_guesses_are_counted_by_address_and_in_all(monkeypatch):
    monkeypatch.setattr(Password, "_hashed", lambda self, password: password.encode())

    async def run():
        password, now = Password(PASSWORD), [1000.0]
        monkeypatch.setattr(gate, "monotonic", lambda: now[0])
        for _ in range(20):
            assert not password.wait("a")
            await password.entered(PASSWORD, "a")  # right ones cost nothing
        guessed = 0
        while not password.wait("a"):
            assert await password.entered("x", "a") is None
            guessed += 1
        assert 10 <= guessed <= 11
        assert 1 <= password.wait("a") <= 10 and not password.wait("b")
        now[0] += 10
        assert not password.wait("a")
        for number in range(1000):
            if not password.wait(f"from {number}"):
                await password.entered("x", f"from {number}")
                guessed += 1
        assert guessed < 80 and password.wait("new")
        now[0] += 100
        assert not password.wait("new")

    asyncio.run(run())


def test_a_password_is_slow_to_check_and_its_cookie_is_chance(tmp_path, short, monkeypatch):
    monkeypatch.setitem(gate.GUESSES, False, (10, 1000))  # also where hashing takes long

    async def run():
        async with serving(tmp_path, password=PASSWORD) as (_, _, _, port):
            cookies = []
            for _ in range(2):
                reply = await login(port, PASSWORD)
                cookies.append(re.match(r"agon=([\w-]{43});", reply.headers["Set-Cookie"])[1])
                assert "Secure" not in reply.headers["Set-Cookie"]
            assert len(set(cookies)) == 2
            page = await asked(port, "/", Cookie=f"agon={cookies[0]}")
            assert page.code == 200
            token = re.search(r'"token":"([^".]+)', page.body.decode())[1]
            assert cookies[0] not in page.body.decode()
            assert cookies[0].encode() not in gate.hashlib.sha256(token.encode()).digest() + page.body
            forged = await login(port, PASSWORD, X_Forwarded_Proto="https", X_Forwarded_For="1.2.3.4")
            assert "Secure" not in forged.headers["Set-Cookie"]
            wrong = await asyncio.gather(
                *(login(port, f"guess{number}", X_Forwarded_For=f"9.9.9.{number}") for number in range(30))
            )
            codes = [each.code for each in wrong]
            assert codes.count(403) <= 11 and codes.count(429) >= 19
            assert int(next(each for each in wrong if each.code == 429).headers["Retry-After"]) > 0
            assert (await login(port, PASSWORD)).code == 429
            for forged in ("", "agon", "x" * 43, cookies[0][:-1]):
                assert (await asked(port, "/", Cookie=f"agon={forged}")).code == 302
            assert (await asked(port, "/", Cookie=f"agon={cookies[1]}")).code == 200

    asyncio.run(run())


def test_a_login_comes_from_the_halls_own_page_or_from_no_page(tmp_path, short):
    async def run():
        async with serving(tmp_path, password=PASSWORD) as (_, _, _, port):
            for origin in (
                "null",
                "",
                "file://",
                "http://[",
                "http://evil.example",
                f"http://localhost:{port}.evil.example",
            ):
                assert (await login(port, PASSWORD, Origin=origin)).code == 403, origin
            assert (await login(port, PASSWORD, Origin=f"http://localhost:{port}")).code == 302

    asyncio.run(run())


def test_behind_a_proxy_it_is_the_proxy_that_is_believed(tmp_path, short):
    async def run():
        async with serving(tmp_path, password=PASSWORD, proxy=True) as (_, _, _, port):
            reply = await login(port, PASSWORD, X_Forwarded_Proto="https", X_Forwarded_For="1.2.3.4")
            assert "Secure" in reply.headers["Set-Cookie"]
            for _ in range(12):  # what is before the last address was said by whoever asks
                await login(port, "x", X_Forwarded_For=f"{_}.2.3.4, 5.6.7.8", X_Real_Ip=f"{_}.1.1.1")
            assert (await login(port, PASSWORD, X_Forwarded_For="5.6.7.8")).code == 429
            assert (await login(port, PASSWORD, X_Forwarded_For="6.6.7.8")).code == 302

    asyncio.run(run())


@pytest.mark.parametrize(
    ("origins", "proxy"),
    [(["*"], False), (["*:8642"], False), (["localhost:1", "agon.example.org"], False), ([], True)],
)
def test_who_lets_others_connect_needs_a_password(tmp_path, monkeypatch, origins, proxy):
    monkeypatch.delenv("AGON_PASSWORD", raising=False)
    with pytest.raises(AgonError, match="AGON_PASSWORD"):
        serve(tmp_path, "127.0.0.1", 1, origins, proxy, None, print)


@pytest.mark.parametrize("folder", [ROOT, ROOT.parent, ROOT / "docs" / ".."])
def test_the_projects_folder_is_not_the_halls(folder):
    with pytest.raises(AgonError, match="folder of its own"):
        serve(folder, "127.0.0.1", 1, [], False, None, print)


@pytest.mark.parametrize("origins", [["a:b"], [""], ["a:1:2"]])
def test_an_origin_that_is_none_is_told(tmp_path, origins):
    with pytest.raises(AgonError, match="HOST:PORT"):
        serve(tmp_path, "127.0.0.1", 1, origins, False, None, print)


def test_nobody_else_can_read_what_is_kept(server):
    row = server.opened("pd", ["uniform", "uniform"])
    urlopen(server.link("watch", row)).read()
    for path in (server.folder, *server.folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_refused_message_is_not_written_whole(server):
    """Bokeh writes it into the log as it came, with the error."""
    row = server.opened("pd", [PERSON] * 2)

    async def run():
        page = await Page.opens(server.port, server.link("seat", row, 0).removeprefix(server.url))
        await page.tells("document_ready")
        (box,) = (each for each in page.document.models if type(each).__name__ == "TextInput")
        event = {"kind": "ModelChanged", "model": {"id": box.id}, "attr": "value", "new": ["x" * 400_000]}
        assert "could not be done" in (await page.asks("PATCH-DOC", {"events": [event]}))["text"]

    before = server.log.stat().st_size
    asyncio.run(run())
    said = server.log.read_text()[before:]
    assert "error handling message" in said and "letters ...]" in said and "ValueError" in said
    assert len(said) < 2 * LONG + 1000


def test_the_log_does_not_grow_with_what_is_tried(caplog):
    quiet, plain, out = server._Quiet(), server._Plain(), []
    for number in range(5000):
        record = logging.LogRecord(
            "agon_hall", logging.WARNING, "", 1, "refused: %s, from %s", (f"/{number}?key=x", "a"), None
        )
        if quiet.filter(record):
            out.append(plain.format(record))
    assert len(out) == server.LINES and "key" not in out[0]
    for number in range(5000):
        quiet.filter(logging.LogRecord(f"kind {number}", logging.WARNING, "", 1, "x", (), None))
    assert len(quiet._said) <= server.KINDS + 1
