"""What was said before anything was asked: hypotheses, exclusions and stopping, fingerprinted into the recording, and compared later."""

from collections.abc import Collection, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec.structs import astuple, replace

from agon.conf import Until, document, name_now
from agon.errors import AgonError, count, fault_of
from agon.paths import input_path, shown, text_of

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
    """As of agon.inference.compare.compare; so is `alike`."""
    alike: bool = False

    def __str__(self) -> str:
        """In words."""
        within = f" within {','.join(self.within)}" if self.within else ""
        return f"{self.metric} by {self.by}{within}{', strata alike' if self.alike else ''}: {self.expect}"


class Exclusion(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Matches that are left out of the analysis, by one of these. `agon.inference.registered.excluded` applies it."""

    unreadable: Annotated[float, msgspec.Meta(ge=0, lt=1)] | None = None
    """Those in which more than this share of the answers of a seat could not be read; 0: any."""
    rounds: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Those of fewer rounds."""
    agent: str | None = None
    """Those in which it has a seat; so is `model`."""
    model: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for none and for several."""
        if sum(each is not None for each in astuple(self)) != 1:
            raise ValueError("an exclusion says one of unreadable, rounds, agent, model")

    def __str__(self) -> str:
        """In words."""
        if self.unreadable is not None:
            return f"matches in which more than {self.unreadable:.4g} of a seat's answers could not be read"
        if self.rounds is not None:
            return f"matches of fewer than {self.rounds} rounds"
        return f"matches with agent {self.agent}" if self.agent is not None else f"matches with model {self.model}"


class Preregistration(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file that an experiment names as `prereg`."""

    question: str
    hypotheses: Annotated[tuple[Hypothesis, ...], msgspec.Meta(min_length=1)]
    exclusions: tuple[Exclusion | str, ...] = ()
    """Which matches are left out of the analysis; words are shown and not checked. None: those that `compare` leaves out of itself."""
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
    until: Until | msgspec.UnsetType | None = msgspec.UNSET
    """With which `record` was called; unknown in recordings of before."""


def read(path: str) -> tuple[Preregistration, str]:
    """A preregistration, and its text. Raises AgonError for one that is not there or does not fit."""
    file = input_path(path)
    if not file.is_file():
        raise AgonError(f"prereg: {path} is not there: the experiment names it")
    try:
        return msgspec.convert(document(file), Preregistration), text_of(file)
    except msgspec.ValidationError as error:
        raise AgonError(f"{shown(file)} does not fit: {fault_of(error, Preregistration)}") from None


def hypotheses(folder: Path) -> tuple[Hypothesis, ...]:
    """Those that a recording's first registration names; none where there is none."""
    return known.hypotheses if (known := _first(folder)) else ()


def exclusions(folder: Path) -> tuple[Exclusion, ...]:
    """Those of a recording's first registration that can be checked; none where there is none."""
    return tuple(each for each in known.exclusions if isinstance(each, Exclusion)) if (known := _first(folder)) else ()


def _first(folder: Path) -> Preregistration | None:
    history = registrations(folder)
    return msgspec.convert(_parsed(history[0].text), Preregistration) if history else None


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
    entry = Registered(_hash(text), plan, len(matches), exchanges, text, until)
    before = registrations(folder)
    notes = []
    if not before or replace(before[-1], exchanges=exchanges) != entry:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / FILE).open("ab") as file:
            file.write(msgspec.json.encode(entry) + b"\n")
        if not before or _what(before[-1]) != _what(entry):
            late = f", after {exchanges:,} exchanges" if exchanges else ", before anything was asked"
            notes.append(f"registered: {path} ({entry.fingerprint}){late}")
    if before and before[0].plan != entry.plan:
        notes.append(f"note: {len(matches):,} matches are planned, and not the {before[0].matches:,} registered first")
    if known.until != until:
        notes.append(_other_stop(known.until))
    return notes


def withdraw(folder: Path) -> None:
    """Takes back a registration after which nothing was asked at all."""
    if folder.is_dir() and [each.name for each in folder.iterdir()] == [FILE]:
        (folder / FILE).unlink()
        folder.rmdir()


def _other_stop(registered: Until | None) -> str:
    return f"note: until is not the registered one: {registered or 'all matches are played'}"


def checked(
    folder: Path,
    found: Sequence[tuple[Hypothesis, float, float]],
    path: str | None,
    matches: Collection[str] | None = None,
) -> list[str]:
    """Whether an analysis is the registered one, and what it says of the hypotheses, in words.

    `found`: what was compared (`expect` is not looked at), and the interval of each difference. `path`: the file as it is now;
    `matches`: ids of those analysed (none: nothing is said of them).
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
        lines.append(f"note: registered {len({*map(_what, history)})} times; the first is taken")
    if path is not None and _hash(read(path)[1]) != first.fingerprint:
        lines.append(f"note: {path} has changed since")
    if known.until in (calls := [each.until for each in history if each.until is not msgspec.UNSET]):
        lines.append(f"stopped as registered: {known.until or 'all matches are played'}")
    if any(each != known.until for each in calls):
        lines.append(_other_stop(known.until))
    if matches is not None and _hash("\n".join(sorted(matches))) != first.plan:
        lines.append(f"note: {count(len(matches), 'match')} are here, and {first.matches:,} were registered")
    keys = {_key(each): each for each in known.hypotheses}
    for analysis, low, high in found:
        own = keys.pop(_key(analysis), None)
        if own is None:
            near = [each for each in known.hypotheses if _key(each)[:2] == _key(analysis)[:2]]
            differs = f"; registered was: {near[0]}" if near else ""
            lines.append(f"not registered: {analysis.metric} by {analysis.by}{differs}")
        else:
            lines.append(f"registered: {own}: {_verdict(own.expect, low, high)}")
    lines += [f"registered, and not looked at here: {each}" for each in keys.values()]
    words = [each for each in known.exclusions if isinstance(each, str)]
    return lines + [f"registered exclusion, not checked: {each}" for each in words]


def condition_now(column: str, value: str) -> str:
    """A value of a column of turns, with agents as they are called now; several opponents are joined by +."""
    if column not in ("agent", "opponent"):
        return value
    return "+".join(sorted(name_now("agent", each) for each in value.split("+")))


def _what(each: Registered) -> tuple[str, str]:
    return each.fingerprint, each.plan


def _key(each: Hypothesis) -> tuple[str, str, frozenset[str], bool]:
    column, _, conditions = each.by.partition(":")
    by = ",".join(condition_now(column, condition) for condition in conditions.split(","))
    return each.metric, f"{column}:{by}", frozenset(each.within), each.alike


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
