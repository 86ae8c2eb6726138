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

    `settings` may name those of several families; each family's function takes its own, and has defaults for them.
    Raises ValueError where the family has no reference player, and for a setting that none takes.
    """
    script, own = _reference(view.rules.__class__, frozenset(settings))
    return script(view, dice, **{name: settings[name] for name in own})


@cache
def _reference(rules: type, settings: frozenset[str]) -> tuple[Callable[..., object], frozenset[str]]:
    module = family_module(rules, "scripts")
    if module is None or not hasattr(module, "reference"):
        raise ValueError("the game's family has no reference player: write `reference` in its scripts.py")
    own = _settings(module)
    known = own.union(*map(_settings, modules("scripts").values()))
    if unknown := settings - known:
        raise ValueError(
            f"no reference player takes {', '.join(sorted(unknown))}: there are {', '.join(sorted(known))}"
        )
    return module.reference, own & settings


def _settings(module: ModuleType) -> frozenset[str]:
    if not hasattr(module, "reference"):
        return frozenset()
    return frozenset(inspect.signature(module.reference).parameters) - {"view", "dice"}
