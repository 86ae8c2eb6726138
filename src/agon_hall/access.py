"""Who may open which page: links of seats and hosts, and the password of all else."""

import asyncio
import hashlib
import hmac
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Collection
from http import HTTPStatus
from math import ceil
from time import monotonic
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agon_hall.firewall import address
from agon_hall.table import Table
from agon_hall.tables import DAY, DAYS, Hall
from agon_hall.web import NoPage, read_form, redirect, render

OPEN = ("seat", "watch", "static", "login", "join", "part")
"""First parts of addresses that need no password: a seat's key is its own, and what is watched is public."""
COOKIE = "agon"
MANY = 1000
"""Browsers that have given the password, and addresses, that are remembered; the oldest is forgotten first."""
GUESSES, GUESSES_IN_ALL = (10, 10), (60, 1)
"""Wrong passwords that one address, and that all, may send at once, and seconds until one more."""
COMERS = 120, 6
"""Participants who may come to studies from one address for the first time at once, a full room, and seconds until one more."""

log = logging.getLogger("agon_hall")


class Throttle:
    """Lets each address do something `most` times at once, and once more every `pause` seconds."""

    def __init__(self, most: int, pause: float) -> None:
        self._most, self._pause = most, pause
        self._paid: OrderedDict[str, float] = OrderedDict()
        """Address -> the time at which it may do everything at once again. The least recently active address is forgotten first."""

    def wait(self, address: str) -> int:
        """Seconds until the address may do it once more."""
        now = monotonic()
        return max(0, ceil(self._paid.get(address, now) - now - self._most * self._pause))

    def count(self, address: str, times: int = 1) -> None:
        """Counts that the address has done it; `times` -1 takes one back."""
        self._paid[address] = max(self._paid.pop(address, 0.0), monotonic()) + times * self._pause
        while len(self._paid) > MANY:
            self._paid.popitem(last=False)


class Password:
    """A password of which only a slow salted hash is kept, and who has given it: it is asked for again after some `days`.

    Wrong ones are counted by address and in all: who has sent too many has to wait.
    """

    def __init__(self, password: str, days: float = DAYS) -> None:
        self.lasts = int(days * DAY)
        self._salt = secrets.token_bytes(16)
        self._hash = self._hashed(password)
        self._entered: OrderedDict[bytes, float] = OrderedDict()
        """Of browsers that have given it, hashes of their tokens, and until when these hold."""
        self._wrong, self._wrong_in_all = Throttle(*GUESSES), Throttle(*GUESSES_IN_ALL)
        self._turn = asyncio.Lock()

    def _hashed(self, password: str) -> bytes:
        return hashlib.scrypt(password.encode(), salt=self._salt, n=2**14, r=8, p=1)

    def wait(self, address: str) -> int:
        """Seconds until another password of that address is looked at."""
        return max(self._wrong.wait(address), self._wrong_in_all.wait(""))

    async def entered(self, password: str, address: str) -> str | None:
        """A token for the right password; None for a wrong one. Other requests are served while it is hashed."""
        now = monotonic()
        self._count(address, 1)  # before it is hashed: many may come at once
        async with self._turn:
            right = hmac.compare_digest(await asyncio.to_thread(self._hashed, password), self._hash)
        if not right:
            return None
        self._count(address, -1)
        token = secrets.token_urlsafe(32)
        self._entered[_short(token)] = now + self.lasts
        while len(self._entered) > MANY:
            self._entered.popitem(last=False)
        return token

    def _count(self, address: str, wrong: int) -> None:
        self._wrong.count(address, wrong)
        self._wrong_in_all.count("", wrong)

    def knows(self, token: str | None) -> bool:
        """Whether the token is one that `entered` has returned, and still holds."""
        return token is not None and self._entered.get(_short(token), 0.0) > monotonic()


def _short(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class LoginRequired:
    """Who may open which page: all but those in OPEN, and `more`, need the password, where there is one."""

    def __init__(self, app: ASGIApp, password: Password | None, more: Collection[str] = ()) -> None:
        self._app, self._password, self._open = app, password, (*OPEN, *more)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request."""
        if scope["type"] == "http":
            request = Request(scope, receive)
            is_researcher = self._password is None or self._password.knows(request.cookies.get(COOKIE))
            scope["researcher"] = is_researcher
            if not is_researcher and scope["path"].lstrip("/").partition("/")[0] not in self._open:
                target = scope["path"] + (f"?{request.url.query}" if request.url.query else "")
                log.warning("refused: %s without the password, from %s", scope["path"], address(scope))
                reply = redirect(f"/login?next={quote(target)}")
                await reply(scope, receive, send)
                return
        await self._app(scope, receive, send)


def table_of_link(request: Request, what: str) -> tuple[Table, int | None]:
    """The table, and the seat, that a request's link is for; what: seat, host, or watch, which needs no key. Raises NoPage.

    Links hold for a time; those of hosts and watchers always do for who has given the password.
    """
    hall: Hall = request.app.state.hall
    if what == "watch":
        table_found = hall.find(request.query_params.get("table", ""))
        if table_found is None:
            raise NoPage("No such table", "There is no table of this name.")
        table, seat = table_found, None
    elif place := hall.opened(what, request.query_params.get("key", "")):
        table, seat = place
    else:
        raise NoPage("This link is not valid", "Ask whoever gave it to you.", 403, f"a {what} link that is none")
    if hall.expired(table.row.made) and (what == "seat" or not request.scope["researcher"]):
        why = "It held for some days only. Ask whoever gave it to you; what was played is kept."
        raise NoPage("This link has expired", why, HTTPStatus.GONE, f"a {what} link that has expired")
    return table, seat


async def login(request: Request) -> Response:
    """Asks for the password, and keeps a random token as a cookie."""
    password: Password | None = request.app.state.password
    if password is None:
        raise NoPage("No such page", "No password is needed here.")
    wanted = request.query_params.get("next", "/")
    wanted = wanted if re.fullmatch(r"/(?!/)[!-\[\]-~]*", wanted) else "/"

    def form(why: str, status: int = 200, **headers: str) -> Response:
        page = render(request, "login.html", status, title="Password", why=why, wanted=wanted)
        page.headers.update(headers)
        return page

    if request.method != "POST":
        return form("")
    client = address(request.scope)
    if wait := password.wait(client):
        log.warning("refused: too many wrong passwords, from %s", client)
        why = f"There were too many wrong passwords. Try again in {wait} seconds."
        return form(why, HTTPStatus.TOO_MANY_REQUESTS, **{"Retry-After": str(wait)})
    token = await password.entered((await read_form(request)).get("password", ""), client)
    if token is None:
        log.warning("refused: a wrong password, from %s", client)
        return form("This is not the password.", HTTPStatus.FORBIDDEN)
    reply = redirect(wanted)
    https = request.url.scheme == "https"
    reply.set_cookie(COOKIE, token, max_age=password.lasts, httponly=True, samesite="strict", secure=https)
    return reply


routes = [Route("/login", login, methods=["GET", "POST"])]
