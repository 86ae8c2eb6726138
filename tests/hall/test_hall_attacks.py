"""What strangers may try: the server stays up, serves everybody else, and gives away nothing."""

import asyncio
import logging
import re
import stat
from contextlib import aclosing, suppress
from time import monotonic
from urllib.request import urlopen

import driving
import httpx
import pytest
from driving import Visitor, events, serving, settled
from patience import LONG

from agon import ROOT, AgonError
from agon.plan import PERSON
from agon_hall import access, firewall, new_table, server
from agon_hall import seat as seat_module
from agon_hall.access import Password
from agon_hall.server import serve

PASSWORD = "open-sesame-of-these-tests"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def asked(port, path, method="GET", body=None, at="127.0.0.1", **headers):
    """The reply to one request from the address `at`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    transport = httpx.AsyncHTTPTransport(verify=False, local_address=at)
    async with httpx.AsyncClient(timeout=30, transport=transport) as client:
        return await client.request(method, f"http://localhost:{port}{path}", content=body, headers=named)


async def login(port, password, **headers):
    return await asked(port, "/login", "POST", f"password={password}", **FORM, **headers)


async def raw(port, sent, seconds=10.0):
    """What comes back for these bytes until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        return await asyncio.wait_for(reader.read(), seconds)
    finally:
        writer.close()


def run(coroutine):
    asyncio.run(asyncio.wait_for(coroutine, LONG))


# --- what can be asked for

NOWHERE = [
    "/liveness", "/admin", "/logout", "/metadata", "/seat/metadata", "/seat/ws", "/openapi.json", "/docs",
    "/static/../door.py", "/static/js/../../../settings.py", "/static/%2e%2e/%2e%2e/settings.py", "/static//etc/passwd",
    "/static/%2e%2e%2fdoor.py", "/static/", "/static/%00", "/static/base.html", "/templates/base.html",
    "/seat%2fevents", "//evil.example/", "/index.html", "/consent.md",
]  # fmt: skip


def test_what_is_too_much_or_too_slow_is_said_to_be_so(tmp_path, short, monkeypatch, caplog):
    monkeypatch.setattr("agon_hall.firewall.SLOW", 0.5)
    head = b"POST %s HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n"

    async def check():
        async with serving(tmp_path) as (_, path, _, port):
            begun = head % (path.encode(), port)
            chunk = b"%x\r\n%s\r\n" % (2**16, b"a" * 2**16)
            much = await raw(port, begun + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 5 + b"0\r\n\r\n")
            assert much.startswith(b"HTTP/1.1 413") and b"This was not taken" in much
            slow = await raw(port, begun + b"Content-Length: 100\r\n\r\nform=")
            assert slow.startswith(b"HTTP/1.1 408")

    run(check())
    assert "Traceback" not in caplog.text


