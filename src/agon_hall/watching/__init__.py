"""Stepping through recorded matches, for researchers, who see everything.

An address says it all: which file and match, which step, and which seat's view. `page_context` turns it into what the
template shows.
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
from agon_hall.watching.choice import choose, transcripts, turns_of
from agon_hall.watching.match import MatchRecord
from agon_hall.watching.view import place_context

FILTERS = ("game", "search", "full")
"""Parts of an address that stay when one goes to another step."""


def page_context(query: Mapping[str, str], folder: Path = ROOT / "transcripts") -> dict[str, Any]:
    """The context of the page on the transcripts below `folder`, as plain data.

    `query`: `file`, `match`, `step` (from 1), `seat` (from 0, or public), `full` (long texts unfolded), and what
    agon_hall.watching.choice reads. Parts that cannot be had are left out, and the page says so.
    """
    files = transcripts(folder)
    lists = choose(files, query)
    context: dict[str, Any] = {"lists": lists, "why": lists.why, "place": None}
    if not lists.match:
        return context
    path = files[lists.file]
    try:
        status = path.stat()
        record = _record(path, lists.match, status.st_mtime_ns, status.st_size)
    except (AgonError, OSError) as error:
        return context | {"why": str(error)}
    last = record.places
    same = query.get("match", lists.match) == lists.match == query.get("of", lists.match)
    step = min(last, max(1, _parse_count(query.get("step", "") if same else "", 1)))
    seat = _parse_count(query.get("seat", "0"), PUBLIC)
    seat = seat if seat in range(len(record.names)) else PUBLIC
    here = {"file": lists.file, "match": lists.match, "seat": "public" if seat == PUBLIC else str(seat)}
    here |= {name: query[name] for name in FILTERS if query.get(name)}
    targets = {"First": 1, "Back": max(1, step - 1), "Next": min(last, step + 1), "Last": last}
    links = {name: "?" + urlencode(here | {"step": target}) for name, target in targets.items()}
    place = place_context(record, step - 1, seat)
    return context | {"place": place, "here": here, "step": step, "last": last, "links_to": links}


def _parse_count(typed: str, default: int) -> int:
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 10 else default


@functools.lru_cache(maxsize=8)
def _record(path: Path, match: str, modified: int, size: int) -> MatchRecord:
    """The record of a match. It is read again when its file has changed."""
    return MatchRecord(turns_of(path, match), path)


def _page(request: Request) -> Response:
    """The page. Starlette calls this in a thread, because reading and replaying a match takes time."""
    return web.render(request, "transcripts.html", title="Transcripts", **page_context(dict(request.query_params)))


routes = [Route("/transcripts", _page)]
