"""Closed pages give their memory back by themselves; whoever stays is left alone."""

import asyncio
import gc
import json
import logging
import os
import re
import subprocess
import sys
from weakref import ref

import driving
from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import websocket_connect

from agon.plan import PERSON
from agon_hall import server as server_module
from agon_hall.families import known_pages
from agon_hall.server import served

NAME = "test_a_closed_page_leaves_little_behind_and_another_one_goes_on"


class Browser:
    """A page that is open in a browser, as far as the server can tell."""

    def __init__(self, socket):
        self.socket = socket

    @classmethod
    async def opens(cls, port, path):
        page = await AsyncHTTPClient().fetch(f"http://localhost:{port}{path}")
        token = re.search(r'"token":"([^"]+)"', page.body.decode())[1]
        where = f"ws://localhost:{port}{path.partition('?')[0]}/ws"
        made = cls(await websocket_connect(where, subprotocols=["bokeh", token]))
        await made.asks("PULL-DOC-REQ", {}, "PULL-DOC-REPLY")
        ready = {"type": "event", "name": "document_ready", "values": {"type": "map"}}
        event = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": ready}
        await made.asks("PATCH-DOC", {"events": [event]}, "OK")
        return made

    async def asks(self, kind, content, answer):
        for part in ({"msgid": kind, "msgtype": kind}, {}, content):
            await self.socket.write_message(json.dumps(part))
        async with asyncio.timeout(10):
            while f'"{answer}"' not in await self.socket.read_message():
                pass


def test_a_closed_page_leaves_little_behind_and_another_one_goes_on(tmp_path, monkeypatch):
    if "AGON_ALONE" not in os.environ:  # other tests of a process leave pages behind, and objects are counted here
        alone = {name: value for name, value in os.environ.items() if "PYTEST" not in name} | {"AGON_ALONE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:nbval", f"{__file__}::{NAME}"]
        run = subprocess.run(command, env=alone, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout[-2000:]
        return
    monkeypatch.setattr(server_module, "UNUSED", 3000)

    async def run():
        async with driving.hall(tmp_path) as hall:
            table, port = hall.open("pd", [PERSON] * 2), driving.free_port()
            path = f"/seat?key={hall.key('seat', table.id, 0)}"
            server = served(hall, tmp_path, port=port)
            server.start()
            try:
                await left_by(server, port, path, 1)  # what the first page ever needs stays
                stays = await Browser.opens(port, path)
                opened, left = await left_by(server, port, path, 5)
                await stays.asks("PULL-DOC-REQ", {}, "PULL-DOC-REPLY")
            finally:
                server.stop()
            return opened, left

    # captured lines would hold what they tell of
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    known_pages()  # conf/ is read once, before anybody comes
    gc.collect()
    gc.disable()
    try:
        opened, left = asyncio.run(run())
    finally:
        gc.enable()
    assert opened > 5 * 1000 and left < opened / 5


async def left_by(server, port, path, number):
    """Objects of so many pages, while they are open, and when they are gone after they were closed.

    Nothing but Panel looks for what can go, some seconds after a page was closed: the test switches Python's own search off.
    """
    before = len(gc.get_objects())
    known = {each.id for each in server.get_sessions()}
    browsers = [await Browser.opens(port, path) for _ in range(number)]
    opened = len(gc.get_objects()) - before
    pages = [ref(each.document) for each in server.get_sessions() if each.id not in known]
    assert len(pages) == number
    for each in browsers:
        each.socket.close()
    async with asyncio.timeout(60):
        while any(page() is not None for page in pages):
            await asyncio.sleep(0.1)
    return opened, len(gc.get_objects()) - before
