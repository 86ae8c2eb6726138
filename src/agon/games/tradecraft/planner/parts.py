"""The part of a ruleset that is relevant for making a target out of some kinds of items."""

import functools
from collections.abc import Iterable
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil, inf
from typing import NamedTuple

from agon.games.tradecraft.amounts import Hand
from agon.games.tradecraft.recipes import Recipe, Ruleset

LOWERED = 20
"""How often the units of one item are lowered, at most. In a ruleset that makes matter from nothing they would fall forever."""


class Need(NamedTuple):
    """An ingredient of an operation: how many, of which items; members may mix."""

    number: int
    members: tuple[str, ...]


class Way(NamedTuple):
    """A recipe with those members of its tags that can be reached."""

    recipe: Recipe
    needs: tuple[Need, ...]


class Part(NamedTuple):
    """The relevant part of a ruleset."""

    ways: tuple[Way, ...]
    items: tuple[str, ...]
    """The targets, and all items that a way takes, makes or burns, in the ruleset's order."""
    fuel: dict[str, Fraction]
    """The fuels: item -> smelts. Empty if no way burns fuel."""
    unreachable: tuple[str, ...]
    """Targets that cannot be made."""


def part(ruleset: Ruleset, hand: Hand, targets: Iterable[str], unlimited: bool = False) -> Part:
    """The recipes that some shortest plan from a hand to the targets may use.

    A recipe is left out if its ingredients cannot be reached, if it takes more units than the hand has, if another recipe makes
    at least as much of the same ingredients, or if it leads to no target. An item is not made as fuel if its ingredients burn
    as long, because burning them is shorter. With `unlimited`, the hand has any amount of its items.
    """
    kinds = frozenset(hand)
    if unlimited:
        return _part(ruleset, kinds, frozenset(targets), inf)
    units = _units(ruleset, kinds)
    total = sum(float(amount) * units[item] for item, amount in hand.items())
    return _part(ruleset, kinds, frozenset(targets), ceil(total - 1e-6))


@functools.lru_cache(maxsize=4096)
def _part(ruleset: Ruleset, kinds: frozenset[str], targets: frozenset[str], total: float) -> Part:
    units = _units(ruleset, kinds)
    ways = [way for way in _ways(ruleset, kinds) if _units_of(way, units) <= total + 1e-6]
    reachable = kinds.union(way.recipe.makes for way in ways)
    making: dict[str, list[Way]] = {}
    for way in ways:
        making.setdefault(way.recipe.makes, []).append(way)
    useful: dict[str, Way] = {}
    queue = sorted(targets & reachable)
    items_seen = set(queue)
    burns = False
    while queue:
        new = making.get(queue.pop(), [])
        if any(way.recipe.fuelled for way in new) and not burns:
            burns = True
            new = [*new, *(way for way in ways if _gains(ruleset, way))]
        for way in new:
            useful[way.recipe.id] = way
            fresh = {item for need in way.needs for item in need.members} - items_seen
            items_seen |= fresh
            queue += sorted(fresh)
    available = kinds.union(way.recipe.makes for way in useful.values()) if burns else frozenset[str]()
    fuel = {item: ruleset.fuel[item] for item in ruleset.fuel if item in available}
    items = items_seen | {way.recipe.makes for way in useful.values()} | set(fuel)
    rank = _rank(ruleset)
    return Part(
        tuple(way for way in ways if way.recipe.id in useful),
        tuple(sorted(items, key=lambda item: (rank.get(item, 0), item))),
        fuel,
        tuple(sorted(targets - reachable)),
    )


@functools.lru_cache(maxsize=1024)
def _ways(ruleset: Ruleset, kinds: frozenset[str]) -> tuple[Way, ...]:
    """The recipes that can be done with enough of some kinds of items, without those that are worse than another."""
    reachable = ruleset.reachable(kinds)
    fires = not reachable.isdisjoint(ruleset.fuel)
    candidates = {recipe.id for item in reachable for recipe in ruleset.used_in(item)}
    alike: dict[tuple[tuple[Need, ...], str], list[Way]] = {}
    for way, ingredients in all_ways(ruleset):
        recipe = way.recipe
        if recipe.id not in candidates or (recipe.fuelled and not fires):
            continue
        if not reachable >= ingredients:
            if any(reachable.isdisjoint(members) for _, members in way.needs):
                continue
            needs = [Need(count, tuple(filter(reachable.__contains__, members))) for count, members in way.needs]
            way = Way(recipe, tuple(needs))
        others = alike.setdefault((tuple(sorted(way.needs)), recipe.makes), [])
        if not any(_as_good(other.recipe, recipe) for other in others):
            others[:] = [other for other in others if not _as_good(recipe, other.recipe)] + [way]
    return tuple(way for others in alike.values() for way in others)


@functools.lru_cache(maxsize=64)
def all_ways(ruleset: Ruleset) -> list[tuple[Way, frozenset[str]]]:
    """The recipes in the ruleset's order, with all members of their tags, and the set of all their ingredients."""
    ways = [
        Way(recipe, tuple(Need(count, ruleset.members(need)) for need, count in recipe.needs))
        for recipe in ruleset.recipes
    ]
    return [(way, frozenset(item for need in way.needs for item in need.members)) for way in ways]


@functools.lru_cache(maxsize=1024)
def _units(ruleset: Ruleset, kinds: frozenset[str]) -> dict[str, float]:
    """Item -> a lower bound on the units of these kinds from which one piece of it is made.

    A craft never makes items that are worth more units than its ingredients.
    """
    using: dict[str, list[Way]] = {}
    for way in _ways(ruleset, kinds):
        for item in {item for need in way.needs for item in need.members}:
            using.setdefault(item, []).append(way)
    units = dict.fromkeys(sorted(kinds), 1.0)
    lowered = dict.fromkeys(units, 0)
    heap = [(1.0, item) for item in units]
    while heap:
        price, item = heappop(heap)
        if price > units[item]:
            continue
        for way in using.get(item, ()):
            product, price = way.recipe.makes, _units_of(way, units) / way.recipe.number
            if price < units.get(product, inf) - 1e-9:
                units[product] = price
                lowered[product] = lowered.get(product, 0) + 1
                if lowered[product] > LOWERED:
                    return dict.fromkeys([*kinds, *ruleset.items], 0.0)
                heappush(heap, (price, product))
    return units


def _units_of(way: Way, units: dict[str, float]) -> float:
    """The units from which the ingredients of one operation are made. Fuel is not counted."""
    total = 0.0
    for count, members in way.needs:
        total += count * (units.get(members[0], inf) if len(members) == 1 else min(units.get(i, inf) for i in members))
    return total


def _as_good(one: Recipe, other: Recipe) -> bool:
    """Whether `one` makes at least as many as `other` and burns no more; both have the same ingredients and product."""
    return one.number >= other.number and one.fuelled <= other.fuelled


def _gains(ruleset: Ruleset, way: Way) -> bool:
    """Whether the product of a recipe can burn for longer than its ingredients."""
    worth = ruleset.fuel
    if way.recipe.makes not in worth:
        return False
    consumed = sum(
        (need.number * min(worth.get(item, Fraction(0)) for item in need.members) for need in way.needs), Fraction(0)
    )
    return way.recipe.number * worth[way.recipe.makes] > consumed + way.recipe.fuelled


@functools.lru_cache(maxsize=64)
def _rank(ruleset: Ruleset) -> dict[str, int]:
    return {item: number for number, item in enumerate(ruleset.items)}
