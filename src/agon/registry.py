"""Names of classes and functions: how ids and recordings name them, and how conf finds them."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from agon.errors import AgonError

T = TypeVar("T")

KINDS: dict[Any, str] = {}
"""Classes and functions -> the names that `kind` gave them."""

PACKAGES = {"agon.agents", "agon.games", "agon.models"}
"""Where `_target_` of a file in conf/ may lie; what conf/config.yaml names under `families` and `packages` is added."""


def kind(name: str) -> Callable[[T], T]:
    """Names a class or function for the ids of matches and the keys of recordings; never change a name once it is recorded.

    Ids hash this name and not where the code lives, so code can move while what was recorded with it stays valid.
    """

    def named(made: T) -> T:
        KINDS[made] = name
        return made

    return named


def located(target: Any) -> Any:
    """The class or function with a dotted name, as in conf's `_target_`.

    It lies in one of PACKAGES, and is not something that a module there has imported from elsewhere. Raises AgonError.
    """
    if not isinstance(target, str):
        raise AgonError(f"_target_ is {target!r}; it must be the dotted name of a class or function")
    module, _, name = target.rpartition(".")
    if not _allowed(module) or any(part.startswith("_") for part in target.split(".")):
        raise AgonError(
            f"_target_: {target!r} is not in {', '.join(sorted(PACKAGES))}: "
            "what lies elsewhere is named under `families` or `packages` in conf/config.yaml"
        )
    try:
        found = getattr(import_module(module), name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module of the reader's own may do anything, such as leave the program
        said = str(error) if isinstance(error, Exception) else ""
        raise AgonError(f"_target_: {target!r} cannot be imported: {said or type(error).__name__}") from None
    if not callable(found) or not _allowed(getattr(found, "__module__", None) or ""):
        raise AgonError(f"_target_: {target!r} is no class or function of {module}")
    return found


def _allowed(module: str) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in PACKAGES)


def kind_of(made: Any) -> str:
    """The name given by `kind`; without one FOLDER.NAME: that of its family's folder, and its own. Raises AgonError without a name.

    A kind is not inherited, nor taken over by what wraps it: that is something else.
    """
    if made in KINDS:
        return KINDS[made]
    name = getattr(made, "__qualname__", "<nameless>")
    if "<" in name:
        raise AgonError(
            f"{made!r} has no name of its own, by which matches could be told apart: write a function or class"
        )
    above = made.__module__.split(".")
    folders = (".".join(above[:depth]) for depth in range(len(above) - 1, 0, -1))
    own = next((each for each in folders if _is_family(each)), ".".join(above[:-1]) or above[0])
    return f"{own.rpartition('.')[2]}.{name}"


def _is_family(package: str) -> bool:
    """Whether a package's folder is a family's."""
    return any(Path(folder, "game.py").is_file() for folder in getattr(sys.modules.get(package), "__path__", ()))
