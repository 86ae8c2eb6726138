"""The tidy table `turns` (a row is one seat asked once): its columns, checks and files, and the table of its games."""

from agon.turns.actions import action_of, action_text, decoded
from agon.turns.checks import tidy, validated
from agon.turns.columns import COLUMNS, COUNT, ENDS, KEY, LABEL, LATER, TEXT, completed, schema, typed
from agon.turns.derived import (
    CUT,
    PARTIAL,
    cut_off,
    endings,
    in_cells,
    mark_partial,
    matches,
    partial,
    replaced,
    subjects,
)
from agon.turns.files import experiments, is_turns, no_formula, read, write, write_table
from agon.turns.games import GAMES, games_frame, games_path, is_games, read_games, write_games

__all__ = [
    "COLUMNS",
    "COUNT",
    "CUT",
    "ENDS",
    "GAMES",
    "KEY",
    "LABEL",
    "LATER",
    "PARTIAL",
    "TEXT",
    "action_of",
    "action_text",
    "completed",
    "cut_off",
    "decoded",
    "endings",
    "experiments",
    "games_frame",
    "games_path",
    "in_cells",
    "is_games",
    "is_turns",
    "mark_partial",
    "matches",
    "no_formula",
    "partial",
    "read",
    "read_games",
    "replaced",
    "schema",
    "subjects",
    "tidy",
    "typed",
    "validated",
    "write",
    "write_games",
    "write_table",
]
