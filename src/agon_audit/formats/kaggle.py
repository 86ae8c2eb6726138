"""Replays of Kaggle's game environments, those of OpenSpiel's games among them: JSON with `steps[i][seat]`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from agon.errors import AgonError
from agon_audit.formats.tables import MOST_JSON_BYTES, as_table, load_json, require_size
from agon_audit.mapping import Mapping

COLUMNS = ["round", "seat", "player", "condition", "action", "submitted", "total", "final", "ended", "legal"]
NO_ACTION = -1
"""The submission of a player that did not act, or could not."""
CHANCE = -1
"""The seat of chance, in the history and in our rows (agon_audit.turns.CHANCE_SEAT)."""
FORFEIT = "forfeit"


def read(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A row for every action that was applied. `line`: the number of the step.

    Chance events that OpenSpiel's state has in its history are rows of seat -1. Rewards of a step are the points so far.
    """
    require_size(path, MOST_JSON_BYTES)
    replay = load_json(path.read_bytes())
    if not isinstance(replay, dict) or not isinstance(replay.get("steps"), list):
        raise AgonError("it is no replay: there is no list `steps`")
    if not replay["steps"]:
        raise AgonError("its list `steps` is empty: nobody played")
    return as_table(list(_rows(replay)), COLUMNS)


def _rows(replay: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    steps, names = replay["steps"], (replay.get("info") or {}).get("TeamNames") or []
    condition, history = _state_of(replay)
    finals = replay.get("rewards") or [entry.get("reward") for entry in steps[-1]]
    for number, step in enumerate(steps[1:], start=1):
        for seat, entry in enumerate(step):
            sent, applied, ended = _action_of(entry)
            if applied is None:
                continue
            while history and history[0][0] == CHANCE:
                yield (number, number, CHANCE, "chance", condition, history.pop(0)[1], *[None] * 5)
            if history:
                history.pop(0)
            legal = steps[number - 1][seat].get("observation", {}).get("legalActions")
            player = names[seat] if seat < len(names) else None
            scores = entry.get("reward"), finals[seat]
            yield (number, number, seat, player, condition, applied, sent, *scores, ended, legal or None)


def _action_of(entry: dict[str, Any]) -> tuple[Any, Any, str | None]:
    """The action that a seat sent in a step, the one that was applied, and whether it forfeited; None where it had
    nothing to do."""
    action, info = entry.get("action"), entry.get("info") or {}
    if not isinstance(action, dict):
        return action, action, None
    sent = action.get("submission")
    applied = info.get("actionApplied")
    if applied is None and sent not in (None, NO_ACTION):
        applied = sent
    forfeited = sent == NO_ACTION and (applied is not None or action.get("actionString") == "<illegal>")
    return sent, applied, FORFEIT if forfeited else None


def _state_of(replay: dict[str, Any]) -> tuple[str, list[tuple[int, str]]]:
    """The game in OpenSpiel's words, and the history (seat, action) of its last state; else the name of the environment."""
    settings = replay.get("configuration") or {}
    game = settings.get("openSpielGameString") or replay.get("name") or ""
    states = [entry.get("observation", {}).get("serializedGameAndState") or "" for entry in replay["steps"][-1]]
    text = str(states[0]) if states else ""
    if found := re.search(r"^\[Game\]\n(.+)$", text, re.MULTILINE):
        game = found[1]
    found = re.search(r"^history=([-\d:,]+)$", text, re.MULTILINE)
    moves = [move.split(":") for move in found[1].split(",")] if found else []
    return str(game).replace("_proxy(", "(", 1), [(int(seat), action) for seat, action in moves]
