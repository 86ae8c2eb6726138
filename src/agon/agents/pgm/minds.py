"""The beliefs of one seat in one match, and the questions about them. A family's beliefs.py may define its own `BeliefState`."""

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
"""The space of reasons and plans: a text of at most 600 characters."""


class BeliefState(ABC):
    """The base class of belief states. agon.agents.pgm.agent describes `semantics` published."""

    step = ""
    """The name of the present question, where an analysis has several."""
    role = ""
    """The role that the seat believes it has, where roles are secret."""

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        self.seat, self.seats = view.seat, view.rules.seats
        self.by_numbers, self.published = form == "matrix", semantics == "published"
        self.others = [seat for seat in range(self.seats) if seat != self.seat]
        self.written: tuple[str, ...] = ()
        """The latest analysis."""

    @classmethod
    def questions(cls, game: Any) -> Times:
        """The least and the greatest number of questions in a match. By default no number is known."""
        return Times()

    @abstractmethod
    def due(self, view: Observation) -> list[int]:
        """For each analysis that is due: the number of events of `view.past` that it may use."""

    @abstractmethod
    def think(self, view: Observation) -> Thinking:
        """One analysis: yields the space of answers to each question, and is sent the answer (None: unreadable)."""

    def ballot(self, view: Observation) -> Any:
        """The action that follows from the beliefs alone. None: the agent decides."""
        return None

    def shown(self, phase: str, aside: bool) -> bool:
        """Whether the agent sees the notes in a phase."""
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
        """The belief state, for the turn's `detail`."""

    def pairs(self, verb: Sequence[str], views: Sequence[int], names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Question -> (view, seat): the belief of seat `view` about `seat`. `verb` in the first and in the third person."""
        return {
            f"{'I ' + verb[0] if view == self.seat else f'{names[view]} {verb[1]}'} "
            f"{'me' if seat == self.seat else names[seat]}": (view, seat)
            for view in views
            for seat in range(self.seats)
            if seat != view
        }


class ActionForecast(BeliefState):
    """Forecasts in words after every round but the last: each other player's next action, and what each expects of the rest."""

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        super().__init__(view, "text", semantics)
        self.round = 1
        self.rows: list[list[str | None]] = []

    @classmethod
    def questions(cls, game: Any) -> Times:
        """One for each round after the first."""
        rounds = game.max_rounds or longest(game)
        return Times(game.fixed_rounds - 1 if game.fixed_rounds else 0, rounds - 1)

    def due(self, view: Observation) -> list[int]:
        """Once for each round after the first. It may use the finished rounds only."""
        if view.round <= self.round:
            return []
        return [self.known(view)]

    def known(self, view: Observation) -> int:
        """The number of events of `view.past` in finished rounds."""
        return len(view.past)

    def names(self, view: Observation) -> Sequence[str]:
        """What the seats are called."""
        return view.rules.players

    def forecast(self, view: Observation, seat: int) -> Space:
        """The space of a forecast of `seat`: the asked seat's actions, where they are a choice of words."""
        return view.legal if isinstance(view.legal, Choice) else Text(100)

    def think(self, view: Observation) -> Thinking:
        """Every player's forecast of every other."""
        self.round, self.written = view.round, ()
        pairs = self.pairs(("expect of", "expects of"), [self.seat, *self.others], self.names(view))
        form = Form((*((name, self.forecast(view, seat)) for name, (_, seat) in pairs.items()), ("because", WORDS)))
        answer = yield form
        if answer is not None:
            forecasts = pair_answers(pairs.values(), answer)
            self.rows = [[forecasts.get((view, seat)) for seat in range(self.seats)] for view in range(self.seats)]
            self.written = (form.format(answer),)

    @property
    def held(self) -> dict[str, Any]:
        """The latest forecasts. Empty before the first."""
        return {"beliefs": self.rows, "target": None} if self.rows else {}


def mind_of(view: Observation, form: str, semantics: Semantics) -> BeliefState:
    """A seat's belief state at the start of a match (see `mind_class`)."""
    return mind_class(view.rules)(view, form, semantics)


def mind_class(game: Any) -> type[BeliefState]:
    """The class of belief states for a game or its public rules: `BeliefState` of its family's beliefs.py, else `ActionForecast`."""
    module = family_module(game, "beliefs")
    cls: type[BeliefState] = ActionForecast if module is None else module.BeliefState
    return cls


def pair_answers(pairs: Iterable[tuple[int, int]], answers: Sequence[Any]) -> dict[tuple[int, int], Any]:
    """The answers by (view, seat). Further answers at the end are left out."""
    return dict(zip(pairs, answers, strict=False))
