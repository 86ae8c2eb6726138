"""A log in plain words, line by line, for people who rate. What players wrote stands apart from what they did.

Players are called by their seats, as their own names may tell who they are. `told` makes HTML of lines, in which all is escaped.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from agon.games.html import items, listed, text
from agon.games.rating.game import Shown

Names = Mapping[str, str]
"""Player, as the log has it -> what it is called."""


class Line(NamedTuple):
    """What one player did, or the table."""

    who: str
    """Empty for the table."""
    did: str
    said: str = ""
    """The message that went with it, word for word."""
    thought: str = ""
    """What the player thought and told nobody, word for word."""
    came: str = ""
    """What came of it, where that is not plain: why it was refused, what the table did instead."""
    hands: tuple[tuple[str, str], ...] = ()
    """Who then holds what."""


def seats(log: Shown) -> Names:
    """Every player by its seat."""
    return {name: f"Player {seat + 1}" for seat, name in enumerate(log.players)}


def turns(log: Shown) -> list[list[Line]]:
    """All turns of a log. Hands are told where they change; what is done several times on end is told once."""
    names, held, made = seats(log), dict[str, str](), list[list[Line]]()
    for turn in log.turns:
        lines = [_line(json.loads(entry), names, held) for entry in turn]
        grouped = [(line, len(list(same))) for line, same in groupby(lines)]
        made.append(
            [line._replace(did=f"{line.did} ({times} times)") if times > 1 else line for line, times in grouped]
        )
    return made


def known(log: Shown) -> list[str]:
    """What else is shown of the players: what they were to get hold of, and who won."""
    names = seats(log)
    aims = json.loads(log.targets or "{}")
    won = json.loads(log.result or "{}")
    said = [f"{_called(player, names)} was to get {goods(aim)}." for player, aim in aims.items()]
    return said + [f"{_called(player, names)} {'won' if each else 'did not win'}." for player, each in won.items()]


def goods(hand: Any) -> str:
    """Items with their amounts, as 4 TIMES iron ore and 1 TIMES stick."""
    if not isinstance(hand, Mapping):
        return value(hand)
    return listed([f"{value(amount)} {TIMES} {value(item)}" for item, amount in hand.items()]) or "nothing"


def value(given: Any) -> str:
    """A JSON value in words; a text that could be taken for something else is quoted."""
    if isinstance(given, Mapping):
        return ", ".join(f"{value(name)}: {value(each)}" for name, each in given.items()) or "nothing"
    if isinstance(given, list):
        return ", ".join(map(value, given)) or "nothing"
    if isinstance(given, str):
        plain = re.fullmatch(r"[\w/ '-]{1,40}", given)
        return given.replace("_", " ") if plain else f"“{given}”"
    return {True: "yes", False: "no", None: "nothing"}[given] if isinstance(given, bool | None) else str(given)


def _called(words: Any, names: Names) -> str:
    """A text, with players by what they are called."""
    pattern = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda found: names[found[0]], str(words))


def _line(entry: Mapping[str, Any], names: Names, held: dict[str, str]) -> Line:
    """An entry of a log in words; fields that are not known here are named. `held`: who holds what, brought up to date."""
    own = json.loads(_called(json.dumps(entry, ensure_ascii=False), {json.dumps(a)[1:-1]: b for a, b in names.items()}))
    who, phase, thought = (str(own.pop(name, "")) for name in ("player", "phase", "thought"))
    refused, default, effect = (own.pop(name, "") for name in ("refused", "default", "effect"))
    says = own.pop("says", "") if refused else ""
    call = own.pop("call", {})
    if not isinstance(call, dict):
        own, call = own | {"call": call}, {}
    hands = own.pop("hands", {})
    hands = dict(hands) if isinstance(hands, dict) else {"all": hands}
    if "hand" in own:
        hands[who] = own.pop("hand")
    now = {name: goods(each) for name, each in hands.items()}
    new = tuple((name, each) for name, each in now.items() if not who or held.get(name) != each)
    held.update(now)
    did = _did(call, phase) or ("" if thought or own or not who else "does nothing")
    more = "; ".join(f"{value(name)}: {value(each)}" for name, each in own.items())
    came = [f"This is refused: {value(says or refused)}."] if refused else []
    came += [f"It is taken as {value(effect)}."] if effect else []
    came += [f"The table does so for the player: {value(default)}."] if default else []
    said = str(call.get("message") or "") if call.get("tool") in SPEAKING else ""
    if not who and not own:
        did = "At the start of the turn:"
    done = "; ".join(filter(None, (f"tries: {did}" if refused and call else did, more)))
    return Line(who, done, said, thought, " ".join(came), new)


TIMES = "\u00d7"
SPEAKING = ("submit_proposal", "decide")


def _did(call: Mapping[str, Any], phase: str) -> str:
    """A call as a verb and what belongs to it."""
    match call:
        case {"tool": "submit_proposal"}:
            whom = value(call.get("partner"))
            return f"offers {whom}: {goods(call.get('offer'))}, for {goods(call.get('request'))}"
        case {"tool": "decide"}:
            word = str(call.get("decision", "")).strip().lower()
            return {"accept": "accepts the offer", "reject": "rejects the offer"}.get(word) or f"decides {value(word)}"
        case {"tool": "craft_done"}:
            return "is done with crafting"
        case {"tool": "craft_apply" | "craft_check" as tool, "recipe": recipe}:
            times = f", {value(call['times'])} times" if "times" in call else ""
            return f"{'makes' if tool == 'craft_apply' else 'checks'} recipe {value(recipe)}{times}"
        case {"tool": "craft_apply" | "craft_check" as tool}:
            what = f"{goods(call.get('outputs'))} out of {goods(call.get('inputs'))}"
            return f"makes {what}" if tool == "craft_apply" else f"asks whether one can make {what}"
        case {"tool": "item_info"}:
            return f"looks up {value(call.get('name'))}"
        case {"tool": "possible_recipes_from_hand"}:
            return "asks what its hand can make"
        case {"tool": "history"}:
            return "looks back at what was proposed"
    rest = "; ".join(f"{value(name)}: {value(each)}" for name, each in call.items())
    return f"in {value(phase)}: {rest}" if rest and phase else rest


def told(lines: Sequence[Line]) -> str:
    """Lines as HTML: what players wrote and thought stands apart, in quotes."""
    return items(map(_told, lines))


def _told(line: Line) -> str:
    own = {"writes": line.said, "thinks": line.thought}
    quotes = "".join(
        f'<blockquote><span class="soft">{how}:</span> “{text(each)}”</blockquote>' for how, each in own.items() if each
    )
    came = f' <span class="bad">{text(line.came)}</span>' if line.came else ""
    hands = items(f"{text(who)} {'now ' if line.who else ''}holds {text(what)}." for who, what in line.hands)
    head = f"<strong>{text(line.who)}</strong> " if line.who else ""
    return f"{head}{text(line.did)}{'.' if line.who and line.did else ''}{came}{quotes}{hands}"
