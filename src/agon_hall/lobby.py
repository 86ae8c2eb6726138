"""The hall, where tables are made and found, and the page of who made one: its links, its budget, its end."""

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
from agon.plan import PERSON
from agon_hall import Refused, forms
from agon_hall.access import opened
from agon_hall.new_table import budget_typed, new_table
from agon_hall.table import Table
from agon_hall.tables import DAY, Hall
from agon_hall.web import by_script, live, posted, routes_of, safe, sent_on

SHOWN = 100
"""Tables that are listed."""
STANDS = {
    "waiting": "waiting for people to sit down",
    "playing": "being played",
    "over": "over",
    "stopped": "stopped",
    "closed": "given up",
}


# --- the lobby: all tables, and the form for another one


async def lobby(request: Request) -> Response:
    """All tables; a form makes another."""
    hall: Hall = request.app.state.hall
    once, said, entered = secrets.token_hex(8), "", dict[str, Any]()
    if request.method == "POST":
        sent = await posted(request)
        once = sent.get("once", "")
        pressed = forms.press(new_table, {}, sent)
        entered, said = pressed.entered, pressed.why
        if pressed.actions:
            try:
                made = _opened(hall, request.app.state.once, once, pressed.actions[0])
            except AgonError as error:
                said = str(error)
            else:
                return sent_on(f"/host?key={hall.keys.of('host', made)}")
    form = forms.draw(new_table, entered, "table", once=once)
    still = {"form": safe(form), "said": safe(alert(said) if said else "")}
    return live(request, "lobby.html", "Tables", partial(tables, hall), hall.watching, still, 422 if said else 200)


def _opened(hall: Hall, before: "OrderedDict[str, str]", once: str, wanted: Mapping[str, Any]) -> str:
    """The table that is wanted, made once however often the form is sent; its name. Raises AgonError."""
    if once not in before:
        before[once] = hall.open(**wanted).id
        while len(before) > 1000:
            before.popitem(last=False)
    return before[once]


def tables(hall: Hall) -> dict[str, Any]:
    """All tables, the newest first."""
    all_ = hall.store.tables()[::-1]
    rows = [(row, hall.store.people(row.id), hall.keys.of("host", row.id)) for row in all_[:SHOWN]]
    return {"rows": rows, "older": len(all_) - len(rows), "stands": STANDS, "person": PERSON}


# --- the page of who made a table


async def host(request: Request) -> Response:
    """A table as whoever made it sees it: a link for every person, the budget and what is spent, going on and giving up."""
    hall: Hall = request.app.state.hall
    (table, _), said = opened(request, "host"), ""
    if request.method == "POST":
        try:
            _change(table, await posted(request))
        except AgonError as error:
            said = str(error)
        else:
            if not by_script(request):
                return sent_on(f"?{request.url.query}")
    draw = partial(hosted, hall, table, str(request.base_url).rstrip("/"))
    still = {"said": safe(alert(said) if said else "")}
    return live(request, "host.html", "Your table", draw, table.watching, still, 422 if said else 200)


def hosted(hall: Hall, table: Table, at: str) -> dict[str, Any]:
    """What the page of a table's host is filled in with; its links begin with `at`."""
    return {
        **{"table": table, "row": table.row, "people": table.store.people(table.id), "stands": STANDS},
        "seat_links": {seat: f"{at}/seat?key={hall.keys.of('seat', table.id, seat)}" for seat in table.people},
        "watch": f"{at}/watch?table={table.id}",
        "until": table.row.made + hall.days * DAY,
        "aids": page_of(table.game).aids,
        "amount": lambda most: "" if most is None else f"{most:.15g}",
        "amounts": lambda of: ", ".join(f"{name} {each:,.4g}" for name, each in of.items() if each is not None),
    }


def _change(table: Table, sent: Mapping[str, str]) -> None:
    """What a host wants. Raises AgonError."""
    if sent.get("do") == "on":
        if table.models:
            table.allow(table.row.budget | budget_typed(sent))
        table.go_on()
    elif sent.get("do") == "end":
        if sent.get("sure") != "yes":
            raise Refused("Tick the box first: a match that is given up cannot be played on.")
        table.give_up()


routes = [*routes_of("/", lobby, "POST"), *routes_of("/host", host, "POST")]
