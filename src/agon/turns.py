"""The one tidy table, `turns` (a row is one seat asked once): its schema, and reading and writing it."""

import fcntl
import functools
import json
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon import AgonError, input_path, input_places
from agon import shown as shown

TEXT, LABEL, COUNT = pd.StringDtype(), pd.CategoricalDtype(), pd.Int64Dtype()

COLUMNS: dict[str, tuple[Any, bool, str]] = {
    "experiment": (
        LABEL,
        False,
        "name of the file in conf/experiment, or the source of recorded games; behind it, where not all of its matches could be "
        "played, how many (partial: 3 of 40 matches)",
    ),
    "match": (LABEL, False, "id: a hash of the match's own content"),
    "game": (LABEL, False, "the game's family"),
    "variant": (LABEL, False, "which instance of the family: a counterfactual variant, a setting, a problem"),
    "rules": (np.int64, False, "version of the game's rules"),
    "repetition": (np.int64, False, "from 0"),
    "round": (np.int64, False, "from 1"),
    "turn": (np.int64, False, "step of the match, from 1; seats that act at once share it"),
    "phase": (LABEL, False, "part of the round"),
    "seat": (np.int64, False, "from 0"),
    "role": (LABEL, False, "role in the game; empty where seats differ in nothing"),
    "agent": (LABEL, False, "name of the file in conf/agent, or the recorded player's kind"),
    "model": (LABEL, True, "the language model; absent for scripts and people"),
    "legal": (LABEL, True, "JSON: what the seat could answer; absent when it was paid without being asked"),
    "action": (
        LABEL,
        True,
        "what it did: a word as it is, all else as JSON (see `action_text`); absent when no answer could be read",
    ),
    "reply": (TEXT, True, "the raw answer; absent when it was not recorded"),
    "valid": (
        np.bool_,
        False,
        "the turn counted: every seat asked at once gave a readable legal action (in TradeCraft: this one did)",
    ),
    "attempts": (COUNT, True, "times asked, re-asks included; absent when not recorded"),
    "fallback": (LABEL, False, "what was done for want of a readable action; empty when nothing was"),
    "detail": (
        TEXT,
        True,
        "JSON: what only this game, or this way to answer, knows; of weighed decisions `chances`, the probability of every legal "
        "action ([action, probability], summing to 1), and `mass`, that of giving any of them as the answer; of models also "
        "`usd_charged` (what the provider says; all else is reckoned) and `left_out` (messages that left the conversation)",
    ),
    "payoff": (np.float64, False, "points credited by this step"),
    "tokens_in": (COUNT, True, "tokens sent; absent when not recorded"),
    "tokens_out": (COUNT, True, "tokens received; absent when not recorded"),
    "tokens": (COUNT, True, "tokens_in + tokens_out; recorded games give only this sum"),
    "seconds": (np.float64, True, "time taken to answer; absent when not recorded"),
    "cached": (np.bool_, False, "answered from a recording"),
    "exchange": (TEXT, True, "key into data/recordings; absent when nothing was exchanged"),
    "config": (LABEL, False, "hash of the game's and players' settings"),
}
"""Name -> (dtype, may be absent, meaning), in the file's order."""

KEY = ["match", "turn", "seat"]


@functools.cache
def schema() -> Any:
    """The schema that turns are checked by, as pandera has it."""
    import pandera.pandas as pa  # here: it takes a fifth of a second, and what only reads needs none of it

    return pa.DataFrameSchema(
        {
            name: pa.Column(
                None if dtype is LABEL else dtype,
                nullable=absent,
                checks=pa.Check.ge(1)
                if name in ("round", "turn")
                else pa.Check.ge(0)
                if name in ("seat", "repetition")
                else None,
            )
            for name, (dtype, absent, _) in COLUMNS.items()
        },
        strict=True,
        ordered=True,
    )


