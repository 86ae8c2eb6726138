"""Matches of TradeCraft for a page that steps through them, as data small enough to be shipped with the page."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd

from agon.games.tradecraft.amounts import Hand
from agon.games.tradecraft.story import Call, Hands, Turn, stories
from agon_papers.report.explore import part

SCRIPT = part("trades.js")
"""The script of the page."""


def games(turns: pd.DataFrame) -> list[dict[str, Any]]:
    """For every match: match, variant, players (names), agents and models by seat, start and targets (hands), winners (seats), moves.

    A move: turn (of the game), seat, does (a tool), to, gives, wants, inputs, outputs, recipe, decision, says, wrong (why it was
    refused or made for the player), hands (those that have changed, by seat), pays (points), looked (calls before it that change
    nothing, by tool). Fields that do not apply are left out.
    """
    seats = turns.drop_duplicates(["match", "seat"]).sort_values("seat", kind="stable")
    rows_of_match = {str(match): rows for match, rows in seats.groupby("match", observed=True)}
    return [
        {
            "match": story.match,
            "variant": str(rows_of_match[story.match].variant.iloc[0]),
            "players": list(story.players),
            "agents": rows_of_match[story.match].agent.astype(str).tolist(),
            "models": rows_of_match[story.match]
            .model.astype(object)
            .where(rows_of_match[story.match].model.notna(), "")
            .tolist(),
            "start": _hands(story.turns[0].before),
            "targets": _hands(story.targets),
            "winners": sorted({seat for turn in story.turns for seat in turn.winners}),
            "moves": [move for turn in story.turns for move in _moves(turn)],
        }
        for story in stories(turns)
    ]


def _moves(turn: Turn) -> Iterator[dict[str, Any]]:
    """The moves of a turn: proposals, decisions, crafts, defaults and every other change of a hand."""
    hands, looked = turn.before, Counter[str]()
    for call in turn.calls:
        before = hands
        if call.phase == "decide" and (call.default or call.decides):
            hands = turn.after_trade
        hands = call.after(hands)
        if call.tool in ("submit_proposal", "decide", "craft_apply") or call.default or call.payoff or hands != before:
            yield _move(turn, call, before, hands, looked)
            looked.clear()
        else:
            looked[call.tool if call.ok else f"{call.tool}, refused"] += 1


def _move(turn: Turn, call: Call, before: Hands, hands: Hands, looked: Counter[str]) -> dict[str, Any]:
    fields = {
        "to": call.call.get("partner"),
        "gives": _amounts(call, "offer"),
        "wants": _amounts(call, "request"),
        "inputs": _amounts(call, "inputs"),
        "outputs": _amounts(call, "outputs"),
        "recipe": call.call.get("recipe"),
        "decision": call.effect,
        "says": call.call.get("message"),
        "wrong": call.wrong,
        "pays": call.payoff,
        "looked": dict(looked),
        "hands": {str(seat): _hand(hand) for seat, hand in enumerate(hands) if hand != before[seat]},
    }
    filled = {name: value for name, value in fields.items() if value}
    return {"turn": turn.number, "seat": call.seat, "does": call.tool} | filled


def _amounts(call: Call, name: str) -> dict[str, str]:
    """Items of a call. Amounts that cannot be read, as in a refused call, are as the player wrote them."""
    try:
        return _hand(call.items(name))
    except (ValueError, ZeroDivisionError):
        return {str(item): str(amount) for item, amount in call.call[name].items()}


def _hands(hands: Hands) -> list[dict[str, str]]:
    return [_hand(hand) for hand in hands]


def _hand(hand: Hand) -> dict[str, str]:
    """Amounts as text: 7/8 has no other form in JSON."""
    return {item: str(amount) for item, amount in hand.items()}
