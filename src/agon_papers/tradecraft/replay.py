"""Replays the recorded TradeCraft games. Hands follow from the logged trades and crafts alone, with fractions.

A trade counts by the logged effect of the decision. A craft that was applied counts even if it was refused, so amounts
may become negative. A player who is done keeps the floor of every amount.
"""

from collections.abc import Iterator
from math import floor
from typing import NamedTuple

import pandas as pd

from agon.games.tradecraft.amounts import Hand, covers, exchange_items, minus, plus
from agon.games.tradecraft.story import Call, Deal, Hands, Story, items, stories
from agon_papers.tradecraft.facts import Facts


class Replay(NamedTuple):
    """The results of a replay."""

    hands: pd.DataFrame
    """A row per logged hand: match, round, turn, seat, logged (the call before it, or all hands), equal (to the
    replay's)."""
    ends: pd.DataFrame
    """A row per match and seat: holds (its target at the end of the log), gift (a refused craft gave it the target),
    traded (a trade gave it something), won, cut."""
    refused: pd.DataFrame
    """A row per refused call: match, turn, seat, tool, fault (as logged), cause (by the hands)."""


def replay(facts: Facts) -> Replay:
    """Replays every logged game from its initial hands."""
    hands, ends, refused = [], [], []
    for story in stories(facts.turns):
        now, gifts, partners = story.start, [set[str](), set[str]()], set[int]()
        for call, before, now in moves(story):
            if call.decides:
                partners |= {seat for seat in (0, 1) if max(minus(now[seat], before[seat]).values(), default=0) > 0}
            if not call.ok:
                refused.append((story.match, call.turn, call.seat, call.tool, call.fault, _cause(call, before)))
                gifts[call.seat] |= call.items("outputs").keys() if _is_applied(call) else set()
            for logged, seat, hand in _logged_hands(call):
                equal = not any(minus(now[seat], items(hand)).values())
                hands.append((story.match, call.round, call.turn, seat, logged, equal))
        for seat, target in enumerate(story.targets):
            holds = covers(now[seat], target)
            gift = holds and bool(gifts[seat] & target.keys())
            ends.append((story.match, seat, holds, gift, seat in partners))
    return Replay(
        pd.DataFrame(hands, columns=["match", "round", "turn", "seat", "logged", "equal"]),
        pd.DataFrame(ends, columns=["match", "seat", "holds", "gift", "traded"]).merge(
            facts.players[["match", "seat", "won", "cut"]], on=["match", "seat"]
        ),
        pd.DataFrame(refused, columns=["match", "turn", "seat", "tool", "fault", "cause"]),
    )


def moves(story: Story) -> Iterator[tuple[Call, Hands, Hands]]:
    """(call, hands before, hands after) for every call of a match. The hands follow from the calls alone."""
    hands = story.start
    for turn in story.turns:
        for call in turn.calls:
            before, hands = hands, _after(hands, call, turn.deal)
            yield call, before, hands


def _after(hands: Hands, call: Call, deal: Deal) -> Hands:
    seat, new_hands = call.seat, list(hands)
    if call.tool == "decide" and call.effect == "accept":
        new_hands[1 - seat], new_hands[seat] = exchange_items(
            new_hands[1 - seat], new_hands[seat], deal.offer or {}, deal.request or {}
        )
    elif _is_applied(call):
        new_hands[seat] = plus(minus(new_hands[seat], call.items("inputs")), call.items("outputs"))
    elif call.tool == "craft_done":
        new_hands[seat] = {item: floor(amount) for item, amount in new_hands[seat].items()}
    return tuple(new_hands)


def _is_applied(call: Call) -> bool:
    return call.tool == "craft_apply" and "hand" in call.detail


def _logged_hands(call: Call) -> list[tuple[str, int, Hand]]:
    """The hands that the log has after a call: (tool of the call, or all hands; seat; hand)."""
    hand_of_seat = [(call.tool, call.seat, call.detail["hand"])] if "hand" in call.detail else []
    return hand_of_seat + [("all hands", seat, hand) for seat, hand in enumerate(call.detail.get("hands", []))]


def _cause(call: Call, hands: Hands) -> str:
    """Why a call was refused. If the log does not say it, it follows from the hands."""
    if call.tool == "craft_apply" and "inputs" in call.call:
        return "no such recipe" if covers(hands[call.seat], call.items("inputs")) else "not in the hand"
    if call.tool == "submit_proposal" and call.fault != "bad partner":
        sides = {"offer": hands[call.seat], "request": hands[1 - call.seat]}
        beyond = [side for side, hand in sides.items() if not covers(hand, call.items(side))]
        return f"{' and '.join(beyond)} beyond the hand" if beyond else "none found"
    return call.fault
