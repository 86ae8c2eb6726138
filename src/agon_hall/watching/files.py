"""Transcripts to choose from: which files there are, which matches each holds, and the rows of one match."""

import functools
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon import AgonError
from agon.turns import action_of, action_text, is_turns, read, shown, typed

LISTED = ["match", "game", "variant", "repetition", "seat", "agent", "model"]


def transcripts(folder: Path) -> dict[str, Path]:
    """The turns tables in a folder and below it, by name."""
    found = sorted(folder.rglob("*.parquet"))
    return {path.relative_to(folder).as_posix().removesuffix(".parquet"): path for path in found if is_turns(path)}


@dataclass(frozen=True)
class Listing:
    """The matches of one file, in its order."""

    matches: pd.DataFrame
    """Index: the match's id; game, variant, repetition, and `who` in words."""
    agents: pd.DataFrame
    """A row per match, a column per seat; empty where there is no such seat."""
    models: pd.DataFrame
    """The same; empty where no model was asked."""

    def found(
        self, game: str = "", agent: str = "", model: str = "", search: str = "", public: bool = False
    ) -> pd.DataFrame:
        """Those of `matches` that fit: all that is given, every word of `search` somewhere in id, variant or players.

        `public`: ids alone are searched, for variants and players may tell who has which role.
        """
        fits = pd.Series(True, index=self.matches.index)
        if game:
            fits &= self.matches.game == game
        if agent:
            fits &= (self.agents == agent).any(axis=1)
        if model:
            fits &= (self.models == model).any(axis=1)
        for word in search.lower().split():
            texts = self.matches.index.str.lower() if public else pd.Index(self.matches.sought)
            fits &= texts.str.contains(word, regex=False)
        return self.matches[fits]


def listing(path: Path) -> Listing:
    """The matches of a file, read again only when the file is another. Raises AgonError."""
    try:
        about = path.stat()
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be read: {error.strerror or error}") from None
    return _listing(path, about.st_mtime_ns, about.st_size)


@functools.lru_cache(maxsize=4)
def _listing(path: Path, changed: int, size: int) -> Listing:
    seats = read(path, LISTED).drop_duplicates(["match", "seat"])
    own = seats.drop_duplicates("match").set_index("match")[["game", "variant", "repetition"]]
    own = own.assign(game=own.game.astype(str), variant=own.variant.astype(str))
    own.index = own.index.astype(str)
    table = seats.assign(match=seats.match.astype(str))
    agents, models = (
        table.assign(value=table[name].astype(object).where(table[name].notna(), ""))
        .pivot(index="match", columns="seat", values="value")
        .reindex(own.index)
        .fillna("")
        for name in ("agent", "model")
    )
    each = [agents[seat] + (" (" + models[seat] + ")").where(models[seat] != "", "") for seat in agents]
    who = each[0].str.cat([(" / " + one).where(agents[seat] != "", "") for seat, one in enumerate(each) if seat])
    sought = (own.index + " " + own.variant + " " + own.game + " " + who).str.lower()
    return Listing(own.assign(who=who, sought=sought), agents, models)


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
