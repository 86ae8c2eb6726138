"""The hall: all tables of a folder, and their keys."""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import time

from agon.errors import AgonError
from agon.games.pages import check_aids
from agon_hall import Refusal
from agon_hall.keys import Keys
from agon_hall.new_table import LANGUAGES, another_setting
from agon_hall.people import Consent, consent
from agon_hall.rules import require_rules
from agon_hall.seating import Seating, seating
from agon_hall.store import Store, TableRow
from agon_hall.table import Table, parse_budget, require_budget

log = logging.getLogger("agon_hall")

DAY = 86400
"""Seconds."""
DAYS = 30.0
"""Days for which a link is valid, and the password of a browser too."""


class Hall:
    """All tables of a folder, and their keys. It needs a running event loop, in which it continues the open matches."""

    def __init__(self, folder: Path, sampling: str | None = None, days: float = DAYS) -> None:
        self.folder, self.store, self.sampling, self.days = folder, Store(folder), sampling, days
        self.keys = Keys(folder / "secret", new=not self.store.is_used)
        self.tables: dict[str, Table] = {}
        self.watchers: set[Callable[[], object]] = set()
        """Called when there is a new table."""
        self.table_listeners: list[Callable[[Table], object]] = []
        """Called with every table before its match goes on, also if the table comes back from the store."""
        for row in self.store.tables():
            if row.status in ("waiting", "playing", "stopped"):
                try:
                    self._add(row)
                except AgonError as error:  # conf/ has its game or an agent no longer; it may come back
                    log.error("table %s cannot be taken up: %s", row.id, error)
        for table in self.tables.values():
            if table.status != "stopped":
                table.go_on()

    def _seating(self, row: TableRow) -> Seating:
        """The seating of a table. Raises AgonError if the players or the game's rules do not work."""
        players = seating(row.game, row.entrants, self.sampling, everybody=row.everybody, asides=row.asides)
        require_rules(players.game)
        return players

    def _add(self, row: TableRow, players: Seating | None = None) -> Table:
        table = self.tables[row.id] = Table(row, players or self._seating(row), self.store, self.folder)
        for callback in self.table_listeners:
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
        asides: bool = True,
        language: str = "en",
        words: Consent | None = None,
    ) -> Table:
        """Opens a new table.

        `seconds` is the time for an answer, and `match` the match's id (None for a random one). `aids` are shown to
        people (None for all). With `everybody` no first words come from the setting. Without `asides` nobody is asked
        questions that change nothing. `language` is that of the pages. `words` is the consent, if it is not the current
        text. Raises AgonError if the players cannot play the game, and Refusal for limits or a language that are not
        possible.
        """
        if seconds is not None and not 5 <= seconds <= 86400:
            raise Refusal("The time for an answer must be 5 to 86,400 seconds.")
        if language not in LANGUAGES:
            raise Refusal(f"There is no language {language}: conf/language has {', '.join(LANGUAGES[1:])}.")
        limits = parse_budget(budget or {})
        aids_shown = None if aids is None else tuple(aids)
        row = TableRow(secrets.token_hex(6), match or secrets.token_hex(8), game, tuple(entrants), seconds, limits, {})
        row = row._replace(aids=aids_shown, everybody=everybody, asides=asides, language=language, made=time())
        players = self._seating(row)
        check_aids(players.game, aids or ())
        for name, model in players.models.items():
            require_budget(name, model, limits)
        words = words or consent(language)
        self.store.add(row, words.version, words.words)
        table = self._add(row, players)
        table.go_on()
        self._forget()
        for watcher in list(self.watchers):
            watcher()
        return table

    def repeat(self, table: Table) -> Table:
        """The table of the next match of the same players. Everybody who asks comes to the same table.

        A game with settings has another setting. Raises Refusal for a match that is not over, and for one with
        models: only the host may spend money.
        """
        row = table.row
        if table.status != "over" or table.models:
            raise Refusal("This match cannot be repeated from here: ask its host for a new table.")
        match = self.keys.signature(f"repeat/{row.match}", 16)
        if (known := next((row.id for row in self.store.tables() if row.match == match), None)) is not None:
            if (found := self.find(known)) is None:
                raise Refusal("The next table cannot be opened: its game or an agent is gone.")
            return found
        return self.open(
            another_setting(row.game),
            row.entrants,
            row.seconds,
            row.budget,
            match,
            row.aids,
            everybody=row.everybody,
            asides=row.asides,
            language=row.language,
        )

    def _forget(self) -> None:
        """Drops tables whose match has ended and that nobody watches. The store still has them for `find`."""
        for table in list(self.tables.values()):
            if table.status in ("over", "closed") and not table.watchers and table.running is None:
                del self.tables[table.id]

    def place_of(self, what: str, key: str) -> tuple[Table, int | None] | None:
        """The table and the seat of a key; None if the key is not valid."""
        name, _, seat = (self.keys.message_of(what, key) or "").partition(".")
        table = self.find(name) if name else None
        return None if table is None else (table, int(seat) if seat else None)

    def has_expired(self, since: float) -> bool:
        """Whether a link from that time (seconds since 1970) has expired."""
        return time() > since + self.days * DAY

    def find(self, name: str) -> Table | None:
        """The table with that id, also after its end. None if there is none, or if conf/ has its game no longer."""
        if name not in self.tables and (row := self.store.table(name)):
            with suppress(AgonError):
                self._add(row).go_on()
        return self.tables.get(name)

    async def close(self) -> None:
        """Ends all matches and closes the store. The next Hall of this folder continues them."""
        for table in self.tables.values():
            table.watchers.clear()  # no page is drawn any more
            await table.close()
        self.store.close()
