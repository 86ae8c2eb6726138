"""Transcripts to choose from: which files there are, which matches each holds, and the rows of one match."""

import functools
from pathlib import Path

import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon import AgonError, shown
from agon.turns import action_of, action_text, is_turns, read, typed

LISTED = ["match", "game", "variant", "repetition", "seat", "agent", "model"]


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
