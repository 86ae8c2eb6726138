"""What all pages have in common: the page around the widgets, and telling a page that something has changed."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import panel as pn
from bokeh.document import Document
from bokeh.models import CustomJS
from jinja2 import Template
from panel.io import document as io
from panel.io.state import set_curdoc

from agon.games.html import text
from agon_hall.look import Block, block

AROUND = Template("""
{% extends base %}
{% block postamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<style>
body { background: #ffffff; color: #1a1a1a; font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main, header, footer { max-width: 60rem; margin: 0 auto; padding: .5rem 1rem; box-sizing: border-box; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; align-items: baseline; border-bottom: 2px solid #0b4f9e; }
header strong { font-size: 1.2rem; } header a { color: #0b4f9e; padding: .4rem 0; }
#lost { position: sticky; top: 0; z-index: 9; max-width: 58rem; margin: 0 auto; padding: .6rem 1rem; background: #a3161b; color: #ffffff; }
a:focus-visible { outline: 3px solid #0b4f9e; outline-offset: 2px; }
</style>
{% endblock %}
{% block contents %}
<header><strong>agon</strong>{% for name, link in links %} <a href="{{ link | e }}">{{ name | e }}</a>{% endfor %}</header>
<p id="lost" role="alert" hidden>{{ lost | e }}</p>
<main>{{ embed(roots.content) }}</main>
{% endblock %}
""")

LINKS = (("Tables", "/"), ("Transcripts", "/transcripts"), ("As anybody saw it", "/public"))
"""For researchers; players have none."""

LOST = "The connection is lost. Reload this page to go on where you were; what you have sent is kept."


class Page(pn.Template):
    """A template without what Panel makes for every page, should it be shown in a notebook: itself in words, and a button."""

    def __repr__(self) -> str:
        return "a page of agon"

    def _build_layout(self) -> pn.Column:
        return pn.Column(Block())  # type: ignore[no-untyped-call]


def page(content: pn.viewable.Viewable, links: Sequence[tuple[str, str]] = ()) -> pn.Template:
    """A whole page with one root."""
    made = Page(AROUND)
    made.add_variable("links", list(links))
    made.add_variable("lost", LOST)
    made.add_panel("content", content)
    if (document := pn.state.curdoc) is not None:
        document.js_on_event("connection_lost", CustomJS(code="window.document.getElementById('lost').hidden = false"))
        if document.session_context is not None:
            pn.state.onload(partial(_opened, document, made, content))
    return made


def _opened(document: Any, made: pn.Template, content: pn.viewable.Viewable) -> None:
    """A browser has the page: when that is gone again the page is not kept for it, and taken apart."""
    destroy = document.destroy

    def closed(session: Any) -> None:
        _closed.append([document, made, *made.select(), *content.select(), *document.models])
        destroy(session)

    document.destroy = closed
    document.session_context.session.request_expiration()


_closed: list[list[Any]] = []
"""What closed pages were made of."""


async def taken_apart() -> None:
    """Takes closed pages apart, all the time, some seconds after they were closed.

    Their parts refer to one another in circles. Python can take such memory back only by looking through all there is,
    for half a second in which everybody waits.
    """
    while True:
        closed = _closed.copy()
        await asyncio.sleep(2)  # in which what was still to be done with them is done
        for parts in closed:
            for part in parts:
                vars(part).clear()
        del _closed[: len(closed)]


def refusal(title: str, why: str) -> pn.Template:
    """A page that says why there is none."""
    return page(block(f'<h1>{text(title)}</h1><p role="alert">{text(why)}</p>'))


SOON = 25
"""Milliseconds: what changes within them is drawn at once."""


class LiveView:
    """Draws again, soon after it is told that something has changed; on a server in the page's own turn, once for many."""

    def __init__(self, draw: Callable[[], None], watching: set[Callable[[], object]]) -> None:
        self._draw, self._due = draw, False
        self.document: Document | None = pn.state.curdoc
        watching.add(self.changed)
        if self.document is not None:
            self.document.on_session_destroyed(lambda context: watching.discard(self.changed))

    def changed(self) -> None:
        """Something has changed."""
        if self.document is None:
            self._draw()
        elif not self._due:
            self._due = True
            self.document.add_timeout_callback(self._now, SOON)

    def _now(self) -> None:
        assert self.document is not None
        self._due = False
        with together(self.document):
            self._draw()


@contextmanager
def together(document: Document) -> Iterator[None]:
    """What is changed in a page, in its own turn, is sent in one message, after what was sent before."""
    with set_curdoc(document):  # else it is the page of whoever caused the change
        if not pn.state.loaded:  # what is held would be lost
            yield
            return
        with pn.io.hold(document):
            yield


async def _written(document: Document, panels: Any = io._dispatch_msgs) -> None:
    """Writes what waits for a browser. Panel's own leaves lying, until more comes, what has come while it wrote (1.9.4)."""
    await panels(document)
    if document in io._WRITE_MSGS and document not in io._WRITE_BLOCK:
        io._WRITE_BLOCK[document] = True
        await _written(document)


io._dispatch_msgs = _written
