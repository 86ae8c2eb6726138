"""Coherent rulesets that nobody has seen: invented ones, and variants of others with new names, new recipes or both.

In an invented ruleset every item can be reached, and no matter comes from nothing. A variant keeps the structure of its ruleset. All
functions are pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random

import msgspec

from agon.games.tradecraft import Recipe, Ruleset
from agon.games.tradecraft.rulesets import RulesetFile, build_ruleset
from agon_problems.files import number_recipes

ONSETS = ["bz", "dl", "dv", "gz", "kf", "kz", "ml", "tl", "vn", "vz", "zb", "zd", "zg", "zm", "zn", "zr"]
"""Beginnings of invented names. No English word and no name in a game begins like this."""
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
ENDINGS = ("", "k", "l", "m", "n", "r", "s", "t")
MANY = 20_000
"""Names after this number have one more syllable."""
MOST_ITEMS = 1_000_000
"""The most items of a ruleset: about a third of all names, so that new ones are found quickly."""
COUNTS = (1, 1, 1, 2, 2, 3, 4)
"""Pieces of an ingredient; one of these is drawn."""
NUMBERS = (1, 1, 1, 1, 2, 3, 4)
"""Pieces that an operation makes."""
WORTHS = ((1, 4), (1, 2), (3, 4), (1, 1), (3, 2), (2, 1), (4, 1), (8, 1))
"""Smelts of a fuel, as (numerator, denominator)."""
TRIES = 100
"""The number of tries for the ingredients of a recipe."""
REWIRINGS = 20
"""The number of tries to rewire a ruleset."""
SPARE = 10
"""One recipe in SPARE is reserved for items that others need. With fewer, chains get longer, or no ruleset works."""

Need = tuple[int, str]


@dataclass(frozen=True)
class Size:
    """The size of a ruleset, and the structure of its recipes."""

    items: int = 1000
    recipes: int = 1200
    raw: int = 150
    """Items that no recipe makes."""
    depth: int = 12
    """The number of crafts, one after the other, for the deepest item."""
    branching: int = 3
    """Kinds of ingredients of a recipe, at most."""
    tags: int = 0
    """Tags, at most; a tag is two to four items of the same depth."""
    fuels: int = 0
    """Items that burn, at most, as members of tags do not burn; 0: no recipe is fuelled."""

    def __post_init__(self) -> None:
        made_items = self.items - self.raw
        for is_wrong, text in (
            (
                any(type(number) is not int or number < 0 for number in asdict(self).values()),
                "all must be whole numbers",
            ),
            (not (self.raw and self.depth and self.branching), "raw items, depth and branching must be at least 1"),
            (made_items < 1, f"{self.raw} of {self.items} items are raw, and none is made"),
            (made_items < self.depth, f"depth {self.depth} needs as many items that are made; there are {made_items}"),
            (
                self.recipes < made_items,
                f"{made_items} items that are made need as many recipes; there are {self.recipes}",
            ),
            (self.fuels > self.items, "there are more fuels than items"),
            (self.items > MOST_ITEMS, f"there are invented names for {MOST_ITEMS:,} items at most"),
        ):
            if is_wrong:
                raise ValueError(f"no ruleset of this size: {text}")


DEFAULT = Size()


def invented(seed: int, size: Size = DEFAULT) -> RulesetFile:
    """A ruleset of this size. A seed always gives the same one. Raises ValueError in one line for an impossible size.

    An item of depth n is made of an item of depth n - 1 and of items of less depth, so that there is no cycle.
    """
    dice = Random(f"invented {seed}")
    names = invented_names(dice, size.items)
    levels = [names[: size.raw], *([name] for name in names[size.raw : size.raw + size.depth])]
    for name in names[size.raw + size.depth :]:
        levels[dice.randrange(1, size.depth + 1)].append(name)
    depth = {item: level for level, items in enumerate(levels) for item in items}
    tags = _tags(dice, [[item for item in items if item != names[0]] for items in levels[:-1]], size.tags)
    sampler = _IngredientSampler(dice, levels, tags, size.branching)
    made_items = names[size.raw :]
    recipes = [(item, sampler.needs(depth[item])) for item in made_items]
    for _ in range(size.recipes - len(made_items)):
        item = dice.choice(made_items)
        recipes.append((item, sampler.needs(depth[item])))
    sampler.use_up([needs for _, needs in recipes])
    tagged = {item for members in tags.values() for item in members}
    free = [item for item in names[1:] if item not in tagged]
    burning = [names[0], *dice.sample(free, min(size.fuels - 1, len(free)))] if size.fuels else []
    taken_items = {need for _, needs in recipes for _, need in needs}
    return RulesetFile(
        ruleset="invented",
        source=f"invented by agon, seed {seed}: " + ", ".join(f"{what} {n}" for what, n in asdict(size).items()),
        items=sorted(names),
        recipes=number_recipes(
            (
                "firing" if burning and not dice.randrange(8) else "joining",
                sorted(needs, key=lambda need: need[1]),
                item,
                dice.choice(NUMBERS),
            )
            for item, needs in sorted(recipes)
        ),
        tags={tag: members for tag, members in tags.items() if f"#{tag}" in taken_items},
        fuelled=["firing"] if burning else [],
        fuel={item: dice.choice(WORTHS) for item in sorted(burning)},
    )


def invented_names(dice: Random, number: int) -> list[str]:
    """Different words of two syllables. After MANY words they have three."""
    names: dict[str, None] = {}
    while len(names) < number:
        middle = "".join(dice.choice(CONSONANTS) + dice.choice(VOWELS) for _ in range(1 + (len(names) >= MANY)))
        names[dice.choice(ONSETS) + dice.choice(VOWELS) + middle + dice.choice(ENDINGS)] = None
    return list(names)


def _tags(dice: Random, levels: Sequence[Sequence[str]], number: int) -> dict[str, list[str]]:
    """Sets of items of one depth, none of them in two."""
    free = [dice.sample(items, len(items)) for items in levels]
    tags: dict[str, list[str]] = {}
    while len(tags) < number and (large := [items for items in free if len(items) > 1]):
        items = dice.choice(large)
        tags[f"kind_{len(tags) + 1}"] = sorted(items.pop() for _ in range(min(len(items), dice.randrange(2, 5))))
    return tags


class _IngredientSampler:
    """Samples the ingredients of recipes. No two recipes have the same."""

    def __init__(
        self, dice: Random, levels: Sequence[Sequence[str]], tags: Mapping[str, Sequence[str]], branching: int
    ) -> None:
        self.dice, self.levels, self.tags, self.branching = dice, levels, tags, branching
        self.tag_of = {item: tag for tag, members in tags.items() for item in members}
        self.waiting = dict.fromkeys(dice.sample(levels[0], len(levels[0])))
        """Raw items that no recipe takes yet."""
        self.used_sets: set[tuple[Need, ...]] = set()

    def needs(self, depth: int) -> list[Need]:
        """The ingredients of an item of this depth."""
        for _ in range(TRIES):
            kinds = {self._need(depth - 1, usual=depth > 1)}
            for _ in range(self.dice.randrange(self.branching)):
                kinds.add(self._need(self.dice.randrange(depth)))
            needs = [(self.dice.choice(COUNTS), need) for need in sorted(kinds)]
            if (key := tuple(needs)) not in self.used_sets and self._apart(kinds):
                self.used_sets.add(key)
                for need in kinds:
                    for item in self.tags.get(need[1:], [need]):
                        self.waiting.pop(item, None)
                return needs
        raise ValueError("no ruleset of this size: too few items for so many recipes")

    def _need(self, depth: int, usual: bool = False) -> str:
        """An item of this depth or its tag. Unless `usual`, it is often a raw item that no recipe takes yet."""
        if self.waiting and not usual and self.dice.randrange(2):
            return next(iter(self.waiting))
        item = self.dice.choice(self.levels[depth])
        return f"#{self.tag_of[item]}" if item in self.tag_of and self.dice.randrange(2) else item

    def _apart(self, kinds: Iterable[str]) -> bool:
        """Whether no item fits two of the ingredients."""
        items = [item for need in kinds for item in self.tags.get(need[1:], [need])]
        return len(set(items)) == len(items)

    def use_up(self, recipes: Sequence[list[Need]]) -> None:
        """Adds the raw items that no recipe takes to recipes with room for them."""
        roomy = [needs for needs in recipes if len(needs) < self.branching]
        if len(roomy) < len(self.waiting):
            raise ValueError(
                f"no ruleset of this size: {len(self.waiting) - len(roomy)} raw items would be in no recipe"
            )
        for item, needs in zip(self.waiting, self.dice.sample(roomy, len(self.waiting)), strict=True):
            needs.append((self.dice.choice(COUNTS), item))


# ---- out of another ruleset ----


def permutation(file: RulesetFile, seed: int) -> dict[str, str]:
    """A permutation of the names of a ruleset's items: every name means another item."""
    dice = Random(f"permuted {seed}")
    order = dice.sample(file.items, len(file.items))
    return dict(zip(order, [*order[1:], *order[:1]], strict=True))


