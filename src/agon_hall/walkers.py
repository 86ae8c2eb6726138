"""The participants of a rehearsal: scripts that read the pages of a study over HTTP and send their forms."""

import asyncio
from contextlib import suppress
from html.parser import HTMLParser
from random import Random
from typing import Any

import httpx

from agon.errors import AgonError
from agon_hall import Refusal
from agon_hall.people import Question
from agon_hall.session import Session
from agon_hall.study import STAGES, State
from agon_hall.study_pages import questions
from agon_hall.table import Table

PRESSES = 60
"""The most forms that a walker sends in a match. After them a script answers."""
PAUSE = 0.1
"""Seconds until a walker looks at the page again."""


class HttpPages:
    """Pages over HTTP, without a browser."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def get(self, at: str) -> str:
        """The page at an address. Raises AgonError if it fails."""
        return self._read(at, await self._client.get(at))

    async def post(self, at: str, sent: dict[str, str]) -> str:
        """Sends a form and returns the page that follows. Raises AgonError if it fails."""
        return self._read(at, await self._client.post(at, data=sent))

    async def close(self) -> None:
        """Does nothing, because all walkers share the client."""

    def _read(self, at: str, reply: httpx.Response) -> str:
        if reply.status_code not in (200, 422):  # 422: an answer at a table that is not taken
            raise AgonError(f"{at.partition('?')[0]} answered {reply.status_code}")
        return reply.text


class Forms(HTMLParser):
    """The forms of a page. A form has `fields` (name -> possible values) and `buttons` (names and values)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[dict[str, Any]] = []
        self._select: list[str | None] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Reads a form, or an element in it."""
        attributes = {key: value or "" for key, value in attrs}
        if tag == "form":
            self.forms.append({"fields": {}, "buttons": []})
        if not self.forms:
            return
        form, name = self.forms[-1], attributes.get("name", "")
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
        """Reads an option's text, which is its value if it has no other."""
        if self._select and self._select[-1] is None:
            self._select[-1] = data

    def handle_endtag(self, tag: str) -> None:
        """Ends a list."""
        if tag == "select":
            self._select = None


class Walker:
    """A participant. At the stage `stops` they close their pages; None for a walk to the end."""

    def __init__(self, session: Session, pages: HttpPages, pid: str, stops: str | None = None) -> None:
        self.session, self.pages, self.pid, self.stops = session, pages, pid, stops
        self.dice, self.presses, self.script_answers, self.who = Random(pid), 0, 0, ""

    @property
    def state(self) -> State:
        """The state of the participant."""
        return self.session.states[self.who]

    @property
    def is_assigned(self) -> bool:
        """Whether the participant has a cell, or is out."""
        return bool(self.who) and (bool(self.state.cell) or self.state.stage == "out")

    @property
    def waits(self) -> bool:
        """Whether the participant waits for others."""
        table = self.session.table(self.who) if self.who else None
        stage = self.state.stage if self.who else ""
        return stage == "lobby" or (stage == "match" and table is not None and self.state.seat not in table.questions)

    async def walk(self) -> None:
        """Walks the whole way. Raises AgonError for a page that fails."""
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
        """The form of a stage. Walkers with certain names decline, or answer the quiz wrongly."""
        stage, answers = self.state.stage, dict[str, str]()
        do = {"consent": "agree", "instructions": "read"}.get(stage, stage)
        for place, question in enumerate(questions(self.session, self.state) if do == stage else ()):
            if question.ask.split("&")[0].split("<")[0].split('"')[0].split("'")[0] not in page:
                raise AgonError(f"the page does not ask {question.ask!r}")
            in_words = str(question.number[0]) if question.number else "a rehearsal"
            answers[str(place)] = question.right or next(iter(question.choices), in_words)
            if self.pid.startswith("guesses") and stage == "quiz":
                answers[str(place)] = next(option for option in question.choices if option != question.right)
        return {"do": "decline" if self.pid.startswith("declines") else do, **answers}

    async def _play(self) -> None:
        """Answers one question of a match with the form of the seat's page."""
        table, seat = self.session.table(self.who), self.state.seat
        if table is None or seat is None or table.status in ("over", "closed"):
            self.session.look(self.who)
            return
        at = f"/seat?key={self.session.hall.keys.key_of('seat', table.id, seat)}"
        page = await self.pages.get(at)
        question = table.questions.get(seat)
        forms = [form for form in Forms(page).forms if form["fields"].get("form") == ["answer"] and form["buttons"]]
        if question is None or not forms:
            await asyncio.sleep(PAUSE)
        elif self.presses == PRESSES:
            self.script_answers += 1
            self._say(table, question, question.view.legal.example(self.dice))
        else:
            self.presses += 1
            sent = {name: self.dice.choice(values) for name, values in forms[0]["fields"].items() if values}
            name, value = self.dice.choice(forms[0]["buttons"])
            await self.pages.post(at, sent | {name: value})

    def _say(self, table: Table, question: Question, action: Any) -> None:
        """Answers a question without a form."""
        assert self.state.seat is not None
        with suppress(Refusal):  # the time is up
            table.answer(self.state.seat, question.number, [action])
