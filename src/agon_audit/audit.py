"""An audit: all checks over all files, in bounded memory, and the verdict that remains."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Values
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import file_digest, sha256
from importlib.metadata import version
from itertools import zip_longest
from operator import add
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from agon.errors import AgonError, count
from agon_audit.checks import CHECKS, IN_WHICH, KEPT, NO_CHANCE, OFTEN, Case, Found, match_hashes, skip
from agon_audit.formats import READERS, find_files
from agon_audit.formats.tables import reading
from agon_audit.guess import MANY, longer_key
from agon_audit.mapping import TABLES, Mapping, Rules, as_mapping
from agon_audit.own import OwnMatches, rules_of
from agon_audit.printed import WRONG, Decision, decide_all
from agon_audit.rules import Judge, Payment, Table, openspiel_rules, read_rules
from agon_audit.turns import PLACE, Games, completed, tidy

BATCH = 100_000
"""Files are audited together until they have so many rows."""
NO_RULES = "the mapping has no rules, so no payoff was computed"
NOTES = 12
"""So many notes of each check are on the page and in the verdict."""
SHOWN = 20
"""So many rows of each check are in the verdict."""
FILES = "files", "files with the same bytes", "a file that was copied on purpose, or games without any chance"
CONDITIONS = (
    "conditions",
    "conditions with the same games",
    "games without any chance, or a condition that changes nothing",
)
OF_FOLDER = FILES, CONDITIONS
"""Name, title and innocent causes of the checks that look at all files together."""


@dataclass
class Audit:
    """The result of an audit: files, rules and differences."""

    folder: str
    files: dict[str, dict[str, Any]]
    """Name -> bytes and sha256."""
    left_out: list[str]
    """Files whose ending does not fit."""
    mapping: Mapping
    rules: dict[str, Judge]
    """Condition -> its rules; the name "" stands for all conditions."""
    found: dict[str, Found] = field(default_factory=dict)
    """Name of a check -> its outcome."""
    skipped: list[str] = field(default_factory=list)
    """What could not be checked, a line each."""
    numbers: list[Decision] = field(default_factory=list)
    rows: int = 0
    matches: int = 0

    @property
    def differences(self) -> int:
        """How many differences there are."""
        return sum(found.count for found in self.found.values()) + sum(
            number.verdict in WRONG for number in self.numbers
        )

    def verdict(self) -> dict[str, Any]:
        """The audit as plain data, without any time or place. The same files give the same data."""
        return {
            "agon": version("agon"),
            "folder": self.folder,
            "differences": self.differences,
            "rows": self.rows,
            "matches": self.matches,
            "mapping": json.loads(msgspec.json.encode(self.mapping)),
            "rules": {
                name or "all games": {"source": judge.source, "sha256": _hash(judge.content)}
                for name, judge in self.rules.items()
            },
            "files": self.files,
            "left_out": self.left_out,
            "skipped": self.skipped,
            "checks": {name: self._outcome(found) for name, found in self.found.items()},
            "numbers": [
                number._asdict() | {"recomputed": None if np.isnan(number.recomputed) else number.recomputed}
                for number in self.numbers
            ],
        }

    @staticmethod
    def _outcome(found: Found) -> dict[str, Any]:
        rows = json.loads(found.rows.head(SHOWN).to_json(orient="records"))
        return {
            "looked": found.looked,
            "found": found.count,
            "skipped": found.skipped,
            "notes": {text: [*counts] for text, counts in found.said(NOTES)},
            "rows": rows,
        }


def audit(folder: Path, mapping: Mapping, base: Path, numbers: pd.DataFrame | None = None) -> Audit:
    """Audits all files of a folder. `base`: the folder in which files of rules lie; `numbers`: see agon_audit.printed. Raises AgonError."""
    judges = _Judges(mapping, base, folder)
    result = Audit(folder.resolve().name, {}, [], mapping, judges.used)
    transcripts, conditions, kept = dict[int, str](), dict[str, int](), list[pd.DataFrame]()
    alike = Counter[str]()
    for games in map(partial(tidy, mapping=mapping), _batches(_read(folder, result), mapping)):
        _require_long_key(games, folder)
        payment, rounds, has_table = judges.apply(games)
        case = Case(games, payment, rounds, has_table, judges.words, transcripts, alike, judges.skip)
        for check in CHECKS:
            result.found[check.name] = _merged(result.found.get(check.name), check.run(case))
        result.rows += len(games.rows)
        result.matches += games.rows.match.nunique()
        _add_conditions(conditions, games)
        if numbers is not None:
            kept.append(games.rows.assign(paid=payment.paid, score=games.score))
    for name in ("points", "exchanged"):  # how many rounds have the same actions is known only after the last file
        found = result.found[name]
        found.notes = {text: (number, alike[text.partition(IN_WHICH)[0]]) for text, (number, _) in found.notes.items()}
    result.skipped = [*judges.skipped, *_unused(mapping, conditions)]
    digests = {name: file["sha256"] for name, file in result.files.items()}
    result.found["files"] = _copies(digests, "it has the same bytes as", str)
    same = partial(_copies, conditions, "{} has the same games as", lambda name: "")
    result.found["conditions"] = same() if mapping.chance else skip(NO_CHANCE)
    if numbers is not None:
        result.numbers = decide_all(numbers, pd.concat(kept, ignore_index=True))
    return result


def doubts(folder: Path, fields: Values[str, Any]) -> list[str]:
    """The doubts about a guessed mapping: files that it does not fit, and payoffs that it does not explain."""
    try:
        result = audit(folder, as_mapping(fields, "the guess"), folder)
    except AgonError as error:
        several = "where a folder holds several designs, write a mapping for each, and choose its files by `files`"
        return [f"files: an audit with this guess stops at {error}; {several}"]
    return [
        f"condition: {text}" if text.startswith(OFTEN) else text
        for text in result.skipped
        if not text.startswith(NO_RULES)
    ]


def _read(folder: Path, result: Audit) -> Iterator[pd.DataFrame]:
    """The rows of each file, with its name. Notes the file in the result. Raises AgonError."""
    for name, path in find_files(folder, result.mapping.files, result.mapping.format):
        if path is None:
            result.left_out.append(name)
            continue
        result.files[name] = {"bytes": path.stat().st_size, "sha256": _digest(path)}
        with reading(name):
            rows = READERS[result.mapping.format](path, result.mapping).assign(file=name)
        yield rows


def _batches(tables: Iterator[pd.DataFrame], mapping: Mapping) -> Iterator[pd.DataFrame]:
    """Files put together until they have BATCH rows, and larger files in parts that have whole matches.

    Raises AgonError where no file has a row.
    """
    waiting, any_rows = list[pd.DataFrame](), False
    for table in tables:
        any_rows = any_rows or not table.empty
        for part in _parts(table, completed(mapping, list(table)).match):
            waiting.append(part)
            if sum(map(len, waiting)) >= BATCH:
                yield _taken(waiting)
    if sum(map(len, waiting)):
        yield _taken(waiting)
    if not any_rows:
        raise AgonError("no file has a row: see the fields files and rows of the mapping")


def _parts(table: pd.DataFrame, match: list[str]) -> Iterator[pd.DataFrame]:
    """A table in parts of about BATCH rows, each with whole matches."""
    if len(table) < 2 * BATCH or not match:
        yield table
        return
    matches = table.groupby(match, sort=False, dropna=False).ngroup().to_numpy()
    part = (np.bincount(matches).cumsum() // BATCH)[matches]
    for number in range(part.max() + 1):
        yield table[part == number]


def _taken(waiting: list[pd.DataFrame]) -> pd.DataFrame:
    """All rows of a list of tables, which is empty afterwards."""
    rows = pd.concat(waiting, ignore_index=True)
    waiting.clear()
    return rows


def _require_long_key(games: Games, folder: Path) -> None:
    """Raises AgonError where the columns of `match` name several matches at once: nothing else would be right then."""
    rows, mapping = games.rows, games.mapping
    twice = rows.duplicated(["match", "round", "seat"])
    if mapping.format not in TABLES or twice.sum() <= MANY * len(rows):
        return
    file = rows.file[twice].mode()[0]
    files, longer = find_files(folder, mapping.files, mapping.format), list[str]()
    with suppress(AgonError):  # the rounds that are there twice are then found as differences
        longer = next((longer_key(path, mapping) for name, path in files if path and name == file), [])
    if longer:
        raise AgonError(
            f"match is {mapping.match}, and {twice.sum():,} of {len(rows):,} rows repeat a round of their match; "
            f"in {file} none does with match: [{', '.join(longer)}]; see whether these name a match"
        )


class _Judges:
    """The rules of every condition."""

    def __init__(self, mapping: Mapping, base: Path, folder: Path) -> None:
        self._mapping, self._folder = mapping, folder if folder.is_dir() else folder.parent
        self.used: dict[str, Judge] = {}
        self._skipped: dict[str, list[str]] = {}
        self._own: tuple[str, OwnMatches] | None = None
        rules_by_name: dict[str, Rules] = {"": mapping.rules} if mapping.rules else {}
        for condition, rules in (rules_by_name | mapping.rules_of_condition).items():
            self.used[condition] = read_rules(rules, base)

    @property
    def words(self) -> list[str]:
        """The actions of all tables of payoffs."""
        tables = [judge for judge in self.used.values() if isinstance(judge, Table)]
        return list(dict.fromkeys(action for table in tables for actions in table.actions for action in actions))

    def apply(self, games: Games) -> tuple[Payment, np.ndarray, np.ndarray]:
        """The payment of every row by the rules, the fixed number of rounds, and whether a table pays every round."""
        rows = games.rows
        payment, rounds, has_table = Payment.unknown(len(rows)), np.full(len(rows), np.nan), np.zeros(len(rows), bool)
        if "action" not in rows:
            self.skip("actions are not recorded, so no rules can be applied", "")
            return payment, rounds, has_table
        for name, part in rows.groupby("condition", observed=True, sort=False):
            condition = str(name)
            for judge, rows_of_judge in self._judges(condition, part):
                places = rows_of_judge.index.to_numpy()
                part_payment = judge.apply(games, rows_of_judge)
                payment.legal[places], payment.paid[places], payment.paid_total[places] = (
                    part_payment.legal,
                    part_payment.paid,
                    part_payment.paid_total,
                )
                payment.faults |= {int(places[at]): fault for at, fault in part_payment.faults.items()}
                rounds[places] = np.nan if judge.rounds is None else judge.rounds
                has_table[places] = isinstance(judge, Table)
                for reason in part_payment.skipped:
                    self.skip(reason, condition)
        return payment, rounds, has_table

    def _judges(self, condition: str, rows: pd.DataFrame) -> Iterator[tuple[Judge, pd.DataFrame]]:
        """The rules of a condition, and the rows that they are about."""
        if judge := self.used.get(condition) or self.used.get(""):
            yield judge, rows
        elif self._mapping.format == "agon":
            for file, part in rows.groupby("file", observed=True, sort=False):
                if self._own is None or self._own[0] != file:
                    self._own = str(file), OwnMatches(self._folder / str(file))
                judge = self.used[f"{file} {condition}"] = rules_of(self._own[1], condition)
                yield judge, part
        elif self._mapping.format == "kaggle" and "(" in condition:
            try:
                self.used[condition] = openspiel_rules(condition)
                yield self.used[condition], rows
            except AgonError as error:
                self.skip(str(error), condition)
        else:
            self.skip(NO_RULES, condition)

    def skip(self, reason: str, condition: str) -> None:
        """Notes that something could not be checked, in a condition or (where that is empty) at all."""
        conditions = self._skipped.setdefault(reason, [])
        if condition and condition not in conditions:
            conditions.append(condition)

    @property
    def skipped(self) -> list[str]:
        """What could not be checked, with the first conditions of which it is true."""
        return [
            f"{reason} ({count(len(names), 'condition')}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"
            if names
            else reason
            for reason, names in self._skipped.items()
        ]


def _merged(before: Found | None, found: Found) -> Found:
    """The outcomes of a check in two batches as one."""
    if before is None:
        return found
    rows = pd.concat([part.rows for part in (before, found) if len(part.rows)] or [found.rows]).head(KEPT)
    notes = dict(before.notes)
    for text, counts in found.notes.items():
        notes[text] = tuple(map(add, notes.get(text, (0, 0)), counts))
    skipped = "" if before.looked or found.looked else before.skipped or found.skipped
    merged = Found(before.looked + found.looked, before.count + found.count, rows, notes, skipped)
    merged.notes = dict(merged.said(KEPT))
    return merged


def _copies(hashes: Values[str, object], what: str, place: Callable[[str], str]) -> Found:
    """Names whose hash another name before has too. `place`: the file that a name is about."""
    first: dict[object, str] = {}
    rows = [
        (place(name), 0, "", 0, 0, f"{what.format(name)} {other}")
        for name, value in hashes.items()
        if (other := first.setdefault(value, name)) != name
    ]
    return Found(len(hashes), len(rows), pd.DataFrame(rows, columns=[*PLACE, "what"]).head(KEPT))


def _add_conditions(conditions: dict[str, int], games: Games) -> None:
    hashes = match_hashes(games, ["player", "reply"])
    condition = games.rows.drop_duplicates("match").set_index("match").condition.astype("str")
    for name, value in hashes.groupby(condition.reindex(hashes.index).to_numpy()).sum().items():
        conditions[str(name)] = (conditions.get(str(name), 0) + int(value)) % 2**64


def _unused(mapping: Mapping, conditions: Values[str, int]) -> list[str]:
    names = [name for name in mapping.rules_of_condition if name not in conditions]
    return [f"rules_of_condition has {name}, and no row has this condition" for name in names]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


INPUT, RULES, VERSION, VERDICT = "input", "rules", "version", "verdict"
"""The kinds of differences between two verdicts. The old one no longer holds only if the input or the verdict differs."""
KIND_OF = {"agon": VERSION, "files": INPUT, "left_out": INPUT, "mapping": INPUT, "rules": RULES}
WORDING = "looked", "notes", "skipped", "what", "why"
"""Parts that another version may say otherwise of the same files."""
AROUND = 20
"""So many characters of a long value are shown before the place where it differs."""


def changes(old: Any, new: dict[str, Any]) -> dict[str, list[str]]:
    """The differences between two verdicts: kind -> a line for each.

    Raises AgonError where the old one is no verdict.
    """
    if not (isinstance(old, dict) and {"agon", "folder", "files", "rules", "checks"} <= old.keys()):
        raise AgonError("it is no verdict of agon audit: give a file verdict.json that it has written")
    found: dict[str, list[str]] = {kind: [] for kind in (INPUT, RULES, VERSION, VERDICT)}
    for place, before, after in _differences(old | {"folder": ""}, new | {"folder": ""}):
        kind = KIND_OF.get(place[0], VERDICT)
        if kind == VERDICT and old["agon"] != new["agon"] and {*place} & {*WORDING}:
            kind = VERSION
        found[kind].append(
            f"{', '.join(place[place[0] == kind :])}: was {_shown(before, after)}, is {_shown(after, before)}"
        )
    return {kind: lines for kind, lines in found.items() if lines}


def _differences(old: Any, new: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Every place in plain data where two values differ, and both values. None: absent."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*new, *(name for name in old if name not in new)]:
            yield from _differences(old.get(name), new.get(name), (*place, name))
    elif isinstance(old, list) and isinstance(new, list):
        for number, (before, after) in enumerate(zip_longest(old, new), start=1):
            yield from _differences(before, after, (*place, str(number)))
    elif old != new:
        yield place, old, new


def _shown(value: Any, other: Any) -> str:
    """A value from shortly before the place where it differs from the other one."""
    text, other_text = (
        "absent" if item is None else item if isinstance(item, str) else json.dumps(item) for item in (value, other)
    )
    same = next(
        (at for at, (one, two) in enumerate(zip(text, other_text, strict=False)) if one != two), len(other_text)
    )
    start = max(0, same - AROUND) if len(text) > 3 * AROUND else 0
    end = start + 3 * AROUND
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
