"""The story of a match of TradeCraft: all calls, proposals, decisions and hands, read from its turns.

The turns are of our own matches or of recorded games. Hands are those of the records; between two records
of a hand, an accepted trade changes it. `known_deals` reads the deals that a single seat knows.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import Any

import pandas as pd

from agon.games.base import Observation
from agon.games.tradecraft.amounts import Amount, Hand, exchange_items, whole
from agon.games.tradecraft.game import history
from agon.turns import action_of

Hands = tuple[Hand, ...]
"""One for each seat."""
READ = ("call", "detail", "tool", "ok", "fault", "default", "decision", "effect")
"""The columns that `calls` adds to turns."""


@dataclass(frozen=True)
class Call:
    """A row of the turns: the call of a seat, if there is one, and the game's answer."""

    round: int
    """The turn of the game, from 1."""
    turn: int
    """The step of the match, from 1."""
    phase: str
    """propose, decide or craft."""
    seat: int
    call: Mapping[str, Any]
    """The JSON object; empty if there is no readable one."""
    detail: Mapping[str, Any]
    """The game's answer: the turns' column `detail`."""
    payoff: float = 0.0
    reply: str = ""
    """The raw answer of the player."""

    @property
    def tool(self) -> str:
        """The name of the tool; empty without a call."""
        return str(self.call.get("tool", ""))

    @property
    def ok(self) -> bool:
        """Whether the call was accepted."""
        return bool(self.detail.get("ok"))

    @property
    def fault(self) -> str:
        """The reason why the call was refused; empty for an accepted call."""
        return str(self.detail.get("fault", ""))

    @property
    def default(self) -> str:
        """The reason for which the game moved for the player; empty if it did not."""
        return str(self.detail.get("default", ""))

    @property
    def decision(self) -> str:
        """The word of a decision: accept, reject, or any other."""
        return str(self.call.get("decision", "")).strip().lower()

    @property
    def effect(self) -> str:
        """The effect of a decision. In recorded games it sometimes differs from the word."""
        return str(self.detail.get("effect", self.decision))

    @property
    def wrong(self) -> str:
        """The reason why the call was refused, or the game moved for the player; empty if neither happened."""
        faults = [] if self.detail.get("ok", True) else [self.fault or "refused"]
        return "; ".join(faults + ([f"nothing done: {self.default}"] if self.default else []))

    @property
    def proposes(self) -> bool:
        """Whether it is a proposal that reached its partner."""
        return self.tool == "submit_proposal" and self.ok

    @property
    def decides(self) -> bool:
        """Whether it is a decision that was taken."""
        return self.tool == "decide" and self.ok

    def items(self, name: str) -> Hand:
        """Items of the call (offer, request, inputs, outputs) or of its detail (start, target, hand); empty if there are none."""
        return items(self.call.get(name, self.detail.get(name)))

    def after(self, hands: Hands) -> Hands:
        """The hands after the call: `hands`, with those that the records give replaced."""
        if "hands" in self.detail:
            hands = tuple(map(items, self.detail["hands"]))
        if "hand" in self.detail:
            hands = tuple(self.items("hand") if seat == self.seat else hand for seat, hand in enumerate(hands))
        return hands


@dataclass(frozen=True)
class Deal:
    """The proposal of a turn and its outcome, as far as they are known."""

    turn: int
    proposer: str = ""
    """The name of a player; empty without a proposal."""
    partner: str = ""
    offer: Hand | None = None
    """The items that the proposer gives; None if they are unknown."""
    request: Hand | None = None
    message: str = ""
    outcome: str = ""
    """accepted, rejected, or why there was no proposal or no decision; empty while it is open."""
    reply: str = ""
    made: tuple[str, ...] = ()
    """The crafts of the seat from whose view the deal is read, in words."""

    @property
    def accepted(self) -> bool:
        """Whether the proposal was accepted."""
        return self.outcome.startswith("accepted")


@dataclass(frozen=True)
class Turn:
    """A turn of the game."""

    number: int
    calls: tuple[Call, ...]
    """In the order of the records."""
    deal: Deal
    before: Hands
    """At the start of the turn."""
    after_trade: Hands
    """After the decision."""
    after: Hands
    """At the end of the turn."""

    def wrong(self, seat: int) -> int:
        """The number of refused calls and defaults of the seat."""
        return sum(bool(call.wrong) for call in self.calls if call.seat == seat)

    @property
    def winners(self) -> list[int]:
        """Seats that were paid."""
        return [call.seat for call in self.calls if call.payoff]


@dataclass(frozen=True)
class Story:
    """A match."""

    match: str
    players: tuple[str, ...]
    """Their names, by seat."""
    start: Hands
    """Hands at the start; empty if the records lack them."""
    targets: Hands
    """The target of each seat; empty if the records lack them."""
    turns: tuple[Turn, ...]

    @property
    def calls(self) -> Iterator[Call]:
        """All calls, in order."""
        return (call for turn in self.turns for call in turn.calls)


def read(turns: pd.DataFrame) -> Story:
    """The story of the one match that `turns` holds."""
    rows = turns.sort_values(["turn", "seat"], kind="stable")
    calls = _calls(rows)
    first = {call.seat: call for call in reversed(calls) if "start" in call.detail}
    starts = tuple(first[seat].items("start") for seat in sorted(first))
    start = starts or next((call.after(()) for call in calls if "hands" in call.detail), ())
    targets = tuple(first[seat].items("target") for seat in sorted(first))
    seats = max(int(turns.seat.max()) + 1, len(start))
    players = tuple(f"Player {seat + 1}" for seat in range(seats))
    start = start if len(start) == seats else ()
    return Story(str(rows.match.iloc[0]), players, start, targets, build_turns(calls, start or ({},) * seats, players))


