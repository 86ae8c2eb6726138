"""Texts, fields and buttons for people, as plain data. They are computed anew after each entry."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agon.games.html import bars, label, text
from agon.games.sentences import Say
from agon.games.spaces import Choice, Form, Number, Offer, Space, Text, one_line

UNCHOSEN = object()
"""The value of a list before somebody chooses; it equals no option."""

Entered = Mapping[str, Any]
"""Key of a field -> its entry. Things may store more in it under keys of their own."""


class InvalidEntry(ValueError):
    """An entry that is no action, with the reason in words for the player."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a form."""

    key: str
    label: str
    value: Any = ""
    """The value before anything is entered."""


@dataclass(frozen=True, kw_only=True)
class LineField(Field):
    """A line of text."""

    press: str = ""
    """The key of the button that Enter presses."""
    keys: str = ""
    """The keypad of a phone: numeric, decimal, or empty for letters."""
    hint: str = ""
    """A text in the empty field."""
    suggestions: Sequence[str] = ()
    """Entries that the browser offers while one types."""


@dataclass(frozen=True, kw_only=True)
class TextField(Field):
    """A text of several lines."""

    rows: int = 4


@dataclass(frozen=True, kw_only=True)
class ListField(Field):
    """A list to choose one of `options` from (label -> value)."""

    options: Mapping[str, Any]

    def chosen(self, entered: Entered) -> Any:
        """The chosen value; the field's first value if the entry is no longer an option."""
        value = entered.get(self.key, self.value)
        return value if value in self.options.values() else self.value


@dataclass(frozen=True, kw_only=True)
class RadioField(ListField):
    """A list as round buttons side by side."""


@dataclass(frozen=True, kw_only=True)
class TickField(ListField):
    """Boxes to tick; the value is a list."""

    def chosen(self, entered: Entered) -> list[Any]:
        """The ticked values."""
        return list(entered.get(self.key, self.value))


@dataclass(frozen=True)
class Button:
    """A button. `do` returns actions to send (a list), or new entries (a mapping). Raises InvalidEntry."""

    label: str
    do: Callable[[], list[Any] | Mapping[str, Any]]
    main: bool = True
    """Whether it is the usual choice."""
    key: str = ""
    """The button's identity where its label changes."""


@dataclass(frozen=True)
class Group:
    """Things that belong together, in one of the styles of the hall's style sheet."""

    things: "Sequence[Thing]"
    look: str = "row"
    """One of: row (side by side), bar (the same, at full width), chips (small buttons), box, columns (Groups that stand
    side by side where there is room: `read` and `asked`, or twice `half`)."""


Thing = str | Field | Button | Group
"""A str is HTML."""


class FieldSet(NamedTuple):
    """The fields of an action, and `read`, which makes the action of the entries. It raises InvalidEntry where there is none."""

    things: tuple[Thing, ...]
    read: Callable[[], Any]


def options(values: Sequence[str]) -> dict[str, str]:
    """Label -> option; each label is one line, and all are different."""
    labels: dict[str, str] = {}
    for value in values:
        name = base = label(value, 120) or "(blank)"
        while name in labels:
            name = f"{base} ({len(labels) + 1})"
        labels[name] = value
    return labels


def with_unchosen(choices: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """The choices, and before them one of value UNCHOSEN, for a list in which nothing is chosen at first."""
    return {say("(choose)"): UNCHOSEN, **choices}


def parse_share(entry: str | None, say: Say) -> int | float | None:
    """The number (from 0) that was typed, with a point or the decimal mark of the language; None where it is none."""
    entry = (entry or "").strip().replace(say.decimal, ".")
    if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,17})?|\.[0-9]{1,17}", entry):
        return None
    return int(entry) if entry.isdigit() else float(entry)


# --- a function for each class of spaces


def fields_of(
    space: Space, key: str, name: str, entered: Entered, say: Say, part_label: Callable[[str], str] = label
) -> FieldSet | None:
    """The fields of a space. `name` is the question, and `part_label` gives the labels of a Form's parts.

    None for a space without fields here.
    """
    if isinstance(space, Form):
        return _form(space, key, entered, say, part_label)
    builder = next((builder for kind, builder in KINDS if isinstance(space, kind)), None)
    return None if builder is None else builder(space, key, name, entered, say)


def _choice(space: Choice, key: str, name: str, entered: Entered, say: Say) -> FieldSet:
    """One of several options; none is chosen before somebody chooses."""

    def read() -> Any:
        if (choice := entered.get(key, UNCHOSEN)) is UNCHOSEN:
            raise InvalidEntry(say("{}: choose one.", name))
        return choice

    return FieldSet(
        (ListField(key=key, label=name, value=UNCHOSEN, options=with_unchosen(options(space.options), say)),),
        read,
    )


