"""What every game answers: who is to move, what is legal, what each seat sees, what a step pays."""

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, is_dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from math import inf
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from agon.games.spaces import Choice as Choice  # offered here too
from agon.games.spaces import Dice as Dice
from agon.games.spaces import Space as Space

S = TypeVar("S")


class IllegalAction(ValueError):
    """An action that the game's rules do not allow for that seat in that state."""


class Event(NamedTuple):
    """Something that a seat has come to know."""

    phase: str
    """What kind of thing: the part of the round in which it was done, or `topic`, `word`, ..."""
    seat: int | None
    """Who did it; None where the table says it."""
    value: Any
    """The action, or what the table says; None for an action that could not be read."""


PUBLIC = -1
"""In the place of a seat: who only watches, and sees what everybody may see."""

Note = tuple[int, str, Any]
"""Seat, what, value."""

Seen = tuple[tuple[Event, ...], ...]
"""What each seat knows: seen[seat] is a tuple of events, oldest first. The last one, seen[PUBLIC], is what is public."""


def nothing_seen(seats: int) -> Seen:
    """What `seats` seats and the public know before anything is told."""
    return ((),) * (seats + 1)


def told(histories: Seen, event: Event, seats: Collection[int] | None = None) -> Seen:
    """`seen` after `event` has been told to `seats`, and to nobody else; None is everybody, the public included."""
    if seats is None:
        return tuple([history + (event,) for history in histories])
    return tuple([history + (event,) if seat in seats else history for seat, history in enumerate(histories)])


class Observation(NamedTuple):
    """All that one seat may know when it is asked to act."""

    seat: int
    """Who is asked, from 0."""
    round: int
    """The round being played, from 1."""
    legal: Any
    """What it may answer: a Choice, or another Space."""
    past: tuple[Any, ...]
    """What the seat knows, oldest first. In games of rounds alone, finished rounds: own action first, then the others' in
    seat order, None where a seat was void; in other games, events."""
    rules: Any
    """The game's public rules (for a normal-form game, the game itself)."""
    phase: str = "move"
    """The part of the round."""
    role: str = ""
    """The seat's role in the game; empty where seats differ in nothing."""
    wording: "Wording | None" = None
    """How texts about it are said in other words, as a translation does; None: as the family says them."""


class Wording(Protocol):
    """Other words for the texts of a game. What tells a seat something (prompts, forms, pages) passes its texts through it."""

    @property
    def literal(self) -> bool:
        """Whether all words stay, and something is added at most."""

    def __call__(self, render: Callable[..., str], *values: Any) -> str:
        """The text that `render` makes of some values, a view among them, in other words."""


class Times(NamedTuple):
    """How often something happens, whatever is answered."""

    least: int = 0
    most: float = inf
    """Infinite where it is not known."""
    together: float = inf
    """Of an agent's calls, how many may be in one conversation."""


class NormalForm(Protocol):
    """One round in which all seats move at once, with the same actions for all: what can be written as a payoff table."""

    @property
    def name(self) -> str:
        """The game's."""

    @property
    def variant(self) -> str:
        """Which instance of it."""

    @property
    def options(self) -> tuple[str, ...]:
        """The actions."""

    @property
    def payoff(self) -> Sequence[Any]:
        """Points, nested by seat: payoff[a0][a1]...[a_last] has one number for each seat."""

    @property
    def seats(self) -> int:
        """How many players."""

    def payoffs(self, profile: Sequence[str | None]) -> tuple[float, ...]:
        """Points of each seat for one action profile."""

    def __hash__(self) -> int:
        """Normal forms are keys of caches."""


