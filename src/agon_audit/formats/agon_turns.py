"""Turns of agon itself (agon.turns.COLUMNS), and any table that was exported from them."""

from pathlib import Path

import pandas as pd

from agon.turns import decoded
from agon.turns import read as read_turns
from agon_audit.mapping import Mapping


def read(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A row for each turn. `line`: the number of the row, from 1. Rounds are the turns of the match, which count its steps."""
    turns = read_turns(path)
    return pd.DataFrame(
        {
            "line": range(1, len(turns) + 1),
            "match": turns.match.astype("str"),
            "condition": turns.game.astype("str") + "/" + turns.variant.astype("str"),
            "round": turns.turn,
            "seat": turns.seat,
            "player": turns.agent.astype("str")
            .str.cat(turns.model.astype("str"), "@")
            .fillna(turns.agent.astype("str")),
            "action": decoded(turns.action).astype("str"),
            "points": turns.payoff,
            "reply": turns.reply,
            "ended": turns.ended.astype("str"),
        }
    )
