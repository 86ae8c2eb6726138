"""A match of TradeCraft as tables, from its turns alone: hands, offers and what came of them, refusals, who was told what.

Turns are those of the game (agon.games.tradecraft) or of recorded games (agon.ingest.tradecraft): `action` is the call of a
tool, `detail` what the table made of it. What players wrote is data here; agon.viewer.shown makes it safe to look at.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pandas as pd

from agon import AgonError
from agon.agents.prompts import prompts, template_of
from agon.agents.telling import STYLE
from agon.replay import Replay, replayed

Held = dict[str, Fraction]


@dataclass
class Round:
    """What happened in one turn of the game, as the turns table tells it. Hands are by seat."""

    number: int
    before: list[Held]
    proposer: int | None = None
    partner: str = ""
    offer: dict[str, Any] = field(default_factory=dict)
    request: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    reply: str = ""
    outcome: str = ""
    """accepted, rejected, undecided (rejected by default), or why there was no proposal; empty where the records end before."""
    traded: list[Held] = field(default_factory=list)
    """Hands after the decision."""
    after: list[Held] = field(default_factory=list)
    """Hands at the end of the turn."""
    refused: list[Counter[str]] = field(default_factory=list)
    """By seat: kinds of refused calls, and of what was done for a player that did nothing, and how often."""
    won: list[int] = field(default_factory=list)


def rounds(turns: pd.DataFrame) -> list[Round]:
    """The turns of the game of one match, from its rows in the turns table alone (columns action and detail)."""
    rows = turns.sort_values(["turn", "seat"], kind="stable")
    details = list(map(_read, rows.detail))
    held, found = _first(rows, details), list[Round]()
    for row, detail in zip(rows.itertuples(), details, strict=True):
        if not found or row.round != found[-1].number:
            found.append(Round(int(row.round), _copied(held), refused=[Counter() for _ in held]))
        now, seat = found[-1], int(row.seat)
        action = _read(row.action)
        if fault := _fault(detail):
            now.refused[seat][fault] += 1
        if row.phase == "propose":
            _proposed(now, seat, detail, action)
        elif row.phase == "decide":
            _decided(now, seat, detail, action, held)
        if "hands" in detail:
            held[:] = [_held(hand) for hand in detail["hands"]]
        if "hand" in detail:
            held[seat] = _held(detail["hand"])
        if row.payoff:
            now.won.append(seat)
        now.traded, now.after = now.traded or _copied(now.before), _copied(held)
    return found


def players_of(turns: pd.DataFrame) -> list[str]:
    """What the seats are called."""
    return [f"Player {seat + 1}" for seat in range(int(turns.seat.max()) + 1)]


def seating(turns: pd.DataFrame) -> pd.DataFrame:
    """Who sat where, and what it came to: player, agent, model, calls, refused (of these), points."""
    own = turns.drop_duplicates("seat").sort_values("seat", kind="stable").set_index("seat")
    faults = turns.detail.map(lambda detail: bool(_fault(_read(detail))))
    asked = turns[turns.legal.notna() | turns.action.notna()].groupby("seat").size()
    named = players_of(turns)
    return pd.DataFrame(
        {
            "player": [named[seat] for seat in own.index],
            **{name: own[name].astype(object) for name in ("agent", "model")},
            "calls": asked.reindex(own.index),
            "refused, or nothing done": faults.groupby(turns.seat).sum().reindex(own.index),
            "points": turns.groupby("seat").payoff.sum().reindex(own.index),
        }
    )


def offers(turns: pd.DataFrame) -> pd.DataFrame:
    """Who proposed what to whom: turn, proposer, partner, gives, wants, says, outcome, reply."""
    named = players_of(turns)
    found = [
        {
            "turn": each.number,
            "proposer": "" if each.proposer is None else named[each.proposer],
            "partner": each.partner,
            "gives": listed(each.offer),
            "wants": listed(each.request),
            "says": each.message,
            "outcome": each.outcome or "(the records end)",
            "reply": each.reply,
        }
        for each in rounds(turns)
    ]
    return pd.DataFrame(found)


def hands(turns: pd.DataFrame) -> pd.DataFrame:
    """Every hand at the start and at the end of every turn: turn, and a column for each player."""
    named, story = players_of(turns), rounds(turns)
    all_hands = [("start", story[0].before), *((str(each.number), each.after) for each in story)]
    return pd.DataFrame([{"turn": turn} | dict(zip(named, map(listed, held), strict=True)) for turn, held in all_hands])


def listed(hand: Mapping[str, Any]) -> str:
    """Items in words."""
    return ", ".join(f"{amount} {item}" for item, amount in sorted(hand.items())) or "nothing"


def refusals(turns: pd.DataFrame) -> pd.DataFrame:
    """Calls that were refused and what was done for players that did nothing: turn (of the game), player, tool, why, said."""
    found, named = [], players_of(turns)
    for row in turns[turns.detail.notna()].sort_values(["turn", "seat"], kind="stable").itertuples():
        detail = _read(row.detail)
        if fault := _fault(detail):
            told = {"turn": row.round, "player": named[int(row.seat)], "tool": str(_read(row.action).get("tool", ""))}
            found.append(told | {"why": fault, "said": str(detail.get("says", ""))})
    return pd.DataFrame(found, columns=["turn", "player", "tool", "why", "said"])


def replay_of(turns: pd.DataFrame) -> tuple[Replay | None, str]:
    """The match replayed by its rules; None, and why, where that cannot be done: recorded games know other rules."""
    try:
        return replayed(turns), ""
    except AgonError as error:
        return None, str(error)


def tellings(replay: Replay) -> pd.DataFrame:
    """What every player was told, in the words of the game's prompts, when it was asked: turn, phase, player, told."""
    known, found = [0] * replay.game.seats, []
    for step in replay.steps:
        for seat, view in step.views.items():
            texts = prompts(template_of(view.rules), STYLE)
            news = texts.turn(view, known[seat]).removesuffix(texts.turn(view, len(view.past))).strip()
            known[seat] = len(view.past)
            if news:
                player = replay.game.players[seat]
                found.append({"turn": view.round, "phase": view.phase, "player": player, "told": news})
    return pd.DataFrame(found, columns=["turn", "phase", "player", "told"])


