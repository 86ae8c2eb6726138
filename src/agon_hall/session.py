"""A study under way in a hall: lets people in, has them meet, sees who leaves, and keeps all of it before anybody is told."""

import hmac
import json
import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from random import Random
from time import time
from typing import Any
from urllib.parse import quote

import msgspec

from agon import AgonError
from agon.protocol import END, Cell, Study, cells, match_id, seated, words_of
from agon_hall.language import spoken
from agon_hall.study import BEFORE, NOTED, Event, State, after, assigned, ending, folded
from agon_hall.tables import Consent, Hall, Refused, Table

log = logging.getLogger("agon_hall")

HERE = 15.0
"""Seconds without a page after which somebody is not matched with others."""
PARAMETERS = {
    "PROLIFIC_PID": "prolific",
    "workerId": "mturk",
    "survey_code": "sona",
    "pid": "link",
    "participant": "link",
}
"""Parameter of a link by which participants are told apart -> where they come from."""
SIGNED = "sig"
"""Parameter with a link's signature."""
ALL = ""
"""In the place of a participant: who is told of all."""
PID = 100
"""Letters that a participant's name may have."""
NAMED = re.compile(r"\w[\w .:@+~-]*")
"""What it is made of; it stands in a file that is opened in spreadsheets, which take `=` and the like for sums."""