def test_a_click_in_a_second_tab_is_too_late_and_typed_text_stays(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (place, path, _, port):
            first, second = [await Visitor(f"http://localhost:{port}", path).opens() for _ in range(2)]
            await first.presses("I agree, and sit down", name="Ada")
            await settled(place)
            await second.opens()
            sent = second.form("cooperation")
            await first.opens()
            await first.presses("cooperation")
            await settled(place)
            late = await second.sends(sent | {"press": "x"}, **{"X-Hall": "1"})
            assert late.status_code == 422 and "This has been answered already" in late.text
            assert "This has been answered already" not in (await second.opens()).text()
            assert place.drafts[0, "answer"].why == ""

    run(check())


def test_only_pages_and_their_files_are_there(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (_, path, _, port):
            for each in NOWHERE:
                reply = await asked(port, each)
                assert reply.status_code in (403, 404) and "secret" not in reply.text, each
            for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"):
                assert (await asked(port, "/", method)).status_code == 405, method
            assert (await asked(port, "/host/~events", "POST", "", **FORM)).status_code == 405
            page = (await asked(port, path)).text
            files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
            assert len(files) == 2
            for each in files:
                reply = await asked(port, each)
                assert reply.status_code == 200 and "immutable" in reply.headers["Cache-Control"]

    run(check())


def test_a_name_that_was_not_given_is_not_answered(tmp_path, short, subtests):
    """Otherwise another site could point its own name at this server and read everything."""

    async def check():
        async with serving(tmp_path) as (_, path, _, port):
            assert (await asked(port, path)).status_code == 200
            for host in ("evil.example", "localhost.evil.example", "localhost:1", "", "127.0.0.1.nip.io", "[::1]"):
                with subtests.test(host):
                    assert (await asked(port, path, Host=host)).status_code in (400, 421)
            assert (await raw(port, b"GET / HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.1 421")

    run(check())


def test_every_reply_says_what_browsers_may_do_with_it(tmp_path, short):
    async def check():
        async with serving(tmp_path, password=PASSWORD) as (place, path, _, port):
            for each in (path, f"/watch?table={place.id}", "/", "/login", "/nowhere", "/static/hall.js", "/seat?key=x"):
                headers = (await asked(port, each)).headers
                policy = headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy, each
                assert "script-src 'self';" in policy and "unsafe-eval" not in policy, each
                assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"]) == ("DENY", "nosniff"), each
                assert headers["Referrer-Policy"] == "same-origin"  # links have keys in them
                assert "Server" not in headers, each
                assert "static" in each or headers["Cache-Control"] == "no-store"
            page = (await asked(port, path)).text
            assert re.findall("<script[^>]*>", page) == re.findall('<script src="/static/[^"]+" defer>', page)
            assert not re.search(r"<[^>]+\son\w+=", page)

    run(check())


def test_an_address_without_a_slash_is_no_page(tmp_path, short, caplog):
    async def check():
        async with serving(tmp_path, password=PASSWORD) as (_, _, _, port):
            for at in (b"nowhere", b"*", b"http://elsewhere.example"):
                reply = await raw(
                    port, b"GET %b HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n" % (at, port)
                )
                assert reply[9:12] in (b"303", b"400", b"404"), (at, reply[:100])

    run(check())
    assert "Traceback" not in caplog.text


# --- how much can be asked for


POST = b"POST /login HTTP/1.1\r\nHost: localhost:%d\r\n"
"""The start of a request; %d is the port."""
UNFINISHED = {
    "half a form": POST + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\npass",
    "half a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    "a connection that stays open": b"GET /login HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
}


def test_a_request_is_not_waited_for_and_shuts_nobody_out_for_long(tmp_path, short, monkeypatch, subtests):
    for name, value in {"MOST": 16, "SLOW": 1.0}.items():
        monkeypatch.setattr(firewall, name, value)
    monkeypatch.setattr(server, "IDLE", 1)

    async def crowded(port, request):
        crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(40)]
        for _, writer in crowd:
            with suppress(OSError):
                writer.write(request.replace(b"%d", b"%d" % port))
        for reader, writer in crowd:
            with suppress(OSError):
                await asyncio.wait_for(reader.read(), 60)
            writer.close()
        await asyncio.sleep(0.5)
        assert (await asked(port, "/login")).status_code == 200

    async def check():
        async with serving(tmp_path, password=PASSWORD) as (_, _, _, port):
            for name, request in UNFINISHED.items():
                with subtests.test(name):
                    await crowded(port, request)

    run(check())


def test_one_address_cannot_take_all_places(tmp_path, short, monkeypatch):
    monkeypatch.setattr(firewall, "MOST", 16)
    head = b"POST /login HTTP/1.1\r\nHost: localhost:%d\r\nX-Forwarded-For: 10.0.0.1\r\nContent-Length: 9\r\n"
    head += b"Content-Type: application/x-www-form-urlencoded\r\n\r\npass"

    async def check():
        async with serving(tmp_path, password=PASSWORD, proxy=True) as (_, _, _, port):
            crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(10)]
            for _, writer in crowd:
                writer.write(head % port)
            await asyncio.sleep(0.5)
            assert (await asked(port, "/login", X_Forwarded_For="10.0.0.1")).status_code == 503
            assert (await asked(port, "/login", X_Forwarded_For="10.0.0.2")).status_code == 200
            for _, writer in crowd:
                writer.close()

    run(check())


TOO_LONG = {
    "a cookie": b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"x" * 100_000,
    "an address": b"GET /" + b"x" * 100_000,
    "a length": POST + b"Content-Length: 1000000000\r\n\r\n",
    "a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000,
    "no HTTP": b"\x16\x03\x01" + b"\xff" * 100_000,
}


def test_a_request_has_a_length(tmp_path, short, monkeypatch, subtests):
    monkeypatch.setattr(server, "IDLE", 1)
    monkeypatch.setattr(firewall, "SLOW", 1.0)

    async def check():
        async with serving(tmp_path, password=PASSWORD) as (_, _, _, port):
            for name, request in TOO_LONG.items():
                with subtests.test(name):
                    with suppress(ConnectionError):
                        assert len(await raw(port, request.replace(b"%d", b"%d" % port), 60)) < 1500
                    assert (await asked(port, "/login")).status_code == 200
            body = "answer=" + "x" * (firewall.BODY + 1)
            assert (await asked(port, "/login", "POST", body, **FORM)).status_code == 413
            many = "&".join(f"a{each}=" for each in range(3000))
            assert (await asked(port, "/login", "POST", many, **FORM)).status_code == 400

    run(check())


def test_open_pages_are_counted_by_address_and_not_pushed_out(tmp_path, short, monkeypatch):
    monkeypatch.setattr(firewall, "MOST", 10)

    async def check():
        async with serving(tmp_path) as (place, path, _, port):
            opened = [events(port, path) for _ in range(4)]
            for each in opened:
                assert "Before you play" in str(await anext(each))
            for there in (path.replace("?", "/~events?"), f"/watch/~events?table={place.id}"):
                assert (await asked(port, there)).status_code == 503
            assert (await asked(port, path)).status_code == 200  # forms work also without news
            place.sit(0, "Ada")
            for each in opened:
                assert "Your turn" in str(await anext(each))
                await each.aclose()
            await asyncio.sleep(0.2)
            async with aclosing(events(port, path)) as told:
                assert "Your turn" in str(await anext(told))

    run(check())


# --- what a browser can say

FORGED = [
    {}, {"form": "answer"}, {"form": ["answer", "sit"]}, {"form": "x" * 5000}, {"form": "answer", "question": "-1", "press": "cooperation"},
    {"form": "answer", "question": "0", "press": "cheat"}, {"form": "answer", "question": "0", "press": ""},
    {"form": "answer", "question": "0" * 50, "press": "cooperation"}, {"form": "look", "item": "x" * 9000, "press": ""},
    {"form": "look", "press": "Send"}, {"form": "host"}, {"form": "answer", "question": "1", "press": "cooperation"},
]  # fmt: skip


def test_what_is_no_form_of_a_page_changes_nothing(tmp_path, short, caplog):
    async def check():
        async with serving(tmp_path) as (place, path, hall, port):
            place.sit(0, "Ada")
            ada = await Visitor(f"http://localhost:{port}", path).opens()
            for forged in FORGED:
                await ada.sends(forged)
                await ada.sends(forged, **{"X-Hall": "1"})
            for body in ("%ff=%fe", "&" * 9000, "=", "form"):
                assert (await asked(port, path, "POST", body, **FORM)).status_code in (303, 400, 422)
            assert (await asked(port, path, "POST", "{}", Content_Type="application/json")).status_code == 415
            assert (await asked(port, f"/watch?table={place.id}", "POST", "form=answer", **FORM)).status_code == 405
            assert place.steps == 0 and not place.last_answers and place.store.answer(place.id, 0, 0) is None
            other = f"/seat?key={hall.keys.key_of('seat', place.id, 1)}"
            await asked(port, other, "POST", "form=sit&name=Mallory", **FORM)
            assert place.store.people(place.id)[1].name == "Bo"

    run(check())
    assert "Traceback" not in caplog.text


def test_a_form_of_another_site_is_refused_and_logged_without_its_key(tmp_path, short, caplog):
    async def check():
        async with serving(tmp_path) as (place, path, _, port):
            for headers in (
                {"Origin": "null"},
                {"Origin": "http://evil.example"},
                {"Origin": f"http://localhost:{port}.evil.example"},
                {"Sec_Fetch_Site": "cross-site"},
                {"Origin": f"http://localhost:{port}", "Sec_Fetch_Site": "same-site"},
            ):
                reply = await asked(port, path, "POST", "form=sit&name=Mallory", **FORM, **headers)
                assert reply.status_code == 403, headers
            assert 0 not in place.store.people(place.id)
            own = {"Origin": f"http://localhost:{port}", "Sec_Fetch_Site": "same-origin"}
            assert (await asked(port, path, "POST", "form=sit&name=Ada", **FORM, **own)).status_code == 303
            assert caplog.text.count("a form of another site") == 5 and path.partition("key=")[2] not in caplog.text

    run(check())


def test_a_fault_tells_a_browser_no_more_than_that_there_was_one(tmp_path, short, monkeypatch):
    async def check():
        async with serving(tmp_path) as (_, path, _, port):
            monkeypatch.setattr(seat_module, "seat_context", lambda *given: 1 / 0)
            reply = await asked(port, path)
            assert reply.status_code == 500 and "could not be made just now" in reply.text
            assert "Zero" not in reply.text and str(ROOT) not in reply.text

    run(check())


# --- the password


def test_guesses_are_counted_by_address_and_in_all(monkeypatch):
    monkeypatch.setattr(Password, "_digest", lambda self, password: password.encode())

    async def check():
        password, now = Password(PASSWORD), [1000.0]
        monkeypatch.setattr(access, "monotonic", lambda: now[0])
        for _ in range(20):
            assert not password.guess("a")
            await password.enter(PASSWORD, "a")  # right ones cost nothing
        guessed = 0
        while not (wait := password.guess("a")):
            assert await password.enter("x", "a") is None
            guessed += 1
        assert 10 <= guessed <= 11 and 1 <= wait <= 10
        assert not password.guess("b")
        now[0] += 10
        assert not password.guess("a")
        guessed += sum(not password.guess(f"from {number}") for number in range(1000))
        assert guessed < 80 and password.guess("new")
        now[0] += 100
        assert not password.guess("new")

    run(check())


def test_a_password_is_asked_for_again_after_some_days(monkeypatch):
    async def check():
        password, now = Password(PASSWORD, days=2), [1000.0]
        monkeypatch.setattr(access, "monotonic", lambda: now[0])
        assert not password.guess("a")
        token = await password.enter(PASSWORD, "a")
        now[0] += 2 * 86400 - 1
        assert password.knows(token)
        now[0] += 1
        assert not password.knows(token)

    run(check())


def test_many_guesses_at_once_are_counted_before_their_forms_come(tmp_path, short, monkeypatch):
    """One address sends the heads of many guesses, and later their bodies. It shuts out itself and nobody else."""
    monkeypatch.setattr(access, "GUESSES", (10, 1000))
    hashed = []
    monkeypatch.setattr(Password, "_digest", lambda self, password: hashed.append(password) or password.encode())
    head = POST + b"X-Forwarded-For: 10.0.0.1\r\nContent-Length: 10\r\nConnection: close\r\n"
    head += b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"

    async def check():
        async with serving(tmp_path, password=PASSWORD, proxy=True) as (_, _, _, port):
            crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(60)]
            for _, writer in crowd:
                writer.write(head % port)
            await asyncio.sleep(0.5)
            for _, writer in crowd:
                writer.write(b"password=x")
            replies = [await asyncio.wait_for(reader.read(), 60) for reader, _ in crowd]
            assert sum(reply.startswith(b"HTTP/1.1 403") for reply in replies) <= 11
            assert sum(reply.startswith(b"HTTP/1.1 429") for reply in replies) >= 49
            assert hashed.count("x") <= 11
            assert (await login(port, PASSWORD, X_Forwarded_For="10.0.0.1")).status_code == 429
            assert (await login(port, PASSWORD, X_Forwarded_For="10.0.0.2")).status_code == 303

    run(check())


