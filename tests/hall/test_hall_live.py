"""Pages show how things stand, whatever happens while they are loaded, while others are written to, and when one cannot be drawn."""

import asyncio
import json
import logging
import re
from contextlib import asynccontextmanager
from time import sleep

import driving
from bokeh.document import Document
from panel.io.server import get_server
from tornado.httpclient import AsyncHTTPClient
from tornado.ioloop import IOLoop
from tornado.websocket import websocket_connect

from agon.plan import PERSON
from agon_hall import frame
from agon_hall.server import Pages


class Page:
    """A page in a browser without the browser: its document is what the server has sent."""

    def __init__(self, socket):
        self.socket, self.document, self.number, self.answers = socket, None, 0, {}
        self.reading = asyncio.create_task(self.read())

    @classmethod
    async def opens(cls, port, path):
        """The page, of which nothing has been shown yet."""
        page = await AsyncHTTPClient().fetch(f"http://localhost:{port}{path}")
        token = re.search(r'"token":"([^"]+)"', page.body.decode())[1]
        where = f"ws://localhost:{port}{path.partition('?')[0]}/ws"
        made = cls(await websocket_connect(where, subprotocols=["bokeh", token]))
        made.document = Document.from_json((await made.asks("PULL-DOC-REQ", {}))["doc"])
        return made

    async def read(self):
        while None not in (parts := [await self.socket.read_message() for _ in range(3)]):
            header, _, content = map(json.loads, parts)
            if header["msgtype"] == "PATCH-DOC" and self.document is not None:
                self.document.apply_json_patch(content)
            elif header.get("reqid") in self.answers:
                self.answers.pop(header["reqid"]).set_result(content)

    async def asks(self, kind, content):
        self.number += 1
        answer = self.answers[str(self.number)] = asyncio.get_running_loop().create_future()
        for part in ({"msgid": str(self.number), "msgtype": kind}, {}, content):
            self.socket.write_message(json.dumps(part))
        return await asyncio.wait_for(answer, 10)

    async def tells(self, name, *entries):
        """Sends an event, as a browser does."""
        event = {"type": "event", "name": name, "values": {"type": "map", "entries": list(entries)}}
        await self.asks(
            "PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}]}
        )

    async def presses(self, *labels):
        """Presses the button that has one of these labels."""
        (found,) = (each for each in self.document.models if getattr(each, "label", None) in labels)
        await self.tells("button_click", ["model", {"id": found.id}])


@asynccontextmanager
async def served(tmp_path):
    """A table with one person at it, the path of the other's seat, and the server."""
    async with driving.hall(tmp_path) as hall:
        table, port = hall.open("pd", [PERSON] * 2), driving.free_port()
        table.sit(1, "Bo")
        pages = Pages(hall, tmp_path).made()
        server = get_server(pages, port=port, address="localhost", loop=IOLoop.current())
        server.start()
        try:
            yield table, f"/seat?key={hall.key('seat', table.id, 0)}", server
        finally:
            server.stop()


def shown(document):
    """What can be seen of a page: its models, and what is in them."""
    names = ("text", "visible", "disabled", "label")
    return {
        each.id: (*(getattr(each, name, None) for name in names), [part.id for part in getattr(each, "children", ())])
        for each in document.models
        if hasattr(each, "visible")
    }


async def agree(server, page):
    """The page in the browser is soon what the server takes it to be."""
    (session,) = server.get_sessions("/seat")
    for _ in range(20):
        await asyncio.sleep(0.05)
        if shown(session.document) == shown(page.document):
            return True
    return False


def test_what_happens_while_a_page_is_loaded_is_shown(tmp_path, short):
    async def run():
        async with served(tmp_path) as (table, path, server):
            page = await Page.opens(server.port, path)
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
        async with served(tmp_path) as (table, path, server):
            table.sit(0, "Ada")
            page = await Page.opens(server.port, path)
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
