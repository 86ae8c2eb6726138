"""Twins: the same game in other clothes. A map between two games, and the game that it makes of another.

Two games are isomorphic where players, actions and observations correspond one to one and payoffs up to a positive affine
change (Harsanyi and Selten 1988, 3.4; Gabarro, Garcia and Serna 2011). What is claimed here agon.games.certificates proves.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from math import isfinite
from typing import Any, Literal

from agon.errors import AgonError
from agon.games.base import PUBLIC, Dice, Event, Game, Note, Observation, Times, refuse_illegal
from agon.games.spaces import Choice, Space
from agon.registry import kind

Number = int | float | Fraction

KEPT = 5_000
"""So many facts are kept of which is known what has become of them."""
OWN = ("name", "variant", "rules")
"""Fields of a game's rules that say which game it is, and are no words of it."""
BY_SEAT = frozenset({"players"})
"""Fields of rules, phases and notes whose tuples are in seat order, in any game."""


class Points(float):
    """A payoff among other facts, such as what a game is worth to a player."""


class Amount(float):
    """An amount among other facts, where a game has `amounts`."""


@dataclass(frozen=True)
class Words:
    """A permutation of texts: whole words are exchanged, wherever they stand; what becomes of `stag` if it is a new word, too.

    A word may be of several parts (`Player 1`). Small words are exchanged with a capital, and in capitals, as well.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    """Old and new. All new words must be different."""
    _forth: Mapping[str, str] = field(init=False, repr=False, compare=False)
    _back: Mapping[str, str] = field(init=False, repr=False, compare=False)
    _pattern: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known: dict[str, str] = {}
        for old, new in self.pairs:
            if not old.strip() or not new.strip() or not (old + new).isprintable():
                raise AgonError(f"words: {old!r} becomes {new!r}; both must be words that can be printed")
            if first := next((each for each, its in known.items() if its == new), None):
                raise AgonError(f"words: {first} and {old} would both be called {new}")
            known[old] = new
        table = _closed(known)
        for changed in (str.capitalize, str.upper):
            low = {old: new for old, new in table.items() if min(len(old), len(new)) > 1 and (old + new).islower()}
            more = {changed(old): changed(new) for old, new in low.items()}
            if len(set(more.values())) == len(low) and not more.keys() & table.keys():
                table |= more
        parted = sorted((word for word in table if not re.fullmatch(r"\w+", word)), key=len, reverse=True)
        whole = "|".join(map(re.escape, parted))
        pattern = re.compile(rf"(?<!\w)(?:{whole})(?!\w)|\w+" if whole else r"\w+") if table else None
        object.__setattr__(self, "_forth", table)
        object.__setattr__(self, "_back", {new: old for old, new in table.items()})
        object.__setattr__(self, "_pattern", pattern)

    def __reduce__(self) -> tuple[Any, ...]:
        return Words, (self.pairs,)

    def forth(self, text: str) -> str:
        """A text in the new words."""
        return self._said(text, self._forth)

    def back(self, text: str) -> str:
        """A text in the old words."""
        return self._said(text, self._back)

    @cached_property
    def inverse(self) -> "Words":
        """The other way round."""
        return Words(tuple((new, old) for old, new in self.pairs))

    def _said(self, text: str, table: Mapping[str, str]) -> str:
        if self._pattern is None:
            return text
        return table.get(text) or self._pattern.sub(lambda found: table.get(found[0], found[0]), text)


def _closed(known: Mapping[str, str]) -> dict[str, str]:
    """`known` as a permutation: the last new word of a chain becomes its first old one."""
    table, back = dict(known), {new: old for old, new in known.items()}
    for last in [new for new in known.values() if new not in known]:
        first = last
        while first in back:
            first = back[first]
        table[last] = first
    return table


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
    _known: dict[int, tuple[Any, Any]] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What rules and events have become, by what they are."""
    _texts: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What texts have become."""
    _spaces: dict[tuple[Any, str], tuple[Space, Space]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    """What may be answered in a phase, by its options or else by what it is, and what it has become."""
    _points: dict[tuple[type, float], float] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What a seat is paid there."""

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
        seats = tuple(self.seats.index(seat) for seat in range(len(self.seats)))
        return replace(
            self,
            words=self.words.inverse,
            words_first=not self.words_first,
            seats=seats,
            order=(),
            factor=1 / Fraction(self.factor),
            shift=-Fraction(self.shift) / Fraction(self.factor),
            unit=1 / Fraction(self.unit),
        )

    @cached_property
    def _digest(self) -> str:
        return blake2b(repr(self.__reduce__()).encode(), digest_size=8).hexdigest()

    @cached_property
    def _moved(self) -> Words:
        return Words(tuple((name, self.names[seat]) for name, seat in zip(self.names, self.seats, strict=False)))

    def seat(self, seat: int) -> int:
        """Where a seat sits in the other game; PUBLIC stays."""
        return self.seats[seat] if self.seats and seat != PUBLIC else seat

    def listed(self, options: Sequence[str]) -> tuple[str, ...]:
        """Options, in their old words, in the order of the other game. Raises AgonError where that names others."""
        if not self.order or self.order == REVERSED:
            return tuple(reversed(options)) if self.order else tuple(options)
        if set(self.order) != set(options):
            raise AgonError(f"order: actions {list(self.order)} is no permutation of {list(options)}")
        return self.order

    def text(self, text: str) -> str:
        """A text in the other game's words."""
        made = self._texts.get(text)
        if made is None:
            first, second = (self.words, self._moved) if self.words_first else (self._moved, self.words)
            made = second.forth(first.forth(text)) if self.seats else self.words.forth(text)
            _kept(self._texts, text, made)
        return made

    def by_seats(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """What is in seat order, in that of the other game."""
        return tuple(values[self.seats.index(seat)] for seat in range(len(values))) if self.seats else tuple(values)

    def paid(self, payoffs: Sequence[float]) -> tuple[float, ...]:
        """Points of each seat."""
        return self.by_seats([self._point(each) for each in payoffs])

    def _point(self, old: float) -> float:
        new = self._points.get((type(old), old))
        if new is None:
            exact = self.factor * _exact(old) + self.shift
            new = int(exact) if exact == int(exact) and type(old) is int else float(exact)
            _kept(self._points, (type(old), old), new)
        return new

    def view(self, view: Observation) -> Observation:
        """What the seat sees there."""
        known, seat, phase = self._known, view.seat, view.phase
        past = tuple(
            [
                made[1] if (made := known.get(id(each))) is not None else self._happened(each, seat, phase)
                for each in view.past
            ]
        )
        legal = None if view.legal is None else self.space(view.legal, phase)
        role = self.text(view.role) if view.role else ""
        return Observation(self.seat(seat), view.round, legal, past, self.rules_of(view), phase, role, view.telling)

    def rules_of(self, view: Observation) -> Any:
        """The rules that a view tells, as it tells them there."""
        return self._once(view.rules, lambda: self._rules(view.rules))

    def space(self, space: Space, phase: str) -> Space:
        """What may be answered in a phase."""
        options = space.options if type(space) is Choice else ()
        key = options or id(space), phase
        known = self._spaces.get(key)
        if known is None:
            moves = self.order == REVERSED or set(self.order) & set(options)
            listed = Choice(self.listed(options)) if options and moves else space
            known = _kept(self._spaces, key, (space, self.value(listed, phase)))
        return known[1]

    def value(self, value: Any, what: str = "") -> Any:
        """An action, a fact, or anything made of texts, numbers and the like; `what` is its phase, or the name of its field."""
        kind_: type = type(value)
        if kind_ is str:  # what there is most of
            return self._texts.get(value) or self.text(value)
        return _way(kind_)(self, value, what)

    def _counted(self, value: Any, what: str) -> Any:
        return _number(self.unit * _exact(value), value) if what in self.amounts else value

    def _sequence(self, value: Any, what: str) -> Any:
        made = [self.value(each, what) for each in value]
        return type(value)(self.by_seats(made) if what in self.by_seat and len(made) == len(self.seats) else made)

    def _named(self, value: Any, what: str) -> Any:
        return type(value)(*(self._field(each, name, what) for name, each in zip(value._fields, value, strict=True)))

    def _mapping(self, value: Any, what: str) -> Any:
        kept = what in self.amounts
        items = {self.value(key): self.value(each, what if kept else str(key)) for key, each in value.items()}
        return type(value)(items) if isinstance(value, dict) else items

    def _facts(self, value: Any, what: str) -> Any:
        make: Callable[..., Any] = _told_apart if hasattr(value, "digest") else Isomorphism._dataclass
        return self._once(value, lambda: make(self, value, what))

    def _field(self, value: Any, name: str, what: str) -> Any:
        return self.value(value, what if what in self.amounts else name)

    def _dataclass(self, value: Any, what: str, left: Sequence[str] = ()) -> Any:
        own = [each.name for each in fields(value) if each.init and each.name not in left]
        new = {name: self._field(getattr(value, name), name, what) for name in own}
        changed = {name: each for name, each in new.items() if each != getattr(value, name)}
        if "digest" in new:  # what is told apart by a hash of its text
            changed["digest"] = f"{value.digest} {self._digest}"
        return replace(value, **changed) if changed else value

    def _rules(self, rules: Any) -> Any:
        if isinstance(rules, Game):
            rules, left = rules.restated(self)
            return left._dataclass(rules, "", OWN)
        if is_dataclass(rules) and not isinstance(rules, type):
            return self._dataclass(rules, "", OWN)
        if isinstance(rules, tuple) and hasattr(rules, "_fields"):
            found: Any = rules
            new = {each: self._field(getattr(found, each), each, "") for each in found._fields if each not in OWN}
            return found._replace(**new)
        return self.value(rules)

    def _happened(self, each: Any, seat: int, phase: str) -> Any:
        """An event; or a round, in which the own action comes first."""
        if isinstance(each, Event):
            return self._once(each, lambda: self.value(each))
        if not isinstance(each, tuple) or not self.seats:
            return self.value(each, phase)
        own = 0 if seat == PUBLIC else seat
        there = self.seat(own) if seat != PUBLIC else 0
        row = self.by_seats((*each[1 : own + 1], each[0], *each[own + 1 :]))
        return self.value((row[there], *row[:there], *row[there + 1 :]), phase)

    def _once(self, value: Any, make: Callable[[], Any]) -> Any:
        """What `make` makes of a value, made once."""
        known = self._known.get(id(value))
        if known is None:
            known = _kept(self._known, id(value), (value, make()))
        return known[1]


@cache
def _way(kind: type) -> Callable[[Isomorphism, Any, str], Any]:
    """How values of a type are mapped: looked up once for each type, because it is asked for millions of times."""
    if issubclass(kind, str):
        return lambda map, value, what: map.text(value)
    if issubclass(kind, Points):
        return lambda map, value, what: Points(map.factor * _exact(float(value)) + map.shift)
    if issubclass(kind, Amount):
        return lambda map, value, what: Amount(map.unit * _exact(float(value)))
    if issubclass(kind, int | float | Fraction) and kind is not bool:
        return Isomorphism._counted
    if issubclass(kind, Event):
        return lambda map, value, what: Event(
            value.phase, _none_or(map.seat, value.seat), map.value(value.value, value.phase)
        )
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return Isomorphism._named
    if issubclass(kind, tuple | list):
        return Isomorphism._sequence
    if issubclass(kind, frozenset | set):
        return lambda map, value, what: kind(map.value(each, what) for each in value)
    if issubclass(kind, Mapping):
        return Isomorphism._mapping
    if is_dataclass(kind):
        return Isomorphism._dataclass if issubclass(kind, Space) else Isomorphism._facts
    return lambda map, value, what: value


@lru_cache(maxsize=16)
def _told_apart(map: Isomorphism, value: Any, what: str) -> Any:
    """What is told apart by a hash of its text: rules of thousands of recipes, which all maps that are equal need."""
    return map._dataclass(value, what)


def _kept(known: dict[Any, Any], key: Any, made: Any) -> Any:
    """What was made, kept for the next time; all is forgotten where that is too much."""
    if len(known) >= KEPT:
        known.clear()
    known[key] = made
    return made


REVERSED = ("(reversed)",)
"""In the place of an order: all options are listed the other way round."""


def _none_or(change: Callable[[int], int], seat: int | None) -> int | None:
    return None if seat is None else change(seat)


def _exact(value: Number) -> Fraction:
    return value if isinstance(value, Fraction) else _written(value)


@lru_cache(maxsize=4096, typed=True)
def _written(value: float) -> Fraction:
    """The number as it is written: 0.1 is a tenth."""
    return Fraction(str(value))


def _number(value: Number, like: Number) -> Any:
    """An exact number as a game writes it: whole ones as `int`, but where it was a float."""
    if isinstance(like, float):
        return float(value)
    exact = Fraction(value)
    return int(exact) if exact.denominator == 1 else exact


@dataclass(frozen=True)
class Telling:
    """How the texts of a twin are made of those of the game beneath it."""

    words: Isomorphism
    """Its words alone."""
    frame: str = ""
    """What is said at the head of the rules."""
    under: "Telling | None" = None
    """Where the game beneath it is a twin as well."""

    def plain(self, value: Any) -> Any:
        """What a text is to be made of, in the words of the game beneath it: a view, or a text."""
        if isinstance(value, Observation):
            return self.words.inverse.view(value)._replace(telling=self.under)
        return self.words.words.back(value) if isinstance(value, str) else value

    def told(self, text: str, rules: bool) -> str:
        """A text of that game in the twin's words; the frame comes first where it has the rules."""
        said = self.words.words.forth(text)
        head = "# Rules\n"
        return said.replace(head, f"{head}{self.frame}\n", 1) if rules and self.frame else said


@kind("agon.games.twins.Twin")
@dataclass(frozen=True)
class Twin(Game[Any]):
    """A game in other clothes: `of` is played beneath, and all that goes in and out is mapped."""

    of: Game[Any]
    map: Isomorphism
    variant: str
    frame: str = ""
    name: str = field(init=False)
    seats: int = field(init=False)
    rules: int = field(init=False)
    players: tuple[str, ...] = field(init=False, repr=False)
    _engine: Game[Any] = field(init=False, repr=False, compare=False)
    """What is played: `of`, or what it has made of itself."""
    _map: Isomorphism = field(init=False, repr=False, compare=False)
    """What is left to be mapped."""
    _telling: Telling | None = field(init=False, repr=False, compare=False)
    _legal: dict[int, tuple[Any, Space]] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Seat -> the state that it was asked of last, and what it may do there: each step asks several times."""

    def __post_init__(self) -> None:
        if self.map.seats and len(self.map.seats) != self.of.seats:
            raise AgonError(
                f"order: seats {list(self.map.seats)} is no permutation of the {self.of.seats} seats of {self.of.name}"
            )
        engine, left = self.of.restated(self.map)
        if left.shift and engine.fixed_rounds is None:
            raise AgonError(
                f"scale: {self.of.name} has no fixed number of rounds: points that are added decide how long to play"
            )
        words = Isomorphism(left.words)
        under = getattr(engine, "_telling", None)
        telling = Telling(words, self.frame, under) if left.words.pairs or self.frame else under
        for name, value in {
            "name": self.of.name,
            "seats": self.of.seats,
            "rules": self.of.rules,
            "_engine": engine,
            "_map": left,
            "_telling": telling,
            "players": left.by_seats([left.text(each) for each in engine.players]),
        }.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Twin, (self.of, self.map, self.variant, self.frame)

    @property
    def engine(self) -> Game[Any]:
        """The game at the bottom, whose family's texts, scripts and pages are the twin's."""
        return self._engine.engine

    @property
    def reworded(self) -> bool:
        """Whether words of its family's texts are exchanged."""
        telling = self._telling
        while telling is not None and not telling.words.words.pairs:
            telling = telling.under
        return telling is not None

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Those of the game beneath."""
        return self._map.by_seats([self._map.text(each) for each in self._engine.roles])

    @cached_property
    def tested(self) -> Sequence[int]:
        """Those of the game beneath."""
        return tuple(sorted(map(self._map.seat, self._engine.tested)))

    @cached_property
    def independent(self) -> bool:
        """As beneath."""
        return self._engine.independent

    @cached_property
    def normal_form(self) -> Any:
        """As beneath, in other words; named as the twin."""
        form: Any = self._engine.normal_form
        return None if form is None else replace(self._map._rules(form), variant=self.variant)

    @cached_property
    def fixed_rounds(self) -> int | None:
        """As beneath."""
        return self._engine.fixed_rounds

    @cached_property
    def max_rounds(self) -> int | None:
        """As beneath."""
        return self._engine.max_rounds

    def times_asked(self, seat: int) -> Times:
        """As beneath."""
        return self._engine.times_asked(self._map.inverse.seat(seat))

    def start(self, dice: Dice) -> Any:
        """The same chance."""
        return self._engine.start(dice)

    def to_move(self, state: Any) -> tuple[int, ...]:
        """The same players, where they sit now."""
        return tuple(sorted(map(self._map.seat, self._engine.to_move(state))))

    def legal_actions(self, state: Any, seat: int) -> Space:
        """The same actions in other clothes."""
        known = self._legal.get(seat)
        if known is None or known[0] is not state:
            own = self._map.inverse.seat(seat)
            phase = self._engine.observe(state, own).phase
            known = self._legal[seat] = state, self._map.space(self._engine.legal_actions(state, own), phase)
        return known[1]

    def observe(self, state: Any, seat: int) -> Observation:
        """The same in other clothes."""
        return self._dressed(self._engine.observe(state, self._map.inverse.seat(seat)))

    def watch(self, state: Any) -> Observation:
        """The same in other clothes."""
        return self._dressed(self._engine.watch(state))

    def step(self, state: Any, actions: Mapping[int, Any]) -> tuple[Any, tuple[float, ...]]:
        """The same step, with its payoffs. Raises IllegalAction."""
        refuse_illegal(self, state, actions)
        back, meant = self._map.inverse, {}
        for seat, action in actions.items():
            own = back.seat(seat)
            meant[own] = back.value(action, self._engine.observe(state, own).phase)
        state, payoffs = self._engine.step(state, dict(sorted(meant.items())))
        return state, self._map.paid(payoffs)

    def notes(self, state: Any) -> Sequence[Note]:
        """Those of the game beneath."""
        return tuple(
            (self._map.seat(seat), what, self._map.value(value, what))
            for seat, what, value in self._engine.notes(state)
        )

    def secrets(self, seat: int) -> tuple[str, ...]:
        """The same in other words."""
        return tuple(map(self._map.text, self._engine.secrets(self._map.inverse.seat(seat))))

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """Those of the game beneath."""
        facts = self._engine.seat_facts(self._map.inverse.seat(seat))
        return {what: value if what == "win" else self._map.value(value, what) for what, value in facts.items()}

    def _dressed(self, view: Observation) -> Observation:
        return self._map.view(view)._replace(telling=self._telling)


@kind("agon.games.twins.twin")
def twin(
    of: Game,  # type: ignore[type-arg]
    variant: str,
    words: dict[str, str] | None = None,
    order: dict[Literal["actions", "seats"], Any] | None = None,
    scale: dict[Literal["payoffs", "plus", "amounts", "by"], Any] | None = None,
    frame: str = "",
) -> Twin:
    """A twin of a game, as conf says it.

    `words`: old -> new. `order`: actions, a list of options or `reversed`; seats, where each seat sits now. `scale`: payoffs,
    by how much they are multiplied, and what is then added to each (plus); and by, a whole number by which all amounts are
    multiplied. Which fields of rules and phases are amounts (`payoffs` may be among them), the game says, or `amounts` does.
    `frame`: a sentence or two before the rules.
    Raises AgonError for what cannot be a twin.
    """
    order, scale = order or {}, scale or {}
    actions, seats = order.get("actions", ()), tuple(order.get("seats", ()))
    unit = scale.get("by", 1)
    if type(unit) is not int or unit < 1:
        raise AgonError(f"scale: by is {unit!r}; it must be a whole number, 1 at least")
    amounts = frozenset(scale.get("amounts", of.amounts)) if unit > 1 else frozenset[str]()
    if unit > 1 and not amounts:
        raise AgonError(
            f"scale: {of.name} does not say which of its numbers are amounts: name fields and phases under `amounts`"
        )
    made = Isomorphism(
        Words(tuple((words or {}).items())),
        seats,
        of.players if seats else (),
        order=REVERSED if actions == "reversed" else tuple(actions),
        factor=Fraction(str(scale.get("payoffs", 1))) * (unit if "payoffs" in amounts else 1),
        shift=Fraction(str(scale.get("plus", 0))),
        unit=unit,
        amounts=amounts,
        by_seat=BY_SEAT | of.by_seat,
    )
    note = f"All amounts are multiples of {unit}." if unit > 1 else ""
    return Twin(of, made, variant, " ".join(filter(None, (frame, note))))
