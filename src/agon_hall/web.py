"""The common parts of all pages: templates, which escape everything, live parts, and the reading of forms."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from time import time_ns
from typing import Any
from urllib.parse import parse_qsl

import jinja2
from markupsafe import Markup
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from agon.games.html import plain, text
from agon_hall.firewall import EVENTS, address
from agon_hall.language import ENGLISH

log = logging.getLogger("agon_hall")

HERE = Path(__file__).parent
SOON = 0.025
"""Seconds: what changes within them is told at once."""
PING = 15
"""Seconds after which a page is told that it is still connected."""
AGAIN = 5
"""Seconds after which parts that could not be drawn are drawn again."""
LINKS = (("Tables", "/"), ("Transcripts", "/transcripts"), ("Studies", "/monitor"))
"""For researchers; players have none."""
Sent = ImmutableMultiDict[str, str]
"""What a form has sent: name of a field -> its values."""
Parts = Mapping[str, str]
"""Id of an element -> the HTML in it: what is kept up to date."""
PAGE = ("title", "head", "nav", "heading", "content")
"""The blocks of base.html."""
NONE: Mapping[str, Any] = {}
UNTYPED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Control characters but tab and new line."""

templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
"""Whatever is put into a template is text; only what is wrapped in `safe` is HTML."""
safe = Markup
templates.finalize = lambda value: plain(value) if type(value) is str else value
templates.globals["say"] = ENGLISH
templates.filters["clock"] = lambda at, how: f"{datetime.fromtimestamp(at):{how}}"
"""Seconds since 1970, as a time of this machine."""
templates.filters["text"] = lambda value: safe(text(value))
"""Nothing that cannot be seen, or that turns other words about, comes into a page; `text` also keeps lines, and boxes long texts."""


def render(request: Request, name: str | jinja2.Template, status: int = 200, **context: Any) -> HTMLResponse:
    """A page of templates/NAME; `title` must be among its context."""
    defaults = {"researcher": request.scope.get("researcher", False), "links": request.app.state.links, "live": None}
    context.setdefault("at", time_ns() // 1000)
    return HTMLResponse(templates.get_template(name).render(defaults | context), status)


def parts_of(name: str, context: Mapping[str, Any]) -> Parts:
    """The blocks that templates/NAME adds to those of base.html, each by its name."""
    template = templates.get_template(name)
    filled_context = template.new_context(dict(context))
    return {part: "".join(block(filled_context)) for part, block in template.blocks.items() if part not in PAGE}


class NoPage(Exception):
    """Somebody is shown why there is no page for them; `logged` says it in the log, where it is worth a line."""

    def __init__(self, title: str, why: str, status: int = HTTPStatus.NOT_FOUND, logged: str = "") -> None:
        super().__init__(why)
        self.title, self.status, self.logged = title, status, logged


async def refused(request: Request, error: Exception) -> Response:
    """The page for NoPage."""
    assert isinstance(error, NoPage)
    if error.logged:
        log.warning("refused: %s, from %s", error.logged, address(request.scope))
    return refusal(request, error.title, str(error), error.status)


def refusal(request: Request, title: str, why: str, status: int = HTTPStatus.NOT_FOUND) -> Response:
    """A page that says why there is none."""
    return render(request, "refusal.html", status, title=title, why=why)


def parse_form(body: str) -> Sent:
    """The fields of a form, with \\n as the end of lines and without control characters."""
    pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=2000)
    return Sent([(name, UNTYPED.sub("", value.replace("\r\n", "\n"))) for name, value in pairs])


async def read_form(request: Request) -> Sent:
    """What a form has sent. Raises HTTPException for what cannot be read, is too much, or comes too slowly."""
    try:
        return parse_form((await request.body()).decode())
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from None
    except ClientDisconnect:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE) from None
    except TimeoutError:
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT) from None


def by_script(request: Request) -> bool:
    """Whether hall.js asks, which shows the reply itself; a browser alone is sent on to a page, so that reloading repeats nothing."""
    return "x-hall" in request.headers


