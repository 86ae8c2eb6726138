"""Logs in plain words, line by line, for people who rate. Messages of players stand apart from their acts.

Players are named after their seats, because their own names may reveal who they are. `lines_html` escapes everything.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from agon.games.html import items, join_words, text
from agon.games.rating.game import VisibleLog

Names = Mapping[str, str]
"""Player in the log -> its name in words."""


class Line(NamedTuple):
    """An act of one player, or of the table."""

    who: str
    """Empty for the table."""
    did: str
    said: str = ""
    """The message of the act, word for word."""
    thought: str = ""
    """The player's thought, word for word. Nobody else has read it."""
    came: str = ""
    """An outcome that is not obvious: the reason of a refusal, or the table's act instead."""
    hands: tuple[tuple[str, str], ...] = ()
    """(player, hand) after the act, where it changed."""


def seats(log: VisibleLog) -> Names:
    """Player -> its name after its seat."""
    return {name: f"Player {seat + 1}" for seat, name in enumerate(log.players)}


def turns(log: VisibleLog) -> list[list[Line]]:
    """The lines of all turns of a log. Hands appear when they change. An act that is repeated at once appears once."""
    names, hands, log_lines = seats(log), dict[str, str](), list[list[Line]]()
    for turn in log.turns:
        lines = [_line(json.loads(entry), names, hands) for entry in turn]
        grouped = [(line, len(list(same))) for line, same in groupby(lines)]
        log_lines.append(
            [line._replace(did=f"{line.did} ({times} times)") if times > 1 else line for line, times in grouped]
        )
    return log_lines


def outcome_lines(log: VisibleLog) -> list[str]:
    """Sentences on the targets of players and on who won, as far as the log shows them."""
    names = seats(log)
    aims = json.loads(log.targets or "{}")
    won = json.loads(log.result or "{}")
    lines = [f"{_with_seat_names(player, names)} was to get {format_goods(aim)}." for player, aim in aims.items()]
    return lines + [
        f"{_with_seat_names(player, names)} {'won' if result else 'did not win'}." for player, result in won.items()
    ]


def format_goods(hand: Any) -> str:
    """Items with their amounts, as 4 TIMES iron ore and 1 TIMES stick."""
    if not isinstance(hand, Mapping):
        return format_value(hand)
    return (
        join_words([f"{format_value(amount)} {TIMES} {format_value(item)}" for item, amount in hand.items()])
        or "nothing"
    )


def format_value(json_value: Any) -> str:
    """A JSON value in words. A text that could be mistaken for something else is quoted."""
    if isinstance(json_value, Mapping):
        return (
            ", ".join(f"{format_value(name)}: {format_value(part)}" for name, part in json_value.items()) or "nothing"
        )
    if isinstance(json_value, list):
        return ", ".join(map(format_value, json_value)) or "nothing"
    if isinstance(json_value, str):
        plain = re.fullmatch(r"[\w/ '-]{1,40}", json_value)
        return json_value.replace("_", " ") if plain else f"“{json_value}”"
    return (
        {True: "yes", False: "no", None: "nothing"}[json_value]
        if isinstance(json_value, bool | None)
        else str(json_value)
    )


def _with_seat_names(words: Any, names: Names) -> str:
    """A text in which players are named as in `names`."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda match: names[match[0]], str(words))


def _line(entry: Mapping[str, Any], names: Names, hands_before: dict[str, str]) -> Line:
    """An entry of a log in words. Unknown fields are named. `hands_before` (player -> hand in words) is updated."""
    fields = json.loads(
        _with_seat_names(json.dumps(entry, ensure_ascii=False), {json.dumps(a)[1:-1]: b for a, b in names.items()})
    )
    who, phase, thought = (str(fields.pop(name, "")) for name in ("player", "phase", "thought"))
    refused, default, effect = (fields.pop(name, "") for name in ("refused", "default", "effect"))
    says = fields.pop("says", "") if refused else ""
    call = fields.pop("call", {})
    if not isinstance(call, dict):
        fields, call = fields | {"call": call}, {}
    hands = fields.pop("hands", {})
    hands = dict(hands) if isinstance(hands, dict) else {"all": hands}
    if "hand" in fields:
        hands[who] = fields.pop("hand")
    now = {name: format_goods(hand) for name, hand in hands.items()}
    new = tuple((name, hand) for name, hand in now.items() if not who or hands_before.get(name) != hand)
    hands_before.update(now)
    act = _describe_call(call, phase) or ("" if thought or fields or not who else "does nothing")
    more = "; ".join(f"{format_value(name)}: {format_value(hand)}" for name, hand in fields.items())
    came = [f"This is refused: {format_value(says or refused)}."] if refused else []
    came += [f"It is taken as {format_value(effect)}."] if effect else []
    came += [f"The table does so for the player: {format_value(default)}."] if default else []
    message = str(call.get("message") or "") if call.get("tool") in SPEAKING else ""
    if not who and not fields:
        act = "At the start of the turn:"
    deeds = "; ".join(filter(None, (f"tries: {act}" if refused and call else act, more)))
    return Line(who, deeds, message, thought, " ".join(came), new)


TIMES = "\u00d7"
SPEAKING = ("submit_proposal", "decide")


def _describe_call(call: Mapping[str, Any], phase: str) -> str:
    """A call in words, as a verb with its objects."""
    match call:
        case {"tool": "submit_proposal"}:
            whom = format_value(call.get("partner"))
            return f"offers {whom}: {format_goods(call.get('offer'))}, for {format_goods(call.get('request'))}"
        case {"tool": "decide"}:
            word = str(call.get("decision", "")).strip().lower()
            return {"accept": "accepts the offer", "reject": "rejects the offer"}.get(
                word
            ) or f"decides {format_value(word)}"
        case {"tool": "craft_done"}:
            return "is done with crafting"
        case {"tool": "craft_apply" | "craft_check" as tool, "recipe": recipe}:
            times = f", {format_value(call['times'])} times" if "times" in call else ""
            return f"{'makes' if tool == 'craft_apply' else 'checks'} recipe {format_value(recipe)}{times}"
        case {"tool": "craft_apply" | "craft_check" as tool}:
            what = f"{format_goods(call.get('outputs'))} out of {format_goods(call.get('inputs'))}"
            return f"makes {what}" if tool == "craft_apply" else f"asks whether one can make {what}"
        case {"tool": "item_info"}:
            return f"looks up {format_value(call.get('name'))}"
        case {"tool": "possible_recipes_from_hand"}:
            return "asks what its hand can make"
        case {"tool": "history"}:
            return "looks back at what was proposed"
    rest = "; ".join(f"{format_value(name)}: {format_value(argument)}" for name, argument in call.items())
    return f"in {format_value(phase)}: {rest}" if rest and phase else rest


def lines_html(lines: Sequence[Line]) -> str:
    """Lines as HTML. Messages and thoughts of players stand apart, in quotes."""
    return items(map(_line_html, lines))


def _line_html(line: Line) -> str:
    quotations = {"writes": line.said, "thinks": line.thought}
    quotes = "".join(
        f'<blockquote><span class="soft">{how}:</span> “{text(quotation)}”</blockquote>'
        for how, quotation in quotations.items()
        if quotation
    )
    came = f' <span class="bad">{text(line.came)}</span>' if line.came else ""
    hands = items(f"{text(who)} {'now ' if line.who else ''}holds {text(what)}." for who, what in line.hands)
    head = f"<strong>{text(line.who)}</strong> " if line.who else ""
    return f"{head}{text(line.did)}{'.' if line.who and line.did else ''}{came}{quotes}{hands}"
