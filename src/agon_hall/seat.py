"""The page of one seat at a table, and that of those who watch: what is asked, what is seen, what just happened."""

import json
from collections import defaultdict
from collections.abc import Collection
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agon.games import Observation
from agon.games.base import Event
from agon.games.pages import Scene, board_of, describe_entry, hides_totals, page_of
from agon_hall import Refused, forms
from agon_hall.access import table_of_link
from agon_hall.people import NAME, Draft
from agon_hall.rules import question_text, rules_text, title
from agon_hall.table import Table
from agon_hall.web import Sent, by_script, live, read_form, redirect, routes_of, safe

LAST = 160
"""Letters of what was done last that are shown above; the board has all of it."""
NOTHING = "no answer that counts"
"""What is shown where somebody's time was up, or an answer could not be read."""
DONE = {
    "held": "The study cannot go on just now. What you did is kept: please tell who invited you, and try again later.",
    "stopped": "The match has been stopped. Its host can let it go on; you lose nothing.",
    "closed": "The match was ended before its end. What was played until then is kept.",
}


def seat_context(table: Table, seat: int | None) -> dict[str, Any]:
    """What the page of a seat is filled in with; `seat` None: of those who watch, with what anybody may see."""
    terms, view, people = table.terms, table.view(seat), table.store.people(table.id)
    person = None if seat is None else people.get(seat)
    question = None if seat is None else table.questions.get(seat)
    next_page = "" if seat is None else terms.next_page(seat)
    drafts = defaultdict(Draft, {form: draft for (place, form), draft in table.drafts.items() if place == seat})
    missing = set(table.people) - set(people)
    context: dict[str, Any] = {
        **{"table": table, "seat": seat, "view": view, "person": person, "question": question, "drafts": drafts},
        **{"say": terms.say, "lang": terms.language, "next_page": next_page, "longest_name": NAME},
        "games_language": safe("" if terms.language == "en" else ' lang="en"'),
        "gone": seat in table.gone and table.status == "playing",
        "left": join_players(table, table.gone - {seat}) if terms.tells_who_left else "",
        "done": DONE.get("held" if table.held else table.status, ""),
        "missing": "" if seat in missing else join_players(table, missing),
        "given": "" if seat is None else _short(table.given.get(seat, "")),
        "waited": terms.say("other players")
        if table.opens
        else join_players(table, table.waited_for()) or terms.say("the table"),
        "refused": "",
        "last": "" if view is None else _last(table, seat, view),
        "absent": join_players(
            table, [other_seat for other_seat, other in people.items() if other.away and other_seat != seat]
        ),
        "unread": seat is not None and table.status == "playing" and seat not in table.read and not next_page,
        **dict.fromkeys(("needed", "more", "rules", "closing", "asked"), ""),
        "spoken_for": None,
    }
    if view is None or (seat is not None and person is None):
        return context
    scene, page = scene_of(table, seat, view), page_of(view.rules)
    board = board_of(scene)
    if table.status == "over" and seat is not None:
        board["totals"] = ""  # how it ended has them
    context["needed"] = safe("".join(html for name, html in board.items() if name in page.needed))
    context["more"] = safe("".join(html for name, html in board.items() if name not in page.needed))
    context["rules"] = safe(rules_text(view, table.game, table.start))
    if seat is None or person is None:
        return context
    if table.opens:
        context["spoken_for"] = _spoken_for(table, seat, view)
    if table.status == "over":
        context["closing"] = safe(page.closing(scene, table.game, table.state))
    elif question is not None and not person.away:
        draft = drafts["answer"] if drafts["answer"].number == question.number else Draft()
        form_of = partial(forms.answer_form, scene)
        form = forms.draw(form_of, draft.entered, "answer", str(question.number), draft.why, terms.say)
        context["asked"] = safe(question_text(view) + form)
    context["more"] += safe(forms.draw(partial(page.ask, scene), drafts["look"].entered, "look", say=terms.say))
    return context


def scene_of(table: Table, seat: int | None, view: Observation) -> Scene:
    """All that a board of a table may know."""
    over = table.status == "over"
    totals = table.totals if over or not hides_totals(view) else None
    return Scene(view, totals, table.players, table.row.aids, f"<em>{NOTHING}</em>", over)


