"""Matches that are the same although chance was to make them differ."""

from collections.abc import Sequence

import pandas as pd

from agon_audit.checks.base import Case, Found, check, skip, where
from agon_audit.turns import Games

NO_CHANCE = "the mapping does not say that chance makes matches differ"


@check(
    "transcripts",
    "matches that are the same although chance takes part",
    "a fixed seed, temperature 0, or a file that was copied",
)
def transcripts(case: Case) -> Found:
    """Matches of one condition and the same players with the same actions and replies in all rounds."""
    if not case.games.mapping.chance:
        return skip(NO_CHANCE)
    hashes = match_hashes(case.games, ["condition", "player", "reply"])
    first = {match: case.transcripts.setdefault(value, match) for match, value in hashes.items()}
    rows = case.games.rows
    other = rows.match.astype("str").map(first)
    mask = ~rows.duplicated("match") & other.ne(rows.match.astype("str"))
    return where(case, mask, len(hashes), "it is the same as {other}", other=other)


def match_hashes(games: Games, columns: Sequence[str]) -> pd.Series:
    """Match -> a number for its rounds, seats, actions and points, and these columns where they are recorded."""
    rows = games.rows
    names = ["round", "seat", *(name for name in ("action", "points", *columns) if name in rows)]
    texts = {name: "str" for name in names if isinstance(rows[name].dtype, pd.CategoricalDtype)}
    hashes = pd.util.hash_pandas_object(rows[names].astype(texts), index=False)
    return hashes.groupby(rows.match.astype("str").to_numpy(), sort=False).sum()
