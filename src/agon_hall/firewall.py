"""Checks before any page: names of the server, limits of one address, headers of every reply, and lines of the log."""

import asyncio
import logging
import resource
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv6Address
from time import monotonic
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger("agon_hall")

MOST = 1000
"""The most connections at once, if the system allows twice as many open files.

Further ones are refused for the moment.
"""
HEADER, BODY = 16_384, 262_144
"""The most bytes of a request's header and body."""
IDLE = 20
"""The most seconds between two requests of one connection, and for the head of a request."""
SLOW = 10
"""The most seconds for a body."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors {frames}"
)
"""The content policy of a page. Pictures of games contain styles."""
EVENTS = "/~events"
"""The end of the address that streams a page's changes. No study, table or file has this name."""
LINES = 100, 60
"""The most lines of one kind in the log, and within how many seconds."""


def places() -> int:
    """The most connections at once.

    One address may open three in four of them. It may use half of them for requests, and two in five for the streams of
    open pages.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else min(MOST, files // 2)


class Firewall:
    """Middleware that refuses requests to other names than `hosts` (HOST:PORT; "*" for any) and forms of other sites.

    One address cannot take all `places`. If `frameable`, other pages may show the hall's pages in frames.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], frameable: bool) -> None:
        self._app, self._hosts, self._frameable = app, {host.lower() for host in hosts}, frameable
        self._open_requests, self._places = Counter[str](), places()
        """Address -> its open requests, streams included."""
        self._policy = POLICY.format(frames="*" if frameable else "'none'")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client, answer = address(scope), self._with_headers(send)
        if refusal := self._refusal(scope, Headers(scope=scope)):
            status, why = refusal
            log.warning("refused: %s, from %s", why, client)
            await PlainTextResponse(f"{why[:1].upper()}{why[1:]}.", status)(scope, receive, answer)
            return
        self._open_requests[client] += 1
        try:
            with suppress(TimeoutError):
                await self._app(scope, _limit_body(receive), answer)
        finally:
            self._open_requests[client] -= 1
            if not self._open_requests[client]:
                del self._open_requests[client]

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """The status and reason of a refusal; None if the request may go on."""
        host = headers.get("host", "").lower()
        if "*" not in self._hosts and host not in self._hosts:
            return (
                HTTPStatus.MISDIRECTED_REQUEST,
                "nothing is served under this name: `agon serve --origin` names those that are",
            )
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return HTTPStatus.METHOD_NOT_ALLOWED, "pages are read and forms are sent, and nothing else"
        share = 0.4 if scope["path"].endswith(EVENTS) else 0.5
        if self._open_requests[address(scope)] >= share * self._places:
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

    def _with_headers(self, send: Send) -> Send:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = self._policy
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "same-origin"
                headers["Cross-Origin-Opener-Policy"] = "same-origin"
                headers["Cross-Origin-Resource-Policy"] = "same-origin"
                headers.setdefault("Cache-Control", "no-store")
                if not self._frameable:
                    headers["X-Frame-Options"] = "DENY"
            await send(message)

        return answer


def address(scope: Scope) -> str:
    """The network address that a request comes from. Of IPv6 it is the network (/64), as one user has all of that."""
    return _network(str((scope.get("client") or ("",))[0]))


@lru_cache(maxsize=4 * MOST)  # a new connection is compared with all others
def _network(host: str) -> str:
    try:
        number = IPv6Address(host)
    except ValueError:
        return host
    return str(number.ipv4_mapped or f"{IPv6Address(int(number) >> 64 << 64)}/64")


class Connection(H11Protocol):
    """A connection that must send each head within IDLE seconds. One address cannot open all `places`.

    Behind a proxy all connections come from one address, so the proxy must limit them.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins a connection, or ends it at once."""
        super().connection_made(transport)
        own = _host(self)
        same = sum(_host(other) == own for other in self.connections)
        if not self.config.proxy_headers and same > 0.75 * (self.limit_concurrency or MOST):
            log.warning("refused: too many connections, from %s", own)
            transport.abort()
            return
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Reads a part of a request."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._expect_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _host(connection: Any) -> str:
    return _network(connection.client[0] if connection.client else "")


class LineLimit(logging.Filter):
    """Leaves out lines of the log where many of one kind come, so that requests cannot fill a disk. It says how many."""

    def __init__(self) -> None:
        super().__init__()
        self._counts, self._since = Counter[str](), monotonic()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        most, seconds = LINES
        if monotonic() - self._since > seconds:
            left_out = sum(count - most for count in self._counts.values() if count > most)
            self._counts.clear()
            self._since = monotonic()
            if left_out:
                log.warning("%d lines like those before were left out", left_out)
        self._counts[record.msg] += 1
        return self._counts[record.msg] <= most


def _limit_body(receive: Receive) -> Receive:
    """Ends the connection if a body comes too slowly or is too long."""
    until, size = monotonic() + SLOW, 0

    async def receive_limited() -> Message:
        nonlocal size
        if size < 0:  # the body is complete: the next message says that the browser is gone
            return await receive()
        async with asyncio.timeout(max(0.0, until - monotonic())):
            message = await receive()
        size += len(message.get("body", b""))
        if size > BODY:
            return {"type": "http.disconnect"}
        if not message.get("more_body", False):
            size = -1
        return message

    return receive_limited
