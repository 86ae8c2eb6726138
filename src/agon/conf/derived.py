"""GAME~NAME: games that a package derives from other games.

A package offers them by an entry point of the group `agon.games`. Its value is a module with two functions:
`settings(game, name, conf)` gives the settings of GAME~NAME, and `made_of(game, conf)` a table: name -> description.
Files of conf/ may then name classes and functions of the package.
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
def makers() -> tuple[EntryPoint, ...]:
    """The entry points of packages that exist, which conf/ may name from now on. A deleted package leaves its entry points."""
    packages = {door.module.partition(".")[0]: door for door in entry_points(group=GROUP)}
    doors = {package: door for package, door in packages.items() if find_spec(package)}
    PACKAGES.update(doors)
    return tuple(doors.values())


def _maker() -> Any:
    """The module that derives games; None where no package does."""
    return next((door.load() for door in makers()), None)


def derived_settings(game: str, name: str, conf: Path) -> dict[str, Any]:
    """The settings of GAME~NAME. Raises AgonError."""
    if (maker := _maker()) is None:
        raise AgonError(
            f"game {game}{MARK}{name}: no installed package makes games from games: install agon_twins, or name {game} alone"
        )
    settings: dict[str, Any] = maker.settings(game, name, conf)
    return settings


def derived_games(game: str, conf: Path) -> dict[str, str]:
    """The games derived from a game: name -> description; empty where no package derives any."""
    maker = _maker()
    return maker.made_of(game, conf) if maker else {}
