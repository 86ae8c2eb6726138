"""The tables of docs/what-comes-out.md say of every file what its columns are: as the code has them, and as they are written."""

import json
import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from agon import ROOT
from agon.models.recording import FILE, Exchange, Failure
from agon.turns import COLUMNS, COUNT, GAMES, is_games, read

PAGE = (ROOT / "docs/what-comes-out.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| (.+) \|$", re.MULTILINE)
ABSENT, EMPTY = ", or absent", ", or empty"
FILES = sorted([*ROOT.glob("tests/smoke/*.parquet"), *ROOT.glob("transcripts/*.parquet")])
LINES = {"exchange": "### Exchanges", "message": "### Messages", "failed": "### Failed calls"}
RESULTS = ["results/replication/cells.csv", "results/replication/claims.csv", "results/twins/certificates.csv"]


def described(heading):
    """Name -> (type, meaning), from the table of a section."""
    rows = ROW.findall(re.split(r"\n#+ ", PAGE.partition(f"\n{heading}\n")[2])[0])
    assert rows and len({name for name, *_ in rows}) == len(rows), heading
    return {name: (kind, meaning) for name, kind, meaning in rows}


def word_of(kind, plural=False):
    """The page's word for a type of parquet."""
    if pa.types.is_dictionary(kind):
        return word_of(kind.value_type, plural)
    if pa.types.is_list(kind):
        return ("lists of " if plural else "list of ") + word_of(kind.value_type, plural=True)
    if pa.types.is_boolean(kind):
        return "true or false"
    words = {"int64": "whole number", "double": "number", "string": "text", "large_string": "text"}
    return words[str(kind)] + "s" * plural


def word_of_hint(hint: Any, plural=False):
    """The page's word for a type of Python."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "text"
    if origin is tuple:
        return f"list of {word_of_hint(arguments[0], plural=True)}"
    if type(None) in arguments:
        return word_of_hint(arguments[0], plural)
    words = {str: "text", int: "whole number", float: "number", bool: "true or false", dict: "object"}
    return words[origin or hint] + "s" * plural


def test_turns_are_described_as_the_code_has_them():
    words = {np.int64: "whole number", COUNT: "whole number", np.float64: "number", np.bool_: "true or false"}
    rows = {name: (words.get(kind, "text") + ABSENT * absent, said) for name, (kind, absent, said) in COLUMNS.items()}
    assert list(described("## The columns of turns").items()) == list(rows.items())


def test_games_are_described_as_the_code_has_them():
    rows = {name: (word_of(kind), said) for name, (kind, said) in GAMES.items()}
    found = described("## The columns of games")
    assert [(name, (kind.removesuffix(ABSENT), said)) for name, (kind, said) in found.items()] == list(rows.items())


@pytest.mark.parametrize("kind", [Exchange, Failure])
def test_lines_of_recordings_are_described_as_the_code_has_them(kind):
    hints = get_type_hints(kind)
    found = described(LINES[next(iter(hints))])
    assert {name: word for name, (word, _) in found.items()} == {
        name: word_of_hint(hint) for name, hint in hints.items()
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_table_that_is_written_has_the_types_of_the_page(path):
    rows = described("## The columns of games" if is_games(path) else "## The columns of turns")
    table = pq.read_table(path)
    assert table.column_names == [name for name in rows if name in table.column_names]
    for name in table.column_names:
        word, column = rows[name][0], table[name]
        assert column.null_count == 0 or word.endswith(ABSENT), name
        if column.null_count < len(table):  # parquet has no type for a label that is always absent
            assert word_of(column.type) == word.removesuffix(ABSENT), name


def test_recordings_have_the_fields_of_the_page_and_no_other():
    rows = {kind: described(heading) for kind, heading in LINES.items()}
    paths, strange, count = sorted(ROOT.glob(f"data/recordings/*/{FILE}")), set(), 0
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                kind, count = next(iter(line)), count + 1
                strange |= {(path.parent.name, kind, name) for name in line.keys() - rows[kind].keys()}
    assert strange == set() and count > 1000


@pytest.mark.parametrize("path", RESULTS)
def test_a_table_of_results_has_the_columns_of_the_page(path):
    rows, table = described(f"### {path}"), pd.read_csv(ROOT / path, low_memory=False)
    words = {"b": "true or false", "i": "whole number", "f": "number"}
    assert list(table) == list(rows)
    for name, (word, _) in rows.items():
        column = table[name]
        if column.notna().any():
            assert words.get(column.dtype.kind, "text") == word.removesuffix(EMPTY), name
        assert word.endswith(EMPTY) or column.notna().all(), name


def test_the_join_that_gives_opponents_is_the_same_in_duckdb_and_pandas():
    part = PAGE.partition("## The other players of a match")[2]
    query, code = (re.search(rf"```{kind}\n(.*?)```", part, re.DOTALL)[1] for kind in ("sql", "python"))
    path = ROOT / "tests/smoke/magic_standin.parquet"
    turns = read(path)
    lines = [line.removeprefix(">>> ") for line in code.splitlines() if line.startswith((">>> others", ">>> pairs"))]
    names: dict[str, Any] = {"turns": turns}
    exec("\n".join(lines), names)
    keys = ["match", "turn", "seat", "agent", "agent_opponent", "model_opponent"]
    pairs = names["pairs"][keys].astype(object).where(lambda table: table.notna(), None)
    joined = duckdb.sql(query.replace("transcripts/scripted.parquet", str(path)))
    rows = joined.select(*keys).fetchall()
    assert sorted(map(repr, rows)) == sorted(map(repr, pairs.itertuples(index=False, name=None)))
    seats = turns.groupby("match", observed=True).seat.transform("nunique")
    assert len(rows) == (seats - 1).sum() > len(turns)
