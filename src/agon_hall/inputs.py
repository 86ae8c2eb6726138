"""Inputs on a page: what agon.games.inputs describes as widgets, drawn anew whenever something is entered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import panel as pn

from agon.games.inputs import (
    Button,
    CountField,
    Entered,
    Field,
    Group,
    InvalidEntry,
    LineField,
    ListField,
    RadioField,
    TextField,
    Thing,
    TickField,
)
from agon_hall.look import WIDGETS, block, button, in_turn, stack, styled, wrapped

RADIOS = """
.bk-input-group { flex-wrap: wrap; gap: 0; }
.bk-input-group > label, .bk-input-group.bk-inline > label:not(:first-child) { flex: 1 1 165px; margin: 0; padding: .25em 0;
  font-weight: 400; white-space: nowrap; }
input[type=radio] { min-height: 0; width: 20px; height: 20px; margin: 0 .4em 0 0; vertical-align: -4px; }
"""
BOX = {"border": "1px solid #8a8f98", "border-radius": "4px"}
NAMELESS = "button { display: none !important; }"
"""The little buttons beside a number have no names; the keyboard's arrows do the same."""

FRESH: Entered = {}


class Inputs:
    """The things that `made` returns for what has been entered so far; `panel` shows them.

    `entered` is what has been entered from the start, `style` a style sheet for what is read.
    `send` takes the actions of a button that has some; `refuse` is told why what was entered does not do, or "" when it does.
    """

    def __init__(
        self,
        made: Callable[[Entered], Sequence[Thing]],
        send: Callable[[list[Any]], object] = lambda actions: None,
        refuse: Callable[[str], object] = lambda reason: None,
        entered: Entered = FRESH,
        style: str = "",
    ) -> None:
        self._made, self._send, self._refuse, self._style = made, send, refuse, style
        self.entered = dict(entered)
        self._typed: dict[str, str] = {}
        """What is typed into fields that have not been left yet."""
        self._shown: dict[tuple[type, str], Any] = {}
        """The widgets, by kind and key."""
        self._do: dict[str, Callable[[], list[Any] | Mapping[str, Any]]] = {}
        self._spare: dict[str, list[Any]] = {}
        """Blocks and groups that have been made, which are used again."""
        self._drawing = False
        self.closed = False
        """Whether nothing can be entered any more."""
        self.panel = stack()
        self.draw()

    def again(self, made: Callable[[Entered], Sequence[Thing]]) -> None:
        """Asks something else, or the same again: nothing is entered, and all is open."""
        self._made, self.entered, self._typed = made, {}, {}
        self.draw()
        self.close(False)

    def close(self, closed: bool = True) -> None:
        """Nothing can be entered any more; or it can again."""
        self.closed = closed
        for widget in self._shown.values():
            widget.disabled = closed

    def draw(self) -> None:
        """Shows what has been entered so far."""
        self._drawing, before = True, self._shown
        self._shown, self._do, used = {}, {}, {kind: iter(made) for kind, made in self._spare.items()}
        try:
            things = self._made(self.entered | self._typed)
            _hold(self.panel, [self._drawn(thing, before, used) for thing in things])
        except Exception:
            self._shown = before | self._shown  # what is typed into them is not lost
            raise
        finally:
            self._drawing = False

    def _drawn(self, thing: Thing, before: Mapping[Any, Any], used: dict[str, Iterator[Any]], look: str = "") -> Any:
        if isinstance(thing, str):
            html = self._spared("block", used)
            if html.object != thing:
                html.param.update(object=thing, visible=bool(thing))
            return html
        if isinstance(thing, Group):
            inner = [self._drawn(each, before, used, thing.look) for each in thing.things]
            return _hold(self._spared(thing.look, used), inner)
        key = thing.key or thing.label
        widget = self._shown[type(thing), key] = before.get((type(thing), key)) or self._widget(thing, key, look)
        wanted: dict[str, Any] = {"label": thing.label}
        if isinstance(thing, Button):
            self._do[key] = thing.do
        elif isinstance(thing, CountField):
            ends = {"start": thing.first, "end": max(thing.last, thing.first + 1)}
            wanted |= {**ends, "value": thing.count(self.entered)}
        elif isinstance(thing, ListField):
            wanted |= {"options": dict(thing.options), "value": thing.chosen(self.entered)}
        else:
            wanted["value"] = self.entered.get(key, thing.value)
        widget.param.update(**{name: value for name, value in wanted.items() if getattr(widget, name) != value})
        return widget

    def _spared(self, kind: str, used: dict[str, Iterator[Any]]) -> Any:
        """A block or group that is in no use, or a new one."""
        found = next(used.get(kind, iter(())), None)
        if found is None:
            found = block("", self._style, visible=False) if kind == "block" else GROUPS[kind]()
            self._spare.setdefault(kind, []).append(found)
        return found

    def _widget(self, thing: Field | Button, key: str, look: str) -> Any:
        looks: dict[str, Any] = {"max_width": thing.wide}
        if look == "row":
            looks = {"width": thing.wide, "sizing_mode": None}
        elif look == "bar":
            looks = {
                "max_width": None,
                "styles": {"flex": f"1 1 {thing.wide}px", "max-width": "100%", "min-width": "0"},
            }
        if isinstance(thing, Button):
            return button(thing.label, partial(self._pressed, key), thing.main, **looks)
        widget = _field(thing, looks)
        typed = ["value_input"] if getattr(thing, "live", False) else []
        widget.param.watch(partial(self._entered, key), ["value", *typed])
        if isinstance(thing, LineField) and thing.press:
            press = partial(self._pressed, thing.press)
            widget.param.watch(lambda event: in_turn(pn.state.curdoc, press), "enter_pressed")
        return widget

    def _entered(self, key: str, *events: Any) -> None:
        if self._drawing:
            return
        for event in sorted(events, key=lambda each: each.name == "value"):
            (self.entered if event.name == "value" else self._typed)[key] = event.new
            if event.name == "value":
                self._typed.pop(key, None)
        in_turn(pn.state.curdoc, self.draw)

    def _pressed(self, key: str) -> None:
        if self.closed or not self.panel.visible or key not in self._do:
            return
        try:
            done = self._do[key]()
        except InvalidEntry as error:
            self._refuse(str(error))
            return
        if isinstance(done, list):
            self._send(done)
        else:
            self._refuse("")
            self.entered, self._typed = dict(done), {}
            self.draw()


