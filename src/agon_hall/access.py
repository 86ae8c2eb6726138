"""Access to the pages: seats and hosts have links with keys; all other pages need the password."""

import asyncio
import hashlib
import hmac
import logging
import re
import secrets
from collections import OrderedDict
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

OPEN = ("seat", "watch", "static", "login", "join", "part", "annotate")
"""The first parts of addresses that need no password.

Seats, participants and raters have keys, and watchers see only what is public.
"""
COOKIE = "agon"
MANY = 1000
"""The most addresses, and the most browsers with the password, that are remembered. The oldest is forgotten first."""
GUESSES, ALL_GUESSES = (10, 10), (60, 1)
"""Wrong passwords at once, and seconds until one more: from one address, and from all together.

One address can fill a sixth of the guesses of all, and a tenth of them later.
"""
NEWCOMERS = 120, 6
"""New participants at once from one address (a full room), and seconds until one more."""

log = logging.getLogger("agon_hall")


class Throttle:
    """A limit for each address: `most` times at once, and once more every `pause` seconds."""

    def __init__(self, most: int, pause: float) -> None:
        self._most, self._pause = most, pause
        self._free_at: OrderedDict[str, float] = OrderedDict()
        """Address -> the time (monotonic seconds) at which its whole limit is free again.

        The least active is forgotten first.
        """

    def wait(self, address: str) -> int:
        """Seconds until the limit allows the address one more time."""
        now = monotonic()
        return max(0, ceil(self._free_at.get(address, now) - now - self._most * self._pause))

    def count(self, address: str, times: int = 1) -> None:
        """Counts one time for the address; `times` -1 takes one back."""
        self._free_at[address] = max(self._free_at.pop(address, 0.0), monotonic()) + times * self._pause
        while len(self._free_at) > MANY:
            self._free_at.popitem(last=False)


class Password:
    """A password, as a slow salted hash, and the browsers that have sent it.

    After some `days` a browser must send it again. Wrong passwords are counted for each address and in total. After
    too many of them an address must wait.
    """

    def __init__(self, password: str, days: float = DAYS) -> None:
        self.lasts = int(days * DAY)
        self._salt = secrets.token_bytes(16)
        self._right_digest = self._digest(password)
        self._expiry: OrderedDict[bytes, float] = OrderedDict()
        """Hash of a browser's token -> the time (monotonic seconds) until which the token is valid."""
        self._guesses, self._all_guesses = Throttle(*GUESSES), Throttle(*ALL_GUESSES)
        self._turn = asyncio.Lock()

    def _digest(self, password: str) -> bytes:
        return hashlib.scrypt(password.encode(), salt=self._salt, n=2**14, r=8, p=1)

    def guess(self, address: str) -> int:
        """Counts a guess, before it is read: many may come at once. Or the seconds until the address may guess again."""
        if wait := max(self._guesses.wait(address), self._all_guesses.wait("")):
            return wait
        self._count(address, 1)
        return 0

    async def enter(self, password: str, address: str) -> str | None:
        """A token for the right password, whose guess (`guess`) is taken back; None for a wrong one.

        The hash is computed in a thread, beside other requests.
        """
        now = monotonic()
        async with self._turn:
            right = hmac.compare_digest(await asyncio.to_thread(self._digest, password), self._right_digest)
        if not right:
            return None
        self._count(address, -1)
        token = secrets.token_urlsafe(32)
        self._expiry[_short(token)] = now + self.lasts
        while len(self._expiry) > MANY:
            self._expiry.popitem(last=False)
        return token

    def _count(self, address: str, wrong: int) -> None:
        self._guesses.count(address, wrong)
        self._all_guesses.count("", wrong)

    def knows(self, token: str | None) -> bool:
        """Whether the token comes from `enter` and is still valid."""
        return token is not None and self._expiry.get(_short(token), 0.0) > monotonic()


def _short(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class LoginRequired:
    """Middleware that asks for the password, if the hall has one. Addresses in OPEN do not need it."""

    def __init__(self, app: ASGIApp, password: Password | None) -> None:
        self._app, self._password = app, password

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a request."""
        if scope["type"] == "http":
            request = Request(scope, receive)
            is_researcher = self._password is None or self._password.knows(request.cookies.get(COOKIE))
            scope["researcher"] = is_researcher
            if not is_researcher and scope["path"].lstrip("/").partition("/")[0] not in OPEN:
                target = scope["path"] + (f"?{request.url.query}" if request.url.query else "")
                log.warning("refused: %s without the password, from %s", scope["path"], address(scope))
                reply = redirect(f"/login?next={quote(target)}")
                await reply(scope, receive, send)
                return
        await self._app(scope, receive, send)


def table_of_link(request: Request, what: str) -> tuple[Table, int | None]:
    """The table and the seat of a request's link. `what` is seat, host or watch; watch needs no key.

    Raises NoPage for a link that is not valid or has expired. With the password, links of hosts and watchers do not
    expire.
    """
    hall: Hall = request.app.state.hall
    if what == "watch":
        table_by_name = hall.find(request.query_params.get("table", ""))
        if table_by_name is None:
            raise NoPage("No such table", "There is no table of this name.")
        table, seat = table_by_name, None
    elif place := hall.place_of(what, request.query_params.get("key", "")):
        table, seat = place
    else:
        raise NoPage("This link is not valid", "Ask whoever gave it to you.", 403, f"a {what} link that is not valid")
    if hall.has_expired(table.row.made) and (what == "seat" or not request.scope["researcher"]):
        why = "It held for some days only. Ask whoever gave it to you; what was played is kept."
        log_line = f"a {what} link that has expired"
        raise NoPage("This link has expired", why, HTTPStatus.GONE, log_line, table.terms.say)
    return table, seat


async def login(request: Request) -> Response:
    """The page that asks for the password. A random token is the cookie."""
    password: Password | None = request.app.state.password
    if password is None:
        raise NoPage("No such page", "No password is needed here.")
    target = request.query_params.get("next", "/")
    target = target if re.fullmatch(r"/(?!/)[!-\[\]-~]*", target) else "/"

    def form(why: str, status: int = 200, **headers: str) -> Response:
        page = render(request, "login.html", status, title="Password", why=why, target=target)
        page.headers.update(headers)
        return page

    if request.method != "POST":
        return form("")
    client = address(request.scope)
    if wait := password.guess(client):
        log.warning("refused: too many wrong passwords, from %s", client)
        why = f"There were too many wrong passwords. Try again in {wait} seconds."
        return form(why, HTTPStatus.TOO_MANY_REQUESTS, **{"Retry-After": str(wait)})
    token = await password.enter((await read_form(request)).get("password", ""), client)
    if token is None:
        log.warning("refused: a wrong password, from %s", client)
        return form("This is not the password.", HTTPStatus.FORBIDDEN)
    reply = redirect(target)
    https = request.url.scheme == "https"
    reply.set_cookie(COOKIE, token, max_age=password.lasts, httponly=True, samesite="strict", secure=https)
    return reply


routes = [Route("/login", login, methods=["GET", "POST"])]
