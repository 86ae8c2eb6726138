"""Chameleon: all know the topic, and all but one the word; the chameleon pretends that it knows the word, too."""

from dataclasses import dataclass
from typing import Any

from agon.games.base import Event
from agon.games.deduction import game
from agon.games.deduction.game import Ask, Deduction, holds, plain
from agon.games.spaces import Form, Space, Text
from agon.registry import kind

CREDITS = {"caught": (0, 2), "guessed": (1, 1), "escaped": (2, 0), "even": (1, 1)}
"""Outcome -> (the chameleon's credits, those of each other player); both together are 2. MAgIC, A.2. The outcomes are those of
its code (0 to 3, in this order): by the paper's words a wrong accusation would pay 1 : 1, against its own Figure 5."""

ROLES = ("chameleon", "non-chameleon")


@dataclass(frozen=True)
class Facts(game.Facts):
    """The public rules."""

    topic: str
    roles: tuple[str, str] = ROLES


@kind("agon.games.chameleon.Chameleon")
@dataclass(frozen=True)
class Chameleon(Deduction):
    """MAgIC, sections 2 and A.1. One clue each, then the ballot; a chameleon that is accused guesses the word, once.

    A guess is right if its letters and digits are the word's; none, or an unreadable one, is wrong. Interviews ask before
    every clue: who am I? They ask after it: whom does each player suspect? The chameleon has no suspect of its own: it
    names the word instead.
    """

    credits = CREDITS
    sides = ROLES
    topic: str = ""

    def __post_init__(self) -> None:
        if not self.topic.strip() or not plain(self.word):
            raise ValueError(f"{self.name}: a setting needs a topic and a word")
        if holds(self.topic, self.word):
            raise ValueError(f"{self.name}: the topic, which all know, holds the word {self.word!r}: {self.topic!r}")
        super().__post_init__()

    def _steps(self) -> tuple[Ask, ...]:
        steps: list[Ask] = []
        for round_ in range(1, self.rounds + 1):
            for seat in range(self.seats):
                steps += [*self._ask_everybody("identify", round_), Ask("clue", round_, (seat,))]
                steps += self._ask_everybody("evaluate", round_)
        return (*steps, *self._ask_everybody("vote", self.rounds), Ask("guess", self.rounds, (self.spy,)))

    def _facts(self) -> Facts:
        return Facts(self.name, self.seats, self.players, self.rounds, self.topic)

    def _opening(self, seat: int) -> tuple[Event, ...]:
        events = (*self._public_opening, Event("role", None, self.roles[seat]))
        return events if seat == self.spy else (*events, Event("word", None, self.word))

    @property
    def _public_opening(self) -> tuple[Event, ...]:
        return (Event("topic", None, self.topic),)

    def _visible_role(self, seat: int) -> str:
        return self.roles[seat]

    def _space(self, phase: str, seat: int) -> Space:
        space: Any = super()._space(phase, seat)
        if phase == "evaluate" and seat == self.spy:
            return Form(
                tuple(part if view != seat else ("word", Text(self.length)) for view, part in enumerate(space.parts))
            )
        return space
