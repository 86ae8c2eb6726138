"""A table: its people and its match, in one event loop. Pages watch it and send the answers of people."""

import asyncio
import functools
import json
import logging
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from time import time
from typing import Any

from agon.agents import Place, Reply
from agon.errors import AgonError, count
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
from agon_hall import Refusal
from agon_hall.people import People, write_or_refuse
from agon_hall.seating import PEOPLE, Seating
from agon_hall.store import Store, StoredAnswer, TableRow

log = logging.getLogger("agon_hall")

PATIENCE = 900.0
"""Seconds that an agent may take for an answer, all of its calls together."""


class Table(People):
    """One match and its players."""

    def __init__(self, row: TableRow, seating: Seating, store: Store, folder: Path) -> None:
        super().__init__(row, seating.game, store)
        self.folder, self.models = folder, seating.models
        self.opens = has_openings(self.game)
        """Whether the setting contains the first words of some players."""
        players = [functools.partial(_SeatPlayer, table=self, entrant=seat) for seat in seating.seats]
        seats = tuple(
            Seat(seat.agent, player, seat.model, seat.prompts)
            for seat, player in zip(seating.seats, players, strict=True)
        )
        self.match = Match(PEOPLE, row.match, int(row.match, 16), self.game, seats, 0, seating.config, seating.settings)
        self.state: Any = None
        """The state of the game; None before the match begins."""
        self.start: Any = None
        """The first state."""
        self.totals = (0.0,) * self.game.seats
        """Points so far."""
        self.steps = 0
        self.thinking: set[int] = set()
        """Seats whose scripts and models are being asked."""
        self.spending = dict(row.spent)
        self._trajectory = Trajectory()
        self.running: asyncio.Task[None] | None = None
        self.on_hold = False
        """Whether the match waits because its study cannot run."""

    @property
    def path(self) -> Path:
        """The file with the turns, after the end of the match."""
        return self.folder / "played" / f"{self.match.id}.parquet"

    async def done(self) -> None:
        """Waits until the match is over, stopped or given up."""
        while self.status in ("waiting", "playing"):
            end = asyncio.Event()
            self.watchers.add(end.set)
            await end.wait()
            self.watchers.discard(end.set)

    def hold(self, why: str) -> None:
        """Holds the match until `release`, because its study cannot run. The status in the store stays the same."""
        self.on_hold, self.why = True, why
        if self.running is not None:
            self.running.cancel()  # the match has not begun
            self.running = None
        self.notify()

    def release(self) -> None:
        """Lets the match go on, because its study can run again."""
        if self.on_hold:
            self.on_hold, self.why = False, self.row.why
            self.go_on()

    def go_on(self) -> None:
        """Plays on if everybody is there, from the first move or from the last stored answer. Raises Refusal."""
        if self.on_hold:
            raise Refusal("The study of this match cannot be run: it goes on by itself when its file is mended.")
        if self.status == "waiting" and set(self.store.people(self.id)) == set(self.people):
            self._set_status("playing")
        if self.status == "stopped":
            if self.running is not None:
                raise Refusal("What is under way still comes to its end. Please try again in a moment.")
            self._set_status("playing")
        if self.status == "playing" or (self.status == "over" and self.state is None):  # the latter for its pages
            if self.running is not None:
                return
            self.running = asyncio.get_running_loop().create_task(self._run())

    def give_up(self, why: str = "given up by its host") -> None:
        """Ends the match before its end.

        The turns so far go to given_up/, and the answers stay in the store. Raises Refusal.
        """
        if self.status != "over":
            write_or_refuse(self.store.set_status, self.id, "closed", why)
            self.status, self.why = "closed", why
            self.going.set()
            self._cancel(None)
            self.notify()

    def allow(self, budget: Mapping[str, float | None]) -> None:
        """Sets another budget, which counts from the next start of the match. Raises Refusal."""
        limits = parse_budget(budget)
        for name, model in self.models.items():
            require_budget(name, model, limits)
        write_or_refuse(self.store.allow, self.id, limits)
        self.row = self.row._replace(budget=limits)
        self.notify()

    async def _run(self) -> None:
        self.totals, self.steps, self.state = (0.0,) * self.game.seats, 0, None
        self._trajectory = Trajectory()
        try:
            async with AsyncExitStack() as after:
                await self._play(after)
        except Exception as error:  # any error must stop the match, or people would wait for ever
            self.halt(error)
            if self.status == "over":
                log.exception("the match of table %s is over, but cannot be shown", self.id)
        finally:
            self.running, self.questions, self.thinking = None, {}, set()
            self.notify()

    async def _play(self, after: AsyncExitStack) -> None:
        """Plays the match to its end. `after` closes the models and the recording in any case."""
        answering: dict[str, Answering] = {}
        for model in self.models.values():
            after.push_async_callback(model.close)
        if self.models:
            recording = Recording(self.folder / "recordings" / self.id)
            writer = Writer(recording, self.folder / "locks" / f"{self.id}.lock")
            after.callback(writer.close)
            self._ledger = ledger = Ledger(self.models, writer, self._budget(), self._store_spending, readable=0)
            answering = {name: Live(name, model, ledger) for name, model in self.models.items()}
        try:
            trajectory = await play_async(self.match, answering, moved=self._advance, so_far=self._trajectory)
        except (AgonError, Halted):
            self._cancel(None)
            await self._keep_given_up()
            if self.models:
                await self._ledger.drain()  # calls in flight are paid for
            raise
        if self.status == "playing":
            await self.write_when_possible(lambda: self._write(trajectory, self.path))
            self._set_status("over")

    async def _keep_given_up(self) -> None:
        """Writes the turns so far of a match that was given up."""
        if self.status == "closed" and self._trajectory.rows:
            path = self.folder / "given_up" / self.path.name
            await self.write_when_possible(lambda: self._write(self._trajectory, path))

    def _write(self, trajectory: Trajectory, path: Path) -> None:
        """Writes the match's turns, and its game beside them."""
        write_games(games_table([self.game], [self.match.settings]), path)
        write(turns_table([(self.match, trajectory)]), path)

    def _budget(self) -> Budget:
        left = {
            name: None if most is None else max(0.0, most - self.spending.get(name, 0.0))
            for name, most in self.row.budget.items()
        }
        self._spending_before = dict(self.spending)
        return Budget(**left)

    def _store_spending(self) -> None:
        """Stores the spending. Open calls count at their maximum, so that the budget covers them even after a crash."""
        budget = self._ledger.budget
        self.spending, at_most = (
            {name: self._spending_before.get(name, 0.0) + value for name, value in amounts.items()}
            for amounts in (budget.used, budget.at_most)
        )
        self.store.set_spending(self.id, at_most)
        self.notify()

    def _advance(self, state: Any, payoffs: tuple[float, ...]) -> None:
        if self.status not in ("playing", "over"):
            raise Halted(self.why)
        self.steps += self.state is not None
        self.start = state if self.state is None else self.start
        self.state, self.last_answers, self.stepped = state, {}, time()
        self.totals = tuple(total + payoff for total, payoff in zip(self.totals, payoffs, strict=True))
        self.notify()

    def halt(self, error: Exception) -> None:
        """Stops the match, which cannot go on, and cancels its open questions. Pages and the log say so."""
        if self.status == "playing":
            foreseen = isinstance(error, AgonError | Halted | OSError)
            log.error("the match of table %s stops: %s", self.id, _why(error), exc_info=None if foreseen else error)
            self._set_status("stopped", _why(error))
        self._cancel(error)

    def _cancel(self, error: Exception | None) -> None:
        """Cancels all open questions."""
        for question in self.questions.values():
            if not question.future.done():
                question.future.set_exception(Halted(str(error or self.why)))

    async def close(self) -> None:
        """Ends the running match, as at the end of the server. The store has everything."""
        if self.running is not None:
            self.running.cancel()
            with suppress(asyncio.CancelledError):
                await self.running

    def _set_status(self, status: str, why: str = "") -> None:
        self.status, self.why = status, why
        try:
            self.store.set_status(self.id, status, why)
        except AgonError as error:  # the next start replays the answers and reaches the same status
            log.error("how table %s stands could not be kept: %s", self.id, error)

    def view(self, seat: int | None) -> Observation | None:
        """The observation of a seat, or of the public (`seat` None).

        None before the match; no action space without a question.
        """
        if self.state is None:
            return None
        if seat is None:
            return self.game.watch(self.state)
        if (question := self.questions.get(seat)) is not None:
            return question.view
        view: Observation = self.game.observe(self.state, seat)
        return view._replace(legal=None)

    def seats_to_answer(self) -> tuple[int, ...]:
        """The seats that have to answer."""
        return tuple(sorted(self.questions.keys() | self.thinking))


