"""Turns and results on disk. A file is written whole or not at all; the same rows give the same bytes."""

import difflib
import fcntl
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time

import pandas as pd
import pyarrow as pya
import pyarrow.compute as pc
import pyarrow.parquet as pq

from agon.errors import AgonError
from agon.paths import GAMES_SUFFIX, display_path, input_path, input_places, write_file
from agon.turns.checks import require_present, tidy, type_fault, validated
from agon.turns.columns import (
    COLUMNS,
    EVIDENCE,
    KEY,
    LABEL,
    LATER,
    NO_LABELS,
    TEXT,
    action_of,
    action_text,
    completed,
    relabel,
)
from agon.turns.derived import PARTIAL

MEANINGS = "agon columns"
"""Key of a file's metadata with the meanings of its columns, as JSON."""
SIGNED = re.compile(r"[+-]\d+([.,]\d+)?")
"""A number with its sign."""
PART = 100_000
"""Rows of a part of a table that is not read at once."""


def write(turns: pd.DataFrame, path: Path) -> None:
    """Validates turns and writes them (`write_parquet`), with the meanings of their columns (MEANINGS). Raises AgonError."""
    table = pya.Table.from_pandas(_sorted_labels(validated(turns)), preserve_index=False)
    means = {MEANINGS: json.dumps({name: meaning for name, (_, _, meaning) in COLUMNS.items()})}
    write_parquet(table.replace_schema_metadata({**(table.schema.metadata or {}), **means}), path)


def write_parquet(table: pya.Table, path: Path) -> None:
    """Writes parquet in one move: a reader sees the old file or the new one, never a part.

    Of several processes that write one file at once, the last one wins. Raises AgonError.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        with part.open("wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # nobody sweeps the file while it is written
            pq.write_table(table, stream, compression="zstd", write_page_checksum=True)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        raise AgonError(
            f"{display_path(path)} cannot be written: {error.strerror or error}; mend this, and give the same command again"
        ) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Deletes parts of killed processes."""
    for part in folder.glob("*.????????.part"):
        with suppress(OSError), part.open("rb") as stream:
            if time() - part.stat().st_mtime > 1:  # a newer one may be about to be locked
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()


def _sorted_labels(turns: pd.DataFrame) -> pd.DataFrame:
    """Labels in alphabetical order and none unused: the same rows are then the same bytes, whatever their history."""
    labels = {
        name: turns[name].cat.remove_unused_categories() for name, (dtype, _, _) in COLUMNS.items() if dtype is LABEL
    }
    return turns.assign(
        **{name: label.cat.reorder_categories(sorted(label.cat.categories)) for name, label in labels.items()}
    )


def read(path: str | Path, columns: list[str] | None = None) -> pd.DataFrame:
    """A turns table from parquet, all columns or some. Raises AgonError when it is missing, unreadable or no turns table.

    Older tables without the columns LATER get them (agon.turns.completed).
    """
    path = input_path(path)
    names, older = _names_to_read(path, columns)
    with _explaining(path):
        table = pq.read_table(path, columns=names, page_checksum_verification=True)
    return _checked(_as_frame(table, path), path, columns, older)


def read_parts(path: str | Path, columns: list[str] | None = None) -> Iterator[pd.DataFrame]:
    """The table of `read` in parts, each of whole matches and of about PART rows. Raises AgonError as `read` does.

    `columns` must have `match`. A table comes in one part if it lacks columns of LATER, or if rows of a match lie apart.
    """
    path = input_path(path)
    names, older = _names_to_read(path, columns)
    if older or not _is_in_order(path):
        yield read(path, columns)
        return
    rest: list[pya.Table] = []
    for batch in _batches(path, names):
        table = pya.concat_tables([*rest, batch]).unify_dictionaries()
        end = pc.index(table["match"], table["match"][-1]).as_py()  # the last match may go on in the next batch
        rest = [table.slice(end)]
        if end:
            yield _checked(_as_frame(table.slice(0, end), path), path, columns, older)
    yield _checked(_as_frame(rest[0], path), path, columns, older)


def _is_in_order(path: Path) -> bool:
    """Whether there are rows, and those of each match follow one another."""
    seen, last = set[str](), None
    for batch in _batches(path, ["match"]):
        new = pc.run_end_encode(batch["match"].combine_chunks()).values.to_pylist()
        new, last, before = new[new[0] == last :], new[-1], len(seen)
        seen.update(new)
        if len(seen) != before + len(new):
            return False
    return bool(seen)


