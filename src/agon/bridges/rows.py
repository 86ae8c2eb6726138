"""What was played as plain values: turns, match by match, also as JSON lines, and the conversations that were recorded with them."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pandas as pd

from agon.agents.llm import NO_ANSWER
from agon.errors import AgonError, count
from agon.models import recording
from agon.models.base import message
from agon.paths import shown
from agon.turns import CUT, action_of

Rows = list[dict[str, Any]]
"""Turns of one match as plain values; absent ones are None."""

OF_MATCH = ["experiment", "match", "game", "variant", "rules", "repetition", "config"]
OF_SEAT = ["seat", "agent", "model"]
JSON = ["legal", "action", "detail"]


def jsonl(turns: pd.DataFrame, folder: Path, replace: bool = False) -> int:
    """One file per match, named by its id; how many.

    The first line is the match with its seats, then comes a line per turn, then the seats' totals. JSON columns are
    values, what is absent is null. Raises AgonError for a folder that holds other matches, which a reader would mix up; `replace`:
    those that were exported of the same experiments are deleted.
    """
    of_turn = [name for name in turns if name not in (*OF_MATCH, "agent", "model")]
    paths = {match: folder / f"{quote(str(match), safe='')}.jsonl" for match in turns.match.unique()}
    others, known = set(folder.glob("*.jsonl")) - set(paths.values()), set(turns.experiment)
    older = {path for path in others if _experiment_of(path) in known}
    if others - older or (older and not replace):
        what = f"{shown(folder)} holds {count(len(others), 'other match')}"
        ways = "empty it" if others - older else "--force deletes them"
        raise AgonError(f"{what}: {ways}, or name another folder with --out")
    try:
        for path in older:
            path.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        for rows in by_match(turns):
            players = [{name: row[name] for name in OF_SEAT} for row in seats(rows).values()]
            head = {name: rows[0][name] for name in OF_MATCH} | {"seats": players}
            lines = [
                head,
                *({name: row[name] for name in of_turn} for row in rows),
                {"totals": [*totals(rows).values()]},
            ]
            text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
            paths[rows[0]["match"]].write_text(text, encoding="utf-8")
    except OSError as error:
        raise AgonError(f"{shown(folder)} cannot be written: {error.strerror or error}") from None
    return len(paths)


def _experiment_of(path: Path) -> str | None:
    """Of which experiment a file has an exported match; None for any other file."""
    try:
        with path.open(encoding="utf-8") as lines:
            head = json.loads(lines.readline(1_000_000))
        return str(head["experiment"])
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def by_match(turns: pd.DataFrame) -> Iterator[Rows]:
    """The rows of each match, in the table's order."""
    columns = {str(name): _values(turns[name]) for name in turns}
    groups = turns.reset_index(drop=True).groupby("match", observed=True).indices.values()
    for index in sorted(groups, key=lambda group: group[0]):
        yield [{name: values[row] for name, values in columns.items()} for row in index]


def _values(column: pd.Series) -> list[Any]:
    values = column.astype(object).where(column.notna(), None).tolist()
    if column.name not in JSON:
        return values
    of_text = action_of if column.name == "action" else json.loads
    known = {text: of_text(text) for text in column.dropna().unique()}
    return [known.get(value) for value in values]


def seats(rows: Rows) -> dict[int, dict[str, Any]]:
    """A row of each seat, by seat."""
    return {row["seat"]: row for row in sorted(rows, key=lambda row: row["seat"])}


def totals(rows: Rows) -> dict[int, dict[str, Any]]:
    """Points, and the shares of valid and cut-off turns of each seat, as in agon.turns.matches, by seat."""
    found = {}
    for seat in seats(rows):
        own = [row for row in rows if row["seat"] == seat]
        points, valid = sum(row["payoff"] for row in own), sum(row["valid"] for row in own) / len(own)
        cut = sum(row["ended"] in CUT for row in own) / len(own)
        found[seat] = {"seat": seat, "points": points, "valid": valid, "cut_off": cut}
    return found


# ---- recorded conversations: agon.models.recording itself keeps only what a replay needs ----


class Line(recording.Line):
    """A line of a recording, with what a replay does not need."""

    after: str = ""
    role: str = ""
    asked: str = ""
    model: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    time: float = 0.0

    @property
    def sent(self) -> float:
        """When an exchange began, in seconds since 1970."""
        return self.time - self.seconds

    @property
    def answer(self) -> str:
        """Id of the message as which the conversation goes on with an exchange's answer."""
        return message("assistant", self.text or NO_ANSWER, self.asked).id


class Recorded:
    """A recording's messages by id, and its exchanges by match and seat, in the order in which they came."""

    def __init__(self, folder: Path | None) -> None:
        self.messages: dict[str, Line] = {}
        self._exchanges: dict[str, list[Line]] = defaultdict(list)
        self._asked: dict[str, str] = {}
        if folder is None or not (folder / recording.FILE).exists():
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
                        f"{shown(folder / recording.FILE)} is damaged in line {number} ({error}): restore it (dvc checkout)"
                    ) from None
                if line.message:
                    self.messages[line.message] = line
                elif line.exchange:
                    self._exchanges[line.sample.rpartition("/")[0]].append(line)
                    self._asked[line.exchange] = line.asked

    def exchanges(self, row: Mapping[str, Any]) -> list[Line]:
        """Those of a row's match and seat."""
        return self._exchanges.get(f"{row['match']}/{row['seat']}", [])

    def prompt(self, exchange: str) -> list[Line]:
        """Everything said before the answer of an exchange; empty where it is not there. Raises AgonError when some of it is lost."""
        return self.conversation(self._asked.get(exchange, ""))

    def conversation(self, message: str) -> list[Line]:
        """Everything said up to a message. Raises AgonError when some of it is lost."""
        found: list[Line] = []
        while message:
            if message not in self.messages:
                raise AgonError(f"the recording lacks the message {message}: restore it (dvc checkout)")
            found.append(self.messages[message])
            message = found[-1].after
        return found[::-1]
