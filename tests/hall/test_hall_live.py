"""Pages show how things stand, whatever happens while they are loaded, and when one cannot be drawn; and they are light."""

import asyncio
import logging
from contextlib import aclosing

import httpx
from driving import Visitor, events, serving
from patience import LONG, comes

from agon_hall import seat as seat_module
from agon_hall import web

LIGHT = 30_000
"""Bytes, compressed, of a page with its style and its script."""


def run(coroutine):
    asyncio.run(asyncio.wait_for(coroutine, LONG))


async def soon(told, *wanted):
    """The next parts in which these words are."""
    async with asyncio.timeout(LONG):
        async for parts in told:
            if all(words in "".join(parts.values()) for words in wanted):
                return parts
    raise AssertionError("no more is told")


def test_what_happens_while_a_page_is_loaded_is_shown(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (table, path, _, port):
            ada = await Visitor(f"http://localhost:{port}", path).opens()
            seen = ada.page.find("main")["data-seen"]
            table.sit(0, "Ada")  # the browser has the page, and has not asked for news yet
            async with aclosing(events(port, path, seen)) as told:
                parts = await soon(told, "Your turn, round 1")
                assert "A name for you" not in "".join(parts.values())
                table.answer(1, 0, ["cooperation"])
                table.answer(0, 0, ["cooperation"])
                parts = await soon(told, "Your turn, round 2")
                assert "need" not in parts or "Points for a round" in parts["need"]
            again = await ada.opens()
            async with aclosing(events(port, path, again.page.find("main")["data-seen"])) as told:
                waiting = asyncio.create_task(soon(told, "Not at the table just now: Player 2"))
                await asyncio.sleep(0.3)
                table.leave(1)
                assert set(await waiting) == {"status"}  # and nothing else is sent

    run(check())


def test_a_page_that_connects_again_is_sent_everything(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (table, path, _, port):
            table.sit(0, "Ada")
            ada = await Visitor(f"http://localhost:{port}", path).opens()
            seen = ada.page.find("main")["data-seen"]  # a browser says this again, whatever a form has brought since
            async with aclosing(events(port, path, seen, **{"Last-Event-ID": "here"})) as told:
                assert {"status", "ask", "more"} <= set(await soon(told, "Your turn, round 1"))

    run(check())


def test_a_page_that_fails_is_drawn_again_and_delays_no_other(tmp_path, short, caplog, monkeypatch):
    monkeypatch.setattr(web, "AGAIN", 0.05)
    drawn, fails = seat_module.seat_context, [True, True]

    def draw(table, seat):
        if seat == 0 and fails:
            fails.pop()
            raise RuntimeError("of this test")
        return drawn(table, seat)

    async def check():
        async with serving(tmp_path) as (table, path, hall, port):
            monkeypatch.setattr(seat_module, "seat_context", draw)
            table.watchers.add(lambda: 1 / 0)
            other = f"/seat?key={hall.keys.key_of('seat', table.id, 1)}"
            async with aclosing(events(port, other)) as told, aclosing(events(port, path)) as failing:
                await asyncio.gather(soon(told, "has not begun"), soon(failing, "A name for you"))
                table.sit(0, "Ada")
                await asyncio.gather(soon(told, "Your turn"), soon(failing, "Your turn"))
        assert not table.pages[0] and not table.pages[1]

    with caplog.at_level(logging.ERROR, "agon_hall"):
        run(check())
    assert caplog.text.count("a page could not be drawn") == 2
    assert "a page could not be told" in caplog.text


def test_the_host_sees_who_is_there(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (table, path, hall, port):
            host = Visitor(f"http://localhost:{port}", f"/host?key={hall.keys.key_of('host', table.id)}")
            assert "not here yet" in (await host.opens()).text()
            async with aclosing(events(port, path)) as told:
                await soon(told, "A name for you")
                assert "reading the consent" in (await host.opens()).text()
                table.sit(0, "Ada")
                await soon(told, "Your turn")
                assert "Ada here" in (await host.opens()).text()
                table.leave(0)
                assert "Ada away" in (await host.opens()).text()
            await comes(lambda: not table.pages[0], "a page that is closed")
            assert "Ada page closed since" in (await host.opens()).text()

    run(check())


def test_a_page_is_light(tmp_path, short, subtests):
    async def check():
        async with serving(tmp_path) as (table, seat, hall, port):
            table.sit(0, "Ada")
            host = f"/host?key={hall.keys.key_of('host', table.id)}"
            async with httpx.AsyncClient(base_url=f"http://localhost:{port}") as client:
                for path in ("/", "/login", seat, host):
                    with subtests.test(path.partition("?")[0]):
                        replies = [await client.get(at) for at in (path, *map(web.static, ("hall.css", "hall.js")))]
                        assert sum(int(reply.headers["content-length"]) for reply in replies) < LIGHT
                        for reply in replies:
                            assert reply.headers.get("content-encoding") == "gzip" or len(reply.content) < 500

    run(check())
    assert len((web.HERE / "static/hall.js").read_bytes()) < 17_000


def test_a_whole_match_is_played_without_scripts(tmp_path, short):
    """Every form is one of the page, and works by itself."""

    async def check():
        async with serving(tmp_path) as (table, path, hall, port):
            url = f"http://localhost:{port}"
            ada, bo = Visitor(url, path), Visitor(url, f"/seat?key={hall.keys.key_of('seat', table.id, 1)}")
            await ada.opens()
            assert "A name for you" in ada.text() and "Before you play" in ada.text()
            await ada.presses("I agree, and sit down", name=" ")
            assert "Choose a name" in ada.text() and not table.questions
            await ada.presses("I agree, and sit down", name="Ada")
            assert ada.reply.history and ada.reply.status_code == 200  # sent on: reloading sends nothing again
            assert "The rules" in ada.text("first")
            await ada.presses("I have read the rules")
            assert ada.text("first") == "" and "Rules" in ada.text("rules")
            for round_ in range(1, 4):
                await ada.opens()
                stale = ada.form("cooperation")
                await ada.presses("cooperation")
                assert "Waiting for Player 2" in ada.text("status")
                await (await bo.opens()).presses("defection")
                await ada.sends(stale)  # as who goes back, and presses again
                assert table.steps == round_
            await ada.opens()
            assert "The match is over" in ada.text("status") and "3 points" in ada.text("ask")
            await ada.sends({"form": "nothing"})
            assert "Player 1 (you)" in (await ada.opens()).text("ask")

    run(check())


def test_a_form_that_depends_on_itself_is_filled_in_without_scripts(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (_, _, hall, port):
            host = await Visitor(f"http://localhost:{port}", "/").opens()
            assert "Player 3" in host.text("new") and "First words" in host.text("new")
            await host.presses("Show what this changes", game="rps")
            assert "Player 3" not in host.text("new") and "First words" not in host.text("new")
            await host.presses("Make the table", **{"who/1": "uniform"}, seconds="30")
            assert "Your table: rps" in host.text()
            assert (row := hall.store.tables()[-1]).entrants == ("human", "uniform") and row.seconds == 30

    run(check())


def test_what_was_filled_in_is_there_after_a_reload(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (_, _, hall, port):
            table = hall.open("public_goods/quince", ["human", "anything", "anything"], 60)
            table.sit(0, "Ada")
            ada = Visitor(f"http://localhost:{port}", f"/seat?key={hall.keys.key_of('seat', table.id, 0)}")
            await comes(lambda: table.questions, "a question")
            await ada.opens()
            assert "Your time begins when" in ada.text("clock")
            await ada.presses("Send", answer="a hundred")
            assert "is not a whole number" in ada.text("ask") and table.questions[0].refusals == 1
            await ada.opens()
            assert ada.form("Send")["answer"] == "a hundred"
            noted = []
            table.terms.note = lambda *what: noted.append(what)
            await ada.presses("Send", answer="1000")
            await ada.presses("Send", answer="7")
            assert table.store.answer(table.id, 0, 0).attempts == 3
            assert [(kind, detail["why"][:7]) for _, kind, detail in noted if kind == "refused"] == [
                ("refused", "“1000” ")
            ]

    run(check())


def test_without_scripts_waiting_pages_reload_and_forms_do_not(tmp_path, short):
    async def check():
        async with serving(tmp_path) as (table, path, _, port):
            ada = await Visitor(f"http://localhost:{port}", path).opens()
            assert "refresh" not in ada.reply.text  # a name is typed there
            table.sit(0, "Ada")
            await comes(lambda: 0 in table.questions, "a question")
            assert "refresh" not in (await ada.opens()).reply.text
            await ada.presses("cooperation")
            assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in ada.reply.text

    run(check())
