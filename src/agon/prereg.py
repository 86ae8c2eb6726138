"""What was said before anything was asked: hypotheses, exclusions and stopping, fingerprinted into the recording, and compared later."""

from collections.abc import Collection, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from agon import AgonError, fault_of, input_path, shown, text_of
from agon.conf import Until, document

FILE = "registered.jsonl"
"""In the folder of a recording: a line for every registration."""


class Hypothesis(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What is expected of two conditions."""

    metric: str
    by: Annotated[str, msgspec.Meta(pattern=r"^\w+:[^,]+,[^,]+\Z")]
    """COLUMN:FIRST,SECOND."""
    expect: Literal["more", "less", "difference"]
    """Of the second condition, beside the first."""
    within: tuple[str, ...] = ()
    """As of agon.compare.compare; so is `alike`."""
    alike: bool = False

    def __str__(self) -> str:
        """In words."""
        within = f" within {','.join(self.within)}" if self.within else ""
        return f"{self.metric} by {self.by}{within}{', strata alike' if self.alike else ''}: {self.expect}"


class Preregistration(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file that an experiment names as `prereg`."""

    question: str
    hypotheses: Annotated[tuple[Hypothesis, ...], msgspec.Meta(min_length=1)]
    exclusions: tuple[str, ...] = ()
    """Which matches are left out of the analysis, in words; none: those that `compare` leaves out of itself."""
    until: Until | None = None
    """When `record` stops; none: when all matches are played."""


class Registered(msgspec.Struct, frozen=True):
    """One registration."""

    fingerprint: str
    """Hash of the file's text."""
    plan: str
    """Hash of the matches planned."""
    matches: int
    exchanges: int
    """Recorded before: 0 where it came first."""
    text: str


def read(path: str) -> tuple[Preregistration, str]:
    """A preregistration, and its text. Raises AgonError for one that is not there or does not fit."""
    file = input_path(path)
    if not file.is_file():
        raise AgonError(f"prereg: {path} is not there: the experiment names it")
    try:
        return msgspec.convert(document(file), Preregistration), text_of(file)
    except msgspec.ValidationError as error:
        raise AgonError(f"{shown(file)} does not fit: {fault_of(error, Preregistration)}") from None


def registrations(folder: Path) -> list[Registered]:
    """Those of a recording, the first one first. Raises AgonError for lines that are none."""
    file = folder / FILE
    try:
        lines = text_of(file).splitlines() if file.is_file() else []
        return [msgspec.json.decode(line, type=Registered) for line in lines]
    except msgspec.MsgspecError as error:
        raise AgonError(f"{shown(file)} is damaged ({error}): fetch it again with `dvc pull data.dvc`") from None


def register(path: str, folder: Path, matches: Collection[str], exchanges: int, until: Until | None) -> list[str]:
    """Fingerprints a preregistration into a recording, if its last one is another; what a reader must know, a note each.

    `matches`: ids of those planned; `until`: with which `record` was called.
    """
    known, text = read(path)
    plan = _hash("\n".join(sorted(matches)))
    entry = Registered(_hash(text), plan, len(matches), exchanges, text)
    before = registrations(folder)
    notes = []
    if not before or (before[-1].fingerprint, before[-1].plan) != (entry.fingerprint, entry.plan):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / FILE).open("ab") as file:
            file.write(msgspec.json.encode(entry) + b"\n")
        late = f", after {exchanges:,} exchanges" if exchanges else ", before anything was asked"
        notes.append(f"registered: {path} ({entry.fingerprint}){late}")
    if before and before[0].plan != entry.plan:
        notes.append(f"note: {len(matches):,} matches are planned, and not the {before[0].matches:,} registered first")
    if known.until != until:
        notes.append(
            "note: until is not the registered one: " + (str(known.until) if known.until else "all matches are played")
        )
    return notes


def withdraw(folder: Path) -> None:
    """Takes back a registration after which nothing was asked at all."""
    if folder.is_dir() and [each.name for each in folder.iterdir()] == [FILE]:
        (folder / FILE).unlink()
        folder.rmdir()


def checked(folder: Path, found: Sequence[tuple[Hypothesis, float, float]], path: str | None) -> list[str]:
    """Whether an analysis is the registered one, and what it says of the hypotheses, in words.

    `found`: what was compared (`expect` is not looked at), and the interval of each difference. `path`: the file as it is now.
    """
    history = registrations(folder)
    if not history:
        return []
    first = history[0]
    known = msgspec.convert(_parsed(first.text), Preregistration)
    lines = [f"registered ({first.fingerprint}): {known.question}"]
    if first.exchanges:
        lines.append(f"note: registered after {first.exchanges:,} exchanges had been recorded")
    if len({each.fingerprint for each in history}) > 1:
        lines.append(f"note: registered {len(history)} times; the first is taken")
    if path is not None and _hash(read(path)[1]) != first.fingerprint:
        lines.append(f"note: {path} has changed since")
    keys = {_key(each): each for each in known.hypotheses}
    for analysis, low, high in found:
        own = keys.pop(_key(analysis), None)
        if own is None:
            near = [each for each in known.hypotheses if (each.metric, each.by) == (analysis.metric, analysis.by)]
            differs = f"; registered was: {near[0]}" if near else ""
            lines.append(f"not registered: {analysis.metric} by {analysis.by}{differs}")
        else:
            lines.append(f"registered: {own}: {_verdict(own.expect, low, high)}")
    lines += [f"registered, and not looked at here: {each}" for each in keys.values()]
    return lines + [f"registered exclusion: {each}" for each in known.exclusions]


def _key(each: Hypothesis) -> tuple[str, str, frozenset[str], bool]:
    return each.metric, each.by, frozenset(each.within), each.alike


def _verdict(expect: str, low: float, high: float) -> str:
    if not low <= high:
        return "no interval"
    sign = 1 if low > 0 else -1 if high < 0 else 0
    wanted = {"more": (1,), "less": (-1,), "difference": (1, -1)}[expect]
    return "undecided" if sign == 0 else "as expected" if sign in wanted else "the opposite"


def _parsed(text: str) -> object:
    import yaml  # type: ignore[import-untyped]

    return yaml.safe_load(text)


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
