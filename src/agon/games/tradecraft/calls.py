"""Calls: a player of TradeCraft answers with the call of a tool, a JSON object such as {"tool": "craft_done"}.

The call is the one JSON object with "tool" in an answer, wherever it stands. Fences, tags, a [move] before it and words after it
do not matter; nor do objects that are no calls, such as {"stick": 2}. A text that only resembles a call (single quotes, comments, a comma
too many, NaN, a key twice, a brace that is not closed) is a fault, as are several calls: nothing is repaired or evaluated.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from string import digits
from typing import Any, NamedTuple

from agon.games.reading import Reading
from agon.games.schemas import TOOL, Schema, keys, object_of, unique_keys
from agon.games.spaces import Dice, Space, no_number, one_line
from agon.games.tradecraft.amounts import Hand, hand_to_json
from agon.games.tradecraft.recipes import Craft, Ruleset

ASKING = ("item_info", "possible_recipes_from_hand", "history", "rethink")
"""The tools that change nothing. A player may call them in every phase."""
TOOLS = {
    "propose": (*ASKING, "submit_proposal"),
    "decide": (*ASKING, "decide"),
    "craft": (*ASKING, "craft_check", "craft_apply", "craft_done"),
}
"""Phase -> the tools that may be called in it."""
ARGUMENTS = {
    "item_info": ("name",),
    "rethink": ("text",),
    "submit_proposal": ("partner", "offer", "request", "message"),
    "decide": ("decision", "message"),
    **dict.fromkeys(("craft_check", "craft_apply"), ("recipe", "times", "inputs", "outputs")),
}
"""Tool -> its arguments; the game ignores all other parts of a call."""
LARGEST = 200_000
"""The size of a call as JSON in bytes, at most."""
_encoded = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
DEEPEST = 20
"""The depth of the JSON of a call, at most."""
DIGITS = 100
"""Digits of a whole number, at most."""
WORDS: Schema = {"type": "string", "maxLength": 400}
"""The schema of a message in a constrained answer."""
PART: Schema = {
    "type": "string",
    "pattern": r"^[0-9]{1,5}(/[1-9][0-9]{0,3})?$",
    "description": 'an amount, written as a text such as "2" or "1/8"; "0" is none',
}
"""The schema of the amount of an item in a craft."""
TIMES = 64
"""A constrained call asks for at most this many operations."""
_INSIDE = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}]', re.DOTALL)
"""The parts that decide where an object ends: texts, and braces outside of texts. A text that is not closed goes to the end."""
_NAMED = re.compile(r"\btool\b")
_BEFORE = re.compile(r"(?:\[move\]|```\w*|<\w{1,20}>|\s)+\Z")
"""Marks between a thought and the call."""


class Object(dict[str, Any]):
    """A JSON object that can be looked up, and is never changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(json.dumps(self, sort_keys=True))


class Call(Object):
    """A player's answer: the name of a tool under "tool", and its arguments."""