class Game(ABC, Generic[S]):
    """A frozen description of a game; states are values, and nothing is kept between calls.

    `S` is the game's state type. Actions are JSON values; None is a forfeit (no readable action). A game has five verbs of
    its own: `start`, `to_move`, `legal_actions`, `observe` and `step`. All else that others ask about a game has a default here.
    How an action is read and written, its space says (`Space.read`, `Space.spelled`).
    """

    name: str
    """The family, as in the turns' column `game`."""
    variant: str
    """Which instance of the family, as in the turns' column `variant`."""
    seats: int
    """How many players."""
    rules: int = 1
    """Version of the rules: raised when the same actions lead elsewhere than before."""

    def __init_subclass__(cls, **more: object) -> None:
        """A dataclass may have what is computed here as a field (`players: tuple[str, ...]`), which is required without a default.

        Raises TypeError for a field that is called like a method.
        """
        super().__init_subclass__(**more)
        for name in inspect.get_annotations(cls):
            inherited, value = getattr(Game, name, None), getattr(cls, name, None)
            if inspect.isfunction(inherited):
                raise TypeError(f"{cls.__name__} has a field {name}, which is a method of every game: rename the field")
            if value is inherited and isinstance(inherited, cached_property):
                setattr(cls, name, field())  # else a dataclass would take what is inherited for a default

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Each seat's true role, whether or not it knows it; empty where seats differ in nothing."""
        return ()

    @cached_property
    def tested(self) -> Sequence[int]:
        """The seats under test, which a challenger takes; empty where no seat is singled out."""
        return ()

    @cached_property
    def everybody(self) -> "Game[S]":
        """The same game in which no seat is singled out, so that all speak for themselves from the start."""
        return replace(self, tested=()) if self.tested and is_dataclass(self) else self

    @cached_property
    def independent(self) -> bool:
        """Whether seats that move at once do not depend on each other: an unreadable action then leaves the others' valid."""
        return False

    @cached_property
    def normal_form(self) -> NormalForm | None:
        """One round as a payoff table; None where the game has none."""
        return None

    @cached_property
    def fixed_rounds(self) -> int | None:
        """In how many rounds all seats move at once, with the same options; None where it is not so."""
        return None

    @cached_property
    def max_rounds(self) -> int | None:
        """How many rounds a match may have; None: it is not known."""
        return self.fixed_rounds

    def times_asked(self, seat: int) -> Times:
        """How often a match asks `seat`, at the least and at the most, whatever anybody answers."""
        return Times() if self.fixed_rounds is None else Times(self.fixed_rounds, self.fixed_rounds)

    @cached_property
    def players(self) -> tuple[str, ...]:
        """What the seats are called."""
        return tuple(f"Player {seat + 1}" for seat in range(self.seats))

    @abstractmethod
    def start(self, dice: Dice) -> S:
        """The first state; all chance is drawn here."""

    @abstractmethod
    def to_move(self, state: S) -> tuple[int, ...]:
        """Seats asked now, at once; empty when the match is over."""

    @abstractmethod
    def legal_actions(self, state: S, seat: int) -> Space:
        """What `seat` may answer."""

    @abstractmethod
    def observe(self, state: S, seat: int) -> Observation:
        """What `seat` sees."""

    @abstractmethod
    def step(self, state: S, actions: Mapping[int, Any]) -> tuple[S, tuple[float, ...]]:
        """The next state and what the step pays each seat (points).

        Raises IllegalAction for an action that is not legal, and for a seat that is not to move.
        """

    def watch(self, state: S) -> Observation:
        """What anybody may see: the seat is PUBLIC, `legal` is None, and finished rounds are in seat order.

        By default nothing has happened that is public.
        """
        return self.observe(state, 0)._replace(seat=PUBLIC, legal=None, past=(), role="")

    def notes(self, state: S) -> Iterable[Note]:
        """What the step to this state leaves in the records alone (the turns' column `detail`): of several of one name the last."""
        return ()

    def secrets(self, seat: int) -> tuple[str, ...]:
        """Texts of the setting that `seat` must not be shown while the match goes on; those of PUBLIC nobody who watches."""
        return ()

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """What metrics must know of a seat and turns cannot say (agon.games.tables.seat_table has the columns)."""
        return {}


@cache
def _families(source: type | FunctionType) -> tuple[tuple[Path, str], ...]:
    folders: dict[Path, str] = {}
    for part in source.__mro__ if isinstance(source, type) else (source,):
        file = getattr(sys.modules[part.__module__], "__file__", None)
        if file and Path(file).with_name("game.py").is_file():
            folders.setdefault(Path(file).parent, part.__module__.rpartition(".")[0])
    return tuple(folders.items())


def _class_of(source: object) -> type | FunctionType:
    if isinstance(source, type | FunctionType):
        return source
    return type(source)


def families(source: object) -> tuple[Path, ...]:
    """The folders of the family of a game, of its public rules, or of a class or function in it, and of what it inherits from."""
    return tuple(folder for folder, _ in _families(_class_of(source)))


def family_module(source: object, name: str) -> ModuleType | None:
    """The module `name` (settings, scripts, beliefs, page ...) of the nearest family that has one; None where none has."""
    return _module(_class_of(source), name)


@cache
def _module(source: Any, name: str) -> ModuleType | None:
    for folder, package in _families(source):
        if (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file():
            return import_module(f"{package}.{name}")
    return None


def modules(name: str) -> dict[str, ModuleType]:
    """The module `name` (settings, scripts ...) of every family in this folder that has one, by family, in alphabetical order."""
    names = sorted(path.parent.name for path in Path(__file__).parent.glob(f"*/{name}.py"))
    return {family: import_module(f"agon.games.{family}.{name}") for family in names}


def refuse_illegal(game: Game[S], state: S, actions: Mapping[int, Any]) -> None:
    """Raises IllegalAction unless the seats to move act, no others, each with a legal action or None."""
    seats = game.to_move(state)
    if actions.keys() != set(seats):
        raise IllegalAction(f"{game.name}: seats {sorted(actions)} acted; to move: {list(seats)}")
    for seat in seats:
        action, legal = actions[seat], game.legal_actions(state, seat)
        if action is not None and action not in legal:
            raise IllegalAction(f"seat {seat} may not play {action!r} in {game.name}: only {legal.as_json()}")


def known_notes(notes: Iterable[Note], seats: Collection[int]) -> Iterator[Note]:
    """The notes of a step that asked or paid `seats`. Raises ValueError for one of another seat: it would have no row."""
    for seat, what, value in notes:
        if seat not in seats:
            raise ValueError(f"notes: {what!r} is noted of seat {seat!r}, which this step neither asked nor paid")
        yield seat, what, value


def check_seats(name: str, selection: Iterable[int], seats: int) -> tuple[int, ...]:
    """The `chosen` seats in order. Raises ValueError for one that a game called `name` does not have."""
    for seat in selection:
        if type(seat) is not int or seat not in range(seats):
            raise ValueError(f"{name}: there is no seat {seat!r}: seats are 0 to {seats - 1}")
    return tuple(sorted(set(selection)))


def check_semantics(name: str, semantics: str, choices: tuple[str, ...]) -> None:
    """Raises ValueError for a reading of the rules that a game called `name` does not have."""
    if semantics not in choices:
        raise ValueError(f"{name}: semantics is {semantics!r}; it must be {' or '.join(choices)}")


def check_counts(name: str, **counts: object) -> None:
    """Raises ValueError unless all settings `counts` of a game called `name` are whole numbers from 1."""
    for what, count in counts.items():
        if type(count) is not int or count < 1:
            raise ValueError(f"{name}: {what} is {count!r}; it must be a whole number, 1 at least")