class _SeatPlayer:
    """A player at a table. After a restart it gives the stored answers again."""

    def __init__(self, place: Place, *, table: Table, entrant: Seat) -> None:
        self.table, self.entrant, self.seat, self.number = table, entrant, place.seat, 0
        self.person = table.store.people(table.id).get(place.seat)
        self.agent = entrant.player(place) if entrant.agent != PERSON and not entrant.immediate else None

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """The stored answer, or a new one."""
        number, self.number = self.number, self.number + 1
        try:
            stored = self.table.store.answer(self.table.id, self.seat, number)
            if self.entrant.agent != PERSON:
                return await self._answer_by_agent(number, stored, view, dice)
            if stored is None or (stored.round, stored.phase) != (view.round, view.phase) or not _legal(stored, view):
                stored = await self.table.ask(self.seat, number, view, dice)
            else:
                self.table.timeouts[self.seat] += "time is up" in stored.fallback
            return self._reply(stored)
        except (AgonError, Halted) as error:
            self.table.halt(error)
            raise

    async def _answer_by_agent(self, number: int, stored: StoredAnswer | None, view: Observation, dice: Dice) -> Reply:
        """Asks the script or model, and stores its answer. Raises AgonError for one that takes too long."""
        if stored is None:
            await self.table.going.wait()
        self.table.thinking.add(self.seat)
        try:
            reply = (
                Reply(self.entrant.player(view, dice))
                if self.agent is None
                else await self._ask(self.agent, view, dice)
            )
        finally:
            self.table.thinking.discard(self.seat)
        if stored is not None and json.dumps(stored.action) != json.dumps(reply.action):
            raise AgonError(f"{self.entrant.agent} answers otherwise than before the restart: the match cannot go on")
        if stored is None:
            answer = StoredAnswer(number, view.round, view.phase, reply.action, reply.text)
            await self.table.write_when_possible(lambda: self.table.store.keep(self.table.id, self.seat, [answer]))
        return reply

    async def _ask(self, agent: Any, view: Observation, dice: Dice) -> Reply:
        """The agent's reply. After PATIENCE the match stops; calls in flight come to their end, because they are paid."""
        asking: asyncio.Task[Reply] = asyncio.ensure_future(agent.act(view, dice))
        try:
            done, _ = await asyncio.wait({asking}, timeout=PATIENCE)
        except asyncio.CancelledError:
            asking.cancel()
            raise
        if not done:
            asking.add_done_callback(lambda late: late.cancelled() or late.exception())
            minutes = count(round(PATIENCE / 60), "minute")
            raise AgonError(f"{self.entrant.agent} has not answered for {minutes}: its host can let the match go on")
        return asking.result()

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
    """The action with tuples in the place of lists, so that it can be a key."""
    return tuple(map(lists_to_tuples, action)) if isinstance(action, list) else action


