"""The people at a table: their seats, their questions and their answers. The match itself is in agon_hall.table."""

import asyncio
import functools
import logging
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic, time
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from agon.agents.base import STOOD_IN
from agon.agents.languages import say_in
from agon.errors import AgonError
from agon.games import Dice, Observation
from agon.games.pages import page_of
from agon.games.sentences import ENGLISH, Say
from agon.plan import PERSON, Seat
from agon_hall import Refusal
from agon_hall.store import Store, StoredAnswer, TableRow

log = logging.getLogger("agon_hall")

NAME = 40
"""The most letters of a name that a person chooses."""
LETTERS, DRAFTS = 500, 200
"""The most letters of a field, and the most drafts of a question, that are stored of text that is not sent."""
READING = 300
"""Seconds for the rules. After them the first clock starts by itself."""
AGAIN = 1.0
"""Seconds until a write that failed is tried again."""
P = ParamSpec("P")
T = TypeVar("T")


class PlayerLeft(Exception):
    """The person who is asked has left the match for good."""


class Consent(NamedTuple):
    """The text that people agree to before they play."""

    version: str
    words: str


@functools.cache
def consent(language: str = "en") -> Consent:
    """The current text, src/agon_hall/consent.md, in a language of conf/language. Its first line names the version."""
    first, _, words = Path(__file__).with_name("consent.md").read_text(encoding="utf-8").partition("\n")
    header = re.fullmatch(r"<!-- version: (\S+) -->", first)
    assert header, "consent.md must begin with its version"
    english = " ".join(words.split())
    told = say_in(language)(english)
    return Consent(header[1] if told == english else f"{header[1]}-{language}", told)


class Draft(NamedTuple):
    """The entries of a form that are not accepted yet, and the reason."""

    number: int = -1
    """The number of the question."""
    entries: Mapping[str, Any] = MappingProxyType({})
    why: str = ""


@dataclass
class Question:
    """An open question to a person."""

    number: int
    """The number of the question at this seat, from 0."""
    view: Observation
    since: float
    """Start of the question (monotonic seconds)."""
    until: float | None
    """End of the time for it (monotonic seconds); None if there is no limit."""
    future: "asyncio.Future[StoredAnswer]"
    refusals: int = 0
    """The number of answers that were refused."""
    drafts: int = 0
    """The number of drafts that were stored."""
    clock: "asyncio.Timeout | None" = None
    """The timeout that ends it."""
    stopped: tuple[float, float | None] | None = None
    """While its clock is stopped: since when (monotonic seconds), and the seconds that are left (None: no limit)."""

    def seconds_left(self) -> float | None:
        """Seconds until the time is up; None if there is no limit."""
        if self.stopped is not None:
            return self.stopped[1]
        return None if self.until is None else max(0.0, self.until - monotonic())

    def set_clock(self, seconds: float | None) -> None:
        """Sets the seconds that are left; None for no limit. A stopped clock stays stopped."""
        if self.stopped is not None:
            self.stopped = self.stopped[0], seconds
            return
        self.until = None if seconds is None else monotonic() + seconds
        if self.clock is not None and not self.clock.expired():
            self.clock.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)

    def restart_clock(self, seconds: float) -> None:
        """Counts the seconds of the answer from now on, and sets those that are left. A stopped clock stays stopped."""
        self.since = monotonic()
        if self.stopped is not None:
            self.stopped = self.since, seconds
        self.set_clock(seconds)

    def stop_clock(self) -> None:
        """Stops the clock."""
        left = self.seconds_left()
        self.set_clock(None)
        self.stopped = monotonic(), left

    def start_clock(self) -> None:
        """Lets a stopped clock go on. The seconds of the answer do not count the pause."""
        if self.stopped is not None:
            (since, left), self.stopped = self.stopped, None
            self.since += monotonic() - since
            self.set_clock(left)


