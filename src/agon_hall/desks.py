"""Pages that families of games have of their own, outside matches: each for people who were given a link, and nobody else."""

from collections.abc import Mapping
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Template
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agon import AgonError
from agon.games.pages import Desk
from agon_hall.web import NoPage, posted, render, sent_on, templates


def routes(desks: Mapping[str, Desk]) -> list[Route]:
    """One address for each."""
    return [Route(f"/{name}", partial(_serve, name, desk), methods=["GET", "POST"]) for name, desk in desks.items()]


async def _serve(name: str, desk: Desk, request: Request) -> Response:
    """The page of whoever has the key in the address; for the experimenter, how far everybody is."""
    key = request.query_params.get("key", "")
    try:
        who = desk.opened(key) if key else ""
        if not who:
            return _unknown(name, desk, request, key)
        if request.method == "POST":
            made = desk.sent(who, {field: values[0] for field, values in (await posted(request)).items()})
            if "to" in made:
                return sent_on(f"/{name}?{urlencode({'key': key, **made['to']})}")
        else:
            made = desk.shown(who, dict(request.query_params))
    except AgonError as error:
        raise NoPage("This cannot be done", str(error), HTTPStatus.CONFLICT) from None
    status = HTTPStatus.UNPROCESSABLE_ENTITY if made.get("faults") or made.get("why_not") else HTTPStatus.OK
    return render(
        request,
        _template(desk.template),
        status,
        researcher=False,
        link=lambda asked: f"/{name}?{urlencode({'key': key, **asked})}",
        **made,
    )


@cache
def _template(path: Path) -> Template:
    return templates.from_string(path.read_text(encoding="utf-8"))


def _unknown(name: str, desk: Desk, request: Request, key: str) -> Response:
    """Without a link: for the experimenter, how far everybody is; all others need one."""
    if not key:
        if request.scope.get("researcher"):
            return render(request, "desk.html", title=name.capitalize(), people=desk.progress())
        return sent_on(f"/login?next=/{name}")
    why = "This link is not valid, or not any more. Ask whoever gave it to you for a new one."
    raise NoPage("Nothing to see here", why, HTTPStatus.FORBIDDEN, f"/{name} with a link that is not valid")
