"""The board of a rating: the log that is to be judged, and what it is judged by."""

import json
import re
from typing import Any

from agon.games.rating.game import ORDERS, THEORY_OF_MIND
from agon_hall.boards.scene import Scene
from agon_hall.look import items, text

ASKED = {
    "goal_alignment": "how far what a player does serves its own aim",
    "cooperation": "how far it seeks what is good for both sides",
    "adaptability": "how far it changes what it does when things change",
    "intention_concealment": "how far it deliberately keeps its aim from being seen",
    "strategic_planning": "how far it thinks several steps ahead",
    "self_interested_behavior": "how far it puts its own gain before what both could gain",
    "information_utilization": "how far it uses what can be known",
    "persuasion": "how far it moves the other to do what it wants",
    THEORY_OF_MIND: "whether it shows that it thinks about another's mind "
    f"({ORDERS[0]} order: what the other thinks; {ORDERS[1]}: what the other thinks of it; {ORDERS[2]}: anything deeper)",
}
"""Dimension -> what is judged, in a few words."""


def rating(scene: Scene) -> dict[str, str]:
    """The dimension, and the log turn by turn."""
    log = scene.view.rules
    if log is None:
        return {"asked": "<p>A log is its rater's to judge; there is nothing to watch.</p>"}
    dimension = scene.view.phase
    asked = f"<h2>{text(dimension.replace('_', ' ').capitalize())}</h2><p>To judge: {text(ASKED.get(dimension, dimension))}.</p>"
    aims = f"<p>What the players were to get hold of: {_words(log.targets)}</p>" if log.targets else ""
    won = f"<p>Who won: {_words(log.result)}</p>" if log.result else ""
    turns = "".join(
        f"<details open><summary>Turn {place}</summary>{items(_entry(entry) for entry in turn)}</details>"
        for place, turn in enumerate(log.turns, 1)
    )
    said = f"<p>A finished match of {text(log.game or 'a game')}. Players wrote to each other, never to you.</p>"
    return {"asked": asked, "log": f"<h3>The match</h3>{said}{aims}{won}{turns}"}


def _words(value: str) -> str:
    """JSON in words."""
    return _said(json.loads(value))


def _entry(entry: str) -> str:
    """One entry of a log: who, in which part of the turn, and what."""
    value = json.loads(entry)
    who = " · ".join(text(value.pop(key)) for key in ("player", "phase") if key in value)
    call = value.pop("call", None)
    if isinstance(call, dict):
        value = {
            str(call.get("tool", "call")): {key: each for key, each in call.items() if key != "tool"} or "",
            **value,
        }
    return f"<strong>{who}</strong> {_said(value)}" if who else _said(value)


def _said(value: Any) -> str:
    """A JSON value in words: hands as amounts and items, empty texts as nothing."""
    if isinstance(value, dict) and value and all(_amount(each) for each in value.values()):
        return text(", ".join(f"{amount} {item}" for item, amount in value.items()))
    if isinstance(value, dict):
        return (
            "; ".join(f'<span class="soft">{text(key)}:</span> {_said(each)}' for key, each in value.items())
            or "nothing"
        )
    if isinstance(value, list):
        return ", ".join(map(_said, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text(value) if value != "" else '<span class="soft">none</span>'


def _amount(value: Any) -> bool:
    return type(value) is int or (isinstance(value, str) and re.fullmatch(r"[0-9]+/[0-9]+", value) is not None)
