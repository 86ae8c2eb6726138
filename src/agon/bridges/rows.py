"""Turns as JSON lines, match by match; and the prompts of a recording."""

import json
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
import pandas as pd

from agon.errors import AgonError, count
from agon.models import recording
from agon.paths import display_path
from agon.turns import CUT, action_of

Rows = list[dict[str, Any]]
"""Turns of one match as plain values; absent ones are None."""

MATCH_COLUMNS = ["experiment", "match", "game", "variant", "rules", "repetition", "config"]
SEAT_COLUMNS = ["seat", "agent", "model"]
JSON_COLUMNS = ["legal", "action", "detail"]
AT_ONCE = 1000
"""Matches whose turns are plain values at a time."""


def jsonl(turns: pd.DataFrame, folder: Path, replace: bool = False) -> int:
    """One file per match, named by its id; how many.

    The first line is the match with its seats. Then comes a line per turn, and at last the seats' totals. JSON columns are
    values; absent values are null. Older exports of the same experiments are deleted with `replace`. Raises AgonError where
    the folder holds other matches, which a reader would mix up.
    """
    turn_columns = [name for name in turns if name not in (*MATCH_COLUMNS, "agent", "model")]
    paths = {match: folder / f"{quote(str(match), safe='')}.jsonl" for match in turns.match.unique()}
    others = set(folder.glob("*.jsonl")) - set(paths.values())
    older = {path for path in others if _experiment_of(path) in set(turns.experiment)}
    if others - older or (older and not replace):
        fault = f"{display_path(folder)} holds {count(len(others), 'other match')}"
        remedy = "empty it" if others - older else "--force deletes them"
        raise AgonError(f"{fault}: {remedy}, or name another folder with --out")
    try:
        for path in older:
            path.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        for rows in by_match(turns):
            by_seat = {row["seat"]: row for row in rows}
            players = [{name: by_seat[seat][name] for name in SEAT_COLUMNS} for seat in sorted(by_seat)]
            head = {name: rows[0][name] for name in MATCH_COLUMNS} | {"seats": players}
            lines = [head, *({name: row[name] for name in turn_columns} for row in rows), {"totals": totals(rows)}]
            text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
            paths[rows[0]["match"]].write_text(text, encoding="utf-8")
    except OSError as error:
        raise AgonError(f"{display_path(folder)} cannot be written: {error.strerror or error}") from None
    return len(paths)


def _experiment_of(path: Path) -> str | None:
    """The experiment of an exported match; None for any other file."""
    try:
        with path.open(encoding="utf-8") as lines:
            head = json.loads(lines.readline(1_000_000))
        return str(head["experiment"])
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def by_match(turns: pd.DataFrame) -> Iterator[Rows]:
    """The rows of each match, in the table's order. Plain values take much memory, so only some matches have them at a time."""
    groups = turns.reset_index(drop=True).groupby("match", observed=True).indices.values()
    in_order = sorted(groups, key=lambda group: group[0])
    for start in range(0, len(in_order), AT_ONCE):
        some = in_order[start : start + AT_ONCE]
        part = turns.iloc[np.concatenate(some)]
        columns = {str(name): _values(part[name]) for name in part}
        for first, end in pairwise(accumulate(map(len, some), initial=0)):
            yield [{name: values[row] for name, values in columns.items()} for row in range(first, end)]


def _values(column: pd.Series) -> list[Any]:
    """A column as plain values."""
    values = column.astype(object).where(column.notna(), None).tolist()
    if column.name not in JSON_COLUMNS:
        return values
    decode = action_of if column.name == "action" else json.loads
    decoded = {text: decode(text) for text in column.dropna().unique()}
    return [decoded.get(value) for value in values]


def totals(rows: Rows) -> list[dict[str, Any]]:
    """By seat: points, and the shares of valid and of cut-off turns, as in agon.turns.matches."""
    table = []
    for seat in sorted({row["seat"] for row in rows}):
        seat_rows = [row for row in rows if row["seat"] == seat]
        points = sum(row["payoff"] for row in seat_rows)
        valid = sum(row["valid"] for row in seat_rows) / len(seat_rows)
        cut = sum(row["ended"] in CUT for row in seat_rows) / len(seat_rows)
        table.append({"seat": seat, "points": points, "valid": valid, "cut_off": cut})
    return table


# ---- recorded prompts ----


class Line(recording.Line):
    """A line of a recording, with the keys from which a prompt is put together."""

    after: str = ""
    role: str = ""
    asked: str = ""


class Prompts:
    """The messages of a recording, from which the prompt of every exchange is put together."""

    def __init__(self, folder: Path) -> None:
        self.messages: dict[str, Line] = {}
        self._asked: dict[str, str] = {}
        """Exchange -> the last message of its prompt."""
        if not (folder / recording.FILE).exists():
            return
        decode = msgspec.json.Decoder(Line).decode
        with (folder / recording.FILE).open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                if not raw.endswith(b"\n"):  # torn by a crash
                    break
                try:
                    line = decode(raw)
                except msgspec.DecodeError as error:
                    raise AgonError(
                        f"{display_path(folder / recording.FILE)} is damaged in line {number} ({error}): restore it (dvc checkout)"
                    ) from None
                if line.message:
                    self.messages[line.message] = line
                elif line.exchange:
                    self._asked[line.exchange] = line.asked

    def prompt(self, exchange: str) -> list[Line]:
        """Every message before the answer of an exchange; empty for an unknown one. Raises AgonError when a message is lost."""
        return self.conversation(self._asked.get(exchange, ""))

    def conversation(self, message: str) -> list[Line]:
        """A message and those before it, the first one first. Raises AgonError when one is lost."""
        lines: list[Line] = []
        while message:
            if message not in self.messages:
                raise AgonError(f"the recording lacks the message {message}: restore it (dvc checkout)")
            lines.append(self.messages[message])
            message = lines[-1].after
        return lines[::-1]
