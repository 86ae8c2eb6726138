"""The people at a table: who sits there, what they are asked, and what they do. What else a table is, is in agon_hall.table."""

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
from agon.errors import AgonError
from agon.games import Dice, Observation
from agon.games.pages import page_of
from agon.plan import PERSON, Seat
from agon_hall import Refused
from agon_hall.language import ENGLISH, Say
from agon_hall.store import Store, StoredAnswer, TableRow

log = logging.getLogger("agon_hall")

NAME = 40
"""Letters that a chosen name may have."""
LETTERS, DRAFTS = 500, 200
"""Of what is typed and not sent: letters of a field that are kept, and drafts of one question."""
READING = 300
"""Seconds in which the rules may be read before the first clock starts by itself."""
AGAIN = 1.0
"""Seconds until what could not be written is written again."""
P = ParamSpec("P")
T = TypeVar("T")


class Left(Exception):
    """Who is asked has left the match for good."""


class Consent(NamedTuple):
    """What people agree to before they play."""

    version: str
    words: str


@functools.cache
def consent() -> Consent:
    """The text in force, src/agon_hall/consent.md: its first line names the version."""
    first, _, words = Path(__file__).with_name("consent.md").read_text(encoding="utf-8").partition("\n")
    header = re.fullmatch(r"<!-- version: (\S+) -->", first)
    assert header, "consent.md must begin with its version"
    return Consent(header[1], " ".join(words.split()))


class Draft(NamedTuple):
    """What somebody has filled in and not sent, and why it was not taken."""

    number: int = -1
    """Of the question."""
    entered: Mapping[str, Any] = MappingProxyType({})
    why: str = ""


@dataclass
class Question:
    """What a person is asked just now."""

    number: int
    """Which question of this seat, from 0."""
    view: Observation
    since: float
    """When it was asked (monotonic seconds)."""
    until: float | None
    """When the time is up; None: never."""
    answered: "asyncio.Future[StoredAnswer]"
    refused: int = 0
    """Answers that were not accepted."""
    typed: int = 0
    """Drafts that were kept."""
    clock: "asyncio.Timeout | None" = None
    """What ends it when the time is up."""

    def left(self) -> float | None:
        """Seconds that are left."""
        return None if self.until is None else max(0.0, self.until - monotonic())


@dataclass
class Terms:
    """What holds at a table; as it is here, at one that belongs to no study."""

    consent: Consent
    say: Say = ENGLISH
    """The hall's own sentences in the language of the table; what the game says stays as it is."""
    language: str = "en"
    keeps_drafts: bool = False
    """Whether `noted` is told what is typed and not sent."""
    stand_in: Seat | None = None
    """The script that answers for people who do not; None: nothing is answered for them."""
    tells_who_left: bool = True
    """Whether the others are told who has left for good."""
    timeouts: int | None = None
    """So many answers that did not come in time, and their seat has left; None: it never has."""
    next_page: Callable[[int], str] = lambda seat: ""
    """Where a seat goes on when the match is over, or leaves; empty: nowhere."""
    dropped: Callable[[int], object] | None = None
    """Told of a seat whose time was up too often; None: it leaves."""
    saw: Callable[[int, int], object] = lambda seat, opened: None
    """Told that a page of a seat is read, or is opened (1) or closed (-1)."""
    noted: Callable[[int, str, Mapping[str, Any]], object] = lambda seat, kind, detail: None
    """Told what people do besides answering (seat, kind, detail): refusals, look-ups, pages that open and close."""


