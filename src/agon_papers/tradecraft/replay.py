"""The recorded TradeCraft games replayed by themselves: hands from trades and crafts as logged, with fractions, by no other rules.

As recorded: a trade counts by the effect of the decision, a craft that was applied counts even if it was refused (amounts may then be
negative), and whoever is done keeps the floor of every amount.
"""

from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import pandas as pd

from agon_papers.tradecraft.facts import Facts

Hand = dict[str, Fraction]


class Replay(NamedTuple):
    """What a replay finds."""

    hands: pd.DataFrame
    """A row per logged hand: match, round, turn, seat, logged (after which call, or all hands), equal."""
    ends: pd.DataFrame
    """A row per match and seat: holds (its target, where the log ends), gift (a refused craft gave it that), won."""
    refused: pd.DataFrame
    """A row per refused call: match, turn, seat, tool, fault (as logged), cause (as the hands show it)."""


def replay(facts: Facts) -> Replay:
    """Every logged game from its initial hands."""
    hands: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    won = facts.seats.set_index(["match", "seat"]).won
    for match, rows in facts.calls.groupby("match", sort=False):
        table = Table(rows.to_dict("records"))
        hands += [{"match": match, **row} for row in table.compared]
        refused += [{"match": match, **row} for row in table.causes]
        for seat in (0, 1):
            holds = covers(table.hands[seat], table.targets[seat])
            gift = holds and bool(table.gifts[seat].keys() & table.targets[seat].keys())
            ends.append({"match": match, "seat": seat, "holds": holds, "gift": gift, "won": won[match, seat]})
    return Replay(pd.DataFrame(hands), pd.DataFrame(ends), pd.DataFrame(refused))


class Table:
    """One game as it is replayed: hands, and what was found on the way."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        first = {seat: next(call["detail"] for call in calls if call["seat"] == seat) for seat in (0, 1)}
        self.hands: list[Hand] = [hand_of(first[seat]["start"]) for seat in (0, 1)]
        self.targets = [hand_of(first[seat]["target"]) for seat in (0, 1)]
        self.gifts: list[Hand] = [{}, {}]
        """What refused crafts gave."""
        self.offered: dict[str, Any] = {}
        self.compared: list[dict[str, Any]] = []
        self.causes: list[dict[str, Any]] = []
        for call in calls:
            self._take(call)

    def _take(self, row: dict[str, Any]) -> None:
        seat, call, detail = row["seat"], row["call"], row["detail"]
        if not row["ok"]:
            said = {"turn": row["turn"], "seat": seat, "tool": row["tool"], "fault": row["fault"]}
            self.causes.append({**said, "cause": self._cause(seat, call, row["fault"])})
        if row["tool"] == "submit_proposal" and row["ok"]:
            self.offered = call
        elif row["tool"] == "decide" and row["effect"] == "accept":
            self._trade(1 - seat, hand_of(self.offered["offer"]), hand_of(self.offered["request"]))
        elif row["tool"] == "craft_apply" and "hand" in detail:
            inputs, outputs = hand_of(call["inputs"]), hand_of(call["outputs"])
            self.hands[seat] = plus(plus(self.hands[seat], inputs, -1), outputs)
            if not row["ok"]:
                self.gifts[seat] = plus(self.gifts[seat], outputs)
        elif row["tool"] == "craft_done":
            self.hands[seat] = {item: Fraction(floor(n)) for item, n in self.hands[seat].items() if floor(n)}
        self._compare(row, detail)

    def _trade(self, proposer: int, offer: Hand, request: Hand) -> None:
        self.hands[proposer] = plus(plus(self.hands[proposer], offer, -1), request)
        self.hands[1 - proposer] = plus(plus(self.hands[1 - proposer], request, -1), offer)

    def _cause(self, seat: int, call: dict[str, Any], fault: str) -> str:
        """Why a call was refused, where the log does not say it but the hands do."""
        if call["tool"] == "craft_apply" and "inputs" in call:
            return "no such recipe" if covers(self.hands[seat], hand_of(call["inputs"])) else "not in the hand"
        if call["tool"] == "submit_proposal" and fault != "bad partner":
            sides = {"offer": self.hands[seat], "request": self.hands[1 - seat]}
            beyond = [side for side, hand in sides.items() if not covers(hand, hand_of(call[side]))]
            return f"{' and '.join(beyond)} beyond the hand" if beyond else "none found"
        return fault

    def _compare(self, row: dict[str, Any], detail: dict[str, Any]) -> None:
        logged = [(row["tool"], row["seat"], detail["hand"])] if "hand" in detail else []
        logged += [("all hands", seat, hand) for seat, hand in enumerate(detail.get("hands", []))]
        for where, seat, hand in logged:
            equal = self.hands[seat] == hand_of(hand)
            at = {"round": row["round"], "turn": row["turn"], "seat": seat}
            self.compared.append({**at, "logged": where, "equal": equal})


def hand_of(written: dict[str, int | str]) -> Hand:
    """A hand as the turns write it ({"coal": "7/8"}) as exact numbers."""
    return {item: Fraction(amount) for item, amount in written.items()}


def plus(hand: Hand, items: Hand, sign: int = 1) -> Hand:
    """A hand with `items` added, or taken away; nothing is left at 0."""
    both = {item: hand.get(item, Fraction(0)) + sign * items.get(item, Fraction(0)) for item in {**hand, **items}}
    return {item: amount for item, amount in both.items() if amount}


def covers(hand: Hand, items: Hand) -> bool:
    """Whether a hand has at least `items`."""
    return all(hand.get(item, 0) >= amount for item, amount in items.items())
