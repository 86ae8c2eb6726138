"""What goes between a page and its browser: only what a person can do on it comes in, and no fault of the server goes out."""

import asyncio
import json
import logging
import secrets
from collections import Counter
from contextlib import suppress
from functools import cached_property
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

from bokeh.document import Document
from bokeh.models.widgets.groups import ToggleInputGroup
from bokeh.models.widgets.inputs import InputWidget
from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.message import Message
from bokeh.server.session import ServerSession
from bokeh.util.token import get_session_id
from panel.io.server import DocHandler, WSHandler
from tornado.web import HTTPError

from agon_hall.door import Reply, files

log = logging.getLogger("agon_hall")

POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self' ws://{host} wss://{host}; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""Scripts are those that the page names. Bokeh writes styles into a page."""
ENTERED = {InputWidget: ("value", "value_input"), ToggleInputGroup: ("active",)}
"""What a browser may change: what is entered."""
EVENTS = ("document_ready", "button_click", "enter-pressed")
"""What a browser may tell."""
AHEAD = 20
"""Messages that a page may send before it is ready."""
FAST, BURST = 50, 200
"""Messages a second that are taken from a page, and how many more of them at once."""
MOST = 600
"""Pages that may be open, less where few files may be; one address may have a quarter, and half as many of public ones."""
HEAD = 1000
"""Letters of the first parts of a message."""
STUCK = 30
"""Seconds in which a browser has to take what it is sent."""


