"""Forms: what a seat may answer, as widgets. A form knows a view and nothing else, and sends only legal actions, once."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import panel as pn

from agon.games import Choice, MatrixGame, Observation, spaces
from agon.games.chameleon import game as chameleon
from agon.games.cost_sharing import game as costs
from agon.games.public_goods.game import PublicGoods
from agon.games.rating.game import Shown
from agon.games.tradecraft.calls import Calls
from agon.games.tradecraft.game import Facts
from agon.games.undercover import game as undercover
from agon_hall.boards.rounds import in_seat_order, left
from agon_hall.boards.scene import Scene
from agon_hall.forms.fields import Field, InvalidEntry, Sender, options
from agon_hall.forms.kinds import PartsField, field
from agon_hall.forms.trading import trading
from agon_hall.look import WIDEST, Block, button, line, number, stack, text

Send = Callable[[list[Any]], str | None]
"""Takes one or more legal actions, to be played one after another; None when they are accepted, or why they are not."""
BUTTONS = 8
"""Options that are a button each; more are a list to choose from."""


class Body(Protocol):
    """What is in a form."""

    panel: Any

    @property
    def widgets(self) -> list[Any]:
        """All that is closed once something has been accepted."""


class TurnForm:
    """Widgets for one view; `panel` shows them. A refusal is said in one line in `said`, and everything typed stays."""

    def __init__(self, view: Observation, send: Send, said: Block) -> None:
        self.view, self._send, self._said, self._closed = view, send, said, False
        self.body = _body(view, self)
        self.panel = self.body.panel

    def fits(self, view: Observation) -> bool:
        """Whether a view can be asked with the same form."""
        return (view.phase, view.legal) == (self.view.phase, self.view.legal) and isinstance(
            self.body, Buttons | Fields
        )

    def again(self, view: Observation) -> None:
        """Asks a view that fits, empty and open as at first."""
        assert isinstance(self.body, Buttons | Fields)
        self.body.again()
        self.view, self._closed = view, False

    def send(self, actions: Sequence[Any]) -> None:
        """Sends actions, unless some have been accepted already, or one is not legal."""
        if self._closed or not self.panel.visible:
            return None
        if any(action not in self.view.legal for action in actions):
            return self.refuse("This is not one of the answers that are allowed here.")
        self._closed = True  # while it is being sent, too
        reason: str | None = "This could not be sent. Please try again."
        try:
            reason = self._send(list(actions))
        finally:
            self._closed = reason is None
            if reason is not None:
                self.refuse(reason)
        for widget in self.body.widgets:
            widget.disabled = self._closed
        if self._closed:
            spelled = (
                "" if isinstance(self.view.legal, Calls) else f": {line(self.view.legal.spelled(actions[0]), 200)}"
            )
            self._say(f'<p role="status">✓ Sent{text(spelled)}</p>')
        return None

    def refuse(self, reason: str) -> None:
        """Says why nothing was sent."""
        self._say(f'<p role="alert" class="alert"><strong>Not sent.</strong> {text(reason)}</p>')

    def clear(self) -> None:
        """Takes back what was said last."""
        if self._said.object:
            self._said.param.update(object="", visible=False)

    def read(self, what: Callable[[], Any]) -> None:
        """Sends what a field holds, or says what is wrong with it."""
        if self._closed or not self.panel.visible:
            return None
        try:
            action = what()
        except InvalidEntry as error:
            return self.refuse(str(error))
        return self.send([action])

    def _say(self, html: str) -> None:
        if self._said.object == html:
            self._said.object = ""  # so that the same reason is said again
        self._said.param.update(object=html, visible=True)


def _body(view: Observation, form: Sender) -> Body:
    if isinstance(view.legal, Calls) and isinstance(view.rules, Facts):
        return trading(view, form)
    if isinstance(view.legal, Choice) and len(view.legal.options) <= BUTTONS:
        return Buttons(view.legal, form)
    if isinstance(view.legal, spaces.Form) and view.phase == "evaluate":
        return Fields(PartsField(view.legal, "", partial(_suspicion, view)), form)
    return Fields(field(view.legal, "" if isinstance(view.legal, spaces.Offer) else "Your answer"), form)


def _suspicion(view: Observation, name: str) -> str:
    """What a part of an interview asks, as the label of its field."""
    if name == "word":
        return "The secret word, as far as you can tell"
    return "You suspect" if name == view.rules.players[view.seat] else f"{line(name)} suspects"


class Buttons:
    """One button for each option: to press it is to send it."""

    def __init__(self, space: Choice, form: Sender) -> None:
        self.widgets = [
            button(name, partial(form.send, [option]), main=False, max_width=WIDEST)
            for name, option in options(space.options).items()
        ]
        self.panel = stack(*self.widgets)

    def again(self) -> None:
        """All can be pressed."""
        for each in self.widgets:
            each.disabled = False


class Fields:
    """A field and a button that sends what it holds; so does Enter, where there is one line to fill in."""

    def __init__(self, held: Field, form: Sender) -> None:
        self.field = held
        self._first = [each.value for each in held.widgets]
        self.widgets = [*held.widgets, button("Send", lambda: form.read(held.read), max_width=200)]
        if len(held.widgets) == 1 and isinstance(held.widgets[0], pn.widgets.TextInput):
            held.widgets[0].param.watch(lambda event: form.read(held.read), "enter_pressed")
        self.panel = stack(held.panel, self.widgets[-1])

    def again(self) -> None:
        """All open, the fields as they were at first."""
        for widget, value in zip(self.field.widgets, self._first, strict=True):
            widget.value = value
        for each in self.widgets:
            each.disabled = False


def question(view: Observation) -> str:
    """What a seat is asked, as HTML."""
    match view.rules:
        case chameleon.Facts() | undercover.Facts():
            spy = view.rules.roles[0]
            return {
                "clue": "Your clue: speak as if you knew the word" if view.role == spy else "Your clue about the word",
                "vote": f"Who is the {spy}? Your vote is secret.",
                "guess": "You are accused. What is the secret word? You have one guess.",
                "identify": "A question for the records, which nobody else sees: which player are you, and in what role?",
                "evaluate": f"For each player: whom does that player take for the {spy}? Nobody else sees this.",
            }.get(view.phase, "Your answer")
        case costs.Facts():
            if view.phase == "vote":
                return "Whose proposal do you vote for?"
            return f"Your proposal: who pays which part of the fee of {number(view.rules.fee)}, in percent?"
        case PublicGoods():
            game, seat = view.rules, view.seat
            rest = left(game, [in_seat_order(Scene(view), done) for done in view.past], seat)
            cut = "; more is cut to that" if game.semantics == "strict" else ""
            return f"Round {view.round}: how many points do you give? You have {number(rest)} left{cut}."
        case Facts():
            return {
                "propose": "Propose a trade",
                "decide": "Accept this trade?",
                "craft": "Craft, then finish your turn",
            }.get(view.phase, "Your move")
        case Shown():
            return f"Your judgement: {text(view.phase.replace('_', ' '))}"
        case MatrixGame():
            return f"Round {view.round}: what do you do?"
    return f"Round {text(view.round)}: your answer ({text(view.phase)})"
