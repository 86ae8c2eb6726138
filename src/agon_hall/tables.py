"""Tables: matches under way, with people among the players. What they do is the same whatever page it is done on."""

import asyncio
import functools
import hmac
import json
import logging
import os
import re
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from time import monotonic, time
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, TypeVar

import msgspec

from agon import AgonError, shown
from agon.agents import Place, Reply, seat_dice
from agon.agents.base import STOOD_IN
from agon.games import Dice, Observation
from agon.games.pages import known_aids, page_of
from agon.models import Answering, Halted, Model
from agon.models.ledger import Ledger, Live
from agon.models.limits import Budget, BudgetReached
from agon.models.recording import Recording, Writer
from agon.plan import PEOPLE, PERSON, Match, Seat, Seating, seating
from agon.play import Played, play_async, table
from agon.turns import write
from agon_hall.language import ENGLISH
from agon_hall.store import Kept, Store, TableRow

log = logging.getLogger("agon_hall")

NAME = 40
"""Letters that a chosen name may have."""
LETTERS, DRAFTS = 500, 200
"""Of what is typed and not sent: letters of a field that are kept, and drafts of one question."""
READING = 300
"""Seconds in which the rules may be read before the first clock starts by itself."""
DAY = 86400
"""Seconds."""
DAYS = 30.0
"""Days for which a link holds, and the password once it was given."""
AGAIN = 1.0
"""Seconds until what could not be written is written again."""
P = ParamSpec("P")
T = TypeVar("T")


class Refused(AgonError):
    """What somebody wants is not possible; nothing has changed. Its text says why, for them to read."""


class Left(Exception):
    """Who is asked has left the match for good."""


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
    answered: "asyncio.Future[Kept]"
    refused: int = 0
    """Answers that were not accepted."""
    typed: int = 0
    """Drafts that were kept."""
    clock: "asyncio.Timeout | None" = None
    """What ends it when the time is up."""

    def left(self) -> float | None:
        """Seconds that are left."""
        return None if self.until is None else max(0.0, self.until - monotonic())