def unheard_names(file: RulesetFile, seed: int) -> dict[str, str]:
    """An invented name for every item."""
    return dict(zip(file.items, invented_names(Random(f"unheard {seed}"), len(file.items)), strict=True))


def rename(file: RulesetFile, names: Mapping[str, str]) -> RulesetFile:
    """The same ruleset in other words. `names`: item -> new name.

    Tags get numbers, because their names would reveal their members. Everything is in the order of the new names.
    """
    members = {tag: sorted(names[item] for item in items) for tag, items in file.tags.items()}
    order = sorted(members, key=lambda tag: members[tag])
    tags = {tag: f"kind_{place}" for place, tag in enumerate(order, 1)}
    words = {**names, **{f"#{tag}": f"#{name}" for tag, name in tags.items()}}
    recipes = [
        (
            recipe.station,
            sorted(((count, words[need]) for count, need in recipe.needs), key=_name),
            names[recipe.makes],
            recipe.number,
        )
        for recipe in file.recipes
    ]
    return msgspec.structs.replace(
        file,
        items=sorted(names[item] for item in file.items),
        recipes=number_recipes(sorted(recipes, key=lambda recipe: recipe[2])),
        tags={tags[tag]: members[tag] for tag in order},
        fuel=dict(sorted((names[item], worth) for item, worth in file.fuel.items())),
        basic=sorted(names[item] for item in file.basic),
    )


