"""Transcripts to choose from: which files there are, which matches each holds, the one that an address asks for, and its rows."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon.errors import AgonError
from agon.games.html import label
from agon.paths import shown
from agon.turns import action_of, action_text, is_turns, read, typed

OFFERED = 200
"""Matches in the list at once; the search reaches all others."""
LISTED = ["match", "game", "variant", "repetition", "seat", "agent", "model"]


# --- what is picked


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


# --- files


def transcripts(folder: Path) -> dict[str, Path]:
    """The turns tables in a folder and below it, by name."""
    found = sorted(folder.rglob("*.parquet"))
    return {path.relative_to(folder).as_posix().removesuffix(".parquet"): path for path in found if is_turns(path)}


def listing(path: Path) -> pd.DataFrame:
    """The matches of a file, in its order, read again only when the file is another. Raises AgonError.

    Index: the match's id; game, variant, repetition, `who` sat there in words, and `sought`, the words by which it is found.
    """
    try:
        about = path.stat()
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be read: {error.strerror or error}") from None
    return _listing(path, about.st_mtime_ns, about.st_size)


@functools.lru_cache(maxsize=4)
def _listing(path: Path, changed: int, size: int) -> pd.DataFrame:
    table = read(path, LISTED).astype({"match": "string", "game": "string", "variant": "string"})
    seats = table.drop_duplicates(["match", "seat"]).sort_values("seat", kind="stable")
    named = {name: seats[name].astype("string").fillna("") for name in ("match", "agent", "model")}
    who = named["agent"] + (" (" + named["model"] + ")").where(named["model"] != "", "")
    found = table.drop_duplicates("match").set_index("match")[["game", "variant", "repetition"]]
    found["who"] = who.groupby(named["match"]).agg(" / ".join)
    found["sought"] = (found.index + " " + found.variant + " " + found.game + " " + found.who).str.lower()
    return found


def turns_of(path: Path, match: str) -> pd.DataFrame:
    """The rows of one match, in order, nothing else of the file being kept. Raises AgonError."""
    try:
        table = pq.read_table(path, filters=[("match", "==", match)], page_checksum_verification=True).to_pandas()
        turns = typed({str(name): table[name] for name in table})
    except (pya.ArrowException, OSError) as error:
        raise AgonError(f"{shown(path)} cannot be read ({str(error).splitlines()[0]})") from None
    except (TypeError, ValueError) as error:
        raise AgonError(f"{shown(path)} is not a turns table: {error}") from None
    if turns.empty:
        raise AgonError(f"there is no match {match!r} in {shown(path)}")
    plain = turns.action.map(
        lambda label: action_text(action_of(label)), na_action="ignore"
    )  # older tables quote words
    return turns.assign(action=plain).sort_values(["turn", "seat"], kind="stable").reset_index(drop=True)
