"""A table: its people, and the match that is played there, in one event loop; pages watch it and answer for people."""

import asyncio
import functools
import json
import logging
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from agon.agents import Place, Reply
from agon.errors import AgonError
from agon.games import Dice, Observation
from agon.games.pages import page_of
from agon.games.tables import games_table
from agon.loop import start_match
from agon.models import Answering, Halted, Model
from agon.models.ledger import Ledger, Live
from agon.models.limits import Budget, BudgetReached
from agon.models.recording import Recording, Writer
from agon.paths import display_path
from agon.plan import PERSON, Match, Seat
from agon.play import Trajectory, play_async, turns_table
from agon.turns import write, write_games
from agon_hall import Refused
from agon_hall.people import People, write_or_refuse
from agon_hall.seating import PEOPLE, Seating
from agon_hall.store import Store, StoredAnswer, TableRow

log = logging.getLogger("agon_hall")


class Table(People):
    """One match, and who plays it."""

    def __init__(self, row: TableRow, seated: Seating, store: Store, folder: Path) -> None:
        super().__init__(row, seated.game, store)
        self.folder, self.models = folder, seated.models
        self.opens = has_openings(self.game)
        """Whether the table speaks first for some of the players."""
        players = [functools.partial(_SeatPlayer, table=self, own=seat) for seat in seated.seats]
        seats = tuple(Seat(own.agent, player, own.model) for own, player in zip(seated.seats, players, strict=True))
        self.match = Match(PEOPLE, row.match, int(row.match, 16), self.game, seats, 0, seated.config, seated.settings)
        self.state: Any = None
        """Of the game; None before the match begins."""
        self.start: Any = None
        """The first one."""
        self.totals = (0.0,) * self.game.seats
        """Points so far."""
        self.steps = 0
        self.thinking: set[int] = set()
        """Seats whose scripts and models are asked just now."""
        self.spent = dict(row.spent)
        self._so_far = Trajectory()
        self.running: asyncio.Task[None] | None = None
        self.held = False
        """Whether it cannot go on before its study can."""

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

    def hold(self, why: str) -> None:
        """Stops the match until `release`, as its study cannot be run; in the store it stands as before."""
        self.held, self.why = True, why
        if self.running is not None:
            self.running.cancel()  # it has not begun
            self.running = None
        self.changed()

    def release(self) -> None:
        """Its study can be run again."""
        if self.held:
            self.held, self.why = False, self.row.why
            self.go_on()

    def go_on(self) -> None:
        """Plays on, from the first move or from where the store ends, when everybody is there. Raises Refused."""
        if self.held:
            raise Refused("The study of this match cannot be run: it goes on by itself when its file is mended.")
        if self.status == "waiting" and set(self.store.people(self.id)) == set(self.people):
            self._set_status("playing")
        if self.status == "stopped":
            if self.running is not None:
                raise Refused("What is under way still comes to its end. Please try again in a moment.")
            self._set_status("playing")
        if self.status == "playing" or (self.status == "over" and self.state is None):  # the latter to be looked at
            if self.running is not None:
                return
            self.running = asyncio.get_running_loop().create_task(self._run())

    def give_up(self, why: str = "given up by its host") -> None:
        """Ends the match before its end; the turns until then are kept below given_up/, and answers in the store. Raises Refused."""
        if self.status != "over":
            write_or_refuse(self.store.set_status, self.id, "closed", why)
            self.status, self.why = "closed", why
            self._cancel(None)
            self.changed()

    def allow(self, budget: Mapping[str, float | None]) -> None:
        """Another budget, from the next time that the match goes on. Raises Refused."""
        allowed = parse_budget(budget)
        for name, model in self.models.items():
            require_budget(name, model, allowed)
        write_or_refuse(self.store.allow, self.id, allowed)
        self.row = self.row._replace(budget=allowed)
        self.changed()

    async def _run(self) -> None:
        self.totals, self.steps, self.state = (0.0,) * self.game.seats, 0, None
        self._so_far = Trajectory()
        try:
            async with AsyncExitStack() as after:
                await self._play(after)
        except Exception as error:  # whatever it is: nobody waits for ever
            self.halted(error)
            if self.status == "over":
                log.exception("the match of table %s is over, but cannot be shown", self.id)
        finally:
            self.running, self.questions, self.thinking = None, {}, set()
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
            self._ledger = ledger = Ledger(self.models, writer, self._budget(), self._store_spending)
            answering = {name: Live(name, model, ledger) for name, model in self.models.items()}
        try:
            played = await play_async(self.match, answering, moved=self._advance, so_far=self._so_far)
        except (AgonError, Halted):
            self._cancel(None)
            await self._keep_given_up()
            if self.models:
                await self._ledger.drain()  # calls in flight are paid for
            raise
        if self.status == "playing":
            await self.write_when_possible(lambda: self._write(played, self.path))
            self._set_status("over")

    async def _keep_given_up(self) -> None:
        """The turns until the match was given up, if it was."""
        if self.status == "closed" and self._so_far.rows:
            path = self.folder / "given_up" / self.path.name
            await self.write_when_possible(lambda: self._write(self._so_far, path))

    def _write(self, played: Trajectory, path: Path) -> None:
        """The match's turns, with its game beside them."""
        write_games(games_table([self.game], [self.match.settings]), path)
        write(turns_table([(self.match, played)]), path)

    def _budget(self) -> Budget:
        left = {
            name: None if most is None else max(0.0, most - self.spent.get(name, 0.0))
            for name, most in self.row.budget.items()
        }
        self._before = dict(self.spent)
        return Budget(**left)

    def _store_spending(self) -> None:
        """Calls in flight are stored at their most: whatever ends this process, the budget knows of them."""
        budget = self._ledger.budget
        self.spent, at_most = (
            {name: self._before.get(name, 0.0) + value for name, value in amounts.items()}
            for amounts in (budget.used, budget.at_most)
        )
        self.store.spent(self.id, at_most)
        self.changed()

    def _advance(self, state: Any, payoffs: tuple[float, ...]) -> None:
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
            self._set_status("stopped", _why(error))
        self._cancel(error)

    def _cancel(self, error: Exception | None) -> None:
        """Cancels all open questions."""
        for question in self.questions.values():
            if not question.answered.done():
                question.answered.set_exception(Halted(str(error or self.why)))

    async def close(self) -> None:
        """Ends what runs, as when the server ends; the store has everything."""
        if self.running is not None:
            self.running.cancel()
            with suppress(asyncio.CancelledError):
                await self.running

    def _set_status(self, status: str, why: str = "") -> None:
        self.status, self.why = status, why
        try:
            self.store.set_status(self.id, status, why)
        except AgonError as error:  # the next start finds out by itself, as it plays what was answered
            log.error("how table %s stands could not be kept: %s", self.id, error)

    def view(self, seat: int | None) -> Observation | None:
        """The observation of a seat, or of the public (None); None before the match. A seat that is not asked has no action space."""
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
            stored = self.table.store.answer(self.table.id, self.seat, number)
            if self.own.agent != PERSON:
                return await self._answer_by_agent(number, stored, view, dice)
            if stored is None or (stored.round, stored.phase) != (view.round, view.phase) or not _legal(stored, view):
                stored = await self.table.asked(self.seat, number, view, dice)
            else:
                self.table.late[self.seat] += "time is up" in stored.fallback
            return self._reply(stored)
        except (AgonError, Halted) as error:
            self.table.halted(error)
            raise

    async def _answer_by_agent(self, number: int, stored: StoredAnswer | None, view: Observation, dice: Dice) -> Reply:
        """The answer of a script or model, which is stored."""
        self.table.thinking.add(self.seat)
        try:
            reply = Reply(self.own.player(view, dice)) if self.agent is None else await self.agent.act(view, dice)
        finally:
            self.table.thinking.discard(self.seat)
        if stored is not None and json.dumps(stored.action) != json.dumps(reply.action):
            raise AgonError(f"{self.own.agent} answers otherwise than before the restart: the match cannot go on")
        if stored is None:
            answer = StoredAnswer(number, view.round, view.phase, reply.action, reply.text)
            await self.table.write_when_possible(lambda: self.table.store.keep(self.table.id, self.seat, [answer]))
        return reply

    def _reply(self, answer: StoredAnswer) -> Reply:
        assert self.person is not None
        consent = {"version": self.person.consent, "words": self.table.store.consent(self.person.consent)}
        aids = list(page_of(self.table.game).aids) if self.table.row.aids is None else list(self.table.row.aids)
        detail = {"name": self.person.name, "consent": consent, "aids": aids} if answer.number == 0 else None
        return Reply(
            lists_to_tuples(answer.action),
            answer.text,
            max(1, answer.attempts),
            answer.fallback,
            seconds=answer.seconds,
            detail=detail,
        )