def typed(columns: dict[str, Any]) -> pd.DataFrame:
    """`columns` as a turns table: missing columns are absent throughout, types are those of COLUMNS.

    Raises AgonError for a column that turns do not have.
    """
    unknown = sorted(set(columns) - set(COLUMNS))
    if unknown:
        raise AgonError(f"turns have no column {', '.join(unknown)}: see agon.turns.COLUMNS")
    length = max((len(values) for values in columns.values()), default=0)
    return pd.DataFrame(
        {
            name: pd.Series(
                columns[name] if name in columns else _absent(name, dtype, absent, length), dtype=dtype, copy=False
            )  # the frame copies
            for name, (dtype, absent, _) in COLUMNS.items()
        }
    )


def _absent(name: str, dtype: Any, absent: bool, length: int) -> Any:
    if absent and dtype is LABEL:
        return pd.Categorical.from_codes(np.full(length, -1, dtype=np.int8), categories=pd.Index([], dtype="str"))
    if absent and dtype is TEXT:
        return pd.array(pya.nulls(length, pya.large_string()), dtype=TEXT)
    if absent and dtype is COUNT:
        return pd.arrays.IntegerArray(np.zeros(length, dtype=np.int64), np.ones(length, dtype=bool))
    if absent:
        return np.full(length, np.nan)
    if name == "cached":
        return np.zeros(length, dtype=bool)
    if name in ("role", "fallback"):
        return pd.Categorical.from_codes(np.zeros(length, dtype=np.int8), categories=[""])
    raise AgonError(f"turns need a column {name}")


def action_text(action: Any) -> str:
    """An action as turns hold it: a word as it is, all else as JSON. So is a word that would be read as JSON, such as "3"."""
    plain = isinstance(action, str) and action.isprintable() and action and not _is_json(action)
    return action if plain else json.dumps(action)