@dataclass(frozen=True)
class Calls(Space):
    """Every call of a tool: a JSON object with the tool's name under "tool". Whether it is refused is for the game to say."""

    phase: str
    tools: tuple[str, ...]
    """The tools of the phase. A call of another tool is refused."""
    hand: Hand = field(default_factory=dict, repr=False, compare=False)
    """The player's hand. Only examples and schemas use this field and the following ones."""
    others: Mapping[str, Hand] = field(default_factory=dict, repr=False, compare=False)
    """Player -> hand, for all possible partners. Empty in phases without proposals."""
    ruleset: Ruleset | None = field(default=None, repr=False, compare=False)

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, Mapping) or not isinstance(action.get("tool"), str) or not _shallow(action, DEEPEST):
            return False
        try:
            return len(_encoded(action).encode()) <= LARGEST
        except (TypeError, ValueError, RecursionError):  # an UnicodeEncodeError is a ValueError
            return False

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        return {"call": list(self.tools)}

    def example(self, dice: Dice) -> Call:
        """A call that the game does not refuse: any proposal, any decision, any craft of one operation, or the end of crafting."""
        if self.phase == "propose":
            partner = dice.choice(sorted(self.others))
            sides = {"offer": _part(self.hand, dice), "request": _part(self.others[partner], dice)}
            return Call(tool="submit_proposal", partner=partner, **sides, message="")
        if self.phase == "decide":
            return Call(tool="decide", decision=dice.choice(("accept", "reject")), message="")
        if self.ruleset is None or dice.random() < 0.5 or not (possible := self.ruleset.possible(self.hand)):
            return Call(tool="craft_done")
        craft = self.ruleset.fill_craft(dice.choice(possible), 1, self.hand)
        if not isinstance(craft, Craft):
            return Call(tool="craft_done")
        return Call(tool="craft_apply", inputs=hand_to_json(craft.inputs), outputs=hand_to_json(craft.outputs))

    def format(self, action: Any) -> str:
        """The call as JSON, in one line."""
        return json.dumps(action, ensure_ascii=False)

    def read(self, text: str, last: bool = False) -> Reading:
        """The one call in an answer, wherever it stands."""
        call, fault, _ = call_in(text)
        if call is not None and call not in self:
            return Reading(None, "the call is too long, or holds half a surrogate pair")
        return Reading(call and _message_in_one_line(call), fault)

    def schema(self) -> Schema:
        """The schema of a call: one of the tools with its arguments. Trades and crafts are limited to what the hands allow."""
        return {"anyOf": [object_of(form) for tool in self.tools for form in self._forms(tool)]}

    def as_tools(self) -> dict[str, Schema]:
        """The tools with the schemas of their arguments. A second way to call a tool has a number after the tool's name."""
        forms = [(tool, form) for tool in self.tools for form in self._forms(tool)]
        return {
            name: object_of({name: part for name, part in form.items() if name != TOOL})
            for name, (_, form) in zip(keys(tool for tool, _ in forms), forms, strict=True)
        }

    def _forms(self, tool: str) -> Iterator[dict[str, Schema]]:
        """The arguments of a tool, for each way to call it. There is no way if every call would be refused."""
        head: dict[str, Schema] = {"tool": {"type": "string", "enum": [tool]}}
        if tool == "submit_proposal":
            for partner, hand in sorted(self.others.items()):
                sides = {"offer": _side(self.hand), "request": _side(hand)}
                yield head | {"partner": {"type": "string", "enum": [partner]}} | sides | {"message": WORDS}
        elif tool == "decide":
            yield head | {"decision": {"type": "string", "enum": ["accept", "reject"]}, "message": WORDS}
        elif tool in ("craft_check", "craft_apply"):
            if possible := self.ruleset.possible(self.hand) if self.ruleset else []:
                times: Schema = {"type": "integer", "minimum": 1, "maximum": TIMES}
                yield head | {"recipe": {"type": "string", "enum": [recipe.id for recipe in possible]}, "times": times}
                items: Schema = {"type": "string", "enum": sorted({recipe.makes for recipe in possible})}
                most = TIMES * max(recipe.number for recipe in possible)
                product = object_of({"item": items, "amount": times | {"maximum": most}})
                yield head | {"inputs": object_of(dict.fromkeys(keys(sorted(self.hand)), PART)), "outputs": product}
        else:
            yield head | dict.fromkeys(ARGUMENTS.get(tool, ()), WORDS)

    def encode(self, action: Any) -> Any:
        """The call as a value of the schema: every item of a hand is in it, and items that the call does not name are 0."""
        value = dict(action)
        if "partner" in value:
            for side, hand in (("offer", self.hand), ("request", self.others[value["partner"]])):
                value[side] = {key: value[side].get(item, 0) for key, item in _whole(hand).items()}
        if "outputs" in value:
            ((item, amount),) = value["outputs"].items()
            value["inputs"] = {key: str(value["inputs"].get(name, 0)) for key, name in _keyed(self.hand).items()}
            value["outputs"] = {"item": item, "amount": amount}
        return value

    def decode(self, value: Any) -> Any | None:
        """The call of a value of the schema, without the items whose amount is 0."""
        call = Call(value)
        call[TOOL] = call[TOOL].rstrip(digits)  # of a further way to call it
        if "partner" in call:
            for side, hand in (("offer", self.hand), ("request", self.others[call["partner"]])):
                call[side] = {item: call[side][key] for key, item in _whole(hand).items() if call[side][key]}
        if "outputs" in call:
            amounts = {item: call["inputs"][key] for key, item in _keyed(self.hand).items()}
            call["inputs"] = {item: int(part) if part.isdecimal() else part for item, part in amounts.items()}
            call["inputs"] = {item: part for item, part in call["inputs"].items() if part}
            call["outputs"] = {call["outputs"]["item"]: call["outputs"]["amount"]}
        return _message_in_one_line(call)


