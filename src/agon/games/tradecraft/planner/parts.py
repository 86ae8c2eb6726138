"""The part of a ruleset that can matter for making something out of some kinds of items."""

import functools
from collections.abc import Iterable
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil, inf
from typing import NamedTuple

from agon.games.tradecraft.amounts import Hand
from agon.games.tradecraft.recipes import Recipe, Ruleset

LOWERED = 20
"""How often the units behind one item are lowered; where something can be made from nothing, they could be without end."""


class Need(NamedTuple):
    """An ingredient of an operation: how many, of which items; members may mix."""

    number: int
    members: tuple[str, ...]


class Way(NamedTuple):
    """A recipe with the members of its tags that there can be."""

    recipe: Recipe
    needs: tuple[Need, ...]


class Part(NamedTuple):
    """What of a ruleset can matter."""

    ways: tuple[Way, ...]
    items: tuple[str, ...]
    """Those that a way takes, makes or burns, and those wanted, in the ruleset's order."""
    fuel: dict[str, Fraction]
    """What may be burned, if anything burns: item -> smelts."""
    missing: tuple[str, ...]
    """Wanted items that cannot be made."""


def part(ruleset: Ruleset, hand: Hand, wanted: Iterable[str], enough: bool = False) -> Part:
    """The recipes that some shortest plan for the wanted items may use, given a hand.

    Left out: what cannot be reached; what takes more units than the hand has; of two recipes with the same ingredients and
    product, the worse; what leads to nothing wanted. Making an item only to burn it is left out where its ingredients burn
    as long: burning them is shorter. With `enough` as if the hand had any amount of what it has.
    """
    kinds = frozenset(hand)
    if enough:
        return _part(ruleset, kinds, frozenset(wanted), inf)
    units = _units(ruleset, kinds)
    total = sum(float(amount) * units[item] for item, amount in hand.items())
    return _part(ruleset, kinds, frozenset(wanted), ceil(total - 1e-6))


@functools.lru_cache(maxsize=4096)
def _part(ruleset: Ruleset, kinds: frozenset[str], wanted: frozenset[str], total: float) -> Part:
    units = _units(ruleset, kinds)
    ways = [way for way in _ways(ruleset, kinds) if _units_of(way, units) <= total + 1e-6]
    known = kinds.union(way.recipe.makes for way in ways)
    making: dict[str, list[Way]] = {}
    for way in ways:
        making.setdefault(way.recipe.makes, []).append(way)
    kept: dict[str, Way] = {}
    asked = sorted(wanted & known)
    seen = set(asked)
    burns = False
    while asked:
        new = making.get(asked.pop(), [])
        if any(way.recipe.fuelled for way in new) and not burns:
            burns = True
            new = [*new, *(way for way in ways if _gains(ruleset, way))]
        for way in new:
            kept[way.recipe.id] = way
            fresh = {item for need in way.needs for item in need.members} - seen
            seen |= fresh
            asked += sorted(fresh)
    held = kinds.union(way.recipe.makes for way in kept.values()) if burns else frozenset[str]()
    fuel = {item: ruleset.fuel[item] for item in ruleset.fuel if item in held}
    items = seen | {way.recipe.makes for way in kept.values()} | set(fuel)
    rank = _rank(ruleset)
    return Part(
        tuple(way for way in ways if way.recipe.id in kept),
        tuple(sorted(items, key=lambda item: (rank.get(item, 0), item))),
        fuel,
        tuple(sorted(wanted - known)),
    )


def within(matters: Part, hand: Hand, target: Hand, operations: int) -> Part:
    """What of a part can be in a plan with so few operations, none of them idle.

    What must come before a craft, one after the other, and what must come after it have to fit.
    """
    before = _before(matters, hand)
    after = {way.recipe.id: 0 for way in matters.ways if way.recipe.makes in target}
    using: dict[str, list[Way]] = {}
    for way in matters.ways:
        burned = matters.fuel if way.recipe.fuelled else ()
        for item in {*burned, *(item for need in way.needs for item in need.members)}:
            using.setdefault(item, []).append(way)
    makers: dict[str, list[Way]] = {}
    for way in matters.ways:
        makers.setdefault(way.recipe.makes, []).append(way)
    taken = {way.recipe.id: [item for item in makers if way in using.get(item, ())] for way in matters.ways}
    new = list(after)
    while new:  # breadth first: the first way to be reached is the shortest
        next_ones = [maker.recipe.id for way in new for item in taken[way] for maker in makers[item]]
        depth = after[new[0]] + 1
        new = [way for way in dict.fromkeys(next_ones) if way not in after]
        after |= dict.fromkeys(new, depth)
    return matters._replace(
        ways=tuple(
            way
            for way in matters.ways
            if before.get(way.recipe.id, inf) + 1 + after.get(way.recipe.id, inf) <= operations
        )
    )


