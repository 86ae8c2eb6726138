"""Action spaces: the legal answers of a seat, and how they are written and read."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import prod
from operator import index
from typing import Any, ClassVar, NoReturn, Protocol, TypeVar
from unicodedata import category

from agon.games.reading import Reading, folded, read_label, read_line, read_parts
from agon.games.schemas import AMOUNT, LONGEST, Schema, keys, object_of
from agon.games.strict import read_move, unmark, without_currency

T = TypeVar("T")

LISTED = 500
"""Most actions that are enumerated, but for a choice. A schema gives the first and the last of more numbers."""


class Dice(Protocol):
    """The only source of chance in games and agents, such as `random.Random`."""

    def random(self) -> float:
        """A float in [0, 1)."""

    def choice(self, seq: Sequence[T]) -> T:
        """One of `seq`, all equally likely."""


_UNSEEN = ("Cc", "Cf", "Zl", "Zp")
"""Unicode's categories of characters that control or format: line ends, tabs, invisible ones, and changes of direction."""


def is_one_line(text: str) -> bool:
    """Whether a text has no character that controls or formats it."""
    return text.isprintable() or not any(category(char) in _UNSEEN for char in text)


def one_line(text: str) -> str:
    """A text as one line: one space for any white space, and without characters that control or format."""
    if not is_one_line(text):
        text = "".join(char for char in text if char.isspace() or category(char) not in _UNSEEN)
    return " ".join(text.split())


def quoted(text: str) -> str:
    """A text as a JSON string in one line. Prompts quote other players this way."""
    line = json.dumps(text, ensure_ascii=False)
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def from_json(text: str) -> Any:
    """A JSON text as an action, with tuples for lists. Raises ValueError, or RecursionError for too deep nesting."""
    return _freeze(json.loads(text, parse_constant=no_number))


def no_number(name: str) -> NoReturn:
    """Refuses NaN and infinity in JSON. Raises ValueError."""
    raise ValueError(f"{name} is no number")


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _freeze(item) for name, item in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