@dataclass
class Terms:
    """The terms of a table. The defaults are for tables outside studies."""

    consent: Consent
    say: Say = ENGLISH
    """Says the sentences of pages in the language of the table, in which the game is told too if its family can."""
    keeps_drafts: bool = False
    """Whether `note` gets text that is typed and not sent."""
    stand_in: Seat | None = None
    """The script that answers for people who do not; None: the match goes on without an answer."""
    reveals: bool = True
    """Whether people learn after the match who sat on the other seats."""
    tells_who_left: bool = True
    """Whether the other seats learn who has left for good."""
    timeouts: int | None = None
    """The number of missed answers after which a seat has left; None: no number is enough."""
    next_page: Callable[[int], str] = lambda seat: ""
    """Takes a seat and returns the address where its person goes on after the match; empty if there is none."""
    drop: Callable[[int], object] | None = None
    """Called with a seat that has missed too many answers; None: the seat leaves the match."""
    mark_presence: Callable[[int, int], object] = lambda seat, change: None
    """Called with a seat and the change in its number of open pages: 1 opened, -1 closed, 0 read again."""
    note: Callable[[int, str, Mapping[str, Any]], object] = lambda seat, kind, detail: None
    """Called with seat, kind and detail of acts beside answers: refusals, look-ups, pages that open and close."""


