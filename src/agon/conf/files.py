"""The files in conf/: their names, their old names, and messages for names that do not exist."""

import difflib
import functools
import re
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import msgspec

from agon.conf.gate import document
from agon.errors import AgonError, describe_fault
from agon.paths import ROOT, SHIPPED, STRANGE, display_path, input_files, input_path, input_places, read_text_file
from agon.registry import PACKAGES, locate

CONF = (SHIPPED if ROOT == STRANGE else ROOT) / "conf"
"""The project's conf; agon's own where the folder has the conf of another program."""
OF_READER = ("families", "packages")
"""Settings that decide whose code is run."""
LISTED = ("games", "agents", "models", "experiments", "notebooks", "metrics")
"""The arguments of `agon list`."""
FEW = 12
"""The most names that a message lists in full."""


@functools.cache
def reader_settings(conf: Path = CONF) -> dict[str, list[str]]:
    """`families` and `packages` of conf/config.yaml, the project's own file. Raises AgonError."""
    path = conf / "config.yaml"
    settings = document(path) if path.is_file() else {}
    for name in OF_READER:
        value = settings.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            raise AgonError(f"{name} in conf/config.yaml is {value!r}; it must be a list of names")
    return {name: settings.get(name, []) for name in OF_READER}


@functools.cache
def find_families(conf: Path = CONF) -> list[Path]:
    """Makes the packages under `families` in conf/config.yaml importable, which lie outside src, and gives their folders.

    A `_target_` may then lie in them, and in `packages` of that file. Raises AgonError.
    """
    settings = reader_settings(conf)
    folders = [input_path(name) for name in settings["families"]]
    for folder in folders:
        if not (folder / "game.py").is_file():
            raise AgonError(f"families in conf/config.yaml: {display_path(folder)} has no game.py")
        if str(folder.parent) not in sys.path:
            sys.path.append(str(folder.parent))
        package = find_spec(folder.name)
        if package is None or folder.resolve() not in map(_resolved, package.submodule_search_locations or ()):
            raise AgonError(
                f"families in conf/config.yaml: another package is called {folder.name}: rename {display_path(folder)}"
            )
    names = [folder.name for folder in folders]
    if duplicates := {name for name in names if names.count(name) > 1}:
        raise AgonError(f"families in conf/config.yaml: two folders are called {duplicates.pop()}: rename one")
    PACKAGES.update(names, settings["packages"])
    return folders


def recorded_games(conf: Path = CONF) -> list[str]:
    """The names of recorded games under `recorded` in conf/agon.yaml and conf/config.yaml. Raises AgonError."""
    sources = list[str]()
    for path in (SHIPPED / "conf/agon.yaml", conf / "config.yaml"):
        recorded = document(path).get("recorded", {}) if path.is_file() else {}
        if not isinstance(recorded, dict):
            raise AgonError(f"recorded in {display_path(path)} is {recorded!r}; it must be names with lists of games")
        sources += recorded
    return sources


def _resolved(folder: str) -> Path:
    return Path(folder).resolve()


def names(group: str, conf: Path = CONF) -> list[str]:
    """The names of the files in a folder of conf/, both of the project and of agon."""
    files = input_files(conf / group, "*.yaml")
    return sorted(path.stem for path in files if path.is_file() and path.stem.isprintable())


