"""A first mapping, guessed from the names of columns. Whoever uses it must read it: a name is no proof of a meaning."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet
from msgspec.structs import replace

from agon.errors import AgonError
from agon_audit.formats import ENDINGS, READERS, find_files
from agon_audit.formats.tables import columns_of, load_json, reading, require_size, rows_in
from agon_audit.mapping import Mapping, as_mapping

LOOKED = 200_000
"""So many rows of a file are searched for the columns that name a match."""
MANY = 0.25
"""Where a larger share of rows repeats a round, the columns that name a match are too few."""
SMALL = 2**26
"""JSON of more bytes is not looked into."""
NAMES = {
    "match": r"(match|game|episode|interaction|session|pair)_?(id|number|no|index)?",
    "round": r"(round|turn|step|period|trial)_?(id|number|no|index)?",
    "seat": r"seat|player_?(id|index|number)",
    "condition": r"condition|treatment|variant|game_?name|env(_?name)?|prompt",
    "order": r"(option|choice)s?_?order|order",
    "player": r"player|agent|model|(player|agent|model)_?name|strategy",
    "action": r"action|answer|choice|move|decision",
    "points": r"points?|payoff|reward|earnings?",
    "total": r"totals?|cumulative|(points|payoff)_?total",
    "final": r"final(_?(score|points|payoff))?|score",
    "result": r"result|winner|won|outcome",
    "reply": r"reply|response|output|raw|completion|message",
    "ended": r"ended|(finish|stop)_?reason|status",
    "options": r"(choice_?)?option",
}
"""Field -> names of columns, without the number of a seat."""
LISTS = "match", "condition", "options"
NEEDED = "match", "round", "action", "points"


def guess(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The fields of a mapping, and lines on what is unsure. Raises AgonError where no file is of a known format."""
    files = find_files(folder, "**/*")
    name, path = next((name, path) for name, path in files if path is not None)
    with reading(name):
        format_, columns, rows = _look_into(path)
    fields, unsure = dict[str, Any](format=format_), list[str]()
    if folder.is_dir():
        fields["files"] = f"**/*{path.suffix}"
    if rows:
        fields["rows"] = rows
    if columns:
        _fill(fields, columns, unsure)
        with reading(name):
            _lengthen(fields, path, columns, unsure)
        unsure.append(
            "rules: write actions and payoff, or the name or file of a game; without rules no payoff is computed"
        )
    return fields, unsure


def _lengthen(fields: dict[str, Any], path: Path, columns: list[str], unsure: list[str]) -> None:
    """Adds columns to the field `match` if a match would have a round twice."""
    try:
        mapping = as_mapping(fields, "the guess")
    except AgonError:  # the lines that are unsure say what is missing
        return
    if longer := longer_key(path, mapping, columns):
        before = f"one value of {', '.join(fields['match'])}" if "match" in fields else "one file"
        fields["match"] = longer
        unsure[:] = [text for text in unsure if not text.startswith("match: ")]
        unsure.append(
            f"match: {before} has the same round number several times, so it may hold several matches; "
            f"each value of {', '.join(longer)} together has it once"
        )


def longer_key(path: Path, mapping: Mapping, columns: Sequence[str] = ()) -> list[str]:
    """Columns that name a match where those of the mapping name several; empty where they suffice, or where none are found.

    Columns are added one by one, each time the one that leaves the fewest rounds twice. One that would break matches apart,
    such as a time, is left out. `columns`: those of the file, which is looked into without them. Raises AgonError and UNFIT.
    """
    columns = columns or _look_into(path)[1]
    place = [mapping.round, *([mapping.seat] if mapping.seat else [])]
    if not (mapping.round and {*columns_of(mapping)} <= {*columns}):
        return []
    per_seat = {name: value for name, value in mapping.per_seat.items() if name != "player" or mapping.seat}
    measured = {*place, mapping.order, *mapping.options}
    measured |= {name for value in per_seat.values() for name in ([value] if isinstance(value, str) else value)}
    table = READERS[mapping.format](path, replace(mapping, match=list(columns))).head(LOOKED)
    fullest = table.groupby(place, dropna=False).ngroups

    def repeated(key: list[str]) -> int:
        return int(table.duplicated([*key, *place]).sum())

    def keeps_matches(key: list[str]) -> bool:
        return bool(len(table[key].drop_duplicates()) * fullest <= 2 * len(table))

    key = list(mapping.match)
    if repeated(key) <= MANY * len(table):
        return []
    further = [name for name in columns if name not in measured and name not in key]
    while further and repeated(key):
        best = min(further, key=lambda name: repeated([*key, name]))
        further.remove(best)
        if repeated([*key, best]) < repeated(key) and keeps_matches([*key, best]):
            key.append(best)
    return [] if repeated(key) else key


