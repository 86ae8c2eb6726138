"""The files in conf/: what there is, what stands in them, and what to say of what is not there."""

import copy
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
from typing import Any

from agon import PACKAGES, ROOT, AgonError, input_files, input_path, input_places, located, shown, text_of
from agon.conf.documents import document, require_plain

CONF = ROOT / "conf"
OF_READER = ("families", "packages")
"""Settings that say whose code is run."""
LISTED = ("games", "agents", "models", "experiments", "notebooks", "metrics")
"""What `agon list` lists."""
NEW_NAME = re.compile(rb"""^new_name:[ \t]*["']?([\w-]+)""", re.MULTILINE)
"""What a file says of which another file of its folder in conf/ has the contents: its own name is an old one (`new_name: NAME`)."""
FEW = 12
"""Up to so many names are all said to who asked for another."""


def config(conf: Path = CONF) -> tuple[dict[str, Any], dict[str, str]]:
    """conf/config.yaml, of agon and what the project's says otherwise: its settings, and the file that is taken of each group.

    Raises AgonError.
    """
    parts = [document(path) for path in reversed(input_places(conf / "config.yaml")) if path.is_file()]
    chosen: dict[str, str] = {}
    for part in parts or [document(conf / "config.yaml")]:
        part.pop("agon", None)  # agon.MARK
        for each in part.pop("defaults", None) or ():
            chosen |= each if isinstance(each, dict) else {}
    return functools.reduce(merged, parts, {}), chosen


def merged(below: Any, above: Any) -> Any:
    """Settings with others above them: names are put together, all else is as it is above."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return copy.deepcopy(above)
    return below | {name: merged(below.get(name), value) for name, value in above.items()}


@functools.cache
def file_of(group: str, name: str, conf: Path) -> dict[str, Any]:
    """conf/`group`/`name`.yaml, with what its `defaults` name. Raises AgonError.

    `defaults` are taken in their order: _self_ (the file itself; first unless named), NAME, or NAME@KEY, which goes under a key.
    """
    find_families(conf)
    if (now := name_now(group, name, conf)) != name:
        return file_of(group, now, conf)
    if name not in names(group, conf):
        raise AgonError(f"there is no {group} {name!r} in conf/{group}: {offered_of(group, name, conf)}")
    path = input_path(conf / group / f"{name}.yaml")
    own = document(path)
    defaults = own.pop("defaults", [])
    if not isinstance(defaults, list) or not all(isinstance(each, str) for each in defaults):
        raise AgonError(f"{shown(path)}: defaults is a list of NAME or NAME@KEY, and _self_")
    if not defaults:
        return own
    parts = []
    for each in defaults if "_self_" in defaults else ["_self_", *defaults]:
        file, _, key = each.partition("@")
        try:
            part = own if each == "_self_" else file_of(group, file, conf)
        except RecursionError:
            raise AgonError(f"{shown(path)}: its defaults go round in a circle, by {file}") from None
        parts.append({key: part} if key else part)
        require_plain(parts, shown(path))
    return functools.reduce(merged, parts, {})


@functools.cache
def find_families(conf: Path = CONF) -> list[Path]:
    """The folders named under `families` in conf/config.yaml, outside src, whose packages it makes importable.

    What files may name as `_target_` may then lie in them, and in its `packages`. Raises AgonError.
    """
    settings = config(conf)[0] if input_path(conf / "config.yaml").is_file() else {}
    for setting in OF_READER:
        given = settings.get(setting) or []
        if not isinstance(given, list) or not all(isinstance(each, str) and each.strip() for each in given):
            raise AgonError(f"{setting} in conf/config.yaml is {given!r}; it must be a list of names")
    folders = [input_path(each) for each in settings.get("families") or ()]
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
    PACKAGES.update(names, settings.get("packages") or ())
    return folders


def _resolved(folder: str) -> Path:
    return Path(folder).resolve()


def names(group: str, conf: Path = CONF) -> list[str]:
    """The names of the files in a folder of conf/, of the project's and of agon's own, without old names."""
    return sorted(name for name, now in _all_names(group, conf) if name == now)


def new_names(group: str, conf: Path = CONF) -> dict[str, str]:
    """Old name -> the name that a file of conf/`group` has now, however often it was renamed. Raises AgonError for a circle."""
    said = {name: now for name, now in _all_names(group, conf) if name != now}
    found = {}
    for old in said:
        path = [old]
        while path[-1] in said:
            path.append(said[path[-1]])
            if path.count(path[-1]) > 1:
                raise AgonError(
                    f"conf/{group}: {' -> '.join(path)}: new names go in a circle; delete one of these files"
                )
        found[old] = path[-1]
    return found


@functools.cache
def name_now(group: str, name: str, conf: Path = CONF) -> str:
    """The name that conf/`group`/`name`.yaml has now: its own, unless it is an old one."""
    return new_names(group, conf).get(name, name)


@functools.cache
def id_name(group: str, name: str, conf: Path = CONF) -> str:
    """The name that ids hash: the old one of a file that has one, so that a new name changes no id.

    A project's own file that has a new name of agon's is another file, and is hashed by that name. Raises AgonError where a
    file has two old names.
    """
    folder = input_path(conf / group / f"{name}.yaml").parent
    said = {each: now for each, now in _all_names(group, conf) if each != now}
    first = [each for each, now in new_names(group, conf).items() if now == name and each not in said.values()]
    old = [each for each in first if input_path(conf / group / f"{each}.yaml").parent == folder]
    if len(old) > 1:
        raise AgonError(
            f"conf/{group}: {old[0]} and {old[1]} both say new_name: {name}; ids keep one old name, so delete one"
        )
    return (old or [name])[0]


def renaming_told(group: str, asked: Collection[str], conf: Path = CONF) -> list[str]:
    """A line for every old name among those `asked` for: how it is called now, and what conf/`group`/OLD.yaml says of it."""
    new = new_names(group, conf)
    return [
        f"note: {group} {old} is called {new[old]} here. {about(group, old, conf)}"
        for old in sorted(new.keys() & asked)
    ]


def _all_names(group: str, conf: Path) -> list[tuple[str, str]]:
    """The name of every file in a folder of conf/, and the one that it has now."""
    files = [path for path in input_files(conf / group, "*.yaml") if path.is_file() and path.stem.isprintable()]
    return [(path.stem, _new_name(path) or path.stem) for path in files]


def _new_name(path: Path) -> str | None:
    """What a file that bears an old name says of its new one."""
    found = NEW_NAME.search(path.read_bytes()) if path.is_file() else None
    return found[1].decode() if found else None


def about(group: str, name: str, conf: Path = CONF) -> str:
    """A sentence on conf/`group`/`name`.yaml: the first of the comment that it begins with, else of its class or function."""
    lines = text_of(input_path(conf / group / f"{name}.yaml")).splitlines()
    said = " ".join(line.strip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))
    if not said:
        with suppress(AgonError):  # it is listed though it cannot be used
            said = " ".join((inspect.getdoc(located(file_of(group, name, conf).get("_target_"))) or "").split())
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
    if group == "experiment" and name in config(conf)[0].get("recorded", {}):
        return (
            "it is of recorded games, which compare, rate, export and notebooks take; there is nothing to ask or play"
        )
    return offered(name, names(group, conf), f"agon list {group}s" if f"{group}s" in LISTED else "")
