"""The lobby, with all tables and the form for a new one, and the page of a table's host: links, budget, end."""

import secrets
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agon.errors import AgonError
from agon.games.html import alert
from agon.games.pages import page_of
from agon.games.sentences import number
from agon.plan import PERSON
from agon_hall import Refusal, forms
from agon_hall.access import table_of_link
from agon_hall.new_table import ALONE, new_table, parse_budget_fields
from agon_hall.people import LETTERS
from agon_hall.table import Table
from agon_hall.tables import DAY, Hall
from agon_hall.web import by_script, live, read_form, redirect, routes_of, safe

MOST_TABLES = 100
"""The most tables in the list."""
MOST_SECONDS = 3600
"""The most seconds that a host adds at once."""
STATUS_WORDS = {
    "waiting": "waiting for people to sit down",
    "playing": "being played",
    "over": "over",
    "stopped": "stopped",
    "closed": "given up",
}


# --- the lobby: all tables, and the form for another one


async def lobby(request: Request) -> Response:
    """The page with all tables and the form for a new one."""
    hall: Hall = request.app.state.hall
    once, fault, entries = secrets.token_hex(8), "", dict[str, Any]()
    if request.method == "POST":
        sent = await read_form(request)
        once = sent.get("once", "")
        result = forms.press(new_table, {}, sent)
        entries, fault = result.entries, result.why
        if result.actions:
            try:
                table_id = _open_once(hall, request.app.state.once, once, result.actions[0])
            except AgonError as error:
                fault = str(error)
            else:
                if sent.get(forms.PRESS) == ALONE:
                    return redirect(f"/seat?key={hall.keys.key_of('seat', table_id, 0)}")
                return redirect(f"/host?key={hall.keys.key_of('host', table_id)}")
    form = forms.draw(new_table, entries, "table", once=once)
    frame = {"form": safe(form), "said": safe(alert(fault) if fault else "")}
    return live(request, "lobby.html", "Tables", partial(tables, hall), hall.watchers, frame, 422 if fault else 200)


def _open_once(hall: Hall, tables_by_form: "OrderedDict[str, str]", once: str, settings: Mapping[str, Any]) -> str:
    """The id of the table that a form opens. A form that is sent again opens no second table. Raises AgonError."""
    if once not in tables_by_form:
        tables_by_form[once] = hall.open(**settings).id
        while len(tables_by_form) > 1000:
            tables_by_form.popitem(last=False)
    return tables_by_form[once]


def tables(hall: Hall) -> dict[str, Any]:
    """The context of the list of tables, the newest first."""
    table_rows = hall.store.tables()[::-1]
    rows = [(row, hall.store.people(row.id), hall.keys.key_of("host", row.id)) for row in table_rows[:MOST_TABLES]]
    return {"rows": rows, "older": len(table_rows) - len(rows), "status_words": STATUS_WORDS, "person": PERSON}


# --- the page of a table's host


async def host(request: Request) -> Response:
    """The page of a table's host: a link for every person, budget and spending, and buttons to go on or give up."""
    hall: Hall = request.app.state.hall
    (table, _), fault = table_of_link(request, "host"), ""
    if request.method == "POST":
        try:
            _change(table, await read_form(request))
        except AgonError as error:
            fault = str(error)
        else:
            if not by_script(request):
                return redirect(f"?{request.url.query}")
    draw = partial(host_context, hall, table, str(request.base_url).rstrip("/"))
    frame = {"said": safe(alert(fault) if fault else "")}
    return live(request, "host.html", "Your table", draw, table.watchers, frame, 422 if fault else 200)


def host_context(hall: Hall, table: Table, at: str) -> dict[str, Any]:
    """The context of the page of a table's host. Its links begin with `at`, the address of the server."""
    return {
        **{"table": table, "row": table.row, "people": table.store.people(table.id), "status_words": STATUS_WORDS},
        "seat_links": {
            seat: f"{at}/seat?key={hall.keys.key_of('seat', table.id, seat)}"
            for seat in table.people
            if not table.terms.next_page(seat)
        },
        "watch": f"{at}/watch?table={table.id}",
        "until": table.row.made + hall.days * DAY,
        "aids": page_of(table.game).aids,
        "amount": lambda most: "" if most is None else f"{most:.15g}",
        "amounts": lambda of: ", ".join(f"{name} {number(value)}" for name, value in of.items() if value is not None),
    }


def _change(table: Table, sent: Mapping[str, str]) -> None:
    """Does what a host asks for in a form. Raises AgonError."""
    if sent.get("do") == "on":
        if table.models:
            table.allow(table.row.budget | parse_budget_fields(sent))
        table.go_on()
    elif sent.get("do") == "pause":
        table.pause()
    elif sent.get("do") == "resume":
        table.resume()
    elif sent.get("do") == "extend":
        seconds = sent.get("seconds", "").strip()
        if not seconds.isdecimal() or len(seconds) > len(str(MOST_SECONDS)) or not 1 <= int(seconds) <= MOST_SECONDS:
            raise Refusal(f"More time: a whole number of 1 to {MOST_SECONDS:,} seconds.")
        table.extend(int(seconds))
    elif sent.get("do") == "tell":
        table.tell(sent.get("message", "").strip()[:LETTERS])
    elif sent.get("do") == "end":
        if sent.get("sure") != "yes":
            raise Refusal("Tick the box first: a match that is given up cannot be played on.")
        table.give_up()


routes = [*routes_of("/", lobby, "POST"), *routes_of("/host", host, "POST")]
