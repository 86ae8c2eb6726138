"""A map between two games: what becomes of words, seats, options, payoffs and amounts.

Two games are isomorphic where players, actions and observations correspond one to one and payoffs up to a positive affine
change (Harsanyi and Selten 1988, 3.4; Gabarro, Garcia and Serna 2011). Whether two games are, agon_twins.certificates says.
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
"""Fields of a game's rules that say which game it is, and are no words of it."""
BY_SEAT = frozenset({"players"})
"""Fields of rules, phases and notes whose tuples are in seat order, in any game."""
PAYOFFS = "payoffs"
"""The field of facts whose numbers are payoffs; among amounts: payoffs are counted in another currency as well."""
REVERSED = ("(reversed)",)
"""In the place of an order: all options are listed the other way round."""
KEPT = 5_000
"""A map keeps the images of at most so many texts, and of as many spaces, rules and events."""


@dataclass(frozen=True)
class Words:
    """A permutation of texts: whole words are exchanged, wherever they stand; what becomes of `stag` if it is a new word, too.

    A word may be of several parts (`Player 1`). Small words are exchanged with a capital, and in capitals, as well.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    """Old and new. All new words must be different."""

    def __post_init__(self) -> None:
        new_words: dict[str, str] = {}
        for old, new in self.pairs:
            if not old.strip() or not new.strip() or not (old + new).isprintable():
                raise AgonError(f"words: {old!r} becomes {new!r}; both must be words that can be printed")
            if first := new_words.get(new):
                raise AgonError(f"words: {first} and {old} would both be called {new}")
            new_words[new] = old

    def forth(self, text: str) -> str:
        """A text in the new words."""
        return self._exchanged(text, self._table)

    def back(self, text: str) -> str:
        """A text in the old words."""
        return self._exchanged(text, self.inverse._table)

    @cached_property
    def inverse(self) -> "Words":
        """The other way round."""
        return Words(tuple((new, old) for old, new in self.pairs))

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
        several = sorted((word for word in self._table if not re.fullmatch(r"\w+", word)), key=len, reverse=True)
        whole = "|".join(map(re.escape, several))
        return re.compile(rf"(?<!\w)(?:{whole})(?!\w)|\w+" if whole else r"\w+")

    def _exchanged(self, text: str, table: Mapping[str, str]) -> str:
        if not self.pairs:
            return text
        return table.get(text) or self._pattern.sub(lambda word: table.get(word[0], word[0]), text)


def _permutation(table: Mapping[str, str]) -> dict[str, str]:
    """`table` as a permutation: the last new word of a chain becomes its first old one."""
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
    """What becomes of seats, actions, observations and payoffs of one game in another."""

    words: Words = Words()
    seats: tuple[int, ...] = ()
    """Where each seat sits in the other game; empty: where it sat."""
    names: tuple[str, ...] = ()
    """What the seats are called, in order; needed where they move."""
    words_first: bool = False
    """Whether words are exchanged before seats move, as on the way back."""
    order: tuple[str, ...] = ()
    """The options in the order in which they are listed, in their old words; empty: as they were."""
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
    """By its id, and what it is, a value and what it becomes: rules and events come again in every state."""

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
        return Isomorphism, tuple(getattr(self, each.name) for each in fields(self) if each.init)

    @cached_property
    def inverse(self) -> "Isomorphism":
        """The way back. Without the order of options, which is not needed where actions are meant."""
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

    @cached_property
    def _digest(self) -> str:
        return blake2b(repr(self.__reduce__()).encode(), digest_size=8).hexdigest()

    @cached_property
    def _new_names(self) -> Words:
        """What becomes of the seats' names where seats move."""
        return Words(tuple((name, self.names[seat]) for name, seat in zip(self.names, self.seats, strict=False)))

    def seat(self, seat: int) -> int:
        """Where a seat sits in the other game; PUBLIC stays."""
        return self.seats[seat] if self.seats and seat != PUBLIC else seat

    def listed(self, options: Sequence[str]) -> tuple[str, ...]:
        """Options, in their old words, in the order of the other game. Raises AgonError where that names others."""
        if self.order == REVERSED:
            return tuple(reversed(options))
        if self.order and set(self.order) != set(options):
            raise AgonError(f"order: actions {list(self.order)} is no permutation of {list(options)}")
        return self.order or tuple(options)

    @cached_property
    def text(self) -> Callable[[str], str]:
        """Says a text in the other game's words."""
        return lru_cache(KEPT)(self._text)

    def _text(self, text: str) -> str:
        if not self.seats:
            return self.words.forth(text)
        first, second = (self.words, self._new_names) if self.words_first else (self._new_names, self.words)
        return second.forth(first.forth(text))

    def by_seats(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """What is in seat order, in that of the other game."""
        return tuple(values[self.seats.index(seat)] for seat in range(len(values))) if self.seats else tuple(values)

    def paid(self, payoffs: Sequence[float]) -> tuple[float, ...]:
        """Points of each seat."""
        return self.by_seats([self._payoff(each) for each in payoffs])

    def _payoff(self, points: float) -> float:
        exact = self.factor * _exact(points) + self.shift
        return int(exact) if exact == int(exact) and type(points) is int else float(exact)

    def view(self, view: Observation) -> Observation:
        """What the seat sees there."""
        return Observation(
            seat=self.seat(view.seat),
            round=view.round,
            legal=None if view.legal is None else self.space(view.legal, view.phase),
            past=tuple([self._happened(each, view.seat, view.phase) for each in view.past]),
            rules=self.rules_of(view),
            phase=view.phase,
            role=self.text(view.role) if view.role else "",
            wording=view.wording,
        )

    def rules_of(self, view: Observation) -> Any:
        """The rules that a view tells, as it tells them there."""
        return self._once(view.rules, self.rules)

    def rules(self, rules: Any, _: str = "") -> Any:
        """Public rules of a game, without what the game is called."""
        if isinstance(rules, Game):
            game, left = restated(rules, self)
            return left._dataclass(game, "", OWN)
        if is_dataclass(rules) and not isinstance(rules, type):
            return self._dataclass(rules, "", OWN)
        if isinstance(rules, tuple) and hasattr(rules, "_fields"):
            new = {name: self._field(getattr(rules, name), name, "") for name in rules._fields if name not in OWN}
            return rules._replace(**new)  # type: ignore[attr-defined]
        return self.value(rules)

    def space(self, space: Space, phase: str) -> Space:
        """What may be answered in a phase."""
        image: Space = self._once(space, self._space, phase)
        return image

    def _space(self, space: Space, phase: str) -> Space:
        if type(space) is Choice and (self.order == REVERSED or set(self.order) & set(space.options)):
            space = Choice(self.listed(space.options))
        image: Space = self.value(space, phase)
        return image

    def value(self, value: Any, what: str = "") -> Any:
        """An action, a fact, or anything made of texts, numbers and the like; `what` is its phase, or the name of its field."""
        kind: type = type(value)
        return _change(kind)(self, value, what)

    def _number(self, value: Any, what: str) -> Any:
        if what == PAYOFFS:
            return self._payoff(value)
        return _like(self.unit * _exact(value), value) if what in self.amounts else value

    def _event(self, event: Event, what: str) -> Event:
        seat = None if event.seat is None else self.seat(event.seat)
        return Event(event.phase, seat, self.value(event.value, event.phase))

    def _sequence(self, value: Any, what: str) -> Any:
        images = [self.value(each, what) for each in value]
        moves = what in self.by_seat and len(images) == len(self.seats)
        return type(value)(self.by_seats(images) if moves else images)

    def _set(self, value: Any, what: str) -> Any:
        return type(value)(self.value(each, what) for each in value)

    def _named_tuple(self, value: Any, what: str) -> Any:
        return type(value)(*(self._field(each, name, what) for name, each in zip(value._fields, value, strict=True)))

    def _mapping(self, value: Any, what: str) -> Any:
        items = {self.value(key): self._field(each, str(key), what) for key, each in value.items()}
        return type(value)(items) if isinstance(value, dict) else items

    def _field(self, value: Any, name: str, what: str) -> Any:
        """A part of what `what` says: all numbers in amounts are amounts, whatever the parts are called."""
        return self.value(value, what if what == PAYOFFS or what in self.amounts else name)

    def _facts(self, value: Any, what: str) -> Any:
        return self._once(value, self._dataclass, what)

    def _dataclass(self, value: Any, what: str, left: Sequence[str] = ()) -> Any:
        names = [each.name for each in fields(value) if each.init and each.name not in left]
        new = {name: self._field(getattr(value, name), name, what) for name in names}
        changes = {name: each for name, each in new.items() if each != getattr(value, name)}
        if "digest" in new:  # a hash of the facts, by which they are compared
            changes["digest"] = f"{value.digest} {self._digest}"
        return replace(value, **changes) if changes else value

    def _happened(self, each: Any, seat: int, phase: str) -> Any:
        """An event; or a round, in which the own action comes first."""
        if isinstance(each, Event):
            return self._once(each, self._event)
        if not isinstance(each, tuple) or not self.seats:
            return self.value(each, phase)
        own = 0 if seat == PUBLIC else seat
        there = self.seat(own) if seat != PUBLIC else 0
        row = self.by_seats((*each[1 : own + 1], each[0], *each[own + 1 :]))
        return self.value((row[there], *row[:there], *row[there + 1 :]), phase)

    def _once(self, value: Any, change: Callable[[Any, str], Any], what: str = "") -> Any:
        """What `change` makes of a value, computed once for it."""
        image = self._images.get((id(value), what))
        if image is None:
            if len(self._images) >= KEPT:
                self._images.clear()
            image = self._images[id(value), what] = value, change(value, what)
        return image[1]


def restated(game: Game[Any], map: Isomorphism) -> tuple[Game[Any], Isomorphism]:
    """The game with as much of a map done to it as its family can say in its settings, and what is left of the map."""
    restate = of_family(game, "restated")
    return restate(game, map) if restate else (game, map)


@cache
def _change(kind: type) -> Callable[[Isomorphism, Any, str], Any]:
    """How a map changes values of a type; looked up once for each type."""
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
    """The number as it is written: 0.1 is a tenth."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def _like(value: Number, old: Number) -> Any:
    """An exact number as a game writes it: whole ones as `int`, but where it was a float."""
    if isinstance(old, float):
        return float(value)
    exact = Fraction(value)
    return int(exact) if exact.denominator == 1 else exact
