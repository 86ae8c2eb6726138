"""GAME~NAME: the games that conf/twin makes of other games. agon finds this module by its entry points `agon.games`."""

import functools
import re
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from agon.conf import CONF, build, compose_together, file_of, names, reason, settings_of, suggest
from agon.errors import AgonError, describe_fault
from agon.games import Game

TWIN = "agon_twins.twin.twin"


class Twins(msgspec.Struct, forbid_unknown_fields=True):
    """A file of conf/twin: some games, and by name the other games that are made of each."""

    of: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Games of conf/game, as FILE or FILE/SETTING."""
    twins: dict[str, dict[str, Any]] = {}
    """The same games in other clothes: name -> settings of agon_twins.twin.twin."""
    near: dict[str, dict[str, Any]] = {}
    """Other games that look alike: name -> the settings of a twin, and under `settings` the settings of the game that differ."""
    also: list[str] = []
    """Further settings of the same games, and near-twins of them, in which every twin is checked too."""
    small: dict[str, Any] = {}
    """Settings with which a game has so few states that all are compared."""
    names: list[str] = []
    """Words of the games' texts that only name things, so that a twin may change them. Those in the games' facts are names anyway."""


class Claim(NamedTuple):
    """An entry of conf/twin: a game that is made of another."""

    twin: bool
    """Whether the claim is a twin, or else a near-twin."""
    changes: dict[str, Any]
    """The changed settings."""
    also: tuple[str, ...]
    """Other games with the same claim."""
    small: dict[str, Any]
    """Settings that make the game small."""
    names: tuple[str, ...] = ()
    """Words of the game's texts that only name things."""


@functools.cache
def claims(conf: Path = CONF) -> dict[tuple[str, str], Claim]:
    """All that conf/twin declares, by game and name. Raises AgonError."""
    claims_by_name: dict[tuple[str, str], Claim] = {}
    compose_together({"twin": names("twin", conf)}, conf)
    for file in names("twin", conf):
        try:
            declared = msgspec.convert(file_of("twin", file, conf), Twins)
        except msgspec.ValidationError as error:
            raise AgonError(f"conf/twin/{file}.yaml: {describe_fault(error, Twins)}") from None
        files = {game.partition("/")[0] for game in declared.of}
        if strange := [game for game in declared.also if re.split("[/~]", game)[0] not in files]:
            raise AgonError(f"conf/twin/{file}.yaml: also: {strange[0]} is no setting of {' or '.join(sorted(files))}")
        for is_twin, section in ((True, declared.twins), (False, declared.near)):
            for game, (name, changes) in product(declared.of, section.items()):
                if (game, name) in claims_by_name:
                    raise AgonError(f"conf/twin/{file}.yaml: {game} has another twin that is called {name}: rename one")
                also, words = tuple(declared.also), tuple(declared.names)
                claims_by_name[game, name] = Claim(is_twin, changes, also, declared.small, words)
    return claims_by_name


def made_of(game: str, conf: Path = CONF) -> dict[str, str]:
    """The twins and near-twins of a game: name -> its kind, in words."""
    kinds = {True: "declared to be the same game", False: "another game, which looks like it"}
    return {name: kinds[claim.twin] for (of, name), claim in claims(conf).items() if game in (of, *claim.also)}


def settings(game: str, name: str, conf: Path = CONF, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a game's twin. `more`: further settings of the game. A file's twins are those of all its settings.

    Raises AgonError for a name that conf/twin does not declare.
    """
    declared, bare = claims(conf), game.partition("~")[0]
    claim = declared.get((bare, name)) or declared.get((bare.partition("/")[0], name))
    claim = claim or next((other for (_, twin), other in declared.items() if twin == name and bare in other.also), None)
    if claim is None:
        others = [twin for of, twin in declared if of in (bare, bare.partition("/")[0])]
        raise AgonError(f"game {bare} has no twin {name!r} in conf/twin: {suggest(name, others)}")
    game_settings, changes = settings_of("game", game, conf) | (more or {}), dict(claim.changes)
    variant = {"variant": f"{game_settings.get('variant')}~{name}"}
    if "settings" in changes and "~" in game:
        raise AgonError(f"game {game}~{name}: {name} changes settings, so it comes first: {bare}~{name}")
    game_settings = game_settings | changes.pop("settings", {})
    return {"_target_": TWIN, "of": game_settings, **variant, **changes} if changes else game_settings | variant


def smaller(game: str, name: str, conf: Path = CONF) -> tuple[Game[Any], Game[Any]] | None:
    """A game and its twin with the settings that make them small; None where there are none. Raises AgonError."""
    if not (small := claims(conf)[game, name].small):
        return None
    try:
        return build(settings_of("game", game, conf) | small), build(settings(game, name, conf, small))
    except (AgonError, TypeError, ValueError) as error:
        raise AgonError(f"conf/twin: {game}~{name} cannot be built as its `small` says: {reason(error)}") from error
