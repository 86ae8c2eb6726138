"""The door of the server: by which names it is reached, how many connections may be open and idle, what every reply says."""

import logging
import resource
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from bokeh.server.util import check_allowlist
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.iostream import IOStream
from tornado.routing import Router
from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler

log = logging.getLogger("agon_hall")

MOST = 1000
"""Connections that are no open pages; one address may have half of them. Less where few files may be open."""
FILES = 4096
"""Files that the process may have open, unless the system allows fewer."""
HEADER, BODY = 16_384, 4_096
"""Bytes of a request. Nothing is sent but the password; all else goes by websocket."""
IDLE = 20
"""Seconds for the head of a request, and between two."""
SLOW = 10
"""Seconds for a body."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every reply; pages say more."""


def files() -> int:
    """How many files this process may have open, as many as it needs where the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        soft = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


class Reply(RequestHandler):
    """Says with every reply what browsers may do with it, and not what runs here."""

    def set_default_headers(self) -> None:
        """As Tornado asks for them, also for errors."""
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)


class Files(Reply, StaticFileHandler):
    """The files of a folder."""


class Refusal(Reply):
    """A reply that says why there is no other."""

    def initialize(self, status: HTTPStatus, why: str) -> None:
        """As Tornado makes its handlers."""
        self._why = HTTPError(status, reason=why)

    def prepare(self) -> None:
        """Whatever is asked."""
        raise self._why


class Door(Router):
    """Lets in what is asked under one of the names of `hosts`, HOST:PORT.

    `proxy`: everybody comes by a proxy, which says from where and by which protocol.
    """

    def __init__(self, pages: Application, hosts: Sequence[str], proxy: bool) -> None:
        self._pages, self._hosts, self._proxy = pages, list(hosts), proxy

    def find_handler(self, request: HTTPServerRequest, **more: Any) -> HTTPMessageDelegate:
        """Where a request goes."""
        if self._proxy:  # what is before the last comma was said by whoever asks
            place, protocol = (
                request.headers.get(f"X-Forwarded-{what}", "").rpartition(",")[2].strip() for what in ("For", "Proto")
            )
            request.remote_ip = place or request.remote_ip
            request.protocol = "https" if protocol == "https" else "http"
        if check_allowlist(request.host.lower(), self._hosts):
            return self._pages.find_handler(request, **more)
        why = "Nothing is served under this name: serve.origins names those that are"
        given = {"status": HTTPStatus.MISDIRECTED_REQUEST, "why": why}
        return self._pages.get_handler_delegate(request, Refusal, given)


class Entrance(HTTPServer):
    """Where there are too many connections the oldest gives way, of the same address first; none that is an open page."""

    def initialize(self, door: Door, proxy: bool) -> None:  # type: ignore[override]
        """As Tornado makes its servers."""
        self._most = min(MOST, files() // 2)
        self._share = self._most if proxy else self._most // 2
        self._open: dict[IOStream, str] = {}
        super().initialize(
            door,
            max_header_size=HEADER,
            max_body_size=BODY,
            idle_connection_timeout=IDLE,
            body_timeout=SLOW,
        )

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """A connection."""
        own = [each for each, place in self._open.items() if place == address[0]]
        crowd = own if len(own) >= self._share else list(self._open) if len(self._open) >= self._most else []
        for oldest in crowd[:1]:
            log.warning("closed, as there are too many: a connection from %s", self._open.pop(oldest))
            oldest.close()
        self._open[stream] = address[0]
        super().handle_stream(stream, address)

    def on_close(self, server_conn: Any) -> None:
        """A connection has ended, or has become that of an open page."""
        self._open.pop(server_conn.stream, None)
        super().on_close(server_conn)
