"""Games that need social and strategic reasoning: engines, agents, records and metrics."""

import atexit
import gc
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

CODE = Path(__file__).resolve().parent
"""Where this package lies."""
CONFIG = "conf/config.yaml"
if "ipykernel" in sys.modules:
    atexit.register(gc.freeze)  # a kernel that ends looks for no garbage: it would take a seventh of a short notebook


def _upwards(part: str) -> Iterator[Path]:
    """The folders, from the working folder upwards, that hold a file `part`."""
    here = Path.cwd()
    return (folder for folder in (here, *here.parents) if (folder / part).is_file())


def _require_own_source() -> None:
    """Where the checkout that one stands in has a src/agon, this is to be it: another one would play other rules.

    A command starts again with that source. Raises ImportError for all else, which cannot start again by itself.
    """
    checkout = next(_upwards("src/agon/__init__.py"), None)
    if checkout is None or (checkout / "src/agon").resolve() == CODE:
        return
    first, before = str(checkout / "src"), os.environ.get("PYTHONPATH", "")
    command = (
        sys.argv[0] == "-m" or Path(sys.argv[0]).name == "agon"
    )  # "-m" is there while `python -m agon` looks it up
    if command and before.partition(os.pathsep)[0] != first:
        path = os.pathsep.join(filter(None, [first, before]))
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"PYTHONPATH": path})
    raise ImportError(
        f"the agon of {CODE.parent} would run in {checkout}, which has its own: set PYTHONPATH={first} before you start"
    )


_require_own_source()

SHIPPED = CODE / "shipped" if (CODE / "shipped").is_dir() else CODE.parents[1]
"""Where the conf, data and notebooks that come with agon lie: its checkout, or a folder in the installed package."""

MARK = "agon: true"
"""The line of conf/config.yaml that says that its folder is a project of agon; other programs have files of that name too."""


def _is_marked(folder: Path) -> bool:
    try:
        return re.search(rf"^{MARK}\b", (folder / CONFIG).read_text(encoding="utf-8"), re.MULTILINE) is not None
    except (OSError, UnicodeDecodeError):
        return False


_FOUND = list(_upwards(CONFIG))
_PROJECT = next(filter(_is_marked, _FOUND), None)

STRANGE = next((folder for folder in _FOUND[:1] if folder != _PROJECT), None)
"""A nearer folder with a conf/config.yaml that does not bear MARK; None where there is none."""

ROOT = _PROJECT or (Path.cwd() if SHIPPED.parent == CODE else SHIPPED)
"""The project: the nearest folder, from the working folder upwards, whose conf/config.yaml bears MARK.

Outside of all, agon's checkout; where agon has none, because it was installed as a package, the working folder.
"""

if _PROJECT not in (None, SHIPPED):  # a study's own modules, such as its metrics.py
    sys.path.append(str(ROOT))

T = TypeVar("T")

WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "names with values",
    "str": "text",
}
"""What types of values are called in messages."""
BOUNDS = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}

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


def count(number: int, noun: str, nouns: str = "") -> str:
    """`1 round`, `2 rounds`, `3 matches`."""
    return f"{number:,} {noun if number == 1 else nouns or noun + ('es' if noun.endswith('ch') else 's')}"


def stopped(words: Sequence[str]) -> str:
    """What is said of a command that was interrupted."""
    return "stopped; the same command goes on where it was" if words[:1] in (["record"], ["play"]) else "stopped"


class AgonError(Exception):
    """Something the user can mend; its text is one line that says what is wrong and what to do."""

    def __init__(self, text: object) -> None:
        super().__init__(" ".join(str(text).splitlines()))  # names from files may hold line ends


