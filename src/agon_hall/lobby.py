"""The hall, where tables are made and found, and the page of who made one: its links, its budget, its end."""

import functools
import secrets
from typing import Any

import panel as pn

from agon import AgonError
from agon.conf import expand_settings, load, names
from agon.plan import PERSON, agents_for, models_for
from agon.turns import schema
from agon_hall.frame import LiveView
from agon_hall.look import WIDGETS, block, stack, text
from agon_hall.look import table as drawn
from agon_hall.tables import Hall, Refused, Table

PERSON_SHOWN = "a person"
ANY = "(any of them, drawn by the table)"
"""A setting that nobody at the table knows beforehand."""
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
            game = load("game", f"{name}/{settings[0]}" if settings[0] else name)
        except AgonError:  # its settings are not there
            continue
        if game.seats > 1:
            found[name] = settings if settings[0] else []
    return found


@functools.cache
def players(name: str) -> dict[str, bool]:
    """The agents that can play the games of a file, and whether each asks a model."""
    found = agents_for(_first(name))
    return {agent: asks for agent, asks in found.items() if not agent.startswith("rater")}  # which judge logs


@functools.cache
def asked(name: str) -> list[str]:
    """The models that agents may ask in the games of a file; stand-ins, which cost nothing, first."""
    return models_for(_first(name))


def _first(name: str) -> str:
    settings = offered()[name]
    return f"{name}/{settings[0]}" if settings else name


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
        self._form = TableForm(hall)
        self.panel = stack(
            block("<h1>Tables</h1>"),
            self._tables,
            block("<h2>A new table</h2>"),
            self._form.panel,
        )
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


