"""Turns and results on disk: whole, or not there, and the same bytes for the same rows."""

import fcntl
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from time import time

import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon.errors import AgonError
from agon.paths import input_path, input_places, shown
from agon.turns.actions import action_of, action_text, relabelled
from agon.turns.checks import mistyped, validated
from agon.turns.columns import COLUMNS, KEY, LABEL, LATER, TOLD_BY, completed
from agon.turns.derived import PARTIAL

MEANINGS = "agon columns"
"""Key of a file's metadata that holds what its columns mean, as JSON."""


def write(turns: pd.DataFrame, path: Path) -> None:
    """Validates turns and writes them (`write_parquet`). The file's metadata say what its columns mean (MEANINGS)."""
    table = pya.Table.from_pandas(_sorted_labels(validated(turns)), preserve_index=False)
    means = {MEANINGS: json.dumps({name: meaning for name, (_, _, meaning) in COLUMNS.items()})}
    write_parquet(table.replace_schema_metadata({**(table.schema.metadata or {}), **means}), path)


def write_parquet(table: pya.Table, path: Path) -> None:
    """Writes parquet in one move: a reader sees the old file or the new one, never a part.

    Of several processes that write one file at once, the last one's is there in the end. Raises AgonError.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        with part.open("wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # as long as it is written, nobody sweeps it
            pq.write_table(table, stream, compression="zstd", write_page_checksum=True)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Deletes parts that nobody writes any more: their processes were killed."""
    for part in folder.glob("*.????????.part"):
        with suppress(OSError), part.open("rb") as stream:
            if time() - part.stat().st_mtime > 1:  # a newer one may be about to be locked
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()


def _sorted_labels(turns: pd.DataFrame) -> pd.DataFrame:
    """Labels in alphabetical order and none unused, so that the same rows are the same bytes however they came together."""

    def settled(name: str) -> pd.Series:
        label = turns[name].cat.remove_unused_categories()
        return label.cat.reorder_categories(sorted(label.cat.categories))

    return turns.assign(**{name: settled(name) for name, (dtype, _, _) in COLUMNS.items() if dtype is LABEL})


def read(path: str | Path, columns: list[str] | None = None) -> pd.DataFrame:
    """A turns table from parquet, all columns or some. Raises AgonError when it is missing, unreadable or no turns table.

    Of tables made before there were the columns `asked` and `ended`, these are as agon.turns.completed has them.
    """
    path = input_path(path)
    if unknown := [name for name in columns or () if name not in COLUMNS]:
        raise AgonError(f"turns have no column {', '.join(unknown)}: see agon.turns.COLUMNS")
    wanted = columns or list(COLUMNS)
    try:
        held = set(pq.read_schema(path).names)
        older = [name for name in LATER if name in wanted and name not in held]
        taken = [*{*(columns or held), *(TOLD_BY if older else ())}.difference(older)] if older else columns
        turns = pd.read_parquet(path, columns=taken, page_checksum_verification=True)
    except FileNotFoundError:
        raise AgonError(
            f"{shown(path)} is not there: `make repro` makes those of dvc.yaml, `python -m agon play experiment=NAME` any other"
        ) from None
    except (pya.ArrowInvalid, pya.ArrowIOError, OSError) as error:
        reason, made = str(error).splitlines()[0], any(map(path.is_relative_to, input_places("transcripts")))
        again = "; where a stage makes it, delete it, and `dvc repro` makes it again" if made else ""
        raise AgonError(
            f"{shown(path)} cannot be read ({reason}): it is no table of turns, or is damaged{again}"
        ) from None
    missing = [name for name in [*wanted, *(TOLD_BY if older else ())] if name not in turns and name not in older]
    if missing:
        raise AgonError(f"{shown(path)} is not a turns table: it has no column {', '.join(missing)}")
    if older:
        whole = completed(turns)
        turns = whole[[*wanted, *(name for name in whole if columns is None and name not in COLUMNS)]]
    for name in wanted:  # parquet forgets the type of a column that is absent throughout
        if COLUMNS[name][0] is LABEL and not isinstance(turns[name].dtype, pd.CategoricalDtype):
            turns[name] = turns[name].astype("str").astype(LABEL)
    if "action" in turns and any(
        str(label).startswith('"') for label in turns.action.cat.categories
    ):  # of a table in which words are JSON too
        actions = relabelled(turns.action, lambda label: action_text(action_of(label)))
        turns["action"] = actions.cat.reorder_categories(sorted(actions.cat.categories))
    if fault := mistyped(turns):
        raise AgonError(f"{shown(path)} is not a turns table: {fault}")
    return turns


def is_turns(path: Path) -> bool:
    """Whether a file has the key of a turns table."""
    try:
        return set(KEY) <= set(pq.read_schema(path).names)
    except (pya.ArrowException, OSError):
        return False


def experiments(path: Path) -> set[str]:
    """Whose turns a table holds, by the column `experiment`; of partial tables the name alone. Raises AgonError."""
    return {PARTIAL.sub("", each) for each in read(path, ["experiment"]).experiment.unique()}


def no_formula(text: str) -> str:
    """What somebody typed, for a file that spreadsheets open: `'` stands before what they would take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def write_table(table: pd.DataFrame, path: Path) -> None:
    """A result as CSV, with its folder; the same rows give the same bytes on every machine.

    Numbers are written to 12 significant digits: processors sum in different orders, and differ in the last two or three of a float's 17.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, lineterminator="\n", float_format=lambda value: repr(float(f"{value:.12g}")))
