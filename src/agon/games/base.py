"""The interface of every game: who moves, the legal actions, each seat's observation, and the payoffs of a step."""

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, is_dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from math import inf
from numbers import Rational, Real
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from agon.games.spaces import Choice as Choice  # exported here, too
from agon.games.spaces import Dice as Dice
from agon.games.spaces import Space as Space
from agon.games.spaces import quoted

S = TypeVar("S")


class IllegalAction(ValueError):
    """An action that the game's rules do not allow for that seat in that state."""


class Event(NamedTuple):
    """One entry of a seat's history."""

    phase: str
    """Its kind: the part of the round for an action, else `topic`, `word`, ..."""
    seat: int | None
    """The seat that acted; None for a statement of the table."""
    value: Any
    """The action or the statement; None for an unreadable action, and where a statement names nobody."""


PUBLIC = -1
"""The seat number of a spectator, who sees only what is public."""

Note = tuple[int, str, Any]
"""(seat, name, value)."""

Histories = tuple[tuple[Event, ...], ...]
"""The history of each seat: seen[seat] is a tuple of events, oldest first. The last one, seen[PUBLIC], is the public history."""


def empty_histories(seats: int) -> Histories:
    """Empty histories for `seats` seats and the public."""
    return ((),) * (seats + 1)


def reveal(histories: Histories, event: Event, seats: Collection[int] | None = None) -> Histories:
    """The histories after `seats`, and nobody else, have seen `event`; None: all seats and the public have."""
    if seats is None:
        return tuple([history + (event,) for history in histories])
    return tuple([history + (event,) if seat in seats else history for seat, history in enumerate(histories)])


class Observation(NamedTuple):
    """All that a seat knows when it is asked to act: its information set."""

    seat: int
    """The seat that is asked, from 0."""
    round: int
    """The round being played, from 1."""
    legal: Any
    """Its action space: a Choice, or another Space."""
    past: tuple[Any, ...]
    """The seat's history, oldest first. In games of rounds alone it has a tuple per finished round: the own action, then the
    others' in seat order, None where a seat was void. In other games it has events."""
    rules: Any
    """The game's public rules (for a normal-form game, the game itself)."""
    phase: str = "move"
    """The part of the round."""
    role: str = ""
    """The seat's role in the game; empty where all seats are alike."""
    wording: "Wording | None" = None
    """Restates texts about the game in other words, as a translation does; None: the family's own words."""


def quote_players(view: Observation) -> Observation:
    """The view with the words of players in quotation marks, as prompts show them (`quoted` of the rules: phases of events)."""
    phases = getattr(view.rules, "quoted", ())
    if not phases:
        return view
    events = [
        event._replace(value=quoted(event.value)) if event.phase in phases and event.value is not None else event
        for event in view.past
    ]
    return view._replace(past=tuple(events))


class Wording(Protocol):
    """Other words for the texts of a game. Prompts, forms and pages pass their texts through it."""

    @property
    def literal(self) -> bool:
        """Whether no words change; something may be added."""

    def __call__(self, render: Callable[..., str], *values: Any) -> str:
        """The text that `render` makes of `values` (an observation among them), in other words."""


class Times(NamedTuple):
    """How often something happens at the least and at the most, whatever the answers."""

    least: int = 0
    most: float = inf
    """Infinite where it is not known."""
    together: float = inf
    """The most calls of a model that one conversation of an agent may have."""


class NormalForm(Protocol):
    """One round in which all seats move at once: a game in normal form."""

    @property
    def name(self) -> str:
        """The game's name."""

    @property
    def variant(self) -> str:
        """The game's variant."""

    @property
    def action_sets(self) -> tuple[tuple[str, ...], ...]:
        """The actions of each seat."""

    @property
    def seats(self) -> int:
        """How many players."""

    def payoffs(self, profile: Sequence[str | None]) -> tuple[float, ...]:
        """Points of each seat for one action profile."""

    def __hash__(self) -> int:
        """Normal forms are keys of caches."""


