"""What one seat believes of who is the spy, in games of clues."""

from collections.abc import Mapping
from typing import Any

from agon.agents.minds import Mind, Semantics, Thinking
from agon.games import Observation
from agon.games.deduction.suspicion import Matrix, Suspicions, normalised, prior, suspect, updated


class Suspecting(Mind):
    """The belief matrix of games with a spy (agon.games.deduction.suspicion)."""

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
