"""The hall, where tables are made and found, and the page of who made one: its links, its budget, its end."""

import functools
import secrets
from collections.abc import Sequence
from typing import Any

from agon import AgonError
from agon.conf import expand_settings, load, names
from agon.games.html import alert, text
from agon.games.html import table as drawn
from agon.games.inputs import Button, Entered, LineField, ListField, Thing, TickField
from agon.games.pages import page_of
from agon.plan import PERSON, agents_for, models_for
from agon.turns import schema
from agon_hall.families import known_pages
from agon_hall.frame import LiveView
from agon_hall.inputs import Inputs
from agon_hall.look import block, stack
from agon_hall.tables import Hall, Refused, Table

PERSON_SHOWN = "a person"
ANY = "(any of them, drawn by the table)"
"""A setting that nobody at the table knows beforehand."""
HELPS = "What people are shown beyond what models are told"
STANDS = {
    "waiting": "waiting for people to sit down",
    "playing": "being played",
    "over": "over",
    "stopped": "stopped",
    "closed": "given up",
}


@functools.cache
def offered() -> dict[str, list[str]]:
    """Game files of conf/game that can be played at a table -> their settings; none for a game without."""
    found = {}
    for name in names("game"):
        try:
            settings = [each.partition("/")[2] for each in expand_settings([name])]
            game = _game(f"{name}/{settings[0]}" if settings[0] else name)
        except AgonError:  # its settings are not there
            continue
        if game.seats > 1:
            found[name] = settings if settings[0] else []
    return found


@functools.cache
def players(name: str) -> dict[str, bool]:
    """The agents that can play the games of a file, and whether each asks a model."""
    own = page_of(_game(_first(name)))
    others = {agent for page in known_pages().values() if page is not own for agent in page.own_agents}
    return {agent: asks for agent, asks in agents_for(_first(name)).items() if agent not in others}


@functools.cache
def asked(name: str) -> list[str]:
    """The models that agents may ask in the games of a file; stand-ins, which cost nothing, first."""
    return models_for(_first(name))


def _first(name: str) -> str:
    settings = offered()[name]
    return f"{name}/{settings[0]}" if settings else name


@functools.cache
def _game(name: str) -> Any:
    return load("game", name)


def warm() -> None:
    """Looks up all that the hall offers, which takes seconds, before anybody waits for it."""
    for name in offered():
        players(name)
        asked(name)
    schema()  # which is needed when a match is over


