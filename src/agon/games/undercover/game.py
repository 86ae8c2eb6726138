"""Undercover: all describe a word; one player has another word than the rest, and nobody knows who."""

from dataclasses import dataclass

from agon.games.base import Event
from agon.games.deduction import game
from agon.games.deduction.game import UNSURE, Ask, Deduction, plain
from agon.registry import kind

CREDITS = {"caught": (0, 3), "escaped": (3, 0), "even": (2, 1)}
"""Outcome -> (the undercover's credits, those of each civilian); both together are 3. MAgIC, A.2. The outcomes are those of its
code (0 to 2, in this order)."""

ROLES = ("undercover", "civilian")


@dataclass(frozen=True)
class Facts(game.Facts):
    """The public rules."""

    roles: tuple[str, str] = ROLES


@kind("agon.games.undercover.Undercover")
@dataclass(frozen=True)
class Undercover(Deduction):
    """MAgIC, sections 2 and A.1. Two rounds of clues, then the ballot; nobody guesses, and nobody is told a role.

    Interviews, at the end of every round: who am I? (not sure is an answer), and whom does each player suspect?
    """

    credits = CREDITS
    sides, doubt = ROLES, (UNSURE,)
    rounds: int = 2
    spy_word: str = ""

    def __post_init__(self) -> None:
        if not plain(self.word) or not plain(self.spy_word) or plain(self.word) == plain(self.spy_word):
            raise ValueError(f"{self.name}: a setting needs two words, not {self.word!r} and {self.spy_word!r}")
        super().__post_init__()

    @property
    def _words(self) -> tuple[str, ...]:
        return self.word, self.spy_word

    def _word_of(self, seat: int) -> str:
        return self.spy_word if seat == self.spy else self.word

    def _steps(self) -> tuple[Ask, ...]:
        steps: list[Ask] = []
        for round_ in range(1, self.rounds + 1):
            steps += [Ask("clue", round_, (seat,)) for seat in range(self.seats)]
            steps += [*self._ask_everybody("identify", round_), *self._ask_everybody("evaluate", round_)]
        return (*steps, *self._ask_everybody("vote", self.rounds))

    def _facts(self) -> Facts:
        return Facts(self.name, self.seats, self.players, self.rounds)

    def _opening(self, seat: int) -> tuple[Event, ...]:
        return (Event("word", None, self._word_of(seat)),)
