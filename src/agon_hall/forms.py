"""Forms: what a seat may answer, to be filled in. A form knows a view and nothing else, and sends only legal actions, once."""

import json
from collections.abc import Callable, Collection, Sequence
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
from agon_hall.inputs import Inputs
from agon_hall.look import Block

Send = Callable[[list[Any]], str | None]
"""Takes one or more legal actions, to be played one after another; None when they are accepted, or why they are not."""
BUTTONS = 8
"""Options that are a button each; more are a list to choose from."""


class TurnForm:
    """What a view is answered by; `panel` shows it. A refusal is said in one line in `said`, and everything typed stays."""

    def __init__(self, view: Observation, send: Send, said: Block, aids: Collection[str] | None = None) -> None:
        self.view, self._send, self._said, self._aids = view, send, said, aids
        self.inputs = Inputs(self._things, self.send, self.refuse)
        self.panel = self.inputs.panel

    def again(self, view: Observation) -> None:
        """Asks another view, empty and open as at first."""
        self.view = view
        self.inputs.again(self._things)

    def _things(self, entered: Entered) -> Sequence[Thing]:
        own = page_of(self.view.rules).form(Scene(self.view, aids=self._aids), entered)
        self._own = own is not None
        return any_form(self.view, entered) if own is None else own

    def send(self, actions: Sequence[Any]) -> None:
        """Sends actions, unless some have been accepted already, or one is not legal."""
        if self.inputs.closed or not self.panel.visible:
            return
        if any(action not in self.view.legal for action in actions):
            self.refuse("This is not one of the answers that are allowed here.")
            return
        self.inputs.closed = True  # while it is being sent, too
        reason: str | None = "This could not be sent. Please try again."
        try:
            reason = self._send(list(actions))
        finally:
            self.inputs.close(reason is None)
            if reason is not None:
                self.refuse(reason)
        if reason is None:
            spelled = "" if self._own else f": {label(self.view.legal.spelled(actions[0]), 200)}"
            self._say(f'<p role="status">✓ Sent{text(spelled)}</p>')

    def refuse(self, reason: str) -> None:
        """Says why nothing was sent; takes back what was said last where there is no reason."""
        if not reason:
            self._said.param.update(object="", visible=False)
            return
        self._say(f'<p role="alert" class="alert"><strong>Not sent.</strong> {text(reason)}</p>')

    def _say(self, html: str) -> None:
        if self._said.object == html:
            self._said.object = ""  # so that the same reason is said again
        self._said.param.update(object=html, visible=True)


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
    return [first, *more, Button("Send", lambda: [part.read()], wide=200)]


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
