"""How pages look: the style sheets, and blocks, stacks and widgets that take little memory."""

import functools
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, ClassVar

import panel as pn
import param
from bokeh.models import Column, FlexBox, Row
from panel.layout.base import ListPanel
from panel.models.markup import HTML
from panel.reactive import Reactive

from agon.games.inputs import WIDEST

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


class Lean(Reactive):
    """Looks for changes of what changes here alone. To look for all that could change takes half the memory of a page."""

    changing: ClassVar[tuple[str, ...]] = (
        "object",
        "objects",
        "visible",
        "disabled",
        "label",
        "name",
        "value",
        "options",
    )
    __abstract = True

    def _link_params(self) -> None:
        names = [name for name in self.changing if name in self.param]
        self._internal_callbacks.append(self.param.watch(self._param_change, names))


@functools.cache
def lean(kind: type[Reactive]) -> type[Reactive]:
    """The same widget, lean."""
    return type(kind.__name__, (Lean, kind), {"__doc__": kind.__doc__})


class Block(Lean):
    """Markup, whose scripts do not run. Panel's own pane of HTML does the same with twice the objects and time."""

    object = param.String("", doc="All of it; everything from outside went through agon.games.html.text.")
    disable_math = param.Boolean(True)
    run_scripts = param.Boolean(False)
    _rename: ClassVar[Mapping[str, str | None]] = {"object": "text"}

    def _get_model(self, doc: Any, root: Any = None, parent: Any = None, comm: Any = None) -> HTML:
        model = HTML(**self._get_properties(doc))
        self._models[(root or model).ref["id"]] = (model, parent)
        return model  # to which nothing comes from the browser

    def _process_param_change(self, params: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = super()._process_param_change(params)
        if "text" in found:
            found["text"] = escape(found["text"])  # the browser's half unescapes it
        return found


class Stack(Lean, ListPanel):
    """Things below one another. Panel's own column also listens to how far it is scrolled, at twice the cost."""

    _bokeh_model: ClassVar[type[FlexBox]] = Column
    _direction = "vertical"
    _stylesheets: ClassVar[list[str]] = pn.Column._stylesheets
    _linked_properties = ()


class Wrapped(Stack):
    """Things beside one another, in as many lines as they need; at least as wide as the widest, as in a stack."""

    _bokeh_model: ClassVar[type[FlexBox]] = Row


def stack(*things: Any, **more: Any) -> Stack:
    """Things below one another, as wide as there is room."""
    return Stack(*things, **({"sizing_mode": "stretch_width"} | more))


def wrapped(*things: Any) -> Wrapped:
    """Things beside one another, the lower edges of a line in one line, however many lines they need."""
    style = ":host { flex-wrap: wrap; } * { align-self: flex-end; }"
    return Wrapped(*things, sizing_mode="stretch_width", stylesheets=[style])


def block(html: str, style: str = "", **more: Any) -> Block:
    """A block of markup in the looks of the hall, and in a `style` of its own."""
    looks = {"sizing_mode": "stretch_width", "margin": (4, 8)}
    return Block(object=html, stylesheets=[CSS + style], **(looks | more))  # type: ignore[no-untyped-call]


def styled(kind: Callable[..., Any], name: str, **more: Any) -> Any:
    """A native widget in the looks of the hall."""
    looks = {"sizing_mode": "stretch_width", "max_width": WIDEST, "min_width": 100, "margin": (4, 8)}
    return lean(kind)(label=name, stylesheets=[WIDGETS], **(looks | more))


def button(name: str, pressed: Callable[[], Any], main: bool = True, **more: Any) -> Any:
    """A button; `main` where it is what one most likely wants. A press that comes when it cannot be pressed any more does nothing."""
    made = styled(pn.widgets.Button, name, color="primary" if main else "default", **more)
    made.on_click(lambda event: pressed() if made.visible and not made.disabled else None)
    return made
