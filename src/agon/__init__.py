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

PACKAGES = {"agon.agents", "agon.games", "agon.models"}
"""Where `_target_` of a file in conf/ may lie; what conf/config.yaml names under `families` and `packages` is added."""


def shown(path: Path) -> str:
    """A path as messages show it: from the project's root where it lies inside, as `visible` text."""
    return visible(str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path))


def visible(text: str) -> str:
    """Text that does nothing to a terminal or a log: what cannot be printed, but for line ends, is spelled out (\\x1b)."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


class AgonError(Exception):
    """Something the user can mend; its text is one line that says what is wrong and what to do."""

    def __init__(self, text: object) -> None:
        super().__init__(" ".join(str(text).splitlines()))  # names from files may hold line ends


def text_of(path: Path, most: int = 1_000_000) -> str:
    """A file's text in UTF-8, of at most `most` bytes. Raises AgonError."""
    try:
        if not path.is_file():
            raise AgonError(f"there is no file {shown(path)}")
        if (size := path.stat().st_size) > most:
            raise AgonError(f"{shown(path)} has {size:,} bytes: {most:,} are read at most")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise AgonError(f"{shown(path)} is not text in UTF-8") from None
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be read: {error.strerror or error}") from None


def keep_file(path: Path, text: str | bytes, force: bool = False) -> None:
    """Writes a file, and its folder. Raises AgonError where another is there, unless `force` says to write over it."""
    data = text if isinstance(text, bytes) else text.encode()
    try:
        if not force and path.exists() and (not path.is_file() or path.read_bytes() != data):
            raise AgonError(
                f"{shown(path)} is there, and is another: take another folder, or say force=true to write over it"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be written: {error.strerror or error}") from None


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
    except Exception as error:  # a module of the reader's own may do anything
        raise AgonError(f"_target_: {target!r} cannot be imported: {error or type(error).__name__}") from None
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
    return f"{made.__module__.split('.')[-2:][0]}.{name}"


def in_project(path: str | Path) -> Path:
    """A path as a setting gives it: from the project's root, or from the home folder where it begins with ~/."""
    return ROOT / Path(path).expanduser()
