"""GAME~NAME: games that a package makes of other games.

A package opens this door by an entry point of the group `agon.games`, whose value is a module with two functions:
`settings(game, name, conf)`, what builds GAME~NAME, and `made_of(game, conf)`, the names that GAME has: name -> what it is.
Files of conf/ may then name what lies in the package.
"""

import functools
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agon.errors import AgonError
from agon.registry import PACKAGES

GROUP = "agon.games"
MARK = "~"


@functools.cache
def _doors() -> tuple[EntryPoint, ...]:
    """The entry points of packages that are there, which conf/ may name from now on. A deleted package leaves its entry points."""
    packages = {door.module.partition(".")[0]: door for door in entry_points(group=GROUP)}
    doors = {package: door for package, door in packages.items() if find_spec(package)}
    PACKAGES.update(doors)
    return tuple(doors.values())


def allow_makers() -> None:
    """Lets settings name what lies in a package that makes games of games."""
    _doors()


def _maker() -> Any:
    """The module that makes games of games; None where no package does."""
    return next((door.load() for door in _doors()), None)


def derived_settings(game: str, name: str, conf: Path) -> dict[str, Any]:
    """The settings of GAME~NAME. Raises AgonError."""
    if (maker := _maker()) is None:
        raise AgonError(
            f"game {game}{MARK}{name}: no package is installed that makes games of games: install agon_twins, or name {game} alone"
        )
    settings: dict[str, Any] = maker.settings(game, name, conf)
    return settings


def derived_games(game: str, conf: Path) -> dict[str, str]:
    """The games that are made of a game: name -> what it is; nothing where no package makes any."""
    maker = _maker()
    return maker.made_of(game, conf) if maker else {}
