"""The server: who may open which page, and the pages."""

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
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import panel as pn
from bokeh.server.auth_provider import AuthProvider
from bokeh.server.urls import per_app_patterns
from bokeh.util.warnings import BokehUserWarning
from panel.io.server import WSHandler, get_server
from tornado.ioloop import IOLoop
from tornado.web import HTTPError, RequestHandler

from agon import AgonError
from agon.conf import settings_of
from agon.games.html import text
from agon_hall.families import desks
from agon_hall.frame import LINKS, page, refusal
from agon_hall.inputs import Inputs
from agon_hall.lobby import HallPage, HostPage, warm
from agon_hall.seat import SeatPage
from agon_hall.tables import Hall
from agon_hall.watching import page as transcripts

PASSWORD = "AGON_PASSWORD"
"""The environment variable with the password for everything but seats and what is public."""
LOOPBACK = ("127.0.0.1", "localhost")
OPEN = ("seat", "watch")
"""Pages that need no password: a seat's key is its own, and what is watched is public."""
DAY = 86400
TITLES = {
    "/": "Tables - agon",
    "/host": "Your table - agon",
    "/seat": "Your seat - agon",
    "/watch": "Watching - agon",
    "/transcripts": "Transcripts - agon",
    "/public": "As anybody saw it - agon",
}
"""What browsers call the pages."""

log = logging.getLogger("agon_hall")


class Gate(AuthProvider):
    """Who may open which page. Every websocket needs a token that only a page that was let in has been given."""

    def __init__(self, hall: Hall, password: str) -> None:
        self._hall, self._password = hall, password
        super().__init__()

    @property
    def get_user(self) -> Any:
        """Lets a request in by naming somebody; None sends them to the login page. Raises HTTPError(403) for wrong keys."""
        return self._user

    @property
    def get_user_async(self) -> None:
        """There is none."""

    @property
    def get_login_url(self) -> None:
        """There is none."""

    @property
    def login_url(self) -> str:
        """Where the password is asked for."""
        return "/login"

    @property
    def login_handler(self) -> type[RequestHandler]:
        """Asks for the password."""
        return _login(self._password)

    @property
    def logout_url(self) -> None:
        """There is none."""

    @property
    def logout_handler(self) -> None:
        """There is none."""

    def _user(self, handler: RequestHandler) -> str | None:
        parts = [part for part in handler.request.path.split("/") if part]
        piece = parts[-1:] in (
            ["ws"],
            ["autoload.js"],
            ["metadata"],
        )  # of a page; a token names no page, so it opens none
        page = parts[:-1] if piece else parts
        first = page[0] if page else ""
        for what in ("seat", "host"):
            if first == what and not piece and self._hall.opened(what, handler.get_query_argument("key", "")) is None:
                log.warning("refused: a %s link that is none, from %s", what, handler.request.remote_ip)
                raise HTTPError(403, reason="This link is not valid")
        if first in OPEN or not self._password:
            return "page"
        if handler.get_secure_cookie("agon", max_age_days=30) == _passed(self._password):
            return "researcher"
        if piece:
            log.warning("refused: %s without the password, from %s", handler.request.path, handler.request.remote_ip)
            raise HTTPError(403, reason="The password is needed")
        return None


def _passed(password: str) -> bytes:
    return sha256(password.encode()).hexdigest()[:32].encode()


def _login(password: str) -> type[RequestHandler]:
    class Login(RequestHandler):
        """Asks for the password, and keeps a signed cookie."""

        def get(self) -> None:
            self._form("")

        def post(self) -> None:
            if urlsplit(self.request.headers.get("Origin", "")).netloc not in ("", self.request.host):
                log.warning("refused: a login from another site, from %s", self.request.remote_ip)
                raise HTTPError(403, reason="foreign origin")
            if not hmac.compare_digest(self.get_body_argument("password", "").encode(), password.encode()):
                log.warning("refused: a wrong password, from %s", self.request.remote_ip)
                self.set_status(403)
                self._form("This is not the password.")
                return
            self.set_secure_cookie("agon", _passed(password), httponly=True, samesite="Strict")
            wanted = self.get_query_argument("next", "/")
            self.redirect(wanted if re.fullmatch(r"/(?!/)[!-\[\]-~]*", wanted) else "/")

        def _form(self, why: str) -> None:
            alert = f'<p role="alert">{text(why)}</p>' if why else ""
            action = f"/login?next={quote(self.get_query_argument('next', '/'))}"
            self.write(
                '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>agon: password</title>'
                '<meta name="viewport" content="width=device-width, initial-scale=1">'
                "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:30rem;margin:2rem auto;padding:0 1rem}"
                "input,button{font-size:16px;padding:.5rem}</style></head><body><main><h1>agon</h1>"
                f'{alert}<form method="post" action="{text(action)}"><p><label for="password">Password</label><br>'
                '<input id="password" name="password" type="password" autocomplete="current-password" autofocus></p>'
                '<p><button type="submit">Open</button></p></form></main></body></html>'
            )

    return Login


