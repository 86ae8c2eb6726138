"""Files of rulesets as they are written: the same ruleset is always the same bytes."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from agon.games.tradecraft.rulesets import RecipeFile, RulesetFile

WIDTH = 120
"""Letters of a line in a file, at most, where it can be broken."""


def number_recipes(recipes: Iterable[tuple[str, list[tuple[int, str]], str, int]]) -> list[RecipeFile]:
    """Recipes (station, needs, makes, number) with ids: their product NAME, then NAME/2, NAME/3; duplicates are left out."""
    recipes_seen, counts, numbered = set(), Counter[str](), []
    for station, needs, makes, number in recipes:
        same = station, tuple(sorted(needs)), makes, number
        if same not in recipes_seen:
            recipes_seen.add(same)
            counts[makes] += 1
            name = makes if counts[makes] == 1 else f"{makes}/{counts[makes]}"
            numbered.append(RecipeFile(name, station, needs, makes, number))
    return numbered


def text_of(file: RulesetFile) -> str:
    """The JSON of a file, without its empty fields. A field that does not fit into one line has a line for each entry."""
    fields = {key: value for key, value in msgspec.to_builtins(file).items() if value}
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {_layout(value)}" for key, value in fields.items()) + "\n}\n"


def _layout(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= WIDTH or isinstance(value, str):
        return line
    if isinstance(value, dict):
        parts = [
            f"  {json.dumps(key, ensure_ascii=False)}: {json.dumps(part, ensure_ascii=False)}"
            for key, part in value.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n }"
    return "[\n" + ",\n".join(f"  {json.dumps(part, ensure_ascii=False)}" for part in value) + "\n ]"