class Space(ABC):
    """The legal answers of a seat. Actions are hashable JSON values: words, numbers, and tuples of them.

    `format` writes an action, and `parse` (or all of `read`) reads it; the default is JSON. A subclass that overrides one
    overrides the other. Where answers are constrained (agon.games.schemas), `schema` describes an action as JSON, and
    `encode` and `decode` convert to it and back; the default is a text as of `format`. A space must be hashable, as a
    frozen dataclass is.
    """

    __slots__ = ()
    skip_breaks: ClassVar = False
    """Whether an action may begin below the line of the tag."""

    @abstractmethod
    def __contains__(self, action: object) -> bool:
        """Whether an action is legal."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""

    @abstractmethod
    def example(self, dice: Dice) -> Any:
        """A legal action drawn at random."""

    def format(self, action: Any) -> str:
        """A legal action as a player writes it, in one line."""
        return json.dumps(action, ensure_ascii=False)

    def parse(self, text: str) -> Any | None:
        """The action of a stripped text, legal or not; None where there is none."""
        with suppress(ValueError, RecursionError):
            return from_json(text)
        return None

    def read(self, text: str, last: bool = False) -> Reading:
        """The action in a player's answer, after the one [move] in its line (agon.games.reading)."""
        return read_line(text, self._legal, self.skip_breaks)

    def read_strictly(self, text: str) -> Reading:
        """The action in a player's answer, in a move line that has nothing else (agon.games.strict).

        A space with a `read` of its own is read by that, unless it is a choice.
        """
        own = type(self).read not in (Space.read, Choice.read)
        return self.read(text) if own else read_move(text, self, self.skip_breaks)

    def parse_marked(self, text: str) -> Any | None:
        """The legal action of a text; marks around it that change no meaning may be there, and a full stop."""
        actions = map(self._legal, (text.strip(), *unmark(text)))
        return next((action for action in actions if action is not None), None)

    def _legal(self, text: str) -> Any | None:
        action = self.parse(text)
        return action if action is not None and action in self else None

    def schema(self) -> Schema:
        """The JSON schema of an action, in a form that a provider can enforce."""
        return {"type": "string", "maxLength": LONGEST, "description": "a text: what would stand after [move]"}

    def as_tools(self) -> Mapping[str, Schema]:
        """Tool -> schema of its arguments, where an action calls a tool; else empty.

        The arguments, with the tool's name under "tool", are a value of `schema`.
        """
        return {}

    def encode(self, action: Any) -> Any:
        """A legal action as a value of `schema`."""
        return self.format(action)

    def decode(self, value: Any) -> Any | None:
        """The action of a value of `schema`, legal or not; None where there is none."""
        return self.read(f"[move] {value}").action

    def enumerate(self) -> Sequence[Any] | None:
        """Every legal action, in the game's order; None where they are too many, or not known."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Space):
    """A legal action is one of `options` (labels, in the game's order)."""

    options: tuple[str, ...]

    def __contains__(self, action: object) -> bool:
        return action in self.options

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"choice": list(self.options)}

    def example(self, dice: Dice) -> str:
        """Any option."""
        return dice.choice(self.options)

    def format(self, action: Any) -> str:
        """The option."""
        return str(action)

    def parse(self, text: str) -> str | None:
        """The option, whatever its case; a full stop may follow."""
        bare = text.rstrip(".").strip()
        exact = next((option for option in (text, bare) if option in self.options), None)
        labels = {folded(label): label for label in self.options}
        return exact or (labels.get(folded(bare)) if len(labels) == len(self.options) else None)

    def read(self, text: str, last: bool = False) -> Reading:
        """The option in a move message, which may hold an explanation."""
        return read_label(text, self.options, last)

    def schema(self) -> Schema:
        """An option, letter by letter."""
        return {"type": "string", "enum": list(self.options)}

    def decode(self, value: Any) -> Any | None:
        """The option."""
        return value

    def enumerate(self) -> Sequence[str]:
        """The options."""
        return self.options


@dataclass(frozen=True, slots=True)
class Number(Space):
    """A legal action is a whole number from `low` to `high`, in steps from `low`."""

    low: int
    high: int
    step: int = 1

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            number = getattr(self, name)
            if isinstance(number, bool):
                raise TypeError(f"{name} of a number is a whole number, not {number}")
            object.__setattr__(self, name, index(number))  # Python's own, of those of numpy

    def __contains__(self, action: object) -> bool:
        return type(action) is int and self.low <= action <= self.high and (action - self.low) % self.step == 0

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"number": [self.low, self.high], "step": self.step}

    def example(self, dice: Dice) -> int:
        """Any number of the space."""
        return dice.choice(range(self.low, self.high + 1, self.step))

    def format(self, action: Any) -> str:
        """The number."""
        return str(action)

    def parse(self, text: str) -> int | None:
        """The number; a full stop may follow."""
        return int(text.rstrip(".")) if re.fullmatch(r"-?\d{1,4300}\.?", text, re.ASCII) else None

    def parse_marked(self, text: str) -> int | None:
        """The number; a sign of a currency may stand beside it, and zeros behind its decimal point."""
        bare = without_currency(next(unmark(text)).rstrip("."))
        number = self.parse(re.sub(r"(?<=\d)\.0+$", "", bare))
        return number if number in self else None

    def schema(self) -> Schema:
        """The number; where there are many, between the lowest and the highest."""
        if (numbers := self.enumerate()) is not None:
            return {"type": "integer", "enum": list(numbers)}
        steps = f" in steps of {self.step}; one between two steps counts as the lower"
        description = {"description": f"a whole number from {self.low} to {self.high}{steps}"} if self.step > 1 else {}
        return {"type": "integer", "minimum": self.low, "maximum": self.high, **description}

    def encode(self, action: Any) -> Any:
        """The number."""
        return action

    def decode(self, value: Any) -> Any | None:
        """The number, rounded down to a step, as no schema of all providers has steps."""
        return value - (value - self.low) % self.step

    def enumerate(self) -> Sequence[int] | None:
        """The numbers; None where they are too many."""
        is_short = (self.high - self.low) // self.step < LISTED
        return range(self.low, self.high + 1, self.step) if is_short else None


