"""Recorded files in a folder, and tables whose faults are told in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pya

from agon.errors import AgonError, visible
from agon.paths import display_path

UNFIT = (LookupError, TypeError, ValueError, OSError)
"""What Python raises for values of the wrong kind."""


def find_files(folder: Path, name: str) -> Iterator[Path]:
    """Every file called `name` below `folder`, in the order of its path. Raises AgonError when there is none."""
    if not folder.exists():
        raise AgonError(f"{display_path(folder)} is not there: give a folder (`dvc pull data.dvc` fetches data/)")
    if not folder.is_dir():
        raise AgonError(f"{display_path(folder)} is no folder: unpack an archive first")
    paths = sorted(folder.rglob(name))
    if not paths:
        raise AgonError(f"{display_path(folder)} holds no {name}: is it the right folder?")
    yield from paths


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever a reader of tables raises for `path` becomes an AgonError of one line."""
    try:
        yield
    except FileNotFoundError:
        raise AgonError(f"{display_path(path)} is not there: `dvc pull data.dvc` brings the published facts") from None
    except (pya.ArrowException, AttributeError, MemoryError, OverflowError, *UNFIT) as error:
        raise AgonError(f"{display_path(path)} cannot be read ({first_line(error)}): get it again") from None


def first_line(error: BaseException) -> str:
    """An error's message, cut to one line of at most 200 characters."""
    return visible(next(iter(str(error).splitlines()), type(error).__name__)[:200])
