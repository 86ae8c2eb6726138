"""The pages of a study: consent, rules, questions, lobby, own pages, survey and the code."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agon.conf import forget_files, load, names
from agon.errors import AgonError
from agon.games.html import text
from agon.games.pages import page_of
from agon.games.sentences import ENGLISH, Say
from agon.loop import start_match
from agon_hall import Refusal
from agon_hall.access import Throttle
from agon_hall.firewall import address
from agon_hall.links import SIGNATURE, participant_in
from agon_hall.protocol import Cell, Study, study
from agon_hall.questions import FAULTS, LONG, FormQuestion, faults, image_of, number_of, wrong_questions
from agon_hall.rules import rules_text
from agon_hall.session import RejectedForm, Session
from agon_hall.study import (
    BEFORE,
    NOTE,
    STEPS,
    WHY,
    State,
    drawn,
    earned,
    meets_once,
    own_page,
)
from agon_hall.tables import Hall
from agon_hall.web import NoPage, live, read_form, redirect, render, routes_of, safe, streams

log = logging.getLogger("agon_hall")

TICK = 1.0
"""Seconds between two ticks of the sessions."""


def reload_study(name: str) -> Study:
    """Reads a study's file again, because somebody may have mended it. Raises AgonError."""
    if name in names("study"):
        forget_files()
    return study(name)


class Studies:
    """The studies of a hall: at first those with participants, and others when somebody opens them."""

    def __init__(self, hall: Hall, stopping: asyncio.Event) -> None:
        self._hall, self._stopping, self.sessions = hall, stopping, dict[str, Session]()
        self._running: asyncio.Task[None] | None = None
        self._waiting = set[str]()
        """Studies with participants that cannot run now."""
        for name in hall.store.studies():
            try:
                self.session(name)
            except AgonError as error:  # its file is absent or does not fit any more
                self._waiting.add(name)
                self._begin()
                log.error("study %s cannot go on before its file is mended: %s", name, error)

    def session(self, name: str) -> Session:
        """The session of a study. Raises AgonError if there is none, or if it cannot run; its matches wait then."""
        if name not in self.sessions:
            try:
                self.sessions[name] = Session(self._hall, reload_study(name))
            except AgonError as error:
                for _, _, kind, detail in self._hall.store.events(name):
                    if kind == "matched" and (table := self._hall.tables.get(detail["table"])) is not None:
                        table.hold(str(error))
                raise
        self._begin()
        return self.sessions[name]

    def _begin(self) -> None:
        if self._running is None:
            with suppress(RuntimeError):  # no event loop runs yet
                self._running = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while not self._stopping.is_set():
            for name in list(self._waiting):
                try:
                    self.session(name)
                    self._waiting.discard(name)
                except AgonError:  # not mended yet; the log has it
                    pass
                except Exception:  # one study must not stop the others
                    log.exception("study %s could not be looked at", name)
                    self._waiting.discard(name)
            for session in list(self.sessions.values()):
                try:
                    session.tick()
                except Exception:  # one study must not stop the others
                    log.exception("study %s could not be looked at", session.study.name)
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._stopping.wait()


# --- the link