class Game(ABC, Generic[S]):
    """A frozen description of a game; states are values, and nothing is kept between calls.

    `S` is the game's state type. Actions are JSON values; None is a forfeit (no readable action). Each game defines
    five methods: `start`, `to_move`, `legal_actions`, `observe` and `step`. Everything else has a default here.
    Spaces read and write actions (`Space.read`, `Space.format`).
    """

    name: str
    """The family, as in the turns' column `game`."""
    variant: str
    """Which instance of the family, as in the turns' column `variant`."""
    seats: int
    """How many players."""
    rules: int = 1
    """Version of the rules. It is raised when the same actions have other results than before."""

    def __init_subclass__(cls, **more: object) -> None:
        """Lets a dataclass replace a property of this class by a field (`players: tuple[str, ...]`).

        The field is required if it has no default. Raises TypeError for a field with the name of a method.
        """
        super().__init_subclass__(**more)
        for name in inspect.get_annotations(cls):
            inherited, value = getattr(Game, name, None), getattr(cls, name, None)
            if inspect.isfunction(inherited):
                raise TypeError(f"{cls.__name__} has a field {name}, which is a method of every game: rename the field")
            if value is inherited and isinstance(inherited, cached_property):
                setattr(cls, name, field())  # else dataclass takes the inherited property for a default

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Each seat's true role, whether or not it knows it; empty where all seats are alike."""
        return ()

    @cached_property
    def tested(self) -> Sequence[int]:
        """The seats under test, which a challenger takes; empty where no seat is singled out."""
        return ()

    @cached_property
    def without_tested(self) -> "Game[S]":
        """The same game with no seat under test, so that every seat chooses all of its actions."""
        return replace(self, tested=()) if self.tested and is_dataclass(self) else self

    @cached_property
    def asides(self) -> str:
        """The name of the setting that turns on questions that change nothing (interviews); empty where the game asks none."""
        return ""

    @cached_property
    def without_asides(self) -> "Game[S]":
        """The same game without these questions."""
        return replace(self, **{self.asides: False}) if self.asides and is_dataclass(self) else self

    @cached_property
    def independent(self) -> bool:
        """Whether an unreadable action leaves simultaneous actions of others valid."""
        return False

    @cached_property
    def normal_form(self) -> NormalForm | None:
        """One round as a payoff table; None where the game has none."""
        return None

    @cached_property
    def fixed_rounds(self) -> int | None:
        """The number of rounds, if in each all seats move at once with the same options; else None."""
        return None

    @cached_property
    def max_rounds(self) -> int | None:
        """The most rounds of a match; None: not known."""
        return self.fixed_rounds

    def times_asked(self, seat: int) -> Times:
        """How often a match asks `seat`, whatever the answers."""
        return Times() if self.fixed_rounds is None else Times(self.fixed_rounds, self.fixed_rounds)

    @cached_property
    def players(self) -> tuple[str, ...]:
        """The names of the seats."""
        return tuple(f"Player {seat + 1}" for seat in range(self.seats))

    @abstractmethod
    def start(self, dice: Dice) -> S:
        """The first state; all chance is drawn here."""

    @abstractmethod
    def to_move(self, state: S) -> tuple[int, ...]:
        """Seats asked now, at once; empty when the match is over."""

    @abstractmethod
    def legal_actions(self, state: S, seat: int) -> Space:
        """The action space of `seat`."""

    @abstractmethod
    def observe(self, state: S, seat: int) -> Observation:
        """The observation of `seat`."""

    @abstractmethod
    def step(self, state: S, actions: Mapping[int, Any]) -> tuple[S, tuple[float, ...]]:
        """The next state, and the payoff of each seat (points).

        Raises IllegalAction for an action that is not legal, and for a seat that is not to move.
        """

    def watch(self, state: S) -> Observation:
        """The public observation: the seat is PUBLIC, `legal` is None, and finished rounds are in seat order.

        By default the public history is empty.
        """
        return self.observe(state, 0)._replace(seat=PUBLIC, legal=None, past=(), role="")

    def notes(self, state: S) -> Iterable[Note]:
        """Notes of the last step for the records (the turns' column `detail`), which no seat sees. A later note replaces one of
        the same name."""
        return ()

    def secrets(self, seat: int) -> tuple[str, ...]:
        """Texts of the setting that `seat` (or PUBLIC, a spectator) must not see during the match."""
        return ()

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """Facts of a seat for metrics that turns do not have (columns: agon.games.tables.seat_table)."""
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
    """The folders of a family and of those that it inherits from; `source`: a game, its public rules, a class or a function."""
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
    """Raises IllegalAction unless exactly the seats to move act, each with a legal action or None."""
    seats = game.to_move(state)
    if actions.keys() != set(seats):
        raise IllegalAction(f"{game.name}: seats {sorted(actions)} acted; to move: {list(seats)}")
    for seat in seats:
        action, legal = actions[seat], game.legal_actions(state, seat)
        if action is not None and action not in legal:
            raise IllegalAction(explain_illegal(game, seat, action, legal))


def explain_illegal(game: Game[S], seat: int, action: Any, legal: Space) -> str:
    """The message for an action that is not legal."""
    options = ", ".join(legal.options) if isinstance(legal, Choice) else legal.as_json()
    return f"seat {seat} may not play {action!r} in {game.name}: only {options}"


def check_notes(notes: Iterable[Note], seats: Collection[int]) -> Iterator[Note]:
    """The notes of a step that asked or paid `seats`. Raises ValueError for a note on another seat, which has no row."""
    for seat, what, value in notes:
        if seat not in seats:
            raise ValueError(f"notes: {what!r} is noted of seat {seat!r}, which this step neither asked nor paid")
        yield seat, what, plain_number(value)


def plain_number(value: Any) -> Any:
    """A number of numpy, or a fraction, as one of Python that JSON can hold; any other value stays as it is."""
    if isinstance(value, int) or not isinstance(value, Real):
        return value
    return int(value.numerator) if isinstance(value, Rational) and value.denominator == 1 else float(value)


def check_seats(name: str, selection: Iterable[int], seats: int) -> tuple[int, ...]:
    """The `selection` of seats in order. Raises ValueError for a seat that the game `name` does not have."""
    for seat in selection:
        if type(seat) is not int or seat not in range(seats):
            raise ValueError(f"{name}: there is no seat {seat!r}: seats are 0 to {seats - 1}")
    return tuple(sorted(set(selection)))


def check_counts(name: str, **counts: object) -> None:
    """Raises ValueError unless all `counts` of the game `name` are whole numbers from 1."""
    for what, count in counts.items():
        if type(count) is not int or count < 1:
            raise ValueError(f"{name}: {what} is {count!r}; it must be a whole number, 1 at least")
