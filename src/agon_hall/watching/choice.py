"""The transcripts, the matches in each, and the match that an address names."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon.errors import AgonError
from agon.games.html import label
from agon.paths import display_path
from agon.turns import action_of, action_text, is_turns, read, typed

MOST_MATCHES = 200
"""The most matches in the list. The search reaches all others."""
COLUMNS = ["match", "game", "variant", "repetition", "seat", "agent", "model"]


# --- the choice


class Lists(NamedTuple):
    """The options of the page, and the choice among them."""

    files: list[str]
    file: str = ""
    games: Sequence[str] = ()
    game: str = ""
    """Empty for all games."""
    search: str = ""
    matches: Sequence[tuple[str, str]] = ()
    """Ids and labels: at most MOST_MATCHES, and the chosen one."""
    match: str = ""
    matching: int = 0
    """The number of matches that the filters leave."""
    why: str = ""
    """The part of the address that does not exist; empty if all does."""


def choose(files: Mapping[str, Path], query: Mapping[str, str]) -> Lists:
    """The choice by `file`, `match` (an id), `game` and `search` of an address; `was` is the previous file.

    Without `file`, the file that has the match is chosen.
    """
    match = query.get("match", "")
    file = query.get("file") or next((name for name, path in files.items() if match and _has_match(path, match)), "")
    why = "" if not file or file in files else f"There is no transcript {label(file)!r}."
    file = file if file in files else next(iter(files), "")
    is_new_file = query.get("was", file) != file
    if match and not is_new_file and not why and not (file and _has_match(files[file], match)):
        why = f"There is no match {label(match)!r}."
    if not file:
        return Lists([], why=why or "There are no transcripts here yet: play some matches first.")
    try:
        matches_table = listing(files[file])
    except AgonError as error:
        return Lists(list(files), file, why=str(error))
    games = sorted(set(matches_table.game))
    game, search = ("", "") if is_new_file else (query.get("game", ""), query.get("search", ""))
    game = game if game in games else ""
    candidates = matches_table[(matches_table.game == game) | (game == "")]
    for word in search.lower().split():
        candidates = candidates[candidates.sought.str.contains(word, regex=False)]
    rows = candidates[:MOST_MATCHES]
    if match in candidates.index and match not in rows.index:
        rows = candidates.loc[[match, *rows.index]]
    matches = [(str(row.Index), _label(row)) for row in rows.itertuples()]
    match = match if match in candidates.index else next((id_ for id_, _ in matches), "")
    return Lists(
        list(files),
        file,
        games,
        game,
        search,
        matches,
        match,
        len(candidates),
        why or ("" if match else "No match fits."),
    )


def _label(row: Any) -> str:
    """A match in a line, with its id, so that no two are the same."""
    repetition = f" #{row.repetition + 1}" if row.repetition else ""
    return f"{label(row.game)} {label(row.variant)}: {label(row.who, 120)}{repetition} · {label(row.Index)}"


def _has_match(path: Path, match: str) -> bool:
    try:
        return match in listing(path).index
    except AgonError:
        return False


# --- files


def transcripts(folder: Path) -> dict[str, Path]:
    """The turns tables in a folder and below it, by name."""
    paths = sorted(folder.rglob("*.parquet"))
    return {path.relative_to(folder).as_posix().removesuffix(".parquet"): path for path in paths if is_turns(path)}


def listing(path: Path) -> pd.DataFrame:
    """The matches of a file, in its order. The file is read again only when it has changed. Raises AgonError.

    The index is the id of the match. Columns: game, variant, repetition, `who` (its players in words), and `sought`
    (the words that the search looks through).
    """
    try:
        status = path.stat()
    except OSError as error:
        raise AgonError(f"{display_path(path)} cannot be read: {error.strerror or error}") from None
    return _listing(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4)
def _listing(path: Path, modified: int, size: int) -> pd.DataFrame:
    table = read(path, COLUMNS).astype({"match": "string", "game": "string", "variant": "string"})
    seats = table.drop_duplicates(["match", "seat"]).sort_values("seat", kind="stable")
    names = {name: seats[name].astype("string").fillna("") for name in ("match", "agent", "model")}
    players = names["agent"] + (" (" + names["model"] + ")").where(names["model"] != "", "")
    matches = table.drop_duplicates("match").set_index("match")[["game", "variant", "repetition"]]
    matches["who"] = players.groupby(names["match"]).agg(" / ".join)
    matches["sought"] = (matches.index + " " + matches.variant + " " + matches.game + " " + matches.who).str.lower()
    return matches


def turns_of(path: Path, match: str) -> pd.DataFrame:
    """The rows of one match, in order. Nothing else of the file is kept in memory. Raises AgonError."""
    try:
        table = pq.read_table(path, filters=[("match", "==", match)], page_checksum_verification=True).to_pandas()
        turns = typed({str(name): table[name] for name in table})
    except (pya.ArrowException, OSError) as error:
        raise AgonError(f"{display_path(path)} cannot be read ({str(error).splitlines()[0]})") from None
    except (TypeError, ValueError, LookupError) as error:
        raise AgonError(f"{display_path(path)} is not a turns table: {error}") from None
    if turns.empty:
        raise AgonError(f"there is no match {match!r} in {display_path(path)}")
    actions = turns.action.map(
        lambda label: action_text(action_of(label)), na_action="ignore"
    )  # older tables quote words
    return turns.assign(action=actions).sort_values(["turn", "seat"], kind="stable").reset_index(drop=True)