def _why(error: Exception) -> str:
    """The cause of an error, in words for the host."""
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
    """A budget for a table's models. Raises Refusal for amounts that are negative or too large."""
    budget = {name: amounts.get(name) for name in ("usd", "tokens", "calls")}
    if any(most is not None and not 0 <= most < 1e12 for most in budget.values()):
        raise Refusal("A budget must be an amount of 0 or more.")
    return budget


def require_budget(name: str, model: Model, budget: Mapping[str, float | None]) -> None:
    """Raises Refusal for a model whose cost the budget does not limit."""
    price = model.cost(1, 0, 1)
    if price is None and budget["usd"] is not None:
        raise Refusal(f"The price of {name} is not known: give it a budget in tokens, not in USD.")
    if price is None and budget["tokens"] is None and budget["calls"] is None:
        raise Refusal(f"The price of {name} is not known: set a budget in tokens.")
    if price and budget["usd"] is None:
        raise Refusal(f"{name} costs money: set a budget in USD.")


def has_openings(game: Any) -> bool:
    """Whether the setting contains first words. Other seats are asked first if all players speak for themselves."""

    def first_movers(game: Any) -> list[tuple[int, ...]]:
        """The seats that are asked in the first steps."""
        match, (_, views, _), dice = start_match(game, 0)
        movers: list[tuple[int, ...]] = []
        while len(movers) < game.seats and views:
            movers.append(tuple(views))
            _, views, _ = match.send({seat: view.legal.example(dice[seat]) for seat, view in views.items()})
        return movers

    return game.without_tested is not game and first_movers(game) != first_movers(game.without_tested)
