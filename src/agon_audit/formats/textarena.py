"""Published traces of TextArena: a row for each player of a game, with observations and actions as JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from agon.errors import AgonError
from agon_audit.formats import tables
from agon_audit.mapping import Mapping, as_mapping

MATCH, GAME, PLAYER, SEAT = "game_id", "env_name", "model_name", "player_id"
COLUMNS = ["match", "condition", "player", "seat", "round", "action", "reply", "view", "final", "ended"]


def read(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A row for each action of a player. `line`: the line or row of the player. A round is the number of the player's own turn."""
    kind = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}.get(path.suffix.lower(), "parquet")
    reader = {"csv": tables.read_csv, "jsonl": tables.read_json_lines, "parquet": tables.read_parquet}[kind]
    columns = {
        "format": kind,
        "match": [MATCH],
        "condition": [GAME],
        "player": PLAYER,
        "seat": SEAT,
        "action": "observations",
        "final": "rewards",
        "ended": "status",
    }
    rows = [row for player in reader(path, as_mapping(columns, "TextArena")).itertuples() for row in _turns(player)]
    return tables.as_table(rows, COLUMNS)


def _turns(player: Any) -> Iterator[tuple[Any, ...]]:
    place = f"line {player.line}: "
    turns, rewards = (tables.load_json(str(text).encode(), place) for text in (player.observations, player.rewards))
    if not isinstance(turns, dict) or not isinstance(rewards, dict):
        raise AgonError(f"{place}observations and rewards must be names with values")
    same = player.line, getattr(player, MATCH), getattr(player, GAME), getattr(player, PLAYER), getattr(player, SEAT)
    final = rewards.get(str(getattr(player, SEAT)))
    for number, time in enumerate(sorted(turns), start=1):
        turn = turns[time]
        if not isinstance(turn, dict):
            raise AgonError(f"{place}a turn is no observation with an action")
        action = turn.get("action")
        yield (*same, number, action, action, turn.get("observation"), final, player.status)
