"""Forms for the answers of a seat, and for all fields of agon.games.inputs.

This module draws and reads forms; it stores nothing.
"""

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
from agon.games.sentences import ENGLISH, Say
from agon.games.spaces import Number, Offer, Space, from_json
from agon_hall.web import Sent, safe, templates

BUTTONS = 8
"""The most options that are shown as buttons. More options are shown as a list."""
FormBuilder = Callable[[Entered], Sequence[Thing]]
"""Takes the entries so far and returns the fields of the form, which may depend on them."""
PRESS = "press"
"""The field with the key of the pressed button; empty if no button was pressed."""


class FormResult(NamedTuple):
    """The result of a form that a person sent."""

    entries: dict[str, Any]
    why: str = ""
    """Why the entries are refused; empty if they are not."""
    actions: list[Any] | None = None
    """The actions to send; None if there are none."""


def draw(
    build: FormBuilder,
    entries: Entered,
    name: str,
    question: str = "",
    why: str = "",
    say: Say = ENGLISH,
    **hidden: str,
) -> str:
    """A form as HTML.

    The browser keeps typed text as long as `question` (the number of the question) stays the same.
    """
    things = build(entries)
    template: Any = templates.get_template("form.html").module
    return str(template.things(things, entries, name, say, question, why, hidden)) if things else ""


def press(build: FormBuilder, entries: Entered, sent: Sent) -> FormResult:
    """The entries of a form that was sent, and the effect of its button."""
    now = dict(entries)
    for _ in range(5):  # an entry may add fields, whose values were sent too
        before, now = now, now | _read(build(now), sent)
        if now == before:
            break
    key = sent.get(PRESS, "")
    button = next(
        (thing for thing in _all(build(now)) if isinstance(thing, Button) and key in (thing.key, thing.label)), None
    )
    if not key or button is None:
        return FormResult(now)
    try:
        outcome = button.do()
    except InvalidEntry as error:
        return FormResult(now, str(error))
    return FormResult(now, actions=outcome) if isinstance(outcome, list) else FormResult(dict(outcome))


def _all(things: Sequence[Thing]) -> Iterator[Thing]:
    for thing in things:
        yield from _all(thing.things) if isinstance(thing, Group) else (thing,)


def _read(things: Sequence[Thing], sent: Sent) -> dict[str, Any]:
    """The entries of these things. A field that was not sent is left out."""
    values: dict[str, Any] = {}
    for thing in _all(things):
        if not isinstance(thing, Field):
            continue
        value = sent.get(thing.key)
        if isinstance(thing, TickField):
            if value is not None or PRESS in sent:  # browsers send nothing if no box is ticked
                values[thing.key] = [
                    thing.options[label] for label in sent.getlist(thing.key) if label in thing.options
                ]
        elif value is None:
            continue
        elif isinstance(thing, ListField):
            if value in thing.options:
                values[thing.key] = thing.options[value]
        else:
            values[thing.key] = value
    return values


# --- functions of the template


def _is_chosen(thing: ListField, entries: Entered, label: str) -> bool:
    chosen = thing.chosen(entries)
    return thing.options[label] in chosen if isinstance(thing, TickField) else bool(thing.options[label] == chosen)


def _first_press(things: Sequence[Thing]) -> str:
    """The button that Enter presses without scripts: the one that a line names; empty if no line names one."""
    return next((thing.press for thing in _all(things) if isinstance(thing, LineField) and thing.press), "")


templates.globals |= {
    "kind_of": lambda thing: type(thing).__name__,
    "is_chosen": _is_chosen,
    "first_press": _first_press,
}
templates.filters["html"] = safe


# --- answers of a seat


def answer_form(scene: Scene, entries: Entered) -> Sequence[Thing]:
    """The form of a seat's answer after the entries so far."""
    family_form = page_of(scene.view.rules).form(scene, entries)
    return any_form(scene.view, entries, scene.say) if family_form is None else family_form


def any_form(view: Observation, entries: Entered, say: Say = ENGLISH) -> list[Thing]:
    """The form for an action of any space: a button for each of a few options, otherwise fields and a button."""
    page = page_of(view.rules)
    space = page.playable(view)
    if isinstance(space, Choice) and len(space.options) <= BUTTONS:
        return [Button(name, partial(list, [option]), main=False) for name, option in options(space.options).items()]
    if isinstance(space, Number) and space.low == space.high:
        return [Button(say("Go on with {}, the only number that is left", space.low), partial(list, [space.low]))]
    name = "" if isinstance(space, Offer) else say("Your answer")
    part = fields_of(space, "answer", name, entries, say, partial(page.part, view, say=say))
    part = part or _text_field(space, entries, say)
    first, *more = part.things
    if isinstance(first, LineField) and not more:
        first = replace(first, press=say("Send"))
    return [first, *more, Button(say("Send"), lambda: [part.read()])]


def _text_field(space: Space, entries: Entered, say: Say) -> FieldSet:
    """The form for a space without fields of its own: the person writes an action as a model does, or as JSON."""
    example = space.example(Random(0))
    words, formatted = json.dumps(example, ensure_ascii=False), space.format(example)
    more = f" {say('It says: {}', text(formatted))}" if formatted != words else ""

    def read() -> Any:
        typed = str(entries.get("answer") or "")
        parsed = parse_reply(typed, space)
        if parsed.action is not None:
            return parsed.action
        try:
            action = from_json(typed)
        except (ValueError, RecursionError) as error:
            raise InvalidEntry(say("{}; nor is it JSON: {}", parsed.fault, label(error, 200))) from None
        if action not in space:
            raise InvalidEntry(say("This is not one of the answers that the rules allow."))
        return action

    box = TextField(key="answer", label=say("Your answer, in words or as JSON"))
    return FieldSet((f"<p>{say('For example: {}.', f'<code>{text(words)}</code>')}{more}</p>", box), read)
