"""The engine of Chameleon and Undercover: clues about a word in turn, hidden interviews, one secret ballot against the spy.

MAgIC (Xu et al., arXiv 2311.08562), sections 2 and A.1, and the released code where it says more.
"""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Literal, NamedTuple
from unicodedata import normalize

from agon.errors import require_choice
from agon.games.base import (
    PUBLIC,
    Dice,
    Event,
    Game,
    Histories,
    Note,
    Observation,
    Times,
    check_counts,
    check_seats,
    refuse_illegal,
    reveal,
)
from agon.games.spaces import Choice, Form, Space, Text, is_one_line

NOBODY = "nobody"
UNSURE = "not sure"

Semantics = Literal["strict", "published"]


class Ask(NamedTuple):
    """One step: the phase, and the seats that are asked."""

    phase: str
    round: int
    seats: tuple[int, ...]


class State(NamedTuple):
    """Where a match stands."""

    at: int
    """Steps done, scripted ones included."""
    seen: Histories
    outcome: str = ""
    """The kind of end, one of `credits`; empty before the ballot."""
    notes: tuple[Note, ...] = ()
    """Notes of the last step for the records, which no seat sees: (seat, name, value)."""


@dataclass(frozen=True)
class Facts:
    """The public rules. Each game of clues has a subclass, by which its family's scripts, beliefs and page are found."""

    name: str
    seats: int
    players: tuple[str, ...]
    rounds: int
    quoted: tuple[str, ...] = field(default=(), kw_only=True)
    """The phases whose events are words of players. Prompts quote these."""


