"""Backups of a hall's folder, and the erasure of a participant."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import time

from agon.errors import AgonError, count
from agon.paths import display_path
from agon_hall.protocol import study
from agon_hall.store import TABLES, Store
from agon_hall.study import FORGOTTEN, Event, State, fold_events

LIVE = ("waiting", "playing", "stopped")
"""The statuses of tables whose matches are not over."""
COUNTED = ("tables", "answers")
"""What the summary of a backup counts."""
LEFT_OUT = shutil.ignore_patterns(f"{TABLES}*", "*.lock", "locks")
"""The files of a hall that a backup does not copy as files."""


def back_up(folder: Path, to: Path) -> str:
    """Copies a hall's folder to `to`, also while a server uses it. Returns a summary.

    The store is copied first, by SQLite itself, as it is at one moment. Files of matches and recordings are copied
    afterwards, so that none that the store needs is missing. Raises AgonError if `to` exists or is inside
    `folder`, or for a damaged store.
    """
    Store(folder, read_only=True).close()  # raises AgonError for a folder without a store
    if to.exists():
        raise AgonError(f"{display_path(to)} exists already: name a new folder, or move that one away")
    if folder.resolve() in to.resolve().parents:
        raise AgonError(f"{display_path(to)} is inside the hall's folder: name a folder elsewhere")
    draft = to.with_name(f"{to.name}.unfinished")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True, mode=0o700)
        at = f"{(folder / TABLES).resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(at, uri=True)) as source, closing(sqlite3.connect(draft / TABLES)) as copy:
            source.backup(copy)
            faults = [fault for (fault,) in copy.execute("pragma integrity_check") if fault != "ok"]
            tables, answers = (copy.execute(f"select count(*) from {name}").fetchone()[0] for name in COUNTED)
        (draft / TABLES).chmod(0o600)
        if faults:
            raise AgonError(f"{display_path(folder / TABLES)} is damaged: {faults[0]}")
        shutil.copytree(folder, draft, ignore=LEFT_OUT, dirs_exist_ok=True)
        draft.chmod(0o700)
        draft.rename(to)
    except (OSError, shutil.Error, sqlite3.Error) as error:
        raise AgonError(f"{display_path(folder)} cannot be copied to {display_path(to)}: {error}") from None
    kept = f"{count(tables, 'table')}, {count(answers, 'answer')}"
    return f"{display_path(to)}: {kept}; `agon serve --folder {display_path(to)}` opens it"


def forget(folder: Path, name: str, number: str, whole_match: bool, ask: Callable[[str], bool]) -> str:
    """Erases what a study keeps of the participant with a `number` (their name on the platform). Returns a summary.

    A tombstone stays: the hashed name, cell, match and stage, so that places, quotas and the rows of others stay
    right. Moves in the match belong to the other players' match and stay too, unless `whole_match` erases it with
    everybody's rows; with several matches that is each of theirs. Who has not come to an end is out of the study.
    `ask` is asked before anything is erased. Raises AgonError while a server uses the folder, for a number that nobody
    has, and if a match is not over.
    """
    Store(folder, read_only=True).close()
    design, store = study(name), Store(folder)
    try:
        found = [who for who, (_, pid) in store.sources(name).items() if pid == number]
        if not found:
            raise AgonError(
                f"study {name} has no participant {number!r}: `agon collect {name}` writes people-{name}.csv, "
                "a list of all, into the hall's folder"
            )
        states = dict.fromkeys(found, State()) | fold_events(design, [Event(*event) for event in store.events(name)])
        if any(states[who].stage == "match" for who in found):
            raise AgonError(f"{number} is in a match: start the server, and end the match first")
        ids = [table for who in found for _, table, _ in states[who].tables] if whole_match else []
        tables = [row for table in ids if (row := store.table(table)) is not None]
        if any(row.status in LIVE for row in tables):
            raise AgonError(f"a match of {number} is not over: start the server, and wait for its end")
        also = f", and {count(len(tables), 'match')} with everybody's rows" if tables else ""
        if not ask(f"All that study {name} keeps of {number} is erased{also}. It cannot be undone."):
            return "nothing is erased"
        for who in found:
            if states[who].stage not in ("out", "debrief"):
                store.add_events(name, [(who, time(), "withdrew", {})])
            store.forget(name, who, time(), FORGOTTEN)
        for row in tables:
            store.erase_answers(row.id)
            for path in (*folder.glob(f"*/{row.match}.*"), *folder.glob(f"recordings/{row.id}")):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        store.compact()
    finally:
        store.close()
    for path in (folder / f"bonus-{name}.csv", folder / f"people-{name}.csv"):
        path.unlink(missing_ok=True)
    return (
        f"{number} is forgotten in study {name}{also}. Now run `agon collect {name}`: it writes the files again "
        "without them. Erase backups, and copies of those files, yourself"
    )
