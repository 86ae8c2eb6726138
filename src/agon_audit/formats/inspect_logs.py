"""Logs of Inspect: JSON, or an archive (.eval) with one file for each sample."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import pandas as pd

from agon.errors import AgonError
from agon_audit.formats.tables import MOST_JSON_BYTES, as_table, flat, load_json, require_size, rows_in
from agon_audit.mapping import PER_SEAT, Mapping

STANDARD = {"match", "round", "player", "reply", "ended"}


def read(path: Path, mapping: Mapping) -> pd.DataFrame:
    """A row for each answer of the model, or for each item of the list at `mapping.rows` of a sample. `line`: the number of the sample.

    The match is the sample and its epoch. Further columns are the paths of a sample that the mapping names, such as metadata.action.
    """
    wanted = [value for name in PER_SEAT if isinstance(value := getattr(mapping, name), str) and value not in STANDARD]
    wanted = [name for name in dict.fromkeys([*wanted, mapping.seat, *mapping.condition]) if name]
    columns = [*sorted(STANDARD), *wanted]
    rows = [
        [number, *map(row.get, columns)]
        for number, sample in enumerate(_samples(path), start=1)
        for row in _rows(sample, mapping)
    ]
    return as_table(rows, columns)


def _samples(path: Path) -> Iterator[dict[str, Any]]:
    """The samples of a log. An archive is read sample by sample, within the limit of a file of JSON."""
    require_size(path, MOST_JSON_BYTES)
    if path.suffix.lower() == ".json":
        log = load_json(path.read_bytes())
        samples = log.get("samples") if isinstance(log, dict) else None
        if not isinstance(samples, list):
            raise AgonError("it is no log of Inspect: there is no list `samples`")
        yield from samples
        return
    try:
        with ZipFile(path) as archive:
            left = MOST_JSON_BYTES
            for item in archive.infolist():
                if not (item.filename.startswith("samples/") and item.filename.endswith(".json")):
                    continue
                with archive.open(item) as file:
                    data = file.read(left + 1)
                left -= len(data)
                if left < 0:
                    raise AgonError(f"its samples unpack to more than {MOST_JSON_BYTES:,} bytes: split it")
                yield load_json(data, f"{item.filename}: ")
    except (BadZipFile, NotImplementedError) as error:
        raise AgonError(
            f"it is no archive that can be read ({error}): convert it with `inspect log convert --to json`"
        ) from None


def _rows(sample: dict[str, Any], mapping: Mapping) -> Iterator[dict[str, Any]]:
    match = f"{sample.get('id')}/{sample.get('epoch', 1)}"
    output = sample.get("output") or {}
    around = flat({key: value for key, value in sample.items() if key not in ("messages", "events", "attachments")})
    around |= {"match": match, "player": output.get("model")}
    if mapping.rows:
        for number, row in enumerate(rows_in(sample, mapping.rows.split(".")), start=1):
            yield around | {"round": number} | row
        return
    answers = [message for message in sample.get("messages") or [] if message.get("role") == "assistant"]
    reasons = [choice.get("stop_reason") for choice in output.get("choices") or []]
    for number, answer in enumerate(answers, start=1):
        ended = reasons[0] if reasons and number == len(answers) else None
        yield around | {"round": number, "reply": _text_of(answer.get("content")), "ended": ended}


def _text_of(content: Any) -> str:
    """The text of a message, which may be in parts."""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(part if isinstance(part, str) else str(part.get("text", "")) for part in parts if part)