def _legal(answer: StoredAnswer, view: Observation) -> bool:
    return answer.action is None or lists_to_tuples(answer.action) in view.legal


def lists_to_tuples(action: Any) -> Any:
    """Lists are tuples in actions, so that these can be looked up."""
    return tuple(map(lists_to_tuples, action)) if isinstance(action, list) else action


def _why(error: Exception) -> str:
    """The cause of a stop, in words for the host."""
    if isinstance(error, BudgetReached):
        return "What its models may cost is used up, or too little for another call."
    if isinstance(error, OSError) and error.filename:
        return f"{display_path(Path(os.fsdecode(error.filename)))} cannot be used: {error.strerror}"
    return (
        str(error)
        if isinstance(error, AgonError | Halted)
        else "Nobody foresaw it; the log of the server says what it is."
    )


def parse_budget(amounts: Mapping[str, float | None]) -> dict[str, float | None]:
    """A budget for a table's models. Raises Refused for amounts that cannot be."""
    budget = {name: amounts.get(name) for name in ("usd", "tokens", "calls")}
    if any(most is not None and not 0 <= most < 1e12 for most in budget.values()):
        raise Refused("A budget must be an amount of 0 or more.")
    return budget


def require_budget(name: str, model: Model, budget: Mapping[str, float | None]) -> None:
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
        """The seats that are asked in the first steps."""
        match, (_, views, _), dice = start_match(game, 0)
        asked: list[tuple[int, ...]] = []
        while len(asked) < game.seats and views:
            asked.append(tuple(views))
            _, views, _ = match.send({seat: view.legal.example(dice[seat]) for seat, view in views.items()})
        return asked

    return game.without_tested is not game and begun(game) != begun(game.without_tested)
