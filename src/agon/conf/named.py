"""What a name stands for: a file of conf/, one of a game's settings (FILE/SETTING), or its twin (GAME~TWIN)."""

import functools
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from agon.conf.composition import compose_together, file_of
from agon.conf.files import CONF, names, offered
from agon.errors import AgonError, fault_of
from agon.games.settings import variants

TWIN = "agon.games.twins.twin"


@functools.cache
def settings_of(group: str, name: str, conf: Path = CONF) -> dict[str, Any]:
    """conf/`group`/`name`.yaml as plain data; FILE/SETTING is one of a game that has `settings`, GAME~TWIN a twin of a game.

    Raises AgonError.
    """
    of, _, twin = name.rpartition("~")
    if of and group == "game":
        return twin_of(of, twin, conf)
    file, _, setting = name.partition("/")
    settings = file_of(group, file, conf)
    if "/" not in name and "settings" not in settings:
        return settings
    found = variants(settings) if "settings" in settings else {}
    if setting not in found:
        raise AgonError(f"{group} {file} has no setting {setting!r}: {offered(setting, list(found))}")
    return found[setting]


class Twins(msgspec.Struct, forbid_unknown_fields=True):
    """A file of conf/twin: games, and what other games are made of each, by name."""

    of: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Games of conf/game, as FILE or FILE/SETTING."""
    twins: dict[str, dict[str, Any]] = {}
    """The same games in other clothes: what agon.games.twins.twin takes."""
    near: dict[str, dict[str, Any]] = {}
    """Other games that look alike: the settings that differ, under `settings`, beside what a twin takes."""
    also: list[str] = []
    """Further settings of the same games, and near-twins of them, in which every twin is checked too."""
    small: dict[str, Any] = {}
    """Settings with which a game has so few states that all are compared."""


class Claim(NamedTuple):
    """What conf/twin says of a game and another that is made of it."""

    twin: bool
    """Whether it is said to be a twin, or else a near-twin."""
    changes: dict[str, Any]
    """What is changed."""
    also: tuple[str, ...]
    """Games of which the same is said."""
    small: dict[str, Any]
    """Settings that make the game small."""


def twins(conf: Path = CONF) -> dict[tuple[str, str], bool]:
    """All that conf/twin declares: game and name -> whether it is said to be a twin, or else a near-twin. Raises AgonError."""
    return {pair: claim.twin for pair, claim in claims(conf).items()}


@functools.cache
def claims(conf: Path = CONF) -> dict[tuple[str, str], Claim]:
    """All that conf/twin declares, by game and name. Raises AgonError."""
    found: dict[tuple[str, str], Claim] = {}
    compose_together({"twin": names("twin", conf)}, conf)
    for file in names("twin", conf):
        try:
            own = msgspec.convert(file_of("twin", file, conf), Twins)
        except msgspec.ValidationError as error:
            raise AgonError(f"conf/twin/{file}.yaml: {fault_of(error, Twins)}") from None
        files = {game.partition("/")[0] for game in own.of}
        if strange := [game for game in own.also if re.split("[/~]", game)[0] not in files]:
            raise AgonError(f"conf/twin/{file}.yaml: also: {strange[0]} is no setting of {' or '.join(sorted(files))}")
        for claimed, section in ((True, own.twins), (False, own.near)):
            for game, (name, changes) in product(own.of, section.items()):
                if (game, name) in found:
                    raise AgonError(f"conf/twin/{file}.yaml: {game} has another twin that is called {name}: rename one")
                found[game, name] = Claim(claimed, changes, tuple(own.also), own.small)
    return found


def twin_of(of: str, name: str, conf: Path, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a game's twin, and `more` of the game's; a file's twins are those of all its settings."""
    known, bare = claims(conf), of.partition("~")[0]
    declared = known.get((bare, name)) or known.get((bare.partition("/")[0], name))
    declared = declared or next((each for (_, own), each in known.items() if own == name and bare in each.also), None)
    if declared is None:
        own = [twin for game, twin in known if game in (bare, bare.partition("/")[0])]
        raise AgonError(f"game {bare} has no twin {name!r} in conf/twin: {offered(name, own)}")
    settings, changes = settings_of("game", of, conf) | (more or {}), dict(declared.changes)
    variant = f"{settings.get('variant')}~{name}"
    if "settings" in changes and "~" in of:
        raise AgonError(f"game {of}~{name}: {name} changes settings, so it comes first: {bare}~{name}")
    settings = settings | changes.pop("settings", {})
    return (
        {"_target_": TWIN, "of": settings, "variant": variant, **changes}
        if changes
        else settings | {"variant": variant}
    )


def expand_settings(names: Sequence[str], conf: Path = CONF) -> list[str]:
    """Names of games, with all its settings (FILE/SETTING) in the place of a game that has some. Raises AgonError."""
    found = []
    compose_together({"game": [re.split("[/~]", name)[0] for name in names]}, conf)
    for name in names:
        file, mark, twin = name.partition("~")
        settings = {} if "/" in file else file_of("game", file, conf)
        own = [f"{file}/{setting}" for setting in variants(settings)] if "settings" in settings else [file]
        found += [f"{each}{mark}{twin}" for each in own]
    return found