def test_a_network_of_ipv6_is_one_address(tmp_path, short, monkeypatch):
    monkeypatch.setattr(access, "GUESSES", (10, 1000))
    monkeypatch.setattr(Password, "_digest", lambda self, password: password.encode())

    async def check():
        async with serving(tmp_path, password=PASSWORD, proxy=True) as (_, _, _, port):
            for number in range(12):
                await login(port, "x", X_Forwarded_For=f"2001:db8:0:1::{number:x}")
            assert (await login(port, PASSWORD, X_Forwarded_For="2001:db8:0:1:5::")).status_code == 429
            for other in ("2001:db8:0:2::1", "::ffff:10.0.0.2", "fe80::1%eth0"):
                assert (await login(port, PASSWORD, X_Forwarded_For=other)).status_code == 303

    run(check())


def test_silent_connections_of_one_address_leave_places_and_end(tmp_path, short, monkeypatch):
    monkeypatch.setattr(firewall, "MOST", 16)
    monkeypatch.setattr(server, "IDLE", 2)

    async def check():
        async with serving(tmp_path, password=PASSWORD) as (_, _, _, port):
            begun = monotonic()
            crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            for number, (_, writer) in enumerate(crowd):
                with suppress(OSError):
                    writer.write(b"GET /lo" if number % 2 else b"")
            await asyncio.sleep(0.3)
            ended = [reader.at_eof() or reader.exception() is not None for reader, _ in crowd]
            assert sum(ended) == 8  # of 16 places one address holds 12
            assert (await asked(port, "/login", at="127.0.0.2")).status_code == 200
            for reader, writer in crowd:  # slowly sent heads end as well
                with suppress(OSError):
                    writer.write(b"g")
                    await asyncio.wait_for(reader.read(), 60)
                writer.close()
            assert monotonic() - begun < 30
            assert (await asked(port, "/login")).status_code == 200

    run(check())


