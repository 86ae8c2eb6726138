"""Turns as plain values, match by match, and as JSON lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from agon import AgonError
from agon.turns import shown

Rows = list[dict[str, Any]]
"""Turns of one match as plain values; absent ones are None."""

OF_MATCH = ["experiment", "match", "game", "variant", "rules", "repetition", "config"]
OF_SEAT = ["seat", "agent", "model"]
JSON = ["legal", "action", "detail"]


def jsonl(turns: pd.DataFrame, folder: Path) -> int:
    """One file per match, named by its id; how many.

    The first line is the match with its seats, then comes a line per turn, then the seats' totals. JSON columns are
    values, what is absent is null. Raises AgonError for a folder that holds other matches, which a reader would mix up.
    """
    of_turn = [name for name in turns if name not in (*OF_MATCH, "agent", "model")]
    paths = {match: folder / f"{quote(str(match), safe='')}.jsonl" for match in turns.match.unique()}
    if others := set(folder.glob("*.jsonl")) - set(paths.values()):
        raise AgonError(
            f"{shown(folder)} holds {len(others):,} other matches: empty it, or name another folder with out="
        )
    try:
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
    known = {text: json.loads(text) for text in column.dropna().unique()}
    return [known.get(value) for value in values]


def seats(rows: Rows) -> dict[int, dict[str, Any]]:
    """A row of each seat, by seat."""
    return {row["seat"]: row for row in sorted(rows, key=lambda row: row["seat"])}


def totals(rows: Rows) -> dict[int, dict[str, Any]]:
    """Points and valid share of each seat, as in agon.turns.matches, by seat."""
    found = {}
    for seat in seats(rows):
        own = [row for row in rows if row["seat"] == seat]
        points, valid = sum(row["payoff"] for row in own), sum(row["valid"] for row in own) / len(own)
        found[seat] = {"seat": seat, "points": points, "valid": valid}
    return found
