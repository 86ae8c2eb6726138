"""What is wrong with a ruleset that can be read: items that lead nowhere, recipes twice, matter made from nothing."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from agon.games.tradecraft import Recipe, Ruleset

USED = 1e-7
"""Operations fewer than this are rounding of the solver."""
INFEASIBLE = 2
"""The solver's word for it."""
CYCLES = 20
"""No more cycles are looked for: a ruleset with so many needs mending first."""


def faults(ruleset: Ruleset) -> list[str]:
    """A line for each dangling item, unreachable item, impossible recipe, duplicate recipe and cycle that makes matter.

    None: the ruleset is coherent. Without basic items, everything is made from the items that no recipe makes.
    """
    return [*_lonely(ruleset), *_impossible(ruleset), *_twice(ruleset), *_creating(ruleset)]


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


def _twice(ruleset: Ruleset) -> Iterator[str]:
    """Stations are free, so a recipe that differs in its station alone is the same."""
    first: dict[object, Recipe] = {}
    for recipe in ruleset.recipes:
        same = tuple(sorted(recipe.needs)), recipe.makes, recipe.number, recipe.fuelled
        known = first.setdefault(same, recipe)
        if known is not recipe:
            yield f"duplicate recipe: {recipe.id} ({recipe.station}) does what {known.id} ({known.station}) does"


def _creating(ruleset: Ruleset) -> Iterator[str]:
    for item, recipes in creations(ruleset):
        names = ", ".join(recipe.id for recipe in recipes)
        yield f"matter from nothing: {item} grows while nothing is used up, by {names}"


class Creation(NamedTuple):
    """Recipes that together leave more of an item, and less of none."""

    item: str
    recipes: tuple[Recipe, ...]


def creations(ruleset: Ruleset) -> list[Creation]:
    """Cycles that create matter; without the last recipe of each, none is left (or there are more than CYCLES)."""
    if not ruleset.recipes:
        return []
    balance, left = Balance(ruleset), set(range(len(ruleset.recipes)))
    found: list[Creation] = []
    while len(found) < CYCLES and (growth := balance.growth(left)):
        for place in growth[1]:  # a cycle without recipes that it can do without
            growth = balance.growth(set(growth[1]) - {place}) or growth
        item, places = growth
        found.append(Creation(item, tuple(ruleset.recipes[place] for place in places)))
        left.remove(places[-1])
    return found


class Balance:
    """How much of every item is made and used up, as a linear function of how often recipes are used.

    Columns: operations of each recipe, pieces of each item that are taken for each tag, pieces of each fuel that burn.
    """

    def __init__(self, ruleset: Ruleset) -> None:
        self.ruleset = ruleset
        rows = {item: row for row, item in enumerate(ruleset.items)}
        made: list[tuple[int, int, float]] = []
        equal: list[tuple[int, int, float]] = []
        columns, ties = len(ruleset.recipes), 0
        for place, recipe in enumerate(ruleset.recipes):
            made.append((rows[recipe.makes], place, recipe.number))
            for need, count in recipe.needs:
                if not need.startswith("#"):
                    made.append((rows[need], place, -count))
                    continue
                equal.append((ties, place, count))
                for item in ruleset.members(need):
                    made.append((rows[item], columns, -1))
                    equal.append((ties, columns, -1))
                    columns += 1
                ties += 1
        equal += [(ties, place, 1) for place, recipe in enumerate(ruleset.recipes) if recipe.fuelled]
        for item, worth in ruleset.fuel.items():
            made.append((rows[item], columns, -1))
            equal.append((ties, columns, -float(worth)))
            columns += 1
        self.made = _matrix(made, (len(rows), columns))
        self.equal = _matrix(equal, (ties + 1, columns))

    def growth(self, allowed: Collection[int]) -> tuple[str, list[int]] | None:
        """What grows, and the places of the recipes used, by the fewest operations that make a unit and leave less of nothing."""
        recipes, (items, columns) = len(self.ruleset.recipes), self.made.shape
        total = csr_array(self.made.sum(axis=0).reshape(1, -1))
        answer = linprog(
            c=[1] * recipes + [0] * (columns - recipes),
            A_ub=vstack([-self.made, -total]),
            b_ub=[0] * items + [-1],
            A_eq=self.equal,
            b_eq=[0] * self.equal.shape[0],
            bounds=[(0, None if column >= recipes or column in allowed else 0) for column in range(columns)],
            method="highs-ds",
        )
        if answer.status == INFEASIBLE:
            return None
        if answer.x is None:
            raise RuntimeError(f"the solver gave up on {self.ruleset.name}: {answer.message}")
        grown = self.ruleset.items[int(np.argmax(self.made @ answer.x))]
        return grown, [place for place, uses in enumerate(answer.x[:recipes]) if uses > USED]


def _matrix(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> csr_array:
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    return csr_array((values, (rows, columns)), shape=shape, dtype=float)