class Table(dict[str, Sequence[int]]):
    """A hashable mapping; it is never changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


@dataclass(frozen=True)
class Deduction(Game[State]):
    """`seats` players, one of them the spy. Each gives a clue in turn, then all vote for another player at once.

    The player with most votes is accused; a tie, no votes at all included, accuses nobody. An unreadable clue is heard as
    none, an unreadable ballot is an abstention, an unreadable interview is no answer. Ballots and interviews are seen by
    nobody else; interviews pay nothing. `semantics` published: a player may vote for itself, as in the released code.

    `tested` are the seats of the player under test. Seats that speak before it do not choose their first clue: the table
    says the scripted one (`clues` has one for each seat). With nobody under test no clue is scripted.

    `rules` 2: prompts quote what players say. With `rules` 1, as recorded before, they do not.
    """

    name: str
    variant: str
    word: str
    """The secret word of all seats but the spy's."""
    spy: int
    clues: Sequence[str]
    tested: Sequence[int] = ()
    rounds: int = 1
    interviews: bool = True
    semantics: Semantics = "strict"
    length: int = 500
    """Characters that a text may have."""
    rules: int = 1
    pays: Mapping[str, Sequence[int]] | None = None
    """Outcome -> credits of the spy, and of each other player. Other outcomes, and all for None, pay the published ones."""
    seats: int = field(init=False)
    players: tuple[str, ...] = field(init=False, repr=False)
    """The names of the seats: Player 1 sits at seat 0."""
    _schedule: tuple[Ask, ...] = field(init=False, repr=False, compare=False)
    _spaces: dict[tuple[str, int], Space] = field(init=False, repr=False, compare=False)
    _public: Facts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seats = len(self.clues)
        if seats < 3:
            raise ValueError(f"{self.name}: there are {seats} clues; one for each of at least 3 players is needed")
        require_choice(f"{self.name}: semantics", self.semantics, Semantics)
        check_counts(self.name, rounds=self.rounds, length=self.length)
        check_seats(self.name, (self.spy,), seats)
        for seat, clue in enumerate(self.clues):
            for word in self._words:
                if holds(clue, word):
                    raise ValueError(f"{self.name}: the clue of seat {seat} holds the word {word!r}: {clue!r}")
            if len(clue) > self.length:
                raise ValueError(f"{self.name}: the clue of seat {seat} is longer than {self.length} characters")
            if not is_one_line(clue):
                raise ValueError(f"{self.name}: the clue of seat {seat} is not one line of visible text: {clue!r}")
        for outcome, pay in (self.pays or {}).items():
            if outcome not in self.credits:
                raise ValueError(f"{self.name}: pays names {outcome!r}; outcomes are {', '.join(self.credits)}")
            if (
                not isinstance(pay, Sequence)
                or len(pay) != 2
                or any(type(credit) not in (int, float) for credit in pay)
            ):
                raise ValueError(
                    f"{self.name}: pays of {outcome} is {pay!r}; it must be two numbers: the spy's, the others'"
                )
        if len({plain(clue) for clue in self.clues}) < seats or not all(map(plain, self.clues)):
            raise ValueError(f"{self.name}: the clues {list(self.clues)} must be different, and not empty")
        for name, value in {
            "clues": tuple(self.clues),
            "tested": check_seats(self.name, self.tested, seats),
            "seats": seats,
            "players": tuple(f"Player {seat + 1}" for seat in range(seats)),
            "pays": None if self.pays is None else Table({outcome: tuple(pay) for outcome, pay in self.pays.items()}),
        }.items():
            object.__setattr__(self, name, value)
        quoted = ("clue", "guess") if self.rules >= 2 else ()
        for name, value in {
            "_schedule": self._steps(),
            "_spaces": {},
            "_public": replace(self._facts(), quoted=quoted),
        }.items():
            object.__setattr__(self, name, value)
        for phase in dict.fromkeys(step.phase for step in self._schedule):
            self._spaces.update({(phase, seat): self._space(phase, seat) for seat in range(seats)})

    # --- each game defines these

    credits: ClassVar[Mapping[str, tuple[int, int]]]
    """Outcome -> credits of the spy, and of each other player."""
    sides: ClassVar[tuple[str, str]]
    """The spy's role, and the others'."""
    doubt: ClassVar[tuple[str, ...]] = ()
    """Further answers to the question for one's role."""

    @property
    def _credits(self) -> dict[str, Sequence[int]]:
        """Outcome -> credits, as this game pays them."""
        return {**self.credits, **(self.pays or {})}

    @property
    def _words(self) -> tuple[str, ...]:
        """Words that no clue may hold."""
        return (self.word,)

    def _word_of(self, seat: int) -> str:
        """The word that a seat must not say."""
        return self.word

    @abstractmethod
    def _steps(self) -> tuple[Ask, ...]:
        """The seats and phases of the questions, in order."""

    @abstractmethod
    def _facts(self) -> Facts:
        """The public rules."""

    @abstractmethod
    def _opening(self, seat: int) -> tuple[Event, ...]:
        """Events that a seat sees at the start."""

    @property
    def _public_opening(self) -> tuple[Event, ...]:
        """Events that the public sees at the start."""
        return ()

    def _visible_role(self, seat: int) -> str:
        """The role that a seat knows; empty where it knows none."""
        return ""

    # --- both games share these

    @cached_property
    def asides(self) -> str:
        """The interviews, if they are on."""
        return "interviews" if self.interviews else ""

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Each seat's true role."""
        return tuple(self.sides[seat != self.spy] for seat in range(self.seats))

    @cached_property
    def max_rounds(self) -> int:
        """`rounds`; a match may end before."""
        return self.rounds

    def times_asked(self, seat: int) -> Times:
        """The seat's steps in the schedule. A guess may not take place, and a scripted clue is not asked for."""
        least = most = 0
        for step in self._schedule:
            if seat in step.seats and not self._is_scripted(step):
                least, most = least + (step.phase != "guess"), most + 1
        return Times(least, most)

    def start(self, dice: Dice) -> State:
        """No chance: a setting fixes words and seats."""
        return self._play_scripted(
            State(0, (*(self._opening(seat) for seat in range(self.seats)), self._public_opening))
        )

    def to_move(self, state: State) -> tuple[int, ...]:
        """One seat for a clue or the guess, everybody for interviews and the ballot."""
        return self._schedule[state.at].seats if state.at < len(self._schedule) else ()

    def legal_actions(self, state: State, seat: int) -> Space:
        """A text for a clue or the guess, a player for the ballot, a choice or a form for an interview."""
        return self._spaces[self._next_step(state).phase, seat]

    def observe(self, state: State, seat: int) -> Observation:
        """The seat's own opening and ballot, all clues, the accused and the guess; no interviews."""
        phase, round_, _ = self._next_step(state)
        legal = self._spaces[phase, seat]
        return Observation(seat, round_, legal, state.seen[seat], self._public, phase, self._visible_role(seat))

    def watch(self, state: State) -> Observation:
        """The public opening, the clues, the accused and the guess, without secret words, roles and ballots."""
        phase, round_, _ = self._next_step(state)
        return Observation(PUBLIC, round_, None, state.seen[PUBLIC], self._public, phase)

    def step(self, state: State, actions: Mapping[int, Any]) -> tuple[State, tuple[float, ...]]:
        """Plays one step. Raises IllegalAction."""
        refuse_illegal(self, state, actions)
        phase = self._schedule[state.at].phase
        histories, at = state.seen, state.at + 1
        if phase == "vote":
            for seat, ballot in actions.items():
                histories = reveal(histories, Event("vote", seat, ballot), (seat,))
            accused = most_voted(actions.values())
            histories = reveal(histories, Event("accused", None, accused))
            outcome = "even" if accused is None else "caught" if accused == self.players[self.spy] else "escaped"
            return self._end(State(at, histories), outcome)
        notes: list[tuple[int, str, Any]] = []
        if phase in ("clue", "guess"):
            ((seat, text),) = actions.items()
            histories = reveal(histories, Event(phase, seat, text))
            if phase == "guess":
                right = text is not None and plain(text) == plain(self.word)
                return self._end(State(at, histories), "guessed" if right else "caught")
            if text is not None and holds(text, self._word_of(seat)):
                notes = [(seat, "leak", True)]
        return self._play_scripted(State(at, histories, notes=tuple(notes))), (0.0,) * self.seats

    def notes(self, state: State) -> tuple[Note, ...]:
        """`leak`: the clue contains the word."""
        return state.notes

    def secrets(self, seat: int) -> tuple[str, ...]:
        """The words that the seat does not know."""
        own_word = self._word_of(seat) if seat != PUBLIC and (seat != self.spy or len(self._words) > 1) else None
        return tuple(word for word in self._words if word != own_word)

    def seat_facts(self, seat: int) -> dict[str, Any]:
        """`setting`: shared by both roles under test. `win`: most credits win. `credits`: the most a role can get. `spy`: a player."""
        return {
            "setting": self.variant.rpartition("-")[0] or self.variant,
            "win": "credits",
            "credits": max(map(max, self._credits.values())),
            "spy": self.players[self.spy],
        }

    def _end(self, state: State, outcome: str) -> tuple[State, tuple[float, ...]]:
        """The state and payoffs (points) after the ballot or the guess. A caught spy that may still guess is not paid yet."""
        if outcome == "caught" and state.at < len(self._schedule):
            return state._replace(outcome=outcome), (0.0,) * self.seats
        spy, crowd = self._credits[outcome]
        payoffs = tuple(float(spy if seat == self.spy else crowd) for seat in range(self.seats))
        return state._replace(at=len(self._schedule), outcome=outcome), payoffs

    def _next_step(self, state: State) -> Ask:
        """The next step; the last one where the match is over."""
        return self._schedule[min(state.at, len(self._schedule) - 1)]

    def _play_scripted(self, state: State) -> State:
        """Adds the scripted clues that come next."""
        step = self._next_step(state)
        if self._is_scripted(step):
            event = Event("clue", step.seats[0], self.clues[step.seats[0]])
            return self._play_scripted(state._replace(at=state.at + 1, seen=reveal(state.seen, event)))
        return state

    def _is_scripted(self, step: Ask) -> bool:
        """Whether the table says the clue that comes next."""
        return bool(step.phase == "clue" and step.round == 1 and self.tested and step.seats[0] < self.tested[0])

    def _ask_everybody(self, phase: str, round_: int = 1) -> tuple[Ask, ...]:
        """A step in which all seats answer at once; none for an interview where interviews are off."""
        is_asked = self.interviews or phase not in ("identify", "evaluate")
        return (Ask(phase, round_, tuple(range(self.seats))),) if is_asked else ()

    def _space(self, phase: str, seat: int) -> Space:
        """The answers that a seat may give in a phase."""
        if phase == "identify":
            return Choice(tuple(f"{player}, {role}" for player in self.players for role in self.sides + self.doubt))
        if phase == "vote":
            return Choice(self.players if self.semantics == "published" else self._other_players(seat))
        if phase == "evaluate":
            views = [Choice((*self._other_players(view), NOBODY)) for view in range(self.seats)]
            return Form(tuple(zip(self.players, views, strict=True)))
        return Text(self.length)

    def _other_players(self, seat: int) -> tuple[str, ...]:
        return self.players[:seat] + self.players[seat + 1 :]


def most_voted(ballots: Collection[str | None]) -> str | None:
    """The player with more votes than any other; None where there is none. A ballot of None is an abstention."""
    counts = Counter(ballot for ballot in ballots if ballot is not None).most_common(2)
    return counts[0][0] if counts and (len(counts) == 1 or counts[0][1] > counts[1][1]) else None


def holds(text: str, word: str) -> bool:
    """Whether `word` occurs in `text` as a whole word; case, and blanks or hyphens between its parts, do not matter."""
    return _word_pattern(word).search(text if text.isascii() else normalize("NFKC", text)) is not None


@cache
def _word_pattern(word: str) -> re.Pattern[str]:
    parts = r"[\s_-]*".join(map(re.escape, re.split(r"[\s_-]+", normalize("NFKC", word).strip())))
    return re.compile(rf"(?<!\w){parts}(?!\w)", re.IGNORECASE)


def plain(text: str) -> str:
    """The letters and digits of a text, in small letters. Guesses are compared in this form."""
    return "".join(filter(str.isalnum, normalize("NFKC", text).casefold()))
