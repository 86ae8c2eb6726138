"""A scripted rater: a baseline that goes by counts alone, without judgement."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from agon.games import Dice, Observation
from agon.games.rating.game import THEORY_OF_MIND, Shown
from agon.games.tradecraft.story import Call
from agon.registry import kind


class Did(NamedTuple):
    """What a player did in a turn, counted."""

    calls: int = 0
    refused: int = 0
    asked: int = 0
    """Calls that only ask: items, recipes, history, checks."""
    crafted: int = 0
    gave: int = 0
    """Items (pieces) offered in its proposal."""
    wanted: int = 0
    """Items (pieces) requested in its proposal."""
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
    """What it offered, and what it requested."""


@kind("agon.agents.rating.heuristic")
def heuristic(view: Observation, dice: Dice) -> tuple[Any, ...]:
    """Scores by counts: a documented baseline that understands nothing. What a judge should be better than.

    Each dimension starts from 0.5 and is moved by what RULES says of the player's own turn; orders of theory of mind are
    looked for by English words in its messages.
    """
    done, rule = counted(view.rules), RULES[view.phase]
    return tuple(
        (turn, player, rule(did), _because(did)) for turn, player in view.legal.units() for did in [done[turn, player]]
    )


@lru_cache(maxsize=64)
def counted(log: Shown) -> dict[tuple[int, str], Did]:
    """What every player did in every turn (from 1)."""
    found: dict[tuple[int, str], Did] = {}
    last: dict[int, Any] = {}
    for number, entries in enumerate(log.turns, 1):
        calls = list(_calls(number, entries, log.players))
        ended = next((call.effect == "accept" and not call.default for call in calls if _ends(call)), None)
        for seat, player in enumerate(log.players):
            did = _did([call for call in calls if call.seat == seat and call.call], ended)
            if did.proposed:
                repeated = did.terms == last[seat] if seat in last else None
                last[seat], did = did.terms, did._replace(repeated=repeated)
            found[number, player] = did
    return found


def _calls(number: int, entries: Sequence[str], players: Sequence[str]) -> Iterator[Call]:
    """The calls in a turn of a log."""
    for place, entry in enumerate(map(json.loads, entries), 1):
        if (player := entry.get("player")) in players:
            call = entry.get("call") if isinstance(entry.get("call"), dict) else {}
            known = {name: entry[name] for name in ("default", "effect") if name in entry}
            detail = known | {"ok": bool(call) and "refused" not in entry, "fault": entry.get("refused", "")}
            yield Call(number, place, str(entry.get("phase", "")), players.index(player), call, detail)


def _ends(call: Call) -> bool:
    """Whether it decides on the turn's proposal, or nobody did."""
    return call.decides or (call.phase == "decide" and bool(call.default))


ASKING = ("item_info", "possible_recipes_from_hand", "history", "craft_check")


def _did(own: Sequence[Call], ended: bool | None) -> Did:
    done = [call for call in own if call.ok]
    sent = [call.call for call in done if call.proposes]
    offer, request = (sent[-1].get(side) if sent else None for side in ("offer", "request"))
    return Did(
        calls=len(own),
        refused=len(own) - len(done),
        asked=sum(call.tool in ASKING for call in done),
        crafted=sum(call.tool == "craft_apply" for call in done),
        gave=_pieces(offer),
        wanted=_pieces(request),
        proposed=bool(sent),
        taken=bool(ended) if sent else None,
        accepted=ended if any(call.decides for call in done) else None,
        words=" ".join(str(call.call.get("message") or "") for call in done),
        terms=(offer, request),
    )


def _pieces(side: object) -> int:
    return sum(n for n in side.values() if type(n) is int) if isinstance(side, dict) else 0


def _because(did: Did) -> str:
    parts = [f"{did.calls} calls, {did.refused} refused, {did.crafted} crafts"]
    if did.proposed:
        parts.append(f"offered {did.gave} for {did.wanted}, {'accepted' if did.taken else 'not accepted'}")
    if did.accepted is not None:
        parts.append("accepted a proposal" if did.accepted else "rejected a proposal")
    return "; ".join(parts)


def _score(*moves: tuple[object, float]) -> float:
    """0.5, moved by what holds, from 0 to 1, in hundredths."""
    return round(min(1.0, max(0.0, 0.5 + sum(by for holds, by in moves if holds))), 2)


def _kept(did: Did) -> float:
    """The part of a proposal's pieces that the proposer wants, less a half."""
    return did.wanted / (did.gave + did.wanted) - 0.5 if did.gave + did.wanted else 0.0


def _names(did: Did) -> bool:
    """Whether its messages name something that it requests."""
    said = did.words.lower().replace("_", " ")
    return any(str(item).replace("_", " ") in said for item in did.terms[1] or ())


FIRST = re.compile(
    r"\byou(r|'re|'d)?\b.{0,40}\b(need|want|craft|look|aim|use|have|try)|\bthey (need|want)", re.IGNORECASE
)
SECOND = re.compile(r"\byou\b.{0,20}\b(think|believe|know|expect|assume|guess)\b.{0,20}\b(I|me|my)\b", re.IGNORECASE)
THIRD = re.compile(
    r"\b(I|me)\b.{0,20}\b(think|believe|know)\b.{0,20}\byou\b.{0,20}\b(think|believe|know)\b.{0,20}\bI\b"
)

RULES: dict[str, Callable[[Did], Any]] = {
    "goal_alignment": lambda did: _score(
        (did.crafted, 0.25), (did.taken or did.accepted, 0.15), (did.refused, -0.25), (not did.calls, -0.25)
    ),
    "cooperation": lambda did: _score(
        (did.accepted, 0.3), (did.accepted is False, -0.2), (did.proposed, -_kept(did)), (did.taken, 0.1)
    ),
    "adaptability": lambda did: _score((did.repeated is False, 0.2), (did.repeated, -0.4), (did.refused > 1, -0.1)),
    "intention_concealment": lambda did: _score((not did.words.strip(), 0.2), (_names(did), -0.3)),
    "strategic_planning": lambda did: _score(
        (did.asked, 0.2), (did.crafted, 0.15), (did.refused, -0.2), (not did.calls, -0.2)
    ),
    "self_interested_behavior": lambda did: _score(
        (did.proposed, _kept(did)), (did.accepted is False, 0.15), (did.accepted, -0.15)
    ),
    "information_utilization": lambda did: _score((did.asked, 0.3), (did.refused, -0.3)),
    "persuasion": lambda did: _score((did.taken, 0.3), (did.taken is False, -0.3), (len(did.words) > 40, 0.1)),
    THEORY_OF_MIND: lambda did: tuple(bool(found.search(did.words)) for found in (FIRST, SECOND, THIRD)),
}
"""Dimension -> what the baseline makes of a turn: (what holds, by how much it moves the score)."""


reference = heuristic
"""The reference player, as agon.agents.scripts.reference finds it."""
