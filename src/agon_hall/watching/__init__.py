"""Stepping through recorded matches: as a researcher, who sees everything, or as the public, which sees what anybody may.

An address says it all: which file and match, which step, whose eyes. `shown` makes of it what the template fills in.
"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agon.errors import AgonError
from agon.games.base import PUBLIC
from agon.paths import ROOT
from agon_hall import web
from agon_hall.watching.choice import picked, transcripts, turns_of
from agon_hall.watching.match import Watched
from agon_hall.watching.view import published, researched

KEPT = ("game", "search", "full")
"""What of an address stays when one goes to another step."""


def shown(asked: Mapping[str, str], public: bool, folder: Path = ROOT / "transcripts") -> dict[str, Any]:
    """What a page shows of the transcripts below `folder`, as plain data. `public`: nothing but what anybody may know by then.

    `asked`: `file`, `match`, `step` (from 1; of the public how many facts are known, from 0), `seat` (from 0, or public), `full`
    (long texts unfolded), and what agon_hall.watching.choice reads; whatever of it cannot be had is left out, and said.
    """
    files = transcripts(folder)
    lists = picked(files, asked, public)
    made: dict[str, Any] = {"public": public, "lists": lists, "why": lists.why, "place": None}
    if not lists.match:
        return made
    path = files[lists.file]
    try:
        about = path.stat()
        watched = _watched(path, lists.match, about.st_mtime_ns, about.st_size)
        if public and watched.replay is None:
            raise AgonError("Of this match nothing can be shown in public: its game cannot be played again here.")
    except (AgonError, OSError) as error:
        said = str(error) if not public or str(error).startswith("Of this") else "This match cannot be read."
        return made | {"why": said}
    first, last = (0, len(watched.public.views) - 1) if public else (1, watched.places)
    same = asked.get("match", lists.match) == lists.match == asked.get("of", lists.match)
    step = min(last, max(first, _count(asked.get("step", "") if same else "", first)))
    seat = _count(asked.get("seat", "0"), PUBLIC)
    seat = seat if seat in range(len(watched.named)) else PUBLIC
    place = published(watched, step) if public else researched(watched, step - 1, seat)
    at = {"file": lists.file, "match": lists.match} | (
        {} if public else {"seat": "public" if seat == PUBLIC else str(seat)}
    )
    at |= {name: asked[name] for name in KEPT if asked.get(name)}
    to = {"First": first, "Back": max(first, step - 1), "Next": min(last, step + 1), "Last": last}
    links = {name: "?" + urlencode(at | {"step": where}) for name, where in to.items()}
    return made | {"place": place, "here": at, "step": step, "first": first, "last": last, "goes": links}


def _count(typed: str, else_: int) -> int:
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 10 else else_


@functools.lru_cache(maxsize=8)
def _watched(path: Path, match: str, changed: int, size: int) -> Watched:
    """A match, ready to be looked at; read again when its file is another."""
    return Watched(turns_of(path, match), path)


def _page(public: bool, request: Request) -> Response:
    """Made in a thread of its own: to read and replay a match takes its time."""
    made = shown(dict(request.query_params), public)
    return web.render(request, "transcripts.html", title="As anybody saw it" if public else "Transcripts", **made)


routes = [
    Route("/transcripts", functools.partial(_page, False)),
    Route("/public", functools.partial(_page, True)),
]
