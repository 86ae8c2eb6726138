"""A scripted rater: a baseline that only counts, without judgement."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from agon.games import Dice, Observation
from agon.games.rating.game import THEORY_OF_MIND, VisibleLog
from agon.games.tradecraft.story import Call
from agon.registry import kind


class TurnCounts(NamedTuple):
    """Counts of a player's acts in a turn."""

    calls: int = 0
    refused: int = 0
    asked: int = 0
    """Queries: items, recipes, history, checks."""
    crafted: int = 0
    gave: int = 0
    """Pieces that its proposal offers."""
    wanted: int = 0
    """Pieces that its proposal requests."""
    proposed: bool = False
    taken: bool | None = None
    """Whether its proposal was accepted; None without one."""
    accepted: bool | None = None
    """Its decision on another's proposal; None without one."""
    repeated: bool | None = None
    """Whether its proposal is the one it made last; None for its first one, and without one."""
    words: str = ""
    """Its messages."""
    terms: tuple[Any, Any] = (None, None)
    """The offer and the request of its proposal."""


@kind("agon.agents.rating.heuristic")
def heuristic(view: Observation, dice: Dice) -> tuple[Any, ...]:
    """Scores from counts: a baseline that understands nothing. A judge should be better than it.

    Every score starts at 0.5, and RULES moves it by the counts of the player's turn. Orders of theory of mind are found by English
    words in messages.
    """
    counts_by_player, rule = count_turns(view.rules), RULES[view.phase]
    return tuple(
        (turn, player, rule(counts), _justification(counts))
        for turn, player in view.legal.units()
        for counts in [counts_by_player[turn, player]]
    )


@lru_cache(maxsize=64)
def count_turns(log: VisibleLog) -> dict[tuple[int, str], TurnCounts]:
    """(turn from 1, player) -> counts."""
    by_player: dict[tuple[int, str], TurnCounts] = {}
    last: dict[int, Any] = {}
    for number, entries in enumerate(log.turns, 1):
        calls = list(_calls(number, entries, log.players))
        outcome = next((call.effect == "accept" and not call.default for call in calls if _ends(call)), None)
        for seat, player in enumerate(log.players):
            counts = _count_calls([call for call in calls if call.seat == seat and call.call], outcome)
            if counts.proposed:
                repeated = counts.terms == last[seat] if seat in last else None
                last[seat], counts = counts.terms, counts._replace(repeated=repeated)
            by_player[number, player] = counts
    return by_player


def _calls(number: int, entries: Sequence[str], players: Sequence[str]) -> Iterator[Call]:
    """The calls in a turn of a log."""
    for place, entry in enumerate(map(json.loads, entries), 1):
        if (player := entry.get("player")) in players:
            call = entry.get("call") if isinstance(entry.get("call"), dict) else {}
            effects = {name: entry[name] for name in ("default", "effect") if name in entry}
            detail = effects | {"ok": bool(call) and "refused" not in entry, "fault": entry.get("refused", "")}
            yield Call(number, place, str(entry.get("phase", "")), players.index(player), call, detail)


def _ends(call: Call) -> bool:
    """Whether the call ends the phase of the decision: it decides, or it is a default."""
    return call.decides or (call.phase == "decide" and bool(call.default))


ASKING = ("item_info", "possible_recipes_from_hand", "history", "craft_check")
"""The tools that count as queries."""


def _count_calls(calls: Sequence[Call], outcome: bool | None) -> TurnCounts:
    accepted_calls = [call for call in calls if call.ok]
    proposals = [call.call for call in accepted_calls if call.proposes]
    offer, request = (proposals[-1].get(side) if proposals else None for side in ("offer", "request"))
    return TurnCounts(
        calls=len(calls),
        refused=len(calls) - len(accepted_calls),
        asked=sum(call.tool in ASKING for call in accepted_calls),
        crafted=sum(call.tool == "craft_apply" for call in accepted_calls),
        gave=_pieces(offer),
        wanted=_pieces(request),
        proposed=bool(proposals),
        taken=bool(outcome) if proposals else None,
        accepted=outcome if any(call.decides for call in accepted_calls) else None,
        words=" ".join(str(call.call.get("message") or "") for call in accepted_calls),
        terms=(offer, request),
    )


