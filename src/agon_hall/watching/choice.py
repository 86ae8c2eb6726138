"""Picking a match from what an address asks for: a transcript, a game, a search, and a list of what fits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from agon import AgonError
from agon.games.html import label
from agon_hall.watching.files import listing

OFFERED = 200
"""Matches in the list at once; the search reaches all others."""


class Lists(NamedTuple):
    """What may be chosen from, and what is picked of it."""

    files: list[str]
    file: str = ""
    games: Sequence[str] = ()
    game: str = ""
    """Empty for any."""
    search: str = ""
    matches: Sequence[tuple[str, str]] = ()
    """Id, and the match in a line; at most OFFERED, and the picked one."""
    match: str = ""
    found: int = 0
    """How many matches fit."""
    why: str = ""
    """What of the address cannot be had; empty where all can."""


def picked(files: Mapping[str, Path], asked: Mapping[str, str], public: bool) -> Lists:
    """What an address asks for: `file`, `match` (an id), `game`, `search`; `was`: the file that was chosen from before.

    The public may look for games and ids alone, for players and variants tell roles. Without a file it is that which has the match.
    """
    match = asked.get("match", "")
    file = asked.get("file") or next((name for name, path in files.items() if match and _holds(path, match)), "")
    why = "" if not file or file in files else f"There is no transcript {label(file)!r}."
    file = file if file in files else next(iter(files), "")
    anew = asked.get("was", file) != file
    if match and not anew and not why and not (file and _holds(files[file], match)):
        why = f"There is no match {label(match)!r}."
    if not file:
        return Lists([], why=why or "There are no transcripts here yet: play some matches first.")
    try:
        all_ = listing(files[file])
    except AgonError as error:
        return Lists(list(files), file, why="This transcript cannot be read." if public else str(error))
    games = sorted(set(all_.game))
    game, search = ("", "") if anew else (asked.get("game", ""), asked.get("search", ""))
    game = game if game in games else ""
    fits = all_[(all_.game == game) | (game == "")]
    for word in search.lower().split():
        sought = pd.Series(fits.index.str.lower(), fits.index) if public else fits.sought
        fits = fits[sought.str.contains(word, regex=False)]
    offered = fits[:OFFERED]
    if match in fits.index and match not in offered.index:
        offered = fits.loc[[match, *offered.index]]
    matches = [(str(row.Index), _label(row, public)) for row in offered.itertuples()]
    match = match if match in fits.index else next((id_ for id_, _ in matches), "")
    return Lists(
        list(files), file, games, game, search, matches, match, len(fits), why or ("" if match else "No match fits.")
    )


def _label(row: Any, public: bool) -> str:
    """A match in a line; its id makes it one of a kind."""
    again = f" #{row.repetition + 1}" if row.repetition else ""
    who = "" if public else f" {label(row.variant)}: {label(row.who, 120)}{again} ·"
    return f"{label(row.game)}{who} {label(row.Index)}"


def _holds(path: Path, match: str) -> bool:
    try:
        return match in listing(path).index
    except AgonError:
        return False
