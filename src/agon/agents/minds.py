"""What one seat believes in one match, and when and what it is asked about it: one class for each kind of game."""

from collections.abc import Generator, Mapping, Sequence
from statistics import pstdev
from typing import Any, Literal

from agon.agents.suspicion import RATINGS, Matrix, Suspicions, normalised, prior, suspect, updated, watcher
from agon.games import MatrixGame, Observation
from agon.games.chameleon import game as chameleon
from agon.games.cost_sharing import game as cost_sharing
from agon.games.deduction import NOBODY, UNSURE
from agon.games.public_goods.game import PublicGoods
from agon.games.spaces import Choice, Form, Space, Text
from agon.games.undercover import game as undercover

Semantics = Literal["strict", "published"]
Thinking = Generator[Space, Any, None]

WORDS = Text(600)
"""Reasons and plans."""


class Mind:
    """What all have in common. `semantics` published is described in agon.agents.beliefs."""

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

    def due(self, view: Observation) -> list[int]:
        """The moments at which it should have thought by now and has not: how much of `view.past` it knew then."""
        raise NotImplementedError

    def think(self, view: Observation) -> Thinking:
        """One analysis: yields what may be answered to a question and is sent the answer, or None."""
        raise NotImplementedError

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
    def held(self) -> dict[str, Any]:
        """For the records."""
        raise NotImplementedError

    def pairs(self, verb: Sequence[str], views: Sequence[int], names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """The name of each question -> whose view of whom it is about; `verb` for the own view and for another's."""
        return {
            f"{'I ' + verb[0] if view == self.seat else f'{names[view]} {verb[1]}'} "
            f"{'me' if seat == self.seat else names[seat]}": (view, seat)
            for view in views
            for seat in range(self.seats)
            if seat != view
        }


class Suspecting(Mind):
    """The belief matrix of games with a spy (agon.agents.suspicion)."""

    spy: bool | None = None

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        super().__init__(view, form, semantics)
        self.matrix, self.done = prior(self.seats, self.seat, self.spy), 0
        self.players: tuple[str, ...] = view.rules.players

    def shown(self, phase: str, aside: bool) -> bool:
        """Published: at clues and interviews."""
        return aside or phase == "clue" if self.published else not aside

    def update(self, more: Mapping[tuple[int, int], int] | None) -> None:
        """Ratings by (view, seat), all others 0; None could not be read."""
        if more is not None or self.published:
            seats, found = range(self.seats), more or {}
            self.matrix = updated(self.matrix, [[found.get((view, seat), 0) for seat in seats] for view in seats])

    def numbers(self) -> Thinking:
        """Asks for the matrix itself."""
        answer: Matrix | None = yield Suspicions(self.players)
        if answer is not None:
            self.matrix = normalised(answer, blank=[(self.seat, self.seat)] if self.spy is False else ())
            rows = Suspicions(self.players).spelled(self.matrix)
            self.written = (*self.written, f"how much each player in turn suspects each: {rows}")

    @property
    def suspect(self) -> int | None:
        """Of the others, the one that stands out in its own row."""
        return suspect(self.matrix, self.seat, self.others)

    @property
    def held(self) -> dict[str, Any]:
        """The matrix, to six places."""
        rows = [[round(cell, 6) for cell in row] for row in self.matrix]
        return {"beliefs": rows, "target": self.target, "suspect": self.suspect} | (
            {"role": self.role} if self.role else {}
        )


class InChameleon(Suspecting):
    """After every clue: one question. The chameleon has no view of its own, and says what it takes for the word."""

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        self.spy = view.role == view.rules.roles[0]
        super().__init__(view, form, semantics)

    def due(self, view: Observation) -> list[int]:
        """After each clue."""
        return [count for count, event in enumerate(view.past, 1) if event.phase == "clue"][self.done :]

    def think(self, view: Observation) -> Thinking:
        """More suspicious, less, or neither: in the own view, and in each other's."""
        self.done += 1
        self.written = ()
        if self.by_numbers:
            yield from self.numbers()
            return
        views = self.others if self.spy else [self.seat, *self.others]
        pairs = self.pairs(("find", "finds"), views, self.players)
        rest = [("word", WORDS)] if self.spy else []
        form = Form((*((name, Choice(tuple(RATINGS))) for name in pairs), *rest, ("because", WORDS)))
        answer = yield form
        self.update(None if answer is None else _matched(pairs.values(), [RATINGS.get(each) for each in answer]))
        if answer is not None:
            self.written = (form.spelled(answer),)

    def ballot(self, view: Observation) -> Any:
        """Published: the matrix's suspect."""
        if not self.published or view.phase != "vote":
            return None
        allowed = [seat for seat in range(self.seats) if self.players[seat] in view.legal]
        seat = suspect(self.matrix, self.seat, self.others if self.spy else allowed, "last")
        return None if seat is None else self.players[seat]

    @property
    def suspect(self) -> int | None:
        """Of the others, the one that stands out; the chameleon need not suspect anybody."""
        return None if self.spy else super().suspect

    @property
    def target(self) -> int | None:
        """Crowd: who suspects it most, to look worse than itself; chameleon: who suspects it least, to be imitated."""
        ties: Any = "nobody" if not self.published else "first" if self.spy else "last"
        return watcher(self.matrix, self.seat, not self.spy, ties)


class InUndercover(Suspecting):
    """Before its own clue, unless that opens a round, and after every round: what am I? and then, who suspects whom?"""

    role = UNSURE

    def due(self, view: Observation) -> list[int]:
        """Counts of clues are what it goes by."""
        clues = [count for count, event in enumerate(view.past, 1) if event.phase == "clue"]
        asked = len(clues) if view.phase == "clue" else 0
        due = [count for count in range(self.done + 1, len(clues) + 1) if count % self.seats == 0 or count == asked]
        return [clues[count - 1] for count in due]

    def think(self, view: Observation) -> Thinking:
        """The own role, whose name is the last thing said; then suspicions as far as it has any, and a plan for a clue."""
        self.done = sum(event.phase == "clue" for event in view.past)
        self.step, self.written = "role", ()
        roles = (*view.rules.roles, UNSURE)
        form = Form((("the others' word", WORDS), ("I am", Choice(roles))))
        answer = yield form
        self.role = self.role if answer is None else answer[1]
        self.written = () if answer is None else (form.spelled(answer),)
        self.step = "suspicions"
        if self.by_numbers:
            yield from self.numbers()
            return
        views = self.others if self.role == roles[0] else [self.seat, *self.others]
        names = ["I suspect" if view == self.seat else f"{self.players[view]} suspects" for view in views]
        suspects = [
            Choice((*(self.players[each] for each in range(self.seats) if each != view), NOBODY)) for view in views
        ]
        plan = [] if self.role == UNSURE else [("my next clue", WORDS)]
        form = Form((*zip(names, suspects, strict=True), *plan, ("because", WORDS)))
        answer = yield form
        said = [] if answer is None else [each for each in zip(views, answer, strict=False) if each[1] != NOBODY]
        self.update(None if answer is None else {(view, self.players.index(name)): 1 for view, name in said})
        if answer is not None:
            self.written = (*self.written, form.spelled(answer))

    @property
    def target(self) -> int | None:
        """Undercover: who suspects it least, to be imitated; civilian: whom it suspects most; not sure: nobody."""
        own = self.matrix[self.seat]
        if self.published:
            if pstdev(own) <= 1e-4:
                return self.seats - 1
            first = suspect(self.matrix, self.seat, range(self.seats), "first")
            return watcher(self.matrix, self.seat, True, "last") if first == self.seat else first
        if self.role == UNSURE:
            return None
        roles: tuple[str, ...] = undercover.Facts._field_defaults["roles"]
        return watcher(self.matrix, self.seat, False) if self.role == roles[0] else self.suspect


class Forecasting(Mind):
    """After every round but the last: what each other does next, and what each expects of the rest. Words, no numbers."""

    FORECASTS: Mapping[type, Choice] = {
        PublicGoods: Choice(("raise", "keep", "lower")),
        cost_sharing.Facts: Choice(("carry more", "carry the same", "carry less")),
    }
    """Games in which not the action itself is forecast."""

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        super().__init__(view, "text", semantics)
        self.round = 1
        self.rows: list[list[str | None]] = []

    def due(self, view: Observation) -> list[int]:
        """Once a round after the first; what has been done in the new round already is not known yet."""
        if view.round <= self.round:
            return []
        events = [count for count, each in enumerate(view.past, 1) if getattr(each, "phase", "") == "vote"]
        return [events[-1] if events else len(view.past)]

    def think(self, view: Observation) -> Thinking:
        """Every player's forecast of every other."""
        self.round, self.written = view.round, ()
        pairs = self.pairs(("expect of", "expects of"), [self.seat, *self.others], _called(view.rules, self.seat))
        space = self.FORECASTS.get(type(view.rules), view.legal if isinstance(view.legal, Choice) else Text(100))
        form = Form((*((name, space) for name in pairs), ("because", WORDS)))
        answer = yield form
        if answer is not None:
            said = _matched(pairs.values(), answer)
            self.rows = [[said.get((view, seat)) for seat in range(self.seats)] for view in range(self.seats)]
            self.written = (form.spelled(answer),)

    @property
    def held(self) -> dict[str, Any]:
        """What is expected, if anything has been."""
        return {"beliefs": self.rows, "target": None} if self.rows else {}


MINDS: Mapping[type, type[Mind]] = {chameleon.Facts: InChameleon, undercover.Facts: InUndercover}
"""What the view's rules are -> how to think about them; all else is forecast."""


def _matched(pairs: Any, said: Sequence[Any]) -> dict[tuple[int, int], Any]:
    """Answers by view and seat; what is answered besides comes after them."""
    return dict(zip(pairs, said, strict=False))


def _called(rules: Any, own: int) -> Sequence[str]:
    """What the players are called, where there are names; else by their order, the asked one left out."""
    if players := getattr(rules, "players", None):
        return players
    if type(rules) is not MatrixGame:
        return [f"Player {seat + 1}" for seat in range(rules.seats)]
    if rules.seats == 2:
        return ["the other player"] * 2
    return [f"other player {seat + (seat < own)}" for seat in range(rules.seats)]