def _name(need: tuple[int, str]) -> str:
    return need[1]


def rewire_and_rename(file: RulesetFile, seed: int) -> RulesetFile:
    """The ruleset with new recipes and then permuted names."""
    other = rewire(file, seed)
    return rename(other, permutation(other, seed))


def rewire(file: RulesetFile, seed: int) -> RulesetFile:
    """The ruleset with the same ingredients and outputs in new pairs: every output has other ingredients.

    Every item has as many recipes as before, and its ingredients can be reached before it. So all items can be reached, and no cycle
    creates matter. Raises ValueError for a ruleset that does not allow it.
    """
    dice, ruleset = Random(f"rewired {seed}"), build_ruleset(file)
    for _ in range(REWIRINGS):
        if outputs := _Deal(ruleset, dice).deal():
            recipes = [
                (old.station, old.needs, new.makes, new.number) for old, new in zip(file.recipes, outputs, strict=True)
            ]
            return msgspec.structs.replace(file, recipes=number_recipes(sorted(recipes, key=lambda recipe: recipe[2])))
    raise ValueError(f"{file.ruleset} cannot be rewired: too few recipes can be done with what no recipe makes")


class _Deal:
    """Deals ingredients to items, one item after another. Its ingredients can be reached when an item gets them."""

    def __init__(self, ruleset: Ruleset, dice: Random) -> None:
        self.ruleset, self.dice = ruleset, dice
        self.missing = {
            recipe.id: {item for need, _ in recipe.needs for item in ruleset.members(need)}
            for recipe in ruleset.recipes
        }
        """Recipe id -> the items that it may take and that cannot be reached yet."""
        self.ready: list[Recipe] = []
        self.cold: list[Recipe] | None = []
        """Recipes that only lack a fire; None as soon as a fuel can be reached."""
        for item in sorted(ruleset.raw()):
            self._learn(item)

    def deal(self) -> list[Recipe] | None:
        """For each recipe in order, the recipe whose output it gets; None if some items cannot be reached."""
        items = self.ruleset.items
        waiting = self.dice.sample(items, len(items))
        never = [item for item in waiting if not self.ruleset.made_by(item) and item not in self.ruleset.raw()]
        waiting = [item for item in waiting if self.ruleset.made_by(item)]
        outputs: dict[str, Recipe] = {}
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
                outputs[recipe.id] = output
                self.ready.remove(recipe)
            waiting.remove(item)
            self._learn(item)
        return [outputs[recipe.id] for recipe in self.ruleset.recipes]

    def _ingredients(self, item: str, spare: int) -> list[Recipe]:
        """The ready recipes whose ingredients an item gets: different ones, and not its own. Empty if there are too few.

        Items that no recipe takes leave some recipes over, so that enough remain for the others.
        """
        number = len(self.ruleset.made_by(item))
        if len(self.ready) - number < (0 if self.ruleset.used_in(item) else spare):
            return []
        own_ingredients = {_takes(recipe) for recipe in self.ruleset.made_by(item)}
        chosen: dict[object, Recipe] = {}
        for recipe in self.dice.sample(self.ready, len(self.ready)):
            if _takes(recipe) not in own_ingredients:
                chosen.setdefault(_takes(recipe), recipe)
            if len(chosen) == number:
                return list(chosen.values())
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
