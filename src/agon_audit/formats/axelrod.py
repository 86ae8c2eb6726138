"""Interactions that the library Axelrod writes: a row for each player of a match, with its actions as one word."""

from pathlib import Path

import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon_audit.formats.tables import read_csv
from agon_audit.mapping import Mapping, as_mapping

MATCH, PLAYER, ACTIONS, SCORE = "Interaction index", "Player name", "Actions", "Score"


def read(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A row for each round and seat. `line`: the line of the player's row. A seat is the place of the row in its match."""
    head = pd.read_csv(path, nrows=0).columns
    columns = {"match": [MATCH], "player": PLAYER, "action": ACTIONS} | ({"final": SCORE} if SCORE in head else {})
    rows = read_csv(path, as_mapping({"format": "csv"} | columns, "Axelrod"))
    if rows[ACTIONS].isna().any():
        raise AgonError(f"line {rows.line[rows[ACTIONS].isna()].iloc[0]}: there are no actions")
    lengths = rows[ACTIONS].str.len().to_numpy()
    place = np.repeat(np.arange(len(rows)), lengths)
    start = np.repeat(lengths.cumsum() - lengths, lengths)
    return pd.DataFrame(
        {
            "line": rows.line.to_numpy()[place],
            "match": rows[MATCH].to_numpy()[place],
            "round": np.arange(len(place)) - start + 1,
            "seat": rows.groupby(MATCH, sort=False).cumcount().to_numpy()[place],
            "player": rows[PLAYER].to_numpy()[place],
            "action": list("".join(rows[ACTIONS])),
            "final": rows[SCORE].to_numpy()[place] if SCORE in rows else None,
        }
    )
