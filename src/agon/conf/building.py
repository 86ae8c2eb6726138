"""Games, agents and models, built as files in conf/ describe them. What a file may name as `_target_` is said by `agon.located`."""

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from agon import SHIPPED, AgonError, fault_of, input_path, located, shown
from agon.conf.documents import reason
from agon.conf.files import CONF, file_of, names, offered
from agon.conf.named import claims, expand_settings, settings_of, twin_of
from agon.games import Game

DIRECTIVES = {"_target_", "_partial_", "_convert_"}
"""What a file may say beside settings; `_convert_` does nothing any more, but is hashed by ids."""


def load(group: str, name: str, conf: Path = CONF) -> Any:
    """What conf/`group`/`name`.yaml describes, built by its `_target_`. Raises AgonError when there is no such file."""
    settings = settings_of(group, name, conf)
    try:
        if "_target_" not in settings:
            raise AgonError("it has no _target_, which says what it is")
        made = built(settings)
        if isinstance(made, Game):
            _require_named(made)
        if group == "game" and not isinstance(made, Game):
            raise TypeError("its _target_ makes no game")
    except (AgonError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        raise AgonError(f"conf/{group}/{name}.yaml cannot be built: {reason(error)}") from error
    return made


def built(settings: Any) -> Any:
    """What settings describe: `_target_` called with the rest, or, with `_partial_: true`, kept to be called later.

    Called are only games and models; kept are only functions, and agents' classes. Raises AgonError for a `_target_` that is
    neither, and for settings that it does not have or whose types are others.
    """
    if isinstance(settings, list):
        return [built(each) for each in settings]
    if not isinstance(settings, dict):
        return settings
    if "_target_" not in settings:
        return {key: built(value) for key, value in settings.items()}
    made, partial = located(settings["_target_"]), settings.get("_partial_", False)
    if strange := [key for key in settings if str(key).startswith("_") and key not in DIRECTIVES]:
        raise AgonError(f"there is no setting {strange[0]!r}")
    if type(partial) is not bool:
        raise AgonError(f"_partial_ is {partial!r}; it must be true or false")
    makes = made if isinstance(made, type) else get_type_hints(made).get("return")
    if partial and isinstance(made, type) and not hasattr(made, "act"):
        raise AgonError(f"_target_: {settings['_target_']!r} is no agent: it has no `act`")
    if not partial and not (isinstance(makes, type) and (issubclass(makes, Game) or hasattr(makes, "identity"))):
        raise AgonError(f"_target_: {settings['_target_']!r} makes no game and no model; agents have _partial_: true")
    given = {key: value for key, value in settings.items() if key not in DIRECTIVES}
    _require_fitting(made, given)
    keywords = {key: built(value) for key, value in given.items()}
    return functools.partial(made, **keywords) if partial else made(**keywords)


def _require_fitting(made: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raises AgonError for settings that a class or function does not have, or whose values are of other types."""
    try:
        known = inspect.signature(made, eval_str=True).parameters
    except NameError:  # a type that is known to its author's tools alone
        known = inspect.signature(made).parameters
    unknown = [name for name in given if name not in known]
    if unknown and not any(each.kind is each.VAR_KEYWORD for each in known.values()):
        raise AgonError(f"{made.__qualname__} has no setting {unknown[0]!r}: {offered(unknown[0], list(known))}")
    for name, value in given.items():
        hint = known[name].annotation if name in known else inspect.Parameter.empty
        if hint is inspect.Parameter.empty or (isinstance(value, dict) and "_target_" in value):
            continue
        try:
            msgspec.convert(value, hint)
        except msgspec.ValidationError as error:
            raise AgonError(f"{name} does not fit: {fault_of(error, hint)}") from None
        except TypeError:  # a hint that msgspec does not know
            continue


def _require_named(game: Game[Any]) -> None:
    """Raises AgonError unless a game's name, variant and rules can stand in a table."""
    for what, text in {"name": game.name, "variant": game.variant}.items():
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise AgonError(f"{what} is {text!r}; it must be a word that can be printed")
    if type(game.rules) is not int or game.rules < 1:
        raise AgonError(f"rules is {game.rules!r}; it must be a whole number, 1 at least")


def smaller(of: str, name: str, conf: Path = CONF) -> tuple[Game[Any], Game[Any]] | None:
    """A game and its twin with the settings that make them small; None where there are none. Raises AgonError."""
    if not (small := claims(conf)[of, name].small):
        return None
    try:
        return built(settings_of("game", of, conf) | small), built(twin_of(of, name, conf, small))
    except (AgonError, TypeError, ValueError) as error:
        raise AgonError(f"conf/twin: {of}~{name} cannot be built as its `small` says: {reason(error)}") from error


def games(wanted: Sequence[str] | None = None) -> list[Game[Any]]:
    """The games of conf/game: those named, with all their settings, or all that have no settings."""
    if wanted is None:
        wanted = [name for name in names("game") if "settings" not in file_of("game", name, CONF)]
    return distinct([load("game", name) for name in expand_settings(wanted)])


def distinct(games: list[Game[Any]]) -> list[Game[Any]]:
    """The games as they are. Raises AgonError when different ones bear the same name and variant."""
    known: dict[tuple[str, str], Game[Any]] = {}
    for game in games:
        if known.setdefault((game.name, game.variant), game) != game:
            raise AgonError(
                f"two games in conf/game are called {game.name}, variant {game.variant}: give one another `variant`"
            )
    return games


def require_own_names(found: Mapping[str, Game[Any]], conf: Path = CONF) -> None:
    """Raises AgonError where a game, by its name in conf/game, is called like a different one there or of agon.

    Games with settings are left out: they may be there under several readings of their rules.
    """
    for path, other in _without_settings(conf):
        for name, game in found.items():
            if (game.name, game.variant) == (other.name, other.variant) and game != other:
                own = input_path(conf / "game" / f"{re.split('[/~]', name)[0]}.yaml")
                raise AgonError(
                    f"{shown(own)} and {shown(path)} are different games that are both called "
                    f"{game.name}, variant {game.variant}: give one another `name` or `variant`"
                )


def _without_settings(conf: Path) -> Iterator[tuple[Path, Game[Any]]]:
    """The games of conf/game that have no settings, with their files, and those of agon that a file there hides."""
    own = {path.stem for path in (conf / "game").glob("*.yaml")}
    for place, known in (
        (conf, names("game", conf)),
        (SHIPPED / "conf", own if conf == CONF != SHIPPED / "conf" else ()),
    ):
        for name in known:
            with suppress(AgonError):  # it cannot be used
                if "settings" not in file_of("game", name, place):
                    yield input_path(place / "game" / f"{name}.yaml"), load("game", name, place)
