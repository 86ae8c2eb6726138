"""Readers of recorded games: one module for each format. All give rows of one kind of table."""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePath

import pandas as pd

from agon.errors import AgonError
from agon.paths import require_finite
from agon.turns import is_games
from agon_audit.formats import agon_turns, axelrod, inspect_logs, kaggle, tables, textarena
from agon_audit.formats.archives import MOST_FILES, is_archive, unpack
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


def find_files(folder: Path, pattern: str, format_: str = "") -> Iterator[tuple[str, Path | None]]:
    """Name and place of each file of a folder and of the archives in it; None for files whose ending does not fit.

    In archives the pattern is compared with the end of a path. A copy from an archive lasts until the next file is asked for.
    `format_`: empty for any of READERS. Raises AgonError where no file fits, and for archives that cannot be read.
    """
    endings = tuple(sorted({ending for name, own in ENDINGS.items() if format_ in (name, "") for ending in own}))
    if not require_finite(folder).exists():
        raise AgonError(f"{folder} is not there: give a folder of recorded games")
    inside, any_file = folder.resolve(), False
    for path in _paths(folder, pattern):
        name = str(path.relative_to(folder)) if path != folder else path.name
        if not path.resolve().is_relative_to(inside):
            raise AgonError(f"{path} is a link out of the folder: put the file itself there")
        if is_archive(name) and format_ != "agon":  # the games lie beside turns of agon, in a file of their own
            files = unpack(path, name, lambda own: own.lower().endswith(endings) and _is_chosen(own, pattern))
        else:
            fits = path == folder or (name.lower().endswith(endings) and not is_games(path))
            files = iter([(name, path if fits else None)])
        for own, place in files:
            any_file = any_file or place is not None
            yield own, place
    if not any_file:
        raise AgonError(f"{folder} holds no file {pattern!r} that ends in {' or '.join(endings)}: see files and format")


def _paths(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that fit a pattern, and all archives; or the file itself. Raises AgonError."""
    if folder.is_file():
        return [folder]
    if pattern.startswith("/") or ".." in Path(pattern).parts:
        raise AgonError(f"files is {pattern!r}: write a pattern for files below the folder, such as games/*.csv")
    archives = (path for path in folder.rglob("*") if is_archive(path.name))
    paths = {
        path
        for path in (*folder.glob(pattern), *archives)
        if path.is_file() and not _is_hidden(path.relative_to(folder))
    }
    if len(paths) > MOST_FILES:
        raise AgonError(f"{folder} holds {len(paths):,} files: {MOST_FILES:,} are audited at most")
    return sorted(paths)


def _is_hidden(path: PurePath) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _is_chosen(name: str, pattern: str) -> bool:
    """Whether a file of an archive fits a pattern."""
    return PurePath("archive", name).match(pattern) and not _is_hidden(PurePath(name))