def stories(turns: pd.DataFrame) -> Iterator[Story]:
    """The story of each match, in the order of the table."""
    for _, rows in turns.groupby("match", sort=False, observed=True):
        yield read(rows)


def calls(turns: pd.DataFrame) -> pd.DataFrame:
    """`turns` (of any number of matches) with the columns READ, which are attributes of Call. `detail` becomes an object."""
    records = _calls(turns)
    return turns.assign(
        **{name: pd.Series([getattr(record, name) for record in records], turns.index) for name in READ}
    )


def build_turns(calls: Sequence[Call], start: Hands, players: Sequence[str]) -> tuple[Turn, ...]:
    """The turns of some calls, which are in order, given the hands at the start."""
    turns: list[Turn] = []
    hands = start
    for number, group in groupby(calls, key=lambda call: call.round):
        turns.append(_turn(number, tuple(group), hands, players))
        hands = turns[-1].after
    return tuple(turns)


def known_deals(view: Observation, quoted: int) -> list[Deal]:
    """The decided deals that a seat knows, oldest first, with its own crafts. Messages are cut after `quoted` characters."""
    crafts, late, turn = defaultdict[int, list[str]](list), set[int](), 0
    for event in view.past:
        if event.phase == "turn":
            turn = event.value["turn"]
        elif event.phase == "decision" and event.value["default"]:
            late.add(turn)
        elif event.phase == "answer" and event.value["ok"] and event.value["call"]["tool"] == "craft_apply":
            crafts[turn].append(_format_craft(event.value["call"]))
    return [
        Deal(
            *(entry["turn"], entry["proposer"], entry["partner"], entry.get("offer"), entry.get("request")),
            message=cut(entry["message"] or "", quoted),
            outcome=f"{entry['outcome']}ed" + (" (no answer in time)" if entry["turn"] in late else ""),
            reply=cut(entry["reply"] or "", quoted),
            made=tuple(crafts[entry["turn"]]),
        )
        for entry in history(view.past)
        if "outcome" in entry
    ]


def items(value: object) -> Hand:
    """The exact amounts of a JSON object such as {"stick": 2, "coal": "7/8"}; empty for any other value.

    Raises ValueError or ZeroDivisionError for an object with an amount that is none, as a refused call may have.
    """
    return {str(item): _amount(n) for item, n in value.items()} if isinstance(value, Mapping) else {}


def cut(text: str, length: int) -> str:
    """A text, cut off where it is longer than `length` characters."""
    return text if len(text) <= length else f"{text[:length]}..."


COLUMNS = ["round", "turn", "phase", "seat", "action", "detail", "payoff", "reply"]
"""The columns of turns that are read; the last one may be absent."""


def _calls(rows: pd.DataFrame) -> list[Call]:
    return [
        Call(
            number, turn, phase, seat, _object(action), _object(detail), payoff, reply if isinstance(reply, str) else ""
        )
        for number, turn, phase, seat, action, detail, payoff, reply in rows.reindex(columns=COLUMNS).itertuples(
            index=False
        )
    ]


def _object(text: object) -> dict[str, Any]:
    """The JSON object in a cell of the turns table; empty if there is none."""
    value = action_of(text) if isinstance(text, str) else None
    return value if isinstance(value, dict) else {}


def _amount(value: object) -> Amount:
    return value if type(value) is int else whole(Fraction(str(value).replace(" ", "")))


def _turn(number: int, calls: tuple[Call, ...], before: Hands, players: Sequence[str]) -> Turn:
    deal, hands, settled = Deal(number), before, before
    for call in calls:
        if call.phase == "propose" and (call.default or call.proposes):
            deal = _proposed_deal(number, call, players)
        elif call.phase == "decide" and (call.default or call.decides):
            deal = _decide_deal(deal, call)
            settled = hands = _exchange_hands(hands, deal, call.seat, players)
        hands = call.after(hands)
    return Turn(number, calls, deal, before, settled, hands)


def _proposed_deal(number: int, call: Call, players: Sequence[str]) -> Deal:
    """The deal of a proposal that reached its partner, or of the empty proposal by default."""
    if call.default:
        return Deal(number, players[call.seat], offer={}, request={}, outcome=f"no proposal: {call.default}")
    sides, message = (call.items("offer"), call.items("request")), str(call.call.get("message") or "")
    return Deal(number, players[call.seat], str(call.call.get("partner")), *sides, message)


def _decide_deal(deal: Deal, call: Call) -> Deal:
    word = "undecided in time, so rejected" if call.default else "accepted" if call.effect == "accept" else "rejected"
    reply = "" if call.default else str(call.call.get("message") or "")
    return replace(deal, outcome=deal.outcome or word, reply=reply)


def _exchange_hands(hands: Hands, deal: Deal, partner: int, players: Sequence[str]) -> Hands:
    """The hands after a deal. Only an accepted deal changes them."""
    if not deal.accepted or not deal.proposer:
        return hands
    proposer, after = players.index(deal.proposer), list(hands)
    after[proposer], after[partner] = exchange_items(
        after[proposer], after[partner], deal.offer or {}, deal.request or {}
    )
    return tuple(after)


def _format_craft(call: Mapping[str, Any]) -> str:
    if call.get("recipe") is not None:  # null where inputs and outputs are given
        return f"{call['recipe']} ({call['times']} times)"
    return ", ".join(f"{amount} {item}" for item, amount in call["outputs"].items())
