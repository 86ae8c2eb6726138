"""The table of games beside each file of turns: the games as they were played, so that no reader needs conf/game."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pya
import pyarrow.parquet as pq

from agon.errors import AgonError
from agon.paths import GAMES_SUFFIX, display_path, input_path
from agon.turns.files import explain_absence, write_parquet

GAMES: dict[str, tuple[Any, str]] = {
    "game": (pya.string(), "the game's family, as in turns"),
    "variant": (pya.string(), "which instance of the family, as in turns"),
    "rules": (pya.int64(), "version of the game's rules, as in turns"),
    "families": (
        pya.list_(pya.string()),
        "the folder of the family's code, and those that it builds upon, nearest first",
    ),
    "players": (pya.list_(pya.string()), "what the seats are called, in seat order"),
    "roles": (pya.list_(pya.string()), "the true role of each seat; empty where seats differ in nothing"),
    "tested": (pya.list_(pya.int64()), "seats under test; empty where no seat is singled out"),
    "rounds": (pya.int64(), "rounds in which all seats move at once, with the same options; absent where it is not so"),
    "options": (
        pya.list_(pya.string()),
        "the actions of one round, in the order of the payoff table; empty without one",
    ),
    "payoffs": (
        pya.list_(pya.list_(pya.float64())),
        "points of every seat for each action profile; the last seat's action changes fastest; empty without a table",
    ),
    "facts": (pya.string(), "JSON: for each seat what metrics need and turns cannot say"),
    "settings": (pya.string(), "JSON: the composed settings of conf/game, which build the game again"),
}
"""Column -> (type, meaning), in the file's order."""


def games_path(turns: str | Path) -> Path:
    """The file of games of a file of turns: NAME.games.parquet beside NAME.parquet."""
    path = Path(turns)
    return path.with_name(path.name.removesuffix(".parquet") + GAMES_SUFFIX)


def is_games(path: Path) -> bool:
    """Whether a file is a table of games by its name."""
    return path.name.endswith(GAMES_SUFFIX)


def games_frame(rows: list[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as a table of games, each once, in the order of game, variant and settings."""
    table = pd.DataFrame(rows, columns=list(GAMES)).astype({"rules": "int64", "rounds": "Int64"})
    table = table.sort_values(["game", "variant", "rules", "settings"], kind="stable", ignore_index=True)
    return table[~table.map(repr).duplicated()].reset_index(drop=True)


def write_games(games: pd.DataFrame, turns: Path) -> None:
    """Writes the games of the file `turns` beside it, at once or not at all. Raises AgonError."""
    schema = pya.schema([(name, kind) for name, (kind, _) in GAMES.items()])
    table = pya.Table.from_pandas(games, schema, preserve_index=False)
    meanings = {"agon columns": json.dumps({name: meaning for name, (_, meaning) in GAMES.items()})}
    write_parquet(table.replace_schema_metadata(meanings), games_path(turns))


def read_games(*turns: str | Path) -> pd.DataFrame:
    """The games of files of turns, each once. Raises AgonError where a table is missing or is none of games."""
    return games_frame([row for path in turns for row in _rows(input_path(games_path(path)))])


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError:
        turns = path.with_name(f"{path.name.removesuffix(GAMES_SUFFIX)}.parquet")
        if turns.name.endswith(GAMES_SUFFIX):
            raise AgonError(f"{display_path(turns)} is a table of games: name the table of turns beside it") from None
        if not turns.exists():
            raise AgonError(explain_absence(turns)) from None
        raise AgonError(
            f"{display_path(path)} is missing. It says which games were played. `agon play`, `agon ingest` and `agon collect` "
            "write it with the turns: run the command that made the turns again"
        ) from None
    except (pya.ArrowInvalid, pya.ArrowIOError, OSError) as error:
        raise AgonError(
            f"{display_path(path)} cannot be read ({str(error).splitlines()[0]}): it is no table of games"
        ) from None
    if missing := [name for name in GAMES if name not in table.column_names]:
        raise AgonError(f"{display_path(path)} is no table of games: it has no column {', '.join(missing)}")
    rows: list[dict[str, Any]] = table.select(list(GAMES)).to_pylist()
    return rows
