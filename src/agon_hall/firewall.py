"""Before any page: by which names the server is reached, how many connections may be open and idle, what every reply says."""

import asyncio
import logging
import resource
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from http import HTTPStatus
from time import monotonic
from typing import Any, ClassVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger("agon_hall")

MOST = 1000
"""Connections; one address may have half of them. Less where few files may be open."""
FILES = 4096
"""Files that the process may have open, unless the system allows fewer."""
HEADER, BODY = 16_384, 262_144
"""Bytes of a request."""
IDLE = 20
"""Seconds for the head of a request, and between two."""
SLOW = 10
"""Seconds for a body."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors {frames}"
)
"""What browsers may do with a page. Pictures of games have styles in them."""
EVENTS = "/~events"
"""What the address of what keeps a page up to date ends with; no study, table or file is called so."""
STREAMS = 600
"""Pages that are kept up to date at once, for one address; of public ones half as many."""
Peer = tuple[Any, ...]
"""Address and port of a connection."""


def files() -> int:
    """How many files this process may have open, as many as it needs where the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        soft = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


class Firewall:
    """Lets in what is asked under one of the names of `hosts`, HOST:PORT ("*": any), and what no other site has sent.

    `proxy`: everybody comes by a proxy, which says from where and by which protocol. `framed`: pages may be shown in others.
    """

    def __init__(
        self, app: ASGIApp, hosts: Collection[str], connections: "Connections", proxy: bool, framed: bool
    ) -> None:
        self._app, self._hosts, self._proxy, self._framed = app, {each.lower() for each in hosts}, proxy, framed
        self._connections, self._streams = connections, Counter[str]()
        self._policy = POLICY.format(frames="*" if framed else "'none'")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        peer = tuple(scope.get("client") or ())
        self._connections.busy(peer)
        try:
            await self._let_in(scope, Headers(scope=scope), receive, send)
        finally:
            self._connections.idle(peer)

    async def _let_in(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        if self._proxy:  # what is before the last comma was said by whoever asks
            place, protocol = (
                headers.get(f"x-forwarded-{what}", "").rpartition(",")[2].strip() for what in ("for", "proto")
            )
            scope["client"] = (place, 0) if place else scope["client"]
            scope["scheme"] = "https" if protocol == "https" else "http"
        told = self._told(send)
        if refused := self._refused(scope, headers):
            status, why = refused
            log.warning("refused: %s, from %s", why, address(scope))
            await PlainTextResponse(f"{why[:1].upper()}{why[1:]}.", status)(scope, receive, told)
            return
        streams, who = scope["path"].endswith(EVENTS), address(scope)
        self._streams[who] += streams
        try:
            with suppress(TimeoutError):
                await self._app(scope, _bounded(receive), told)
        finally:
            self._streams[who] -= streams
            if not self._streams[who]:
                del self._streams[who]

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Why a request is not let in."""
        host = headers.get("host", "").lower()
        if "*" not in self._hosts and host not in self._hosts:
            return (
                HTTPStatus.MISDIRECTED_REQUEST,
                "nothing is served under this name: `agon serve --origin` names those that are",
            )
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return HTTPStatus.METHOD_NOT_ALLOWED, "pages are read and forms are sent, and nothing else"
        most = STREAMS // 2 if scope["path"].startswith("/watch") else STREAMS
        if scope["path"].endswith(EVENTS) and self._streams[address(scope)] >= most:
            return HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open: try again in a minute"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:12]) > BODY:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "this is more than a form may send"
        if scope["method"] == "POST":
            origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
            if (origin is not None and origin.partition("://")[2].lower() != host) or site != "same-origin":
                return HTTPStatus.FORBIDDEN, "a form of another site was sent"
            if headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
                return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "this is no form"
        return None

    def _told(self, send: Send) -> Send:
        """What every reply says."""

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = self._policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
                headers.setdefault("Cache-Control", "no-store")
                if not self._framed:
                    headers["X-Frame-Options"] = "DENY"
            await send(message)

        return told


def address(scope: Scope) -> str:
    """From where a request comes."""
    return str((scope.get("client") or ("",))[0])


def _bounded(receive: Receive) -> Receive:
    """A body that comes too slowly, or is too long, is the end of a connection."""
    until, size = monotonic() + SLOW, 0

    async def bounded() -> Message:
        nonlocal size
        if size < 0:  # the body is there: what comes is that the browser is gone
            return await receive()
        async with asyncio.timeout(max(0.0, until - monotonic())):
            message = await receive()
        size += len(message.get("body", b""))
        if size > BODY:
            return {"type": "http.disconnect"}
        if not message.get("more_body", False):
            size = -1
        return message

    return bounded


class Connections:
    """Connections. Where there are too many the one that is idle for longest gives way, of the same address first."""

    def __init__(self, proxy: bool) -> None:
        self._most = min(MOST, files() // 2)
        self._share = self._most if proxy else self._most // 2
        self._open: dict[Peer, asyncio.Transport] = {}
        self._idle: dict[Peer, float] = {}
        """Those without a request under way, oldest first, and since when."""

    def opened(self, peer: Peer, transport: asyncio.Transport) -> None:
        """A connection."""
        own = [each for each in self._idle if each[0] == peer[0]]
        full = own if len(own) >= self._share else list(self._idle) if len(self._open) >= self._most else []
        for oldest in full[:1]:
            log.warning("closed, as there are too many: a connection from %s", oldest[0])
            self._open[oldest].close()
            self.closed(oldest)
        self._open[peer] = transport
        self.idle(peer)

    def busy(self, peer: Peer) -> None:
        """A request is under way."""
        self._idle.pop(peer, None)

    def idle(self, peer: Peer) -> None:
        """A request is answered, or none has come yet: the next is waited for, but not for long."""
        if peer in self._open:
            since = self._idle[peer] = monotonic()
            asyncio.get_running_loop().call_later(IDLE, self._late, peer, since)

    def _late(self, peer: Peer, since: float) -> None:
        if self._idle.get(peer) == since:
            self._open[peer].close()

    def closed(self, peer: Peer) -> None:
        """A connection has ended."""
        self._open.pop(peer, None)
        self._idle.pop(peer, None)


class CountedProtocol(H11Protocol):
    """A connection that is counted."""

    counted: ClassVar[Connections]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """As asyncio tells it."""
        super().connection_made(transport)
        self._peer: Peer = tuple((transport.get_extra_info("peername") or ("", 0))[:2])
        self.counted.opened(self._peer, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """As asyncio tells it."""
        self.counted.closed(self._peer)
        super().connection_lost(exc)


def counted_by(connections: Connections) -> type[CountedProtocol]:
    """What uvicorn makes of every connection."""
    return type("Counted", (CountedProtocol,), {"counted": connections})
