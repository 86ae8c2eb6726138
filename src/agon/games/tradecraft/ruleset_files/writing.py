"""Rulesets as text: the same ruleset is always the same bytes."""

import json
from typing import Any

import msgspec

from agon.games.tradecraft.rulesets import RulesetFile

WIDTH = 120


def text_of(file: RulesetFile) -> str:
    """JSON with one recipe, tag or item a line, without the fields that are empty."""
    fields = {key: value for key, value in msgspec.to_builtins(file).items() if value}
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {_laid_out(value)}" for key, value in fields.items()) + "\n}\n"


def _laid_out(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= WIDTH or isinstance(value, str):
        return line
    if isinstance(value, dict):
        parts = [
            f"  {json.dumps(key, ensure_ascii=False)}: {json.dumps(each, ensure_ascii=False)}"
            for key, each in value.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n }"
    return "[\n" + ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in value) + "\n ]"