def fault_of(error: Exception, kind: Any = None) -> str:
    """What msgspec finds wrong with a value, in words: where it is, what it is, and what it must be.

    With the `kind` of the whole value (a type), the words that may stand there are listed.
    """
    text, _, place = str(error).partition(" - at `")
    place = place.rstrip("`").removeprefix("$").removeprefix(".")
    if text.startswith(("Expected ", "Object ")):  # else it is what a class of ours says of itself
        text = re.sub("`([^`]+)`", lambda at: " or ".join(WORDS.get(each, each) for each in at[1].split(" | ")), text)
        text = re.sub(r" matching regex '\\+(\.\w+)\$'$", r" that ends in \1", text)
        text = text.replace(" matching regex ", " that fits the pattern ")
        text = re.sub(r"( of length)? ([<>]=?) (\S+)$", lambda at: f"{at[1] or ','} {BOUNDS[at[2]]} {at[3]}", text)
        text = re.sub(r"^Expected (.*), got (\d+)$", r"it must be \1, and has \2", text)
        text = re.sub("^Expected (.*), got (.*)$", r"it must be \1, and is \2", text)
        text = re.sub("^Expected ", "it must be ", text)
        text = re.sub(r"^Object missing required field (.*)$", r"\1 is missing", text)
        text = re.sub(r"^Object contains unknown field (.*)$", r"there is no setting \1", text)
    if kind is not None and text.startswith("Invalid enum value") and (values := list(_values(kind, place))):
        text = re.sub("^Invalid enum value (.*)$", r"it is \1, and must be " + " or ".join(map(str, values)), text)
    return f"{place}: {text}" if place else text


def _values(kind: Any, place: str) -> Iterator[object]:
    """The words that may stand at a place in values of a kind."""
    from msgspec.inspect import DictType, ListType, LiteralType, StructType, Type, UnionType, VarTupleType, type_info

    def inside(types: Iterable[Type]) -> Iterator[Type]:
        for each in types:
            yield from inside(each.types) if isinstance(each, UnionType) else [each]

    found = list(inside([type_info(kind)]))
    for name in re.findall(r"[^.\[\]]+(?=[.\[]|$)|\[", place):
        within = list[Type]()
        for each in found:
            if isinstance(each, StructType):
                within += [field.type for field in each.fields if name == field.encode_name]
            elif isinstance(each, ListType | VarTupleType):
                within.append(each.item_type)
            elif isinstance(each, DictType):
                within.append(each.value_type)
        found = list(inside(within))
    yield from (value for each in found if isinstance(each, LiteralType) for value in each.values)


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
                f"{shown(path)} is there, and is another: take another folder, or say --force to write over it"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path.resolve(), data)
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be written: {error.strerror or error}") from None


def _replace(path: Path, data: bytes) -> None:
    """Writes a file at once or not at all: a full disk, or a kill, leaves what was there."""
    if path.exists() and not path.is_file():  # such as /dev/stdout
        path.write_bytes(data)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


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


def in_project(path: str | Path) -> Path:
    """Where an output goes: a path as a setting gives it, from the project's folder, or from the home folder where it begins with ~/."""
    return ROOT / from_home(path)


def from_home(path: str | Path) -> Path:
    """A path that may begin with ~/, the home folder. Raises AgonError where there is none of that name."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise AgonError(f"{str(path)!r}: {error}") from None


def input_places(path: str | Path) -> list[Path]:
    """Where an input may lie: in the project, then among what comes with agon."""
    own = in_project(path)
    return [own, *([SHIPPED / own.relative_to(ROOT)] if own.is_relative_to(ROOT) and ROOT != SHIPPED else [])]


def input_path(path: str | Path) -> Path:
    """The file or folder of an input: the project's, else agon's own; where neither is there, the project's would be it."""
    return next((each for each in input_places(path) if each.exists()), in_project(path))


def input_files(folder: str | Path, pattern: str) -> list[Path]:
    """The input files in a folder, in the order of their names: the project's, and agon's own of other names."""
    known = {path.name: path for place in reversed(input_places(folder)) for path in place.glob(pattern)}
    return [known[name] for name in sorted(known)]