class HallPage:
    """All tables, and the form for another one."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self._tables = block("")
        self.form = Inputs(self._table)
        self.panel = stack(block("<h1>Tables</h1>"), self._tables, block("<h2>A new table</h2>"), self.form.panel)
        self.live = LiveView(self.draw, hall.watching)
        self.draw()

    def draw(self) -> None:
        """All tables, the newest first."""
        rows = [
            [
                text(str(each.game.name).replace("_", " ")),
                text(STANDS[each.status]),
                str(len(each.people)),
                f'<a href="/watch?table={each.id}">watch</a> '
                f'<a href="/host?key={self.hall.key("host", each.id)}">seats and links</a>',
            ]
            for each in reversed(self.hall.tables.values())
        ]
        head = ("Game", "How it stands", "People", "Pages")
        self._tables.object = drawn("Tables, newest first", head, rows) if rows else "<p>There are none yet.</p>"

    def _table(self, entered: Entered) -> list[Thing]:
        """What a new table is to be: game, setting, who sits where, time, budget, aids."""
        files = {name.replace("_", " "): name for name in offered()}
        file = ListField(key="game", label="Game", value=next(iter(files.values())), options=files)
        name = file.chosen(entered)
        settings, agents, models = offered()[name], players(name), asked(name)
        some = [ANY, *settings] if settings else [""]
        setting = ListField(
            key="setting", label="Setting or problem", value=some[0], options={each: each for each in some}
        )
        chosen = setting.chosen(entered)
        game = _game(f"{name}/{chosen}" if chosen in settings else _first(name))
        kinds = {PERSON_SHOWN: PERSON} | {f"{one}, asks a model" if asks else one: one for one, asks in agents.items()}
        seats: list[Thing] = []
        entrants = []
        for seat in range(game.seats):
            who = ListField(key=f"who/{seat}", label=f"Seat {seat + 1}", value=PERSON, options=kinds)
            model = ListField(
                key=f"model/{seat}",
                label=f"Model at seat {seat + 1}",
                value=next(iter(models), None),
                options={each: each for each in models},
            )
            asks = agents.get(who.chosen(entered), False)
            seats += [who, model] if asks else [who]
            entrants.append(f"{who.chosen(entered)}@{model.chosen(entered)}" if asks else who.chosen(entered))
        aids = page_of(game).aids
        helps = TickField(
            key=f"aids/{name}",
            label=HELPS,
            options={f"{aid}: {what}": aid for aid, what in aids.items()},
            value=list(aids),
        )

        def make() -> Entered:
            at = f"{name}/{chosen if chosen in settings else secrets.choice(settings)}" if settings else name
            try:
                seconds = _number("The time", entered.get("seconds"))
                made = self.hall.open(at, entrants, seconds, _budget(entered), aids=helps.chosen(entered))
            except AgonError as error:
                return {**entered, "said": alert(error)}
            link = f'<a href="/host?key={self.hall.key("host", made.id)}">Its seats and links</a>'
            return {**entered, "said": f'<p role="status"><strong>The table is made.</strong> {link}</p>'}

        marked: list[Thing] = [f"<p><strong>{HELPS}</strong></p>", helps]
        return [
            file,
            *([setting] if settings else []),
            *seats,
            LineField(key="seconds", label="Seconds that a person may take for an answer (empty: no limit)"),
            LineField(key="usd", label="What its models may cost, in USD (empty: nothing that costs)"),
            LineField(key="tokens", label="Tokens that its models may use (empty: no limit)"),
            *(marked if aids else []),
            Button("Make the table", make),
            str(entered.get("said", "")),
        ]


class HostPage:
    """The table as whoever made it sees it: a link for every person, the budget and what is spent, going on and giving up."""

    def __init__(self, hall: Hall, table: Table, origin: str) -> None:
        self.hall, self.table, self.origin = hall, table, origin
        self.inputs = Inputs(self._things)
        self.panel = self.inputs.panel
        self.live = LiveView(self.inputs.draw, table.watching)

    def _links(self) -> str:
        rows = []
        for seat, (player, entrant) in enumerate(zip(self.table.players, self.table.row.entrants, strict=True)):
            link = f"{self.origin}/seat?key={self.hall.key('seat', self.table.id, seat)}"
            own = f'<a href="{text(link)}">{text(link)}</a>' if entrant == PERSON else "answers by itself"
            rows.append([text(player), text(PERSON_SHOWN if entrant == PERSON else entrant), own])
        watch = f"{self.origin}/watch?table={self.table.id}"
        return (
            drawn("Send each person its own link: whoever has it plays that seat", ("Seat", "Who", "Link"), rows)
            + f'<p>To watch what is public: <a href="{text(watch)}">{text(watch)}</a></p>'
        )

    def _things(self, entered: Entered) -> list[Thing]:
        """How the table stands, and what its host can do."""
        table = self.table
        budget = [
            LineField(key=each.lower(), label=f"Budget in {each}", value=_held(table, each.lower()))
            for each in ("USD", "tokens")
        ]
        on = Button("Let it go on", lambda: self._goes_on(entered, budget))
        stopped: list[Thing] = [*budget, on] if table.models else [on]
        warned = alert("A match that is given up cannot be played on, and is not used.")
        ending = [Button("Give the match up", lambda: {**entered, "said": warned, "sure": True}, main=False)]
        sure = [Button("Yes, end it for good", self._gives_up, main=False)]
        open_ = table.status in ("waiting", "playing", "stopped")
        return [
            f"<h1>Your table: {text(table.row.game.partition('/')[0])}</h1>{self._links()}",
            self._stands(),
            *(stopped if table.status == "stopped" else []),
            *(ending if open_ else []),
            *(sure if open_ and "sure" in entered else []),
            str(entered.get("said", "")),
        ]

    def _stands(self) -> str:
        """How the table stands."""
        table, row = self.table, self.table.row
        people = table.store.people(table.id)
        rows = [
            [text(table.players[seat]), text(each.name), "away" if each.away else "here"]
            for seat, each in people.items()
        ]
        said = f"<p><strong>It is {text(STANDS[table.status])}.</strong> {text(table.why)}</p>"
        if table.status == "over":  # before, whoever made the table may be one of its players
            said += f"<p>It was {text(row.game)}, match {table.match.id}.</p>"
        said += f"<p>Steps so far: {table.steps}</p>"
        if row.aids is not None and (known := page_of(table.game).aids):
            said += f"<p>Aids shown to people: {text(', '.join(row.aids) or 'none')} (there are {text(', '.join(known))})</p>"
        if table.models:
            spent = ", ".join(f"{name} {value:,.4g}" for name, value in table.spent.items()) or "nothing"
            most = ", ".join(f"{name} {most:,.4g}" for name, most in row.budget.items() if most is not None)
            said += f"<p>Spent on models: {text(spent)}; budget: {text(most or 'none set')}</p>"
        return said + (drawn("People at the table", ("Seat", "Chosen name", "Now"), rows) if rows else "")

    def _goes_on(self, entered: Entered, budget: Sequence[LineField]) -> Entered:
        try:
            if self.table.models:
                held = {each.key: entered.get(each.key, each.value) for each in budget}
                self.table.allow(self.table.row.budget | _budget(held))
            self.table.go_on()
        except AgonError as error:
            return {**entered, "said": alert(error)}
        return {}

    def _gives_up(self) -> Entered:
        try:
            self.table.give_up()
        except Refused as refused:
            return {"said": alert(refused)}
        return {}


def _held(table: Table, what: str) -> str:
    """A part of a table's budget, as it would be typed."""
    most = table.row.budget.get(what)
    return "" if most is None else f"{most:.15g}"


def _budget(entered: Entered) -> dict[str, float | None]:
    """A budget as typed. Raises Refused."""
    return {"usd": _number("The cost", entered.get("usd")), "tokens": _number("The tokens", entered.get("tokens"))}


def _number(what: str, typed: str | None) -> float | None:
    """An amount as typed; None where nothing is. Raises Refused."""
    if not (typed or "").strip():
        return None
    try:
        return float(typed or "")
    except ValueError:
        raise Refused(f"{what} must be a number, not {(typed or '')[:40]!r}.") from None