def _message_in_one_line(call: Call) -> Call:
    """The call with the message to the other player as one line."""
    message = call.get("message")
    return Call(call, message=one_line(message)) if isinstance(message, str) else call


def _keyed(hand: Hand) -> dict[str, str]:
    """Key of a schema -> item of the hand."""
    return dict(zip(keys(sorted(hand)), sorted(hand), strict=True))


def _whole(hand: Hand) -> dict[str, str]:
    """The part of `_keyed` with at least one whole piece in the hand."""
    return {key: item for key, item in _keyed(hand).items() if hand[item] >= 1}


def _side(hand: Hand) -> Schema:
    """The schema of one side of a trade: from none to all of each item."""
    pieces = {key: int(hand[item]) for key, item in _whole(hand).items()}
    return object_of({key: {"type": "integer", "minimum": 0, "maximum": most} for key, most in pieces.items()})


def _shallow(value: object, most: int) -> bool:
    """Whether a JSON value has at most `most` levels."""
    if not isinstance(value, Mapping | list | tuple):
        return True
    inner = value.values() if isinstance(value, Mapping) else value
    return most > 0 and all(_shallow(part, most - 1) for part in inner)


def _part(hand: Hand, dice: Dice) -> dict[str, int]:
    """Some whole pieces of some items."""
    return {
        item: 1 + int(dice.random() * int(amount))
        for item, amount in sorted(hand.items())
        if amount >= 1 and dice.random() < 0.3
    }


# ---- calls in the answers of players ----


class CallReading(NamedTuple):
    """The call in an answer, or the reason why there is none."""

    call: Call | None
    fault: str
    """The reason why there is no call, in a few words; empty when there is one."""
    source: str = ""
    """The call as it was written."""


def call_in(text: str) -> CallReading:
    """The one call in an answer (without its thinking, see agon.games.reading.strip_thinking), whether or not a game allows it."""
    if not text.strip():
        return CallReading(None, "the answer is empty")
    if len(text) > LARGEST:
        return CallReading(None, f"the answer has {len(text)} characters; at most {LARGEST} can be read")
    readings = [_read(source) for source in _objects(text) if _NAMED.search(source)]
    calls = [reading for reading in readings if reading is not None]
    if len(calls) == 1:
        return calls[0]
    return CallReading(
        None, f"there are {len(calls)} calls; give just one" if calls else 'there is no JSON object with "tool"'
    )


def thought_in(text: str, source: str) -> str:
    """The text of an answer before its call, which is written as `source`; all of it where there is no call."""
    before = text.rpartition(source)[0] if source and source in text else text
    return _BEFORE.sub("", before).strip()


def _objects(text: str) -> Iterator[str]:
    """Every outermost {...} of a text. The last one may lack its end."""
    start = text.find("{")
    while start >= 0:
        end = _end(text, start)
        yield text[start:end]
        start = text.find("{", end)


def _end(text: str, start: int) -> int:
    depth = 0
    for token in _INSIDE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _read(source: str) -> CallReading | None:
    """The call in the text of a JSON object, or its fault; None if it is no call."""
    try:
        value = json.loads(
            source, object_pairs_hook=unique_keys, parse_constant=no_number, parse_float=_float, parse_int=_int
        )
    except json.JSONDecodeError as error:
        return CallReading(
            None, f"the JSON object cannot be read: {error.msg} (character {error.pos + 1} of it)", source
        )
    except (ValueError, RecursionError) as error:
        fault = str(error) if type(error) is ValueError else "it is nested too deep"
        return CallReading(None, f"the JSON object cannot be read: {fault}", source)
    if "tool" in value:
        tool = value["tool"]
        return (
            CallReading(Call(value), "", source)
            if isinstance(tool, str)
            else CallReading(None, '"tool" must be a text', source)
        )
    return CallReading(None, 'the JSON object has no "tool" of its own', source) if '"tool"' in source else None


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


def _int(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError("a number is too large")
    return int(digits)
