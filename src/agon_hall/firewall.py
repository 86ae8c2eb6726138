"""Before any page: by which names the server is reached, how much one address may ask at once, what every reply says."""

import asyncio
import logging
import resource
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from http import HTTPStatus
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("agon_hall")

MOST = 1000
"""Connections at once, where the system allows twice as many open files. More are told to come again."""
HEADER, BODY = 16_384, 262_144
"""Bytes of a request."""
IDLE = 20
"""Seconds between two requests of one connection."""
SLOW = 10
"""Seconds for a body."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors {frames}"
)
"""What browsers may do with a page. Pictures of games have styles in them."""
EVENTS = "/~events"
"""What the address of what keeps a page up to date ends with; no study, table or file is called so."""


def places() -> int:
    """How many connections may be open at once. One address may have half of them, and keep two in five for open pages."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else min(MOST, files // 2)


class Firewall:
    """Lets in what is asked under one of the names of `hosts`, HOST:PORT ("*": any), and what no other site has sent.

    One address cannot take all `places`. `framed`: pages may be shown in others.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], framed: bool) -> None:
        self._app, self._hosts, self._framed = app, {host.lower() for host in hosts}, framed
        self._asking, self._places = Counter[str](), places()
        """Address -> its requests under way, open pages among them."""
        self._policy = POLICY.format(frames="*" if framed else "'none'")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client, answer = address(scope), self._with_headers(send)
        if refusal := self._refused(scope, Headers(scope=scope)):
            status, why = refusal
            log.warning("refused: %s, from %s", why, client)
            await PlainTextResponse(f"{why[:1].upper()}{why[1:]}.", status)(scope, receive, answer)
            return
        self._asking[client] += 1
        try:
            with suppress(TimeoutError):
                await self._app(scope, _bounded(receive), answer)
        finally:
            self._asking[client] -= 1
            if not self._asking[client]:
                del self._asking[client]

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
        share = 0.4 if scope["path"].endswith(EVENTS) else 0.5
        if self._asking[address(scope)] >= share * self._places:
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
                if not self._framed:
                    headers["X-Frame-Options"] = "DENY"
            await send(message)

        return answer


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