class Table:
    """One match. Its players are asked in one event loop; pages watch it and answer for people."""

    def __init__(self, row: TableRow, seated: Seating, store: Store, folder: Path) -> None:
        self.id, self.row, self.store, self.folder = row.id, row, store, folder
        self.game, self.models = seated.game, seated.models
        self.consent = consent()
        self.opens = has_openings(self.game)
        """Whether the table speaks first for some of the players."""
        players = [functools.partial(_SeatPlayer, table=self, own=seat) for seat in seated.seats]
        seats = tuple(Seat(own.agent, player, own.model) for own, player in zip(seated.seats, players, strict=True))
        self.match = Match(PEOPLE, row.match, int(row.match, 16), self.game, seats, 0, seated.config)
        self.state: Any = None
        """Of the game; None before the match begins."""
        self.start: Any = None
        """The first one."""
        self.totals = (0.0,) * self.game.seats
        """Points so far."""
        self.steps = 0
        self.questions: dict[int, Question] = {}
        self.thinking: set[int] = set()
        """Seats whose scripts and models are asked just now."""
        self.watching: set[Callable[[], object]] = set()
        """Told whenever something can be seen that could not be seen before."""
        self.pages: Counter[int] = Counter()
        """Seat -> pages that are open there."""
        self.seen: dict[int, float] = {}
        """Seat -> when its last page was closed, in seconds since 1970."""
        self.drafts: dict[tuple[int, str], Draft] = {}
        """Seat and form -> what is filled in there."""
        self.read: set[int] = set()
        """Seats that have read the rules, or answered: their clocks run."""
        self.missed: dict[int, int] = {}
        """Seat -> the round of its last question, where its time was up."""
        self.noted: Callable[[int, str, Mapping[str, Any]], object] = lambda seat, kind, detail: None
        """Told what people do besides answering (seat, kind, detail): refusals, look-ups, pages that open and close."""
        self.say, self.language = ENGLISH, "en"
        """The hall's own sentences at this table, and their language; what the game says stays as it is."""
        self.keeps_drafts = False
        """Whether `noted` is told what is typed and not sent."""
        self.given: dict[int, str] = {}
        """What people have answered since the last step, in words."""
        self.status, self.why = row.status, row.why
        self.waits = False
        """Whether the match waits because nothing can be written."""
        self.spent = dict(row.spent)
        self.stand_in: Seat | None = None
        """The script that answers for people who do not; None: nothing is answered for them."""
        self.timeouts: int | None = None
        """So many answers that did not come in time, and their seat has left; None: it never has."""
        self.late, self.gone = Counter[int](), set[int]()
        """How often a seat's time was up, and the seats that have left for good."""
        self.ways: dict[int, str] = {}
        """Of a study: where a seat goes on when the match is over, or leaves."""
        self.dropped: Callable[[int], object] = self.drop
        """Told of a seat whose time was up too often."""
        self._so_far = Played()
        self._running: asyncio.Task[None] | None = None

    # --- who sits there

    @property
    def people(self) -> tuple[int, ...]:
        """Seats that are for people."""
        return tuple(seat for seat, entrant in enumerate(self.row.entrants) if entrant == PERSON)

    @property
    def players(self) -> tuple[str, ...]:
        """What the seats are called."""
        return tuple(self.game.players)

    def sit(self, seat: int, name: str) -> None:
        """A person sits down, and agrees to the text `consent`. The match begins when all have. Raises Refused."""
        name = " ".join(name.split())
        if not name or len(name) > NAME or not name.isprintable():
            raise Refused(f"Choose a name of 1 to {NAME} letters; it need not be yours.")
        if seat not in self.people or self.status != "waiting":
            raise Refused("Nobody can sit down here now.")
        if not _asked_to(self.store.sit, self.id, seat, name, self.consent.version):
            raise Refused("Somebody sits here already.")
        self.go_on()
        self.changed()

    def leave(self, seat: int, away: bool = True) -> None:
        """A person leaves for a time, or comes back; its seat stays its own. Raises Refused."""
        _asked_to(self.store.away, self.id, seat, away)
        self.changed()

    def drop(self, seat: int) -> None:
        """A person has left for good: the script plays on for it, or the match ends where there is none. Raises Refused."""
        if seat in self.gone or self.status != "playing":
            return
        self.gone.add(seat)
        if self.stand_in is None:
            self.give_up(f"{self.players[seat]} has left")
        elif (question := self.questions.get(seat)) is not None and not question.answered.done():
            question.answered.set_exception(Left())

    def page(self, seat: int, open_: bool) -> None:
        """A page of a seat is opened, or closed."""
        self.pages[seat] += 1 if open_ else -1
        self.seen[seat] = time()
        self.noted(seat, "page opened" if open_ else "page closed", {})
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

    # --- the match

    @property
    def path(self) -> Path:
        """Where the turns are when the match is over."""
        return self.folder / "played" / f"{self.match.id}.parquet"

    async def done(self) -> None:
        """Returns when the match is over, stopped or given up."""
        while self.status in ("waiting", "playing"):
            ended = asyncio.Event()
            self.watching.add(ended.set)
            await ended.wait()
            self.watching.discard(ended.set)

    def go_on(self) -> None:
        """Plays on, from the first move or from where the store ends, when everybody is there. Raises Refused."""
        if self.status == "waiting" and set(self.store.people(self.id)) == set(self.people):
            self._stands("playing")
        if self.status == "stopped":
            if self._running is not None:
                raise Refused("What is under way still comes to its end. Please try again in a moment.")
            self._stands("playing")
        if self.status == "playing" or (self.status == "over" and self.state is None):  # the latter to be looked at
            if self._running is not None:
                return
            self._running = asyncio.get_running_loop().create_task(self._run())

    def give_up(self, why: str = "given up by its host") -> None:
        """Ends the match before its end; the turns until then are kept below given_up/, and answers in the store. Raises Refused."""
        if self.status != "over":
            _asked_to(self.store.ended, self.id, "closed")
            self._stands("closed", why)
            self._cancel(None)
            self.changed()

    def allow(self, budget: Mapping[str, float | None]) -> None:
        """Another budget, from the next time that the match goes on. Raises Refused."""
        allowed = budget_of(budget)
        for name, model in self.models.items():
            limited(name, model, allowed)
        _asked_to(self.store.allow, self.id, allowed)
        self.row = self.row._replace(budget=allowed)
        self.changed()

    async def _run(self) -> None:
        self.totals, self.steps, self.state = (0.0,) * self.game.seats, 0, None
        self._so_far = Played()
        try:
            async with AsyncExitStack() as after:
                await self._play(after)
        except Exception as error:  # whatever it is: nobody waits for ever
            self.halted(error)
            if self.status == "over":
                log.exception("the match of table %s is over, but cannot be shown", self.id)
        finally:
            self._running, self.questions, self.thinking = None, {}, set()
            self.changed()

    async def _play(self, after: AsyncExitStack) -> None:
        """The match to its end. What is to be closed `after` it is closed whatever happens."""
        answering: dict[str, Answering] = {}
        for model in self.models.values():
            after.push_async_callback(model.close)
        if self.models:
            recording = Recording(self.folder / "recordings" / self.id)
            writer = Writer(recording, self.folder / "locks" / f"{self.id}.lock")
            after.callback(writer.close)
            self._ledger = ledger = Ledger(self.models, writer, self._budget(), self._paid)
            answering = {name: Live(name, model, ledger) for name, model in self.models.items()}
        try:
            played = await play_async(self.match, answering, moved=self._moved, so_far=self._so_far)
        except (AgonError, Halted):
            self._cancel(None)
            await self._keep_given_up()
            if self.models:
                await self._ledger.drain()  # calls in flight are paid for
            raise
        if self.status == "playing":
            await self.kept(lambda: write(table([(self.match, played)]), self.path))
            self._stands("over")

    async def _keep_given_up(self) -> None:
        """The turns until the match was given up, if it was."""
        if self.status == "closed" and self._so_far.rows:
            path = self.folder / "given_up" / self.path.name
            await self.kept(lambda: write(table([(self.match, self._so_far)]), path))

    def _budget(self) -> Budget:
        left = {
            name: None if most is None else max(0.0, most - self.spent.get(name, 0.0))
            for name, most in self.row.budget.items()
        }
        self._before = dict(self.spent)
        return Budget(**left)

    def _paid(self) -> None:
        """Calls in flight are stored at their most: whatever ends this process, the budget knows of them."""
        budget = self._ledger.budget
        self.spent, at_most = (
            {name: self._before.get(name, 0.0) + value for name, value in each.items()}
            for each in (budget.used, budget.at_most)
        )
        self.store.spent(self.id, at_most)
        self.changed()

    def _moved(self, state: Any, payoffs: tuple[float, ...]) -> None:
        if self.status not in ("playing", "over"):
            raise Halted(self.why)
        self.steps += self.state is not None
        self.start = state if self.state is None else self.start
        self.state, self.given = state, {}
        self.totals = tuple(total + paid for total, paid in zip(self.totals, payoffs, strict=True))
        self.changed()

    def halted(self, error: Exception) -> None:
        """The match cannot go on: it stops, also for those who are still thinking; pages and the log say so."""
        if self.status == "playing":
            foreseen = isinstance(error, AgonError | Halted | OSError)
            log.error("the match of table %s stops: %s", self.id, _why(error), exc_info=None if foreseen else error)
            self._stands("stopped", _why(error))
        self._cancel(error)

    def _cancel(self, error: Exception | None) -> None:
        """Nobody is asked any more."""
        for question in self.questions.values():
            if not question.answered.done():
                question.answered.set_exception(Halted(str(error or self.why)))

    async def close(self) -> None:
        """Ends what runs, as when the server ends; the store has everything."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    def _stands(self, status: str, why: str = "") -> None:
        self.status, self.why = status, why
        try:
            self.store.ended(self.id, status, why)
        except AgonError as error:  # the next start finds out by itself, as it plays what was answered
            log.error("how table %s stands could not be kept: %s", self.id, error)

    async def kept(self, write: Callable[[], object]) -> None:
        """Writes what nobody can be asked to send again; the match waits where that cannot be done now, and pages say so."""
        while True:
            try:
                write()
                break
            except (AgonError, OSError) as error:
                if not self.waits:
                    log.error("the match of table %s waits: %s", self.id, error)
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

    # --- what is seen and answered

    def view(self, seat: int | None) -> Observation | None:
        """What a seat sees, or anybody (None); None before the match begins. A seat that is not asked may answer nothing."""
        if self.state is None:
            return None
        if seat is None:
            return self.game.watch(self.state)
        if (question := self.questions.get(seat)) is not None:
            return question.view
        seen: Observation = self.game.observe(self.state, seat)
        return seen._replace(legal=None)

    def waited_for(self) -> tuple[int, ...]:
        """Seats that are still to answer."""
        return tuple(sorted(self.questions.keys() | self.thinking))

    async def asked(self, seat: int, number: int, view: Observation, dice: Dice) -> Kept:
        """A person's answer, when it has come; for somebody whose time is up, or who has left, the script's, if there is one."""
        if seat in self.gone:
            return await self._stood_in(Kept(number, view.round, view.phase, None, "", "left"), seat, view, dice)
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
            late = Kept(number, view.round, view.phase, None, "", "time is up", question.refused, monotonic() - now)
            self.late[seat] += 1
            if self.timeouts is not None and self.late[seat] >= self.timeouts:
                self.dropped(seat)
            return await self._stood_in(late, seat, view, dice)
        except Left:
            left = Kept(number, view.round, view.phase, None, "", "left", question.refused, monotonic() - now)
            return await self._stood_in(left, seat, view, dice)
        finally:
            self.questions.pop(seat, None)
            self.changed()

    async def _stood_in(self, kept: Kept, seat: int, view: Observation, dice: Dice) -> Kept:
        """What is kept in the place of an answer that did not come."""
        if self.stand_in is not None:
            action = self.stand_in.player(view, dice)
            kept = kept._replace(action=action, fallback=f"{STOOD_IN}{self.stand_in.agent} ({kept.fallback})")
        await self.kept(lambda: self.store.keep(self.id, seat, [kept]))
        return kept

    def has_read(self, seat: int) -> None:
        """A person has read the rules: its time begins."""
        self.read.add(seat)
        question = self.questions.get(seat)
        if question is not None and question.clock is not None and self.row.seconds is not None:
            question.since, question.until = monotonic(), monotonic() + self.row.seconds
            question.clock.reschedule(asyncio.get_running_loop().time() + self.row.seconds)
        self.noted(seat, "rules read", {})
        self.changed()

    def refuse(self, seat: int, why: str) -> None:
        """An answer of a person was not accepted."""
        if (question := self.questions.get(seat)) is not None:
            question.refused += 1
            self.noted(seat, "refused", {"round": question.view.round, "phase": question.view.phase, "why": why})

    def typed(self, seat: int, entered: Mapping[str, Any]) -> None:
        """What a person has filled in just now, and not sent; kept where they have agreed to it."""
        question = self.questions.get(seat)
        if question is not None and self.keeps_drafts and question.typed < DRAFTS:
            question.typed += 1
            where = {"round": question.view.round, "phase": question.view.phase}
            self.noted(
                seat, "draft", where | {"entered": {name: str(each)[:LETTERS] for name, each in entered.items()}}
            )

    def answer(self, seat: int, number: int, actions: Sequence[Any]) -> None:
        """A person answers question `number`, and with what follows its next ones of the same round and phase.

        Returns when the answers are on disk. Raises Refused, and changes nothing, for what is not legal, too late or twice.
        """
        question = self.questions.get(seat)
        if question is None or question.number != number or question.answered.done():
            raise Refused("This has been answered already: the page shows what came of it.")
        view, seconds = question.view, round(monotonic() - question.since, 3)
        if not actions or any(action is None or action not in view.legal for action in actions):
            refused = Refused("This is not one of the answers that the rules allow.")
            self.refuse(seat, str(refused))
            raise refused
        kept = [
            Kept(number + later, view.round, view.phase, action, view.legal.spelled(action))
            for later, action in enumerate(actions)
        ]
        kept[0] = kept[0]._replace(attempts=1 + question.refused, seconds=seconds)
        _asked_to(self.store.keep, self.id, seat, kept)
        del self.questions[seat]
        self.given[seat] = "; ".join(page_of(self.game).told(view, each) for each in actions)
        self.read.add(seat)
        self.missed.pop(seat, None)
        question.answered.set_result(kept[0])
        self.changed()


class _SeatPlayer:
    """A player at a table: answers once, and the same again when the match is gone through after a crash."""

    def __init__(self, place: Place, *, table: Table, own: Seat) -> None:
        self.table, self.own, self.seat, self.number = table, own, place.seat, 0
        self.person = table.store.people(table.id).get(place.seat)
        self.agent = own.player(place) if own.agent != PERSON and not own.immediate else None

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """The answer that is kept, or a new one."""
        number, self.number = self.number, self.number + 1
        try:
            kept = self.table.store.answer(self.table.id, self.seat, number)
            if self.own.agent != PERSON:
                return await self._itself(number, kept, view, dice)
            if kept is None or (kept.round, kept.phase) != (view.round, view.phase) or not _legal(kept, view):
                kept = await self.table.asked(self.seat, number, view, dice)
            else:
                self.table.late[self.seat] += "time is up" in kept.fallback
            return self._told(kept)
        except (AgonError, Halted) as error:
            self.table.halted(error)
            raise

    async def _itself(self, number: int, kept: Kept | None, view: Observation, dice: Dice) -> Reply:
        """What a script or model answers, which is kept."""
        self.table.thinking.add(self.seat)
        try:
            reply = Reply(self.own.player(view, dice)) if self.agent is None else await self.agent.act(view, dice)
        finally:
            self.table.thinking.discard(self.seat)
        if kept is not None and json.dumps(kept.action) != json.dumps(reply.action):
            raise AgonError(f"{self.own.agent} answers otherwise than before the restart: the match cannot go on")
        if kept is None:
            said = Kept(number, view.round, view.phase, reply.action, reply.text)
            await self.table.kept(lambda: self.table.store.keep(self.table.id, self.seat, [said]))
        return reply

    def _told(self, kept: Kept) -> Reply:
        assert self.person is not None
        consent = {"version": self.person.consent, "words": self.table.store.consent(self.person.consent)}
        aids = list(page_of(self.table.game).aids) if self.table.row.aids is None else list(self.table.row.aids)
        known = {"name": self.person.name, "consent": consent, "aids": aids} if kept.number == 0 else None
        return Reply(
            _tupled(kept.action), kept.text, max(1, kept.attempts), kept.fallback, seconds=kept.seconds, detail=known
        )


def _asked_to(do: Callable[P, T], *given: P.args, **more: P.kwargs) -> T:
    """Writes what somebody wants. Raises Refused, and changes nothing, where it cannot be written."""
    try:
        return do(*given, **more)
    except AgonError as error:
        log.error("what somebody did could not be kept: %s", error)
        raise Refused("This could not be kept, and has not been done. Please tell the host, and try again.") from None


def _legal(kept: Kept, view: Observation) -> bool:
    return kept.action is None or _tupled(kept.action) in view.legal


def _tupled(action: Any) -> Any:
    """Lists are tuples in actions, so that these can be looked up."""
    return tuple(map(_tupled, action)) if isinstance(action, list) else action


def _why(error: Exception) -> str:
    """Why a match stops, for its host."""
    if isinstance(error, BudgetReached):
        return "What its models may cost is used up, or too little for another call."
    if isinstance(error, OSError) and error.filename:
        return f"{shown(Path(os.fsdecode(error.filename)))} cannot be used: {error.strerror}"
    return (
        str(error)
        if isinstance(error, AgonError | Halted)
        else "Nobody foresaw it; the log of the server says what it is."
    )


def budget_of(given: Mapping[str, float | None]) -> dict[str, float | None]:
    """A budget for a table's models. Raises Refused for amounts that cannot be."""
    found = {name: given.get(name) for name in ("usd", "tokens", "calls")}
    if any(most is not None and not 0 <= most < 1e12 for most in found.values()):
        raise Refused("A budget must be an amount of 0 or more.")
    return found


