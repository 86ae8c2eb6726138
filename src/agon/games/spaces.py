"""What a seat may answer: action spaces, each of which knows its own legal actions."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from agon.games.reading import Reading, folded, label_in, line_in, named_parts

T = TypeVar("T")


class Dice(Protocol):
    """The only source of chance there is; `random.Random` is one."""

    def random(self) -> float:
        """A float in [0, 1)."""

    def choice(self, seq: Sequence[T]) -> T:
        """One of `seq`, all equally likely."""


class Space(ABC):
    """What a seat may answer. Actions are JSON values that can be looked up: words, numbers, and tuples of them.

    A space says how its actions are written (`spelled`) and how they are read (`parsed`, or all of `read`).
    """

    __slots__ = ()

    @abstractmethod
    def __contains__(self, action: object) -> bool:
        """Whether an action is legal."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""

    @abstractmethod
    def example(self, dice: Dice) -> Any:
        """A legal action drawn at random."""

    @abstractmethod
    def spelled(self, action: Any) -> str:
        """A legal action as a player writes it, in one line."""

    def parsed(self, text: str) -> Any | None:
        """The action that a text without blanks around it stands for, legal or not; None where it stands for none."""
        return None

    def read(self, text: str, last: bool = False) -> Reading:
        """The action in a player's answer: what stands after the one [move], in its line (agon.games.reading)."""
        return line_in(text, self._legal)

    def _legal(self, text: str) -> Any | None:
        action = self.parsed(text)
        return action if action is not None and action in self else None


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

    def spelled(self, action: Any) -> str:
        """The option."""
        return str(action)

    def parsed(self, text: str) -> str | None:
        """The option, whatever its case; a full stop may follow."""
        bare = text.rstrip(".").strip()
        exact = next((each for each in (text, bare) if each in self.options), None)
        labels = {folded(label): label for label in self.options}
        return exact or (labels.get(folded(bare)) if len(labels) == len(self.options) else None)

    def read(self, text: str, last: bool = False) -> Reading:
        """The option in a move message, which may hold an explanation."""
        return label_in(text, self.options, last)


@dataclass(frozen=True, slots=True)
class Number(Space):
    """A legal action is a whole number from `low` to `high`, in steps from `low`."""

    low: int
    high: int
    step: int = 1

    def __contains__(self, action: object) -> bool:
        return type(action) is int and self.low <= action <= self.high and (action - self.low) % self.step == 0

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"number": [self.low, self.high], "step": self.step}

    def example(self, dice: Dice) -> int:
        """Any number of the space."""
        return dice.choice(range(self.low, self.high + 1, self.step))

    def spelled(self, action: Any) -> str:
        """The number."""
        return str(action)

    def parsed(self, text: str) -> int | None:
        """The number; a full stop may follow."""
        return int(text.rstrip(".")) if re.fullmatch(r"-?\d{1,18}\.?", text, re.ASCII) else None


@dataclass(frozen=True, slots=True)
class Text(Space):
    """A legal action is a text of at most `length` characters that is not blank, and can be written down (UTF-8)."""

    length: int

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, str) or len(action) > self.length or not action.strip():
            return False
        return action.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in action)

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"text": self.length}

    def example(self, dice: Dice) -> str:
        """Up to five words that mean nothing."""
        words = [dice.choice("bdgklmnrst") + dice.choice("aeiou") for _ in range(1 + int(dice.random() * 5))]
        return " ".join(words)[: self.length]

    def spelled(self, action: Any) -> str:
        """The text, in one line."""
        return " ".join(str(action).split())

    def parsed(self, text: str) -> str | None:
        """The text, where there is any."""
        return text or None


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
        """Shares in twentieths of the total, cut at random; whole numbers where they are."""
        cuts = sorted(int(dice.random() * 21) for _ in self.names[1:])
        shares = [self.total * (high - low) / 20 for low, high in zip([0, *cuts], [*cuts, 20], strict=True)]
        return tuple(int(share) if share == int(share) else share for share in shares)

    def spelled(self, action: Any) -> str:
        """`name: share, name: share`."""
        return ", ".join(f"{name}: {share:g}" for name, share in zip(self.names, action, strict=True))

    def parsed(self, text: str) -> tuple[float, ...] | None:
        """The shares, with or without a percent sign."""
        said = named_parts(text, self.names, ",")
        found = [re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?%?\.?", each, re.ASCII) for each in said or ()]
        return None if said is None or None in found else tuple(float(each[1]) for each in found if each)


@dataclass(frozen=True, slots=True)
class Form(Space):
    """A legal action answers several questions at once: a value for each of `parts`, in their order."""

    parts: tuple[tuple[str, "Space"], ...]

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

    def spelled(self, action: Any) -> str:
        """`part: answer; part: answer`."""
        return "; ".join(
            f"{name}: {space.spelled(each)}" for (name, space), each in zip(self.parts, action, strict=True)
        )

    def parsed(self, text: str) -> tuple[Any, ...] | None:
        """The value of every part, where each can be read."""
        said = named_parts(text, [name for name, _ in self.parts], ";")
        values = [space.parsed(each.strip()) for each, (_, space) in zip(said or (), self.parts, strict=False)]
        return None if said is None or None in values else tuple(values)

    def read(self, text: str, last: bool = False) -> Reading:
        """The parts after the one [move], which may begin in the next line."""
        return line_in(text, self._legal, skip_breaks=True)