def _read(text: Any) -> dict[str, Any]:
    """A JSON object of the turns table; empty where there is none."""
    found = json.loads(text) if isinstance(text, str) else None
    return found if isinstance(found, dict) else {}


def _fault(detail: Mapping[str, Any]) -> str:
    """Why a call was refused or nothing was done; empty where all was well."""
    faults = [] if detail.get("ok", True) else [str(detail.get("fault", "refused"))]
    return "; ".join(faults + ([f"nothing done: {detail['default']}"] if detail.get("default") else []))


def _first(rows: pd.DataFrame, details: Sequence[Mapping[str, Any]]) -> list[Held]:
    """All hands at the start: those of the first proposal, or, in recorded games, of each seat's first call."""
    told = next((detail["hands"] for detail in details if "hands" in detail), None)
    starts = {seat: detail["start"] for seat, detail in zip(rows.seat, details, strict=True) if "start" in detail}
    given = [starts[seat] for seat in sorted(starts)] or told or [{} for _ in range(int(rows.seat.max()) + 1)]
    return [_held(hand) for hand in given]


def _held(hand: Mapping[str, Any]) -> Held:
    return {item: Fraction(amount) for item, amount in hand.items()}


def _copied(hands: Sequence[Held]) -> list[Held]:
    return [dict(hand) for hand in hands]


def _proposed(now: Round, seat: int, detail: Mapping[str, Any], action: Mapping[str, Any]) -> None:
    """A proposal that went through, or the empty one that was made for the player."""
    if default := detail.get("default"):
        now.proposer, now.outcome, now.offer, now.request = seat, f"no proposal: {default}", {}, {}
        now.partner = now.message = ""
    elif action.get("tool") == "submit_proposal" and detail.get("ok"):
        now.proposer, now.partner = seat, str(action.get("partner"))
        now.offer, now.request, now.message = action["offer"], action["request"], str(action.get("message") or "")


def _decided(now: Round, seat: int, detail: Mapping[str, Any], action: Mapping[str, Any], held: list[Held]) -> None:
    """A decision; where it accepts, hands change."""
    default = detail.get("default")
    if not default and not (action.get("tool") == "decide" and detail.get("ok")):
        return
    word = str(detail.get("effect") or action.get("decision", "")).strip().lower()
    accepted = word == "accept" and not default
    now.reply = "" if default else str(action.get("message") or "")
    now.outcome = now.outcome or ("undecided: rejected" if default else "accepted" if accepted else "rejected")
    if accepted and now.proposer is not None:
        for giver, taker, side in ((now.proposer, seat, now.offer), (seat, now.proposer, now.request)):
            for item, amount in _held(side).items():
                held[giver][item] = held[giver].get(item, Fraction(0)) - amount
                held[taker][item] = held[taker].get(item, Fraction(0)) + amount
    held[:] = [{item: amount for item, amount in hand.items() if amount} for hand in held]
    now.traded = _copied(held)
