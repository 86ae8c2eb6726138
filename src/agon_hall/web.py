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
from agon.games.sentences import ENGLISH, Say
from agon_hall.firewall import EVENTS, address

log = logging.getLogger("agon_hall")

HERE = Path(__file__).parent
SOON = 0.025
"""Seconds. Changes within this time are sent together."""
PING = 15
"""Seconds between signs of life to a page without news."""
AGAIN = 5
"""Seconds until parts that could not be drawn are drawn again."""
LINKS = (("Tables", "/"), ("Transcripts", "/transcripts"), ("Studies", "/monitor"), ("Annotate", "/annotate"))
"""The links at the top of pages for researchers. Players have none."""
Sent = ImmutableMultiDict[str, str]
"""A form that was sent: name of a field -> its values."""
Parts = Mapping[str, str]
"""The parts of a page that change: id of an element -> its HTML."""
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
"""All values in templates are text; only values in `safe` are HTML."""
safe = Markup
templates.finalize = lambda value: plain(value) if type(value) is str else value
templates.globals["say"] = ENGLISH
templates.filters["clock"] = lambda at, how: f"{datetime.fromtimestamp(at):{how}}"
"""Seconds since 1970 as local time, in the format `how`."""
templates.filters["text"] = lambda value: safe(text(value))
"""Text without invisible characters and without marks that reverse other text.

It keeps lines and puts long texts in boxes.
"""


def render(request: Request, name: str | jinja2.Template, status: int = 200, **context: Any) -> HTMLResponse:
    """A page from templates/NAME. The context needs a `title`."""
    defaults = {"researcher": request.scope.get("researcher", False), "links": LINKS, "live": None}
    context.setdefault("at", time_ns() // 1000)
    return HTMLResponse(templates.get_template(name).render(defaults | context), status)


def parts_of(name: str, context: Mapping[str, Any]) -> Parts:
    """The blocks of templates/NAME that base.html does not have: name -> HTML."""
    template = templates.get_template(name)
    filled_context = template.new_context(dict(context))
    return {part: "".join(block(filled_context)) for part, block in template.blocks.items() if part not in PAGE}


class NoPage(Exception):
    """There is no page for a request, and the reader sees why, in the language of `say`.

    If `log_line` is not empty, it goes to the log.
    """

    def __init__(
        self, title: str, why: str, status: int = HTTPStatus.NOT_FOUND, log_line: str = "", say: Say = ENGLISH
    ) -> None:
        super().__init__(say(why))
        self.title, self.status, self.log_line, self.say = say(title), status, log_line, say


async def show_refusal(request: Request, error: Exception) -> Response:
    """The page for NoPage."""
    assert isinstance(error, NoPage)
    if error.log_line:
        log.warning("refused: %s, from %s", error.log_line, address(request.scope))
    return refusal_page(request, error.title, str(error), error.status, error.say)


def refusal_page(request: Request, title: str, why: str, status: int, say: Say = ENGLISH) -> Response:
    """The page that gives the reason of a refusal, which `say` has said."""
    return render(request, "refusal.html", status, title=title, why=why, say=say, lang=say.language)


def parse_form(body: str) -> Sent:
    """The fields of a form, with \\n at line ends and without control characters."""
    pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=2000)
    return Sent([(name, UNTYPED.sub("", value.replace("\r\n", "\n"))) for name, value in pairs])


async def read_form(request: Request) -> Sent:
    """The fields of a form. Raises HTTPException for a form that cannot be read, is too long or comes too slowly."""
    try:
        return parse_form((await request.body()).decode())
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from None
    except ClientDisconnect:
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE) from None
    except TimeoutError:
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT) from None


def by_script(request: Request) -> bool:
    """Whether hall.js sends the request and shows the reply.

    Without scripts, forms end in a redirect, so that reloads repeat nothing.
    """
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
    watchers: set[Callable[[], object]],
    frame: Mapping[str, Any] = NONE,
    status: int = 200,
    presence: Callable[[int], object] = lambda change: None,
    **stream_query: str,
) -> Response:
    """A page of templates/NAME that stays up to date; at its second address (`routes_of`) the stream of its changes.

    Each block of the template lies in an element with its name (`data-part`) and gets only the context of `draw`. The
    rest of the page also gets `frame`. `watchers` are called at changes. `presence` is called when the stream opens
    (1) and closes (-1). `stream_query` goes into the second address.
    """
    if streams(request):
        return _stream(request, lambda: parts_of(name, draw()), watchers, presence)
    context, url = draw(), request.url.include_query_params(**stream_query)
    at, seen = f"{url.path.rstrip('/')}{EVENTS}?{url.query}", digest(parts_of(name, context))
    return render(request, name, status, title=title, live=at, seen=seen, **{**frame, **context})


def routes_of(path: str, page: Callable[[Request], Awaitable[Response]], *methods: str) -> list[Route]:
    """The two addresses of a `live` page."""
    return [Route(path, page, methods=["GET", *methods]), Route(f"{path.rstrip('/')}{EVENTS}", page)]


def streams(request: Request) -> bool:
    """Whether a request is for the stream of a page, not for the page itself."""
    return request.url.path.endswith(EVENTS)


def _stream(
    request: Request, draw: Callable[[], Parts], watchers: set[Callable[[], object]], presence: Callable[[int], object]
) -> Response:
    """Server-sent events: `parts` with the parts that have changed, and `ping`."""
    again = "last-event-id" in request.headers  # the page may show a form's reply since then: it gets all parts
    seen = "" if again else request.query_params.get("seen", "")

    async def events() -> AsyncIterator[str]:
        news_event = asyncio.Event()
        news_event.set()
        watchers.add(news_event.set)
        request.app.state.streams.add(news_event.set)
        sent_parts: dict[str, str] = {}
        last, stopping = seen, request.app.state.stopping
        presence(1)
        try:
            yield "retry: 1000\nid: here\n\n"  # with an id, a browser that connects again sends it back
            while not stopping.is_set():
                try:
                    async with asyncio.timeout(PING):
                        await news_event.wait()
                except TimeoutError:
                    yield "event: ping\ndata:\n\n"
                    continue
                await asyncio.sleep(0 if stopping.is_set() else SOON)
                news_event.clear()
                at = time_ns() // 1000
                try:
                    parts = dict(draw())
                except Exception:
                    log.exception("a page could not be drawn: it is drawn again in %d seconds", AGAIN)
                    asyncio.get_running_loop().call_later(AGAIN, news_event.set)
                    continue
                now = digest(parts)
                news = (
                    {name: html for name, html in parts.items() if sent_parts.get(name) != html} if now != last else {}
                )
                sent_parts, last = parts, now
                if news:
                    yield f"event: parts\nid: {now}\ndata: {json.dumps({'at': at, 'parts': news})}\n\n"
        finally:
            watchers.discard(news_event.set)
            request.app.state.streams.discard(news_event.set)
            presence(-1)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


# --- files


FILES = {path.name: sha256(path.read_bytes()).hexdigest()[:12] for path in (HERE / "static").iterdir()}
"""Name of a static file -> hash of its content, which is part of its address."""
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