class People(ABC):
    """Who sits at a table, and what they are asked; a Table adds the match."""

    def __init__(self, row: TableRow, game: Any, store: Store) -> None:
        self.id, self.row, self.game, self.store = row.id, row, game, store
        self.status, self.why = row.status, row.why
        self.terms = Terms(consent())
        self.questions: dict[int, Question] = {}
        self.watching: set[Callable[[], object]] = set()
        """Told whenever something can be seen that could not be seen before."""
        self.pages: Counter[int] = Counter()
        """Seat -> pages that are open there."""
        self.seen: dict[int, float] = {}
        """Seat -> when a page of it was read, opened or closed last, in seconds since 1970."""
        self.drafts: dict[tuple[int, str], Draft] = {}
        """Seat and form -> what is filled in there."""
        self.read: set[int] = set()
        """Seats that have read the rules, or answered: their clocks run."""
        self.missed: dict[int, int] = {}
        """Seat -> the round of its last question, where its time was up."""
        self.given: dict[int, str] = {}
        """What people have answered since the last step, in words."""
        self.late, self.gone = Counter[int](), set[int]()
        """How often a seat's time was up, and the seats that have left for good."""
        self.waits = False
        """Whether the match waits because nothing can be written."""

    @property
    def people(self) -> tuple[int, ...]:
        """Seats that are for people."""
        return tuple(seat for seat, entrant in enumerate(self.row.entrants) if entrant == PERSON)

    @property
    def players(self) -> tuple[str, ...]:
        """What the seats are called."""
        return tuple(self.game.players)

    @abstractmethod
    def go_on(self) -> None:
        """Plays on when everybody is there. Raises Refused."""

    @abstractmethod
    def give_up(self, why: str) -> None:
        """Ends the match before its end. Raises Refused."""

    # --- who sits there

    def sit(self, seat: int, name: str) -> None:
        """A person sits down, and agrees to the text of the terms. The match begins when all have. Raises Refused."""
        name = " ".join(name.split())
        if not name or len(name) > NAME or not name.isprintable():
            raise Refused(f"Choose a name of 1 to {NAME} letters; it need not be yours.")
        if seat not in self.people or self.status != "waiting":
            raise Refused("Nobody can sit down here now.")
        if not write_or_refuse(self.store.sit, self.id, seat, name, self.terms.consent.version):
            raise Refused("Somebody sits here already.")
        self.go_on()
        self.changed()

    def leave(self, seat: int, away: bool = True) -> None:
        """A person leaves for a time, or comes back; its seat stays its own. Raises Refused."""
        write_or_refuse(self.store.away, self.id, seat, away)
        self.changed()

    def drop(self, seat: int) -> None:
        """A person has left for good: the script plays on for it, or the match ends where there is none. Raises Refused."""
        if seat in self.gone or self.status != "playing":
            return
        if self.terms.stand_in is None:
            self.give_up(f"{self.players[seat]} has left")
        self.gone.add(seat)
        if (question := self.questions.get(seat)) is not None and not question.answered.done():
            question.answered.set_exception(Left())
        self.changed()

    def saw(self, seat: int, opened: int = 0) -> None:
        """A page of a seat is read; or one is `opened` (1), or closed (-1), that is kept up to date."""
        self.seen[seat] = time()
        self.pages[seat] += opened
        self.terms.saw(seat, opened)
        if opened:
            self.terms.noted(seat, "page opened" if opened > 0 else "page closed", {})
            self.changed()

    def presence(self, seat: int) -> str:
        """Where whoever sits there is, for the host."""
        person = self.store.people(self.id).get(seat)
        if seat not in self.people:
            return ""
        if self.pages[seat] > 0:
            return "away" if person and person.away else "here" if person else "reading the consent"
        since = f" since {datetime.fromtimestamp(self.seen[seat]):%H:%M:%S}" if seat in self.seen else ""
        return f"page closed{since}" if person else "not here yet"

    # --- what they are asked

    async def asked(self, seat: int, number: int, view: Observation, dice: Dice) -> StoredAnswer:
        """A person's answer, when it has come; for somebody whose time is up, or who has left, the script's, if there is one."""
        if seat in self.gone:
            return await self._answer_by_script(
                StoredAnswer(number, view.round, view.phase, None, "", "left"), seat, view, dice
            )
        loop, now = asyncio.get_running_loop(), monotonic()
        if number:
            self.read.add(seat)
        most = None if self.row.seconds is None else self.row.seconds + (0 if seat in self.read else READING)
        until = None if most is None else now + most
        question = self.questions[seat] = Question(number, view, now, until, loop.create_future())
        self.changed()
        try:
            async with asyncio.timeout(most) as question.clock:
                return await asyncio.shield(question.answered)
        except TimeoutError:
            if question.answered.done() and not isinstance(question.answered.exception(), Left):  # in the last moment
                return question.answered.result()
            self.questions.pop(seat, None)  # it is too late, however long this takes
            self.missed[seat] = view.round
            self.late[seat] += 1
            if self.terms.timeouts is not None and self.late[seat] >= self.terms.timeouts:
                (self.terms.dropped or self.drop)(seat)
            why = "time is up"
        except Left:
            why = "left"
        finally:
            self.questions.pop(seat, None)
            self.changed()
        answer = StoredAnswer(number, view.round, view.phase, None, "", why, question.refused, monotonic() - now)
        return await self._answer_by_script(answer, seat, view, dice)

    async def _answer_by_script(self, answer: StoredAnswer, seat: int, view: Observation, dice: Dice) -> StoredAnswer:
        """What is kept in the place of an answer that did not come."""
        if (script := self.terms.stand_in) is not None:
            fallback = f"{STOOD_IN}{script.agent} ({answer.fallback})"
            answer = answer._replace(action=script.player(view, dice), fallback=fallback)
        await self.write_when_possible(lambda: self.store.keep(self.id, seat, [answer]))
        return answer

    def has_read(self, seat: int) -> None:
        """A person has read the rules: its time begins."""
        self.read.add(seat)
        question = self.questions.get(seat)
        if question is not None and question.clock is not None and self.row.seconds is not None:
            question.since, question.until = monotonic(), monotonic() + self.row.seconds
            question.clock.reschedule(asyncio.get_running_loop().time() + self.row.seconds)
        self.terms.noted(seat, "rules read", {})
        self.changed()

    def refuse(self, seat: int, why: str) -> None:
        """An answer of a person was not accepted."""
        if (question := self.questions.get(seat)) is not None:
            question.refused += 1
            self._note(seat, "refused", question, why=why)

    def typed(self, seat: int, entered: Mapping[str, Any]) -> None:
        """What a person has filled in just now, and not sent; kept where they have agreed to it."""
        question = self.questions.get(seat)
        if question is not None and self.terms.keeps_drafts and question.typed < DRAFTS:
            question.typed += 1
            self._note(seat, "draft", question, entered={name: str(value)[:LETTERS] for name, value in entered.items()})

    def _note(self, seat: int, kind: str, question: Question, **detail: Any) -> None:
        self.terms.noted(seat, kind, {"round": question.view.round, "phase": question.view.phase, **detail})

    def answer(self, seat: int, number: int, actions: Sequence[Any]) -> None:
        """A person answers question `number`, and with what follows its next ones of the same round and phase.

        Returns when the answers are on disk. Raises Refused, and changes nothing, for what is not legal, too late or twice.
        """
        question = self.questions.get(seat)
        if question is None or question.number != number or question.answered.done():
            raise Refused("This has been answered already: the page shows what came of it.")
        view, seconds = question.view, round(monotonic() - question.since, 3)
        if not actions or any(action is None or action not in view.legal for action in actions):
            refusal = Refused("This is not one of the answers that the rules allow.")
            self.refuse(seat, str(refusal))
            raise refusal
        answers = [
            StoredAnswer(number + later, view.round, view.phase, action, view.legal.format(action))
            for later, action in enumerate(actions)
        ]
        answers[0] = answers[0]._replace(attempts=1 + question.refused, seconds=seconds)
        write_or_refuse(self.store.keep, self.id, seat, answers)
        del self.questions[seat]
        self.given[seat] = "; ".join(page_of(self.game).told(view, each) for each in actions)
        self.read.add(seat)
        self.missed.pop(seat, None)
        question.answered.set_result(answers[0])
        self.changed()

    # --- what is kept and told

    async def write_when_possible(self, write: Callable[[], object]) -> None:
        """Writes what nobody can be asked to send again; the match waits where that cannot be done now, and pages say so."""
        while True:
            try:
                write()
                break
            except (AgonError, MemoryError, OSError) as error:
                if not self.waits:
                    log.error("the match of table %s waits: %s", self.id, str(error) or type(error).__name__)
                self.waits = True
                self.changed()
                await asyncio.sleep(AGAIN)
        if self.waits:
            self.waits = False
            self.changed()

    def changed(self) -> None:
        """Tells everybody who watches."""
        for watcher in list(self.watching):
            try:
                watcher()
            except Exception:  # of one page, which is no reason not to tell the others
                log.exception("a page could not be told what has changed")


def write_or_refuse(do: Callable[P, T], *given: P.args, **more: P.kwargs) -> T:
    """Writes what somebody wants. Raises Refused, and changes nothing, where it cannot be written."""
    try:
        return do(*given, **more)
    except AgonError as error:
        log.error("what somebody did could not be kept: %s", error)
        raise Refused("This could not be kept, and has not been done. Please tell the host, and try again.") from None
