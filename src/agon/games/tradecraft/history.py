"""What a seat of TradeCraft knows of the turns so far: the refined history that roles are told (paper TradeCraft, section 3.1)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from agon.games import Observation

SAID = ("message", "reply")
"""What players say, in an entry of the game's own history."""


class Past(NamedTuple):
    """What a seat knows of a turn: its proposal, and what the seat itself has crafted."""

    turn: int
    proposer: str
    partner: str = ""
    offer: Mapping[str, Any] | None = None
    """None where the seat does not know it, as for request."""
    request: Mapping[str, Any] | None = None
    message: str = ""
    outcome: str = ""
    reply: str = ""
    made: tuple[str, ...] = ()
    """Own crafts, in words."""


def past_turns(view: Observation, quoted: int) -> list[Past]:
    """What a seat knows of the turns so far, oldest first; of what was said `quoted` characters at most.

    The turn that goes on is among them when its proposal is decided.
    """
    found: list[Past] = []
    players = view.rules.players
    for event in view.past:
        value = event.value
        if event.phase == "turn":
            found.append(Past(value["turn"], value["proposer"]))
        elif event.phase == "proposal":
            terms = {name: value[name] for name in ("partner", "offer", "request")}
            found[-1] = found[-1]._replace(**terms, message=_cut(value["message"], quoted))
        elif event.phase == "decision":
            outcome = f"{value['decision']}ed" + (" (no answer in time)" if value["default"] else "")
            found[-1] = found[-1]._replace(
                partner=players[event.seat], outcome=outcome, reply=_cut(value["message"], quoted)
            )
        elif event.phase == "rejected":
            found[-1] = found[-1]._replace(partner=value["partner"], outcome="rejected")
        elif event.phase == "trade":
            terms = {name: value[name] for name in ("partner", "offer", "request")}
            found[-1] = found[-1]._replace(**terms, outcome=found[-1].outcome or "accepted")
        elif event.phase == "answer" and value["ok"] and value["call"]["tool"] == "craft_apply":
            found[-1] = found[-1]._replace(made=(*found[-1].made, _made(value["call"])))
    return [each for each in found if each.outcome]


def _made(call: Mapping[str, Any]) -> str:
    if call.get("recipe") is not None:  # null where inputs and outputs are given
        return f"{call['recipe']} ({call['times']} times)"
    return ", ".join(f"{amount} {item}" for item, amount in call["outputs"].items())


def shortened(answer: Mapping[str, Any], recent: int, condensed: int, quoted: int) -> Mapping[str, Any]:
    """The game's answer to a call; that of the tool history as short as the history that roles are told."""
    if not answer["ok"] or answer["call"]["tool"] != "history":
        return answer
    entries = answer["answer"][-(recent + condensed) :]
    old = len(entries) - recent
    kept = [
        entry | {name: _cut(entry[name] or "", quoted) if place >= old else "" for name in SAID if name in entry}
        for place, entry in enumerate(entries)
    ]
    return {**answer, "answer": kept}


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}..."
