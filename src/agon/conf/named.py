"""The settings behind a name: a file of conf/, one of a game's settings (FILE/SETTING), or a derived game (GAME~NAME)."""

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agon.conf.composition import compose_together, file_of
from agon.conf.derived import MARK, derived_settings
from agon.conf.files import CONF, suggest
from agon.errors import AgonError
from agon.games.settings import variants


@functools.cache
def settings_of(group: str, name: str, conf: Path = CONF) -> dict[str, Any]:
    """conf/`group`/`name`.yaml as plain data; FILE/SETTING is one setting of a game, and GAME~NAME a derived game.

    Raises AgonError.
    """
    game, _, derivation = name.rpartition(MARK)
    if game and group == "game":
        return derived_settings(game, derivation, conf)
    file, _, setting = name.partition("/")
    settings = file_of(group, file, conf)
    if "/" not in name and "settings" not in settings:
        return settings
    settings_by_name = variants(settings) if "settings" in settings else {}
    if setting not in settings_by_name:
        raise AgonError(f"{group} {file} has no setting {setting!r}: {suggest(setting, list(settings_by_name))}")
    return settings_by_name[setting]


def expand_settings(names: Sequence[str], conf: Path = CONF) -> list[str]:
    """Names of games. A game that has `settings` is replaced by all of them (FILE/SETTING). Raises AgonError."""
    expanded = []
    compose_together({"game": [re.split("[/~]", name)[0] for name in names]}, conf)
    for name in names:
        file, mark, derivation = name.partition(MARK)
        settings = {} if "/" in file else file_of("game", file, conf)
        names_of_file = [f"{file}/{setting}" for setting in variants(settings)] if "settings" in settings else [file]
        expanded += [f"{game}{mark}{derivation}" for game in names_of_file]
    return expanded
