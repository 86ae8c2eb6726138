"""GAME~NAME: the games that conf/twin says are made of another. agon asks for them by its entry points `agon.games`."""

import functools
import re
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from agon.conf import CONF, built, compose_together, file_of, names, offered, reason, settings_of
from agon.errors import AgonError, fault_of
from agon.games import Game

TWIN = "agon_twins.twin.twin"


class Twins(msgspec.Struct, forbid_unknown_fields=True):
    """A file of conf/twin: games, and what other games are made of each, by name."""

    of: Annotated[list[str], msgspec.Meta(min_length=1)]
    """Games of conf/game, as FILE or FILE/SETTING."""
    twins: dict[str, dict[str, Any]] = {}
    """The same games in other clothes: what agon_twins.twin.twin takes."""
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


@functools.cache
def claims(conf: Path = CONF) -> dict[tuple[str, str], Claim]:
    """All that conf/twin declares, by game and name. Raises AgonError."""
    known: dict[tuple[str, str], Claim] = {}
    compose_together({"twin": names("twin", conf)}, conf)
    for file in names("twin", conf):
        try:
            declared = msgspec.convert(file_of("twin", file, conf), Twins)
        except msgspec.ValidationError as error:
            raise AgonError(f"conf/twin/{file}.yaml: {fault_of(error, Twins)}") from None
        files = {game.partition("/")[0] for game in declared.of}
        if strange := [game for game in declared.also if re.split("[/~]", game)[0] not in files]:
            raise AgonError(f"conf/twin/{file}.yaml: also: {strange[0]} is no setting of {' or '.join(sorted(files))}")
        for is_twin, section in ((True, declared.twins), (False, declared.near)):
            for game, (name, changes) in product(declared.of, section.items()):
                if (game, name) in known:
                    raise AgonError(f"conf/twin/{file}.yaml: {game} has another twin that is called {name}: rename one")
                known[game, name] = Claim(is_twin, changes, tuple(declared.also), declared.small)
    return known


def made_of(game: str, conf: Path = CONF) -> dict[str, str]:
    """The twins and near-twins of a game: name -> what it is."""
    kinds = {True: "the same game", False: "another game, which looks like it"}
    return {name: kinds[claim.twin] for (of, name), claim in claims(conf).items() if game in (of, *claim.also)}


def settings(game: str, name: str, conf: Path = CONF, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a game's twin, and `more` of the game's; a file's twins are those of all its settings. Raises AgonError."""
    known, bare = claims(conf), game.partition("~")[0]
    claim = known.get((bare, name)) or known.get((bare.partition("/")[0], name))
    claim = claim or next((each for (_, twin), each in known.items() if twin == name and bare in each.also), None)
    if claim is None:
        others = [twin for of, twin in known if of in (bare, bare.partition("/")[0])]
        raise AgonError(f"game {bare} has no twin {name!r} in conf/twin: {offered(name, others)}")
    described, changes = settings_of("game", game, conf) | (more or {}), dict(claim.changes)
    variant = {"variant": f"{described.get('variant')}~{name}"}
    if "settings" in changes and "~" in game:
        raise AgonError(f"game {game}~{name}: {name} changes settings, so it comes first: {bare}~{name}")
    described = described | changes.pop("settings", {})
    return {"_target_": TWIN, "of": described, **variant, **changes} if changes else described | variant


def smaller(game: str, name: str, conf: Path = CONF) -> tuple[Game[Any], Game[Any]] | None:
    """A game and its twin with the settings that make them small; None where there are none. Raises AgonError."""
    if not (small := claims(conf)[game, name].small):
        return None
    try:
        return built(settings_of("game", game, conf) | small), built(settings(game, name, conf, small))
    except (AgonError, TypeError, ValueError) as error:
        raise AgonError(f"conf/twin: {game}~{name} cannot be built as its `small` says: {reason(error)}") from error
