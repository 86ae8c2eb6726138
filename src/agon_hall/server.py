"""The server: its pages, and where and how it serves them."""

import asyncio
import gc
import hmac
import logging
import os
import re
import secrets
import signal
import warnings
from collections.abc import Callable, Sequence
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Any

import panel as pn
from bokeh.core.validation import silence
from bokeh.core.validation.warnings import EMPTY_LAYOUT
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import bind_sockets, create_hosts_allowlist
from bokeh.util.paths import static_path
from bokeh.util.warnings import BokehUserWarning
from panel.io.application import build_applications
from panel.io.resources import DIST_DIR
from tornado.ioloop import IOLoop

from agon import ROOT, AgonError, visible
from agon.conf import settings_of
from agon_hall.door import Door, Entrance, Files, Refusal
from agon_hall.families import desks
from agon_hall.frame import LINKS, page, refusal
from agon_hall.gate import DAY, Gate
from agon_hall.inputs import Inputs
from agon_hall.lobby import HallPage, HostPage, warm
from agon_hall.seat import SeatPage
from agon_hall.tables import Hall
from agon_hall.watching import page as transcripts
from agon_hall.wire import Page, Rooms, Socket

PASSWORD = "AGON_PASSWORD"
"""The environment variable with the password for everything but seats and what is public."""
LOOPBACK = ("127.0.0.1", "localhost")
FRAME = 500_000
"""Bytes of one message."""
PING = 30
"""Seconds after which a page is asked whether it is still there, and in which it has to say so."""
UNUSED = 15_000
"""Milliseconds after which a page that no browser shows is taken away."""
LINES, KINDS = 20, 1000
"""Lines of one kind in the log in a minute, and kinds that are told apart."""
WIDE, LONG = 500, 4000
"""Letters of a line in the log, and of one entry: of a longer one its beginning and its end, where the error is."""
TITLES = {
    "/": "Tables - agon",
    "/host": "Your table - agon",
    "/seat": "Your seat - agon",
    "/watch": "Watching - agon",
    "/transcripts": "Transcripts - agon",
    "/public": "As anybody saw it - agon",
}
"""What browsers call the pages."""

NAME = r"((?:[\w@^./-]|%5E)+)"
"""Of a file that pages need."""

log = logging.getLogger("agon_hall")


class Pages:
    """The pages of a hall, each made anew for each browser that opens it."""

    def __init__(self, hall: Hall, folder: Path, proxy: bool = False) -> None:
        self.hall, self.desks, self._proxy = hall, desks(folder), proxy
        self.titles = TITLES | {f"/{name}": f"{name.capitalize()} - agon" for name in self.desks}
        self.links = LINKS + tuple((name.capitalize(), f"/{name}") for name in self.desks)

    def made(self) -> dict[str, Any]:
        """Path -> what makes the page."""
        made: dict[str, Callable[[], Any]] = {
            "/": self.hall_page,
            "/host": self.host,
            "/seat": self.seat,
            "/watch": self.watch,
            "/transcripts": lambda: page(transcripts(), self.links),
            "/public": lambda: page(transcripts(researcher=False), self.links),
            **{f"/{name}": self.desk(name) for name in self.desks},
        }
        return {path: _told(make) for path, make in made.items()}

    def desk(self, name: str) -> Callable[[], Any]:
        """A page that a family of games has of its own."""
        return lambda: page(Inputs(self.desks[name]).panel)

    def hall_page(self) -> Any:
        """All tables."""
        return page(HallPage(self.hall).panel, self.links)

    def host(self) -> Any:
        """A table for who made it."""
        found = self.hall.opened("host", _argument("key"))
        if found is None:
            return refusal("No such table", "This link is not valid.")
        headers = {name.lower(): value for name, value in pn.state.headers.items()}
        scheme = "https" if self._proxy and headers.get("x-forwarded-proto") == "https" else "http"
        return page(HostPage(self.hall, found[0], f"{scheme}://{headers.get('host', '')}").panel, self.links)

    def seat(self) -> Any:
        """A seat for who has its key."""
        found = self.hall.opened("seat", _argument("key"))
        if found is None or found[1] is None:
            return refusal("No such seat", "This link is not valid.")
        return page(SeatPage(*found).panel)

    def watch(self) -> Any:
        """A table for everybody."""
        table = self.hall.find(_argument("table"))
        if table is None:
            return refusal("No such table", "There is no table of this name.")
        return page(SeatPage(table, None).panel)


def _told(make: Callable[[], Any]) -> Callable[[], Any]:
    """Makes a page; where that fails, one that says so."""

    def made() -> Any:
        try:
            return make()
        except Exception:
            log.exception("a page could not be made")
            return refusal(
                "This page cannot be shown", "It could not be made just now. Please tell the host, and reload it."
            )

    return made


def _argument(name: str) -> str:
    return b"".join(pn.state.session_args.get(name, [])[:1]).decode("utf-8", "replace")


class _Plain(logging.Formatter):
    """Nothing of what follows a question mark, where keys are, nor of what was sent and cannot be read, nor what moves a terminal.

    And no more than LONG letters of anything: Bokeh writes a message that it refuses whole.
    """

    def format(self, record: logging.LogRecord) -> str:
        said = re.sub(r"\?\S*", "?...", super().format(record))
        said = re.sub(r"(Invalid unicode in ).*", r"\1what was sent", said, flags=re.DOTALL)
        lines = said.split("\n")
        said = "\n".join(
            each[:WIDE] + f" [... {len(each) - WIDE:,} letters ...]" * (len(each) > WIDE) for each in lines
        )
        if len(said) > LONG:
            said = f"{said[: LONG // 2]} [... {len(said) - LONG:,} letters ...] {said[-LONG // 2 :]}"
        return visible(said)