class People(ABC):
    """The people at a table and their questions. A Table adds the match."""

    def __init__(self, row: TableRow, game: Any, store: Store) -> None:
        self.id, self.row, self.game, self.store = row.id, row, game, store
        self.status, self.why = row.status, row.why
        self.terms = Terms(consent(row.language), say_in(row.language))
        self.questions: dict[int, Question] = {}
        self.watchers: set[Callable[[], object]] = set()
        """Called whenever a page shows something new."""
        self.pages: Counter[int] = Counter()
        """Seat -> the number of its open pages."""
        self.last_seen: dict[int, float] = {}
        """Seat -> the time at which a page of it was last read, opened or closed (seconds since 1970)."""
        self.drafts: dict[tuple[int, str], Draft] = {}
        """Seat and form -> the entries there."""
        self.readers: set[int] = set()
        """Seats that have read the rules, or answered. Their clocks run."""
        self.missed_rounds: dict[int, int] = {}
        """Seat -> the round of its last question, if it missed that answer."""
        self.last_answers: dict[int, str] = {}
        """Seat -> its answers since the last step, in words."""
        self.stepped = time()
        """The time of the last step (seconds since 1970)."""
        self.answered: dict[int | None, float] = {}
        """Seat -> the time of its last answer (seconds since 1970)."""
        self.timeouts = Counter[int]()
        """Seat -> the number of answers that it missed."""
        self.leavers = set[int]()
        """Seats that have left for good."""
        self.going = asyncio.Event()
        """Set unless the host has paused the match."""
        if not row.paused:
            self.going.set()
        self.message = row.message
        """What the host last wrote to the people at the table."""
        self.waits = False
        """Whether the match waits because the store cannot be written."""

    @property
    def people(self) -> tuple[int, ...]:
        """The seats for people."""
        return tuple(seat for seat, entrant in enumerate(self.row.entrants) if entrant == PERSON)

    @property
    def players(self) -> tuple[str, ...]:
        """The names of the seats."""
        return tuple(self.game.players)

    @abstractmethod
    def go_on(self) -> None:
        """Plays on if everybody is there. Raises Refusal."""

    @abstractmethod
    def give_up(self, why: str) -> None:
        """Ends the match before its end. Raises Refusal."""

    # --- who sits there

    def sit(self, seat: int, name: str) -> None:
        """A person sits down and agrees to the consent. The match begins when all seats are taken. Raises Refusal."""
        name = " ".join(name.split())
        if not name or len(name) > NAME or not name.isprintable():
            raise Refusal(self.terms.say("Choose a name of 1 to {} letters; it need not be yours.", NAME))
        if seat not in self.people or self.status != "waiting":
            raise Refusal("Nobody can sit down here now.")
        if not write_or_refuse(self.store.sit, self.id, seat, name, self.terms.consent.version):
            raise Refusal("Somebody sits here already.")
        self.go_on()
        self.notify()

    def leave(self, seat: int, away: bool = True) -> None:
        """A person goes away for a time, or comes back. The seat stays theirs. Raises Refusal."""
        write_or_refuse(self.store.set_away, self.id, seat, away)
        self.notify()

    def drop(self, seat: int) -> None:
        """A person leaves for good. The script plays on for them; without a script the match ends. Raises Refusal."""
        if seat in self.leavers or self.status != "playing":
            return
        if self.terms.stand_in is None:
            self.give_up(f"{self.players[seat]} has left")
        self.leavers.add(seat)
        if (question := self.questions.get(seat)) is not None and not question.future.done():
            question.future.set_exception(PlayerLeft())
        self.notify()

    def mark_presence(self, seat: int, change: int = 0) -> None:
        """A page of a seat is read, or opens (`change` 1), or closes (-1)."""
        self.last_seen[seat] = time()
        self.pages[seat] += change
        self.terms.mark_presence(seat, change)
        if change:
            self.terms.note(seat, "page opened" if change > 0 else "page closed", {})
            self.notify()

    def presence(self, seat: int) -> str:
        """Whether the person of a seat is there, in words for the host."""
        person = self.store.people(self.id).get(seat)
        if seat not in self.people:
            return ""
        if self.pages[seat] > 0:
            return "away" if person and person.away else "here" if person else "reading the consent"
        since = f" since {datetime.fromtimestamp(self.last_seen[seat]):%H:%M:%S}" if seat in self.last_seen else ""
        return f"page closed{since}" if person else "not here yet"

    # --- what they are asked

    async def ask(self, seat: int, number: int, view: Observation, dice: Dice) -> StoredAnswer:
        """Asks a person and returns the answer.

        After a timeout, or for a seat that has left, it is the script's, if there is one.
        """
        if seat in self.leavers:
            return await self._answer_by_script(
                StoredAnswer(number, view.round, view.phase, None, "", "left"), seat, view, dice
            )
        loop, now = asyncio.get_running_loop(), monotonic()
        if number:
            self.readers.add(seat)
        most = None if self.row.seconds is None else self.row.seconds + (0 if seat in self.readers else READING)
        question = self.questions[seat] = Question(number, view, now, None, loop.create_future())
        question.set_clock(most)
        self.notify()
        try:
            async with asyncio.timeout(most) as question.clock:
                if not self.going.is_set():
                    question.stop_clock()
                return await asyncio.shield(question.future)
        except TimeoutError:
            late_answer = question.future.done()
            if late_answer and not isinstance(question.future.exception(), PlayerLeft):  # in the last moment
                return question.future.result()
            self.questions.pop(seat, None)  # from now on an answer is too late
            self.missed_rounds[seat] = view.round
            self.timeouts[seat] += 1
            if self.terms.timeouts is not None and self.timeouts[seat] >= self.terms.timeouts:
                (self.terms.drop or self.drop)(seat)
            why = "time is up"
        except PlayerLeft:
            why = "left"
        finally:
            self.questions.pop(seat, None)
            self.notify()
        answer = StoredAnswer(number, view.round, view.phase, None, "", why, question.refusals, monotonic() - now)
        return await self._answer_by_script(answer, seat, view, dice)

    async def _answer_by_script(self, answer: StoredAnswer, seat: int, view: Observation, dice: Dice) -> StoredAnswer:
        """Stores and returns what takes the place of a missed answer."""
        if (script := self.terms.stand_in) is not None:
            fallback = f"{STOOD_IN}{script.agent} ({answer.fallback})"
            answer = answer._replace(action=script.player(view, dice), fallback=fallback)
        await self.write_when_possible(lambda: self.store.keep(self.id, seat, [answer]))
        return answer

    def has_read(self, seat: int) -> None:
        """A person has read the rules. The time for the question begins, once."""
        if seat in self.readers:
            return
        self.readers.add(seat)
        question = self.questions.get(seat)
        if question is not None and question.clock is not None and self.row.seconds is not None:
            question.restart_clock(self.row.seconds)
        self.terms.note(seat, "rules read", {})
        self.notify()

    def refuse(self, seat: int, why: str) -> None:
        """Counts and notes an answer that was not accepted."""
        if (question := self.questions.get(seat)) is not None:
            question.refusals += 1
            self._note(seat, "refused", question, why=why)

    def keep_draft(self, seat: int, entries: Mapping[str, Any]) -> None:
        """Stores entries that are not sent, if the person has agreed to this."""
        question = self.questions.get(seat)
        if question is not None and self.terms.keeps_drafts and question.drafts < DRAFTS:
            question.drafts += 1
            self._note(seat, "draft", question, entered={name: str(value)[:LETTERS] for name, value in entries.items()})

    def _note(self, seat: int, kind: str, question: Question, **detail: Any) -> None:
        self.terms.note(seat, kind, {"round": question.view.round, "phase": question.view.phase, **detail})

    def answer(self, seat: int, number: int, actions: Sequence[Any]) -> None:
        """A person answers question `number`. Further actions answer the next questions of the same round and phase.

        Returns when the answers are on disk. Raises Refusal, and changes nothing, for answers that are illegal, late
        or repeated.
        """
        question = self.questions.get(seat)
        if question is None or question.number != number or question.future.done():
            raise Refusal("This has been answered already: the page shows what came of it.")
        if not self.going.is_set():
            raise Refusal("The host has paused the match. Send it again when the match goes on.")
        view, seconds = question.view, round(monotonic() - question.since, 3)
        if not actions or any(action is None or action not in view.legal for action in actions):
            refusal = Refusal("This is not one of the answers that the rules allow.")
            self.refuse(seat, str(refusal))
            raise refusal
        answers = [
            StoredAnswer(number + later, view.round, view.phase, action, view.legal.format(action))
            for later, action in enumerate(actions)
        ]
        answers[0] = answers[0]._replace(attempts=1 + question.refusals, seconds=seconds)
        write_or_refuse(self.store.keep, self.id, seat, answers)
        del self.questions[seat]
        self.last_answers[seat] = "; ".join(
            page_of(self.game).confirmation(view, action, self.terms.say) for action in actions
        )
        self.readers.add(seat)
        self.answered[seat] = time()
        self.missed_rounds.pop(seat, None)
        question.future.set_result(answers[0])
        self.notify()

    # --- what the host does

    def pause(self) -> None:
        """Stops all clocks. Nobody can answer, and no script or model is asked, until `resume`. Raises Refusal."""
        if self.going.is_set():
            write_or_refuse(self.store.set_pause, self.id, True)
            self.going.clear()
            for question in self.questions.values():
                question.stop_clock()
            self._note_all("paused")

    def resume(self) -> None:
        """Lets a paused match go on. Raises Refusal."""
        if not self.going.is_set():
            write_or_refuse(self.store.set_pause, self.id, False)
            self.going.set()
            for question in self.questions.values():
                question.start_clock()
            self._note_all("resumed")

    def extend(self, seconds: float) -> None:
        """Adds seconds to the time for the open questions."""
        for question in self.questions.values():
            if (left := question.seconds_left()) is not None:
                question.set_clock(left + seconds)
        self._note_all("extended", seconds=seconds)

    def tell(self, message: str) -> None:
        """Shows a message to all people at the table, in the place of the one before. Empty: none. Raises Refusal."""
        write_or_refuse(self.store.set_message, self.id, message)
        self.message = message
        self._note_all("message", text=message)

    def _note_all(self, kind: str, **detail: Any) -> None:
        for seat in self.people:
            self.terms.note(seat, f"host: {kind}", detail)
        self.notify()

    # --- storage and news

    async def write_when_possible(self, write: Callable[[], object]) -> None:
        """Writes what nobody can send again. If the store cannot be written now, the match waits, and pages say so."""
        while True:
            try:
                write()
                break
            except (AgonError, MemoryError, OSError) as error:
                if not self.waits:
                    log.error("the match of table %s waits: %s", self.id, str(error) or type(error).__name__)
                self.waits = True
                self.notify()
                await asyncio.sleep(AGAIN)
        if self.waits:
            self.waits = False
            self.notify()

    def notify(self) -> None:
        """Calls all watchers."""
        for watcher in list(self.watchers):
            try:
                watcher()
            except Exception:  # one page must not keep the news from the others
                log.exception("a page could not be told what has changed")


def write_or_refuse(write: Callable[P, T], *values: P.args, **options: P.kwargs) -> T:
    """Calls `write`. Raises Refusal, and changes nothing, if the store cannot be written."""
    try:
        return write(*values, **options)
    except AgonError as error:
        log.error("what somebody did could not be kept: %s", error)
        raise Refusal("This could not be kept, and has not been done. Please tell the host, and try again.") from None
