"""A map between two games: the images of words, seats, options, payoffs and amounts.

Two games are isomorphic if players, actions and observations correspond one to one, and payoffs up to a positive affine
change (Harsanyi and Selten 1988, 3.4; Gabarro, Garcia and Serna 2011). agon_twins.check compares two games.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from math import isfinite
from typing import Any

from agon.errors import AgonError
from agon.games.base import PUBLIC, Event, Game, Observation
from agon.games.spaces import Choice, Space
from agon_twins.family import of_family

Number = int | float | Fraction

OWN = ("name", "variant", "rules")
"""Fields of a game's rules that only name the game."""
BY_SEAT = frozenset({"players"})
"""Fields of rules, phases and notes whose tuples are in seat order, in any game."""
PAYOFFS = "payoffs"
"""The field of facts whose numbers are payoffs. Among AMOUNTS: payoffs are counted in another currency as well."""
REVERSED = ("(reversed)",)
"""An order that lists all options the other way round."""
CACHED = 5_000
"""Most texts whose images a map keeps; the same for spaces, rules and events."""


@dataclass(frozen=True)
class Words:
    """A permutation of words, which it exchanges wherever they stand in a text.

    A word may have several parts (`Player 1`). Words in small letters are also exchanged with a capital, and in capitals. A new word
    that stood in the text before becomes an old one: if `hare` becomes `stag`, then `stag` becomes `hare`.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    """(old word, new word). Raises AgonError if two new words are the same, or a word is blank or cannot be printed."""

    def __post_init__(self) -> None:
        new_words: dict[str, str] = {}
        for old, new in self.pairs:
            if not old.strip() or not new.strip() or not (old + new).isprintable():
                raise AgonError(f"words: {old!r} becomes {new!r}; both must be words that can be printed")
            if other := new_words.get(new):
                raise AgonError(f"words: {other} and {old} would both be called {new}")
            new_words[new] = old

    def __reduce__(self) -> tuple[Any, ...]:
        return Words, (self.pairs,)

    def forth(self, text: str) -> str:
        """A text in the new words."""
        return self._exchange(text, self._table)

    def back(self, text: str) -> str:
        """A text in the old words."""
        return self._exchange(text, self.inverse._table)

    def changes(self, text: str) -> set[tuple[str, str]]:
        """(old, new) of the words that `forth` exchanges in a text."""
        if not self.pairs:
            return set()
        words = {text} if text in self._table else set(self._pattern.findall(text))
        return {(word, self._table[word]) for word in words & self._table.keys()}

    @cached_property
    def inverse(self) -> "Words":
        """The inverse permutation."""
        return Words(tuple((new, old) for old, new in self.pairs))

    @cached_property
    def _lines(self) -> tuple[dict[str, str], dict[str, str]]:
        """Images of lines in the old words, and in the new ones: histories repeat their lines."""
        return {}, {}

    @cached_property
    def _table(self) -> Mapping[str, str]:
        table = _permutation(dict(self.pairs))
        for change in (str.capitalize, str.upper):
            small = {old: new for old, new in table.items() if min(len(old), len(new)) > 1 and (old + new).islower()}
            more = {change(old): change(new) for old, new in small.items()}
            if len(set(more.values())) == len(small) and not more.keys() & table.keys():
                table |= more
        return table

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        phrases = sorted((word for word in self._table if not re.fullmatch(r"\w+", word)), key=len, reverse=True)
        pattern = "|".join(map(re.escape, phrases))
        return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)|\w+" if pattern else r"\w+")

    def _exchange(self, text: str, table: Mapping[str, str]) -> str:
        if not self.pairs:
            return text
        return "\n".join([self._exchange_line(line, table) for line in text.split("\n")])

    def _exchange_line(self, line: str, table: Mapping[str, str]) -> str:
        images = self._lines[table is self._table]
        if line not in images:
            if len(images) >= CACHED:
                images.clear()
            images[line] = table.get(line) or self._pattern.sub(lambda word: table.get(word[0], word[0]), line)
        return images[line]


def _permutation(table: Mapping[str, str]) -> dict[str, str]:
    """`table`, closed to a permutation: the last new word of a chain becomes its first old one."""
    back = {new: old for old, new in table.items()}
    closed = dict(table)
    for last in back.keys() - table.keys():
        first = last
        while first in back:
            first = back[first]
        closed[last] = first
    return closed


@dataclass(frozen=True)
class Isomorphism:
    """A map of seats, actions, observations and payoffs of one game to those of another.

    Raises AgonError for seats or an order that are no permutation, and for a factor or unit that is not above 0.
    """

    words: Words = Words()
    seats: tuple[int, ...] = ()
    """The new seat of each seat; empty: no seat moves."""
    names: tuple[str, ...] = ()
    """The names of the seats, in order; only for maps that move seats."""
    words_first: bool = False
    """Whether words are exchanged before seats move, as in an inverse."""
    order: tuple[str, ...] = ()
    """The new order of the options, in their old words; empty: the old order."""
    factor: Number = 1
    """A payoff x becomes factor x + shift."""
    shift: Number = 0
    unit: Number = 1
    """An amount n becomes unit n."""
    amounts: frozenset[str] = frozenset()
    """Fields of rules, phases and notes whose numbers are amounts."""
    by_seat: frozenset[str] = BY_SEAT
    """Fields of rules, phases and notes whose tuples are in seat order."""
    _images: dict[tuple[int, str], tuple[Any, Any]] = field(init=False, repr=False, compare=False, default_factory=dict)
    """(id of a value, its phase or field) -> the value and its image. Rules and events come again in every state."""

    def __post_init__(self) -> None:
        if sorted(self.seats) != list(range(len(self.seats))):
            raise AgonError(
                f"order: seats {list(self.seats)} is no permutation of the seats 0 to {len(self.seats) - 1}"
            )
        if len(set(self.order)) < len(self.order):
            raise AgonError(f"order: actions {list(self.order)} is no permutation: one is named twice")
        if not all(map(isfinite, (self.factor, self.shift, self.unit))) or self.factor <= 0 or self.unit <= 0:
            raise AgonError(
                f"scale: payoffs times {self.factor}, amounts times {self.unit}: both must be above 0, or what is best is not"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return Isomorphism, tuple(getattr(self, item.name) for item in fields(self) if item.init)

    @cached_property
    def inverse(self) -> "Isomorphism":
        """The inverse map. It has no order of options, as it maps actions and not lists."""
        return replace(
            self,
            words=self.words.inverse,
            words_first=not self.words_first,
            seats=tuple(self.seats.index(seat) for seat in range(len(self.seats))),
            order=(),
            factor=1 / Fraction(self.factor),
            shift=-Fraction(self.shift) / Fraction(self.factor),
            unit=1 / Fraction(self.unit),
        )

    @property
    def only_words(self) -> bool:
        """Whether nothing but words changes."""
        return not self.seats and not self.order and (self.factor, self.shift, self.unit) == (1, 0, 1)

    @cached_property
    def _digest(self) -> str:
        return blake2b(repr(self.__reduce__()).encode(), digest_size=8).hexdigest()

    @cached_property
    def _new_names(self) -> Words:
        """The exchange of the seats' names, where seats move."""
        return Words(tuple((name, self.names[seat]) for name, seat in zip(self.names, self.seats, strict=False)))

    def seat(self, seat: int) -> int:
        """The new seat of a seat; PUBLIC stays."""
        return self.seats[seat] if self.seats and seat != PUBLIC else seat

    def reorder(self, options: Sequence[str]) -> tuple[str, ...]:
        """Options, in their old words, in the order of the other game. Raises AgonError where `order` names others."""
        if self.order == REVERSED:
            return tuple(reversed(options))
        if self.order and set(self.order) != set(options):
            raise AgonError(f"order: actions {list(self.order)} is no permutation of {list(options)}")
        return self.order or tuple(options)

    @cached_property
    def text(self) -> Callable[[str], str]:
        """A function from a text to the text in the other game's words."""
        return lru_cache(CACHED)(self._text)

    def _text(self, text: str) -> str:
        if not self.seats:
            return self.words.forth(text)
        first, second = (self.words, self._new_names) if self.words_first else (self._new_names, self.words)
        return second.forth(first.forth(text))

    def by_seats(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Values in seat order, reordered by the new seats."""
        return tuple(values[self.seats.index(seat)] for seat in range(len(values))) if self.seats else tuple(values)

    def map_payoffs(self, payoffs: Sequence[float]) -> tuple[float, ...]:
        """Payoffs in seat order, in the other game's points and seats."""
        return self.by_seats([self._payoff(points) for points in payoffs])

    def _payoff(self, points: float) -> float:
        exact = self.factor * _exact(points) + self.shift
        return int(exact) if exact == int(exact) and type(points) is int else float(exact)

    def view(self, view: Observation) -> Observation:
        """The seat's observation in the other game."""
        return Observation(
            seat=self.seat(view.seat),
            round=view.round,
            legal=None if view.legal is None else self.space(view.legal, view.phase),
            past=tuple([self._past_entry(entry, view.seat, view.phase) for entry in view.past]),
            rules=self.rules_of(view),
            phase=view.phase,
            role=self.text(view.role) if view.role else "",
            wording=view.wording,
        )

    def rules_of(self, view: Observation) -> Any:
        """The image of the rules of a view."""
        return self._cached(view.rules, self.rules)

    def rules(self, rules: Any, _: str = "") -> Any:
        """The image of public rules; the game's own name stays."""
        if isinstance(rules, Game):
            game, rest = restated(rules, self)
            return rest._dataclass(game, "", OWN)
        if is_dataclass(rules) and not isinstance(rules, type):
            return self._dataclass(rules, "", OWN)
        if isinstance(rules, tuple) and hasattr(rules, "_fields"):
            new = {name: self._field(getattr(rules, name), name, "") for name in rules._fields if name not in OWN}
            return rules._replace(**new)  # type: ignore[attr-defined]
        return self.value(rules)

    def space(self, space: Space, phase: str) -> Space:
        """The image of an action space in a phase."""
        image: Space = self._cached(space, self._space, phase)
        return image

    def _space(self, space: Space, phase: str) -> Space:
        if type(space) is Choice and (self.order == REVERSED or set(self.order) & set(space.options)):
            space = Choice(self.reorder(space.options))
        image: Space = self.value(space, phase)
        return image

    def value(self, value: Any, what: str = "") -> Any:
        """The image of an action, a fact, or any value of texts and numbers. `what`: its phase, or the name of its field."""
        kind: type = type(value)
        return _changer(kind)(self, value, what)

    def _number(self, value: Any, what: str) -> Any:
        if what == PAYOFFS:
            return self._payoff(value)
        return _like(self.unit * _exact(value), value) if what in self.amounts else value

    def _event(self, event: Event, what: str) -> Event:
        seat = None if event.seat is None else self.seat(event.seat)
        return Event(event.phase, seat, self.value(event.value, event.phase))

    def _sequence(self, value: Any, what: str) -> Any:
        images = [self.value(item, what) for item in value]
        moves = what in self.by_seat and len(images) == len(self.seats)
        return type(value)(self.by_seats(images) if moves else images)

    def _set(self, value: Any, what: str) -> Any:
        return type(value)(self.value(item, what) for item in value)

    def _named_tuple(self, value: Any, what: str) -> Any:
        return type(value)(*(self._field(part, name, what) for name, part in zip(value._fields, value, strict=True)))

    def _mapping(self, value: Any, what: str) -> Any:
        items = {self.value(key): self._field(part, str(key), what) for key, part in value.items()}
        return type(value)(items) if isinstance(value, dict) else items

    def _field(self, value: Any, name: str, what: str) -> Any:
        """The image of a part of a value. All numbers inside an amount are amounts, whatever the name of the part."""
        return self.value(value, what if what == PAYOFFS or what in self.amounts else name)

    def _facts(self, value: Any, what: str) -> Any:
        return self._cached(value, self._dataclass, what)

    def _dataclass(self, value: Any, what: str, skipped: Sequence[str] = ()) -> Any:
        names = [item.name for item in fields(value) if item.init and item.name not in skipped]
        new = {name: self._field(getattr(value, name), name, what) for name in names}
        changes = {name: item for name, item in new.items() if item != getattr(value, name)}
        if "digest" in new:  # a hash of the facts, by which they are compared
            changes["digest"] = f"{value.digest} {self._digest}"
        return replace(value, **changes) if changes else value

    def _past_entry(self, entry: Any, seat: int, phase: str) -> Any:
        """The image of an event, or of a round, whose first action is the seat's own."""
        if isinstance(entry, Event):
            return self._cached(entry, self._event)
        if not isinstance(entry, tuple) or not self.seats:
            return self.value(entry, phase)
        place = 0 if seat == PUBLIC else seat
        new_place = self.seat(place) if seat != PUBLIC else 0
        row = self.by_seats((*entry[1 : place + 1], entry[0], *entry[place + 1 :]))
        return self.value((row[new_place], *row[:new_place], *row[new_place + 1 :]), phase)

    def _cached(self, value: Any, change: Callable[[Any, str], Any], what: str = "") -> Any:
        """`change(value, what)`, computed once for each value."""
        image = self._images.get((id(value), what))
        if image is None:
            if len(self._images) >= CACHED:
                self._images.clear()
            image = self._images[id(value), what] = value, change(value, what)
        return image[1]


def restated(game: Game[Any], map: Isomorphism) -> tuple[Game[Any], Isomorphism]:
    """The game changed by the part of a map that its family's settings can express, and the rest of the map."""
    restate = of_family(game, "restated")
    return restate(game, map) if restate else (game, map)


@cache
def _changer(kind: type) -> Callable[[Isomorphism, Any, str], Any]:
    """The method of a map for values of a type."""
    if issubclass(kind, str):
        return lambda map, value, what: map.text(value)
    if issubclass(kind, int | float | Fraction) and kind is not bool:
        return Isomorphism._number
    if issubclass(kind, Event):
        return Isomorphism._event
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return Isomorphism._named_tuple
    if issubclass(kind, tuple | list):
        return Isomorphism._sequence
    if issubclass(kind, frozenset | set):
        return Isomorphism._set
    if issubclass(kind, Mapping):
        return Isomorphism._mapping
    if is_dataclass(kind):
        return Isomorphism._dataclass if issubclass(kind, Space) else Isomorphism._facts
    return lambda map, value, what: value


@lru_cache(maxsize=4096, typed=True)
def _exact(value: Number) -> Fraction:
    """The exact value of a number as it is written: 0.1 is a tenth."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def _like(value: Number, old: Number) -> Any:
    """An exact number in the type of the old one: a float stays a float, other whole numbers become `int`."""
    if isinstance(old, float):
        return float(value)
    exact = Fraction(value)
    return int(exact) if exact.denominator == 1 else exact
