"""Counterfactual rulesets: other names, other recipes, or both, with the structure kept. Pure functions of a ruleset's file."""

from collections.abc import Mapping
from random import Random

import msgspec

from agon.games.tradecraft import Recipe, Ruleset
from agon.games.tradecraft.rulesets import RulesetFile, built, numbered
from agon.games.tradecraft.rulesets.invented import invented_names

TRIES = 20
SPARE = 10
"""One recipe in SPARE is kept for items that others need. With fewer, chains get longer, or no ruleset works."""


def permuted(file: RulesetFile, seed: int) -> dict[str, str]:
    """Its items' names, dealt out anew: every name means another item."""
    dice = Random(f"permuted {seed}")
    order = dice.sample(file.items, len(file.items))
    return dict(zip(order, [*order[1:], *order[:1]], strict=True))


def unheard(file: RulesetFile, seed: int) -> dict[str, str]:
    """An invented name for every item."""
    return dict(zip(file.items, invented_names(Random(f"unheard {seed}"), len(file.items)), strict=True))


def renamed(file: RulesetFile, names: Mapping[str, str]) -> RulesetFile:
    """The same ruleset in other words; `names`: item -> its new name.

    Tags get numbers, as their names would give away what they hold; everything is in the order of the new names.
    """
    members = {tag: sorted(names[item] for item in items) for tag, items in file.tags.items()}
    order = sorted(members, key=lambda tag: members[tag])
    tags = {tag: f"kind_{place}" for place, tag in enumerate(order, 1)}
    words = {**names, **{f"#{tag}": f"#{name}" for tag, name in tags.items()}}
    recipes = [
        (
            each.station,
            sorted(((count, words[need]) for count, need in each.needs), key=_name),
            names[each.makes],
            each.number,
        )
        for each in file.recipes
    ]
    return msgspec.structs.replace(
        file,
        items=sorted(names[item] for item in file.items),
        recipes=numbered(sorted(recipes, key=lambda recipe: recipe[2])),
        tags={tags[tag]: members[tag] for tag in order},
        fuel=dict(sorted((names[item], worth) for item, worth in file.fuel.items())),
        basic=sorted(names[item] for item in file.basic),
    )


def _name(need: tuple[int, str]) -> str:
    return need[1]


def joint(file: RulesetFile, seed: int) -> RulesetFile:
    """Both: rewired, then renamed by a permutation."""
    other = rewired(file, seed)
    return renamed(other, permuted(other, seed))


def rewired(file: RulesetFile, seed: int) -> RulesetFile:
    """The same ingredients and the same outputs, dealt out to each other anew: every output has other ingredients.

    Every item is made by as many recipes as before, and of things that were made before it: all is within reach, and no
    cycle creates matter. Raises ValueError for a ruleset that does not allow it.
    """
    dice, ruleset = Random(f"rewired {seed}"), built(file)
    for _ in range(TRIES):
        if dealt := _Deal(ruleset, dice).dealt():
            recipes = [
                (old.station, old.needs, new.makes, new.number) for old, new in zip(file.recipes, dealt, strict=True)
            ]
            return msgspec.structs.replace(file, recipes=numbered(sorted(recipes, key=lambda recipe: recipe[2])))
    raise ValueError(f"{file.ruleset} cannot be rewired: too few recipes can be done with what no recipe makes")


class _Deal:
    """Items become known one by one; each is given ingredients that are all known."""

    def __init__(self, ruleset: Ruleset, dice: Random) -> None:
        self.ruleset, self.dice = ruleset, dice
        self.missing = {
            recipe.id: {item for need, _ in recipe.needs for item in ruleset.members(need)}
            for recipe in ruleset.recipes
        }
        """For each recipe, the items that it may take and that are not known."""
        self.ready: list[Recipe] = []
        self.cold: list[Recipe] | None = []
        """Recipes that are ready but for a fire; none once something known burns."""
        for item in sorted(ruleset.raw()):
            self._learn(item)

    def dealt(self) -> list[Recipe] | None:
        """For each recipe in order the one whose output it gets; nothing if no item can be made before all are."""
        items = self.ruleset.items
        waiting = self.dice.sample(items, len(items))
        never = [item for item in waiting if not self.ruleset.made_by(item) and item not in self.ruleset.raw()]
        waiting = [item for item in waiting if self.ruleset.made_by(item)]
        given: dict[str, Recipe] = {}
        while waiting:
            spare = len(self.ruleset.recipes) // SPARE if any(self.ruleset.used_in(item) for item in waiting) else 0
            for item in waiting:
                if ingredients := self._ingredients(item, spare):
                    break
            else:
                if not never:
                    return None
                self._learn(never.pop())
                continue
            for recipe, output in zip(ingredients, self.ruleset.made_by(item), strict=True):
                given[recipe.id] = output
                self.ready.remove(recipe)
            waiting.remove(item)
            self._learn(item)
        return [given[recipe.id] for recipe in self.ruleset.recipes]

    def _ingredients(self, item: str, spare: int) -> list[Recipe]:
        """Recipes, ready, different and not its own, whose ingredients an item gets; none if there are too few.

        Items that nothing takes leave some to spare, or else none might be left for the others.
        """
        number = len(self.ruleset.made_by(item))
        if len(self.ready) - number < (0 if self.ruleset.used_in(item) else spare):
            return []
        own = {_takes(recipe) for recipe in self.ruleset.made_by(item)}
        found: dict[object, Recipe] = {}
        for recipe in self.dice.sample(self.ready, len(self.ready)):
            if _takes(recipe) not in own:
                found.setdefault(_takes(recipe), recipe)
            if len(found) == number:
                return list(found.values())
        return []

    def _learn(self, item: str) -> None:
        for recipe in self.ruleset.used_in(item):
            self.missing[recipe.id].discard(item)
            if not self.missing[recipe.id]:
                (self.cold if recipe.fuelled and self.cold is not None else self.ready).append(recipe)
        if self.cold is not None and item in self.ruleset.fuel:
            self.ready += self.cold
            self.cold = None


def _takes(recipe: Recipe) -> object:
    return tuple(sorted(recipe.needs)), recipe.fuelled
