"""A study tried out before anybody is invited: scripts walk through every page as participants do, over HTTP or in browsers."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from time import time
from typing import Any

import httpx

from agon import AgonError, count, shown
from agon.games import Choice
from agon.games.inputs import options
from agon.models import Halted
from agon.plan import PERSON
from agon.protocol import Cell, Study, cells, seated, study
from agon_hall.browsing import Tab, browser
from agon_hall.gather import gather
from agon_hall.language import untranslated
from agon_hall.mind import Mind, known
from agon_hall.server import Server, listening
from agon_hall.session import Session
from agon_hall.study import STAGES, State, earned, ending
from agon_hall.study_pages import questions, skipped
from agon_hall.tables import Hall, Refused, Table, budget_of, limited

ANY = "anything"
"""The script that sits where a model does: a rehearsal costs nothing."""
PRESSES = 60
"""Forms that somebody sends in a match before the script answers for them."""
PAUSE = 0.1
"""Seconds after which it is looked again whether one is asked."""
PATIENCE = 240.0
"""Seconds for which a rehearsal is waited for; in browsers three times as long."""


class Forms(HTMLParser):
    """The forms of a page: for each its fields, and the names and values of its buttons."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[dict[str, Any]] = []
        self._select: list[str | None] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A form, or something in it."""
        own = {key: value or "" for key, value in attrs}
        if tag == "form":
            self.found.append({"fields": {}, "buttons": []})
        if not self.found:
            return
        form, name = self.found[-1], own.get("name", "")
        if tag == "button" and "hidden" not in own:
            form["buttons"].append((name, own.get("value", "")))
        elif tag == "select":
            self._select = form["fields"].setdefault(name, [])
        elif tag == "option" and self._select is not None:
            self._select.append(own.get("value"))
        elif tag == "textarea":
            form["fields"][name] = ["a rehearsal"]
        elif tag == "input" and name:
            kind = own.get("type", "text")
            if kind in ("radio", "checkbox"):
                form["fields"].setdefault(name, []).append(own["value"])
            elif kind == "number":
                form["fields"][name] = [own.get("min") or "0", own.get("value") or "0"]
            else:
                form["fields"][name] = [own.get("value") or "a rehearsal"]

    def handle_data(self, data: str) -> None:
        """An option that has no value of its own sends its words."""
        if self._select and self._select[-1] is None:
            self._select[-1] = data

    def handle_endtag(self, tag: str) -> None:
        """The end of a list."""
        if tag == "select":
            self._select = None


class Actor:
    """A participant that is a script: goes on until `stops`, a stage at which it closes its pages; None: to the end."""

    def __init__(self, session: Session, client: httpx.AsyncClient | Tab, pid: str, stops: str | None = None) -> None:
        self.session, self.client, self.pid, self.stops = session, client, pid, stops
        self.mind: Mind | None = None
        self.dice, self.presses, self.spoken_for = Random(pid), 0, 0
        self.who = ""

    @property
    def state(self) -> State:
        """Where they are."""
        return self.session.states[self.who]

    @property
    def waits(self) -> bool:
        """Whether it is others who are to do something."""
        table = self.session.table(self.who) if self.who else None
        stage = self.state.stage if self.who else ""
        return stage == "lobby" or (stage == "match" and table is not None and self.state.seat not in table.questions)

    async def walk(self) -> None:
        """The whole way. Raises AgonError for a page that fails."""
        link = self.session.link(self.pid)
        await self._get(link)
        self.who = self.session.join("link", self.pid)
        last = STAGES.index(self.stops or "debrief")
        while (stage := self.state.stage) != "out" and STAGES.index(stage) < last:
            if stage == "match":
                await self._play()
                continue
            again = self.dice.random() < 0.3  # a second tab, or a reload
            page = await self._get(link if again else self.session.at(self.who))
            if stage == "lobby":
                await asyncio.sleep(PAUSE)
            elif self.state.stage == stage:
                await self._post(self.session.at(self.who), self._answers(page))
        page = await self._get(self.session.at(self.who))
        if (code := self.session.code(self.who)) and code not in page:
            raise AgonError(f"{self.pid} is not told the code {code}")
        if isinstance(self.client, Tab):
            await self.client.close()

    def _answers(self, page: str) -> dict[str, str]:
        """What is sent at a stage; who stops there declines, or does not know the rules."""
        state, given = self.state, dict[str, str]()
        if state.stage in ("quiz", "survey"):
            for place, asked in enumerate(questions(self.session, state)):
                given[str(place)] = asked.right or (asked.options[0] if asked.options else "a rehearsal")
                if asked.ask.split("&")[0].split("<")[0].split('"')[0].split("'")[0] not in page:
                    raise AgonError(f"the page of {self.pid} does not ask {asked.ask!r}")
        do = {"consent": "agree", "instructions": "read"}.get(state.stage, state.stage)
        if self.pid.startswith("declines"):
            do = "decline"
        if self.pid.startswith("guesses") and state.stage == "quiz":
            given = {
                str(p): next(o for o in a.options if o != a.right) for p, a in enumerate(questions(self.session, state))
            }
        return {"do": do, **given}

    async def _play(self) -> None:
        """One question of a match, by the form of the seat's page."""
        table, seat = self.session.table(self.who), self.state.seat
        if table is None or seat is None or table.status in ("over", "closed"):
            self.session.look(self.who)
            return
        at = f"/seat?key={self.session.hall.key('seat', table.id, seat)}"
        page = await self._get(at)
        question = table.questions.get(seat)
        forms = [form for form in Forms(page).found if form["fields"].get("form") == ["answer"] and form["buttons"]]
        if question is None or not forms:
            await asyncio.sleep(PAUSE)
            return
        if self.mind is not None:
            await self._thinks(self.mind, at, table, seat)
            return
        self.presses += 1
        if self.presses > PRESSES:
            self.spoken_for += 1
            try:
                table.answer(seat, question.number, [question.view.legal.example(self.dice)])
            except Refused:
                return
            return
        form = forms[0]
        sent = {name: self.dice.choice(values) for name, values in form["fields"].items() if values}
        name, value = self.dice.choice(form["buttons"])
        await self._post(at, sent | {name: value})

    async def _thinks(self, mind: Mind, at: str, table: Table, seat: int) -> None:
        """The model's answer: by its button where every answer has one."""
        question = table.questions[seat]
        try:
            cell, view = self.session.cells[self.state.cell], question.view
            action = await mind.answers_to(cell, table.row.match, seat, view, self.dice)
        except (AgonError, Halted) as error:
            self.mind, mind.why = None, str(error)
            return
        known = options(view.legal.options) if isinstance(view.legal, Choice) else {}
        if press := next((name for name, option in known.items() if option == action), ""):
            await self._post(at, {"form": "answer", "question": str(question.number), "press": press})
        else:
            with suppress(Refused):  # its time is up
                table.answer(seat, question.number, [action])

    async def _get(self, at: str) -> str:
        if isinstance(self.client, Tab):
            return self._seen(await self.client.get(at))
        return self._read(at, await self.client.get(at))

    async def _post(self, at: str, sent: dict[str, str]) -> str:
        if isinstance(self.client, Tab):
            return self._seen(await self.client.post(at, sent))
        return self._read(at, await self.client.post(at, data=sent))

    def _seen(self, page: str) -> str:
        assert isinstance(self.client, Tab)
        if self.client.faults:
            raise AgonError(f"{self.pid}: {self.client.faults[0]}")
        return page

    def _read(self, at: str, reply: httpx.Response) -> str:
        if reply.status_code not in (200, 422):
            raise AgonError(f"{self.pid}: {at.partition('?')[0]} answered {reply.status_code}")
        return reply.text


