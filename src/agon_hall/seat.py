"""The page of a seat at a table, and the page of its watchers: the question, the boards, and the last event."""

import json
from collections import defaultdict
from collections.abc import Collection
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agon.conf import describe_file
from agon.errors import AgonError
from agon.games import Observation
from agon.games.base import Event
from agon.games.html import items, text
from agon.games.pages import Scene, board_of, hides_totals, narrate, page_of
from agon.plan import PERSON
from agon_hall import Refusal, forms
from agon_hall.access import table_of_link
from agon_hall.people import NAME, Draft
from agon_hall.rules import question_text, rules_text, title
from agon_hall.store import Person
from agon_hall.table import Table
from agon_hall.web import Sent, by_script, live, read_form, redirect, routes_of, safe

LAST = 160
"""The most letters of the last action above the board. The board has all of it."""
NOTHING = "no answer that counts"
"""The text for an answer that was missed or could not be read."""
DONE = {
    "held": "The study cannot go on just now. What you did is kept: please tell who invited you, and try again later.",
    "stopped": "The match has been stopped. Its host can let it go on; you lose nothing.",
    "closed": "The match was ended before its end. What was played until then is kept.",
}


def seat_context(table: Table, seat: int | None) -> dict[str, Any]:
    """The context of a seat's page. With `seat` None it is the page of watchers, with what is public."""
    terms, view, people = table.terms, table.view(seat), table.store.people(table.id)
    person = None if seat is None else people.get(seat)
    question = None if seat is None else table.questions.get(seat)
    next_page = "" if seat is None else terms.next_page(seat)
    drafts = defaultdict(Draft, {form: draft for (place, form), draft in table.drafts.items() if place == seat})
    missing = set(table.people) - set(people)
    context: dict[str, Any] = {
        **{"table": table, "seat": seat, "view": view, "person": person, "question": question, "drafts": drafts},
        **{"say": terms.say, "lang": terms.say.language, "next_page": next_page, "longest_name": NAME},
        "is_out": seat in table.leavers and table.status == "playing",
        "leavers": join_players(table, table.leavers - {seat}) if terms.tells_who_left else "",
        "status_note": DONE.get("held" if table.on_hold else table.status, ""),
        "missing_players": "" if seat in missing else join_players(table, missing),
        "last_answer": "" if seat is None else _short(table.last_answers.get(seat, "")),
        "awaited_players": terms.say("other players")
        if table.opens
        else join_players(table, table.seats_to_answer()) or terms.say("the table"),
        "waits_since": round(1000 * _waits_since(table, seat, person)),
        "refusal": "",
        "last": "" if view is None else _last(table, seat, view),
        "away_players": join_players(
            table, [other_seat for other_seat, other in people.items() if other.away and other_seat != seat]
        ),
        "rules_first": seat is not None and table.status == "playing" and seat not in table.readers and not next_page,
        **dict.fromkeys(("main_board", "more", "rules", "outcome", "question_form"), ""),
        **{"has_opening": None, "can_repeat": False},
    }
    if view is None or (seat is not None and person is None):
        return context
    scene, page = scene_of(table, seat, view), page_of(view.rules)
    board = board_of(scene)
    over = table.status == "over" and seat is not None
    if over:
        board["totals"] = ""  # the outcome has them, and stands above the board
    needed = {name: "" if over else html for name, html in board.items() if name in page.needed}
    context["main_board"] = safe("".join(needed.values()))
    context["more"] = safe("".join(html for name, html in board.items() if not needed.get(name)))
    words = page.rewording(table.game, table.row.aids)
    context["rules"] = safe(rules_text(view, table.game, table.start, words=words, say=terms.say))
    if seat is None or person is None:
        return context
    if table.opens:
        context["has_opening"] = _has_opening(table, seat, view)
    if over:
        others = _others(table, seat) if terms.reveals else ""
        context["outcome"] = safe(page.closing(scene, table.game, table.state) + others)
        context["can_repeat"] = not next_page and not table.models
    elif question is not None and not person.away:
        draft = drafts["answer"] if drafts["answer"].number == question.number else Draft()
        form_of = partial(forms.answer_form, scene)
        form = forms.draw(form_of, draft.entries, "answer", str(question.number), draft.why, terms.say)
        context["question_form"] = safe(question_text(view, terms.say) + form)
    context["more"] += safe(forms.draw(partial(page.ask, scene), drafts["look"].entries, "look", say=terms.say))
    return context


def _waits_since(table: Table, seat: int | None, person: Person | None) -> float:
    """The time since which a person waits (seconds since 1970): for others to sit down, or for a step of the match."""
    if table.state is None and person is not None:
        return person.since
    return max(table.stepped, table.answered.get(seat, 0.0))


def scene_of(table: Table, seat: int | None, view: Observation) -> Scene:
    """The scene of a table: everything that its board may know."""
    over = table.status == "over"
    totals = table.totals if over or not hides_totals(view) else None
    return Scene(view, totals, table.players, table.row.aids, NOTHING, over, table.terms.say)


