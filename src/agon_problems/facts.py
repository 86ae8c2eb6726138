"""Facts about two games' recipes, as TradeCraft's public repository uses them, taken over into our schema."""

from collections import Counter
from typing import Annotated, Any

import msgspec

from agon.games.tradecraft.rulesets import RulesetFile
from agon_problems.files import number_recipes

ORIGIN = "through TradeCraft's public repository, github.com/TradeCraft-team/TradeCraft"
BASIC = ("air", "earth", "fire", "water")
"""The items of Little Alchemy 2 from which all others are made."""
SOURCES = {
    "minecraft": f"recipes of Minecraft Java 1.20 without the grid's shape, {ORIGIN}",
    "alchemy": f"combinations of Little Alchemy 2, {ORIGIN}",
}
NAMES = {"minecraft-java-1.20": "minecraft", "little-alchemy-2": "alchemy"}


class MinecraftFacts(msgspec.Struct):
    """The facts of Minecraft. A list of items in a recipe means any of them."""

    ruleset: str
    fuelled_kinds: list[str]
    items: list[str]
    tags: dict[str, list[str]]
    fuel_smelts: dict[str, tuple[int, int]]
    recipes: list[tuple[str, str, list[tuple[int, str | list[str]]], str, int]]


class AlchemyFacts(msgspec.Struct):
    """The facts of Little Alchemy 2: two inputs and an output."""

    ruleset: str
    items: list[str]
    recipes: list[Annotated[list[str], msgspec.Meta(min_length=3, max_length=3)]]


def import_facts(text: bytes) -> RulesetFile:
    """The ruleset of a file of facts, duplicate recipes left out. Raises ValueError for a file that holds neither."""
    which = msgspec.json.decode(text, type=dict[str, Any]).get("ruleset")
    if not isinstance(which, str) or which not in NAMES:
        raise ValueError(f"it holds the facts {which!r}; known are {', '.join(NAMES)}")
    if NAMES[which] == "minecraft":
        return _minecraft(msgspec.json.decode(text, type=MinecraftFacts))
    return _alchemy(msgspec.json.decode(text, type=AlchemyFacts))


def _minecraft(facts: MinecraftFacts) -> RulesetFile:
    """A list of items becomes a tag: the one that has these members, or one named after the first recipe that takes it."""
    tags = {tag: sorted(members) for tag, members in facts.tags.items()}
    by_members = {tuple(members): tag for tag, members in tags.items()}
    recipes = []
    for _, station, needs, makes, number in facts.recipes:
        ingredients = []
        for count, need in needs:
            if isinstance(need, list):
                tag = by_members.setdefault(tuple(sorted(need)), f"for_{makes}")
                if tags.setdefault(tag, sorted(need)) != sorted(need):
                    raise ValueError(f"two recipes of {makes} take any of different items: they need different tags")
                need = f"#{tag}"
            ingredients.append((count, need))
        recipes.append((station, ingredients, makes, number))
    return RulesetFile(
        ruleset="minecraft",
        source=SOURCES["minecraft"],
        items=facts.items,
        recipes=number_recipes(recipes),
        tags=tags,
        fuelled=facts.fuelled_kinds,
        fuel=facts.fuel_smelts,
    )


def _alchemy(facts: AlchemyFacts) -> RulesetFile:
    """The same item twice is one ingredient of which a recipe takes two."""
    recipes = [
        ("combine", [(count, item) for item, count in sorted(Counter(inputs).items())], makes, 1)
        for *inputs, makes in facts.recipes
    ]
    return RulesetFile(
        ruleset="alchemy",
        source=SOURCES["alchemy"],
        items=facts.items,
        recipes=number_recipes(recipes),
        basic=list(BASIC),
    )
