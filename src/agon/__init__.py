"""Games that need social and strategic reasoning: engines, agents, records and metrics."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
"""The project's root folder, whatever the working folder is."""

T = TypeVar("T")


def shown(path: Path) -> str:
    """A path as messages show it: from the project's root where it lies inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


class AgonError(Exception):
    """Something the user can mend; its text is one line that says what is wrong and what to do."""


def kind(name: str) -> Callable[[T], T]:
    """Names a class or function for the ids of matches and the keys of recordings; never change a name once it is recorded.

    Ids hash this name and not where the code lives, so code can move while what was recorded with it stays valid.
    """

    def named(made: T) -> T:
        made.__kind__ = name  # type: ignore[attr-defined]
        return made

    return named


def located(target: str) -> Any:
    """The class or function with a dotted name, as in conf's `_target_`. Raises AgonError where there is none."""
    module, _, name = target.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise AgonError(f"_target_: {target!r} cannot be imported: {error}") from None


def kind_of(made: Any) -> str:
    """The name given by `kind`; without one, the class's or function's own name, without its module."""
    found: str = vars(made).get("__kind__", made.__qualname__)  # not inherited: a subclass is something else
    return found
