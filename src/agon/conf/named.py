"""What a name stands for: a file of conf/, one of a game's settings (FILE/SETTING), or a game made of another (GAME~NAME)."""

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agon.conf.composition import compose_together, file_of
from agon.conf.derived import MARK, derived_settings
from agon.conf.files import CONF, offered
from agon.errors import AgonError
from agon.games.settings import variants


@functools.cache
def settings_of(group: str, name: str, conf: Path = CONF) -> dict[str, Any]:
    """conf/`group`/`name`.yaml as plain data; FILE/SETTING is one of a game that has `settings`, GAME~NAME a game made of another.

    Raises AgonError.
    """
    of, _, made = name.rpartition(MARK)
    if of and group == "game":
        return derived_settings(of, made, conf)
    file, _, setting = name.partition("/")
    settings = file_of(group, file, conf)
    if "/" not in name and "settings" not in settings:
        return settings
    found = variants(settings) if "settings" in settings else {}
    if setting not in found:
        raise AgonError(f"{group} {file} has no setting {setting!r}: {offered(setting, list(found))}")
    return found[setting]


def expand_settings(names: Sequence[str], conf: Path = CONF) -> list[str]:
    """Names of games, with all its settings (FILE/SETTING) in the place of a game that has some. Raises AgonError."""
    found = []
    compose_together({"game": [re.split("[/~]", name)[0] for name in names]}, conf)
    for name in names:
        file, mark, made = name.partition(MARK)
        settings = {} if "/" in file else file_of("game", file, conf)
        own = [f"{file}/{setting}" for setting in variants(settings)] if "settings" in settings else [file]
        found += [f"{each}{mark}{made}" for each in own]
    return found