def test_lines_of_the_log_are_limited_and_counted(monkeypatch, caplog):
    now = [0.0]
    monkeypatch.setattr(firewall, "monotonic", lambda: now[0])
    caplog.handler.addFilter(limit := firewall.LineLimit())
    try:
        log = logging.getLogger("agon_hall")
        for number in range(500):
            log.warning("refused: %s, from here", number)
        log.warning("another line")
        assert len(caplog.records) == 101
        now[0] += 61
        log.warning("refused: %s, from here", "again")
        assert [record.getMessage() for record in caplog.records[101:]] == [
            "400 lines like those before were left out",
            "refused: again, from here",
        ]
    finally:
        caplog.handler.removeFilter(limit)


def test_links_hold_for_some_days_and_then_say_whom_to_ask(tmp_path, short, caplog, subtests):
    async def check(password):
        async with serving(tmp_path / (password or "open"), password=password) as (place, path, made, port):
            seat, watch = (path, path.replace("?", "/~events?")), f"/watch?table={place.id}"
            host = f"/host?key={made.keys.key_of('host', place.id)}"
            assert made.days == 30 and (await asked(port, path)).status_code == 200
            place.row = place.row._replace(made=place.row.made - 30 * 86400)
            for link in (*seat, *([watch] if password else [])):
                reply = await asked(port, link)
                assert (
                    reply.status_code == 410
                    and "Ask whoever gave it to you" in reply.text
                    and "Player" not in reply.text
                )
            assert (await asked(port, watch)).status_code == (
                410 if password else 200
            )  # who makes tables may always watch
            assert (await asked(port, host)).status_code == (303 if password else 200)
            made.days = 31
            assert (await asked(port, path)).status_code == 200
        log = caplog.text
        assert "a seat link that has expired, from 127.0.0.1" in log and path.rpartition(".")[2] not in log

    for password in ("", PASSWORD):
        with subtests.test(password):
            run(check(password))


