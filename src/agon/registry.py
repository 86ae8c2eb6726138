"""Names of classes and functions: how ids and recordings name them, and how conf finds them."""

import functools
import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from agon.errors import AgonError

T = TypeVar("T")

KINDS: dict[Any, str] = {}
"""Classes and functions -> the names that `kind` gave them."""

PACKAGES = {"agon.agents", "agon.games", "agon.models"}
"""The packages in which `_target_` of a file in conf/ may lie. `families` and `packages` of conf/config.yaml add to them."""


def kind(name: str) -> Callable[[T], T]:
    """Names a class or function for the ids of matches and the keys of recordings; never change a name once it is recorded.

    Ids hash this name and not where the code lives, so code can move while what was recorded with it stays valid.
    """

    def register(target: T) -> T:
        KINDS[target] = name
        return target

    return register


@functools.cache
def makers() -> dict[str, EntryPoint]:
    """Package -> its entry point `agon.games`, of the packages that derive games from games (agon.conf.building).

    A package that was deleted has left its entry point behind, and is passed over.
    """
    doors = {door.module.partition(".")[0]: door for door in entry_points(group="agon.games")}
    return {package: door for package, door in doors.items() if find_spec(package)}


def locate(target: Any) -> Any:
    """The class or function with a dotted name, as in conf's `_target_`.

    It must be defined in one of PACKAGES or `makers`, not imported there from elsewhere. Raises AgonError.
    """
    if not isinstance(target, str):
        raise AgonError(f"_target_ is {target!r}; it must be the dotted name of a class or function")
    module, _, name = target.rpartition(".")
    if not _allowed(module) or any(part.startswith("_") for part in target.split(".")):
        raise AgonError(
            f"_target_: {target!r} is not in {', '.join(sorted({*PACKAGES, *makers()}))}: "
            "name a folder or package elsewhere under `families` or `packages` in conf/config.yaml"
        )
    try:
        home = import_module(module)
        if not hasattr(home, name):
            near = get_close_matches(name, dir(home), 1)
            raise AgonError(f"{module} has no {name}{f': did you mean {near[0]}?' if near else ''}")
        target_object = getattr(home, name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a reader's module may do anything, such as end the program
        message = str(error) if isinstance(error, Exception) else ""
        raise AgonError(f"_target_: {target!r} cannot be imported: {message or type(error).__name__}") from None
    if not callable(target_object) or not _allowed(getattr(target_object, "__module__", None) or ""):
        raise AgonError(f"_target_: {target!r} is no class or function of {module}")
    return target_object


def _allowed(module: str) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in PACKAGES) or module.partition(".")[0] in makers()


def kind_of(target: Any) -> str:
    """The name that `kind` gave to a class or function; without one, FOLDER.NAME with the folder of its family.

    A subclass or a wrapper does not inherit the kind, because it is something else. Raises AgonError for what has no name.
    """
    if target in KINDS:
        return KINDS[target]
    name = getattr(target, "__qualname__", "<nameless>")
    if "<" in name:
        raise AgonError(
            f"{target!r} has no name of its own, so matches could not be told apart: write a function or class"
        )
    parts = target.__module__.split(".")
    folders = (".".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1))
    folder = next((package for package in folders if _is_family(package)), ".".join(parts[:-1]) or parts[0])
    return f"{folder.rpartition('.')[2]}.{name}"


def _is_family(package: str) -> bool:
    """Whether a package's folder is a family's."""
    return any(Path(folder, "game.py").is_file() for folder in getattr(sys.modules.get(package), "__path__", ()))
