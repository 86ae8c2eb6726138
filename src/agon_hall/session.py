"""A running study in a hall.

It admits people, matches them, notices who leaves, and stores every event before a page shows it.
"""

import json
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from agon.agents.languages import say_in
from agon.errors import AgonError
from agon_hall import Refusal
from agon_hall.keys import equal_texts
from agon_hall.links import SIGNATURE
from agon_hall.people import Consent, Terms
from agon_hall.protocol import END, Cell, Study, cells, match_id, require_interviews_named, seat_cell
from agon_hall.schedule import schedule
from agon_hall.study import (
    BEFORE,
    LATE,
    NOTE,
    Event,
    State,
    assign_cell,
    ending,
    fold_events,
    next_state,
    own_page,
    require_unchanged,
    terms_of,
)
from agon_hall.table import Table
from agon_hall.tables import Hall

log = logging.getLogger("agon_hall")

HERE = 15.0
"""Seconds for a page without a stream, as without JavaScript.

Only people who have read their page within this time are matched.
"""
NOTES = 5000
"""The most notes on a participant (refusals, look-ups, pages that open and close). Nobody fills the disk with them."""
ALL = ""
"""The key of the watchers of all participants."""


class RejectedForm(NamedTuple):
    """A form that was refused. The page shows it again, with the reason, until the participant sends another."""

    place: str
    """The place on the way (State.place)."""
    answers: Mapping[str, str] = MappingProxyType({})
    faults: Mapping[int, str] = MappingProxyType({})
    """The place of a question -> the fault of its answer."""
    why: str = ""


def steady_clock(earliest: float) -> Callable[[], float]:
    """A clock of seconds since 1970 that is set once: to the machine's time, or to `earliest` if that is later.

    It goes on evenly when somebody sets the machine's clock, so that nobody's wait is too long or below zero. It also
    counts while the machine sleeps.
    """
    running = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    start = max(time.time(), earliest) - time.clock_gettime(running)
    return lambda: start + time.clock_gettime(running)


