"""What a target is made of: a tree of recipes, with what is at hand and what is missing. Pure look-ups in a ruleset."""

from collections.abc import Mapping
from functools import lru_cache
from heapq import heappop, heappush
from math import ceil, inf
from typing import NamedTuple

from agon.games.tradecraft.amounts import Amount, Hand
from agon.games.tradecraft.recipes import Recipe, Ruleset

DEEPEST = 12
"""Levels of a tree that are drawn."""
LARGEST = 80
"""Items of a tree that are drawn with what they are made of."""


class Node(NamedTuple):
    """So many of an item, and what to do for them."""

    item: str
    wanted: Amount
    held: Amount
    """Of these, what one's own hand has; no piece is counted twice."""
    others: tuple[tuple[str, Amount], ...]
    """Who else holds it, and how much."""
    recipe: Recipe | None
    """How the rest can be made; None where nothing is missing, or nothing makes it."""
    times: int
    ways: int
    """Recipes that make it."""
    kind: str
    """The tag that the item was chosen from; empty where a recipe names the item."""
    parts: tuple["Node", ...]


@lru_cache(maxsize=256)
def work(ruleset: Ruleset, held: frozenset[str], own: frozenset[str]) -> dict[str, float]:
    """For each item that can be made from those held, how much work it is: about as many recipes."""
    best: dict[str, float] = {}
    queue = [(0.0 if item in own else 0.5, item) for item in sorted(held)]
    while queue:
        cost, item = heappop(queue)
        if item in best:
            continue
        best[item] = cost
        for recipe in ruleset.used_in(item):
            if recipe.makes not in best and (more := _work(ruleset, best, recipe)) < inf:
                heappush(queue, (more, recipe.makes))
    return best


def _work(ruleset: Ruleset, best: Mapping[str, float], recipe: Recipe) -> float:
    """How much a recipe is, its ingredients included; infinite where one cannot be had."""
    needs = [
        min((best[item] for item in ruleset.members(need) if item in best), default=inf) for need, _ in recipe.needs
    ]
    return 1 + sum(needs) + 0.1 * recipe.fuelled


def tree(ruleset: Ruleset, target: Hand, own: Hand, others: Mapping[str, Hand]) -> list[Node]:
    """One node per item of a target; each missing item is made by the recipe that is the least work from all hands."""
    pool = frozenset(own).union(*others.values())
    best = work(ruleset, pool, frozenset(own))
    left: dict[str, Amount] = dict(own)
    room = LARGEST

    def grown(item: str, wanted: Amount, kind: str, above: frozenset[str]) -> Node:
        nonlocal room
        room -= 1
        taken = min(wanted, left.get(item, 0))
        left[item] = left.get(item, 0) - taken
        missing = wanted - taken
        elsewhere = tuple((player, hand[item]) for player, hand in others.items() if hand.get(item))
        ways = ruleset.made_by(item)
        recipe = min(ways, key=lambda each: _work(ruleset, best, each), default=None)
        covered = sum(amount for _, amount in elsewhere) >= missing
        if missing <= 0 or recipe is None or covered or item in above or len(above) > DEEPEST or room < 0:
            return Node(item, wanted, taken, elsewhere, None, 0, len(ways), kind, ())
        times = ceil(missing / recipe.number)
        parts = tuple(
            grown(picked(need), count * times, need[1:] if need.startswith("#") else "", above | {item})
            for need, count in recipe.needs
        )
        return Node(item, wanted, taken, elsewhere, recipe, times, len(ways), kind, parts)

    def picked(need: str) -> str:
        """The member of a tag that is at hand, or the least work."""
        members = ruleset.members(need) or (need,)
        return min(members, key=lambda item: (-min(left.get(item, 0), 1), best.get(item, inf), members.index(item)))

    return [grown(item, amount, "", frozenset()) for item, amount in target.items()]