def _others(table: Table, seat: int) -> str:
    """Who sat on the other seats, as HTML. People stay unnamed: only the host sees their names."""
    lines, say = [], table.terms.say
    for other, entrant in enumerate(table.row.entrants):
        agent, _, model = entrant.partition("@")
        who = say("{} with the model {}", agent, model) if model else say("the script {}", agent)
        about = describe_file("agent", agent) if agent != PERSON and table.terms.say.language == "en" else ""
        line = say("{} was {}.", table.players[other], say("a person") if agent == PERSON else who)
        if other != seat:
            lines.append(text(f"{line} {about}".strip()))
    return f"<h3>{say('Who the others were')}</h3>{items(lines)}"


def _last(table: Table, seat: int | None, view: Observation) -> str:
    """The last action of any player, in words. Messages of the table do not count."""
    say = table.terms.say
    names = [say("you") if item == seat else player for item, player in enumerate(table.players)]
    page, scene = page_of(view.rules), scene_of(table, seat, view)
    for place, item in reversed(list(enumerate(view.past))):
        if not isinstance(item, Event):
            return _short(narrate(item, place, names, scene))
        if line := page.latest(item, names, say):
            return _short(line)
    return ""


def _has_opening(table: Table, seat: int, view: Observation) -> bool:
    """Whether the first words under a person's name come from the setting."""
    opening = next((event for event in view.past if isinstance(event, Event) and event.seat == seat), None)
    first = table.store.answer(table.id, seat, 0)
    return opening is not None and (first is None or json.dumps(first.action) != json.dumps(opening.value))


def _short(words: str) -> str:
    return words if len(words) <= LAST else f"{words[:LAST]}..."


def join_players(table: Table, seats: Collection[int]) -> str:
    """The names of some seats, separated by commas."""
    return ", ".join(table.players[seat] for seat in sorted(seats))


# --- the forms of the page


def submit(table: Table, seat: int, sent: Sent) -> str:
    """Does what a form of the seat's page asks for. Returns the reason of a refusal; empty if there is none."""
    form = sent.get("form", "")
    draft = Draft()
    try:
        if form == "sit":
            if sent.get(forms.PRESS) == "agree":  # hall.js also sends what is typed: a name alone is no consent
                table.sit(seat, sent.get("name", ""))
        elif form == "read":
            table.has_read(seat)
        elif form in ("leave", "back") and not table.terms.next_page(seat):
            table.leave(seat, away=form == "leave")
        elif form == "look":
            view = table.view(seat)
            if view is not None:
                before = table.drafts.get((seat, "look"), Draft())
                look = partial(page_of(view.rules).ask, scene_of(table, seat, view))
                draft = Draft(0, forms.press(look, before.entries, sent).entries)
                table.terms.note(seat, "look up", {name: str(value)[:200] for name, value in draft.entries.items()})
        elif form == "answer":
            draft = _answer(table, seat, sent)
        else:
            raise Refusal("This page has no such form: reload it.")
    except Refusal as refusal:
        if form == "answer":  # to another question: the entries for the open one stay
            return str(refusal)
        draft = Draft(why=str(refusal))
    table.drafts[seat, form if form in ("sit", "look", "answer") else "leave"] = draft
    return draft.why


def _answer(table: Table, seat: int, sent: Sent) -> Draft:
    """The entries for the open question, after its button has sent them, if it does.

    Raises Refusal for another question.
    """
    question = table.questions.get(seat)
    if question is None or sent.get("question") != str(question.number):
        raise Refusal("This has been answered already: the page shows what came of it.")
    before = table.drafts.get((seat, "answer"), Draft())
    entries = before.entries if before.number == question.number else {}
    form_of = partial(forms.answer_form, scene_of(table, seat, question.view))
    result = forms.press(form_of, entries, sent)
    why = result.why
    if result.actions is not None:
        try:
            table.answer(seat, question.number, result.actions)
            return Draft()
        except Refusal as refusal:
            why = str(refusal)
    elif why:
        table.refuse(seat, why)
    elif result.entries != entries:
        table.keep_draft(seat, result.entries)
    return Draft(question.number, result.entries, why)


# --- the pages


async def seat(request: Request) -> Response:
    """The page of a seat, for the person with its key."""
    table, place = table_of_link(request, "seat")
    assert place is not None
    table.mark_presence(place)
    why = ""
    if request.method == "POST":
        sent, hall = await read_form(request), request.app.state.hall
        if sent.get("form") == "again" and not table.terms.next_page(place):
            try:
                return redirect(f"/seat?key={hall.keys.key_of('seat', hall.repeat(table).id, place)}")
            except AgonError as error:
                why = str(error)
        else:
            why = submit(table, place, sent)
        if not by_script(request):
            return redirect(f"?{request.url.query}")
    name = table.terms.say("{}: you are {}", table.terms.say(title(table.game)), table.players[place])
    new_fault = why if why != table.drafts.get((place, "answer"), Draft()).why else ""

    def draw() -> dict[str, Any]:
        return seat_context(table, place) | {"refusal": new_fault}

    return live(
        request,
        "seat.html",
        name,
        draw,
        table.watchers,
        status=422 if why else 200,
        presence=partial(table.mark_presence, place),
    )


async def watch(request: Request) -> Response:
    """The page of a table for watchers."""
    table, _ = table_of_link(request, "watch")
    return live(
        request,
        "seat.html",
        table.terms.say("{}: you watch", table.terms.say(title(table.game))),
        partial(seat_context, table, None),
        table.watchers,
    )


routes = [*routes_of("/seat", seat, "POST"), *routes_of("/watch", watch)]
