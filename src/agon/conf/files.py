"""The files in conf/: what there is, their old names, and what to say of what is not there."""

import difflib
import functools
import inspect
import re
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import msgspec

from agon.conf.gate import document
from agon.errors import AgonError, fault_of
from agon.paths import ROOT, SHIPPED, input_files, input_path, input_places, shown, text_of
from agon.registry import PACKAGES, located

CONF = ROOT / "conf"
OF_READER = ("families", "packages")
"""Settings that say whose code is run."""
LISTED = ("games", "agents", "models", "experiments", "notebooks", "metrics")
"""What `agon list` lists."""
FEW = 12
"""Up to so many names are all said to who asked for another."""


@functools.cache
def reader_settings(conf: Path = CONF) -> dict[str, list[str]]:
    """`families` and `packages` of conf/config.yaml, the project's own file. Raises AgonError."""
    path = conf / "config.yaml"
    settings = document(path) if path.is_file() else {}
    for name in OF_READER:
        given = settings.get(name) or []
        if not isinstance(given, list) or not all(isinstance(item, str) and item.strip() for item in given):
            raise AgonError(f"{name} in conf/config.yaml is {given!r}; it must be a list of names")
    return {name: settings.get(name) or [] for name in OF_READER}


@functools.cache
def find_families(conf: Path = CONF) -> list[Path]:
    """The folders named under `families` in conf/config.yaml, outside src, whose packages it makes importable.

    What files may name as `_target_` may then lie in them, and in its `packages`. Raises AgonError.
    """
    settings = reader_settings(conf)
    folders = [input_path(name) for name in settings["families"]]
    for folder in folders:
        if not (folder / "game.py").is_file():
            raise AgonError(f"families in conf/config.yaml: {shown(folder)} has no game.py")
        if str(folder.parent) not in sys.path:
            sys.path.append(str(folder.parent))
        package = find_spec(folder.name)
        if package is None or folder.resolve() not in map(_resolved, package.submodule_search_locations or ()):
            raise AgonError(
                f"families in conf/config.yaml: another package is called {folder.name}: rename {shown(folder)}"
            )
    names = [folder.name for folder in folders]
    if twice := {name for name in names if names.count(name) > 1}:
        raise AgonError(f"families in conf/config.yaml: two folders are called {twice.pop()}: rename one")
    PACKAGES.update(names, settings["packages"])
    return folders


def recorded_games(conf: Path = CONF) -> list[str]:
    """The sources of recorded games that `recorded` in conf/agon.yaml and conf/config.yaml names."""
    paths = [SHIPPED / "conf/agon.yaml", conf / "config.yaml"]
    return [name for path in paths if path.is_file() for name in document(path).get("recorded", ())]


def _resolved(folder: str) -> Path:
    return Path(folder).resolve()


def names(group: str, conf: Path = CONF) -> list[str]:
    """The names of the files in a folder of conf/, of the project's and of agon's own."""
    files = input_files(conf / group, "*.yaml")
    return sorted(path.stem for path in files if path.is_file() and path.stem.isprintable())


class OldName(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of conf/old_names.yaml."""

    name: str
    """What the file is called now."""
    note: str = ""
    """What is said to who uses the old name."""


@functools.cache
def _old_names(path: Path) -> dict[str, dict[str, OldName]]:
    """A file of old names: group -> old name -> what it is now. Raises AgonError."""
    kind = dict[str, dict[str, OldName]]
    try:
        return msgspec.convert(document(path) if path.is_file() else {}, kind)
    except msgspec.ValidationError as error:
        raise AgonError(f"{shown(path)}: {fault_of(error, kind)}") from None


def _entries(group: str, conf: Path) -> dict[str, OldName]:
    """The old names of a group, of agon and of the project."""
    places = reversed(input_places(conf / "old_names.yaml"))
    return {old: entry for path in places for old, entry in _old_names(path).get(group, {}).items()}


def new_names(group: str, conf: Path = CONF) -> dict[str, str]:
    """Old name -> the name that a file of conf/`group` has now. A file of its own takes an old name back. Raises AgonError."""
    entries = _entries(group, conf)
    return {old: entry.name for old, entry in entries.items() if not _path(group, old, conf).is_file()}


def _path(group: str, name: str, conf: Path) -> Path:
    return input_path(conf / group / f"{name}.yaml")


def name_now(group: str, name: str, conf: Path = CONF) -> str:
    """The name that conf/`group`/`name`.yaml has now: its own, unless it is an old one."""
    return new_names(group, conf).get(name, name)


@functools.cache
def id_name(group: str, name: str, conf: Path = CONF) -> str:
    """The name that ids hash: the old one of a file that has one, so that a new name changes no id.

    A project's own file that is called like a file of agon is another file, and is hashed by its name.
    """
    folder = _path(group, name, conf).parent
    for place in (place for place in input_places(conf) if place / group == folder):
        for old, entry in _old_names(place / "old_names.yaml").get(group, {}).items():
            if entry.name == name:
                return old
    return name


def renaming_told(group: str, asked: Collection[str], conf: Path = CONF) -> list[str]:
    """A line for every old name among those `asked` for: how it is called now, and what conf/old_names.yaml says of it."""
    new, entries = new_names(group, conf), _entries(group, conf)
    return [
        f"note: {group} {old} is called {new[old]} here. {entries[old].note}".rstrip()
        for old in sorted(new.keys() & asked)
    ]


def about(group: str, name: str, conf: Path = CONF) -> str:
    """A sentence on conf/`group`/`name`.yaml: the first of the comment that it begins with, else of its class or function."""
    lines = text_of(_path(group, name, conf)).splitlines()
    said = " ".join(line.strip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))
    if not said:
        with suppress(AgonError):  # it is listed though it cannot be used
            said = " ".join((inspect.getdoc(located(document(_path(group, name, conf)).get("_target_"))) or "").split())
    return re.split(r"(?<=[.?]) (?=[A-Z`])", said)[0]


def offered(name: str, names: Sequence[str], more: str = "") -> str:
    """What to say to who asked for a `name` that is not there: the nearest one, or all there are; of more than FEW some.

    `more`: the command that names all, which is said where the nearest one is not clear.
    """
    last = {key.rpartition(".")[2]: key for key in names}
    close = difflib.get_close_matches(name, names, 1) or [last[key] for key in difflib.get_close_matches(name, last, 1)]
    if close:
        return f"did you mean {close[0]}?"
    near = difflib.get_close_matches(name, names, FEW // 2, 0) if len(names) > FEW else []
    told = f"of {len(names):,} the nearest are {', '.join(near)}" if near else f"there are {', '.join(names) or 'none'}"
    return f"{told} ({more})" if more else told


def offered_of(group: str, name: str, conf: Path = CONF) -> str:
    """The same of the files in conf/`group`."""
    if group == "experiment" and name in recorded_games(conf):
        return (
            "it is of recorded games, which compare, rate, export and notebooks take; there is nothing to ask or play"
        )
    return offered(name, names(group, conf), f"agon list {group}s" if f"{group}s" in LISTED else "")
