"""Logs in words, for people."""

import json
import re
from collections.abc import Mapping
from typing import Any

from agon.games.html import text
from agon.games.rating.game import Shown

Names = Mapping[str, str]
"""Player, as the log has it -> what it is called; a player that is not there is called as the log does."""
LOGGED: Names = {}


def story(log: Shown, turn: int) -> str:
    """A log up to and with a turn, with players by their seats; what came before it is folded."""
    names = {name: f"Player {seat + 1}" for seat, name in enumerate(log.players)}
    *before, last = [
        f"<ul>{''.join(f'<li>{entry(each, names)}</li>' for each in own)}</ul>" for own in log.turns[:turn]
    ]
    past = "".join(f"<h2>Turn {place}</h2>{each}" for place, each in enumerate(before, 1))
    span = f"turns 1 to {len(before)}" if len(before) > 1 else "turn 1"
    folded = f"<details><summary>Before it: {span}</summary>{past}</details>" if before else ""
    known = {"Targets": log.targets, "Who won": log.result}
    told = "".join(f"<p>{name}: {said(json.loads(each), names)}</p>" for name, each in known.items() if each)
    return (
        f'<div class="log" tabindex="0" role="region" aria-label="What happened">{told}{folded}'
        f'<div class="now"><h2>Turn {turn}: judge this one</h2>{last}</div></div>'
    )


def entry(line: str, names: Names = LOGGED) -> str:
    """What one player did, or the table: every field with its name."""
    own = json.loads(line)
    who, phase, call = own.pop("player", ""), own.pop("phase", ""), own.get("call")
    if isinstance(call, dict) and not call.keys() & own.keys():
        own = call | {key: value for key, value in own.items() if key != "call"}
    head = (
        f'<strong>{_plain(who, names)}</strong> <span class="phase">{_plain(phase, names)}</span> '
        if who or phase
        else ""
    )
    return head + "; ".join(f"<em>{_plain(name, names)}</em> {said(value, names)}" for name, value in own.items())


def said(value: Any, names: Names = LOGGED, nested: bool = False) -> str:
    """A JSON value in words; texts that could be taken for something else are quoted."""
    if isinstance(value, dict):
        words = ", ".join(f"{_plain(key, names)} {said(each, names, True)}" for key, each in value.items())
        return f"({words})" if nested or not words else words
    if isinstance(value, list):
        return f"[{', '.join(said(each, names, True) for each in value)}]"
    if value == "":
        return "(empty)"
    if isinstance(value, str):
        known = _plain(value, names)
        return known if re.fullmatch(r"[\w/ -]{1,40}", value) else f"“{known}”"
    return text(json.dumps(value))


def _plain(words: Any, names: Names) -> str:
    """A text, with players by other names: their own may tell who they are."""
    if not names:
        return text(words)
    pattern = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    return text(re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda found: names[found[0]], str(words)))
