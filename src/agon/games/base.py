"""What every game answers: who is to move, what is legal, what each seat sees, what a step pays."""

import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

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

Seen = tuple[tuple[Event, ...], ...]
"""What each seat knows: seen[seat] is a tuple of events, oldest first. The last one, seen[PUBLIC], is what is public."""


def nothing_seen(seats: int) -> Seen:
    """What `seats` seats and the public know before anything is told."""
    return ((),) * (seats + 1)


def told(seen: Seen, event: Event, seats: Collection[int] | None = None) -> Seen:
    """`seen` after `event` has been told to `seats`, and to nobody else; None is everybody, the public included."""
    if seats is None:
        return tuple([known + (event,) for known in seen])
    return tuple([known + (event,) if seat in seats else known for seat, known in enumerate(seen)])


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


class Game(Protocol[S]):
    """A frozen description of a game; states are values, and nothing is kept between calls.

    `S` is the game's state type. Actions are JSON values; None is a forfeit (no readable action).
    """

    @property
    def name(self) -> str:
        """The family, as in the turns' column `game`."""

    @property
    def variant(self) -> str:
        """Which instance of the family, as in the turns' column `variant`."""

    @property
    def rules(self) -> int:
        """Version of the rules: raised when the same actions lead elsewhere than before."""

    @property
    def seats(self) -> int:
        """How many players."""

    def start(self, dice: Dice) -> S:
        """The first state; all chance is drawn here."""

    def to_move(self, state: S) -> tuple[int, ...]:
        """Seats asked now, at once; empty when the match is over."""

    def legal_actions(self, state: S, seat: int) -> Space:
        """What `seat` may answer."""

    def observe(self, state: S, seat: int) -> Observation:
        """What `seat` sees."""

    def watch(self, state: S) -> Observation:
        """What anybody may see: the seat is PUBLIC, `legal` is None, and finished rounds are in seat order."""

    def step(self, state: S, actions: Mapping[int, Any]) -> tuple[S, tuple[float, ...]]:
        """The next state and what the step pays each seat (points).

        Raises IllegalAction for an action that is not legal, and for a seat that is not to move.
        """


@cache
def _families(made: type) -> tuple[Path, ...]:
    files = [getattr(sys.modules[each.__module__], "__file__", None) for each in made.__mro__]
    return tuple(
        dict.fromkeys(Path(file).parent for file in files if file and (Path(file).parent / "game.py").is_file())
    )


def families(made: Any) -> tuple[Path, ...]:
    """The folders that say more about a game, its rules or a class of either: its family's, then those it inherits from."""
    return _families(made if isinstance(made, type) else type(made))


def refuse_illegal(game: Game[S], state: S, actions: Mapping[int, Any]) -> None:
    """Raises IllegalAction unless the seats to move act, no others, each with a legal action or None."""
    asked = game.to_move(state)
    if actions.keys() != set(asked):
        raise IllegalAction(f"{game.name}: seats {sorted(actions)} acted; to move: {list(asked)}")
    for seat in asked:
        action, legal = actions[seat], game.legal_actions(state, seat)
        if action is not None and action not in legal:
            raise IllegalAction(f"seat {seat} may not play {action!r} in {game.name}: only {legal.as_json()}")


def known_seats(name: str, chosen: Iterable[int], seats: int) -> tuple[int, ...]:
    """The `chosen` seats in order. Raises ValueError for one that a game called `name` does not have."""
    for seat in chosen:
        if type(seat) is not int or seat not in range(seats):
            raise ValueError(f"{name}: there is no seat {seat!r}: seats are 0 to {seats - 1}")
    return tuple(sorted(set(chosen)))


def known_semantics(name: str, semantics: str, known: tuple[str, ...]) -> None:
    """Raises ValueError for a reading of the rules that a game called `name` does not have."""
    if semantics not in known:
        raise ValueError(f"{name}: semantics is {semantics!r}; it must be {' or '.join(known)}")