class OldName(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of conf/old_names.yaml."""

    name: str
    """The current name of the file."""
    note: str = ""
    """A note for a reader who uses the old name."""


@functools.cache
def _old_names(path: Path) -> dict[str, dict[str, OldName]]:
    """A file of old names: group -> old name -> its entry. Raises AgonError."""
    kind = dict[str, dict[str, OldName]]
    try:
        return msgspec.convert(document(path) if path.is_file() else {}, kind)
    except msgspec.ValidationError as error:
        raise AgonError(f"{display_path(path)}: {describe_fault(error, kind)}") from None


@functools.cache
def _entries(group: str, conf: Path) -> dict[str, OldName]:
    """The old names of a group, of agon and of the project."""
    places = reversed(input_places(conf / "old_names.yaml"))
    return {old: entry for path in places for old, entry in _old_names(path).get(group, {}).items()}


def current_names(group: str, conf: Path = CONF) -> dict[str, str]:
    """Old name -> current name, of files in conf/`group`. An old name that is a file again is left out. Raises AgonError."""
    return {old: current for old in _entries(group, conf) if (current := current_name(group, old, conf)) != old}


def current_name(group: str, name: str, conf: Path = CONF) -> str:
    """The current name of conf/`group`/`name`.yaml: its own, unless it is an old one."""
    entry = _entries(group, conf).get(name)
    return name if entry is None or input_path(conf / group / f"{name}.yaml").is_file() else entry.name


@functools.cache
def id_name(group: str, name: str, conf: Path = CONF) -> str:
    """The name that ids hash. If a file was renamed, this is its old name, so the new name changes no id.

    A project's file with the name of a file of agon is another file. Ids hash it by its own name.
    """
    folder = input_path(conf / group / f"{name}.yaml").parent
    for place in (place for place in input_places(conf) if place / group == folder):
        for old, entry in _old_names(place / "old_names.yaml").get(group, {}).items():
            if entry.name == name:
                return old
    return name


def renaming_notes(group: str, asked: Collection[str], conf: Path = CONF) -> list[str]:
    """A line for every old name among those `asked` for: the current name, and the note in conf/old_names.yaml."""
    entries = _entries(group, conf)
    return [
        f"note: {group} {old} is called {current} here. {entries[old].note}".rstrip()
        for old in sorted(entries.keys() & asked)
        if (current := current_name(group, old, conf)) != old
    ]


def describe_file(group: str, name: str, conf: Path = CONF) -> str:
    """A sentence on conf/`group`/`name`.yaml: the first of the comment at its head, else of the docstring of its `_target_`.

    If neither has one, the sentence says where to write it. Raises AgonError for a file that cannot be read.
    """
    path = input_path(conf / group / f"{name}.yaml")
    lines = read_text_file(path).splitlines()
    sentence = " ".join(line.strip("# ") for line in takewhile(lambda line: line.startswith("#"), lines))
    if not sentence:
        with suppress(AgonError):  # a file that cannot be used is listed all the same
            target = locate(document(path).get("_target_"))
            sentence = " ".join((target.__doc__ or "").split())
            if sentence.startswith(f"{target.__name__}("):  # a dataclass without a docstring has its signature
                sentence = ""
    without = f"(no description: begin conf/{group}/{name}.yaml with a comment)"
    return re.split(r"(?<=[.?]) (?=[A-Z`])", sentence)[0] or without


def suggest(name: str, names: Sequence[str], more: str = "") -> str:
    """A hint for a `name` that does not exist: the nearest name, or if none is near all names; of more than FEW, some.

    For a setting `part.name` only the settings of `part` count as near, if `part` exists. `more`: the command that
    lists all. The hint adds it where no name is near.
    """
    part, _, end = name.rpartition(".")
    in_part = [key for key in names if part and key.rpartition(".")[0] == part]
    names, wanted = (in_part, end) if in_part else (names, name)
    last = {key.rpartition(".")[2]: key for key in names}
    close = [] if in_part else difflib.get_close_matches(name, names, 1)
    if close := close or [last[key] for key in difflib.get_close_matches(wanted, last, 1)]:
        return f"did you mean {close[0]}?"
    if len(names) > FEW and more:
        return f"none of the {len(names):,} is like it ({more})"
    rest = f" and {len(names) - FEW:,} more" * (len(names) > FEW)
    listing = f"there are {', '.join(names[:FEW]) or 'none'}{rest}"
    return f"{listing} ({more})" if more else listing


def suggest_file(group: str, name: str, conf: Path = CONF) -> str:
    """The same for the files in conf/`group`."""
    if group == "experiment" and name in recorded_games(conf):
        return "these are recorded games, for compare, rate and notebooks; there is nothing to ask or play"
    files = sorted(ROOT.glob("studies/*/conf/experiment/*.yaml")) if group == "experiment" else []
    studies = {file.stem: file.parents[2] for file in files}
    if (near := difflib.get_close_matches(name, [*names(group, conf), *studies], 1)) and near[0] in studies:
        return (
            f"the study {display_path(studies[near[0]])} has {near[0]}: type cd {display_path(studies[near[0]])} first"
        )
    return suggest(name, names(group, conf), f"agon list {group}s" if f"{group}s" in LISTED else "")
