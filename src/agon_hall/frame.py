"""What all pages have in common: the page around the widgets, and telling a page that something has changed."""

import asyncio
import logging
from collections.abc import Callable, Sequence

import panel as pn
from bokeh.document import Document
from jinja2 import Template
from panel.viewable import Viewable

from agon.games.html import text
from agon_hall.look import block, in_turn

log = logging.getLogger("agon_hall")

AROUND = Template("""
{% extends base %}
{% block postamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
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
<main>{% for root in roots %}{{ embed(root) }}{% endfor %}</main>
<script>
const wait = setInterval(() => {
  const page = window.Bokeh && Bokeh.documents[0];
  if (!page) return;
  clearInterval(wait);
  page.on_event("connection_lost", () => { document.getElementById("lost").hidden = false; });
}, 100);
</script>
{% endblock %}
""")

LINKS = (("Tables", "/"), ("Transcripts", "/transcripts"), ("As anybody saw it", "/public"))
"""For researchers; players have none."""

LOST = "The connection is lost. Reload this page to go on where you were; what you have sent is kept."


def page(content: Viewable, links: Sequence[tuple[str, str]] = ()) -> Viewable:
    """The content of a page, with the frame around it where there is a document to be framed."""
    if (document := pn.state.curdoc) is not None:
        document.template = AROUND
        document.template_variables.update(links=list(links), lost=LOST)
    return content


def refusal(title: str, why: str) -> Viewable:
    """A page that says why there is none."""
    return page(block(f'<h1>{text(title)}</h1><p role="alert">{text(why)}</p>'))


SOON = 0.025
"""Seconds: what changes within them is drawn at once."""
AGAIN = 60
"""Seconds, at most, after which a page that could not be drawn is drawn again."""


class LiveView:
    """Draws again, soon after it is told that something has changed, once for many changes; until it can be drawn."""

    def __init__(self, draw: Callable[[], None], watching: set[Callable[[], object]]) -> None:
        self._draw, self._watching, self._due, self._wait = draw, watching, False, 0.5
        self.document: Document | None = pn.state.curdoc
        watching.add(self.changed)
        if self.document is not None:
            self.document.on_session_destroyed(lambda context: watching.discard(self.changed))

    def changed(self) -> None:
        """Something has changed."""
        if self.document is None:
            self._now()
        elif not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(SOON, in_turn, self.document, self._now)

    def _now(self) -> None:
        self._due = False
        if self.changed not in self._watching:  # the page has been closed
            return
        try:
            self._draw()
            self._wait = 0.5
        except Exception:
            self._wait = min(2 * self._wait, AGAIN)
            log.exception("a page could not be drawn: it is drawn again in %.0f seconds", self._wait)
            asyncio.get_running_loop().call_later(self._wait, self.changed)
