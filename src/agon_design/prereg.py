"""Hypotheses, exclusions and a rule to stop by, registered before anything is asked, and kept beside the recording."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec.structs import astuple

from agon.conf import current_name, document
from agon.errors import AgonError, count, describe_fault
from agon.paths import display_path, input_path, read_text_file, write_file
from agon.report.registration import FILE, Registration, plan_hash, registration, text_hash


class Hypothesis(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An expectation about two conditions."""

    metric: str
    by: Annotated[str, msgspec.Meta(pattern=r"^\w+:[^,]+,[^,]+\Z")]
    """COLUMN:FIRST,SECOND."""
    expect: Literal["more", "less", "difference"]
    """What the second condition has, compared with the first."""
    within: tuple[str, ...] = ()
    """The columns of strata, as in agon_design.compare.compare. Empty: the usual ones."""
    alike: bool = False
    """Whether all strata weigh the same."""

    def __str__(self) -> str:
        """The hypothesis in words."""
        within = f" within {','.join(self.within)}" if self.within else ""
        return f"{self.metric} by {self.by}{within}{', strata alike' if self.alike else ''}: {self.expect}"


class Exclusion(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Matches that are left out of the analysis, by one of these fields. `agon_design.registered.excluded` applies it."""

    unreadable: Annotated[float, msgspec.Meta(ge=0, lt=1)] | None = None
    """Leaves out matches in which more than this share of a seat's answers could not be read; 0: any answer."""
    rounds: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Leaves out matches with fewer rounds."""
    agent: str | None = None
    """Leaves out matches in which this agent has a seat. `model` does so for a model."""
    model: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for an exclusion by none or by several of the fields."""
        if sum(value is not None for value in astuple(self)) != 1:
            raise ValueError("an exclusion says one of unreadable, rounds, agent, model")

    def __str__(self) -> str:
        """The excluded matches in words."""
        if self.unreadable is not None:
            return f"matches in which more than {self.unreadable:.4g} of a seat's answers could not be read"
        if self.rounds is not None:
            return f"matches of fewer than {self.rounds} rounds"
        return f"matches with agent {self.agent}" if self.agent is not None else f"matches with model {self.model}"


class Until(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A question with which asking ends: which of two conditions has more of a metric."""

    range: tuple[float, float]
    """The least and the greatest value that the metric can have."""
    by: Annotated[str, msgspec.Meta(pattern=r"^(agent|model):[^,]+,[^,]+\Z")]
    """agent:FIRST,SECOND or model:FIRST,SECOND."""
    metric: str = "points"
    error: Annotated[float, msgspec.Meta(gt=0, lt=0.5)] = 0.05
    """The chance that the question is ever decided wrongly."""

    def __post_init__(self) -> None:
        """Raises ValueError for a range whose lower end is not below its upper end."""
        if not self.range[0] < self.range[1]:
            raise ValueError("range: the lower end comes first")

    def __str__(self) -> str:
        """The end of asking in words."""
        low, high = self.range
        return f"{self.metric} by {self.by} in {low:g} to {high:g} is decided, wrongly with a chance of {self.error:g}"


class Preregistration(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file that `agon register` takes."""

    question: str
    hypotheses: Annotated[tuple[Hypothesis, ...], msgspec.Meta(min_length=1)]
    exclusions: tuple[Exclusion | str, ...] = ()
    """The matches that the analysis leaves out, beside those that `compare` leaves out anyway. Free words are shown and not checked."""
    until: Until | None = None
    """The question with which `record-until` stops. None: there is none, and all matches are played."""


def read(path: str) -> tuple[Preregistration, str]:
    """A preregistration, and its text. Raises AgonError for one that is not there or does not fit."""
    file = input_path(path)
    if not file.is_file():
        raise AgonError(f"{path} is not there: name the file that says what is expected")
    try:
        return msgspec.convert(document(file), Preregistration), read_text_file(file)
    except msgspec.ValidationError as error:
        raise AgonError(f"{display_path(file)} does not fit: {describe_fault(error, Preregistration)}") from None


def content_of(entry: Registration) -> Preregistration:
    """The preregistration in a registration."""
    return msgspec.yaml.decode(entry.text, type=Preregistration)


def register(path: str, folder: Path, matches: Collection[str], exchanges: int) -> str:
    """Writes a preregistration into a recording's folder, and says so. After the first answer it can neither come nor change.

    `matches`: ids of the planned ones; `exchanges`: the number of recorded ones. Raises AgonError.
    """
    _, text = read(path)
    entry, before = Registration(text_hash(text), plan_hash(matches), len(matches), text), registration(folder)
    if entry == before:
        return f"registered already: {path} ({entry.fingerprint}), {count(len(matches), 'match')}"
    if exchanges:
        state = "another one is registered" if before else "nothing is registered"
        raise AgonError(
            f"{display_path(folder)} holds {count(exchanges, 'exchange')}, and {state}: a registration comes before the first answer; "
            "set experiment.name to another"
        )
    write_file(folder / FILE, msgspec.json.encode(entry) + b"\n", force=True)
    return f"registered: {path} ({entry.fingerprint}), {count(len(matches), 'match')}, before anything was asked"


def condition_now(column: str, value: str) -> str:
    """A value of a column of turns, with the current names of agents. Several opponents are joined by +."""
    if column not in ("agent", "opponent"):
        return value
    return "+".join(sorted(current_name("agent", name) for name in value.split("+")))
