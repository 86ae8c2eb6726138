"""The hall: all tables of a folder, and what opens them."""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import time

from agon.errors import AgonError
from agon.games.pages import check_aids
from agon_hall import Refused
from agon_hall.keys import Keys
from agon_hall.people import Consent, consent
from agon_hall.rules import require_rules
from agon_hall.seating import Seating, seating
from agon_hall.store import Store, TableRow
from agon_hall.table import Table, parse_budget, require_budget

log = logging.getLogger("agon_hall")

DAY = 86400
"""Seconds."""
DAYS = 30.0
"""Days for which a link holds, and the password once it was given."""


class Hall:
    """All tables of a folder, and the keys to them. Made in a running event loop, in which it goes on with what was played."""

    def __init__(self, folder: Path, sampling: str | None = None, days: float = DAYS) -> None:
        self.folder, self.store, self.sampling, self.days = folder, Store(folder), sampling, days
        self.keys = Keys(folder / "secret", new=not self.store.used)
        self.tables: dict[str, Table] = {}
        self.watching: set[Callable[[], object]] = set()
        """Told when there is another table."""
        self.taken_up: list[Callable[[Table], object]] = []
        """Told of every table before its match goes on, also of one that was forgotten meanwhile."""
        for row in self.store.tables():
            if row.status in ("waiting", "playing", "stopped"):
                try:
                    self._add(row)
                except AgonError as error:  # its game or an agent is gone from conf/; it may come back
                    log.error("table %s cannot be taken up: %s", row.id, error)
        for table in self.tables.values():
            if table.status != "stopped":
                table.go_on()

    def _seated(self, row: TableRow) -> Seating:
        """Who plays what. Raises AgonError where they cannot, or where its prompt cannot be shown to people."""
        seats = seating(row.game, row.entrants, self.sampling, everybody=row.everybody)
        require_rules(seats.game)
        return seats

    def _add(self, row: TableRow, seated: Seating | None = None) -> Table:
        table = self.tables[row.id] = Table(row, seated or self._seated(row), self.store, self.folder)
        for callback in self.taken_up:
            callback(table)
        return table

    def open(
        self,
        game: str,
        entrants: Sequence[str],
        seconds: float | None = None,
        budget: Mapping[str, float | None] | None = None,
        match: str | None = None,
        aids: Sequence[str] | None = None,
        everybody: bool = False,
        words: Consent | None = None,
    ) -> Table:
        """A new table; `match` is the match's id, drawn where it is None, `aids` what people are shown, all where it is None.

        `everybody`: nobody's opening is taken from the setting. `words` is what people have agreed to, where it is not the text in force.

        Raises AgonError where these cannot play, and Refused.
        """
        if seconds is not None and not 5 <= seconds <= 86400:
            raise Refused("The time for an answer must be 5 to 86,400 seconds.")
        allowed = parse_budget(budget or {})
        aids_shown = None if aids is None else tuple(aids)
        row = TableRow(secrets.token_hex(6), match or secrets.token_hex(8), game, tuple(entrants), seconds, allowed, {})
        row = row._replace(aids=aids_shown, everybody=everybody, made=time())
        seated = self._seated(row)
        check_aids(seated.game, aids or ())
        for name, model in seated.models.items():
            require_budget(name, model, allowed)
        words = words or consent()
        self.store.add(row, words.version, words.words)
        table = self._add(row, seated)
        table.go_on()
        self._forget()
        for watcher in list(self.watching):
            watcher()
        return table

    def _forget(self) -> None:
        """Tables whose match has ended, and at which nobody looks, are in the store alone, where `find` finds them."""
        for table in list(self.tables.values()):
            if table.status in ("over", "closed") and not table.watching and table.running is None:
                del self.tables[table.id]

    def opened(self, what: str, key: str) -> tuple[Table, int | None] | None:
        """The table, and the seat, that a key is for; None for a key that is none."""
        name, _, seat = (self.keys.opens(what, key) or "").partition(".")
        table = self.find(name) if name else None
        return None if table is None else (table, int(seat) if seat else None)

    def expired(self, since: float) -> bool:
        """Whether a link that was given out at that time (seconds since 1970) holds no longer."""
        return time() > since + self.days * DAY

    def find(self, name: str) -> Table | None:
        """The table of that name, also one that is over; None when there is none, or its game is gone."""
        if name not in self.tables and (row := self.store.table(name)):
            with suppress(AgonError):
                self._add(row).go_on()
        return self.tables.get(name)

    async def close(self) -> None:
        """Ends all; the next Hall of this folder goes on."""
        for table in self.tables.values():
            table.watching.clear()  # no page is drawn any more
            await table.close()
        self.store.close()
