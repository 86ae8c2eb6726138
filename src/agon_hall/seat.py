"""The page of one seat at a table, and that of those who watch: what is asked, what is seen, what just happened."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import panel as pn

from agon.games import Observation
from agon.games.base import Event
from agon.games.html import alert, text
from agon.games.inputs import Button, Entered, LineField, Thing
from agon.games.pages import news, page_of
from agon_hall.board import Board
from agon_hall.forms import TurnForm
from agon_hall.frame import LiveView
from agon_hall.inputs import Inputs
from agon_hall.look import block, in_turn, stack
from agon_hall.rules import question_text, rules_text, title
from agon_hall.store import Person
from agon_hall.tables import NAME, Refused, Table

ALWAYS = {
    "position": "sticky",
    "top": "0",
    "z-index": "5",
    "background": "#ffffff",
    "border-bottom": "2px solid #8a8f98",
}
"""What must be in sight wherever one has scrolled: whose turn it is, what is asked, what just happened, how long is left."""
LAST = 160
"""Letters of what was done last that are shown above; the board has all of it."""
DONE = {
    "stopped": "The match has been stopped. Its host can let it go on; you lose nothing.",
    "closed": "The match was given up by its host.",
}


class SeatPage:
    """What a seat sees and may do; `seat` None: what anybody may see. `panel` shows it."""

    def __init__(self, table: Table, seat: int | None) -> None:
        self.table, self.seat = table, seat
        self._title, self._status, self._clock = block(""), block(""), block("")
        self._board: Board | None = None
        self._forms: list[TurnForm] = []
        """Two that take turns, so that pressing twice is never an answer to the next question, too. The first is shown."""
        self._asked: tuple[int, int] | None = None
        """The question that is asked: the run of the match, and the question's number."""
        self._question, self._said = block(""), block("", visible=False)
        self._own, self._seen, self._rules = stack(), stack(), block("")
        self._answers = stack(self._question, self._said)
        self._door, self._exit = Inputs(self._coming), Inputs(self._leaving)
        self.panel = stack(
            self._title,
            stack(self._status, self._clock, styles=ALWAYS),
            self._door.panel,
            self._own,
            self._answers,
            self._seen,
            self._rules,
            self._exit.panel,
        )
        self.live = LiveView(self.draw, table.watching)
        self.draw()
        if table.row.seconds is not None and pn.state.curdoc is not None:
            pn.state.add_periodic_callback(partial(in_turn, pn.state.curdoc, self._tick), 1000)

    def draw(self) -> None:
        """Shows how things stand; first the parts, which are sent in this order, and then whose turn it is."""
        view = self.table.view(self.seat)
        _show(self._title, self._named())
        self._door.draw()
        self._exit.draw()
        self._ask()
        self._tick()
        if view is not None:
            self._draw_board(view)
        _show(self._status, f'<div role="status" aria-live="polite">{self._stands(view)}</div>')

    def _draw_board(self, view: Observation) -> None:
        table = self.table
        totals = table.totals if table.status == "over" or not _hidden_totals(view) else None
        if self._board is None:
            self._board = Board(view, totals, table.players, table.row.aids)
            self._own.objects, self._seen.objects = self._board.own, self._board.rest
        else:
            self._board.update(view, totals)
        if not self._rules.object:
            self._tell(view)

    def _tell(self, view: Observation) -> None:
        """The rules."""
        told = rules_text(view, self.table.game, self.table.start)
        _show(self._rules, f"<details><summary>Rules</summary>{told}</details>")

    def _named(self) -> str:
        table = self.table
        who = "watching" if self.seat is None else f"you are {table.players[self.seat]}"
        return f"<h1>{text(title(table.game))}: {text(who)}</h1>"

    def _stands(self, view: Observation | None) -> str:
        """Whose turn it is, what is asked, and what just happened."""
        table = self.table
        if table.status in DONE:
            return f"<p><strong>{DONE[table.status]}</strong></p>"
        if view is None and table.status == "over":
            return "<p><strong>The match is over.</strong> It cannot be shown just now.</p>"
        if view is None:
            missing = set(table.people) - set(table.store.people(table.id))
            here = "" if self.seat in missing else f" Waiting for {_listed(table, sorted(missing))} to sit down."
            return f"<p>The match has not begun.{text(here)}</p>"
        said = []
        if table.status == "over":
            said.append("<p><strong>The match is over.</strong></p>")
            said.append(f"<p>{text('; '.join(self._results()))}</p>")
        elif (question := table.questions.get(-1 if self.seat is None else self.seat)) is not None:
            said.append(f"<p><strong>Your turn, round {view.round}: {text(question.view.phase)}.</strong></p>")
        else:
            if given := "" if self.seat is None else table.given.get(self.seat, ""):
                said.append(f"<p>You answered: {text(_short(given))}</p>")
            waited = _listed(table, table.waited_for())
            said.append(f"<p><strong>Round {view.round}.</strong> Waiting for {text(waited or 'the table')}.</p>")
        if table.waits:
            said.append("<p>What is done cannot be kept just now. The match goes on by itself when it can.</p>")
        if last := self._last(view):
            said.append(f"<p>Last: {text(last)}</p>")
        if away := [seat for seat, person in table.store.people(table.id).items() if person.away and seat != self.seat]:
            said.append(f"<p>Not at the table just now: {text(_listed(table, away))}.</p>")
        return "".join(said)

    def _last(self, view: Observation) -> str:
        """What was done last, by anybody; not what the table said."""
        own = "you" if self._has_answered() else "the table, for you"
        named = [own if seat == self.seat else player for seat, player in enumerate(self.table.players)]
        page = page_of(view.rules)
        for place, each in reversed(list(enumerate(view.past))):
            rounds = not isinstance(each, Event)
            if said := news(each, view, place, named, own="you") if rounds else page.latest(each, named):
                return _short(said)
        return ""

    def _has_answered(self) -> bool:
        """Whether the seat has ever answered; before, what it is said to have done is the setting's."""
        return self.seat is None or self.table.store.answer(self.table.id, self.seat, 0) is not None

    def _results(self) -> list[str]:
        named = zip(self.table.players, self.table.totals, strict=True)
        return [f"{player}: {total:g} points" for player, total in named]

    def _ask(self) -> None:
        """The form of the question that is open; what is typed into it stays as long as it is open."""
        found = None if self.seat is None else self.table.questions.get(self.seat)
        person = self._person()
        asked = None if found is None or person is None or person.away else (id(found), found.number)
        if asked == self._asked:
            return
        self._answers.visible = asked is not None
        if found is not None and asked is not None:  # else what is there may be asked again
            self._show_form(found.view)
        self._asked = asked

    def _show_form(self, view: Observation) -> None:
        for each in self._forms:  # what is changed first is sent first: there is never more than one
            each.panel.visible = False
        if len(self._forms) < 2:
            self._forms.insert(0, TurnForm(view, self._send, self._said, self.table.row.aids))
            self._answers.objects = [self._question, *(each.panel for each in self._forms), self._said]
        else:
            self._forms.reverse()
            self._forms[0].again(view)
        self._forms[0].refuse("")  # what was said of the last answer
        _show(self._question, question_text(view))
        self._tell(view)
        self._forms[0].panel.visible = True

    def _send(self, actions: list[Any]) -> str | None:
        assert self.seat is not None
        if self._asked is None:
            return "This has been answered already: the page shows what came of it."
        try:
            self.table.answer(self.seat, self._asked[1], actions)
        except Refused as refused:
            return str(refused)
        return None

    def _person(self) -> Person | None:
        """Who sits here."""
        return None if self.seat is None else self.table.store.people(self.table.id).get(self.seat)

    def _coming(self, entered: Entered) -> list[Thing]:
        """Sitting down with a name and an agreement."""
        seat, table = self.seat, self.table
        if seat is None or self._person() is not None:
            return []

        def sit() -> Entered:
            try:
                table.sit(seat, str(entered.get("name") or ""))
            except Refused as refused:
                return {**entered, "said": alert(refused)}
            return {}

        return [
            f"<h2>Before you play</h2><p>{text(table.consent.words)}</p>",
            LineField(key="name", label="A name for you at this table", most=NAME, wide=300, live=True),
            Button("I agree, and sit down", sit, wide=300),
            str(entered.get("said", "")),
        ]

    def _leaving(self, entered: Entered) -> list[Thing]:
        """Leaving for a time, and coming back."""
        seat, table, person = self.seat, self.table, self._person()
        if seat is None or person is None or not (person.away or table.status == "playing"):
            return []

        def leave() -> Entered:
            try:
                table.leave(seat, away=not person.away)
            except Refused as refused:
                return {"said": alert(refused)}
            return {}

        name = "I am back" if person.away else "Leave for now"
        return [Button(name, leave, main=False, wide=300, key="leave"), str(entered.get("said", ""))]

    def _tick(self) -> None:
        question = None if self.seat is None else self.table.questions.get(self.seat)
        left = None if question is None else question.left()
        said = (
            ""
            if left is None
            else f'<p role="timer" aria-live="off">Time left: {left:.0f} seconds; then you have given no answer</p>'
        )
        _show(self._clock, said)


def _hidden_totals(view: Observation) -> bool:
    """Points so far are known where all that has been played is."""
    return any(isinstance(each, Event) for each in view.past[:1])


def _short(words: str) -> str:
    return words if len(words) <= LAST else f"{words[:LAST]}..."


def _listed(table: Table, seats: Sequence[int]) -> str:
    return ", ".join(table.players[seat] for seat in seats)


def _show(pane: Any, html: str) -> None:
    if pane.object != html:
        pane.object = html