@dataclass(frozen=True, slots=True)
class Text(Space):
    """A legal action is one line of at most `length` characters (`is_one_line`) that is not blank and is valid UTF-8.

    What players write is made one line where it is read (`one_line`).
    """

    length: int

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, str) or len(action) > self.length or not action.strip() or not is_one_line(action):
            return False
        return action.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in action)

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"text": self.length}

    def example(self, dice: Dice) -> str:
        """Up to five words that mean nothing."""
        words = [dice.choice("bdgklmnrst") + dice.choice("aeiou") for _ in range(1 + int(dice.random() * 5))]
        return " ".join(words)[: self.length].rstrip()

    def format(self, action: Any) -> str:
        """The text, in one line."""
        return one_line(str(action))

    def parse(self, text: str) -> str | None:
        """The text, in one line; None for an empty one."""
        return one_line(text) or None

    def parse_marked(self, text: str) -> str | None:
        """The text without the marks around it, in one line; its full stop stays."""
        text = one_line(next(unmark(text)))
        return text if text in self else None

    def schema(self) -> Schema:
        """The text; a schema cannot say that it is not blank."""
        return {"type": "string", "minLength": 1, "maxLength": self.length}

    def encode(self, action: Any) -> Any:
        """The text as it is."""
        return action

    def decode(self, value: Any) -> Any | None:
        """The text, in one line."""
        return one_line(value)


@dataclass(frozen=True, slots=True)
class Offer(Space):
    """A legal action is a share for each of `names`, in their order, each from 0 to `total`, that sum to `total`.

    The sum may miss by `tolerance`; None: sums are not checked.
    """

    names: tuple[str, ...]
    total: float = 100
    tolerance: float | None = 0.5

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, tuple | list) or len(action) != len(self.names):
            return False
        if not all(type(share) in (int, float) and 0 <= share <= self.total for share in action):
            return False
        return self.tolerance is None or abs(sum(action) - self.total) <= self.tolerance

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"offer": list(self.names), "total": self.total, "tolerance": self.tolerance}

    def example(self, dice: Dice) -> tuple[float, ...]:
        """Random shares in twentieths of the total, as integers where they are whole."""
        cuts = sorted(int(dice.random() * 21) for _ in self.names[1:])
        shares = [self.total * (high - low) / 20 for low, high in zip([0, *cuts], [*cuts, 20], strict=True)]
        return tuple(int(share) if share == int(share) else share for share in shares)

    def format(self, action: Any) -> str:
        """`name: share, name: share`, with all digits and no exponent."""
        return ", ".join(f"{name}: {_digits(share)}" for name, share in zip(self.names, action, strict=True))

    def parse(self, text: str) -> tuple[float, ...] | None:
        """The shares, with or without a percent sign."""
        return read_parts(text, [(name, _share) for name in self.names], ",")

    def parse_marked(self, text: str) -> tuple[float, ...] | None:
        """The shares; a sign of a currency may stand beside each."""
        line = next(unmark(text)).replace("*", "")
        shares = read_parts(
            line, [(name, lambda part: _share(without_currency(next(unmark(part))))) for name in self.names], ","
        )
        return shares if shares in self else None

    def schema(self) -> Schema:
        """An amount for each name; if they must sum to the total, only their proportions matter."""
        return object_of(dict.fromkeys(keys(self.names), AMOUNT)) | {"description": self._description()}

    def _description(self) -> str:
        names = ", ".join(f'"{key}"' for key in keys(self.names))
        sum_ = "" if self.tolerance is None else f" that sum to {_digits(self.total)}; other sums are scaled to it"
        return f'an object with {names}: the share of each, as a text such as "12.5"{sum_}'

    def encode(self, action: Any) -> Any:
        """The shares by name, rounded to six decimals."""
        return {
            key: _digits(round(share, 6)) if share % 1 else str(int(share))
            for key, share in zip(keys(self.names), action, strict=True)
        }

    def decode(self, value: Any) -> Any | None:
        """The shares if they are legal; else scaled to the total, and equal where all are 0.

        Where sums are not checked, each share is cut to the total.
        """
        fractions = [Fraction(share) for share in value.values()]
        shares = tuple(int(share) if share.denominator == 1 else float(share) for share in fractions)
        if shares in self:
            return shares
        if self.tolerance is None:
            return tuple(min(share, self.total) for share in shares)
        parts = fractions if any(fractions) else [Fraction(1)] * len(fractions)
        return tuple(float(Fraction(self.total) * part / sum(parts)) for part in parts)