def action_of(text: str) -> Any:
    """The action that turns hold as `text`: the value where it is JSON, else the word itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        pass
    return True


def decoded(column: pd.Series) -> pd.Series:
    """The column `action` as labels: of a word that turns hold in quotes the word, else what is there. Absent stays absent."""
    return _relabelled(column, lambda label: value if isinstance(value := action_of(label), str) else label)


def _relabelled(column: pd.Series, change: Callable[[str], str]) -> pd.Series:
    """A column of labels with others in their place; those that become the same are one."""
    labels = column.astype(LABEL).cat
    places, names = pd.factorize(pd.Index([change(label) for label in labels.categories], dtype="str"))
    codes = np.append(places, -1)[labels.codes]
    return pd.Series(pd.Categorical.from_codes(codes, categories=names), index=column.index, name=column.name)


def tidy(turns: pd.DataFrame) -> pd.DataFrame:
    """Turns that were concatenated, filtered, sorted or merged, with the types of COLUMNS and an index of their own.

    Columns of one's own stay as they are, and columns of turns may be missing. Raises AgonError where a value is missing, infinite or of
    another kind, and for rows that are there twice.
    """
    changed = {}
    for name in turns.columns.intersection(list(COLUMNS)):
        dtype, absent, _ = COLUMNS[name]
        column = turns[name]
        if not absent and column.isna().any():
            raise AgonError(f"not a turns table: {name} is missing in {column.isna().sum():,} rows")
        if not _has_type(column.dtype, dtype):
            changed[name] = _as_type(column, dtype)
    same = not changed and isinstance(turns.index, pd.RangeIndex)
    found = turns if same else turns.assign(**changed).reset_index(drop=True)
    _require_finite(found)
    if set(KEY) <= set(found):
        _require_once(found)
    return found


def _require_finite(turns: pd.DataFrame) -> None:
    """Raises AgonError for an infinite number."""
    for name in turns.columns.intersection(["payoff", "seconds"]):
        if count := int(np.isinf(turns[name]).sum()):
            raise AgonError(f"not a turns table: {name} is infinite in {count:,} rows")


def _as_type(column: pd.Series, dtype: Any) -> pd.Series:
    """A column with its type of COLUMNS. Raises AgonError where its values are of another kind."""
    try:
        if dtype == np.bool_ and not column.isin([True, False]).all():
            raise ValueError("there are other values than true and false")
        if dtype is LABEL:
            column = column.astype("str")
        if dtype in (COUNT, np.int64):
            column = column.astype("Float64")
            if (column % 1 != 0).any():
                raise ValueError("there are other values than whole numbers")
            column = column.astype(COUNT)
        return column.astype(dtype)
    except (TypeError, ValueError) as error:
        raise AgonError(
            f"not a turns table: {column.name} is not {pd.api.types.pandas_dtype(dtype)}: {error}"
        ) from None


def validated(turns: pd.DataFrame) -> pd.DataFrame:
    """`turns` itself, if it keeps the schema and holds no (match, turn, seat) twice. Raises AgonError otherwise."""
    strange = [str(name) for name in turns if name not in COLUMNS]
    if strange:
        raise AgonError(f"not a turns table: turns have no column {', '.join(strange)}")
    checked = schema()
    from pandera.errors import SchemaError

    try:
        checked.validate(turns, lazy=False)
    except SchemaError as error:
        raise AgonError(f"not a turns table: {str(error).splitlines()[0]}") from None
    if mistyped := _mistyped(turns):
        raise AgonError(f"not a turns table: {mistyped}")
    _require_finite(turns)
    _require_once(turns)
    return turns


def _require_once(turns: pd.DataFrame) -> None:
    """Raises AgonError for a (match, turn, seat) that is there twice."""
    twice = turns.duplicated(KEY).to_numpy()
    if twice.any():
        match, turn, seat = turns[KEY].iloc[int(twice.argmax())]
        raise AgonError(
            f"not a turns table: {twice.sum()} rows repeat a (match, turn, seat), first match {match}, turn {turn}, seat {seat}; "
            "of tables put together two hold the same match"
        )


def write(turns: pd.DataFrame, path: Path) -> None:
    """Validates, then writes parquet in one move: a reader sees the old file or the new one, never a part.

    Of several processes that write one file at once, the last one's is there in the end.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        with part.open("wb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # as long as it is written, nobody sweeps it
            _sorted_labels(validated(turns)).to_parquet(
                stream, index=False, compression="zstd", write_page_checksum=True
            )
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        raise AgonError(f"{shown(path)} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Deletes parts that nobody writes any more: their processes were killed."""
    for part in folder.glob("*.????????.part"):
        with suppress(OSError), part.open("rb") as stream:
            if time() - part.stat().st_mtime > 1:  # a newer one may be about to be locked
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()


def read(path: str | Path, columns: list[str] | None = None) -> pd.DataFrame:
    """A turns table from parquet, all columns or some. Raises AgonError when it is missing, unreadable or no turns table."""
    path = input_path(path)
    if unknown := [name for name in columns or () if name not in COLUMNS]:
        raise AgonError(f"turns have no column {', '.join(unknown)}: see agon.turns.COLUMNS")
    try:
        turns = pd.read_parquet(path, columns=columns, page_checksum_verification=True)
    except FileNotFoundError:
        raise AgonError(
            f"{shown(path)} is not there: `make repro` makes those of dvc.yaml, `python -m agon play experiment=NAME` any other"
        ) from None
    except (pya.ArrowInvalid, pya.ArrowIOError, OSError) as error:
        reason, made = str(error).splitlines()[0], any(map(path.is_relative_to, input_places("transcripts")))
        again = "; where a stage makes it, delete it, and `dvc repro` makes it again" if made else ""
        raise AgonError(
            f"{shown(path)} cannot be read ({reason}): it is no table of turns, or is damaged{again}"
        ) from None
    missing = [name for name in columns or COLUMNS if name not in turns]
    if missing:
        raise AgonError(f"{shown(path)} is not a turns table: it has no column {', '.join(missing)}")
    for name in columns or COLUMNS:  # parquet forgets the type of a column that is absent throughout
        if COLUMNS[name][0] is LABEL and not isinstance(turns[name].dtype, pd.CategoricalDtype):
            turns[name] = turns[name].astype("str").astype(LABEL)
    if "action" in turns and any(
        str(label).startswith('"') for label in turns.action.cat.categories
    ):  # of a table in which words are JSON too
        actions = _relabelled(turns.action, lambda label: action_text(action_of(label)))
        turns["action"] = actions.cat.reorder_categories(sorted(actions.cat.categories))
    if mistyped := _mistyped(turns):
        raise AgonError(f"{shown(path)} is not a turns table: {mistyped}")
    return turns


def _mistyped(turns: pd.DataFrame) -> str:
    """The first column that has not the type of COLUMNS, in words; empty when there is none."""
    for name in turns:
        found, wanted = turns[name].dtype, COLUMNS[name][0]
        if not _has_type(found, wanted):
            return f"column {name} is {found}, not {pd.api.types.pandas_dtype(wanted)}"
    return ""


def _has_type(found: Any, wanted: Any) -> bool:
    return isinstance(found, type(wanted)) if wanted in (LABEL, TEXT) else bool(found == wanted)


def _sorted_labels(turns: pd.DataFrame) -> pd.DataFrame:
    """Labels in alphabetical order and none unused, so that the same rows are the same bytes however they came together."""

    def settled(name: str) -> pd.Series:
        label = turns[name].cat.remove_unused_categories()
        return label.cat.reorder_categories(sorted(label.cat.categories))

    return turns.assign(**{name: settled(name) for name, (dtype, _, _) in COLUMNS.items() if dtype is LABEL})


def is_turns(path: Path) -> bool:
    """Whether a file has the key of a turns table."""
    try:
        return set(KEY) <= set(pq.read_schema(path).names)
    except (pya.ArrowException, OSError):
        return False


PARTIAL = re.compile(r" \(partial: ([\d,]+ of [\d,]+ matches)\)$")
"""What the column `experiment` says behind the name where not all matches of an experiment could be played."""


def experiments(path: Path) -> set[str]:
    """Whose turns a table holds, by the column `experiment`; of partial tables the name alone. Raises AgonError."""
    return {PARTIAL.sub("", each) for each in read(path, ["experiment"]).experiment.unique()}


def marked_partial(turns: pd.DataFrame, of: int) -> pd.DataFrame:
    """`turns` whose column `experiment` says that they are those of some of its `of` matches: NAME (partial: 3 of 40 matches)."""
    said = f" (partial: {turns.match.nunique():,} of {of:,} matches)"
    return turns.assign(experiment=turns.experiment.cat.rename_categories(lambda name: name + said))


def partial(turns: pd.DataFrame) -> list[str]:
    """In words, which experiments of `turns` are not whole: NAME, 3 of 40 matches. Empty where all are."""
    labels = sorted({str(each) for each in turns.experiment.unique()})
    return [f"{PARTIAL.sub('', each)}, {found[1]}" for each in labels if (found := PARTIAL.search(each))]


def replaced(turns: pd.DataFrame) -> pd.Series:
    """Whether the action of a row is not the seat's own: something was done in the place of an answer that could not be read."""
    return turns.action.notna() & turns.fallback.ne("")


def matches(turns: pd.DataFrame) -> pd.DataFrame:
    """One row per match and seat, derived: who played what, `total` (points), `won` (no seat had more), `rounds`, `valid` and
    `replaced` (shares of its turns)."""
    turns = tidy(turns)
    keys = ["experiment", "match", "game", "variant", "repetition", "seat", "role", "agent", "model"]
    table = (
        turns.assign(replaced=replaced(turns))
        .groupby(keys, observed=True, dropna=False, sort=False)
        .agg(total=("payoff", "sum"), rounds=("round", "max"), valid=("valid", "mean"), replaced=("replaced", "mean"))
        .reset_index()
    )
    return table.assign(won=table.total.eq(table.groupby("match", observed=True).total.transform("max")))


def write_table(table: pd.DataFrame, path: Path) -> None:
    """A result as CSV, with its folder; the same rows give the same bytes on every machine.

    Numbers are written to 12 significant digits: processors sum in different orders, and differ in the last two or three of a float's 17.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, lineterminator="\n", float_format=lambda value: repr(float(f"{value:.12g}")))
