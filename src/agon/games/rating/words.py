"""Logs in plain words, line by line, for people who rate. Messages of players stand apart from their acts.

Players are named after their seats, because their own names may reveal who they are. `lines_html` escapes everything.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from agon.games.html import items, text
from agon.games.rating.game import ORDERS, VisibleLog
from agon.games.sentences import Say

Names = Mapping[str, str]
"""Player in the log -> its name in words."""


ORDER = {order: f"{order} order" for order in ORDERS}
"""Order of theory of mind -> its words."""


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


def turns(log: VisibleLog, say: Say) -> list[list[Line]]:
    """The lines of all turns of a log. Hands appear when they change. An act that is repeated at once appears once."""
    names, hands, log_lines = seats(log), dict[str, str](), list[list[Line]]()
    for turn in log.turns:
        lines = [_line(json.loads(entry), names, hands, say) for entry in turn]
        grouped = [(line, len(list(same))) for line, same in groupby(lines)]
        log_lines.append(
            [line._replace(did=say("{} ({} times)", line.did, times)) if times > 1 else line for line, times in grouped]
        )
    return log_lines


def outcome_lines(log: VisibleLog, say: Say) -> list[str]:
    """Sentences on the targets of players and on who won, as far as the log shows them."""
    names = seats(log)
    aims = json.loads(log.targets or "{}")
    won = json.loads(log.result or "{}")
    lines = [
        say("{} was to get {}.", _with_seat_names(player, names), format_goods(aim, say))
        for player, aim in aims.items()
    ]
    return lines + [
        (say("{} won.", name) if result else say("{} did not win.", name))
        for name, result in ((_with_seat_names(player, names), result) for player, result in won.items())
    ]


def format_goods(hand: Any, say: Say) -> str:
    """Items with their amounts, such as 4 iron ore and 1 stick, with the sign TIMES behind each amount."""
    if not isinstance(hand, Mapping):
        return format_value(hand, say)
    parts = [f"{format_value(amount, say)} {TIMES} {format_value(item, say)}" for item, amount in hand.items()]
    return say.join(parts) or say("nothing")


def format_value(json_value: Any, say: Say) -> str:
    """A JSON value in words. A text that could be mistaken for something else is quoted."""
    if isinstance(json_value, Mapping):
        parts = [f"{format_value(name, say)}: {format_value(part, say)}" for name, part in json_value.items()]
        return ", ".join(parts) or say("nothing")
    if isinstance(json_value, list):
        return ", ".join(format_value(part, say) for part in json_value) or say("nothing")
    if isinstance(json_value, str):
        plain = re.fullmatch(r"[\w/ '-]{1,40}", json_value)
        return json_value.replace("_", " ") if plain else f"“{json_value}”"
    return (
        {True: say("yes"), False: say("no"), None: say("nothing")}[json_value]
        if isinstance(json_value, bool | None)
        else str(json_value)
    )


def _with_seat_names(words: Any, names: Names) -> str:
    """A text in which players are named as in `names`."""
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", lambda match: names[match[0]], str(words))


def _line(entry: Mapping[str, Any], names: Names, hands_before: dict[str, str], say: Say) -> Line:
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
    now = {name: format_goods(hand, say) for name, hand in hands.items()}
    new = tuple((name, hand) for name, hand in now.items() if not who or hands_before.get(name) != hand)
    hands_before.update(now)
    act = _describe_call(call, phase, say) or ("" if thought or fields or not who else say("does nothing"))
    more = "; ".join(f"{format_value(name, say)}: {format_value(value, say)}" for name, value in fields.items())
    came = [say("This is refused: {}.", format_value(says or refused, say))] if refused else []
    came += [say("It is taken as {}.", format_value(effect, say))] if effect else []
    came += [say("The table does so for the player: {}.", format_value(default, say))] if default else []
    message = str(call.get("message") or "") if call.get("tool") in SPEAKING else ""
    if not who and not fields:
        act = say("At the start of the turn:")
    deeds = "; ".join(filter(None, (say("tries: {}", act) if refused and call else act, more)))
    return Line(who, deeds, message, thought, " ".join(came), new)


TIMES = "\u00d7"
SPEAKING = ("submit_proposal", "decide")
"""The tools whose calls have a message to the other player."""


def _describe_call(call: Mapping[str, Any], phase: str, say: Say) -> str:
    """A call in words, as a verb with its objects."""
    match call:
        case {"tool": "submit_proposal"}:
            whom, offer = format_value(call.get("partner"), say), format_goods(call.get("offer"), say)
            return say("offers {}: {}, for {}", whom, offer, format_goods(call.get("request"), say))
        case {"tool": "decide"}:
            word = str(call.get("decision", "")).strip().lower()
            known = {"accept": say("accepts the offer"), "reject": say("rejects the offer")}
            return known.get(word) or say("decides {}", format_value(word, say))
        case {"tool": "craft_done"}:
            return say("is done with crafting")
        case {"tool": "craft_apply" | "craft_check" as tool, "recipe": recipe}:
            act = say("makes recipe {}") if tool == "craft_apply" else say("checks recipe {}")
            act = act.replace("{}", format_value(recipe, say))
            return say("{}, {} times", act, format_value(call["times"], say)) if "times" in call else act
        case {"tool": "craft_apply" | "craft_check" as tool}:
            goods = format_goods(call.get("outputs"), say), format_goods(call.get("inputs"), say)
            if tool == "craft_apply":
                return say("makes {} out of {}", *goods)
            return say("asks whether one can make {} out of {}", *goods)
        case {"tool": "item_info"}:
            return say("looks up {}", format_value(call.get("name"), say))
        case {"tool": "possible_recipes_from_hand"}:
            return say("asks what its hand can make")
        case {"tool": "history"}:
            return say("looks back at what was proposed")
    rest = "; ".join(f"{format_value(name, say)}: {format_value(argument, say)}" for name, argument in call.items())
    return say("in {}: {}", format_value(phase, say), rest) if rest and phase else rest


def lines_html(lines: Sequence[Line], say: Say) -> str:
    """Lines as HTML. Messages and thoughts of players stand apart, in quotes."""
    return items(_line_html(line, say) for line in lines)


def _line_html(line: Line, say: Say) -> str:
    quotations = {say("writes"): line.said, say("thinks"): line.thought}
    quotes = "".join(
        f'<blockquote><span class="soft">{how}:</span> “{text(quotation)}”</blockquote>'
        for how, quotation in quotations.items()
        if quotation
    )
    came = f' <span class="bad">{text(line.came)}</span>' if line.came else ""
    holds = [(text(who), text(what)) for who, what in line.hands]
    hands = items(say("{} now holds {}.", *hand) if line.who else say("{} holds {}.", *hand) for hand in holds)
    head = f"<strong>{text(line.who)}</strong> " if line.who else ""
    return f"{head}{text(line.did)}{'.' if line.who and line.did else ''}{came}{quotes}{hands}"
