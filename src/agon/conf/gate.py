"""The gate between conf/ and code: composed settings are plain data, and name only allowed classes and functions."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from math import inf, isfinite
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import yaml  # type: ignore[import-untyped]
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException
from yaml import MarkedYAMLError, YAMLError

from agon.errors import AgonError, describe_fault
from agon.games import Game
from agon.paths import display_path, read_text_file
from agon.registry import locate

DIRECTIVES = {"_target_", "_partial_", "_convert_"}
"""Keys of Hydra that a file may have beside settings.

Objects are always built as with `_convert_: all`. Ids hash that key where it is written.
"""


FAULTS = (
    OmegaConfBaseException,
    YAMLError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)
"""Errors of reading YAML.

From ValueError to AttributeError, they come from a value that does not fit its tag (!!). RecursionError comes from deep nesting.
"""


VALUES = 100_000
"""The most values of a file of YAML, with everything that it repeats by names (`*name`)."""


def require_small(text: str) -> None:
    """Raises AgonError for YAML that holds more than VALUES values once each `*name` is replaced by what `&name` is."""
    if "*" not in text:
        return
    sizes, open_values = dict[str | None, float](), list[tuple[str | None, float]]([(None, 0)])
    with suppress(YAMLError):  # the code that reads the text raises it
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                open_values.append((event.anchor, 1))
                sizes[event.anchor] = inf  # until it ends, because a value that repeats itself inside itself has no end
                continue
            if isinstance(event, yaml.CollectionEndEvent):
                name, size = open_values.pop()
            elif isinstance(event, yaml.NodeEvent):
                name, size = event.anchor, sizes.get(event.anchor, 1) if isinstance(event, yaml.AliasEvent) else 1
            else:
                continue
            sizes[name] = size
            if (total := open_values[-1][1] + size) > VALUES:
                raise AgonError(f"its names (*name) repeat so much that it has more than {VALUES:,} values")
            open_values[-1] = (open_values[-1][0], total)


def document(path: Path) -> dict[str, Any]:
    """A file of YAML as plain data: names and values. Raises AgonError."""
    text = read_text_file(path)
    try:
        require_small(text)
        settings = OmegaConf.create(text)
        if not OmegaConf.is_dict(settings):
            raise AgonError("it has no settings: write name: value")
        return plain(settings)
    except (AgonError, *FAULTS) as error:
        raise AgonError(f"{display_path(path)}: {reason(error)}") from error


def plain(settings: Any) -> dict[str, Any]:
    """Settings of OmegaConf as plain data. Raises AgonError for a resolver (${name:...}), and for values that are no data.

    It replaces a reference to another setting, ${name}, by its value. A resolver could read the environment.
    """
    _require_plain(OmegaConf.to_container(settings))
    try:
        resolved: dict[str, Any] = OmegaConf.to_container(settings, resolve=True)  # type: ignore[assignment]
    except InterpolationKeyError as error:
        name = str(error).split("'")[1]
        raise AgonError(f"{error.full_key} is ${{{name:.80}}}, and there is no setting of this name") from None
    except OmegaConfBaseException as error:
        raise AgonError(reason(error)) from error
    return resolved


def _require_plain(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise AgonError(
                    f"the name {key!r} is no text: put it in quotes; a decimal number has a point, not a comma"
                )
            _require_plain(item)
    elif isinstance(value, list):
        for item in value:
            _require_plain(item)
    elif isinstance(value, str) and "${" in value and ":" in value:
        raise AgonError(f"{value[:80]!r}: ${{...:...}} is not computed here: write the value")
    elif isinstance(value, float) and not isfinite(value):
        raise AgonError(f"{value} is not a finite number: write null for none")
    elif not isinstance(value, str | int | float | None):
        raise AgonError(f"{str(value)[:80]} is a {type(value).__name__}: write it as text, in quotes")


def allowed_target(settings: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The `_target_` of settings, and its arguments.

    Only games and models may be called. With `_partial_: true` the target is a function, or a class with `act`, and is not called.
    Raises AgonError for any other `_target_`, and for arguments that it does not have or whose types do not fit.
    """
    name, partial = settings["_target_"], settings.get("_partial_", False)
    target = locate(name)
    if unknown := [key for key in settings if key.startswith("_") and key not in DIRECTIVES]:
        raise AgonError(f"there is no setting {unknown[0]!r}")
    if type(partial) is not bool:
        raise AgonError(f"_partial_ is {partial!r}; it must be true or false")
    makes = target if isinstance(target, type) else get_type_hints(target).get("return")
    if partial and isinstance(target, type) and not hasattr(target, "act"):
        raise AgonError(f"_target_: {name!r} is no agent: it has no `act`")
    if not partial and not (isinstance(makes, type) and (issubclass(makes, Game) or hasattr(makes, "identity"))):
        raise AgonError(f"_target_: {name!r} makes no game and no model; agents have _partial_: true")
    arguments = {key: value for key, value in settings.items() if key not in DIRECTIVES}
    _require_fitting(target, arguments)
    return target, arguments


def _require_fitting(target: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raises AgonError for arguments that a class or function does not have, or whose types do not fit."""
    from agon.conf.files import suggest

    try:
        parameters = inspect.signature(target, eval_str=True).parameters
    except NameError:  # a type hint that only type checkers resolve
        parameters = inspect.signature(target).parameters
    unknown = [name for name in arguments if name not in parameters]
    if unknown and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        first = int(hasattr(target, "act")) if isinstance(target, type) else 2  # after a place, or a view and dice
        existing = list(parameters)[first:]
        near = suggest(unknown[0], existing) if existing else "it has none, so take the line out"
        raise AgonError(f"{target.__qualname__} has no setting {unknown[0]!r}: {near}")
    for name, value in arguments.items():
        hint = parameters[name].annotation if name in parameters else inspect.Parameter.empty
        if hint is inspect.Parameter.empty or (isinstance(value, dict) and "_target_" in value):
            continue
        try:
            msgspec.convert(value, hint)
        except msgspec.ValidationError as error:
            raise AgonError(f"{name} does not fit: {describe_fault(error, hint, value)}") from None
        except TypeError:  # a hint that msgspec does not know
            continue


def reason(error: BaseException) -> str:
    """The first cause of an error, in one line of at most 300 characters."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark):  # without its path, which the caller names
        return f"{error.problem}, in line {mark.line + 1}, column {mark.column + 1}"[:300]
    return " ".join(str(error)[:300].split())