class TableForm:
    """What a new table is to be: game, setting, who sits where, time, budget."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        games = {name.replace("_", " "): name for name in offered()}
        style = {"stylesheets": [WIDGETS], "sizing_mode": "stretch_width", "max_width": 480}
        self.game = pn.widgets.Select(name="Game", options=games, **style)
        self.setting = pn.widgets.Select(name="Setting or problem", options=[], **style)
        self.seats = stack()
        self.who: list[pn.widgets.Select] = []
        self.models: list[pn.widgets.Select] = []
        self.seconds = pn.widgets.TextInput(
            name="Seconds that a person may take for an answer (empty: no limit)", **style
        )
        self.usd = pn.widgets.TextInput(name="What its models may cost, in USD (empty: nothing that costs)", **style)
        self.tokens = pn.widgets.TextInput(name="Tokens that its models may use (empty: no limit)", **style)
        self.button = pn.widgets.Button(name="Make the table", button_type="primary", stylesheets=[WIDGETS])
        self.said = block("")
        self._style = style
        self.game.param.watch(self._game_chosen, "value")
        self.button.on_click(self._make)
        self.panel = stack(
            self.game,
            self.setting,
            self.seats,
            self.seconds,
            self.usd,
            self.tokens,
            self.button,
            self.said,
        )
        self._game_chosen()

    def _game_chosen(self, event: object = None) -> None:
        settings = offered()[self.game.value]
        self.setting.visible = bool(settings)
        self.setting.options, self.setting.value = ([ANY, *settings], ANY) if settings else ([], None)
        game = self._some()
        seats = load("game", game).seats
        agents = players(self.game.value)
        models = asked(self.game.value)
        kinds = {PERSON_SHOWN: PERSON}
        kinds |= {f"{name}, asks a model" if asks else name: name for name, asks in agents.items()}
        for seat in range(len(self.who), seats):
            self._seat(seat)
        for who, model in zip(self.who, self.models, strict=True):  # what was chosen stays where it can
            who.options, model.options = kinds, models
        self.seats.objects = [each for pair in zip(self.who[:seats], self.models, strict=False) for each in pair]

    def _seat(self, number: int) -> None:
        who = pn.widgets.Select(name=f"Seat {number + 1}", options={PERSON_SHOWN: PERSON}, **self._style)
        model = pn.widgets.Select(name=f"Model at seat {number + 1}", options=[], visible=False, **self._style)

        def chosen(event: Any) -> None:
            model.visible = players(self.game.value).get(who.value, False)

        who.param.watch(chosen, ["value", "options"])
        self.who.append(who)
        self.models.append(model)

    def _some(self) -> str:
        """The game with its setting, or with any."""
        name, settings = self.game.value, offered()[self.game.value]
        if not settings:
            return str(name)
        chosen = self.setting.value if self.setting.value in settings else secrets.choice(settings)
        return f"{name}/{chosen}"

    def _make(self, event: object) -> None:
        try:
            agents = players(self.game.value)
            entrants = [
                f"{who.value}@{model.value}" if agents.get(who.value) else who.value
                for who, model in zip(self.who[: len(self.seats.objects) // 2], self.models, strict=False)
            ]
            budget = _budget(self.usd, self.tokens)
            made = self.hall.open(self._some(), entrants, _number("The time", self.seconds.value or ""), budget)
        except AgonError as error:
            self.said.object = f'<p role="alert">{text(error)}</p>'
            return
        link = f"/host?key={self.hall.key('host', made.id)}"
        self.said.object = (
            f'<p role="status"><strong>The table is made.</strong> <a href="{link}">Its seats and links</a></p>'
        )


class HostPage:
    """The table as whoever made it sees it: a link for every person, the budget and what is spent, going on and giving up."""

    def __init__(self, hall: Hall, table: Table, origin: str) -> None:
        self.hall, self.table, self.origin = hall, table, origin
        self._stands, self._said = block(""), block("")
        self._usd, self._tokens = (
            pn.widgets.TextInput(name=f"Budget in {each}", value=_held(table, each.lower()), stylesheets=[WIDGETS])
            for each in ("USD", "tokens")
        )
        self._on = pn.widgets.Button(name="Let it go on", button_type="primary", stylesheets=[WIDGETS])
        self._end = pn.widgets.Button(name="Give the match up", stylesheets=[WIDGETS])
        self._sure = pn.widgets.Button(name="Yes, end it for good", visible=False, stylesheets=[WIDGETS])
        self._on.on_click(self._goes_on)
        self._end.on_click(self._asks)
        self._sure.on_click(self._gives_up)
        self._money = stack(self._usd, self._tokens, self._on)
        self._ending = stack(self._end, self._sure)
        self.panel = stack(
            block(f"<h1>Your table: {text(table.row.game.partition('/')[0])}</h1>{self._links()}"),
            self._stands,
            self._money,
            self._ending,
            self._said,
        )
        self.live = LiveView(self.draw, table.watching)
        self.draw()

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

    def draw(self) -> None:
        """How the table stands."""
        table = self.table
        people = table.store.people(table.id)
        rows = [
            [text(table.players[seat]), text(each.name), "away" if each.away else "here"]
            for seat, each in people.items()
        ]
        spent = ", ".join(f"{name} {value:,.4g}" for name, value in table.spent.items()) or "nothing"
        budget = (
            ", ".join(f"{name} {most:,.4g}" for name, most in table.row.budget.items() if most is not None)
            or "none set"
        )
        said = f"<p><strong>It is {text(STANDS[table.status])}.</strong> {text(table.why)}</p>"
        if table.status == "over":  # before, whoever made the table may be one of its players
            said += f"<p>It was {text(table.row.game)}, match {table.match.id}.</p>"
        said += f"<p>Steps so far: {table.steps}</p>"
        if table.models:
            said += f"<p>Spent on models: {text(spent)}; budget: {text(budget)}</p>"
        if rows:
            said += drawn("People at the table", ("Seat", "Chosen name", "Now"), rows)
        if self._stands.object != said:
            self._stands.object = said
        self._money.visible = table.status == "stopped"
        self._usd.visible = self._tokens.visible = bool(table.models)
        self._ending.visible = table.status in ("waiting", "playing", "stopped")

    def _goes_on(self, event: object) -> None:
        try:
            if self.table.models:
                self.table.allow(self.table.row.budget | _budget(self._usd, self._tokens))
            self.table.go_on()
        except AgonError as error:
            self._said.object = f'<p role="alert">{text(error)}</p>'

    def _asks(self, event: object) -> None:
        self._sure.visible = True
        self._said.object = '<p role="alert">A match that is given up cannot be played on, and is not used.</p>'

    def _gives_up(self, event: object) -> None:
        self._said.object = ""
        self.table.give_up()


def _held(table: Table, what: str) -> str:
    """A part of a table's budget, as it would be typed."""
    most = table.row.budget.get(what)
    return "" if most is None else f"{most:.15g}"


def _budget(usd: Any, tokens: Any) -> dict[str, float | None]:
    """A budget as typed. Raises Refused."""
    return {"usd": _number("The cost", usd.value or ""), "tokens": _number("The tokens", tokens.value or "")}


def _number(what: str, written: str) -> float | None:
    """An amount as typed; None where nothing is. Raises Refused."""
    if not written.strip():
        return None
    try:
        return float(written)
    except ValueError:
        raise Refused(f"{what} must be a number, not {written[:40]!r}.") from None
