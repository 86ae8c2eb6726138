"""The participants of a rehearsal are scripts: they read each page of a study over HTTP, and send its forms."""

import asyncio
from contextlib import suppress
from html.parser import HTMLParser
from random import Random
from typing import Any

import httpx

from agon.errors import AgonError
from agon_hall import Refused
from agon_hall.people import Question
from agon_hall.session import Session
from agon_hall.study import STAGES, State
from agon_hall.study_pages import questions
from agon_hall.table import Table

PRESSES = 60
"""Forms that somebody sends in a match before the script answers for them."""
PAUSE = 0.1
"""Seconds after which it is looked again whether one is asked."""


class HttpPages:
    """Pages over HTTP, without a browser."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def get(self, at: str) -> str:
        """The page at an address. Raises AgonError for one that fails."""
        return self._read(at, await self._client.get(at))

    async def post(self, at: str, sent: dict[str, str]) -> str:
        """The page that comes of a form that is sent there."""
        return self._read(at, await self._client.post(at, data=sent))

    async def close(self) -> None:
        """The client is shared, and stays open."""

    def _read(self, at: str, reply: httpx.Response) -> str:
        if reply.status_code not in (200, 422):  # 422: an answer at a table that is not taken
            raise AgonError(f"{at.partition('?')[0]} answered {reply.status_code}")
        return reply.text


class Forms(HTMLParser):
    """The forms of a page: for each its fields, and the names and values of its buttons."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[dict[str, Any]] = []
        self._select: list[str | None] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A form, or something in it."""
        attributes = {key: value or "" for key, value in attrs}
        if tag == "form":
            self.found.append({"fields": {}, "buttons": []})
        if not self.found:
            return
        form, name = self.found[-1], attributes.get("name", "")
        if tag == "button" and "hidden" not in attributes:
            form["buttons"].append((name, attributes.get("value", "")))
        elif tag == "select":
            self._select = form["fields"].setdefault(name, [])
        elif tag == "option" and self._select is not None:
            self._select.append(attributes.get("value"))
        elif tag == "textarea":
            form["fields"][name] = ["a rehearsal"]
        elif tag == "input" and name:
            kind = attributes.get("type", "text")
            if kind in ("radio", "checkbox"):
                form["fields"].setdefault(name, []).append(attributes["value"])
            elif kind == "number":
                form["fields"][name] = [attributes.get("min") or "0", attributes.get("value") or "0"]
            else:
                form["fields"][name] = [attributes.get("value") or "a rehearsal"]

    def handle_data(self, data: str) -> None:
        """An option that has no value of its own sends its words."""
        if self._select and self._select[-1] is None:
            self._select[-1] = data

    def handle_endtag(self, tag: str) -> None:
        """The end of a list."""
        if tag == "select":
            self._select = None


class Walker:
    """A participant who goes on until `stops`, a stage at which they close their pages; None: to the end."""

    def __init__(self, session: Session, pages: HttpPages, pid: str, stops: str | None = None) -> None:
        self.session, self.pages, self.pid, self.stops = session, pages, pid, stops
        self.dice, self.presses, self.spoken_for, self.who = Random(pid), 0, 0, ""

    @property
    def state(self) -> State:
        """Where they are."""
        return self.session.states[self.who]

    @property
    def assigned(self) -> bool:
        """Whether they have a cell, or will have none."""
        return bool(self.who) and (bool(self.state.cell) or self.state.stage == "out")

    @property
    def waits(self) -> bool:
        """Whether it is others who are to do something."""
        table = self.session.table(self.who) if self.who else None
        stage = self.state.stage if self.who else ""
        return stage == "lobby" or (stage == "match" and table is not None and self.state.seat not in table.questions)

    async def walk(self) -> None:
        """The whole way. Raises AgonError for a page that fails."""
        try:
            await self._walk()
        except AgonError as error:
            raise AgonError(f"{self.pid}: {error}") from None

    async def _walk(self) -> None:
        link = self.session.link(self.pid)
        await self.pages.get(link)
        self.who = self.session.join("link", self.pid)
        at, last = self.session.at(self.who), STAGES.index(self.stops or "debrief")
        while (stage := self.state.stage) != "out" and STAGES.index(stage) < last:
            if stage == "match":
                await self._play()
                continue
            again = self.dice.random() < 0.3  # a second tab, or a reload
            page = await self.pages.get(link if again else at)
            if stage == "lobby":
                await asyncio.sleep(PAUSE)
            elif self.state.stage == stage:
                await self.pages.post(at, self._answers(page))
        page = await self.pages.get(at)
        if (code := self.session.code(self.who)) and code not in page:
            raise AgonError(f"the code {code} is not on the page")
        await self.pages.close()

    def _answers(self, page: str) -> dict[str, str]:
        """What is sent at a stage; some decline, or do not know the rules."""
        stage, answers = self.state.stage, dict[str, str]()
        do = {"consent": "agree", "instructions": "read"}.get(stage, stage)
        for place, question in enumerate(questions(self.session, self.state) if do == stage else ()):
            if question.ask.split("&")[0].split("<")[0].split('"')[0].split("'")[0] not in page:
                raise AgonError(f"the page does not ask {question.ask!r}")
            answers[str(place)] = question.right or (question.options[0] if question.options else "a rehearsal")
            if self.pid.startswith("guesses") and stage == "quiz":
                answers[str(place)] = next(option for option in question.options if option != question.right)
        return {"do": "decline" if self.pid.startswith("declines") else do, **answers}

    async def _play(self) -> None:
        """One question of a match, by the form of the seat's page."""
        table, seat = self.session.table(self.who), self.state.seat
        if table is None or seat is None or table.status in ("over", "closed"):
            self.session.look(self.who)
            return
        at = f"/seat?key={self.session.hall.keys.of('seat', table.id, seat)}"
        page = await self.pages.get(at)
        question = table.questions.get(seat)
        forms = [form for form in Forms(page).found if form["fields"].get("form") == ["answer"] and form["buttons"]]
        if question is None or not forms:
            await asyncio.sleep(PAUSE)
        elif self.presses == PRESSES:
            self.spoken_for += 1
            self._say(table, question, question.view.legal.example(self.dice))
        else:
            self.presses += 1
            sent = {name: self.dice.choice(values) for name, values in forms[0]["fields"].items() if values}
            name, value = self.dice.choice(forms[0]["buttons"])
            await self.pages.post(at, sent | {name: value})

    def _say(self, table: Table, question: Question, action: Any) -> None:
        """An answer that no form is filled in for."""
        assert self.state.seat is not None
        with suppress(Refused):  # its time is up
            table.answer(self.state.seat, question.number, [action])