def test_a_password_is_slow_to_check_and_its_cookie_is_chance(tmp_path, short, monkeypatch):
    monkeypatch.setattr(access, "GUESSES", (10, 1000))  # also where hashing takes long

    async def check():
        async with serving(tmp_path, password=PASSWORD) as (_, _, _, port):
            cookies = []
            for _ in range(2):
                reply = await login(port, PASSWORD)
                cookies.append(re.match(r"agon=([\w-]{43});", reply.headers["Set-Cookie"])[1])
                assert "Secure" not in reply.headers["Set-Cookie"]
            assert len(set(cookies)) == 2
            page = await asked(port, "/", Cookie=f"agon={cookies[0]}")
            assert page.status_code == 200 and cookies[0] not in page.text
            forged = await login(port, PASSWORD, X_Forwarded_Proto="https", X_Forwarded_For="1.2.3.4")
            assert "Secure" not in forged.headers["Set-Cookie"]
            wrong = await asyncio.gather(
                *(login(port, f"guess{number}", X_Forwarded_For=f"9.9.9.{number}") for number in range(30))
            )
            codes = [each.status_code for each in wrong]
            assert codes.count(403) <= 11 and codes.count(429) >= 19
            assert int(next(each for each in wrong if each.status_code == 429).headers["Retry-After"]) > 0
            assert (await login(port, PASSWORD)).status_code == 429
            for forged in ("", "agon", "x" * 43, cookies[0][:-1]):
                assert (await asked(port, "/", Cookie=f"agon={forged}")).status_code == 303
            assert (await asked(port, "/", Cookie=f"agon={cookies[1]}")).status_code == 200

    run(check())