def redirect(to: str) -> Response:
    """A reply that sends a browser to another page."""
    return RedirectResponse(to, HTTPStatus.SEE_OTHER)


# --- parts that are kept up to date


def digest(parts: Parts) -> str:
    """A hash that differs when the parts differ."""
    return sha256(json.dumps(dict(parts)).encode()).hexdigest()[:16]


def live(
    request: Request,
    name: str,
    title: str,
    draw: Callable[[], Mapping[str, Any]],
    watching: set[Callable[[], object]],
    still: Mapping[str, Any] = NONE,
    status: int = 200,
    presence: Callable[[int], object] = lambda opened: None,
    **told: str,
) -> Response:
    """A page of templates/NAME, whose own blocks are kept up to date, and at its second address (`routes_of`) what keeps them so.

    Each block is in an element of its name (`data-part`), filled in with what `draw` gives, and nothing else; all around with `still`,
    too. `watching` are told of changes, `presence` of a page that is kept up to date from now on (1), or no longer (-1). `told` is
    for the second address alone.
    """
    if streams(request):
        return _stream(request, lambda: parts_of(name, draw()), watching, presence)
    context, url = draw(), request.url.include_query_params(**told)
    at, seen = f"{url.path.rstrip('/')}{EVENTS}?{url.query}", digest(parts_of(name, context))
    return render(request, name, status, title=title, live=at, seen=seen, **{**still, **context})


def routes_of(path: str, page: Callable[[Request], Awaitable[Response]], *methods: str) -> list[Route]:
    """The two addresses of a page that is `live`."""
    return [Route(path, page, methods=["GET", *methods]), Route(f"{path.rstrip('/')}{EVENTS}", page)]


def streams(request: Request) -> bool:
    """Whether a request is for the events of a page, not for the page itself."""
    return request.url.path.endswith(EVENTS)


def _stream(
    request: Request, draw: Callable[[], Parts], watching: set[Callable[[], object]], presence: Callable[[int], object]
) -> Response:
    """Server-sent events: `parts` that have changed since they were last sent, and `ping`."""
    again = "last-event-id" in request.headers  # it may show what a form brought since then: it is sent everything
    seen = "" if again else request.query_params.get("seen", "")

    async def events() -> AsyncIterator[str]:
        changed = asyncio.Event()
        changed.set()
        watching.add(changed.set)
        request.app.state.streams.add(changed.set)
        sent_parts: dict[str, str] = {}
        last, stopping = seen, request.app.state.stopping
        presence(1)
        try:
            yield "retry: 1000\nid: here\n\n"  # with an id, a browser that connects again says so
            while not stopping.is_set():
                try:
                    async with asyncio.timeout(PING):
                        await changed.wait()
                except TimeoutError:
                    yield "event: ping\ndata:\n\n"
                    continue
                await asyncio.sleep(0 if stopping.is_set() else SOON)
                changed.clear()
                at = time_ns() // 1000
                try:
                    parts = dict(draw())
                except Exception:
                    log.exception("a page could not be drawn: it is drawn again in %d seconds", AGAIN)
                    asyncio.get_running_loop().call_later(AGAIN, changed.set)
                    continue
                now = digest(parts)
                news = (
                    {name: html for name, html in parts.items() if sent_parts.get(name) != html} if now != last else {}
                )
                sent_parts, last = parts, now
                if news:
                    yield f"event: parts\nid: {now}\ndata: {json.dumps({'at': at, 'parts': news})}\n\n"
        finally:
            watching.discard(changed.set)
            request.app.state.streams.discard(changed.set)
            presence(-1)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


# --- files


FILES = {each.name: sha256(each.read_bytes()).hexdigest()[:12] for each in (HERE / "static").iterdir()}
"""Name -> what changes in its address when the file does."""
FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable"}


def static(name: str) -> str:
    """The address of a file."""
    return f"/static/{name}?v={FILES[name]}"


templates.globals["static"] = static


async def _serve_file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        raise NoPage("No such file", "There is no file of this name.")
    return FileResponse(HERE / "static" / name, headers=FOR_GOOD)


routes = [Route("/static/{name}", _serve_file)]