def _pieces(side: object) -> int:
    return sum(n for n in side.values() if type(n) is int) if isinstance(side, dict) else 0


def _justification(counts: TurnCounts) -> str:
    parts = [f"{counts.calls} calls, {counts.refused} refused, {counts.crafted} crafts"]
    if counts.proposed:
        parts.append(f"offered {counts.gave} for {counts.wanted}, {'accepted' if counts.taken else 'not accepted'}")
    if counts.accepted is not None:
        parts.append("accepted a proposal" if counts.accepted else "rejected a proposal")
    return "; ".join(parts)


def _score(*moves: tuple[object, float]) -> float:
    """0.5 plus the moves that hold, limited to 0 to 1, in hundredths."""
    return round(min(1.0, max(0.0, 0.5 + sum(by for holds, by in moves if holds))), 2)


def _kept_share(counts: TurnCounts) -> float:
    """The share of requested pieces among all pieces of a proposal, less a half."""
    return counts.wanted / (counts.gave + counts.wanted) - 0.5 if counts.gave + counts.wanted else 0.0


def _names_request(counts: TurnCounts) -> bool:
    """Whether the messages name an item that the player requests."""
    words = counts.words.lower().replace("_", " ")
    return any(str(item).replace("_", " ") in words for item in counts.terms[1] or ())


FIRST = re.compile(
    r"\byou(r|'re|'d)?\b.{0,40}\b(need|want|craft|look|aim|use|have|try)|\bthey (need|want)", re.IGNORECASE
)
SECOND = re.compile(r"\byou\b.{0,20}\b(think|believe|know|expect|assume|guess)\b.{0,20}\b(I|me|my)\b", re.IGNORECASE)
THIRD = re.compile(
    r"\b(I|me)\b.{0,20}\b(think|believe|know)\b.{0,20}\byou\b.{0,20}\b(think|believe|know)\b.{0,20}\bI\b"
)

RULES: dict[str, Callable[[TurnCounts], Any]] = {
    "goal_alignment": lambda counts: _score(
        (counts.crafted, 0.25),
        (counts.taken or counts.accepted, 0.15),
        (counts.refused, -0.25),
        (not counts.calls, -0.25),
    ),
    "cooperation": lambda counts: _score(
        (counts.accepted, 0.3),
        (counts.accepted is False, -0.2),
        (counts.proposed, -_kept_share(counts)),
        (counts.taken, 0.1),
    ),
    "adaptability": lambda counts: _score(
        (counts.repeated is False, 0.2), (counts.repeated, -0.4), (counts.refused > 1, -0.1)
    ),
    "intention_concealment": lambda counts: _score((not counts.words.strip(), 0.2), (_names_request(counts), -0.3)),
    "strategic_planning": lambda counts: _score(
        (counts.asked, 0.2), (counts.crafted, 0.15), (counts.refused, -0.2), (not counts.calls, -0.2)
    ),
    "self_interested_behavior": lambda counts: _score(
        (counts.proposed, _kept_share(counts)), (counts.accepted is False, 0.15), (counts.accepted, -0.15)
    ),
    "information_utilization": lambda counts: _score((counts.asked, 0.3), (counts.refused, -0.3)),
    "persuasion": lambda counts: _score(
        (counts.taken, 0.3), (counts.taken is False, -0.3), (len(counts.words) > 40, 0.1)
    ),
    THEORY_OF_MIND: lambda counts: tuple(bool(pattern.search(counts.words)) for pattern in (FIRST, SECOND, THIRD)),
}
"""Dimension -> the value of a turn from its counts: a list of (condition, move of the score)."""


reference = heuristic
"""The reference player, as agon.agents.scripts.reference finds it."""
