"""GAME~NAME: games that a package derives from other games.

A package offers them by an entry point of the group `agon.games`. Its value is a module with two functions:
`settings(game, name, conf)` gives the settings of GAME~NAME, or raises AgonError for a name that it does not derive.
`made_of(game, conf)` gives a table: name -> description. Where several packages offer games, each is asked in turn.
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
    """The entry points of packages that exist. From now on, files of conf/ may name what lies in these packages.

    A package that was deleted has left its entry points behind, and is passed over.
    """
    packages = {door.module.partition(".")[0]: door for door in entry_points(group=GROUP)}
    doors = {package: door for package, door in packages.items() if find_spec(package)}
    PACKAGES.update(doors)
    return tuple(doors.values())


def derived_settings(game: str, name: str, conf: Path) -> dict[str, Any]:
    """The settings of GAME~NAME, from the first package that derives it. Raises AgonError where none does."""
    faults = []
    for door in makers():
        try:
            settings: dict[str, Any] = door.load().settings(game, name, conf)
            return settings
        except AgonError as error:
            faults.append(str(error))
    nobody = f"game {game}{MARK}{name}: no installed package makes games from games: install agon_twins, or name {game} alone"
    raise AgonError("; ".join(faults) or nobody)


def derived_games(game: str, conf: Path) -> dict[str, str]:
    """The games derived from a game: name -> description. Empty if no package derives any."""
    return {name: words for door in makers() for name, words in door.load().made_of(game, conf).items()}