def told_apart(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Source and name of a participant, from the parameters of a link; None where it has none. Raises Refused for no names."""
    for parameter, source in PARAMETERS.items():
        if pid := query.get(parameter, "").strip():
            if len(pid) > PID or not NAMED.fullmatch(pid):
                raise Refused("This link is not whole: please open it again where you found it.")
            return source, pid
    return None


class Session:
    """A study in a hall. `clock` gives the seconds since 1970."""

    def __init__(self, hall: Hall, study: Study, clock: Callable[[], float] = time) -> None:
        self.hall, self.study, self.clock = hall, study, clock
        self.cells = {cell.name: cell for cell in cells(study)}
        words = json.dumps(msgspec.to_builtins(study.consent), ensure_ascii=False, sort_keys=True)
        self.say = spoken(words_of(study))
        """The hall's own sentences, in the study's language."""
        self.consent = Consent(f"{study.name}-{sha256(words.encode()).hexdigest()[:8]}", words)
        self.states: dict[str, State] = folded(study, [Event(*each) for each in hall.store.events(study.name)])
        self.seen = dict.fromkeys(self.states, clock())
        """When a page of somebody was open last; after a restart everybody has time to come back."""
        self.pages = Counter[str]()
        """Pages that each has open and that are kept up to date."""
        self.watching: dict[str, set[Callable[[], object]]] = defaultdict(set)
        """Told of what changes for a participant; those of ALL, of anything and of time."""
        for state in self.states.values():
            table = hall.find(state.table) if state.stage == "match" else hall.tables.get(state.table)
            if table is not None:
                self._attach(table)
                if state.why in ("dropped", "withdrew") and state.seat is not None:
                    table.gone.add(state.seat)

    # --- keys

    def key(self, who: str) -> str:
        """What opens a participant's pages; nobody can guess it."""
        return self.hall.key("participant", who)

    def at(self, who: str) -> str:
        """The address of their pages."""
        return f"/part/{self.study.name}?key={self.key(who)}"

    def link(self, pid: str) -> str:
        """What brings somebody whom no platform sends; signed where nobody else may come."""
        signed = f"&{SIGNED}={self._signature(pid)}" if self.study.signed else ""
        return f"/join/{self.study.name}?pid={quote(pid, safe='')}{signed}"

    def admits(self, source: str, pid: str, signature: str) -> bool:
        """Whether a link lets in: any does, unless the study takes signed ones alone."""
        right = hmac.compare_digest(signature.encode(), self._signature(pid).encode())
        return not self.study.signed or (source == "link" and right)

    def _signature(self, pid: str) -> str:
        return hmac.new(self.hall.secret, f"link/{self.study.name}/{pid}".encode(), sha256).hexdigest()[:16]

    def opened(self, key: str) -> str | None:
        """The participant of a key; None for a key that is none."""
        who = key.partition(".")[0]
        return who if who in self.states and hmac.compare_digest(key.encode(), self.key(who).encode()) else None

    def pseudonym(self, who: str) -> str:
        """What a participant is called outside the store."""
        return pseudonym(self.hall.secret, who)

    def code(self, who: str) -> str | None:
        """The completion code; None where they are given none, or not yet."""
        kind = ending(self.study, self.states[who])
        own = hmac.new(self.hall.secret, f"code/{kind}/{who}".encode(), sha256).hexdigest()[:10].upper()
        return kind and self.study.finish.codes.get(kind, own)

    # --- what people do

    def knows(self, source: str, pid: str) -> bool:
        """Whether they have come before."""
        return (source, pid) in self.hall.store.came(self.study.name).values()

    def join(self, source: str, pid: str) -> str:
        """Who comes by a link: the same participant as the last time, however often and wherever it is opened. Raises Refused."""
        who = self.hall.store.participant(self.study.name, source, pid)
        if who not in self.states:
            self.do(who, "arrived", source=source)
        self.saw(who)
        return who

    def saw(self, who: str, opened: int = 0) -> None:
        """A page of theirs is open; or one is `opened` (1) or closed (-1) that is kept up to date."""
        self.seen[who] = self.clock()
        self.pages[who] += opened

    def here(self, who: str) -> bool:
        """Whether a page of theirs is open: of the study, or at their table."""
        state = self.states[who]
        table = self.hall.tables.get(state.table)
        return self.pages[who] > 0 or (table is not None and state.seat is not None and table.pages[state.seat] > 0)

    def do(self, who: str, kind: str, **detail: Any) -> State:
        """Something happens to a participant; it is kept when this returns. Raises Refused, and changes nothing, if it cannot."""
        if kind == "consented":
            after(self.study, self.states[who], Event(who, 0.0, kind, {"cell": ""}))  # may they, at all?
            cell = assigned(self.study, list(self.cells.values()), self.states)
            kind, detail = ("full", {}) if cell is None else (kind, {"cell": cell, "version": self.consent.version})
        self._all([Event(who, self.clock(), kind, detail)])
        if kind == "withdrew" and (table := self.table(who)) is not None:
            table.drop(self._seat(who))
        return self.states[who]

    def _all(self, events: Sequence[Event]) -> None:
        """Keeps events, all or none."""
        states = [after(self.study, self.states.get(event.participant, State()), event) for event in events]
        try:
            self.hall.store.happened(self.study.name, [(*event[:3], dict(event.detail)) for event in events])
        except AgonError:
            raise Refused("This could not be kept, and has not been done. Please try again in a moment.") from None
        self.states |= zip((event.participant for event in events), states, strict=True)
        for each in {*(event.participant for event in events if event.kind != NOTED), ALL}:
            self._changed(each)

    def _changed(self, who: str) -> None:
        for told in list(self.watching.get(who, ())):
            told()

    # --- matches

    def table(self, who: str) -> Table | None:
        """Where they play, or played."""
        state = self.states[who]
        return self.hall.find(state.table) if state.table else None

    def _seat(self, who: str) -> int:
        seat = self.states[who].seat
        assert seat is not None
        return seat

    def tick(self) -> None:
        """What comes with time: people meet, wait in vain, leave, and come to the end of their match."""
        now = self.clock()
        self._changed(ALL)
        for who, state in list(self.states.items()):
            if self.pages[who] > 0:
                self.saw(who)
            silent = now - self.seen.get(who, now)
            most = self.study.dropout.away if state.stage == "lobby" else self.study.idle
            with suppress(Refused):
                if state.stage == "match":
                    self._look_at(who, silent)
                elif state.stage in BEFORE and silent > most:
                    self.do(who, "left", stage=state.stage)
        self._meet(now)
        for who, state in list(self.states.items()):
            if state.stage == "lobby" and now - state.since > self.study.lobby.seconds:
                with suppress(Refused):
                    self.do(who, "unmatched")

    def look(self, who: str) -> State:
        """How somebody stands now: a match that is over is seen at once."""
        if self.states[who].stage == "match":
            with suppress(Refused):
                self._look_at(who, 0.0)
        return self.states[who]

    def _look_at(self, who: str, silent: float) -> None:
        """Somebody who plays: is the match over, are they still there?"""
        table, seat = self.table(who), self._seat(who)
        if table is not None and table.status == "waiting":  # as the server was killed just then
            self._sits(table, seat)
        if table is not None:
            silent = min(silent, self.clock() - table.seen.get(seat, 0.0))
            person = table.store.people(table.id).get(seat)
            if table.pages[seat] > 0 and person is not None and not person.away:
                self.saw(who)
                silent = 0.0
        if table is None or table.status in ("closed", "stopped"):
            if table is not None and table.status == "stopped":
                table.give_up(table.why)  # nobody waits until somebody lets it go on
            points = 0.0 if table is None else table.totals[seat]
            self.do(who, "finished", points=points, whole=False, why="" if table is None else table.why)
        elif table.status == "over" and table.state is not None:
            self.do(who, "finished", points=table.totals[seat], whole=True)
        elif silent > self.study.dropout.away:
            self._dropped(who, "away")

    def _dropped(self, who: str, how: str) -> None:
        table, seat = self.table(who), self._seat(who)
        self.do(who, "dropped", how=how)
        if table is not None:
            table.drop(seat)

    def _meet(self, now: float) -> None:
        """Those who wait sit down as soon as there are enough, the longest-waiting first; their seats are drawn."""
        for cell in self.cells.values():
            waiting = sorted(
                (state.since, who)
                for who, state in self.states.items()
                if state.stage == "lobby" and state.cell == cell.name and now - self.seen.get(who, 0.0) <= HERE
            )
            while len(waiting) >= len(cell.people):
                group, waiting = waiting[: len(cell.people)], waiting[len(cell.people) :]
                try:
                    self._sit(cell, [who for _, who in group])
                except AgonError as error:  # they wait, and are paid for it
                    log.error("study %s: no match of %s can begin: %s", self.study.name, cell.name, error)

    def _sit(self, cell: Cell, group: list[str]) -> None:
        number = len({state.match for state in self.states.values() if state.cell == cell.name and state.match})
        match = match_id(self.study, cell, number)
        Random(match).shuffle(group)
        made = next(
            (row for row in self.hall.store.tables() if row.match == match), None
        )  # of a server that was killed here
        table = self.hall.find(made.id) if made else None
        if table is None:
            budget = msgspec.to_builtins(self.study.budget)
            table = self.hall.open(
                cell.game, cell.entrants, self.study.seconds, budget, match, cell.aids, True, self.consent
            )
        self._attach(table)
        self._all(
            [
                Event(who, self.clock(), "matched", {"table": table.id, "match": match, "seat": seat})
                for seat, who in zip(cell.people, group, strict=True)
            ]
        )
        table.ways = dict(zip(cell.people, map(self.at, group), strict=True))
        for seat in cell.people:
            self._sits(table, seat)

    def _sits(self, table: Table, seat: int) -> None:
        with suppress(Refused):  # it does already
            table.sit(seat, "Participant")

    def _attach(self, table: Table) -> None:
        """Has the study's rule for who leaves hold at a table."""
        table.consent, table.timeouts = self.consent, self.study.dropout.timeouts
        table.keeps_drafts = self.study.consent.drafts
        table.say, table.language = self.say, self.study.language
        if self.study.dropout.then != END and table.stand_in is None:
            cell = Cell("", table.row.game, (self.study.dropout.then,) * table.game.seats, (), 0)
            table.stand_in = seated(self.study, cell).seats[0]

        def playing(seat: int) -> list[str]:
            return [w for w, s in self.states.items() if (s.table, s.seat, s.stage) == (table.id, seat, "match")]

        def dropped(seat: int) -> None:
            for who in playing(seat):
                self._dropped(who, "time was up")

        def noted(seat: int, kind: str, detail: Mapping[str, Any]) -> None:
            for who in playing(seat):
                with suppress(Refused):  # no reason to stop whoever plays
                    self.do(who, NOTED, what=kind, **detail)

        table.dropped, table.noted = dropped, noted
        table.read.update(table.people)  # as instructions, before
        table.ways = {s.seat: self.at(w) for w, s in self.states.items() if s.table == table.id and s.seat is not None}


def pseudonym(secret: bytes, who: str) -> str:
    """What a participant is called outside the store: a salted hash, by which nobody is found who does not have the salt."""
    return hmac.new(secret, f"pseudonym/{who}".encode(), sha256).hexdigest()[:12]