class _Quiet(logging.Filter):
    """Nothing too often."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, list[float]] = {}
        """Kind of line -> how many such lines were not written lately, and when others were in the last minute."""

    def filter(self, record: logging.LogRecord) -> bool:
        now, kind = monotonic(), f"{record.name}/{record.msg}"[:100]
        if len(self._said) > KINDS:
            self._said.clear()
        missed, *times = self._said.get(kind, [0.0])
        times = [each for each in times if each > now - 60]
        written = len(times) < LINES
        self._said[kind] = [0.0, *times, now] if written else [missed + 1, *times]
        if written and missed:
            record.msg, record.args = f"{record.getMessage()} (and {missed:.0f} more like it)", ()
        return written


def serve(
    folder: Path,
    address: str,
    port: int,
    origins: Sequence[str],
    proxy: bool,
    sampling: str | None,
    said: Callable[[str], object],
) -> None:
    """Serves until it is interrupted. Raises AgonError where it must not, or cannot, start."""
    password = os.environ.get(PASSWORD, "")
    if sampling is not None:
        settings_of("sampling", sampling)
    if folder.resolve() in (ROOT.resolve(), *ROOT.resolve().parents):
        raise AgonError("serve.folder must name a folder of its own, such as .agon/hall")
    try:
        hosts = create_hosts_allowlist([*(f"{name}:{port}" for name in (*LOOPBACK, address)), *origins], port)
    except ValueError as error:
        raise AgonError(f"serve.origins takes HOST or HOST:PORT: {error}") from None
    others = [each for each in (address, *origins) if each.partition(":")[0] not in LOOPBACK] or ["a proxy"] * proxy
    if others and len(password) < 8:
        raise AgonError(
            f"by {others[0]} the hall can be reached by others: set {PASSWORD} in the environment, 8 letters at least"
        )
    os.umask(0o077)
    logging.basicConfig(level=logging.WARNING)
    quiet = _Quiet()
    for name in ("", "bokeh", "panel"):  # those with handlers of their own
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(quiet)
            handler.setFormatter(_Plain("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    # a browser sends a button that came later whole when it is first pressed; every such warning would be kept in memory
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    silence(EMPTY_LAYOUT)
    pn.extension(browser_info=False)

    said("looking up what can be played ...")
    warm()

    async def run() -> None:
        hall = Hall(folder, sampling)
        try:
            where = f"http://{'localhost' if address in LOOPBACK else address}:{port}/"
            server = served(hall, folder, address, port, hosts, proxy, password)
            if address not in LOOPBACK and not origins:
                said(
                    "note: nobody elsewhere is served yet: serve.origins takes the names by which browsers reach this machine"
                )
            await _until_stopped(server, lambda: said(f"{where} - Ctrl-C ends it; every answer is kept in {folder}"))
        finally:
            await hall.close()

    asyncio.run(run())


def served(
    hall: Hall,
    folder: Path,
    address: str = LOOPBACK[0],
    port: int = 0,
    hosts: Sequence[str] = ("*",),
    proxy: bool = False,
    password: str = "",
) -> BaseServer:
    """The pages of a hall on a port, 0 for any; to be started. Raises AgonError where the port cannot be had.

    `hosts` are the names, HOST:PORT, by which browsers reach it.
    """
    pages = Pages(hall, folder, proxy)
    apps = build_applications(pages.made(), title=pages.titles, location=False)
    gate = Gate(hall, password)
    tornado = BokehTornado(
        apps,
        extra_websocket_origins=hosts,
        auth_provider=gate,
        sign_sessions=True,
        secret_key=hmac.new(hall.secret, f"session/{secrets.token_hex(8)}".encode(), sha256).digest(),
        session_token_expiration=DAY,
        include_headers=["Host", "X-Forwarded-Proto"],
        include_cookies=[],
        check_unused_sessions_milliseconds=1000,
        unused_session_lifetime_milliseconds=UNUSED,
        keep_alive_milliseconds=0,
        websocket_max_message_size_bytes=FRAME,
        websocket_ping_interval=PING,
        websocket_ping_timeout=PING,
        rooms=Rooms(),
    )
    there: list[tuple[Any, ...]] = [
        *gate.endpoints,
        (f"/static/js/{NAME}", Files, {"path": static_path() / "js"}),
        (f"/static/extensions/panel/{NAME}", Files, {"path": DIST_DIR}),
        ("/(favicon.ico)", Files, {"path": DIST_DIR / "images"}),
    ]
    for path, context in tornado.applications.items():
        root = path.rstrip("/")
        given = {"application_context": context, "bokeh_websocket_path": f"{root}/ws"}
        there += [(f"{root}/ws", Socket, given), (f"{root}/?", Page, given)]
    nowhere = {"status": HTTPStatus.NOT_FOUND, "why": "There is no such page"}
    tornado.add_handlers(
        ".*", [*there, (".*", Refusal, nowhere)]
    )  # nothing of what Bokeh and Panel serve by themselves
    entrance = Entrance(Door(tornado, hosts, proxy), proxy)
    try:
        entrance.add_sockets(bind_sockets(address, port)[0])
    except OSError as error:
        raise AgonError(
            f"port {port} of {address} cannot be had ({error.strerror}): name another with serve.port=N"
        ) from None
    return BaseServer(IOLoop.current(), tornado, entrance)


async def _until_stopped(server: BaseServer, started: Callable[[], object]) -> None:
    stopped = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    gc.collect()
    gc.freeze()  # what is there for good is never looked through again
    server.start()
    started()
    await stopped.wait()
    server.stop()
