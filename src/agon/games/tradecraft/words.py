"""Hands and recipes of TradeCraft in words, for people."""

from collections.abc import Mapping
from typing import Any

from agon.games.html import count, listed, text
from agon.games.tradecraft.recipes import Recipe, Ruleset

MEMBERS = 4
"""Items that a tag is explained by."""


def goods(hand: Mapping[str, Any]) -> str:
    """A hand as HTML: `2 wood and 1 iron`, or `nothing`."""
    return text(listed([f"{amount} {item}" for item, amount in hand.items()]) or "nothing")


def takes(ruleset: Ruleset, recipe: Recipe, times: int = 1) -> str:
    """What some operations take, in words; of tags with many items only the first few."""
    parts = []
    for need, number in recipe.needs:
        members = ruleset.members(need)
        more = [f"{len(members) - MEMBERS} more"] if len(members) > MEMBERS + 1 else []
        few = listed([*members[: MEMBERS if more else None], *more], "and" if more else "or")
        parts.append(f"{number * times} {f'any of {need[1:]} ({few})' if need.startswith('#') else need}")
    return " + ".join([*parts, *([f"fuel for {count(times, 'smelt')}"] if recipe.fuelled else [])])
