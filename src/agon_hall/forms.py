"""Forms of what a seat may answer: its family's, or one that any space of actions has. A form knows a view and nothing else."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from agon.agents.telling import answered
from agon.games import Choice, Observation
from agon.games.html import label, text
from agon.games.inputs import Button, Entered, FieldSet, InvalidEntry, LineField, TextField, Thing, fields_of, options
from agon.games.pages import Scene, page_of
from agon.games.spaces import Offer, Space, from_json

BUTTONS = 8
"""Options that are a button each; more are a list to choose from."""


def asked(scene: Scene, entered: Entered) -> Sequence[Thing]:
    """What a seat fills in, after something has been entered."""
    own = page_of(scene.view.rules).form(scene, entered)
    return any_form(scene.view, entered) if own is None else own


def any_form(view: Observation, entered: Entered) -> list[Thing]:
    """What an action of any space is entered by: a button for each of a few options, else fields and a button."""
    if isinstance(view.legal, Choice) and len(view.legal.options) <= BUTTONS:
        return [
            Button(name, partial(list, [option]), main=False) for name, option in options(view.legal.options).items()
        ]
    name, called = "" if isinstance(view.legal, Offer) else "Your answer", partial(page_of(view.rules).part, view)
    part = fields_of(view.legal, "answer", name, entered, called) or _written(view.legal, entered)
    first, *more = part.things
    if isinstance(first, LineField) and not more:
        first = replace(first, press="Send")
    return [first, *more, Button("Send", lambda: [part.read()])]


def _written(space: Space, entered: Entered) -> FieldSet:
    """A space that no fields are made for: an action is written as a model writes it, or as JSON."""
    example = space.example(Random(0))
    words, spelled = json.dumps(example, ensure_ascii=False), space.spelled(example)
    more = f" It says: {text(spelled)}" if spelled != words else ""

    def read() -> Any:
        typed = str(entered.get("answer") or "")
        found = answered(typed, space)
        if found.action is not None:
            return found.action
        try:
            action = from_json(typed)
        except (ValueError, RecursionError) as error:
            raise InvalidEntry(f"{found.fault}; nor is it JSON: {label(error, 200)}") from None
        if action not in space:
            raise InvalidEntry("This is not one of the answers that are allowed here.")
        return action

    box = TextField(key="answer", label="Your answer, in words or as JSON")
    return FieldSet((f"<p>For example: <code>{text(words)}</code>.{more}</p>", box), read)