def _last(table: Table, seat: int | None, view: Observation) -> str:
    """What was done last, by anybody; not what the table said."""
    names = ["you" if item == seat else player for item, player in enumerate(table.players)]
    page = page_of(view.rules)
    for place, item in reversed(list(enumerate(view.past))):
        rounds = not isinstance(item, Event)
        if (
            news_line := describe_entry(item, view, place, names, own="you", unread=NOTHING)
            if rounds
            else page.latest(item, names)
        ):
            return _short(news_line)
    return ""


def _spoken_for(table: Table, seat: int, view: Observation) -> bool:
    """Whether the first words under a person's name are those of the setting."""
    opening = next((event for event in view.past if isinstance(event, Event) and event.seat == seat), None)
    first = table.store.answer(table.id, seat, 0)
    return opening is not None and (first is None or json.dumps(first.action) != json.dumps(opening.value))


def _short(words: str) -> str:
    return words if len(words) <= LAST else f"{words[:LAST]}..."


def join_players(table: Table, seats: Collection[int]) -> str:
    """Players, by name."""
    return ", ".join(table.players[seat] for seat in sorted(seats))


# --- what is done on it


def submit(table: Table, seat: int, sent: Sent) -> str:
    """What somebody at a seat has sent: a form of the page. Why it does not do; empty where it does."""
    form = sent.get("form", "")
    draft = Draft()
    try:
        if form == "sit":
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
                draft = Draft(0, forms.press(look, before.entered, sent).entered)
                table.terms.noted(seat, "look up", {name: str(value)[:200] for name, value in draft.entered.items()})
        elif form == "answer":
            draft = _answer(table, seat, sent)
        else:
            raise Refused("This page has no such form: reload it.")
    except Refused as refused:
        if form == "answer":  # to another question: what is filled in of the one that is open stays
            return str(refused)
        draft = Draft(why=str(refused))
    table.drafts[seat, form if form in ("sit", "look", "answer") else "leave"] = draft
    return draft.why


def _answer(table: Table, seat: int, sent: Sent) -> Draft:
    """What was filled in of the question that is open; its button may send it. Raises Refused for another question."""
    question = table.questions.get(seat)
    if question is None or sent.get("question") != str(question.number):
        raise Refused("This has been answered already: the page shows what came of it.")
    before = table.drafts.get((seat, "answer"), Draft())
    entered = before.entered if before.number == question.number else {}
    form_of = partial(forms.answer_form, scene_of(table, seat, question.view))
    pressed = forms.press(form_of, entered, sent)
    why = pressed.why
    if pressed.actions is not None:
        try:
            table.answer(seat, question.number, pressed.actions)
            return Draft()
        except Refused as refused:
            why = str(refused)
    elif why:
        table.refuse(seat, why)
    elif pressed.entered != entered:
        table.typed(seat, pressed.entered)
    return Draft(question.number, pressed.entered, why)


# --- the pages


async def seat(request: Request) -> Response:
    """A seat for who has its key."""
    table, place = table_of_link(request, "seat")
    assert place is not None
    table.saw(place)
    why = ""
    if request.method == "POST":
        why = submit(table, place, await read_form(request))
        if not by_script(request):
            return redirect(f"?{request.url.query}")
    name = table.terms.say("{}: you are {}", title(table.game), table.players[place])
    new_fault = why if why != table.drafts.get((place, "answer"), Draft()).why else ""

    def draw() -> dict[str, Any]:
        return seat_context(table, place) | {"refused": new_fault}

    return live(
        request, "seat.html", name, draw, table.watching, status=422 if why else 200, presence=partial(table.saw, place)
    )


async def watch(request: Request) -> Response:
    """A table for everybody."""
    table, _ = table_of_link(request, "watch")
    return live(
        request, "seat.html", f"{title(table.game)}: you watch", partial(seat_context, table, None), table.watching
    )


routes = [*routes_of("/seat", seat, "POST"), *routes_of("/watch", watch)]
