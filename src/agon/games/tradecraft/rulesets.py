"""Rulesets of TradeCraft: files in data/rulesets, checked when they are read; the same ruleset is always the same bytes."""

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Annotated, Any

import msgspec

from agon.errors import AgonError, describe_fault
from agon.games.tradecraft import Recipe, Ruleset
from agon.paths import input_files, input_path

FOLDER = "data/rulesets"

Count = Annotated[int, msgspec.Meta(ge=1)]


class RecipeFile(msgspec.Struct, forbid_unknown_fields=True, array_like=True):
    """A recipe in a file, as a list: id, station, ingredients (a list of [number, item or #tag]), product, number of products."""

    id: str
    station: str
    needs: Annotated[list[tuple[Count, str]], msgspec.Meta(min_length=1, max_length=9)]
    makes: str
    number: Count = 1


class RulesetFile(msgspec.Struct, forbid_unknown_fields=True):
    """A file of data/rulesets. Every item that a recipe, tag or fuel names must be in `items`."""

    ruleset: str
    source: str
    """Where its facts come from."""
    items: Annotated[list[str], msgspec.Meta(min_length=1)]
    recipes: list[RecipeFile]
    tags: dict[str, list[str]] = {}
    fuelled: list[str] = []
    """Stations whose operations burn fuel, one smelt each."""
    fuel: dict[str, tuple[Count, Count]] = {}
    """Item -> smelts that one is worth, as [numerator, denominator]."""
    basic: list[str] = []
    """The items from which all others are made. If empty, these are the items that no recipe makes."""


@functools.cache
def ruleset(name: str, folder: str = FOLDER) -> Ruleset:
    """The ruleset of a file. Raises AgonError in one line for one that is not there, or does not fit."""
    path = input_path(f"{folder}/{name}.json")
    if not path.is_file():
        names = sorted(file.stem for file in input_files(folder, "*.json"))
        raise AgonError(
            f"there is no ruleset {name} in {folder}: there are {', '.join(names) or 'none (`dvc pull data.dvc` fetches them)'}"
        )
    text = path.read_bytes()
    try:
        return build_ruleset(msgspec.json.decode(text, type=RulesetFile), blake2b(text, digest_size=8).hexdigest())
    except (msgspec.DecodeError, ValueError) as error:  # a ValidationError is one
        raise AgonError(f"{folder}/{name}.json: {describe_fault(error, RulesetFile)}") from None


def build_ruleset(file: RulesetFile, digest: str = "") -> Ruleset:
    """The ruleset that a file's contents describe. Raises ValueError for names that are not among its items."""
    items = set(file.items)
    if len(items) < len(file.items):
        raise ValueError(f"{next(item for item in file.items if file.items.count(item) > 1)} is twice among the items")
    if odd := [item for item in file.items if not item or item.startswith("#")]:
        raise ValueError(f"an item is called {odd[0]!r}: names of items do not begin with #, which means a tag")
    for tag, members in file.tags.items():
        if len(set(members)) < len(members):
            raise ValueError(f"tag {tag} names an item twice")
        _refuse_unknown(members, items, f"tag {tag}")
    _refuse_unknown(file.fuel, items, "fuel")
    _refuse_unknown(file.basic, items, "basic")
    words = items.union(f"#{tag}" for tag in file.tags)
    for recipe in file.recipes:
        if recipe.makes not in items:
            raise ValueError(f"recipe {recipe.id} names {recipe.makes}, which is not among the items")
        for _, need in recipe.needs:
            if need not in words:
                where = "tags" if need.startswith("#") else "items"
                raise ValueError(f"recipe {recipe.id} names {need}, which is not among the {where}")
    return Ruleset(
        file.ruleset,
        tuple(file.items),
        tuple(
            Recipe(
                recipe.id,
                recipe.station,
                tuple((need, count) for count, need in recipe.needs),
                recipe.makes,
                recipe.number,
                recipe.station in file.fuelled,
            )
            for recipe in file.recipes
        ),
        {tag: tuple(members) for tag, members in file.tags.items()},
        {item: Fraction(*worth) for item, worth in file.fuel.items()},
        tuple(file.basic),
        digest,
    )


def _refuse_unknown(names: Sequence[str] | Mapping[str, Any], items: set[str], where: str) -> None:
    if unknown := [name for name in names if name not in items]:
        raise ValueError(f"{where} names {unknown[0]}, which is not among the items")