def checks(own: Study) -> tuple[list[str], list[str]]:
    """What would stop a study, and what is worth knowing before: keys, budgets, placeholders."""
    faults, notes, models = [], list[str](), dict[str, Any]()
    for cell in cells(own):
        try:
            found = seated(own, cell)
            models |= found.models
            for name, model in found.models.items():
                limited(name, model, budget_of({key: getattr(own.budget, key) for key in ("usd", "tokens", "calls")}))
        except AgonError as error:
            faults.append(f"{cell.name}: {error}")
    for name, model in models.items():
        if (key := getattr(model, "key", None)) and not os.environ.get(key, "").strip():
            faults.append(f"model {name}: {key} is not in the environment")
    if "example.org" in own.consent.contact or own.consent.investigator.isupper():
        notes.append("the consent names no real contact yet: consent.investigator, consent.contact")
    if own.finish.links and "complete" not in own.finish.codes:
        notes.append(
            "finish.codes has no code for `complete`: everybody is given another one, which Prolific does not know"
        )
    notes += untranslated(own)
    if models and own.budget.usd is not None:
        matches = sum(cell.quota // len(cell.people) for cell in cells(own))
        notes.append(f"models: at most {matches * own.budget.usd:,.2f} USD in {count(matches, 'match')}")
    return faults, notes


def bill(own: Study) -> str:
    """What the participants of a study are paid, at least and at most."""
    wanted = sum(cell.quota for cell in cells(own))
    at_most = own.pay.show_up + (own.pay.most or 0.0)
    bonus = f" to {wanted * at_most:,.2f}" if own.pay.most else " and bonuses without a limit" if own.pay.point else ""
    return f"the bill: {wanted} participants, {wanted * own.pay.show_up:,.2f}{bonus} {own.pay.currency}, without the platform's fee"


async def rehearsed(
    own: Study, folder: Path, said: Callable[[str], object], matches: int = 1, browsers: bool = False
) -> Session:
    """Has every cell played so often, beside people who decline, guess and leave at each stage; the session, when all is over.

    Raises AgonError for a page that fails, and for somebody who ends without a code or a reason.
    """
    hall, skew = Hall(folder), [0.0]
    server = Server(hall, listening())
    serving = asyncio.create_task(server.run_here())
    try:
        session = server.studies.session(own.name)
        session.clock = lambda: time() + skew[0]
        session.cells = {name: _free(cell) for name, cell in session.cells.items()}
        async with AsyncExitStack() as after:
            at = f"http://127.0.0.1:{server.port}"
            client = httpx.AsyncClient(base_url=at, follow_redirects=True, timeout=30, trust_env=False)
            await after.enter_async_context(client)
            shown = await after.enter_async_context(browser()) if browsers else None

            async def actor(pid: str, stops: str | None = None) -> Actor:
                if shown is None:
                    return Actor(session, client, pid, stops)
                return Actor(session, Tab(await (await shown.new_context(base_url=at)).new_page()), pid, stops)

            people = matches * sum(len(cell.people) for cell in session.cells.values())
            actors = [await actor(f"person-{number}") for number in range(people)]
            odd = ["declines", *["guesses"] * bool(own.quiz.questions), "stays-1", "stays-2"]
            leave = [(f"leaves-{stage}", stage) for stage in STAGES[1:-1] if stage not in skipped(own)]
            stay = [await actor(pid) for pid in odd]
            mind = Mind(own, folder / "mind") if shown is not None and known(own) else None
            if mind is not None:
                after.push_async_callback(mind.close)
                actors[0].mind = mind
            for group in (actors, [*stay, *[await actor(*each) for each in leave]]):
                await _walked(group, session, skew)
            for _ in range(3):  # who has closed their pages has left
                skew[0] += own.idle + 1
                session.tick()
                await asyncio.sleep(PAUSE)
        lost = [each.pid for each in (*actors, *stay) if each.state.stage not in ("out", "debrief")]
        if lost:
            raise AgonError(f"{', '.join(lost)} came to no end")
        if mind is not None:
            silent = f"; it answers no more: {mind.why}" if mind.why else ""
            said(f"{mind.name}: {count(mind.answers, 'answer')} of one participant{silent}")
        if spoken := sum(each.spoken_for for each in actors):
            said(f"note: {count(spoken, 'answer')} came from a script, as forms were filled in at random for too long")
        return session
    finally:
        server.end()
        await serving
        await hall.close()


async def _walked(group: Sequence[Actor], session: Session, skew: list[float]) -> None:
    """Has some walk to their ends. Where all wait for somebody who has left, time goes faster: by `skew`, in seconds."""
    tasks = {each: asyncio.create_task(each.walk()) for each in group}
    while under_way := [each for each, task in tasks.items() if not task.done()]:
        await asyncio.sleep(2 * PAUSE)
        for task in tasks.values():
            if task.done():
                task.result()  # what failed
        if all(each.waits for each in under_way):
            skew[0] += min(session.study.lobby.seconds, session.study.dropout.away) / 10
            for each in under_way:
                session.saw(each.who)
        session.tick()


def _free(cell: Cell) -> Cell:
    """The cell with a script wherever a model sits."""
    return cell._replace(entrants=tuple(ANY if "@" in each and each != PERSON else each for each in cell.entrants))


def rehearse(name: str, said: Callable[[str], object], out: Path, browsers: bool = False) -> None:
    """Checks a study and has it walked through, in a hall that is thrown away; what `collect` would write goes to `out`.

    With `browsers` everybody is at a real one; else pages are read and forms sent over HTTP.

    Raises AgonError where something fails.
    """
    own = study(name)
    faults, notes = checks(own)
    for note in notes:
        said(note)
    if faults:
        raise AgonError("; ".join(faults))
    with tempfile.TemporaryDirectory() as place:
        folder, began, patience = Path(place) / "hall", time(), 3 * PATIENCE if browsers else PATIENCE
        try:
            session = asyncio.run(asyncio.wait_for(rehearsed(own, folder, said, browsers=browsers), patience))
        except TimeoutError:
            raise AgonError(
                f"the rehearsal of {name} did not end in {patience:.0f} seconds: somebody waits for ever"
            ) from None
        ends = _ends(own, list(session.states.values()))
        said(
            f"{count(len(session.states), 'participant')} in {count(len(session.cells), 'cell')}, {time() - began:.0f} s: {ends}"
        )
        paid = [earned(own, state) for state in session.states.values() if state.stage == "debrief"]
        if paid:
            mean = sum(each.bonus for each in paid) / len(paid)
            said(f"bonus of who came to the end, by answers at random: {mean:.2f} {own.pay.currency} on average")
        said(bill(own))
        gather(folder, name, out)
        said(f"{shown(out)}: what `collect` writes of a study, of these participants that are scripts")


def _ends(own: Study, states: Sequence[State]) -> str:
    ends: dict[str, int] = {}
    for state in states:
        told = ending(own, state) or state.why or f"closed their pages at {state.stage}"
        ends[told] = ends.get(told, 0) + 1
    return ", ".join(f"{number} {what}" for what, number in sorted(ends.items()))
