"""Pages show how things stand, whatever happens while they are loaded, while others are written to, and when one cannot be drawn."""

import asyncio
import logging
from time import sleep

import driving
from driving import Page, agree, serving, shown

from agon.plan import PERSON
from agon_hall import frame


def test_what_happens_while_a_page_is_loaded_is_shown(tmp_path, short):
    async def run():
        async with serving(tmp_path) as (table, path, server, port):
            page = await Page.opens(port, path)
            table.sit(0, "Ada")  # the browser has the page, and has not shown it yet
            await asyncio.sleep(0.2)
            await page.tells("document_ready")
            assert await agree(server, page)
            texts = " ".join(str(text) for text, *_ in shown(page.document).values())
            assert "Your turn, round 1" in texts and "A name for you" not in texts

    asyncio.run(run())


def test_what_changes_on_a_busy_server_while_something_else_is_sent_is_shown(tmp_path, short):
    async def busy():
        while True:
            sleep(0.012)
            await asyncio.sleep(0)

    async def run():
        async with serving(tmp_path) as (table, path, server, port):
            table.sit(0, "Ada")
            page = await Page.opens(port, path)
            await page.tells("document_ready")
            assert await agree(server, page)
            for later in range(16):
                working = asyncio.create_task(busy())
                away = table.store.people(table.id)[0].away
                pressing = asyncio.create_task(page.presses("Leave for now", "I am back"))
                while table.store.people(table.id)[0].away == away:
                    await asyncio.sleep(0)
                for _ in range(later):
                    await asyncio.sleep(0)
                table.leave(1, not later % 2)
                await pressing
                await asyncio.sleep(0.1)
                working.cancel()
                assert await agree(server, page), later

    asyncio.run(run())


def test_a_page_that_cannot_be_drawn_is_drawn_again_and_keeps_no_other_from_being_told(tmp_path, short, caplog):
    async def run():
        async with driving.hall(tmp_path) as hall:
            table, drawn, fails = hall.open("pd", [PERSON] * 2), [], [True, True, False]

            def draw():
                if fails.pop(0):
                    raise RuntimeError("of this test")
                drawn.append(table.status)

            def gone():
                raise RuntimeError("closed")

            table.watching.add(gone)
            frame.LiveView(draw, table.watching)
            with caplog.at_level(logging.ERROR, "agon_hall"):
                table.changed()
                assert drawn == []
                async with asyncio.timeout(10):
                    while not drawn:
                        await asyncio.sleep(0.05)
            assert drawn == ["waiting"]

    asyncio.run(run())
    assert caplog.text.count("a page could not be drawn") == 2
    assert "a page could not be told" in caplog.text
