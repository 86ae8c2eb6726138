"""Faults of rulesets: dangling items, duplicate recipes, matter from nothing."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from agon.games.tradecraft import Recipe, Ruleset
from agon.games.tradecraft.planner.parts import Part, all_ways
from agon.games.tradecraft.planner.programs import Program
from agon.games.tradecraft.planner.search import Workshop

USED = 1e-7
"""Fewer operations than this are rounding errors of the solver."""
CYCLES = 20
"""The number of reported cycles, at most."""


def faults(ruleset: Ruleset) -> list[str]:
    """A line for each dangling item, unreachable item, impossible recipe, duplicate recipe and cycle that makes matter.

    A coherent ruleset has none. At most CYCLES cycles are listed. Without basic items, all items are made from those that no
    recipe makes.
    """
    return [*_lonely(ruleset), *_impossible(ruleset), *_duplicates(ruleset), *_matter_from_nothing(ruleset)]


def _lonely(ruleset: Ruleset) -> Iterator[str]:
    reachable = ruleset.reachable(ruleset.raw())
    burns = any(recipe.fuelled for recipe in ruleset.recipes)
    for item in ruleset.items:
        if not ruleset.made_by(item) and not ruleset.used_in(item) and not (burns and item in ruleset.fuel):
            yield f"dangling item: {item} is in no recipe"
        elif item not in reachable:
            yield f"unreachable item: {item} cannot be made from {', '.join(ruleset.basic) or 'what no recipe makes'}"


def _impossible(ruleset: Ruleset) -> Iterator[str]:
    for recipe in ruleset.recipes:
        for need, _ in recipe.needs:
            if not ruleset.members(need):
                yield f"impossible recipe: {recipe.id} takes {need}, which has no members"
        if recipe.fuelled and not ruleset.fuel:
            yield f"impossible recipe: {recipe.id} burns fuel, and there is none"


def _duplicates(ruleset: Ruleset) -> Iterator[str]:
    """Two recipes that differ only in their station are the same, because stations are free."""
    first: dict[object, Recipe] = {}
    for recipe in ruleset.recipes:
        same = tuple(sorted(recipe.needs)), recipe.makes, recipe.number, recipe.fuelled
        original = first.setdefault(same, recipe)
        if original is not recipe:
            yield f"duplicate recipe: {recipe.id} ({recipe.station}) does what {original.id} ({original.station}) does"


def _matter_from_nothing(ruleset: Ruleset) -> Iterator[str]:
    for item, recipes in creations(ruleset):
        names = ", ".join(recipe.id for recipe in recipes)
        yield f"matter from nothing: {item} grows while nothing is used up, by {names}"


class Creation(NamedTuple):
    """A cycle of recipes that makes an item and uses up nothing."""

    item: str
    recipes: tuple[Recipe, ...]


def creations(ruleset: Ruleset) -> list[Creation]:
    """Cycles that create matter. Without the last recipe of each there is no other, unless there are more than CYCLES."""
    allowed = {recipe.id for recipe in ruleset.recipes}
    cycles: list[Creation] = []
    while len(cycles) < CYCLES and (growth := _growth(ruleset, allowed)):
        for recipe in growth.recipes:  # leaves out recipes that the cycle does not need
            growth = _growth(ruleset, {other.id for other in growth.recipes} - {recipe.id}) or growth
        cycles.append(growth)
        allowed.remove(growth.recipes[-1].id)
    return cycles


def _growth(ruleset: Ruleset, allowed: Collection[str]) -> Creation | None:
    """The fewest operations (or fractions of them) of the `allowed` recipes that make a piece and use up nothing."""
    ways = tuple(way for way, _ in all_ways(ruleset) if way.recipe.id in allowed)
    if not ways:
        return None
    program = Program()
    shop = Workshop(program, Part(ways, ruleset.items, dict(ruleset.fuel), ()), {}, {})
    total = Counter[int]()
    for terms in shop.balance.values():
        total.update(terms)
    program.add_condition(total, low=1)
    solution = program.solve_relaxed(dict.fromkeys(shop.times, 1.0))
    if solution.status == "undecided":
        raise RuntimeError(f"the solver gave up on {ruleset.name}")
    if solution.values is None:
        return None
    values = solution.values
    growth = {item: sum(n * values[place] for place, n in terms.items()) for item, terms in shop.balance.items()}
    recipes = [way.recipe for way, place in zip(ways, shop.times, strict=True) if values[place] > USED]
    return Creation(max(growth, key=lambda item: growth[item]), tuple(recipes))
