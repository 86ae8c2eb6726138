"""The server: its pages and its address."""

import asyncio
import logging
import os
import re
import signal
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response

from agon.cli.hosts import say_hosts
from agon.conf import settings_of
from agon.errors import AgonError, visible
from agon.paths import ROOT
from agon_hall import access, lobby, monitor, raters, seat, study_pages, watching, web
from agon_hall.access import NEWCOMERS, LoginRequired, Password, Throttle
from agon_hall.firewall import HEADER, IDLE, Connection, Firewall, LineLimit, places
from agon_hall.new_table import warm
from agon_hall.table import Table
from agon_hall.tables import DAYS, Hall

PASSWORD = "AGON_PASSWORD"
"""The environment variable with the password. Pages of seats and public pages need no password."""
LOOPBACK = ("127.0.0.1", "localhost")
MODULES = (web, access, lobby, seat, watching, study_pages, monitor, raters)
"""The modules with pages. Each has a list `routes`."""

log = logging.getLogger("agon_hall")


def application(hall: Hall, hosts: Sequence[str] = ("*",), password: str = "", frameable: bool = False) -> Starlette:
    """The pages of a hall.

    Browsers reach it as one of `hosts` (HOST:PORT). If `frameable`, a notebook may show the pages.
    """
    login = Password(password, hall.days) if password else None
    app = Starlette(
        routes=[route for module in MODULES for route in module.routes],
        middleware=[
            Middleware(Firewall, hosts, frameable),
            Middleware(GZipMiddleware, minimum_size=500),
            Middleware(LoginRequired, login),
        ],
        exception_handlers={web.NoPage: web.show_refusal, HTTPException: _show_missing, Exception: _show_failure},
    )
    app.state.hall = hall
    app.state.raters = raters.RatersDesk(hall.folder / "annotations")
    app.state.password, app.state.once = login, OrderedDict()
    app.state.newcomers = Throttle(*NEWCOMERS)
    app.state.stopping, app.state.streams = asyncio.Event(), set()
    app.state.studies = study_pages.Studies(hall, app.state.stopping)
    return app


async def _show_missing(request: Request, error: Exception) -> Response:
    status = HTTPStatus(getattr(error, "status_code", HTTPStatus.NOT_FOUND))
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        return web.refusal_page(request, "No such page", "There is no such page here.", status)
    return web.refusal_page(
        request, "This was not taken", f"It could not be read ({status.phrase.lower()}). Please send it again.", status
    )


async def _show_failure(request: Request, error: Exception) -> Response:
    why = "It could not be made just now. Please tell the host, and reload it."
    return web.refusal_page(request, "This page cannot be shown", why, HTTPStatus.INTERNAL_SERVER_ERROR)


def open_socket(address: str = LOOPBACK[0], port: int = 0) -> socket.socket:
    """A socket at a port; 0 for any free port. Raises AgonError if the port is not free."""
    try:
        return socket.create_server((address, port), backlog=512)
    except OSError as error:
        why = error.strerror or error
        raise AgonError(f"port {port} of {address} cannot be had ({why}): name another with --port N") from None


class Server(uvicorn.Server):
    """Serves the pages of a hall on a socket until `end`. The caller handles signals.

    With `proxy` all requests come through a proxy on this machine, and uvicorn reads its X-Forwarded-For and
    X-Forwarded-Proto. `options` are those of `application`.
    """

    def __init__(
        self, hall: Hall, at: socket.socket, hosts: Sequence[str] = (), proxy: bool = False, **options: Any
    ) -> None:
        self._at, self.port = at, int(at.getsockname()[1])
        self._app = application(hall, [*hosts, *(f"{name}:{self.port}" for name in LOOPBACK)], **options)
        self.studies: study_pages.Studies = self._app.state.studies
        """The studies of the hall."""
        super().__init__(
            uvicorn.Config(
                self._app,
                http=Connection,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=proxy,
                limit_concurrency=places(),
                h11_max_incomplete_event_size=HEADER,
                timeout_keep_alive=IDLE,
                timeout_graceful_shutdown=2,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures no signals."""
        yield

    async def run_here(self) -> None:
        """Serves in this event loop until `end`."""
        await self.serve([self._at])

    def end(self) -> None:
        """Ends the server. Open pages connect again later."""
        self._app.state.stopping.set()
        for wake in list(self._app.state.streams):
            wake()
        self.should_exit = True


class _LogFormatter(logging.Formatter):
    """Drops the text after a question mark, because keys are there, and makes control characters visible."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(re.sub(r"\?\S*", "?...", super().format(record)))


def serve(
    folder: Path,
    address: str,
    port: int,
    origins: Sequence[str],
    proxy: bool,
    sampling: str | None,
    report: Callable[[str], object],
    days: float = DAYS,
) -> None:
    """Serves until it is interrupted.

    Links are valid for some `days`. Raises AgonError if the server must not or cannot start.
    """
    password = os.environ.get(PASSWORD, "").strip()
    if not password.isprintable():
        raise AgonError(f"{PASSWORD} has letters that nobody can type: set another")
    if sampling is not None:
        settings_of("sampling", sampling)
    if folder.resolve() in (ROOT.resolve(), *ROOT.resolve().parents):
        raise AgonError("--folder must name a folder of its own, such as .agon/hall")
    hosts = [f"{address}:{port}", *_hosts(origins, port)]
    entrances = [name for name in (address, *origins) if name.partition(":")[0] not in LOOPBACK]
    if proxy:
        entrances.append("a proxy")
    if entrances and len(password) < 8:
        raise AgonError(
            f"by {entrances[0]} the hall can be reached by others: "
            f"set {PASSWORD} in the environment, 8 letters at least"
        )
    os.umask(0o077)
    logging.basicConfig(level=logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_LogFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        handler.addFilter(LineLimit())

    report("looking up what can be played ...")
    warm()

    async def run() -> None:
        hall = Hall(folder, sampling, days)
        _say_hosts(hall)
        try:
            server = Server(hall, open_socket(address, port), hosts, proxy=proxy, password=password)
            if address not in LOOPBACK and not origins:
                report(
                    "note: nobody elsewhere is served yet: --origin takes a name by which browsers reach this machine"
                )
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, server.end)
            where = f"http://{'localhost' if address in LOOPBACK else address}:{port}/"
            report(f"{where} - Ctrl-C ends it; every answer is kept in {folder}")
            await server.run_here()
        finally:
            await hall.close()

    asyncio.run(run())


def _say_hosts(hall: Hall) -> None:
    """Prints, as `record` does, where each model is asked: once, when the first table at which it sits goes on."""
    named = set[str]()

    def say_new(table: Table) -> None:
        if table.status not in ("over", "closed"):
            say_hosts({name: model for name, model in table.models.items() if name not in named})
            named.update(table.models)

    hall.table_listeners.append(say_new)
    for table in hall.tables.values():
        say_new(table)


def _hosts(origins: Sequence[str], port: int) -> list[str]:
    """The names by which browsers reach the server, with and without the port.

    Raises AgonError for an origin that is not valid.
    """
    hosts = []
    for origin in origins:
        if not re.fullmatch(r"[\w.-]+(:\d{1,5})?|\[[0-9a-fA-F:]+\](:\d{1,5})?", origin, re.ASCII):
            raise AgonError(f"--origin takes HOST or HOST:PORT, not {origin!r}")
        hosts += (
            [origin.removesuffix(":80").removesuffix(":443"), origin] if ":" in origin else [origin, f"{origin}:{port}"]
        )
    return hosts
