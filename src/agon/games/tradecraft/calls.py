"""Calls: what a player of TradeCraft answers is the call of a tool, a JSON object such as {"tool": "craft_done"}."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agon.games.reading import Reading
from agon.games.spaces import Dice, Space
from agon.games.tradecraft.recipes import Craft, Hand, Ruleset, written

ASKING = ("item_info", "possible_recipes_from_hand", "history", "rethink")
"""Tools that may be called in every phase and change nothing."""
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
"""Tool -> its arguments; all else in a call is passed over."""
LARGEST = 200_000
"""A call of more bytes, written as JSON, is no call."""
_encoded = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
DEEPEST = 20
"""A call of more levels, one within another, is no call."""


class Object(dict[str, Any]):
    """A JSON object that can be looked up, and is never changed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(json.dumps(self, sort_keys=True))


class Call(Object):
    """What a player answers: the name of a tool under "tool", and its arguments."""


@dataclass(frozen=True)
class Calls(Space):
    """Every call of a tool: a JSON object with the tool's name under "tool". Whether it is refused is for the game to say."""

    phase: str
    tools: tuple[str, ...]
    """Those that the phase is for; a call of another is refused."""
    hand: Hand = field(default_factory=dict, repr=False, compare=False)
    """The player's; this and the following are for examples alone."""
    others: Mapping[str, Hand] = field(default_factory=dict, repr=False, compare=False)
    """Player -> hand, of those one may trade with; nobody where there is nothing to propose."""
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
        """A call that the game does not refuse: any proposal, any decision, or any craft of one operation; sometimes done."""
        if self.phase == "propose":
            partner = dice.choice(sorted(self.others))
            sides = {"offer": _part(self.hand, dice), "request": _part(self.others[partner], dice)}
            return Call(tool="submit_proposal", partner=partner, **sides, message="")
        if self.phase == "decide":
            return Call(tool="decide", decision=dice.choice(("accept", "reject")), message="")
        if self.ruleset is None or dice.random() < 0.5 or not (possible := self.ruleset.possible(self.hand)):
            return Call(tool="craft_done")
        found = self.ruleset.filled(dice.choice(possible), 1, self.hand)
        if not isinstance(found, Craft):
            return Call(tool="craft_done")
        return Call(tool="craft_apply", inputs=written(found.inputs), outputs=written(found.outputs))

    def spelled(self, action: Any) -> str:
        """The call as JSON, in one line."""
        return json.dumps(action, ensure_ascii=False)

    def read(self, text: str, last: bool = False) -> Reading:
        """The one call in an answer (agon.games.tradecraft.tool_calls); the tag does not matter."""
        from agon.games.tradecraft.tool_calls import call_in

        call, fault, _ = call_in(text)
        if call is not None and call not in self:
            return Reading(None, "the call is too long, or holds half a surrogate pair")
        return Reading(call, fault)


def _shallow(value: object, most: int) -> bool:
    """Whether a JSON value has at most so many levels."""
    if not isinstance(value, Mapping | list | tuple):
        return True
    inner = value.values() if isinstance(value, Mapping) else value
    return most > 0 and all(_shallow(each, most - 1) for each in inner)


def _part(hand: Hand, dice: Dice) -> dict[str, int]:
    """Some whole pieces of some items."""
    return {
        item: 1 + int(dice.random() * int(amount))
        for item, amount in sorted(hand.items())
        if amount >= 1 and dice.random() < 0.3
    }
