"""The pages of a study's host: all studies, the monitor of one, and a participant, for whom the host can do something."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from agon.conf import names
from agon.errors import AgonError
from agon.games.html import alert
from agon.paths import ROOT
from agon_hall import Refusal
from agon_hall.people import LETTERS
from agon_hall.session import ALL, Session
from agon_hall.study import NOTE, Event, drawn, earned, ending, places_taken
from agon_hall.study_pages import reload_study
from agon_hall.watching.choice import listing
from agon_hall.web import NoPage, by_script, live, read_form, redirect, render, routes_of, safe

MOST = 10_000
"""The most links that are shown at once."""
MOST_PAID = 1e6
"""The amount below which a host may pay by hand."""


async def monitor(request: Request) -> Response:
    """The list of all studies, the monitor of one, or the page of a participant."""
    name = request.query_params.get("study", "")
    if name not in names("study"):
        studies = [
            (study_name, f"/monitor?study={quote(study_name)}", fault(study_name)) for study_name in names("study")
        ]
        return render(request, "studies.html", title="Studies", studies=studies)
    try:
        session: Session = request.app.state.studies.session(name)
    except AgonError as error:
        raise NoPage("This study cannot be run", str(error), HTTPStatus.UNPROCESSABLE_ENTITY) from None
    if "who" in request.query_params:
        return await _participant(request, session)
    refusal = ""
    if request.method == "POST":
        wanted = (await read_form(request)).get("number", "").strip()
        sources = session.hall.store.sources(name)
        if found := next((who for who, (_, pid) in sources.items() if pid == wanted and who in session.states), ""):
            return redirect(_at(session, found))
        refusal = f"Nobody has come with the number {wanted}."
    number_text, base = request.query_params.get("number", ""), str(request.base_url).rstrip("/")
    number = (
        int(number_text)
        if number_text.isdecimal() and len(number_text) < 9
        else sum(cell.quota for cell in session.cells.values())
    )
    links = [base + session.link(str(pid)) for pid in range(1, min(max(number, 1), MOST) + 1)]
    frame: dict[str, Any] = {"personal_links": links if session.study.signed else [], "most": MOST}
    frame |= {
        "platform": f"{base}/join/{name}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}",
        "test_link": base + session.link("test"),
        "refusal": refusal,
    }
    title = f"Study: {session.study.title}"
    return live(
        request,
        "monitor.html",
        title,
        partial(monitor_context, session),
        session.watchers[ALL],
        frame,
        422 if refusal else 200,
    )


def fault(name: str) -> str:
    """The fault of a study's file; empty if there is none."""
    try:
        reload_study(name)
    except AgonError as error:
        return str(error)
    return ""


def monitor_context(session: Session) -> dict[str, Any]:
    """The context of the monitor: cells and their places, the participants and their stages, pay and spending."""
    design, states, spent = session.study, session.states.values(), Counter[str]()
    for table in {table for state in states for _, table, _ in state.tables}:
        if (row := session.hall.store.table(table)) is not None:
            spent.update(row.spent)
    return {
        **{"session": session, "now": session.clock(), "pseudonym": session.hall.keys.pseudonym, "spent": spent},
        "under_way": Counter(state.cell for state in states if state.stage not in ("out", "debrief")),
        "complete": Counter(state.cell for state in states if ending(design, state) == "complete"),
        "before": Counter(state.cell for state in states if state.why and not state.match),
        "leavers": Counter(state.cell for state in states if state.has_left_match),
        "places": places_taken(states),
        "earnings": [earned(design, state) for state in states],
        "by_hand": sum(state.by_hand or 0.0 for state in states),
        "currency": design.pay.currency,
        "at": partial(_at, session),
    }


def _at(session: Session, who: str) -> str:
    """The address of a participant's page for the host."""
    return f"/monitor?{urlencode({'study': session.study.name, 'who': session.hall.keys.pseudonym(who)})}"


# --- a participant


async def _participant(request: Request, session: Session) -> Response:
    """The page of a participant for the host: their way, matches and pay, and what the host can do."""
    pseudonyms = {session.hall.keys.pseudonym(who): who for who in session.states}
    who, refusal = pseudonyms.get(request.query_params["who"], ""), ""
    if not who:
        raise NoPage("No such participant", "Nobody in this study has this name: go back to the list.")
    if request.method == "POST":
        try:
            act(session, who, await read_form(request))
        except Refusal as error:
            refusal = str(error)
        else:
            if not by_script(request):
                return redirect(f"?{request.url.query}")
    draw, title = partial(participant_context, session, who), f"Participant {request.query_params['who']}"
    frame = {"said": safe(alert(refusal) if refusal else "")}
    return live(request, "participant.html", title, draw, session.watchers[ALL], frame, 422 if refusal else 200)


def act(session: Session, who: str, sent: Mapping[str, str]) -> None:
    """Does what a host asks for in a form about a participant. It is an event of the participant. Raises Refusal."""
    do = sent.get("do", "")
    if do in ("removed", "release") and sent.get("sure") != "yes":
        raise Refusal("Tick the box first: this cannot be undone.")
    if do == "removed":
        session.do(who, "removed")
    elif do == "release":
        if not session.spoilt(who):
            raise Refusal("Nobody has left this match, or its places are free already.")
        session.release(who)
    elif do == "paid":
        reason = sent.get("reason", "").strip()
        if not reason or len(reason) > LETTERS:
            raise Refusal(f"Give a reason of 1 to {LETTERS} letters.")
        session.do(who, "paid", amount=_amount(sent.get("amount", "")), reason=reason)
    else:
        raise Refusal("This page has no such form: reload it.")


def _amount(typed: str) -> float:
    try:
        amount = float(typed.strip().replace(",", "."))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < MOST_PAID:
        raise Refusal("The amount must be a number of 0 or more, such as 1.50.")
    return round(amount, 2)


def participant_context(session: Session, who: str) -> dict[str, Any]:
    """The context of a participant's page for the host."""
    state, keys, store = session.states[who], session.hall.keys, session.hall.store
    path = ROOT / "transcripts/studies" / session.study.name / "turns.parquet"
    collected = listing(path).index if path.is_file() else ()
    results = {result.match: result for result in state.results}
    rows = []
    for match, table, seat in state.tables:
        transcript = {"file": f"studies/{session.study.name}/turns", "match": match, "seat": seat}
        link = f"/transcripts?{urlencode(transcript)}" if match in collected else ""
        rows.append((f"/host?key={keys.key_of('host', table)}", link, seat, results.get(match)))
    return {
        **{"session": session, "state": state, "rows": rows, "longest": LETTERS, "is_here": session.is_here(who)},
        **{"earnings": earned(session.study, state), "ending": ending(session.study, state)},
        "paid_match": drawn(session.study, state),
        "is_over": state.stage in ("out", "debrief"),
        "spoilt": len(session.spoilt(who)),
        "events": [Event(*event) for event in store.events(session.study.name) if event[0] == who],
        "note": NOTE,
        "money": lambda amount: f"{amount:,.2f} {session.study.pay.currency}",
        "told": _told,
    }


def _told(detail: Mapping[str, Any]) -> str:
    """The detail of an event in words, without its name."""
    words = {name: "; ".join(value.values()) if name == "answers" else value for name, value in detail.items()}
    return ", ".join(f"{name} {value}" for name, value in words.items() if name != "what")


routes = routes_of("/monitor", monitor, "POST")
