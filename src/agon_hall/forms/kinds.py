"""Fields of several questions, of spaces that nobody knows, and the choice of the field for a space."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import panel as pn

from agon.games.rating.game import ORDERS, Ratings
from agon.games.spaces import Choice, Form, Number, Offer, Space, Text
from agon_hall.forms.fields import (
    ENDLESS,
    ChoiceField,
    Field,
    InvalidEntry,
    NumberField,
    OfferField,
    TextField,
    share_of,
)
from agon_hall.look import block, line, stack, styled, text, wrapped


def field(space: Space, label: str) -> Field:
    """The field for a space, whatever it is."""
    for kind, made in KINDS:
        if isinstance(space, kind):
            return made(space, label)
    return JsonField(space, label)


class PartsField:
    """Several questions at once."""

    def __init__(self, space: Form, label: str, called: Callable[[str], str] = line) -> None:
        self.parts = [(called(name), field(part, called(name))) for name, part in space.parts]
        self.widgets = [widget for _, part in self.parts for widget in part.widgets]
        self.panel = stack(*(part.panel for _, part in self.parts))

    def read(self) -> tuple[Any, ...]:
        """An answer to each question, in order."""
        found = []
        for name, part in self.parts:
            try:
                found.append(part.read())
            except InvalidEntry as error:
                said = str(error)
                raise InvalidEntry(said if said.startswith(name) else f"{name}: {said}") from None
        return tuple(found)


class RatingsField:
    """A score, or three yes or no, and a reason, for every turn and player."""

    def __init__(self, space: Ratings, label: str) -> None:
        self.space, self.rows, shown = space, list[tuple[int, str, Any, Any]](), list[Any]()
        self.widgets: list[Any] = []
        for turn, player in space.units():
            who = f"Turn {turn}, {line(player, 40)}"
            if space.orders:
                named = {f"{who}: {order} order": place for place, order in enumerate(ORDERS)}
                value = styled(
                    pn.widgets.CheckBoxGroup,
                    f"{who}: what is shown",
                    options=named,
                    value=[],
                    width=300,
                    sizing_mode=None,
                )
            else:
                value = styled(
                    pn.widgets.TextInput, f"{who}: score, 0 to 1", max_length=ENDLESS, width=260, sizing_mode=None
                )
            why = styled(
                pn.widgets.TextInput, f"{who}: why (may be empty)", max_length=ENDLESS, width=320, sizing_mode=None
            )
            self.rows.append((turn, player, value, why))
            self.widgets += [value, why]
            shown.append(wrapped(value, why))
        said = "Tick what is shown; what is not ticked counts as not shown." if space.orders else ""
        self.panel = stack(*([block(f"<p>{said}</p>")] if said else []), *shown)

    def read(self) -> tuple[Any, ...]:
        """A rating for every turn and player."""
        rated = tuple(
            (turn, player, self._value(value.value, f"Turn {turn}, {line(player, 40)}"), why.value or "")
            for turn, player, value, why in self.rows
        )
        if fault := self.space.fault(rated):
            raise InvalidEntry(fault[:1].upper() + fault[1:] + ".")
        return rated

    def _value(self, entered: Any, who: str) -> Any:
        if self.space.orders:
            return tuple(place in entered for place in range(len(ORDERS)))
        score = share_of(entered)
        if score is None or score > 1:
            raise InvalidEntry(f"{who}: enter a score from 0 to 1, such as 0.7.")
        return score


class JsonField:
    """Any space: an action is written as JSON."""

    def __init__(self, space: Space, label: str) -> None:
        self.space = space
        example = space.example(Random(0))
        self.box = styled(
            pn.widgets.TextAreaInput,
            f"{label}: your answer, as JSON",
            max_length=ENDLESS,
            rows=4,
            auto_grow=True,
            max_rows=20,
        )
        written, spelled = json.dumps(example, ensure_ascii=False), space.spelled(example)
        more = f" It says: {text(spelled)}" if spelled != written else ""
        said = block(f"<p>For example: <code>{text(written)}</code>.{more}</p>")
        self.panel, self.widgets = stack(said, self.box), [self.box]

    def read(self) -> Any:
        """The action."""
        try:
            action = _frozen(json.loads(self.box.value or "", parse_constant=_no_number))
        except (ValueError, RecursionError) as error:
            raise InvalidEntry(f"This is no JSON: {line(error, 200)}") from None
        if action not in self.space:
            raise InvalidEntry("This is not one of the answers that are allowed here.")
        return action


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _frozen(value: Any) -> Any:
    """Lists as tuples, which actions are."""
    if isinstance(value, Mapping):
        return {name: _frozen(each) for name, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


KINDS: tuple[tuple[type[Any], Callable[[Any, str], Field]], ...] = (
    (Choice, ChoiceField),
    (Number, NumberField),
    (Text, TextField),
    (Offer, OfferField),
    (Form, PartsField),
    (Ratings, RatingsField),
)
"""Kind of space -> its field."""
