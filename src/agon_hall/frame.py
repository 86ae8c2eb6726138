"""What all pages have in common: the page around the widgets, and telling a page that something has changed."""

from collections.abc import Callable, Sequence

import panel as pn
from bokeh.document import Document
from bokeh.models import CustomJS
from jinja2 import Template
from panel.viewable import Viewable

from agon.games.html import text
from agon_hall.look import block, together

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
<main>{% for root in roots %}{{ embed(root) }}{% endfor %}</main>
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
        document.js_on_event("connection_lost", CustomJS(code="window.document.getElementById('lost').hidden = false"))
    return content


def refusal(title: str, why: str) -> Viewable:
    """A page that says why there is none."""
    return page(block(f'<h1>{text(title)}</h1><p role="alert">{text(why)}</p>'))


SOON = 25
"""Milliseconds: what changes within them is drawn at once."""
AFTER = 500
"""Milliseconds after which Panel is made to send what it may still hold."""


class LiveView:
    """Draws again, soon after it is told that something has changed; on a server in the page's own turn, once for many."""

    def __init__(self, draw: Callable[[], None], watching: set[Callable[[], object]]) -> None:
        self._draw, self._due, self._flushing = draw, False, False
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
        if not self._flushing:
            self._flushing = True
            self.document.add_timeout_callback(self._flush, AFTER)

    def _flush(self) -> None:
        """Sends the title once more. Panel (1.9.4) may keep back a change made while it writes, until there is another one."""
        assert self.document is not None
        self._flushing = False
        with together(self.document):
            self.document.set_title(self.document.title)