def _session(request: Request) -> Session:
    """The study of an address. Raises NoPage if there is none, or if it cannot run now."""
    name, studies = request.path_params["study"], request.app.state.studies
    try:
        session: Session = studies.session(name)
        return session
    except AgonError as error:
        if name in names("study") or name in request.app.state.hall.store.studies():
            why = "What you did is kept. Please tell who invited you, or try again later."
            raise NoPage("This study is closed just now", why, HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from None
        why = "There is no study here. Please open the link where you found it."
        raise NoPage("No such study", why, log_line=f"a study that does not exist: {error}") from None


async def join(request: Request) -> Response:
    """The link of a study. A participant who comes back goes on at the same stage."""
    query, here = request.query_params, address(request.scope)
    newcomers: Throttle = request.app.state.newcomers
    session = _session(request)
    try:
        participant = participant_in(query)
        if not session.admits(*(participant or ("", "")), query.get(SIGNATURE, "")):
            raise Refusal("This link is not whole: please open it again where you found it.")
    except Refusal as refusal:
        log_line = f"a study's link: {refusal}"
        raise NoPage(session.study.title, str(refusal), HTTPStatus.BAD_REQUEST, log_line, session.say) from None
    if participant is None:
        return render(request, "join.html", title=session.study.title, lang=session.study.language, say=session.say)
    if request.method == "HEAD":  # a program that checks the link is no participant
        return Response()
    try:
        if not session.knows(*participant):
            if newcomers.wait(here):
                why = "Too many people have come from your network just now. Please try again in a minute."
                log_line = "too many who come for the first time"
                raise NoPage(session.study.title, why, HTTPStatus.TOO_MANY_REQUESTS, log_line, session.say)
            newcomers.count(here)
        return redirect(session.at(session.join(*participant)))
    except AgonError as error:
        why = "You cannot be let in just now. Please open the link again in a moment."
        raise NoPage(session.study.title, why, HTTPStatus.SERVICE_UNAVAILABLE, str(error), session.say) from None


# --- a participant's page


def _participant(request: Request) -> tuple[Session, str]:
    """The session and the participant of a link. Raises NoPage for a link that is not valid.

    A link expires some days after the participant last reached a new stage.
    """
    session = _session(request)
    who = session.participant_of(request.query_params.get("key", ""))
    if who is None:
        why, log_line = "Please open the link of the study again.", "a participant's link that is not valid"
        raise NoPage("This link is not valid", why, HTTPStatus.FORBIDDEN, log_line, session.say)
    if session.hall.has_expired(session.states[who].since):
        why = session.say("Please ask {}; what you did is kept.", session.study.consent.contact)
        log_line = "a participant's link that has expired"
        raise NoPage("This link has expired", why, HTTPStatus.GONE, log_line, session.say)
    return session, who


async def page(request: Request) -> Response:
    """The page of a participant at their stage."""
    session, who = _participant(request)
    session.mark_presence(who)
    if request.method == "POST":
        sent, faults_of_form = dict(await read_form(request)), dict[str, Any]()
        try:
            if faults_by_place := submit(session, who, sent):
                answers = {str(place): sent.get(str(place), "")[: LONG + 1] for place in range(len(sent))}
                faults_of_form = {"answers": answers, "faults": faults_by_place}
        except Refusal as refusal:
            faults_of_form = {"why": str(refusal)}
        session.rejections[who] = RejectedForm(session.states[who].place, **faults_of_form)
        return redirect(session.at(who))  # after a refusal too, so that going back and reloading send nothing
    state = session.look(who)
    rejection = session.rejections.get(who, RejectedForm(state.place))
    if rejection.place != state.place:
        rejection = RejectedForm(state.place)
    table = session.table(who) if state.stage == "match" else None
    leaving = "leave" in request.query_params and state.stage not in ("out", "debrief")
    if table is not None and not leaving and not streams(request):
        return redirect(f"/seat?key={session.hall.keys.key_of('seat', table.id, state.seat)}")
    context = participant_context(session, who, state) | {"rejection": rejection, "leaving": leaving}
    here = request.query_params.get("place", state.place) if streams(request) else state.place

    def draw() -> dict[str, Any]:
        """The remaining time on the page, and whether the participant has gone on to another one."""
        now, seconds_left = session.states[who], None if leaving else session.seconds_left(who)
        has_moved = here.partition("-")[0] in (*BEFORE, "page", "match", "survey") and now.place != here
        return {
            **{"has_moved": has_moved, "waits": now.stage == "lobby" and not leaving},
            "seconds_left": None if seconds_left is None else round(max(0.0, seconds_left)),
            **{"page_link": session.at(who), "say": session.say, "longer": now.longer},
            "more_seconds": session.study.lobby.seconds if now.longer < session.study.lobby.longer else None,
        }

    presence = partial(session.mark_presence, who)
    watching, title = session.watchers[who], session.study.title
    return live(request, "study.html", title, draw, watching, context, presence=presence, place=state.place)


def submit(session: Session, who: str, sent: Mapping[str, str]) -> Mapping[int, str]:
    """Does what a participant's form asks for.

    Returns the faults of its answers by the place of their question. Raises Refusal.
    """
    state, do = session.states[who], sent.get("do", "")
    plain = {"agree": "consented", "decline": "declined", "read": "read", "withdraw": "withdrew"}
    if do in plain:
        now = session.do(who, plain[do])
        if now.stage == "quiz" and not questions(session, now):  # all questions are about other games
            session.do(who, "answered", answers={}, right=True)
        return {}
    if do == "stay":
        if sent.get("longer") == str(state.longer):  # pressed twice, it is one time
            session.do(who, "stayed")
        return {}
    again = sent.get("place", state.place) != state.place  # a quiz that is sent twice, as by a reload, is one try
    if do not in ("quiz", "page", "survey") or do != state.stage or again:
        raise Refusal("This has been answered already: the page shows what comes next.")
    form_questions = questions(session, state)
    answers = {str(place): sent.get(str(place), "") for place in range(len(form_questions))}
    if faults_by_place := faults(form_questions, answers, session.say):
        session.do(who, NOTE, what="refused", form=do, questions=sorted(faults_by_place))
        return faults_by_place
    for place, question in enumerate(form_questions):
        if question.number and (number := number_of(answers[str(place)], session.say)) is not None:
            answers[str(place)] = f"{number:.15g}"
    if do == "survey":
        session.do(who, "answered", answers=answers, failed=wrong_questions(form_questions, answers))
        return {}
    if do == "page":
        session.do(who, "answered", page=own_page(session.study, state).name, answers=answers)
        return {}
    wrong = wrong_questions(form_questions, answers)
    now = session.do(who, "answered", answers=answers, right=not wrong)
    return (
        {place: FAULTS["wrong"] for place, question in enumerate(form_questions) if question.ask in wrong}
        if now.stage == "quiz"
        else {}
    )


def questions(session: Session, state: State) -> Sequence[FormQuestion]:
    """The questions of the survey, of an own page, or of the quiz before the participant's game."""
    if state.stage in ("survey", "page"):
        return session.study.survey if state.stage == "survey" else own_page(session.study, state).questions
    cell = session.cells.get(state.cell)  # None if the file has it no longer
    return [
        question
        for question in session.study.quiz.questions
        if not question.games or (cell and cell.game in question.games)
    ]


def participant_context(session: Session, who: str, state: State) -> dict[str, Any]:
    """The context of a participant's page."""
    design, cell, code, link = session.study, session.cells.get(state.cell), session.code(who), ""
    if code:
        source, pid = session.hall.store.sources(design.name)[who]
        link = design.finish.links.get(source, "")  # type: ignore[call-overload]
        link = link.replace("{code}", quote(code, safe="")).replace("{pid}", quote(pid, safe=""))
    has_rules = state.stage in ("instructions", "quiz", "lobby")
    return {
        **{"lang": design.language, "study": design, "state": state, "code": code, "link": link},
        "steps": {key: words for key, words in STEPS.items() if key not in stages_absent(design)},
        "rules": safe(rules_of(cell, session.say)) if has_rules and cell is not None else "",
        "questions": questions(session, state) if state.stage in ("quiz", "page", "survey") else [],
        "own": (own := own_page(design, state) if state.stage == "page" else None),
        "image": image_of(own) if own else "",
        "meets_once": cell is not None and design.matches.number > 1 and bool(cell.group) and meets_once(design, cell),
        "paid_match": drawn(design, state),
        "reason": WHY.get(state.why, ""),
        "earnings": earned(design, state),
    }


def stages_absent(design: Study) -> set[str]:
    """The stages that a study does not have."""
    parts = {
        "quiz": design.quiz.questions,
        "page": design.pages or design.matches.number > 1,
        "survey": design.survey,
    }
    return {name for name, part in parts.items() if not part}


@cache
def rules_of(cell: Cell, say: Say = ENGLISH) -> str:
    """The public rules and the aim of a cell's game, as HTML. Models read the same text, but for what tools do."""
    game: Any = load("game", cell.game)
    _, (state, _, _), _ = start_match(game, 0)
    words = page_of(game).rewording(game, cell.aids)
    rules = rules_text(game.watch(state), game, state, with_note=False, words=words, say=say)
    first = game.players[0]
    if cell.people == (0,) or first not in rules:
        return rules
    note = say("As {} is told. You learn when the match begins which player you are.", first)
    return f'<p class="soft">{text(note)}</p>{rules}'


routes = [Route("/join/{study}", join), *routes_of("/part/{study}", page, "POST")]