def _hold(group: Any, objects: list[Any]) -> Any:
    """`group` with these things in it."""
    if list(group.objects) != objects:
        group.objects = objects
    return group


def _field(thing: Field, looks: Mapping[str, Any]) -> Any:
    """The widget of an entry; a list or a line, unless it is of another kind."""
    if isinstance(thing, TextField):
        sizes = {"rows": thing.rows, "auto_grow": True, "max_rows": 3 * thing.rows}
        return styled(pn.widgets.TextAreaInput, thing.label, max_length=thing.most, **sizes, **looks)
    if isinstance(thing, LineField):
        return styled(pn.widgets.TextInput, thing.label, max_length=thing.most, placeholder=thing.hint, **looks)
    if isinstance(thing, CountField):
        sheets = {"stylesheets": [WIDGETS, NAMELESS], "sizing_mode": "stretch_width", "margin": (4, 8)} | dict(looks)
        return pn.widgets.IntInput(label=thing.label, start=thing.first, value=thing.first, **sheets)
    if isinstance(thing, TickField):
        return styled(pn.widgets.CheckBoxGroup, thing.label, options=dict(thing.options), value=[], **looks)
    assert isinstance(thing, ListField)
    if isinstance(thing, RadioField):
        looks = {"inline": True, "sizing_mode": "stretch_width", "stylesheets": [WIDGETS, RADIOS]} | dict(looks)
        return pn.widgets.RadioBoxGroup(label=thing.label, options=dict(thing.options), **looks)
    return styled(pn.widgets.Select, thing.label, options=dict(thing.options), value=thing.value, **looks)


def _column(flex: str) -> Callable[[], Any]:
    return partial(stack, styles={"flex": flex, "min-width": "0", "max-width": "100%"}, sizing_mode=None, margin=0)


GROUPS: dict[str, Callable[[], Any]] = {
    "row": wrapped,
    "bar": partial(wrapped, style=":host { gap: 0 8px; }", margin=0),
    "box": partial(stack, styles=BOX, margin=(4, 8)),
    "columns": partial(wrapped, style=""),
    "read": _column("3 1 340px"),
    "asked": _column("2 1 320px"),
    "half": _column("1 1 420px"),
}
"""What holds other things, by its look."""
