"""Fields: widgets for every kind of action space. A field reads what was entered, or says what is wrong with it."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import panel as pn

from agon.games.spaces import Choice, Number, Offer, Text
from agon_hall.boards.pictures import bars
from agon_hall.look import block, count, line, number, stack, styled, text

ENDLESS = 10**8
"""Characters that a box takes: too many are refused with a reason, never cut off."""


UNCHOSEN = object()
"""What a list holds before somebody chooses; no option is equal to it."""
NOTHING: dict[str, Any] = {"(choose)": UNCHOSEN}
"""The same with its label."""


class InvalidEntry(ValueError):
    """What was entered is no action; says why, for the player."""


class Sender(Protocol):
    """What the parts of a form may do with what was entered."""

    def send(self, actions: Sequence[Any]) -> None:
        """Sends actions."""

    def read(self, what: Callable[[], Any]) -> None:
        """Sends the action that `what` returns, or says why it cannot."""

    def refuse(self, reason: str) -> None:
        """Says why nothing was sent."""

    def clear(self) -> None:
        """Takes back what was said last."""


class Field(Protocol):
    """Widgets that together give one value."""

    panel: Any
    """To be shown."""
    widgets: list[Any]
    """All that can be typed into or pressed, in the order of the tab key."""

    def read(self) -> Any:
        """What was entered. Raises InvalidEntry."""


class ChoiceField:
    """One of several options; none is chosen before somebody chooses."""

    def __init__(self, space: Choice, label: str) -> None:
        offered = NOTHING | options(space.options)
        self.select = styled(pn.widgets.Select, label, options=offered, value=UNCHOSEN)
        self.panel, self.widgets = self.select, [self.select]
        self._label = label

    def read(self) -> Any:
        """The option."""
        if self.select.value is UNCHOSEN:
            raise InvalidEntry(f"{self._label}: choose one.")
        return self.select.value


def options(values: Sequence[str]) -> dict[str, str]:
    """Label -> option; labels are one line each, and different."""
    named: dict[str, str] = {}
    for value in values:
        name = label = line(value, 120) or "(blank)"
        while name in named:
            name = f"{label} ({len(named) + 1})"
        named[name] = value
    return named


class NumberField:
    """A whole number."""

    def __init__(self, space: Number, label: str) -> None:
        self.space = space
        self._range = f"from {number(space.low)} to {number(space.high)}"
        if space.step > 1:
            self._range += f" in steps of {number(space.step)}"
        self.box = styled(pn.widgets.TextInput, f"{label}: a whole number {self._range}", max_length=ENDLESS)
        self.panel, self.widgets = self.box, [self.box]

    def read(self) -> int:
        """The number."""
        entered = (self.box.value or "").strip()
        if not entered:
            raise InvalidEntry(f"Enter a whole number {self._range}.")
        value = int(entered) if re.fullmatch(r"[+-]?[0-9]{1,18}", entered) else None
        if value is None or value not in self.space:
            raise InvalidEntry(f"“{line(entered, 40)}” is no whole number {self._range}.")
        return value


class TextField:
    """A text of limited length, with a count of what is left."""

    def __init__(self, space: Text, label: str, optional: bool = False) -> None:
        self.space, self._optional = space, optional
        limit = f"at most {number(space.length)} characters"
        self.box = styled(
            pn.widgets.TextAreaInput, f"{label} ({limit})", max_length=ENDLESS, rows=4, auto_grow=True, max_rows=12
        )
        self.left = block("")
        self.box.param.watch(lambda *events: self._counted(events[-1].new), ["value", "value_input"])
        self._counted("")
        self.panel, self.widgets = stack(self.box, self.left), [self.box]

    def _counted(self, value: str | None) -> None:
        over = len(value or "") - self.space.length
        said = f"{count(over, 'character')} too many" if over > 0 else f"{count(-over, 'character')} left"
        html = f'<p class="{"bad" if over > 0 else "soft"}">{said}</p>'
        if self.left.object != html:
            self.left.object = html

    def read(self) -> str:
        """The text."""
        value = self.box.value or ""
        if len(value) > self.space.length:
            raise InvalidEntry(
                f"The text has {number(len(value))} characters; at most {number(self.space.length)} are allowed."
            )
        if not value.strip() and not self._optional:
            raise InvalidEntry("Write something first.")
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InvalidEntry("The text holds a character that cannot be written down.")
        return value


class OfferField:
    """A share for each name; the sum is shown as it grows."""

    def __init__(self, space: Offer, label: str) -> None:
        self.space = space
        self.widgets = [
            styled(
                pn.widgets.TextInput, f"{line(name, 60)}: a share from 0 to {number(space.total)}", max_length=ENDLESS
            )
            for name in space.names
        ]
        self.sum, self._typed = block(""), [""] * len(space.names)
        for place, box in enumerate(self.widgets):
            box.param.watch(partial(self._entered, place), ["value", "value_input"])
        self._summed()
        said = [block(f"<p>{text(label)}</p>")] if label else []
        self.panel = stack(*said, *self.widgets, self.sum)

    def _entered(self, place: int, *events: Any) -> None:
        self._typed[place] = events[-1].new
        self._summed()

    def _summed(self) -> None:
        """The sum, what is missing, and a picture."""
        shares = [share_of(typed) or 0 for typed in self._typed]
        total, missing = sum(shares), self.space.total - sum(shares)
        said = f"Sum so far: <strong>{number(round(total, 4))}</strong> of {number(self.space.total)}. "
        if self.space.tolerance is None:
            said += "Sums are not checked."
        elif abs(missing) <= self.space.tolerance:
            said += "✓ That is all."
        else:
            said += f"<strong>{number(round(abs(missing), 4))}</strong> {'missing' if missing > 0 else 'too much'}."
        picture = bars("Your division", [("Your division", shares)], self.space.names, self.space.total)
        self.sum.object = f"<p>{said}</p>{picture if total > 0 else ''}"

    def read(self) -> tuple[float, ...]:
        """The shares, in the names' order."""
        shares = []
        for name, box in zip(self.space.names, self.widgets, strict=True):
            entered = (box.value or "").strip()
            if not entered:
                raise InvalidEntry(f"{line(name, 60)}: enter a share; 0 is one too.")
            share = share_of(entered)
            if share is None or share > self.space.total:
                raise InvalidEntry(
                    f"{line(name, 60)}: “{line(entered, 40)}” is no number from 0 to {number(self.space.total)}, such as 33.3."
                )
            shares.append(share)
        made = tuple(shares)
        if made not in self.space:
            raise InvalidEntry(f"The shares sum to {number(round(sum(made), 4))}, not to {number(self.space.total)}.")
        return made


def share_of(entered: str | None) -> int | float | None:
    """A number from 0 as it was typed; None for what is none."""
    entered = (entered or "").strip()
    if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,17})?|\.[0-9]{1,17}", entered):
        return None
    return int(entered) if entered.isdigit() else float(entered)