def test_behind_a_proxy_it_is_the_proxy_that_is_believed(tmp_path, short):
    async def check():
        async with serving(tmp_path, password=PASSWORD, proxy=True) as (_, _, _, port):
            reply = await login(port, PASSWORD, X_Forwarded_Proto="https", X_Forwarded_For="1.2.3.4")
            assert "Secure" in reply.headers["Set-Cookie"]
            for _ in range(12):  # what is before the last address was said by whoever asks
                await login(port, "x", X_Forwarded_For=f"{_}.2.3.4, 5.6.7.8", X_Real_Ip=f"{_}.1.1.1")
            assert (await login(port, PASSWORD, X_Forwarded_For="5.6.7.8")).status_code == 429
            assert (await login(port, PASSWORD, X_Forwarded_For="6.6.7.8")).status_code == 303

    run(check())


def test_a_server_does_not_start_with_unsafe_or_wrong_settings(tmp_path, monkeypatch, subtests):
    """Without a password for others, in a folder of the project, or with an origin that is not valid."""
    monkeypatch.delenv("AGON_PASSWORD", raising=False)
    cases = [(tmp_path, origins, False, "AGON_PASSWORD") for origins in (["a.example"], ["localhost:1", "a.example"])]
    cases += [(tmp_path, [], True, "AGON_PASSWORD")]
    cases += [(folder, [], False, "folder of its own") for folder in (ROOT, ROOT.parent, ROOT / "docs" / "..")]
    cases += [(tmp_path, [origin], False, "HOST:PORT") for origin in ("a:b", "", "a:1:2", "*", "http://a")]
    for folder, origins, proxy, why in cases:
        with subtests.test(why, origins=origins), pytest.raises(AgonError, match=why):
            serve(folder, "127.0.0.1", 1, origins, proxy, None, print)


def test_a_name_goes_with_the_servers_port_and_with_none():
    assert server._hosts(["a.example", "b:443", "c:81"], 8642) == [
        "a.example",
        "a.example:8642",
        "b",
        "b:443",
        "c:81",
        "c:81",
    ]


def test_nobody_else_can_read_what_is_kept(server):
    row = server.opened("pd", ["uniform", "uniform"])
    urlopen(server.link("watch", row), timeout=LONG).read()
    for path in (server.folder, *server.folder.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_the_log_leaves_keys_out():
    record = logging.LogRecord("agon_hall", logging.WARNING, "", 1, "refused: %s", ("/seat?key=SECRET\x1b[31m",), None)
    line = server._LogFormatter().format(record)
    assert line.startswith("refused: /seat?...") and "SECRET" not in line and "\x1b" not in line


def test_a_table_is_made_once_however_often_its_form_is_sent(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (_, _, hall, port):
            host = await Visitor(f"http://localhost:{port}", "/").opens()
            form = host.form("Make the table") | {"game": "rps", "who/0": "uniform", "who/1": "uniform"}
            there = {str((await host.sends(form)).url) for _ in range(3)}
            assert len(there) == 1 and "/host?key=" in there.pop() and len(hall.store.tables()) == 2
            await host.opens()
            reply = await host.sends(host.form("Make the table") | {"seconds": "soon"})
            assert reply.status_code == 422 and "must be a number" in reply.text
            assert len(hall.store.tables()) == 2

    run(check())


def test_who_speaks_first_is_asked_where_a_setting_has_openings():
    assert [name for name in new_table.games_on_offer() if new_table.has_setting_openings(name)] == [
        "chameleon",
        "chameleon_unquoted",
        "cost_sharing",
        "undercover",
        "undercover_unquoted",
    ]


def test_a_person_speaks_first_unless_the_host_says_otherwise(tmp_path, short):
    setting = "cost_sharing/quince"

    async def check():
        async with driving.hall(tmp_path) as hall:
            for everybody in (True, False):
                table = hall.open(setting, [PERSON] * 3, everybody=everybody)
                driving.sit_all(table)
                await driving.settled(table)
                table.answer(0, 0, [(20, 30, 50)])
                await driving.settled(table)
                assert set(table.questions) == ({1} if everybody else {0, 1, 2})
                said = [" ".join(driving.seat_parts(table, seat).values()) for seat in range(3)]
                assert ["under your name were written" in each for each in said] == [
                    False,
                    not everybody,
                    not everybody,
                ]
                assert all(("written beforehand" in each) != everybody for each in said)
                watched = driving.seat_parts(table, None)["status"]
                assert (
                    "Waiting for other players" in watched
                ) != everybody  # whom the table does not speak for is told to nobody
            assert hall.store.tables()[0].everybody and not hall.store.tables()[1].everybody

    run(check())