def _number(space: Number, key: str, name: str, entered: Entered, say: Say) -> FieldSet:
    """A whole number."""
    span = say("a whole number from {} to {}", space.low, space.high)
    if space.step > 1:
        span = say("{} in steps of {}", span, space.step)

    def read() -> int:
        entry = str(entered.get(key) or "").strip()
        if not entry:
            raise InvalidEntry(say("Enter {}.", span))
        value = int(entry) if re.fullmatch(r"[+-]?[0-9]{1,18}", entry) else None
        if value is None or value not in space:
            raise InvalidEntry(say("“{}” is not {}.", label(entry, 40), span))
        return value

    return FieldSet((LineField(key=key, label=f"{name}: {span}", keys="numeric"),), read)


def text_fields(space: Text, key: str, name: str, entered: Entered, say: Say, optional: bool = False) -> FieldSet:
    """A line of limited length, with a count of the characters left."""
    value = one_line(str(entered.get(key) or ""))
    over = len(value) - space.length
    letters = say.count(abs(over), "character")
    note = say("{} too many", letters) if over > 0 else say("{} left", letters)

    def read() -> str:
        if over > 0:
            raise InvalidEntry(say("The text has {} characters; at most {} are allowed.", len(value), space.length))
        if not value and not optional:
            raise InvalidEntry(say("Write something first."))
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InvalidEntry(say("The text holds a character that cannot be written down."))
        return value

    box = TextField(key=key, label=say("{} (at most {} characters)", name, space.length))
    return FieldSet((box, f'<p class="{"bad" if over > 0 else "soft"}">{note}</p>'), read)


def _offer(space: Offer, key: str, name: str, entered: Entered, say: Say) -> FieldSet:
    """A share for each name; the sum is shown as it grows."""
    entries = [str(entered.get(f"{key}/{place}") or "").strip() for place in range(len(space.names))]
    boxes = [
        LineField(
            key=f"{key}/{place}",
            label=say("{}: a share from 0 to {}", label(part, 60), space.total),
            keys="decimal",
        )
        for place, part in enumerate(space.names)
    ]

    def read() -> tuple[float, ...]:
        shares = []
        for part, entry in zip(space.names, entries, strict=True):
            if not entry:
                raise InvalidEntry(say("{}: enter a share; 0 is one too.", label(part, 60)))
            share = parse_share(entry, say)
            if share is None or share > space.total:
                names = label(part, 60), label(entry, 40)
                raise InvalidEntry(say("{}: “{}” is no number from 0 to {}, such as {}.", *names, space.total, 33.3))
            shares.append(share)
        if tuple(shares) not in space:
            raise InvalidEntry(say("The shares sum to {}, not to {}.", round(sum(shares), 4), space.total))
        return tuple(shares)

    heading = [f"<p>{text(name)}</p>"] if name else []
    return FieldSet((*heading, *boxes, _sum(space, [parse_share(part, say) or 0 for part in entries], say)), read)


def _sum(space: Offer, shares: Sequence[float], say: Say) -> str:
    """The sum of the shares, the missing rest, and a picture."""
    total, missing = sum(shares), space.total - sum(shares)
    rest = f"<strong>{say.number(round(abs(missing), 4))}</strong>"
    if space.tolerance is None:
        note = say("Sums are not checked.")
    elif abs(missing) <= space.tolerance:
        note = f"✓ {say('That is all.')}"
    else:
        note = say("{} missing.", rest) if missing > 0 else say("{} too much.", rest)
    line = say("Sum so far: {} of {}.", f"<strong>{say.number(round(total, 4))}</strong>", space.total)
    title = say("Your division")
    picture = bars(title, [(title, shares)], space.names, space.total, say)
    return f"<p>{line} {note}</p>{picture if total > 0 else ''}"


def _form(space: Form, key: str, entered: Entered, say: Say, part_label: Callable[[str], str]) -> FieldSet | None:
    """Several questions at once."""
    names = [part_label(name) for name, _ in space.parts]
    parts = [
        fields_of(part_space, f"{key}/{place}", names[place], entered, say, part_label)
        for place, (_, part_space) in enumerate(space.parts)
    ]
    fieldsets = [part for part in parts if part is not None]
    if len(fieldsets) < len(parts):
        return None

    def read() -> tuple[Any, ...]:
        values = []
        for name, part in zip(names, fieldsets, strict=True):
            try:
                values.append(part.read())
            except InvalidEntry as error:
                message = str(error)
                raise InvalidEntry(message if message.startswith(name) else f"{name}: {message}") from None
        return tuple(values)

    return FieldSet(tuple(thing for part in fieldsets for thing in part.things), read)


KINDS: tuple[tuple[type[Space], Callable[[Any, str, str, Entered, Say], FieldSet]], ...] = (
    (Choice, _choice),
    (Number, _number),
    (Text, text_fields),
    (Offer, _offer),
)
"""(class of spaces, function that makes its fields)."""
