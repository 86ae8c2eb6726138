"""Games that need social and strategic reasoning: engines, agents, records and metrics."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
"""The project's root folder, whatever the working folder is."""

T = TypeVar("T")

KINDS: dict[Any, str] = {}
"""Classes and functions -> the names that `kind` gave them."""


def shown(path: Path) -> str:
    """A path as messages show it: from the project's root where it lies inside, as `visible` text."""
    return visible(str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path))


def visible(text: str) -> str:
    """Text that does nothing to a terminal or a log: what cannot be printed, but for line ends, is spelled out (\\x1b)."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


class AgonError(Exception):
    """Something the user can mend; its text is one line that says what is wrong and what to do."""


def kind(name: str) -> Callable[[T], T]:
    """Names a class or function for the ids of matches and the keys of recordings; never change a name once it is recorded.

    Ids hash this name and not where the code lives, so code can move while what was recorded with it stays valid.
    """

    def named(made: T) -> T:
        KINDS[made] = name
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
    return f"{made.__module__.split('.')[-2:][0]}.{name}"


def in_project(path: str | Path) -> Path:
    """A path as a setting gives it: from the project's root, or from the home folder where it begins with ~/."""
    return ROOT / Path(path).expanduser()
