"""Names of files in conf/ as settings, and as the games, agents and models that these describe.

GAME~NAME is a game that a package derives from another game. The package offers it by an entry point of the group `agon.games`. Its
value is a module with two functions: `settings(game, name, conf)` gives the settings of GAME~NAME, or raises AgonError for a name that
it does not derive. `made_of(game, conf)` gives a table: name -> description. Where several packages offer games, each is asked in turn.
"""

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agon.conf.composition import compose_together, file_of
from agon.conf.files import CONF, find_families, names, suggest
from agon.conf.gate import allowed_target, reason
from agon.errors import AgonError
from agon.games import Game
from agon.games.settings import variants
from agon.registry import makers

MARK = "~"


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


def derived_settings(game: str, name: str, conf: Path) -> dict[str, Any]:
    """The settings of GAME~NAME, from the first package that derives it. Raises AgonError where none does."""
    faults = []
    for door in makers().values():
        try:
            settings: dict[str, Any] = door.load().settings(game, name, conf)
            return settings
        except AgonError as error:
            faults.append(str(error))
    nobody = f"game {game}{MARK}{name}: no installed package makes games from games: install agon_twins, or name {game} alone"
    raise AgonError("; ".join(faults) or nobody)


def derived_games(game: str, conf: Path) -> dict[str, str]:
    """The games derived from a game: name -> description. Empty if no package derives any."""
    return {name: words for door in makers().values() for name, words in door.load().made_of(game, conf).items()}


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


def load(group: str, name: str, conf: Path = CONF) -> Any:
    """The object that conf/`group`/`name`.yaml describes. Raises AgonError for a missing file, or one that cannot be built."""
    settings = settings_of(group, name, conf)
    try:
        if "_target_" not in settings:
            raise AgonError("it has no _target_, which names its class or function")
        object_ = build(settings)
        if isinstance(object_, Game):
            check_description(object_)
        if group == "game" and not isinstance(object_, Game):
            raise TypeError("its _target_ makes no game")
    except (AgonError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise AgonError(f"conf/{group}/{name}.yaml cannot be built: {reason(error)}") from error
    return object_


def build(settings: Any) -> Any:
    """The object that settings describe: `_target_` called with the rest or, with `_partial_: true`, a functools.partial of it.

    It builds the same as `hydra.utils.instantiate`, in a hundredth of the time: Hydra checks its policy at each call of a partial,
    and a script is called for every move. Raises AgonError for a target that conf may not name, and for settings that do not fit.
    """
    if isinstance(settings, list):
        return [build(item) for item in settings]
    if not isinstance(settings, dict):
        return settings
    if "_target_" not in settings:
        return {key: build(value) for key, value in settings.items()}
    find_families()  # settings of a recorded game may name a reader's own family, before anything is composed
    target, arguments = allowed_target(settings)
    keywords = {key: build(value) for key, value in arguments.items()}
    return functools.partial(target, **keywords) if settings.get("_partial_") else target(**keywords)


def check_description(game: Game[Any]) -> None:
    """Raises AgonError unless a game's name, variant, rules, seats, players and roles can stand in a table."""
    for what, text in {"name": game.name, "variant": game.variant}.items():
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise AgonError(f"{what} is {text!r}; it must be a word that can be printed")
    for what, number in {"rules": game.rules, "seats": game.seats}.items():
        if type(number) is not int or number < 1:
            raise AgonError(f"{what} is {number!r}; it must be a whole number, 1 at least")
    for what, texts, counts in (("players", game.players, {game.seats}), ("roles", game.roles, {0, game.seats})):
        if len(texts) not in counts or not all(isinstance(text, str) for text in texts):
            raise AgonError(f"{what} is {texts!r}; it must have a text for each of {game.seats} seats")


def games(names_wanted: Sequence[str] | None = None) -> list[Game[Any]]:
    """The games of conf/game with these names. A file with `settings` gives a game for each of them.

    Without names: the games of all files that have no `settings`. Raises AgonError.
    """
    if names_wanted is None:
        compose_together({"game": names("game")})
        names_wanted = [name for name in names("game") if "settings" not in file_of("game", name, CONF)]
    return require_distinct_games([load("game", name) for name in expand_settings(names_wanted)])


def require_distinct_games(games: list[Game[Any]]) -> list[Game[Any]]:
    """The same games. Raises AgonError when different ones have the same name and variant."""
    game_of_name: dict[tuple[str, str], Game[Any]] = {}
    for game in games:
        if game_of_name.setdefault((game.name, game.variant), game) != game:
            raise AgonError(
                f"two games in conf/game are called {game.name}, variant {game.variant}: change the `variant` of one"
            )
    return games
