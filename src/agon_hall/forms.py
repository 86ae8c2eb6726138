"""Forms for the answers of a seat, and for all that agon.games.inputs describes. This module draws and reads them, and keeps nothing."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, NamedTuple

from agon.agents.telling import parse_reply
from agon.games import Choice, Observation
from agon.games.html import label, text
from agon.games.inputs import (
    Button,
    CountField,
    Entered,
    Field,
    FieldSet,
    Group,
    InvalidEntry,
    LineField,
    ListField,
    TextField,
    Thing,
    TickField,
    fields_of,
    options,
)
from agon.games.pages import Scene, page_of
from agon.games.spaces import Offer, Space, from_json
from agon_hall.language import ENGLISH, Say
from agon_hall.web import Sent, safe, templates

BUTTONS = 8
"""Options that are a button each; more are a list to choose from."""
Made = Callable[[Entered], Sequence[Thing]]
"""The fields of a form, which depend on what has been entered so far."""
PRESSED = "press"
"""The field that says which button was pressed; empty for none."""


class Pressed(NamedTuple):
    """The result of a form that was sent."""

    entered: dict[str, Any]
    why: str = ""
    """Why the entries are refused; empty if they are not."""
    actions: list[Any] | None = None
    """The actions to send; None if there are none."""


def draw(
    made: Made, entered: Entered, name: str, question: str = "", why: str = "", say: Say = ENGLISH, **hidden: str
) -> str:
    """A form as HTML. `question` says what it asks: what is typed stays in the browser as long as that is the same."""
    things = made(entered)
    template: Any = templates.get_template("form.html").module
    return str(template.things(things, entered, name, say, question, why, hidden)) if things else ""


def press(made: Made, entered: Entered, sent: Sent) -> Pressed:
    """What a form holds after it was sent, and what its button does."""
    now = dict(entered)
    for _ in range(5):  # what is entered may bring other fields, which were sent, too
        before, now = now, now | _read(made(now), sent)
        if now == before:
            break
    key = sent.get(PRESSED, "")
    button = next(
        (thing for thing in _all(made(now)) if isinstance(thing, Button) and key in (thing.key, thing.label)), None
    )
    if not key or button is None:
        return Pressed(now)
    try:
        outcome = button.do()
    except InvalidEntry as error:
        return Pressed(now, str(error))
    return Pressed(now, actions=outcome) if isinstance(outcome, list) else Pressed(dict(outcome))


def _all(things: Sequence[Thing]) -> Iterator[Thing]:
    for thing in things:
        yield from _all(thing.things) if isinstance(thing, Group) else (thing,)


def _read(things: Sequence[Thing], sent: Sent) -> dict[str, Any]:
    """What was entered into these things; a field that was not sent is left out."""
    values: dict[str, Any] = {}
    for thing in _all(things):
        if not isinstance(thing, Field):
            continue
        value = sent.get(thing.key)
        if isinstance(thing, TickField):
            if value is not None or PRESSED in sent:  # no box that is ticked is sent by no value at all
                values[thing.key] = [
                    thing.options[label] for label in sent.getlist(thing.key) if label in thing.options
                ]
        elif value is None:
            continue
        elif isinstance(thing, ListField):
            if value in thing.options:
                values[thing.key] = thing.options[value]
        elif isinstance(thing, CountField):
            if value.strip().isdecimal() and len(value) < 10:
                values[thing.key] = min(thing.last, max(thing.first, int(value)))
        else:
            values[thing.key] = value
    return values


# --- functions of the template


def _is_chosen(thing: ListField, entered: Entered, label: str) -> bool:
    chosen = thing.chosen(entered)
    return thing.options[label] in chosen if isinstance(thing, TickField) else bool(thing.options[label] == chosen)


def _first_press(things: Sequence[Thing]) -> str:
    """What Enter presses where there are no scripts: the button that a line names, or none."""
    return next((thing.press for thing in _all(things) if isinstance(thing, LineField) and thing.press), "")


templates.globals |= {
    "kind_of": lambda thing: type(thing).__name__,
    "is_chosen": _is_chosen,
    "first_press": _first_press,
}
templates.filters["html"] = safe


# --- answers of a seat


def answer_form(scene: Scene, entered: Entered) -> Sequence[Thing]:
    """The form of a seat's answer, given the entries so far."""
    family_form = page_of(scene.view.rules).form(scene, entered)
    return any_form(scene.view, entered) if family_form is None else family_form


def any_form(view: Observation, entered: Entered) -> list[Thing]:
    """What an action of any space is entered by: a button for each of a few options, else fields and a button."""
    if isinstance(view.legal, Choice) and len(view.legal.options) <= BUTTONS:
        return [
            Button(name, partial(list, [option]), main=False) for name, option in options(view.legal.options).items()
        ]
    name, label_of = "" if isinstance(view.legal, Offer) else "Your answer", partial(page_of(view.rules).part, view)
    part = fields_of(view.legal, "answer", name, entered, label_of) or _written(view.legal, entered)
    first, *more = part.things
    if isinstance(first, LineField) and not more:
        first = replace(first, press="Send")
    return [first, *more, Button("Send", lambda: [part.read()])]


def _written(space: Space, entered: Entered) -> FieldSet:
    """A space that no fields are made for: an action is written as a model writes it, or as JSON."""
    example = space.example(Random(0))
    words, formatted = json.dumps(example, ensure_ascii=False), space.format(example)
    more = f" It says: {text(formatted)}" if formatted != words else ""

    def read() -> Any:
        typed = str(entered.get("answer") or "")
        parsed = parse_reply(typed, space)
        if parsed.action is not None:
            return parsed.action
        try:
            action = from_json(typed)
        except (ValueError, RecursionError) as error:
            raise InvalidEntry(f"{parsed.fault}; nor is it JSON: {label(error, 200)}") from None
        if action not in space:
            raise InvalidEntry("This is not one of the answers that are allowed here.")
        return action

    box = TextField(key="answer", label="Your answer, in words or as JSON")
    return FieldSet((f"<p>For example: <code>{text(words)}</code>.{more}</p>", box), read)