class Pages:
    """The pages of a hall, each made anew for each browser that opens it."""

    def __init__(self, hall: Hall, folder: Path) -> None:
        self.hall, self.desks = hall, desks(folder)
        self.links = LINKS + tuple((name.capitalize(), f"/{name}") for name in self.desks)

    def made(self) -> dict[str, Any]:
        """Path -> what makes the page."""
        return {
            "/": self.hall_page,
            "/host": self.host,
            "/seat": self.seat,
            "/watch": self.watch,
            "/transcripts": lambda: page(transcripts(), self.links),
            "/public": lambda: page(transcripts(researcher=False), self.links),
            **{f"/{name}": self.desk(name) for name in self.desks},
        }

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
        scheme = "https" if headers.get("x-forwarded-proto") == "https" else "http"  # as a proxy says it was reached
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


def _argument(name: str) -> str:
    return b"".join(pn.state.session_args.get(name, [])[:1]).decode("utf-8", "replace")


class _TextSocket(WSHandler):
    """Refuses what no page of ours sends: parts in bytes, which could be so many that they fill the memory."""

    async def on_message(self, fragment: str | bytes) -> None:
        if isinstance(fragment, bytes):
            self.close(1003, "parts in bytes are not taken")
        else:
            await super().on_message(fragment)


class _Quiet(logging.Filter):
    """Nothing of what follows a question mark, where keys are, nor of what was sent and cannot be read."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = re.sub(r"\?\S*", "?...", record.getMessage())
        record.msg, record.args = re.sub(r"(Invalid unicode in ).*", r"\1what was sent", said, flags=re.DOTALL), ()
        return True


def serve(
    folder: Path, address: str, port: int, origins: Sequence[str], sampling: str | None, said: Callable[[str], object]
) -> None:
    """Serves until it is interrupted. Raises AgonError where it must not, or cannot, start."""
    password = os.environ.get(PASSWORD, "")
    if sampling is not None:
        settings_of("sampling", sampling)
    if address not in LOOPBACK and len(password) < 8:
        raise AgonError(
            f"serve.address={address} can be reached by others: set {PASSWORD} in the environment, 8 letters at least"
        )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in ("", "bokeh", "panel"):  # those with handlers of their own
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(_Quiet())
    # a browser sends a button that came later whole when it is first pressed; every such warning would be kept in memory
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    pn.extension(browser_info=False)

    said("looking up what can be played ...")
    warm()

    async def run() -> None:
        hall = Hall(folder, sampling)
        try:
            await _until_stopped(hall, folder, address, port, origins, password, said)
        finally:
            await hall.close()

    asyncio.run(run())


async def _until_stopped(
    hall: Hall,
    folder: Path,
    address: str,
    port: int,
    origins: Sequence[str],
    password: str,
    said: Callable[[str], object],
) -> None:
    # the table of Bokeh's routes, in which Panel too enters what it serves
    per_app_patterns[:] = [(path, _TextSocket if kind is WSHandler else kind) for path, kind, *_ in per_app_patterns]
    try:
        server = get_server(
            Pages(hall, folder).made(),
            port=port,
            address=address,
            title=TITLES | {f"/{name}": f"{name.capitalize()} - agon" for name in desks(folder)},
            location=False,
            websocket_origin=[f"{name}:{port}" for name in (*LOOPBACK[:2], address)] + list(origins),
            loop=IOLoop.current(),
            auth_provider=Gate(hall, password),
            cookie_secret=hmac.new(hall.secret, b"cookie", sha256).hexdigest(),
            sign_sessions=True,
            secret_key=hmac.new(hall.secret, f"session/{secrets.token_hex(8)}".encode(), sha256).hexdigest(),
            session_token_expiration=DAY,
            check_unused_sessions_milliseconds=1000,
            websocket_max_message_size=2_000_000,
        )
    except OSError as error:
        raise AgonError(
            f"port {port} of {address} cannot be had ({error.strerror}): name another with serve.port=N"
        ) from None
    stopped = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopped.set)
    gc.collect()
    gc.freeze()  # what is there for good is never looked through again
    server.start()
    said(
        f"http://{'localhost' if address in LOOPBACK else address}:{port}/ - Ctrl-C ends it; every answer is kept in {folder}"
    )
    await stopped.wait()
    server.stop()