class Rooms:
    """How many pages are open, by address, and the connection that each of them has."""

    def __init__(self) -> None:
        self._most = min(MOST, files() // 4)
        self._of: WeakKeyDictionary[ServerSession, str] = WeakKeyDictionary()
        self._by: WeakKeyDictionary[ServerSession, Socket] = WeakKeyDictionary()

    def full(self, address: str, public: bool) -> bool:
        """Whether that address may open no further page."""
        there = Counter(each for session, each in self._of.items() if not session.destroyed)
        most = self._most // 2 if public else self._most
        return there.total() >= most or there[address] >= most // 4

    def add(self, address: str, session: ServerSession) -> None:
        """A page has been opened."""
        self._of[session] = address

    def connect(self, session: ServerSession, socket: "Socket") -> None:
        """A page has a connection, and no other any more."""
        before, self._by[session] = self._by.get(session), socket
        if before is not None:
            before.close()


class Page(Reply, DocHandler):
    """Serves a page, unless too many are open."""

    async def get_session(self) -> Any:
        """A page of its own for everybody who asks."""
        rooms: Rooms = self.settings["rooms"]
        address, asked = self.request.remote_ip or "", self.request
        if {"bokeh-token", "bokeh-session-id"} & asked.arguments.keys() or "Bokeh-Session-Id" in asked.headers:
            raise HTTPError(403, reason="A page is opened by its link alone")
        if rooms.full(address, asked.path.startswith("/watch")):
            log.warning("refused: too many pages are open, from %s", address)
            raise HTTPError(503, reason="Too many pages are open: try again in a minute")
        session = await super().get_session()  # type: ignore[misc]
        rooms.add(address, session)
        return session

    def write(self, chunk: Any) -> None:
        """Names the page's own scripts, so that a browser runs no others."""
        if isinstance(chunk, str):
            self.set_header("Content-Security-Policy", POLICY.format(nonce=self._nonce, host=self.request.host))
            chunk = chunk.replace("<script", f'<script nonce="{self._nonce}"')
        super().write(chunk)

    @cached_property
    def _nonce(self) -> str:
        return secrets.token_urlsafe(16)


class Socket(Reply, WSHandler):
    """Hears what a person does on a page. All else a browser might send is passed over."""

    def initialize(self, *given: Any, **more: Any) -> None:
        """As Bokeh makes its handlers."""
        super().initialize(*given, **more)  # type: ignore[no-untyped-call]
        self._parts: list[str] = []
        self._until = monotonic()
        self._ahead: int | None = 0
        """Messages before the page was ready; None once it is."""

    async def prepare(self) -> None:
        """Only a page that is there has a connection: else old tokens could be used to make pages without end."""
        await super().prepare()  # type: ignore[no-untyped-call]
        token = self.request.headers.get("Sec-WebSocket-Protocol", "").rpartition(",")[2].strip()
        with suppress(ValueError, KeyError, TypeError, ProtocolError):
            self._session = self.application_context.get_session(get_session_id(token))
            return
        raise HTTPError(410, reason="This page is gone: reload it")

    def open(self, *given: Any, **more: Any) -> None:
        """A page is connected."""
        super().open(*given, **more)  # type: ignore[no-untyped-call]
        self.settings["rooms"].connect(self._session, self)

    async def write_message(self, *given: Any, **more: Any) -> None:  # type: ignore[override]
        """Sends something; a browser that does not take it is given up, so that it is not kept in memory."""
        try:
            async with asyncio.timeout(STUCK):
                await super().write_message(*given, **more)
        except TimeoutError:
            log.warning("closed: a page that takes nothing, from %s", self.request.remote_ip)
            self.close()

    async def on_message(self, fragment: str | bytes) -> None:
        """A third of a message: its head, notes that nobody needs, and what it says."""
        if isinstance(fragment, bytes):
            self.close(1003, "parts in bytes are not taken")
            return
        if len(self._parts) < 2 and len(fragment) > HEAD:
            self.close(1009, "the head of a message is short")
            return
        self._parts.append(fragment)
        if len(self._parts) < 3:
            return
        (head, _, said), self._parts = self._parts, []
        self._until = max(self._until, monotonic()) + 1 / FAST
        if (wait := self._until - monotonic() - BURST / FAST) > 0:
            await asyncio.sleep(wait)
        if self.connection is None or self.connection.session.destroyed:
            self.close(1001, "this page is gone")
            return
        try:
            kind, told = _read(head)["msgtype"], _read(said)
            if kind == "PATCH-DOC":
                events = [each for each in told["events"] if self._taken(each)]
                told = {"events": events}
            elif kind != "PULL-DOC-REQ":
                raise ValueError(kind)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            log.warning("refused: a message that no page sends, from %s", self.request.remote_ip)
            self.close(1002, "this is no message of a page")
            return
        for part in (head, "{}", json.dumps(told)):
            await super().on_message(part)

    def _taken(self, event: Any) -> bool:
        assert self.connection is not None
        taken = _allowed(event, self.connection.session.document)
        if taken and event.get("msg_data", {}).get("name") == "document_ready":
            self._ahead = None
        elif taken and self._ahead is not None:
            self._ahead += 1
            taken = self._ahead <= AHEAD
        if not taken:
            log.warning("passed over: what no page of ours sends, from %s", self.request.remote_ip)
        return taken

    async def send_message(self, message: Message[Any]) -> None:
        """A message to the browser; of an error, that there was one."""
        if message.msgtype == "ERROR":
            message.content.update(text="This could not be done.", traceback=None)
        await super().send_message(message)


def _read(text: str) -> Any:
    return json.loads(text, parse_constant=_no_number)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _allowed(event: Any, document: Document) -> bool:
    if event["kind"] == "ModelChanged":
        model = document.get_model_by_id(event["model"]["id"])
        names = next((names for kind, names in ENTERED.items() if isinstance(model, kind)), ())
        return event["attr"] in names and _plain(event["new"])
    told = event.get("msg_data")
    if event["kind"] != "MessageSent" or event["msg_type"] != "bokeh_event" or told["name"] not in EVENTS:
        return False
    values = dict(told["values"].get("entries", []))
    model = values.pop("model", None)
    return (model is None or document.get_model_by_id(model["id"]) is not None) and all(map(_plain, values.values()))


def _plain(value: Any) -> bool:
    return all(map(_plain, value)) if isinstance(value, list) else value is None or isinstance(value, str | int | float)
