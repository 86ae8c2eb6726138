"""One seat's beliefs in Chameleon, and the questions about them."""

from typing import Any

from agon.agents.pgm.minds import WORDS, Semantics, Thinking, pair_answers
from agon.agents.pgm.suspicion import RATINGS, SuspicionState, suspect, watcher
from agon.games import Observation
from agon.games.base import Times
from agon.games.spaces import Choice, Form


class BeliefState(SuspicionState):
    """One question after every clue. The chameleon has no view of its own to report, and names its guess of the word instead."""

    def __init__(self, view: Observation, form: str, semantics: Semantics) -> None:
        self.spy = view.role == view.rules.roles[0]
        super().__init__(view, form, semantics)

    @classmethod
    def questions(cls, game: Any) -> Times:
        """One after each clue; the ballot comes after all clues."""
        clues = game.seats * game.max_rounds
        return Times(clues, clues)

    def due(self, view: Observation) -> list[int]:
        """After each clue."""
        return [count for count, event in enumerate(view.past, 1) if event.phase == "clue"][self.done :]

    def think(self, view: Observation) -> Thinking:
        """Asks whether each player has become more or less suspicious, in the view of the seat and in that of every other."""
        self.done += 1
        self.written = ()
        if self.by_numbers:
            yield from self.numbers()
            return
        views = self.others if self.spy else [self.seat, *self.others]
        pairs = self.pairs(("find", "finds"), views, self.players)
        word = [("word", WORDS)] if self.spy else []
        form = Form((*((name, Choice(tuple(RATINGS))) for name in pairs), *word, ("because", WORDS)))
        answer = yield form
        self.update(
            None if answer is None else pair_answers(pairs.values(), [RATINGS.get(rating) for rating in answer])
        )
        if answer is not None:
            self.written = (form.format(answer),)

    def ballot(self, view: Observation) -> Any:
        """The suspect of the matrix, with the published semantics; else None."""
        if not self.published or view.phase != "vote":
            return None
        allowed = [seat for seat in range(self.seats) if self.players[seat] in view.legal]
        seat = suspect(self.matrix, self.seat, self.others if self.spy else allowed, "last")
        return None if seat is None else self.players[seat]

    @property
    def suspect(self) -> int | None:
        """The most suspicious of the others; None for the chameleon, which knows the answer."""
        return None if self.spy else super().suspect

    @property
    def target(self) -> int | None:
        """For the crowd, the player that suspects the seat most; for the chameleon, the one that suspects it least, to be imitated."""
        ties: Any = "nobody" if not self.published else "first" if self.spy else "last"
        return watcher(self.matrix, self.seat, not self.spy, ties)