def _digits(number: float) -> str:
    return f"{Decimal(str(number)):f}".removesuffix(".0")


def _share(text: str) -> float | None:
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?%?\.?", text, re.ASCII)
    return float(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class Form(Space):
    """A legal action answers several questions at once: a value for each of `parts`, in their order."""

    parts: tuple[tuple[str, "Space"], ...]
    skip_breaks = True

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, tuple | list) or len(action) != len(self.parts):
            return False
        return all(value in space for value, (_, space) in zip(action, self.parts, strict=True))

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"form": {name: space.as_json() for name, space in self.parts}}

    def example(self, dice: Dice) -> tuple[Any, ...]:
        """Any answer to each question."""
        return tuple(space.example(dice) for _, space in self.parts)

    def format(self, action: Any) -> str:
        """`part: answer; part: answer`; JSON where that could be misread, as an answer contains the name of the next part."""
        text = "; ".join(
            f"{name}: {space.format(value)}" for (name, space), value in zip(self.parts, action, strict=True)
        )
        return super(Form, self).format(action) if self.parse(text) is None else text

    def parse(self, text: str) -> tuple[Any, ...] | None:
        """The values of `part: answer` texts that can be read in only one way, or of a JSON list."""
        values = read_parts(text, [(name, space.parse) for name, space in self.parts], ";")
        if values is not None:
            return values
        answer = super(Form, self).parse(text)
        if not isinstance(answer, tuple) or len(answer) != len(self.parts):
            return None
        pairs = zip(answer, self.parts, strict=True)
        return tuple(
            one_line(value) if isinstance(space, Text) and isinstance(value, str) else value
            for value, (_, space) in pairs
        )

    def parse_marked(self, text: str) -> tuple[Any, ...] | None:
        """The legal values of `part: answer` texts, each of which may bear marks, or of a JSON list."""
        for line in (text.strip(), *unmark(text)):
            values = read_parts(line, [(name, space.parse_marked) for name, space in self.parts], ";")
            action = self._legal(line) if values is None else values
            if action is not None and action in self:
                return action
        return None

    def schema(self) -> Schema:
        """An object of the answers, with the questions as its keys."""
        return object_of(
            dict(zip(keys(name for name, _ in self.parts), [space.schema() for _, space in self.parts], strict=True))
        )

    def encode(self, action: Any) -> Any:
        """The answers by question."""
        values = [space.encode(value) for (_, space), value in zip(self.parts, action, strict=True)]
        return dict(zip(keys(name for name, _ in self.parts), values, strict=True))

    def decode(self, value: Any) -> Any | None:
        """The answers; None where one cannot be read."""
        names = keys(name for name, _ in self.parts)
        answers = tuple(space.decode(value[name]) for name, (_, space) in zip(names, self.parts, strict=True))
        return None if None in answers else answers

    def enumerate(self) -> Sequence[tuple[Any, ...]] | None:
        """Every combination of answers; None where they are too many."""
        lists = [space.enumerate() for _, space in self.parts]
        finite = [answers for answers in lists if answers is not None]
        if len(finite) < len(lists) or prod(map(len, finite)) > LISTED:
            return None
        return list(product(*finite))