def _look_into(path: Path) -> tuple[str, list[str], str]:
    """Format, columns (none where the reader of the format knows them) and path of the rows."""
    ending = path.suffix.lower()
    if ending == ".eval":
        return "inspect", [], ""
    if ending == ".parquet":
        return _known_format("parquet", pyarrow.parquet.read_schema(path).names)
    if ending == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _known_format("csv", next(csv.reader(file), []))
    if ending in ENDINGS["jsonl"]:
        with path.open("rb") as file:
            return _known_format("jsonl", list(next(rows_in([load_json(file.readline(SMALL))], []))))
    require_size(path, SMALL)
    value = load_json(path.read_bytes())
    if isinstance(value, dict) and isinstance(value.get("steps"), list):
        return "kaggle", [], ""
    if isinstance(value, dict) and {"samples", "eval"} <= set(value):
        return "inspect", [], ""
    steps = _path_of_rows(value)
    return "json", list(next(rows_in(value, steps), {})), ".".join(steps)


def _known_format(format_: str, columns: list[str]) -> tuple[str, list[str], str]:
    if {"Interaction index", "Actions"} <= {*columns}:
        return "axelrod", [], ""
    if {"game_id", "player_id", "observations", "rewards"} <= {*columns}:
        return "textarena", [], ""
    if {"experiment", "match", "turn", "seat", "payoff", "config"} <= {*columns}:
        return "agon", [], ""
    return format_, columns, ""


def _path_of_rows(value: Any) -> list[str]:
    """The path to the longest list of objects, without lists below it."""
    if isinstance(value, list):
        return _path_of_rows(value[0]) if value and isinstance(value[0], dict) and _lists(value[0]) else []
    lists = _lists(value) if isinstance(value, dict) else {}
    if not lists:
        return []
    name = max(lists, key=lambda key: len(lists[key]))
    return [name, *_path_of_rows(lists[name])]


def _lists(value: dict[str, Any]) -> dict[str, list[Any]]:
    return {key: item for key, item in value.items() if isinstance(item, list) and item and isinstance(item[0], dict)}


def _fill(fields: dict[str, Any], columns: list[str], unsure: list[str]) -> None:
    """Adds the field of each column whose name is known."""
    stems: dict[str, list[str]] = {}
    for column in columns:
        name = re.sub(r"(\W|_)+", "_", column.lower())
        stem = re.sub(r"_?(p|player|seat)?_?\d+_?", "", name) or re.sub(r"_?\d+_?", "", name)
        stems.setdefault(stem, []).append(column)
    for field, names in NAMES.items():
        fitting = [group for stem, group in stems.items() if re.fullmatch(names, stem)]
        if not fitting:
            if field in NEEDED:
                unsure.append(f"{field}: no column has a name like that")
            continue
        group = fitting[0]
        fields[field] = group if field in LISTS or len(group) > 1 else group[0]
        if len(fitting) > 1:
            unsure.append(f"{field}: it may also be {', '.join(column for other in fitting[1:] for column in other)}")
    widths = {len(value) for name, value in fields.items() if isinstance(value, list) and name not in LISTS}
    if len(widths) > 1:
        unsure.append("columns for each seat differ in number: see which belong together")


def written(fields: dict[str, Any], unsure: list[str]) -> str:
    """A mapping as YAML, with the lines on what is unsure as comments."""
    lines = [
        "# A first mapping, guessed from the names of columns. Read every line; docs/tutorials/audit-recorded-games.md explains them."
    ]
    lines += [f"# unsure: {text}" for text in unsure]
    return (
        "\n".join([*lines, *(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())])
        + "\n"
    )