def limited(name: str, model: Model, budget: Mapping[str, float | None]) -> None:
    """Raises Refused for a model that could cost more than somebody has allowed."""
    price = model.cost(1, 0, 1)
    if price is None and budget["usd"] is not None:
        raise Refused(f"The price of {name} is not known: give it a budget in tokens, not in USD.")
    if price is None and budget["tokens"] is None and budget["calls"] is None:
        raise Refused(f"The price of {name} is not known: set a budget in tokens.")
    if price and budget["usd"] is None:
        raise Refused(f"{name} costs money: set a budget in USD.")


def has_openings(game: Any) -> bool:
    """Whether a setting speaks first for those who are not under test: then others are asked when all speak for themselves."""

    def begun(game: Any) -> list[tuple[int, ...]]:
        """Who is asked in the first steps."""
        state, dice = game.start(seat_dice(0, -1)), seat_dice(0, 0)
        asked: list[tuple[int, ...]] = []
        while len(asked) < game.seats and (seats := game.to_move(state)):
            asked.append(seats)
            state, _ = game.step(state, {seat: game.observe(state, seat).legal.example(dice) for seat in seats})
        return asked

    return game.everybody is not game and begun(game) != begun(game.everybody)


class Consent(msgspec.Struct):
    """What people agree to before they play."""

    version: str
    words: str