class Session:
    """A study in a hall. `clock` returns the seconds since 1970; None for a steady clock after all earlier events."""

    def __init__(self, hall: Hall, study: Study, clock: Callable[[], float] | None = None) -> None:
        events = [Event(*event) for event in hall.store.events(study.name)]
        self.hall, self.study = hall, study
        self.clock = clock or steady_clock(max((event.at for event in events), default=0.0))
        self.cells = {cell.name: cell for cell in cells(study)}
        for cell in self.cells.values():
            require_interviews_named(study, cell)
        words = json.dumps(msgspec.to_builtins(study.consent), ensure_ascii=False, sort_keys=True)
        self.say = say_in(study.language, study.words)
        """The hall's own sentences, in the study's language."""
        self.consent = Consent(f"{study.name}-{sha256(words.encode()).hexdigest()[:8]}", words)
        require_unchanged(study, hall.store.terms(study.name))
        self.states: dict[str, State] = fold_events(study, events)
        self._places = {(at, seat): who for who, s in self.states.items() for _, at, seat in s.tables}
        """Table and seat -> the participant there."""
        self.last_seen = dict.fromkeys(self.states, self.clock())
        """Participant -> the time of their last open page. After a restart everybody has time to come back."""
        self.pages = Counter[str]()
        """Participant -> the number of their open pages with a stream."""
        self.absentees = set(self.states)
        """Participants who have closed their last page and opened none since."""
        self._notes = Counter(event.participant for event in events if event.kind == NOTE)
        """Participant -> the number of notes on them."""
        self.rejections: dict[str, RejectedForm] = {}
        """Participant -> their last form, if it was refused."""
        self.watchers: dict[str, set[Callable[[], object]]] = defaultdict(set)
        """Participant -> callbacks for news about them. Those of ALL get all news, and every tick."""
        for state in self.states.values():
            if state.stage == "match" and hall.find(state.table) is None:
                raise AgonError(
                    f"study {study.name}: a match cannot go on, as its game or an agent is not in conf/ any more"
                )
        for table in hall.tables.values():
            self._attach(table)
        hall.table_listeners.append(self._attach)

    # --- keys

    def key(self, who: str) -> str:
        """The key of a participant's pages."""
        return self.hall.keys.key_of("participant", who)

    def at(self, who: str) -> str:
        """The address of a participant's pages."""
        return f"/part/{self.study.name}?key={self.key(who)}"

    def link(self, pid: str) -> str:
        """The link for a participant without a platform. It has a signature if the study needs one."""
        signature = f"&{SIGNATURE}={self._signature(pid)}" if self.study.signed else ""
        return f"/join/{self.study.name}?pid={quote(pid, safe='')}{signature}"

    def admits(self, source: str, pid: str, signature: str) -> bool:
        """Whether a link is accepted. A study with `signed` accepts only personal links with a valid signature."""
        return not self.study.signed or (source == "link" and equal_texts(signature, self._signature(pid)))

    def _signature(self, pid: str) -> str:
        return self.hall.keys.signature(f"link/{self.study.name}/{pid}", 16)

    def participant_of(self, key: str) -> str | None:
        """The participant of a key; None if the key is not valid, or if they were forgotten."""
        who = self.hall.keys.message_of("participant", key)
        return who if who in self.states and not self.states[who].is_forgotten else None

    def code(self, who: str) -> str | None:
        """The completion code of a participant; None if there is none, or not yet."""
        kind = ending(self.study, self.states[who])
        default = self.hall.keys.signature(f"code/{kind}/{who}", 10).upper()
        return kind and self.study.finish.codes.get(kind, default)

    # --- events of participants

    def knows(self, source: str, pid: str) -> bool:
        """Whether the participant has come before."""
        return (source, pid) in self.hall.store.sources(self.study.name).values()

    def join(self, source: str, pid: str) -> str:
        """The participant of a link.

        The same link is always the same participant. Raises Refusal if this cannot be stored.
        """
        who = self.hall.store.participant(self.study.name, source, pid)
        if who not in self.states:
            self.hall.store.keep_terms(self.study.name, msgspec.json.encode(terms_of(self.study)).decode())
            self.do(who, "arrived", source=source)
        self.mark_presence(who)
        return who

    def mark_presence(self, who: str, change: int = 0) -> None:
        """A page of theirs, of the study or at their table, is read, or opens (`change` 1), or closes (-1)."""
        self.last_seen[who] = self.clock()
        self.pages[who] += change
        if change < 0 and self.pages[who] <= 0:
            self.absentees.add(who)
        else:
            self.absentees.discard(who)

    def is_here(self, who: str) -> bool:
        """Whether a page of the participant is open."""
        return self.pages[who] > 0

    def _is_waiting(self, who: str, cell: Cell, now: float) -> bool:
        """Whether the participant waits in the lobby of a cell with the page open, and can be matched."""
        state, recent = self.states[who], now - self.last_seen.get(who, 0.0) <= HERE and who not in self.absentees
        return state.stage == "lobby" and state.cell == cell.name and (self.is_here(who) or recent)

    def do(self, who: str, kind: str, **detail: Any) -> State:
        """Stores an event of a participant, with its `detail`, and returns their new state.

        Of notes only the first NOTES are stored. Raises Refusal, and changes nothing, if the event cannot happen now or
        cannot be stored.
        """
        if kind == NOTE:
            self._notes[who] += 1
            if self._notes[who] > NOTES:
                return self.states[who]
            if self._notes[who] == NOTES:
                detail = {"what": "no more notes are kept"}
        if kind == "consented":
            next_state(
                self.study, self.states[who], Event(who, 0.0, kind, {"cell": ""})
            )  # raises Refusal if they may not
            cell = assign_cell(self.study, list(self.cells.values()), self.states)
            kind, detail = ("full", {}) if cell is None else (kind, {"cell": cell, "version": self.consent.version})
            if cell is not None and self.study.matches.paid == "one":
                detail["seed"] = self.hall.keys.signature(f"paid/{who}", 16)
        playing = self.states.get(who, State()).stage == "match"
        self._record([Event(who, self.clock(), kind, detail)])
        if playing and kind in ("withdrew", "removed") and (table := self.table(who)) is not None:
            table.drop(self._seat(who))
        return self.states[who]

    def spoilt(self, who: str) -> list[str]:
        """The participants of a match or group that somebody has left and whose places are kept; empty if none are."""
        group = self.states[who].group
        members = [each for each, state in self.states.items() if group and state.group == group]
        kept = [each for each in members if not self.states[each].is_released]
        return kept if any(self.states[each].has_left_match for each in kept) else []

    def release(self, who: str) -> None:
        """Frees the places of the participant's match or group (`spoilt`). Raises Refusal if it cannot be stored."""
        self._record([Event(each, self.clock(), "released", {}) for each in self.spoilt(who)])

    def _record(self, events: Sequence[Event]) -> None:
        """Stores events, all or none."""
        states = [next_state(self.study, self.states.get(event.participant, State()), event) for event in events]
        try:
            self.hall.store.add_events(self.study.name, [(*event[:3], dict(event.detail)) for event in events])
        except AgonError:
            raise Refusal("This could not be kept, and has not been done. Please try again in a moment.") from None
        for event, state in zip(events, states, strict=True):
            self.states[event.participant] = state
            if state.seat is not None:
                self._places[state.table, state.seat] = event.participant
        for participant in {*(event.participant for event in events if event.kind != NOTE), ALL}:
            self._notify(participant)

    def _notify(self, who: str) -> None:
        for watcher in list(self.watchers.get(who, ())):
            watcher()

    # --- matches

    def table(self, who: str) -> Table | None:
        """The table of a participant; None before their match."""
        state = self.states[who]
        return self.hall.find(state.table) if state.table else None

    def _seat(self, who: str) -> int:
        seat = self.states[who].seat
        assert seat is not None
        return seat

    def tick(self) -> None:
        """Does what is due: matches people, ends waits that took too long, and notices who has left or finished."""
        now = self.clock()
        self._notify(ALL)
        for who, state in list(self.states.items()):
            if self.is_here(who):
                self.mark_presence(who)
            silence = now - self.last_seen.get(who, now)
            others_wait = state.stage == "lobby" or state.group
            most = self.study.dropout.away if others_wait else self.study.idle
            with suppress(Refusal):
                if state.stage == "match":
                    self._check_match(who, silence)
                elif state.stage in (*BEFORE, "page") and silence > most and not state.match_over:
                    self.do(who, "left", stage=state.stage)
                elif (left := self.seconds_left(who)) is not None and left <= 0 and state.stage == "page":
                    self.do(who, "answered", page=own_page(self.study, state).name, late=True)
        self._match_waiting(now)
        for who, state in list(self.states.items()):
            if state.stage == "lobby" and not state.group and (self.seconds_left(who) or 0.0) < 0:
                with suppress(Refusal):
                    self.do(who, "unmatched")

    def seconds_left(self, who: str) -> float | None:
        """The seconds after which the page of a participant goes on by itself; None if it does not."""
        state = self.states[who]
        if state.stage == "lobby" and not state.group:
            return (1 + state.longer) * self.study.lobby.seconds - (self.clock() - state.since)
        if state.stage == "page" and state.to_play and state.member is not None:
            return self.study.matches.seconds - (self.clock() - state.since)
        return None

    def look(self, who: str) -> State:
        """The current state of a participant. A match that is over is noticed at once."""
        if self.states[who].stage == "match":
            with suppress(Refusal):
                self._check_match(who, 0.0)
        return self.states[who]

    def _check_match(self, who: str, silence: float) -> None:
        """Stores that the match of a participant is over, or that they have left it; `silence` is in seconds."""
        table, seat = self.table(who), self._seat(who)
        if table is not None and table.status == "waiting":  # the server was killed at this point
            self._take_seats(table)
        if table is None or table.status in ("closed", "stopped"):
            if table is not None and table.status == "stopped":
                table.give_up(table.why)  # participants do not wait until a host continues it
            points = 0.0 if table is None else table.totals[seat]
            self.do(who, "finished", points=points, whole=False, why="" if table is None else table.why)
        elif table.status == "over" and table.state is not None:
            self.do(who, "finished", points=table.totals[seat], whole=True)
        elif not table.going.is_set():
            self.last_seen[who] = self.clock()  # nobody need be there in a pause
        elif silence > self.study.dropout.away:
            self._drop(who, "away")

    def _drop(self, who: str, how: str) -> None:
        table, seat = self.table(who), self._seat(who)
        self.do(who, "dropped", how=how)
        if table is not None:
            table.drop(seat)

    def _match_waiting(self, now: float) -> None:
        """Opens a match for each group that is complete.

        Those who have waited longest come first; seats are drawn at random.
        """
        for cell in self.cells.values():
            waiting = sorted(
                (state.since, who) for who, state in self.states.items() if self._is_waiting(who, cell, now)
            )
            free = [who for _, who in waiting if not (cell.group and self.states[who].group)]
            while len(free) >= cell.size:
                group, free = free[: cell.size], free[cell.size :]
                if cell.group:
                    self._form_group(group, now)
                else:
                    self._open_match(cell, [*group])
            if cell.group:
                self._match_groups(cell, {who for _, who in waiting})

    def _form_group(self, group: Sequence[str], now: float) -> None:
        name = self.hall.keys.signature(f"group/{'/'.join(group)}", 16)
        with suppress(Refusal):  # the next tick tries it again
            self._record(
                [Event(who, now, "grouped", {"group": name, "member": place}) for place, who in enumerate(group)]
            )

    def _match_groups(self, cell: Cell, waiting: set[str]) -> None:
        """Opens the next matches of groups, as soon as all people of a match wait or are out of the study."""
        groups = defaultdict[str, dict[int, str]](dict)
        for who, state in self.states.items():
            if state.cell == cell.name and state.member is not None:
                groups[state.group][state.member] = who
        for name, members in groups.items():
            if waiting.isdisjoint(members.values()):
                continue
            for turn, division in enumerate(schedule(cell.group, len(cell.people), self.study.matches.number, name)):
                for match in division:
                    players = [members[member] for member in match]
                    ready = {who for who in players if who in waiting and len(self.states[who].results) == turn}
                    if ready and all(who in ready or self.states[who].why for who in players):
                        self._open_match(cell, [who if who in ready else None for who in players])

    def _open_match(self, cell: Cell, group: list[str | None]) -> None:
        """Opens a match of these participants. None stands for somebody who is out: the script plays there."""
        matches = {match for state in self.states.values() if state.cell == cell.name for match, *_ in state.tables}
        match = match_id(self.study, cell, len(matches))
        Random(match).shuffle(group)
        try:
            table = self._table_of(cell, match)
            now, where = self.clock(), {"table": table.id, "match": match}
            seated = [(seat, who) for seat, who in zip(cell.people, group, strict=True) if who is not None]
            self._record([Event(who, now, "matched", where | {"seat": seat}) for seat, who in seated])
        except AgonError as error:  # they go on waiting, and are paid for it
            log.error("study %s: no match of %s can begin: %s", self.study.name, cell.name, error)
            return
        self._attach(table)
        self._take_seats(table)

    def _table_of(self, cell: Cell, match: str) -> Table:
        """The table of a match: a new one, or the one that a server has opened before it was killed."""
        known = next((row.id for row in self.hall.store.tables() if row.match == match), "")
        budget = msgspec.to_builtins(self.study.budget)
        return self.hall.find(known) or self.hall.open(
            cell.game, cell.entrants, self.study.seconds, budget, match, cell.aids, True, words=self.consent
        )

    def _take_seats(self, table: Table) -> None:
        for seat in table.people:
            with suppress(Refusal):  # the seat is taken already
                table.sit(seat, "Participant")

    def _attach(self, table: Table) -> None:
        """Applies the study's terms to a table, if the table belongs to the study."""
        sitting = {seat: who for (place, seat), who in self._places.items() if place == table.id}
        if not sitting:
            return

        def plays(seat: int) -> bool:
            state = self.states[sitting[seat]] if seat in sitting else State()
            return state.stage == "match" and state.table == table.id

        def next_page(seat: int) -> str:
            return self.at(sitting[seat]) if seat in sitting else ""

        def drop(seat: int) -> None:
            with suppress(Refusal):  # the next missed answer tries it again
                if plays(seat):
                    self._drop(sitting[seat], LATE)
                table.drop(seat)  # also for a person who is out already, if it could not be stored then

        def mark_presence(seat: int, change: int) -> None:
            if seat in sitting:
                self.mark_presence(sitting[seat], change)

        def note(seat: int, kind: str, detail: Mapping[str, Any]) -> None:
            with suppress(Refusal):  # a note that is lost must not stop the match
                if plays(seat):
                    self.do(sitting[seat], NOTE, what=kind, **detail)

        script = None
        if self.study.dropout.then != END:
            cell = Cell("", table.row.game, (self.study.dropout.then,) * table.game.seats, (), 0)
            script = seat_cell(self.study, cell).seats[0]
        table.terms = Terms(
            self.consent,
            say=self.say,
            keeps_drafts=self.study.consent.drafts,
            stand_in=script,
            reveals=self.study.reveal,
            tells_who_left=self.study.dropout.told,
            timeouts=self.study.dropout.timeouts,
            next_page=next_page,
            drop=drop,
            mark_presence=mark_presence,
            note=note,
        )
        table.readers.update(table.people)  # they read the rules before the match
        at_table = {seat for seat, who in sitting.items() if not self.states[who].has_left_match}
        table.leavers.update({*table.people} - at_table)
        table.release()
