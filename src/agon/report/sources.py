"""Who gave the answers in a table of turns: models, hosts and days, and the answers that failed, were cut off or are missing."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from agon.errors import count
from agon.models.base import CUT
from agon.models.recording import FILE, WHO, Line, asked_model, read_lines
from agon.paths import ROOT
from agon.turns import PARTIAL

COLUMNS = {
    "experiment": "name of the experiment",
    "model": "the model's file in conf/model",
    **WHO,
    "first_day": "the day of the first answer (UTC)",
    "last_day": "the day of the last one",
    "answers": "recorded answers",
    "failed": "calls that failed and were made again",
    "refused": "questions that the provider refused for good",
    "cut_off": "answers that were cut off or held back",
    "asked_again": "answers to a question that was asked again",
    "skipped": "matches that were begun, and that the turns do not have",
}
"""The columns of `answer_sources`. What is not recorded is absent."""
SAID = {"host": "host", "served": "served model", "provider": "provider", "fingerprint": "fingerprint"}
"""Columns of who answered -> the words for them."""


@dataclass
class _Tally:
    """The counts from the lines of one model."""

    who: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    times: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    skipped: set[str] = field(default_factory=set)

    def add(self, line: Line, is_skipped: bool) -> None:
        match, _, rest = line.sample.partition("/")
        self.skipped |= {match} if is_skipped else set()
        if line.void:
            self.counts["refused"] += 1
            return
        attempt = rest.rpartition(".")[2]
        self.counts["answers"] += 1
        self.counts["cut_off"] += line.ended in CUT
        self.counts["known_ends"] += line.ended != "unknown"
        self.counts["asked_again"] += attempt.isdecimal() and attempt != "0"
        if line.time:
            self.times.append(line.time)
        for name in WHO:
            if value := getattr(line, name):
                self.who[name][value] += 1

    def row(self) -> dict[str, Any]:
        """The values of `COLUMNS`, but for experiment and model."""
        days = [
            datetime.fromtimestamp(time, UTC).date().isoformat()
            for time in (self.times and (min(self.times), max(self.times)))
        ]
        who = {name: "; ".join(values) if (values := self.who.get(name)) else None for name in WHO}
        numbers: dict[str, int | None] = {
            name: self.counts[name] for name in ("answers", "failed", "refused", "cut_off", "asked_again")
        }
        if not self.counts["known_ends"]:
            numbers["cut_off"] = None
        first, last = days or (None, None)
        return {**who, "first_day": first, "last_day": last, **numbers, "skipped": len(self.skipped)}


def answer_sources(turns: pd.DataFrame, recordings: Path = ROOT / "data/recordings") -> pd.DataFrame:
    """One row for each model that played in `turns`, with `COLUMNS`. Where a model's answers differ, a cell lists all values.

    `recordings`: the folder with the experiments' recordings. Without a recording all but `model` is absent, and `failed` is absent
    where the recording does not say which model failed. Raises AgonError for a damaged recording.
    """
    model_turns = turns[turns.model.notna()]
    rows = list[dict[str, Any]]()
    for experiment, table in model_turns.groupby("experiment", observed=True, sort=False):
        name = PARTIAL.sub("", str(experiment)).replace("/", "_")
        rows += [{"experiment": experiment, **row} for row in _rows_of(table, recordings / name / FILE)]
    return pd.DataFrame(rows, columns=list(COLUMNS)).convert_dtypes()


def _rows_of(turns: pd.DataFrame, path: Path) -> Iterable[dict[str, Any]]:
    names = list(dict.fromkeys(turns.model.astype(str)))
    if not path.exists():
        return [{"model": name} for name in names]
    seats = turns.drop_duplicates(["match", "seat"])
    model_of_seat = {
        f"{match}/{seat}": str(model) for match, seat, model in zip(seats.match, seats.seat, seats.model, strict=True)
    }
    played, lines = set(seats.match), list(read_lines(path))
    names_of: dict[bytes, set[str]] = defaultdict(set)
    """Model and parameters -> the files of conf/model that were asked with them."""
    for line in lines:
        if line.exchange and (name := model_of_seat.get(_seat(line))):
            names_of[asked_model(line)].add(name)
    tallies, unknown = {name: _Tally() for name in names}, 0
    for line in lines:
        name = model_of_seat.get(_seat(line)) or _only(names_of.get(asked_model(line), ()))
        if line.failed:
            header = line.model.encode() + b"\n"
            name = _only(
                {name for key, names in names_of.items() if key.startswith(header) or not line.model for name in names}
            )
            unknown += not name
        if name and line.failed:
            tallies[name].counts["failed"] += 1
        elif name and line.exchange:
            tallies[name].add(line, is_skipped=line.sample.partition("/")[0] not in played)
    rows = [{"model": name, **tally.row()} for name, tally in tallies.items()]
    return [row | {"failed": None} for row in rows] if unknown else rows


def _only(names: Collection[str]) -> str:
    """The one name. Empty: there are none or several."""
    return next(iter(names)) if len(names) == 1 else ""


def _seat(line: Line) -> str:
    """The match and seat of an exchange."""
    return "/".join(line.sample.split("/")[:2])


def explain_sources(row: Any) -> str:
    """A row of `answer_sources` in words."""
    if pd.isna(row.answers):
        return f"{row.model} in {row.experiment}: there is no recording here, so who answered is not known"
    days = row.first_day if row.first_day == row.last_day else f"{row.first_day} to {row.last_day}"
    parts = [count(row.answers, "answer") + (f" of {days}" if not pd.isna(row.first_day) else "")]
    parts += [f"{words} {getattr(row, name)}" for name, words in SAID.items() if not pd.isna(getattr(row, name))]
    failed, cut_off = ("unknown" if pd.isna(number) else f"{number:,}" for number in (row.failed, row.cut_off))
    parts += [f"failed {failed}, refused {row.refused:,}, cut off {cut_off}, asked again {row.asked_again:,}"]
    return f"{row.model} in {row.experiment}: {'; '.join(parts)}; {count(row.skipped, 'match')} begun and not here"
