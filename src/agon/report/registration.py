"""The registration beside a recording: a text and the planned matches, from before the first answer, and what looks have shown since."""

from collections.abc import Collection
from hashlib import blake2b
from pathlib import Path

import msgspec

from agon.errors import AgonError, count
from agon.paths import ROOT, display_path, write_file
from agon.turns import PARTIAL

FILE = "registered.jsonl"
"""In the folder of a recording: the registration is its first line; the last of further ones is the latest `Look`."""


class Registration(msgspec.Struct, frozen=True):
    """A line of FILE."""

    fingerprint: str
    """Hash of the text."""
    plan: str
    """Hash of the planned matches (`plan_hash`)."""
    matches: int
    text: str
    """A preregistration, as YAML."""


class Look(msgspec.Struct, frozen=True):
    """A line of FILE: what a question with which asking ends has shown so far. Such data were looked at again and again."""

    metric: str
    by: str
    """COLUMN:FIRST,SECOND."""
    answer: str
    """The answer in words."""
    low: float | None
    """The ends of the interval of the difference, second less first, that holds however often one looks; None: there is none."""
    high: float | None


def registration(folder: Path) -> Registration | None:
    """The registration in a recording's folder. None: there is none. Raises AgonError for a damaged one."""
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(file.read_bytes().partition(b"\n")[0], type=Registration)
    except msgspec.MsgspecError as error:
        raise AgonError(f"{display_path(file)} is damaged ({error}): fetch it again with `dvc pull data.dvc`") from None


def add_look(folder: Path, look: Look) -> None:
    """Adds a look to the registration in a recording's folder. Raises AgonError."""
    line = msgspec.json.encode(look) + b"\n"
    text = (folder / FILE).read_bytes()
    if not text.endswith(line):
        write_file(folder / FILE, text + line, force=True)


def last_look(experiment: str) -> Look | None:
    """The latest look at the data of an experiment (its name may be marked as partial). None: there was none before the end."""
    file = ROOT / "data/recordings" / PARTIAL.sub("", experiment).replace("/", "_") / FILE
    lines = file.read_bytes().splitlines() if file.is_file() else []
    try:
        return msgspec.json.decode(lines[-1], type=Look) if len(lines) > 1 else None
    except msgspec.MsgspecError as error:
        raise AgonError(f"{display_path(file)} is damaged ({error}): fetch it again with `dvc pull data.dvc`") from None


def explain_other_plan(folder: Path, matches: Collection[str]) -> str:
    """A sentence if `matches` (ids) are not the registered ones. Empty: they are, or nothing is registered."""
    entry = registration(folder)
    if entry is None or entry.plan == plan_hash(matches):
        return ""
    registered = f"{count(len(matches), 'match')} are planned, and {entry.matches:,} were registered"
    if len(matches) == entry.matches:
        registered = f"{count(len(matches), 'match')} are planned, and as many others were registered"
    return f"the plan is not the registered one ({display_path(folder / FILE)}): {registered}"


def plan_hash(matches: Collection[str]) -> str:
    """The hash of planned matches, by their ids."""
    return text_hash("\n".join(sorted(matches)))


def text_hash(text: str) -> str:
    """The hash of a text."""
    return blake2b(text.encode(), digest_size=8).hexdigest()
