"""What one seat believes in one match, and when and what it is asked about it. A family's beliefs.py may have a Mind of its own."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from typing import Any, Literal

from agon.games import Observation
from agon.games.base import Times, family_module
from agon.games.spaces import Choice, Form, Space, Text
from agon.loop import longest

Semantics = Literal["strict", "published"]
Thinking = Generator[Space, Any, None]

WORDS = Text(600)
"""Reasons and plans."""


class Mind(ABC):
    """What all have in common. `semantics` published is described in agon.agents.pgm.agent."""

    step = ""
    """Which of several questions an analysis has come to."""
    role = ""
    """What the seat thinks that it is, where it is not told."""

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        self.seat, self.seats = view.seat, view.rules.seats
        self.by_numbers, self.published = form == "matrix", semantics == "published"
        self.others = [seat for seat in range(self.seats) if seat != self.seat]
        self.written: tuple[str, ...] = ()
        """The latest analysis."""

    @classmethod
    def questions(cls, game: Any) -> Times:
        """How many questions it has in a match of a game, whatever is answered; not known here."""
        return Times()

    @abstractmethod
    def due(self, view: Observation) -> list[int]:
        """How much of `view.past` was known at each analysis that is due and has not been made."""

    @abstractmethod
    def think(self, view: Observation) -> Thinking:
        """One analysis: yields what may be answered to a question and is sent the answer, or None."""

    def ballot(self, view: Observation) -> Any:
        """What the beliefs make of a decision that is theirs; None where the decision is the agent's."""
        return None

    def shown(self, phase: str, aside: bool) -> bool:
        """Whether its notes are seen in a phase."""
        return not aside

    @property
    def target(self) -> int | None:
        """The seat at which the next clue aims."""
        return None

    @property
    def suspect(self) -> int | None:
        """The seat that it suspects most."""
        return None

    @property
    @abstractmethod
    def held(self) -> dict[str, Any]:
        """For the records."""

    def pairs(self, verb: Sequence[str], views: Sequence[int], names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Question -> (whose view, of which seat); `verb` in the first person and in the third."""
        return {
            f"{'I ' + verb[0] if view == self.seat else f'{names[view]} {verb[1]}'} "
            f"{'me' if seat == self.seat else names[seat]}": (view, seat)
            for view in views
            for seat in range(self.seats)
            if seat != view
        }


class Forecasting(Mind):
    """After every round but the last: what each other does next, and what each expects of the rest. Words, no numbers."""

    forecast: Space | None = None
    """What is forecast of each, in words; None: its next action, where there are words for it."""

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        super().__init__(view, "text", semantics)
        self.round = 1
        self.rows: list[list[str | None]] = []

    @classmethod
    def questions(cls, game: Any) -> Times:
        """One a round after the first; at most as many as there may be rounds."""
        rounds = game.max_rounds or longest(game)
        return Times(game.fixed_rounds - 1 if game.fixed_rounds else 0, rounds - 1)

    def due(self, view: Observation) -> list[int]:
        """Once a round after the first; what has been done in the new round already is not known yet."""
        if view.round <= self.round:
            return []
        return [self.known(view)]

    def known(self, view: Observation) -> int:
        """How much of `view.past` is of finished rounds."""
        return len(view.past)

    def names(self, view: Observation) -> Sequence[str]:
        """What the seats are called."""
        return view.rules.players

    def think(self, view: Observation) -> Thinking:
        """Every player's forecast of every other."""
        self.round, self.written = view.round, ()
        pairs = self.pairs(("expect of", "expects of"), [self.seat, *self.others], self.names(view))
        space = self.forecast or (view.legal if isinstance(view.legal, Choice) else Text(100))
        form = Form((*((name, space) for name in pairs), ("because", WORDS)))
        answer = yield form
        if answer is not None:
            said = matched(pairs.values(), answer)
            self.rows = [[said.get((view, seat)) for seat in range(self.seats)] for view in range(self.seats)]
            self.written = (form.spelled(answer),)

    @property
    def held(self) -> dict[str, Any]:
        """What is expected, if anything has been."""
        return {"beliefs": self.rows, "target": None} if self.rows else {}


def mind_of(view: Observation, form: str, semantics: Semantics) -> Mind:
    """The mind of a seat at the start of a match: `Mind` in the beliefs of the game's family, else one that forecasts actions."""
    return mind_class(view.rules)(view, form, semantics)


def mind_class(game: Any) -> type[Mind]:
    """The class of minds for a game, or its public rules."""
    module = family_module(game, "beliefs")
    made: type[Mind] = Forecasting if module is None else module.Mind
    return made


def matched(pairs: Iterable[tuple[int, int]], said: Sequence[Any]) -> dict[tuple[int, int], Any]:
    """Answers by view and seat; what is answered besides comes after them."""
    return dict(zip(pairs, said, strict=False))
