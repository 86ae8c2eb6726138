"""How pages look: the style sheets, and blocks, stacks and widgets that use them."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn
from bokeh.document import Document
from panel.io.state import set_curdoc

from agon.games.inputs import WIDEST

log = logging.getLogger("agon_hall")

CSS = """
:host { --ink: #1a1a1a; --soft: #4a4a4a; --line: #8a8f98; --tint: #eef2f7; --accent: #0b4f9e; --good: #14652d; --bad: #a3161b;
  color: #1a1a1a; font: 16px/1.45 system-ui, sans-serif; max-width: 100%; min-width: 0; box-sizing: border-box; }
h1, h2, h3 { line-height: 1.25; margin: .5em 0 .3em; } h1 { font-size: 1.6em; } h2 { font-size: 1.3em; } h3 { font-size: 1.08em; }
p, ul, ol { margin: .3em 0; } ul, ol { padding-left: 1.5em; } li { margin: .15em 0; }
p, li, dd, td, th, caption, h1, h2, h3, summary { overflow-wrap: anywhere; }
a { color: var(--accent); } a:hover { text-decoration-thickness: 3px; } small, .soft { color: var(--soft); font-size: .9em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.scroll { overflow-x: auto; max-width: 100%; margin: .4em 0; background: linear-gradient(to right, #fff 30%, transparent) 0 0,
  linear-gradient(to left, #fff 30%, transparent) 100% 0, linear-gradient(to left, #707780, transparent) 100% 0;
  background-repeat: no-repeat; background-size: 40px 100%, 40px 100%, 12px 100%; background-attachment: local, local, scroll; }
table { border-collapse: collapse; } caption { text-align: left; font-weight: 600; padding: .2em 0; }
th, td { border: 1px solid var(--line); padding: .3em .55em; text-align: left; vertical-align: top; min-width: 2.2em; }
.scroll th, .scroll td { overflow-wrap: break-word; } thead th { background: var(--tint); } th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.long { display: block; max-height: 12em; max-width: 40em; overflow: auto; border: 1px solid var(--line); padding: .3em;
  overflow-wrap: anywhere; }
.card { border: 1px solid var(--line); border-left: 6px solid var(--accent); border-radius: 4px; padding: .4em .8em; margin: .4em 0; }
.big { font-size: 1.35em; font-weight: 700; } .good { color: var(--good); } .bad { color: var(--bad); }
.alert { border: 2px solid var(--bad); border-radius: 4px; padding: .4em .7em; }
svg { display: block; max-width: 100%; height: auto; } svg text { font-family: system-ui, sans-serif; fill: #1a1a1a; }
@media (max-width: 480px) { th, td { padding: .25em .3em; } .scroll thead th { font-size: .93em; } }
details { margin: .3em 0; } summary { cursor: pointer; padding: .2em 0; font-weight: 600; }
.log { max-height: 36em; overflow: auto; border: 1px solid var(--line); padding: .3em .8em; } .log li { margin: .35em 0; }
.log .now { border-left: 6px solid var(--accent); background: var(--tint); padding: .1em .7em; } .log em, .phase { color: var(--soft); }
ul.tree { list-style: none; padding-left: 0; } ul.tree ul { list-style: none; padding-left: 1.1em; border-left: 2px solid var(--line); }
"""
"""For `block`s, which are out of reach of the page's own styles."""

WIDGETS = """
:host { color: #1a1a1a; font-size: 16px; }
label { font-weight: 600; font-size: 16px; white-space: normal; overflow-wrap: anywhere; }
.bk-input, input, textarea, select { font-size: 16px; color: #1a1a1a; border: 1px solid #6b7280; min-height: 40px; }
input[type=checkbox] { min-height: 0; width: 20px; height: 20px; margin-right: 8px; }
button.bk-btn { font-size: 16px; min-height: 44px; white-space: normal; overflow-wrap: anywhere; height: auto; text-align: center; }
button.bk-btn { border: 2px solid #0b4f9e !important; }
button.bk-btn-primary { background-color: #0b4f9e !important; color: #ffffff !important; }
button.bk-btn-default { background-color: #ffffff !important; color: #1a1a1a !important; }
button.bk-btn:hover { text-decoration: underline; } button.bk-btn[disabled] { opacity: .6; border-style: dashed; }
.bk-input:focus-visible, .bk-btn:focus-visible, input:focus-visible { outline: 3px solid #0b4f9e; outline-offset: 2px; }
"""
"""For native widgets."""


Block = pn.pane.HTML
"""Markup; everything in it that comes from outside went through agon.games.html.text."""
Stack = pn.Column
"""Things below one another."""


def stack(*things: Any, **more: Any) -> Stack:
    """Things below one another, as wide as there is room."""
    return Stack(*things, **({"sizing_mode": "stretch_width"} | more))


def wrapped(*things: Any, style: str = "* { align-self: flex-end; }", **more: Any) -> Stack:
    """Things beside one another, in as many lines as they need; the lower edges of a line are in one line."""
    sheets = [":host { flex-flow: row wrap; }", style]  # a row would be as wide as all things together
    return stack(*things, stylesheets=sheets, **more)


def block(html: str, style: str = "", **more: Any) -> Block:
    """A block of markup in the looks of the hall, and in a `style` of its own."""
    looks = {"sizing_mode": "stretch_width", "margin": (4, 8)}
    return Block(html, stylesheets=[CSS + style], **(looks | more))


def styled(kind: Callable[..., Any], name: str, **more: Any) -> Any:
    """A native widget in the looks of the hall."""
    looks = {"sizing_mode": "stretch_width", "max_width": WIDEST, "min_width": 100, "margin": (4, 8)}
    return kind(label=name, stylesheets=[WIDGETS], **(looks | more))


def button(name: str, pressed: Callable[[], Any], main: bool = True, **more: Any) -> Any:
    """A button; `main` where it is what one most likely wants. A press that comes when it cannot be pressed any more does nothing."""
    made = styled(pn.widgets.Button, name, color="primary" if main else "default", **more)

    def press(event: object) -> None:
        in_turn(pn.state.curdoc, lambda: pressed() if made.visible and not made.disabled else None)

    made.on_click(press)
    return made


def in_turn(document: Document | None, do: Callable[[], object]) -> None:
    """Does what changes a page: on a server in the page's own turn, once a browser shows it; elsewhere (None: a notebook) now.

    Bokeh sends the changes, in their order, when all are made. Whoever changes a page otherwise lets Panel (1.9.4) send them.
    It forgets some of them where a page is being loaded, and where it still writes others.
    """
    if document is None or document.session_context is None:
        do()
    else:
        document.add_next_tick_callback(partial(_turn, document, do))


def _turn(document: Document, do: Callable[[], object]) -> None:
    def now() -> None:
        document.hold("combine")
        try:
            do()
        except Exception:
            # not raised: what else waits for the page to be loaded would never be done
            log.exception("a page could not be changed")
        finally:
            document.unhold()

    with set_curdoc(document):  # else it is the page of whoever caused the change
        pn.state.onload(now)
