"""Who may open which page: links of seats and hosts, and the password of all else."""

import asyncio
import hashlib
import hmac
import logging
import re
import secrets
from collections import OrderedDict
from math import ceil
from time import monotonic
from typing import Any
from urllib.parse import quote

from bokeh.server.auth_provider import AuthProvider
from tornado.web import HTTPError, RequestHandler

from agon.games.html import text
from agon_hall.door import Reply
from agon_hall.tables import Hall

OPEN = ("seat", "watch")
"""Pages that need no password: a seat's key is its own, and what is watched is public."""
COOKIE = "agon"
DAYS = 30
"""Days after which the password is asked for again, as it is after a new start."""
DAY = 86400
MANY = 1000
"""Browsers that have given the password and are remembered; the oldest is forgotten first."""
GUESSES = {False: (10, 10), True: (60, 1)}
"""Wrong passwords that one address, and that all (True), may send at once, and seconds until one more."""

log = logging.getLogger("agon_hall")


class Password:
    """A password of which only a slow salted hash is kept, and who has given it.

    Wrong ones are counted by address and in all: who has sent too many has to wait.
    """

    def __init__(self, password: str) -> None:
        self._salt = secrets.token_bytes(16)
        self._hash = self._hashed(password)
        self._entered: OrderedDict[bytes, float] = OrderedDict()
        """Of browsers that have given it, hashes of their tokens, and until when these hold."""
        self._wrong: OrderedDict[str, float] = OrderedDict()
        """Address, or "" for all -> when what it has sent will have been paid off."""
        self._turn = asyncio.Lock()

    def _hashed(self, password: str) -> bytes:
        return hashlib.scrypt(password.encode(), salt=self._salt, n=2**14, r=8, p=1)

    def wait(self, address: str) -> int:
        """Seconds until another password of that address is looked at."""
        now = monotonic()
        waits = [
            self._wrong.get(place, now) - now - most * pause
            for place, (most, pause) in zip((address, ""), GUESSES.values(), strict=True)
        ]
        return max(0, *map(ceil, waits))

    async def entered(self, password: str, address: str) -> str | None:
        """A token for who has given the right password; None for a wrong one. Others are served while it is hashed."""
        now = monotonic()
        self._count(address, 1)  # before it is hashed: many may come at once
        async with self._turn:
            right = hmac.compare_digest(await asyncio.to_thread(self._hashed, password), self._hash)
        if not right:
            return None
        self._count(address, -1)
        token = secrets.token_urlsafe(32)
        self._entered[_short(token)] = now + DAYS * DAY
        while len(self._entered) > MANY:
            self._entered.popitem(last=False)
        return token

    def _count(self, address: str, wrong: int) -> None:
        for place, (_, pause) in zip((address, ""), GUESSES.values(), strict=True):
            self._wrong[place] = max(self._wrong.pop(place, 0.0), monotonic()) + wrong * pause
        while len(self._wrong) > MANY:
            self._wrong.popitem(last=False)

    def knows(self, token: str | None) -> bool:
        """Whether that token was given to somebody."""
        return token is not None and self._entered.get(_short(token), 0.0) > monotonic()


def _short(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class Gate(AuthProvider):
    """Who may open which page. Every websocket needs a token that only a page that was let in has been given."""

    def __init__(self, hall: Hall, password: str) -> None:
        self._hall, self._password = hall, Password(password) if password else None
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
        piece = parts[-1:] == ["ws"]  # of a page; a token names no page, so it opens none
        page = parts[:-1] if piece else parts
        first = page[0] if page else ""
        for what in ("seat", "host"):
            if first == what and not piece and self._hall.opened(what, handler.get_query_argument("key", "")) is None:
                log.warning("refused: a %s link that is none, from %s", what, handler.request.remote_ip)
                raise HTTPError(403, reason="This link is not valid")
        if first in OPEN or self._password is None:
            return "page"
        if self._password.knows(handler.get_cookie(COOKIE)):
            return "researcher"
        if piece:
            log.warning("refused: %s without the password, from %s", handler.request.path, handler.request.remote_ip)
            raise HTTPError(403, reason="The password is needed")
        return None


def _login(password: Password | None) -> type[RequestHandler]:
    class Login(Reply):
        """Asks for the password, and keeps a random token as a cookie."""

        def set_default_headers(self) -> None:
            super().set_default_headers()
            self.set_header("Referrer-Policy", "same-origin")  # else browsers would not say where the form is from

        def get(self) -> None:
            self._form("")

        async def post(self) -> None:
            origin = self.request.headers.get("Origin")
            if origin is not None and origin.partition("://")[2] != self.request.host:
                log.warning("refused: a login from another site, from %s", self.request.remote_ip)
                raise HTTPError(403, reason="foreign origin")
            address, given = self.request.remote_ip or "", self.get_body_argument("password", "")
            if password is None:
                raise HTTPError(404)
            if wait := password.wait(address):
                log.warning("refused: too many wrong passwords, from %s", address)
                self.set_status(429)
                self.set_header("Retry-After", str(wait))
                self._form(f"There were too many wrong passwords. Try again in {wait} seconds.")
                return
            token = await password.entered(given, address)
            if token is None:
                log.warning("refused: a wrong password, from %s", address)
                self.set_status(403)
                self._form("This is not the password.")
                return
            https = self.request.protocol == "https"
            self.set_cookie(COOKIE, token, expires_days=DAYS, httponly=True, samesite="Strict", secure=https)
            wanted = self.get_query_argument("next", "/")
            self.redirect(wanted if re.fullmatch(r"/(?!/)[!-\[\]-~]*", wanted) else "/")

        def _form(self, why: str) -> None:
            alert = f'<p role="alert">{text(why)}</p>' if why else ""
            action = f"/login?next={quote(self.get_query_argument('next', '/'))}"
            self.set_header("Cache-Control", "no-store")
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