@functools.cache
def consent() -> Consent:
    """The text in force, src/agon_hall/consent.md: its first line names the version."""
    first, _, words = Path(__file__).with_name("consent.md").read_text(encoding="utf-8").partition("\n")
    found = re.fullmatch(r"<!-- version: (\S+) -->", first)
    assert found, "consent.md must begin with its version"
    return Consent(found[1], " ".join(words.split()))


class Hall:
    """All tables of a folder, and the keys to them. Made in a running event loop, in which it goes on with what was played."""

    def __init__(self, folder: Path, sampling: str | None = None, days: float = DAYS) -> None:
        self.folder, self.store, self.sampling, self.days = folder, Store(folder), sampling, days
        self.secret = secret_of(folder / "secret")
        self.tables: dict[str, Table] = {}
        self.watching: set[Callable[[], object]] = set()
        """Told when there is another table."""
        for row in self.store.tables():
            if row.status in ("waiting", "playing", "stopped"):
                try:
                    self._add(row)
                except AgonError as error:  # its game or an agent is gone from conf/
                    self.store.ended(row.id, "stopped", str(error))
        for each in self.tables.values():
            if each.status != "stopped":
                each.go_on()

    def _seated(self, row: TableRow) -> Seating:
        return seating(row.game, row.entrants, self.sampling, everybody=row.everybody)

    def _add(self, row: TableRow, seated: Seating | None = None) -> Table:
        found = self.tables[row.id] = Table(row, seated or self._seated(row), self.store, self.folder)
        return found

    def open(
        self,
        game: str,
        entrants: Sequence[str],
        seconds: float | None = None,
        budget: Mapping[str, float | None] | None = None,
        match: str | None = None,
        aids: Sequence[str] | None = None,
        everybody: bool = False,
        words: Consent | None = None,
    ) -> Table:
        """A new table; `match` is the match's id, drawn where it is None, `aids` what people are shown, all where it is None.

        `everybody`: nobody's opening is taken from the setting. `words` is what people have agreed to, where it is not the text in force.

        Raises AgonError where these cannot play, and Refused.
        """
        if seconds is not None and not 5 <= seconds <= 86400:
            raise Refused("The time for an answer must be 5 to 86,400 seconds.")
        allowed = budget_of(budget or {})
        row = TableRow(
            secrets.token_hex(6),
            match or secrets.token_hex(8),
            game,
            tuple(entrants),
            seconds,
            allowed,
            {},
            "waiting",
            "",
            None if aids is None else tuple(aids),
            everybody,
            time(),
        )
        seated = self._seated(row)
        known_aids(seated.game, aids or ())
        for name, model in seated.models.items():
            limited(name, model, allowed)
        words = words or consent()
        self.store.add(row, words.version, words.words)
        made = self._add(row, seated)
        made.go_on()
        self._forget()
        for watcher in list(self.watching):
            watcher()
        return made

    def _forget(self) -> None:
        """Tables whose match has ended, and at which nobody looks, are in the store alone, where `find` finds them."""
        for each in list(self.tables.values()):
            if each.status in ("over", "closed") and not each.watching and each._running is None:
                del self.tables[each.id]

    def key(self, what: str, table: str, seat: int | None = None) -> str:
        """The key of a seat (what: seat) or of whoever made a table (host); nobody can guess it, and it is stored nowhere."""
        named = f"{table}.{seat}" if seat is not None else table
        signed = hmac.new(self.secret, f"{what}/{named}".encode(), sha256).hexdigest()[:32]
        return f"{named}.{signed}"

    def opened(self, what: str, key: str) -> tuple[Table, int | None] | None:
        """The table, and the seat, that a key is for; None for a key that is none."""
        name, *place = key.split(".")[:-1] or [""]
        seat = int(place[0]) if place and re.fullmatch(r"\d{1,3}", place[0], re.ASCII) else None
        if not hmac.compare_digest(key.encode(), self.key(what, name, seat).encode()):
            return None
        table = self.find(name)
        return None if table is None else (table, seat)

    def expired(self, since: float) -> bool:
        """Whether a link that was given out at that time (seconds since 1970) holds no longer."""
        return time() > since + self.days * DAY

    def find(self, name: str) -> Table | None:
        """The table of that name, also one that is over; None when there is none, or its game is gone."""
        if name not in self.tables and (row := self.store.table(name)):
            with suppress(AgonError):
                self._add(row).go_on()
        return self.tables.get(name)

    async def close(self) -> None:
        """Ends all; the next Hall of this folder goes on."""
        for each in self.tables.values():
            each.watching.clear()  # no page is drawn any more
            await each.close()
        self.store.close()


def secret_of(path: Path) -> bytes:
    """32 bytes that only the owner can read, made when they are first wanted. Raises AgonError for others."""
    try:
        if not path.exists():
            made = path.with_name(f"secret.{secrets.token_hex(4)}")
            made.touch(mode=0o600)
            with made.open("wb") as file:
                file.write(secrets.token_bytes(32))
                file.flush()
                os.fsync(file.fileno())
            made.replace(path)
        found = path.read_bytes()
    except OSError as error:
        raise AgonError(f"{path} cannot be used: {error.strerror}") from None
    if len(found) != 32:
        raise AgonError(f"{path} must hold 32 bytes, not {len(found)}: delete it, and all links are made anew")
    return found
