"""Where files lie: the project, and what comes with agon."""

import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from agon.errors import AgonError, visible

CODE = Path(__file__).resolve().parent
"""Where this package lies."""
GAMES_SUFFIX = ".games.parquet"
"""The end of the name of a table of games, which lies beside a table of turns."""
CONFIG = "conf/config.yaml"


def _is_trusted(folder: Path) -> bool:
    """Whether a folder belongs to the user, and not everybody may write to it. A group may."""
    try:
        status = folder.stat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & stat.S_IWOTH


def _folders() -> Iterator[Path]:
    """The working folder, and those above it: up to the repository's root, and below the first that is not trusted."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if folder != Path.cwd() and not _is_trusted(folder):
            return
        yield folder
        if (folder / ".git").exists():
            return


def _upwards(part: str) -> Iterator[Path]:
    """The folders, from the working folder upwards, that hold a file `part`."""
    return (folder for folder in _folders() if (folder / part).is_file())


def _require_own_source() -> None:
    """A checkout runs its own source, because another one may have other rules. Raises ImportError; a command ends in one line.

    DVC copies a checkout for a temporary experiment. Such a copy runs the source that it was copied from.
    """
    checkout = next(_upwards("src/agon/__init__.py"), None)
    if checkout is None or (checkout / "src/agon").resolve() == CODE:
        return
    if checkout.resolve().is_relative_to(CODE.parents[1] / ".dvc/tmp"):
        return
    text = (
        f"{checkout} has its own agon, and the agon of {CODE.parent} would run: "
        f"set PYTHONPATH={checkout / 'src'}, or use the environment of that checkout"
    )
    if sys.argv[:1] == ["-m"] or Path(*sys.argv[:1]).stem == "agon":  # as python -m agon, or as the script
        sys.exit(f"agon: {visible(text)}")
    raise ImportError(text)


_require_own_source()

SHIPPED = CODE / "shipped" if (CODE / "shipped").is_dir() else CODE.parents[1]
"""Where the conf, data and notebooks that come with agon lie: its checkout, or a folder in the installed package."""

MARK = "agon: true"
"""The line of conf/config.yaml that says that its folder is a project of agon; other programs have files of that name too."""
_MARKED = re.compile(r"^agon:[ \t]+true\b", re.MULTILINE)


def _is_marked(folder: Path) -> bool:
    try:
        return _MARKED.search((folder / CONFIG).read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


_CONFIGURED = list(_upwards(CONFIG))
_PROJECT = next(filter(_is_marked, _CONFIGURED), None)

UNTRUSTED = next(
    (folder for folder in Path.cwd().parents if _PROJECT is None and _is_marked(folder) and not _is_trusted(folder)),
    None,
)
"""A project above that is not used, because it belongs to another user, or because everybody may write to it; else None."""

STRANGE = next((folder for folder in _CONFIGURED[:1] if folder != _PROJECT), None)
"""A nearer folder with a conf/config.yaml that does not bear MARK; None where there is none."""

ROOT = _PROJECT or (Path.cwd() if SHIPPED.parent == CODE else SHIPPED)
"""The project: the nearest folder, from the working folder upwards, whose conf/config.yaml bears MARK.

The search ends at the root of a Git repository, and below a folder that is another user's or that everybody may write to.
Outside of all, agon's checkout; where agon has none, because it was installed as a package, the working folder.
"""

if _PROJECT not in (None, SHIPPED):  # a study's own modules, such as its metrics.py
    sys.path.append(str(ROOT))


def display_path(path: Path) -> str:
    """A path for messages: relative to the project's root where it lies inside, as `visible` text."""
    return visible(str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path))


def require_finite(path: Path) -> Path:
    """The path of an input. Raises AgonError for a pipe, a socket or a device, whose end one might wait for for ever."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise AgonError(f"{display_path(path)} is a pipe or a device: name a file")
    return path


def read_text_file(path: Path, most: int = 1_000_000) -> str:
    """A file's text in UTF-8, of at most `most` bytes. Raises AgonError."""
    try:
        if not require_finite(path).is_file():
            raise AgonError(f"there is no file {display_path(path)}")
        if (size := path.stat().st_size) > most:
            raise AgonError(f"{display_path(path)} has {size:,} bytes: {most:,} are read at most")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise AgonError(f"{display_path(path)} is not text in UTF-8") from None
    except OSError as error:
        raise AgonError(f"{display_path(path)} cannot be read: {error.strerror or error}") from None


def write_file(path: Path, text: str | bytes, force: bool = False) -> None:
    """Writes a file at once or not at all, and makes its folder.

    Raises AgonError where a file with other content is there, unless `force` allows to replace it, and where it cannot be written.
    """
    data = text if isinstance(text, bytes) else text.encode()
    try:
        if not force and path.exists() and (not path.is_file() or path.read_bytes() != data):
            raise AgonError(
                f"{display_path(path)} exists with other content: choose another folder, or add --force to replace it"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path.resolve(), data)
    except OSError as error:
        raise AgonError(f"{display_path(path)} cannot be written: {error.strerror or error}") from None


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


def in_project(path: str | Path) -> Path:
    """The place of an output. A relative path begins at the project's folder, and ~/ at the home folder."""
    return ROOT / expand_home(path)


def expand_home(path: str | Path) -> Path:
    """A path whose beginning ~/ (or ~NAME/) is replaced by the home folder. Raises AgonError where there is no such folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise AgonError(f"{str(path)!r}: {error}") from None


def input_places(path: str | Path) -> list[Path]:
    """The places where an input may lie: first in the project, then among the files that come with agon."""
    path_in_project = in_project(path)
    return [
        path_in_project,
        *(
            [SHIPPED / path_in_project.relative_to(ROOT)]
            if path_in_project.is_relative_to(ROOT) and ROOT != SHIPPED
            else []
        ),
    ]


def input_path(path: str | Path) -> Path:
    """The file or folder of an input: the project's, else the one that comes with agon. Where there is neither, the project's path.

    Raises AgonError for a pipe or a device.
    """
    return require_finite(next((place for place in input_places(path) if place.exists()), in_project(path)))


def input_files(folder: str | Path, pattern: str) -> list[Path]:
    """The input files in a folder, sorted by name. The project's file hides the file of that name that comes with agon."""
    files = {path.name: path for place in reversed(input_places(folder)) for path in place.glob(pattern)}
    return [files[name] for name in sorted(files)]
