"""Forms of TradeCraft: a proposal, a decision, and a workshop in which crafts are tried before they are sent."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import panel as pn

from agon.games import Observation
from agon.games.spaces import Text
from agon.games.tradecraft.calls import Call
from agon.games.tradecraft.game import known
from agon.games.tradecraft.recipes import amount_of
from agon_hall.boards.trading import goods
from agon_hall.forms.fields import ENDLESS, InvalidEntry, Sender, TextField, options
from agon_hall.forms.workshop import Workshop
from agon_hall.look import block, button, line, stack, styled, text, wrapped


def trading(view: Observation, form: Sender) -> "Proposal | Decision | Workshop":
    """The form of a phase."""
    if view.phase == "propose":
        return Proposal(view, form)
    return Decision(view, form) if view.phase == "decide" else Workshop(view, form)


class Amounts:
    """How many of each item of a hand, none to begin with."""

    def __init__(self, hand: Mapping[str, Any], whose: str) -> None:
        self._whose, self.hand = whose, {item: int(amount) for item, amount in sorted(hand.items()) if amount >= 1}
        self.boxes = {
            item: styled(
                pn.widgets.TextInput,
                f"{line(item, 40)} ({whose} {amount})",
                max_length=ENDLESS,
                width=190,
                sizing_mode=None,
            )
            for item, amount in self.hand.items()
        }
        self.panel = wrapped(*self.boxes.values())

    def read(self) -> dict[str, int]:
        """Whole numbers above 0, by item; what is left empty, or 0, is not there. Raises InvalidEntry."""
        found = {}
        for item, box in self.boxes.items():
            entered = (box.value or "").strip()
            if entered in ("", "0"):
                continue
            try:
                amount = amount_of(entered)
            except ValueError:
                amount = 0
            if not isinstance(amount, int) or not amount > 0:
                raise InvalidEntry(f"{line(item, 40)}: “{line(entered, 40)}” is no whole number.")
            if amount > self.hand[item]:
                raise InvalidEntry(f"{line(item, 40)}: {self._whose} {self.hand[item]}, not {amount}.")
            found[item] = amount
        return found


class Proposal:
    """Whom to trade with, what to give and get, and a message."""

    def __init__(self, view: Observation, form: Sender) -> None:
        facts, table = view.rules, known(view)
        others = [player for seat, player in enumerate(facts.players) if seat != view.seat]
        self.partner = styled(pn.widgets.Select, "Trade with", options=options(others))
        self.gives = Amounts(table.hand, "you have")
        self.gets = {player: Amounts(table.hands.get(player, {}), "they have") for player in others}
        self.message = TextField(
            Text(facts.length), "Message, which only your partner reads; may be empty", optional=True
        )
        self.summary = block("")
        self._title = block("")
        self._form = form
        boxes = [*self.gives.boxes.values(), *(box for each in self.gets.values() for box in each.boxes.values())]
        self._send = button("Send this proposal", lambda: form.read(self._proposal), max_width=300)
        self._nothing = button("Propose nothing", self._propose_nothing, main=False, max_width=300)
        self.widgets = [self.partner, *boxes, *self.message.widgets, self._send, self._nothing]
        for box in boxes:
            box.param.watch(lambda event: self._summed(), "value")
        self.partner.param.watch(lambda event: self._turned(), "value")
        self.panel = stack(
            self.partner,
            block("<h3>You give</h3>" + ("" if self.gives.boxes else "<p>You have nothing to give.</p>")),
            self.gives.panel,
            self._title,
            *(each.panel for each in self.gets.values()),
            self.message.panel,
            self.summary,
            self._send,
            self._nothing,
        )
        self._turned()

    def _turned(self) -> None:
        """Another partner."""
        for player, amounts in self.gets.items():
            amounts.panel.visible = player == self.partner.value
        empty = "" if self.gets[self.partner.value].boxes else "<p>That player has nothing to give.</p>"
        self._title.object = f"<h3>You get from {text(self.partner.value)}</h3>{empty}"
        self._summed()

    def _summed(self) -> None:
        try:
            offer, request = self.gives.read(), self.gets[self.partner.value].read()
            said = f"You give {goods(offer)}. You get {goods(request)} from {text(self.partner.value)}."
        except InvalidEntry as error:
            said = text(error)
        self.summary.object = f'<div class="card" role="status"><p>{said}</p></div>'

    def _proposal(self) -> Call:
        offer, request = self.gives.read(), self.gets[self.partner.value].read()
        if not offer and not request:
            raise InvalidEntry(
                "Nothing is given and nothing is asked for. To do without a trade, press “Propose nothing”."
            )
        return self._call(offer, request)

    def _propose_nothing(self) -> None:
        try:
            entered = any(
                (box.value or "").strip() not in ("", "0") for each in self._sides() for box in each.boxes.values()
            )
            if entered:
                raise InvalidEntry("You have entered items. Clear them first, or press “Send this proposal”.")
            call = self._call({}, {})
        except InvalidEntry as error:
            return self._form.refuse(str(error))
        return self._form.send([call])

    def _sides(self) -> tuple[Amounts, Amounts]:
        return self.gives, self.gets[self.partner.value]

    def _call(self, offer: Mapping[str, int], request: Mapping[str, int]) -> Call:
        return Call(
            tool="submit_proposal",
            partner=self.partner.value,
            offer=offer,
            request=request,
            message=self.message.read(),
        )


class Decision:
    """The proposal in words, and what to say to it."""

    def __init__(self, view: Observation, form: Sender) -> None:
        trade = known(view).proposal
        self.message = TextField(
            Text(view.rules.length), "Reply, which only the proposer reads; may be empty", optional=True
        )
        buttons = [
            button(name, partial(form.read, partial(self._call, word)), main=False, max_width=300)
            for name, word in (("Accept", "accept"), ("Reject", "reject"))
        ]
        self.widgets = [*self.message.widgets, *buttons]
        self.panel = stack(block(_told(trade)), self.message.panel, *buttons)

    def _call(self, word: str) -> Call:
        return Call(tool="decide", decision=word, message=self.message.read())


def _told(trade: Mapping[str, Any] | None) -> str:
    """A proposal, as the one who decides reads it."""
    if trade is None:
        return "<p>There is no proposal.</p>"
    who = text(trade["proposer"])
    if trade["default"]:
        return f'<div class="card"><p>{who} made no proposal; accepting or rejecting changes nothing.</p></div>'
    said = f"<p>{who} says: “{text(trade['message'])}”</p>" if trade["message"] else f"<p>{who} says nothing to it.</p>"
    return (
        f'<div class="card"><p>{who} proposes: you get <strong>{goods(trade["offer"])}</strong>, '
        f"you give <strong>{goods(trade['request'])}</strong>.</p>{said}</div>"
    )
