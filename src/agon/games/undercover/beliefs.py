"""One seat's beliefs in Undercover, and the questions about them."""

from statistics import pstdev
from typing import Any

from agon.agents.pgm.minds import WORDS, Thinking
from agon.agents.pgm.suspicion import SuspicionState, suspect, watcher
from agon.games import Observation
from agon.games.base import Times
from agon.games.deduction.game import NOBODY, UNSURE
from agon.games.spaces import Choice, Form
from agon.games.undercover.game import ROLES


class BeliefState(SuspicionState):
    """Two questions (what am I? who suspects whom?) after every round, and before the seat's own clue unless it opens the round."""

    role = UNSURE

    @classmethod
    def questions(cls, game: Any) -> Times:
        """Two at the end of each round, and at most two before each own clue."""
        return Times(2 * game.max_rounds, 4 * game.max_rounds)

    def due(self, view: Observation) -> list[int]:
        """After every round of clues, and before its own clue."""
        clues = [count for count, event in enumerate(view.past, 1) if event.phase == "clue"]
        own_place = len(clues) if view.phase == "clue" else 0
        due = [count for count in range(self.done + 1, len(clues) + 1) if count % self.seats == 0 or count == own_place]
        return [clues[count - 1] for count in due]

    def think(self, view: Observation) -> Thinking:
        """Asks for the seat's own role, then for suspicions and, if it is sure of its role, for a plan of its next clue."""
        self.done = sum(event.phase == "clue" for event in view.past)
        self.step, self.written = "role", ()
        roles = (*view.rules.roles, UNSURE)
        form = Form((("the others' word", WORDS), ("I am", Choice(roles))))
        answer = yield form
        self.role = self.role if answer is None else answer[1]
        self.written = () if answer is None else (form.format(answer),)
        self.step = "suspicions"
        if self.by_numbers:
            yield from self.numbers()
            return
        views = self.others if self.role == roles[0] else [self.seat, *self.others]
        names = ["I suspect" if view == self.seat else f"{self.players[view]} suspects" for view in views]
        suspects = [
            Choice((*(self.players[seat] for seat in range(self.seats) if seat != view), NOBODY)) for view in views
        ]
        plan = [] if self.role == UNSURE else [("my next clue", WORDS)]
        form = Form((*zip(names, suspects, strict=True), *plan, ("because", WORDS)))
        answer = yield form
        if answer is None:
            self.update(None)
        else:
            pairs = [(view, name) for view, name in zip(views, answer, strict=False) if name != NOBODY]
            self.update({(view, self.players.index(name)): 1 for view, name in pairs})
            self.written = (*self.written, form.format(answer))

    @property
    def target(self) -> int | None:
        """For the undercover, the player that suspects it least, to be imitated; for a civilian, its suspect; else None."""
        own_row = self.matrix[self.seat]
        if self.published:
            if pstdev(own_row) <= 1e-4:
                return self.seats - 1
            chief = suspect(self.matrix, self.seat, range(self.seats), "first")
            return watcher(self.matrix, self.seat, True, "last") if chief == self.seat else chief
        if self.role == UNSURE:
            return None
        return watcher(self.matrix, self.seat, False) if self.role == ROLES[0] else self.suspect
