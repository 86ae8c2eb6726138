"""Recorded games as files hold them, and as turns."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pya

from agon.errors import AgonError, visible
from agon.paths import display_path

Settings = dict[str, float | str]
"""The payoffs of a recorded game: letters name the actions, `ab` is what a earns against b."""

LARGEST = 10**12
"""Upper bound of every number in a record, such as its tokens."""
UNFIT = (LookupError, TypeError, ValueError, OSError)
"""What Python raises for values of the wrong kind."""


class Bad(NamedTuple):
    """A game that was skipped, or a part that was left out of one."""

    path: str
    """Inside the folder."""
    reason: str
    """One line."""


class Ingested(NamedTuple):
    """Recorded games as turns."""

    turns: pd.DataFrame
    bad: list[Bad]
    matches: int
    """How many are in `turns`."""


class Unusable(Exception):
    """A record that cannot be a game; its text is one line."""


class Conditions(NamedTuple):
    """The conditions under which a recorded match was played."""

    path: str
    model: str
    style: str
    self_consistency: bool
    opponent: str
    repetition: int
    temperature: float
    max_tokens: int
    settings: Settings
    left_out: str = ""
    """Parts of this record that cannot be used although the game can, with the reason."""


class Records(NamedTuple):
    """Games from one source."""

    conditions: list[Conditions]
    rows: pd.DataFrame
    """One row per game, round and seat, in this order: match (a position in `conditions`), round, valid, action, points,
    tokens and, where they were recorded, reply and attempts."""
    bad: list[Bad]


def is_name(text: object) -> bool:
    """Whether this can be the name of a model or player: printable, not blank, of at most 200 characters."""
    return isinstance(text, str) and text.isprintable() and bool(text.strip()) and len(text) <= 200


def categorical(values: Sequence[str | None]) -> pd.Categorical:
    """The values as sorted categories; for strings many times as fast as pandas' own constructor."""
    labels = sorted({value for value in values if value is not None})
    codes: dict[str | None, int] = {label: code for code, label in enumerate(labels)}
    return pd.Categorical.from_codes([codes.get(value, -1) for value in values], labels)


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
