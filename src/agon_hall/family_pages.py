"""The pages of all families in conf/game: those of matches, and desks, which people open by personal links."""

from collections.abc import Mapping
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Template
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agon.conf import CONF, file_of, names
from agon.errors import AgonError
from agon.games.pages import Desk, FamilyPage, page_of
from agon.registry import locate
from agon_hall.web import NoPage, read_form, redirect, render, templates


@cache
def family_pages() -> dict[str, FamilyPage]:
    """Family -> its page, of all games in conf/game."""
    all_settings = [file_of("game", file, CONF) for file in names("game")]
    return {
        str(settings["name"]): page_of(locate(settings["_target_"])) for settings in all_settings if "name" in settings
    }


def desks(folder: Path) -> dict[str, Desk]:
    """The desks of all families: name -> desk. A desk is a page outside matches; it keeps its data in `folder`."""
    return {name: desk for page in family_pages().values() for name, desk in page.desks(folder).items()}


def routes(desks: Mapping[str, Desk]) -> list[Route]:
    """One address for each desk."""
    return [Route(f"/{name}", partial(_serve, name, desk), methods=["GET", "POST"]) for name, desk in desks.items()]


async def _serve(name: str, desk: Desk, request: Request) -> Response:
    """The page of the person whose key is in the address. The experimenter sees everybody's progress instead."""
    key = request.query_params.get("key", "")
    try:
        who = desk.owner(key) if key else ""
        if not who:
            return _unknown(name, desk, request, key)
        if request.method == "POST":
            context = desk.submit(who, dict(await read_form(request)))
            if "to" in context:
                return redirect(f"/{name}?{urlencode({'key': key, **context['to']})}")
        else:
            context = desk.context(who, dict(request.query_params))
    except AgonError as error:
        raise NoPage("This cannot be done", str(error), HTTPStatus.CONFLICT) from None
    status = HTTPStatus.UNPROCESSABLE_ENTITY if context.get("faults") or context.get("why_not") else HTTPStatus.OK
    return render(
        request,
        _template(desk.template),
        status,
        researcher=False,
        link=lambda query: f"/{name}?{urlencode({'key': key, **query})}",
        **context,
    )


@cache
def _template(path: Path) -> Template:
    return templates.from_string(path.read_text(encoding="utf-8"))


def _unknown(name: str, desk: Desk, request: Request, key: str) -> Response:
    """The page without a valid key: everybody's progress for the experimenter, a refusal for all others."""
    if not key:
        if request.scope.get("researcher"):
            return render(request, "desk.html", title=name.capitalize(), people=desk.progress())
        return redirect(f"/login?next=/{name}")
    why = "This link is not valid, or not any more. Ask whoever gave it to you for a new one."
    raise NoPage("Nothing to see here", why, HTTPStatus.FORBIDDEN, f"/{name} with a link that is not valid")
