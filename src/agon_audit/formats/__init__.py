"""Readers of recorded games: one module for each format. All give rows of one kind of table."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from agon.errors import AgonError
from agon.turns import is_games
from agon_audit.formats import agon_turns, axelrod, inspect_logs, kaggle, tables, textarena
from agon_audit.mapping import Mapping

Reader = Callable[[Path, Mapping], pd.DataFrame]
"""Reads a file into rows with the columns that the mapping names, as text, and `line`. Raises AgonError and UNFIT."""
READERS: dict[str, Reader] = {
    "csv": tables.read_csv,
    "json": tables.read_json,
    "jsonl": tables.read_json_lines,
    "parquet": tables.read_parquet,
    "kaggle": kaggle.read,
    "axelrod": axelrod.read,
    "inspect": inspect_logs.read,
    "textarena": textarena.read,
    "agon": agon_turns.read,
}
ENDINGS = {
    "csv": (".csv",),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet",),
    "kaggle": (".json",),
    "axelrod": (".csv",),
    "inspect": (".json", ".eval"),
    "textarena": (".parquet", ".csv", ".jsonl"),
    "agon": (".parquet",),
}
"""Format -> endings of its files."""
MOST_FILES = 100_000


def find_files(folder: Path, mapping: Mapping) -> tuple[list[Path], list[Path]]:
    """The files that are read, and those that are left out because of their ending. Raises AgonError where there is none to read."""
    if not folder.exists():
        raise AgonError(f"{folder} is not there: give a folder of recorded games")
    if folder.is_file():
        return [folder], []
    if mapping.files.startswith("/") or ".." in Path(mapping.files).parts:
        raise AgonError(f"files is {mapping.files!r}: write a pattern for files below the folder, such as games/*.csv")
    inside = folder.resolve()
    paths = sorted(
        path
        for path in folder.glob(mapping.files)
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if strange := next((path for path in paths if not path.resolve().is_relative_to(inside)), None):
        raise AgonError(f"{strange} is a link out of the folder: put the file itself there")
    if len(paths) > MOST_FILES:
        raise AgonError(f"{folder} holds {len(paths):,} files: {MOST_FILES:,} are audited at most")
    chosen = [path for path in paths if path.suffix.lower() in ENDINGS[mapping.format] and not is_games(path)]
    if not chosen:
        endings = " or ".join(ENDINGS[mapping.format])
        raise AgonError(f"{folder} holds no file {mapping.files!r} that ends in {endings}: see files and format")
    return chosen, [path for path in paths if path not in set(chosen)]


def read_files(paths: list[Path], folder: Path, mapping: Mapping) -> Iterator[pd.DataFrame]:
    """The rows of each file, with its name. Raises AgonError."""
    for path in paths:
        name = str(path.relative_to(folder)) if path != folder else path.name
        with tables.reading(name):
            rows = READERS[mapping.format](path, mapping)
        yield rows.assign(file=name)
