"""The store of a hall: one SQLite file. Every accepted answer is on disk before anybody sees it."""

import json
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import time
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from agon.errors import AgonError
from agon.paths import display_path

BUSY = 100
"""Milliseconds to wait while another program locks the file."""
TABLES, OWN = "tables.sqlite", {"secret", "serve.lock", "annotations"}
"""The file that marks a hall's folder, and the other names that a new folder may contain."""
SCHEMA = """
create table if not exists tables (
    id text primary key, match text unique not null, game text not null, entrants text not null, seconds real,
    budget text not null, spent text not null default '{}', status text not null default 'waiting',
    why text not null default '', made real not null, aids text,
    everybody integer not null default 0, asides integer not null default 1, language text not null default 'en',
    paused integer not null default 0, message text not null default ''
);
create table if not exists people (
    place text not null references tables, seat integer not null, name text not null, consent text not null,
    since real not null, away integer not null default 0, primary key (place, seat)
);
create table if not exists answers (
    place text not null references tables, seat integer not null, number integer not null, round integer not null,
    phase text not null, action text, text text not null, fallback text not null, attempts integer not null,
    seconds real not null, at real not null, primary key (place, seat, number)
);
create table if not exists consents (version text primary key, words text not null);
create table if not exists participants (
    id text primary key, study text not null, source text not null, pid text not null, unique (study, source, pid)
);
create table if not exists events (
    number integer primary key, study text not null, participant text not null references participants,
    at real not null, kind text not null, detail text not null
);
create table if not exists begun (study text primary key, terms text not null);
"""


NEW_COLUMNS = {
    "aids": "text",
    "everybody": "integer not null default 0",
    "asides": "integer not null default 1",
    "language": "text not null default 'en'",
    "paused": "integer not null default 0",
    "message": "text not null default ''",
}
"""Columns of tables that files of earlier versions lack -> their kind."""


class TableRow(NamedTuple):
    """A table: its settings and its status."""

    id: str
    """The name of the table on pages."""
    match: str
    """The id of the match, which is the seed of chance. It is secret until the end."""
    game: str
    """A game of conf/game, FILE or FILE/SETTING."""
    entrants: tuple[str, ...]
    """By seat: PERSON, or an agent of conf/agent, as agent or agent@model."""
    seconds: float | None
    """The time for an answer of a person; None for no limit."""
    budget: dict[str, float | None]
    """The budget of its models: usd, tokens, calls."""
    spent: Mapping[str, float]
    status: str = "waiting"
    """waiting (for people to sit down), playing, over (at its end), stopped (cannot go on now) or closed (given up)."""
    why: str = ""
    """The reason why it is stopped or closed."""
    aids: tuple[str, ...] | None = None
    """The aids that people see (agon.games.pages); None for all aids of the game."""
    everybody: bool = False
    """Whether all players speak for themselves, even if the setting has openings for some of them."""
    asides: bool = True
    """Whether people and models are asked the questions of the game that change nothing, such as interviews."""
    language: str = "en"
    """The language of its pages, a file of conf/language; a study's table has that of the study."""
    paused: bool = False
    """Whether the host has paused the match."""
    message: str = ""
    """What the host last wrote to the people at the table."""
    made: float = 0.0
    """The time at which it was opened (seconds since 1970)."""


KEPT = ("cell", "version", "right", "table", "match", "seat", "group", "member", "points", "whole", "how", "stage")
"""The details of events that stay of a participant who is forgotten."""
AS_JSON = ("entrants", "budget", "spent", "aids")
"""Columns of tables that hold JSON."""
AS_BOOL = ("everybody", "asides", "paused")
"""Columns of tables that hold 0 or 1."""


class Person(NamedTuple):
    """The person at a seat."""

    name: str
    """The name that the person chose. Nothing else about them is stored."""
    consent: str
    """The version of the consent."""
    away: bool
    since: float
    """The time at which the person sat down (seconds since 1970)."""