def _before(matters: Part, hand: Hand) -> dict[str, int]:
    """How many operations, one after the other, must come before each way."""
    items, ways = dict.fromkeys(hand, 0), dict[str, int]()
    depth = 0
    while True:
        known = set(items)
        fires = not known.isdisjoint(matters.fuel)
        new = [
            way
            for way in matters.ways
            if way.recipe.id not in ways
            and (fires or not way.recipe.fuelled)
            and all(not known.isdisjoint(need.members) for need in way.needs)
        ]
        if not new:
            return ways
        depth += 1
        for way in new:
            ways[way.recipe.id] = depth - 1
            items.setdefault(way.recipe.makes, depth)


@functools.lru_cache(maxsize=1024)
def reached(ruleset: Ruleset, kinds: frozenset[str]) -> frozenset[str]:
    """All that can be made from any amounts of some kinds of items, themselves included."""
    return ruleset.reachable(kinds)


@functools.lru_cache(maxsize=1024)
def _ways(ruleset: Ruleset, kinds: frozenset[str]) -> tuple[Way, ...]:
    """The recipes that can be done with enough of some kinds of items; the better of those that are alike."""
    known = reached(ruleset, kinds)
    fires = not known.isdisjoint(ruleset.fuel)
    found = {recipe.id for item in known for recipe in ruleset.used_in(item)}
    alike: dict[tuple[tuple[Need, ...], str], list[Way]] = {}
    for way, every in every_way(ruleset):
        recipe = way.recipe
        if recipe.id not in found or (recipe.fuelled and not fires):
            continue
        if not known >= every:
            needs = [Need(count, tuple([item for item in members if item in known])) for count, members in way.needs]
            if not all(members for _, members in needs):
                continue
            way = Way(recipe, tuple(needs))
        others = alike.setdefault((tuple(sorted(way.needs)), recipe.makes), [])
        if not any(_as_good(other.recipe, recipe) for other in others):
            others[:] = [other for other in others if not _as_good(recipe, other.recipe)] + [way]
    return tuple(way for others in alike.values() for way in others)


@functools.lru_cache(maxsize=64)
def every_way(ruleset: Ruleset) -> list[tuple[Way, frozenset[str]]]:
    """The recipes with all members of their tags, and all that these are, in the ruleset's order."""
    ways = [
        Way(recipe, tuple(Need(count, ruleset.members(need)) for need, count in recipe.needs))
        for recipe in ruleset.recipes
    ]
    return [(way, frozenset(item for need in way.needs for item in need.members)) for way in ways]


@functools.lru_cache(maxsize=1024)
def _units(ruleset: Ruleset, kinds: frozenset[str]) -> dict[str, float]:
    """No fewer units of these kinds are behind one of an item: no craft has more units behind what it makes than it took."""
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
            made, price = way.recipe.makes, _units_of(way, units) / way.recipe.number
            if price < units.get(made, inf) - 1e-9:
                units[made] = price
                lowered[made] = lowered.get(made, 0) + 1
                if lowered[made] > LOWERED:
                    return dict.fromkeys([*kinds, *ruleset.items], 0.0)
                heappush(heap, (price, made))
    return units


def _units_of(way: Way, units: dict[str, float]) -> float:
    """The units behind what one operation takes; what it burns is not counted."""
    total = 0.0
    for count, members in way.needs:
        total += count * (units.get(members[0], inf) if len(members) == 1 else min(units.get(i, inf) for i in members))
    return total


def _as_good(one: Recipe, other: Recipe) -> bool:
    """Whether a recipe with the same ingredients and product makes no fewer, and burns no more."""
    return one.number >= other.number and one.fuelled <= other.fuelled


def _gains(ruleset: Ruleset, way: Way) -> bool:
    """Whether what a recipe makes can burn for longer than what it takes."""
    worth = ruleset.fuel
    spent = sum(
        (need.number * min(worth.get(item, Fraction(0)) for item in need.members) for need in way.needs), Fraction(0)
    )
    return way.recipe.number * worth.get(way.recipe.makes, Fraction(0)) > spent + way.recipe.fuelled


@functools.lru_cache(maxsize=64)
def _rank(ruleset: Ruleset) -> dict[str, int]:
    return {item: number for number, item in enumerate(ruleset.items)}