def _batches(path: Path, names: list[str] | None) -> Iterator[pya.Table]:
    """Columns of a file, PART rows at a time. The column `match` is plain texts: labels would be those of all matches."""
    with _explaining(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        for batch in file.iter_batches(PART, columns=names):
            table = pya.Table.from_batches([batch])
            ids = table["match"].cast(pya.large_string())
            yield table.set_column(table.column_names.index("match"), "match", ids)


def _as_frame(table: pya.Table, path: Path) -> pd.DataFrame:
    with _explaining(path):
        # gives up each column once it is copied: a quarter less memory
        return table.to_pandas(self_destruct=True, categories=["match"])


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Raises AgonError for a file that is missing or unreadable."""
    if path.is_dir():
        raise AgonError(f"{display_path(path)} is a folder: name a table of turns in it")
    try:
        yield
    except FileNotFoundError:
        raise AgonError(explain_absence(path)) from None
    except (
        pya.ArrowException,
        OSError,
        ValueError,
        LookupError,
        TypeError,
    ) as error:  # the last three come from damaged metadata
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        is_output = any(map(path.is_relative_to, input_places("transcripts")))
        again = "; where a stage makes it, delete it, and `dvc repro` makes it again" if is_output else ""
        raise AgonError(
            f"{display_path(path)} cannot be read ({reason}): it is no table of turns, or is damaged{again}"
        ) from None


def _names_to_read(path: Path, columns: list[str] | None) -> tuple[list[str] | None, list[str]]:
    """The columns to read from a file (None: all), and those of LATER that are asked for and missing."""
    if unknown := [name for name in columns or () if name not in COLUMNS]:
        raise AgonError(f"turns have no column {', '.join(unknown)}: see agon.turns.COLUMNS")
    with _explaining(path):
        names_there = set(pq.read_schema(path).names)
    older = [name for name in LATER if name in (columns or COLUMNS) and name not in names_there]
    return [*{*(columns or names_there), *EVIDENCE}.difference(older)] if older else columns, older


def _checked(turns: pd.DataFrame, path: Path, columns: list[str] | None, older: list[str]) -> pd.DataFrame:
    """Turns as they were read, with the columns `older` added, and the types of COLUMNS. Raises AgonError."""
    names = columns or list(COLUMNS)
    missing = [name for name in [*names, *(EVIDENCE if older else ())] if name not in turns and name not in older]
    if missing:
        raise AgonError(f"{display_path(path)} is not a turns table: it has no column {', '.join(missing)}")
    if older:
        complete = completed(turns)
        turns = complete[[*names, *(name for name in complete if columns is None and name not in COLUMNS)]]
    labels = [name for name in turns if COLUMNS.get(name, (None,))[0] is LABEL and turns[name].dtype == object]
    turns = turns.astype(dict.fromkeys([name for name in labels if turns[name].isna().all()], NO_LABELS))
    try:
        if type_fault(turns):  # other programs keep the values, and not the types of pandas
            turns = tidy(turns).astype({name: TEXT for name in turns if COLUMNS.get(name, (None,))[0] is TEXT})
        require_present(turns)
    except AgonError as error:
        raise AgonError(f"{display_path(path)} is {error}") from None
    if "action" in turns and any(
        str(label).startswith('"') for label in turns.action.cat.categories
    ):  # of a table in which words are JSON too
        actions = relabel(turns.action, lambda label: action_text(action_of(label)))
        turns["action"] = actions.cat.reorder_categories(sorted(actions.cat.categories))
    if fault := type_fault(turns):
        raise AgonError(f"{display_path(path)} is not a turns table: {fault}")
    return turns


def column_names(path: str | Path) -> list[str]:
    """The columns of `read`, without reading rows. Raises AgonError for a file that is missing or unreadable."""
    path = input_path(path)
    with _explaining(path):
        return list(dict.fromkeys([*COLUMNS, *pq.read_schema(path).names]))


def explain_absence(path: Path) -> str:
    """The message for a missing file or folder, such as a table of turns: what to do, and the nearest name beside it."""
    others = [other.stem for other in path.parent.glob(f"*{path.suffix}") if not other.name.endswith(GAMES_SUFFIX)]
    close = difflib.get_close_matches(path.stem, others, 1, 0.85)
    near = "".join(f"did you mean {name}{path.suffix}? " for name in close)
    other_source = "`dvc pull data.dvc` fetches data/"
    if path.suffix == ".parquet":
        other_source = "`python -m agon play experiment=NAME` any other"
    return f"{display_path(path)} is not there: {near}`dvc repro` makes those of dvc.yaml, {other_source}"


def is_turns(path: Path) -> bool:
    """Whether a file has the key of a turns table."""
    try:
        return set(KEY) <= set(pq.read_schema(path).names)
    except (pya.ArrowException, OSError):
        return False


def experiments(path: Path) -> set[str]:
    """The experiments of a table, without the mark of partial ones. Raises AgonError."""
    return {PARTIAL.sub("", name) for name in read(path, ["experiment"]).experiment.unique()}


def no_formula(text: str) -> str:
    """Text that somebody typed, safe for spreadsheets: `'` goes before anything that they would run as a formula.

    A number stays as it is, also below zero.
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) and not SIGNED.fullmatch(text) else text


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Writes a result as CSV, and its folder. The same rows give the same bytes on every machine. Raises AgonError.

    Numbers are written to 12 significant digits: processors sum in different orders, and differ in the last two or three of a float's 17.
    """
    text = table.to_csv(index=False, lineterminator="\n", float_format=lambda value: repr(float(f"{value:.12g}")))
    write_file(path, text, force=True)
