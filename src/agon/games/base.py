"""What every game answers: who is to move, what is legal, what each seat sees, what a step pays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

S = TypeVar("S")
T = TypeVar("T")


class Dice(Protocol):
    """The only source of chance there is; `random.Random` is one."""

    def random(self) -> float:
        """A float in [0, 1)."""

    def choice(self, seq: Sequence[T]) -> T:
        """One of `seq`, all equally likely."""


class IllegalAction(ValueError):
    """An action that the game's rules do not allow for that seat in that state."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A legal action is one of `options` (labels, in the game's order)."""

    options: tuple[str, ...]

    def __contains__(self, action: object) -> bool:
        return action in self.options

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"choice": list(self.options)}


class Observation(NamedTuple):
    """All that one seat may know when it is asked to act."""

    seat: int
    """Who is asked, from 0."""
    round: int
    """The round being played, from 1."""
    legal: Choice
    """What it may answer."""
    past: tuple[tuple[str | None, ...], ...]
    """Finished rounds: own action first, then the others in seat order; None where a seat was void."""
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

    def legal_actions(self, state: S, seat: int) -> Choice:
        """What `seat` may answer."""

    def observe(self, state: S, seat: int) -> Observation:
        """What `seat` sees."""

    def step(self, state: S, actions: Mapping[int, Any]) -> tuple[S, tuple[float, ...]]:
        """The next state and what the step pays each seat (points).

        Raises IllegalAction for an action that is not legal, and for a seat that is not to move.
        """
