"""Scripts that play more than one family of games."""

import inspect
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from agon.games import Dice, Observation
from agon.games.base import family_module, modules
from agon.registry import kind


@kind("agon.agents.magic.anything")
def anything(view: Observation, dice: Dice) -> object:
    """Any legal action, in any game."""
    return view.legal.example(dice)


@kind("agon.agents.magic.player")
def reference(view: Observation, dice: Dice, **settings: Any) -> object:
    """The reference player of a game: the function `reference` in the scripts of its family.

    `settings` may hold settings of several families. Each family's function takes its own and has defaults for them.
    Raises ValueError where the family has no reference player, and for a setting that no family takes.
    """
    script, names = _reference(view.rules.__class__, frozenset(settings))
    return script(view, dice, **{name: settings[name] for name in names})


@cache
def _reference(rules: type, settings: frozenset[str]) -> tuple[Callable[..., object], frozenset[str]]:
    module = family_module(rules, "scripts")
    if module is None or not hasattr(module, "reference"):
        raise ValueError("the game's family has no reference player: write `reference` in its scripts.py")
    names = _settings(module)
    all_names = names.union(*map(_settings, modules("scripts").values()))
    if unknown := settings - all_names:
        raise ValueError(
            f"no reference player takes {', '.join(sorted(unknown))}: there are {', '.join(sorted(all_names))}"
        )
    return module.reference, names & settings


def _settings(module: ModuleType) -> frozenset[str]:
    if not hasattr(module, "reference"):
        return frozenset()
    return frozenset(inspect.signature(module.reference).parameters) - {"view", "dice"}