class StoredAnswer(NamedTuple):
    """An accepted answer of a seat."""

    number: int
    """The number of the question at this seat, from 0."""
    round: int
    phase: str
    """The phase of the question. An answer in advance counts only in its round and phase."""
    action: Any
    text: str = ""
    fallback: str = ""
    attempts: int = 1
    seconds: float = 0.0


class Blocked(AgonError):
    """The file cannot be written or read now: the disk is full, or another program locks the file."""


class Store:
    """The store in a folder. Only the owner can read the file, and only one server at a time may use the folder.

    A `read_only` store may be open beside a server. Raises AgonError if another server uses the folder.
    All methods raise Blocked, and change nothing, if the file cannot be used now.
    """

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self._lock = FileLock(folder / "serve.lock")
        if read_only:
            if not (folder / TABLES).is_file():
                raise AgonError(f"{display_path(folder)} has no tables yet: python -m agon serve opens them")
            self._path = folder / TABLES
            self._db = sqlite3.connect(f"{self._path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
            return
        try:
            if (
                folder.is_dir()
                and (others := {path.name for path in folder.iterdir()} - OWN)
                and not (folder / TABLES).exists()
            ):
                raise AgonError(
                    f"{display_path(folder)} holds other files, such as {min(others)}: "
                    "name an empty folder or a new one, for its owner alone"
                )
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)
            self._lock.acquire(timeout=0)
            self._db = sqlite3.connect(folder / TABLES, isolation_level=None, check_same_thread=False)
            self._db.executescript(f"pragma journal_mode=wal; pragma synchronous=full; {SCHEMA}")
            columns = {column[1] for column in self._db.execute("pragma table_info(tables)")}
            for column, kind in NEW_COLUMNS.items():
                if column not in columns:  # a file of an earlier version
                    self._db.execute(f"alter table tables add column {column} {kind}")
            self._db.execute(f"pragma busy_timeout={BUSY}")
            self._path, self._file = folder / TABLES, (folder / TABLES).stat().st_ino
            self._path.chmod(0o600)
        except Timeout:
            raise AgonError(
                f"{display_path(folder)} is in use by another server: end that one, or name another folder"
            ) from None
        except (OSError, sqlite3.Error) as error:
            raise AgonError(f"{display_path(folder)} cannot be used: {error}") from None

    def close(self) -> None:
        """Closes the file, so that another server may use the folder."""
        self._db.close()
        self._lock.release()

    def _write(self, *commands: tuple[str, Sequence[Sequence[Any]]]) -> int:
        """Runs commands, each with its rows, all or none.

        They are on disk at the end. Returns the row count of the last command.
        """
        try:
            if self._path.stat().st_ino != self._file:
                raise AgonError(f"{display_path(self._path)} has been replaced by another file: start the server again")
            with self._db:
                self._db.execute("begin immediate")
                return [self._db.executemany(command, rows).rowcount for command, rows in commands][-1]
        except (OSError, MemoryError, sqlite3.Error) as error:
            raise Blocked(f"{display_path(self._path)} cannot be written: {_why(error)}") from None

    def _read(self, command: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(command, values).fetchall()
        except (MemoryError, sqlite3.Error) as error:
            raise Blocked(f"{display_path(self._path)} cannot be read: {_why(error)}") from None

    def add(self, row: TableRow, consent: str, words: str) -> None:
        """Stores a new table and its consent (version and words)."""
        columns = row._replace(made=row.made or time())._asdict()
        columns |= {name: None if columns[name] is None else json.dumps(columns[name]) for name in AS_JSON}
        self._write(
            ("insert or ignore into consents values (?, ?)", [(consent, words)]),
            (
                f"insert into tables ({', '.join(columns)}) values ({', '.join('?' * len(columns))})",
                [tuple(columns.values())],
            ),
        )

    def tables(self) -> list[TableRow]:
        """All tables, oldest first."""
        return self._tables("order by made")

    def table(self, id_: str) -> TableRow | None:
        """The table with that id; None if there is none."""
        return next(iter(self._tables("where id = ?", id_)), None)

    def _tables(self, which: str, *values: str) -> list[TableRow]:
        known = {name for (name,) in self._read("select name from pragma_table_info('tables')")}
        fields = [name for name in TableRow._fields if name in known]  # a file of an earlier version lacks some
        rows = self._read(f"select {', '.join(fields)} from tables {which}", *values)
        try:
            tables = [TableRow(**dict(zip(fields, row, strict=True))) for row in rows]
            return [row._replace(**_values_of(row)) for row in tables]
        except ValueError as error:
            raise AgonError(f"{display_path(self._path)} cannot be read: {error}") from None

    def set_status(self, table: str, status: str, why: str = "") -> None:
        """Stores the status of a table."""
        self._write(("update tables set status = ?, why = ? where id = ?", [(status, why, table)]))

    def set_spending(self, table: str, spent: dict[str, float]) -> None:
        """Stores the cost of a table's models so far."""
        self._write(("update tables set spent = ? where id = ?", [(json.dumps(spent), table)]))

    def set_pause(self, table: str, paused: bool) -> None:
        """Stores that the host pauses the match of a table, or lets it go on."""
        self._write(("update tables set paused = ? where id = ?", [(paused, table)]))

    def set_message(self, table: str, message: str) -> None:
        """Stores what the host writes to the people at a table."""
        self._write(("update tables set message = ? where id = ?", [(message, table)]))

    def allow(self, table: str, budget: dict[str, float | None]) -> None:
        """Stores another budget for a table."""
        self._write(("update tables set budget = ? where id = ?", [(json.dumps(budget), table)]))

    def sit(self, table: str, seat: int, name: str, consent: str) -> bool:
        """Stores who sits at a seat; False if the seat is taken."""
        columns, row = "place, seat, name, consent, since", (table, seat, name, consent, time())
        return self._write((f"insert or ignore into people ({columns}) values (?, ?, ?, ?, ?)", [row])) == 1

    def set_away(self, table: str, seat: int, away: bool) -> None:
        """Stores that somebody leaves the seat for a time, or comes back."""
        self._write(("update people set away = ? where place = ? and seat = ?", [(away, table, seat)]))

    def people(self, table: str) -> dict[int, Person]:
        """The people of a table by seat."""
        rows = self._read("select seat, name, consent, away, since from people where place = ? order by seat", table)
        return {seat: Person(name, consent, bool(away), since) for seat, name, consent, away, since in rows}

    def keep(self, table: str, seat: int, answers: Sequence[StoredAnswer]) -> None:
        """Stores answers of a seat, all or none.

        They are on disk at the end and replace answers with the same numbers.
        """
        rows = [
            (
                table,
                seat,
                *answer[:3],
                None if answer.action is None else json.dumps(answer.action),
                *answer[4:],
                time(),
            )
            for answer in answers
        ]
        self._write(("insert or replace into answers values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows))

    def answer(self, table: str, seat: int, number: int) -> StoredAnswer | None:
        """The accepted answer to a seat's question; None if there is none. Raises AgonError if it is damaged."""
        which = "from answers where place = ? and seat = ? and number = ?"
        rows = self._read(f"select {', '.join(StoredAnswer._fields)} {which}", table, seat, number)
        if not rows:
            return None
        answer = StoredAnswer(*rows[0])
        try:
            return answer if answer.action is None else answer._replace(action=json.loads(answer.action))
        except (ValueError, TypeError, RecursionError):
            raise AgonError(
                f"{display_path(self._path)} is damaged: answer {number} of seat {seat} at table {table} cannot be read"
            ) from None

    def consent(self, version: str) -> str:
        """The text of a version of the consent."""
        ((words,),) = self._read("select words from consents where version = ?", version)
        return str(words)

    # --- studies

    def participant(self, study: str, source: str, pid: str) -> str:
        """The random id of a participant. A new participant (source and name) gets a new id."""
        which = "select id from participants where study = ? and source = ? and pid = ?"
        if not (rows := self._read(which, study, source, pid)):
            self._write(("insert into participants values (?, ?, ?, ?)", [(secrets.token_hex(8), study, source, pid)]))
            rows = self._read(which, study, source, pid)
        return str(rows[0][0])

    def sources(self, study: str) -> dict[str, tuple[str, str]]:
        """Participant -> source and name there. These must not leave the hall's folder."""
        rows = self._read("select id, source, pid from participants where study = ?", study)
        return {id_: (source, pid) for id_, source, pid in rows}

    def add_events(self, study: str, events: Sequence[tuple[str, float, str, dict[str, Any]]]) -> None:
        """Stores events (participant, time, kind, detail), all or none. They are on disk at the end."""
        rows = [(study, who, at, kind, json.dumps(detail)) for who, at, kind, detail in events]
        self._write(("insert into events (study, participant, at, kind, detail) values (?, ?, ?, ?, ?)", rows))

    def events(self, study: str) -> list[tuple[str, float, str, dict[str, Any]]]:
        """The events of a study, in their order."""
        rows = self._read("select participant, at, kind, detail from events where study = ? order by number", study)
        return [(who, at, kind, json.loads(detail)) for who, at, kind, detail in rows]

    def forget(self, study: str, who: str, at: float, kind: str) -> None:
        """Erases a participant's number, answers, notes and times. An event of this `kind` is the tombstone."""
        rows = self._read("select number, detail from events where study = ? and participant = ?", study, who)
        details = [
            (json.dumps({name: value for name, value in json.loads(detail).items() if name in KEPT}), at, number)
            for number, detail in rows
        ]
        self._db.execute("pragma secure_delete=on")
        self._write(
            ("delete from events where study = ? and participant = ? and kind = 'noted'", [(study, who)]),
            ("update events set detail = ?, at = ? where number = ?", details),
            ("update participants set pid = ? where id = ?", [(f"forgotten {who}", who)]),
            (
                "insert into events (study, participant, at, kind, detail) values (?, ?, ?, ?, '{}')",
                [(study, who, at, kind)],
            ),
        )

    def erase_answers(self, table: str) -> None:
        """Erases all answers at a table, whose match then counts as given up."""
        self._write(
            ("delete from answers where place = ?", [(table,)]),
            ("update tables set status = 'closed', why = 'erased', message = '' where id = ?", [(table,)]),
        )

    def compact(self) -> None:
        """Writes the file anew, so that nothing that was erased is left in it or in its journal."""
        try:
            for command in ("vacuum", "pragma wal_checkpoint(truncate)"):
                self._db.execute(command).fetchall()
        except sqlite3.Error as error:
            raise Blocked(f"{display_path(self._path)} cannot be written: {_why(error)}") from None

    def terms(self, study: str) -> str | None:
        """The terms of a study, as JSON; None if nobody has begun it, or for a file of an earlier version."""
        if not self._read("select 1 from sqlite_master where name = 'begun'"):
            return None
        return next((terms for (terms,) in self._read("select terms from begun where study = ?", study)), None)

    def keep_terms(self, study: str, terms: str) -> None:
        """Stores the terms of a study, unless there are some already."""
        self._write(("insert or ignore into begun values (?, ?)", [(study, terms)]))

    @property
    def is_used(self) -> bool:
        """Whether the store has a table or a participant, so that keys may exist."""
        return bool(self._read("select 1 from tables union all select 1 from participants limit 1"))

    def studies(self) -> list[str]:
        """The studies in which something has happened."""
        return [name for (name,) in self._read("select distinct study from events order by study")]


def _values_of(row: TableRow) -> dict[str, Any]:
    """The columns of a table whose values SQLite has as text or as a number. Raises ValueError."""
    columns = row._asdict()
    values = {name: columns[name] and json.loads(columns[name]) for name in AS_JSON}
    values |= {name: values[name] and tuple(values[name]) for name in ("entrants", "aids")}
    return values | {name: bool(columns[name]) for name in AS_BOOL}


def _why(error: Exception) -> str:
    """The cause of an error, in words."""
    return str(error) or "there is no more memory"
