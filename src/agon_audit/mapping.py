"""A mapping says which column of a file is match, round, seat, player, action, points and so on, and names the rules of the games."""

from pathlib import Path
from typing import Any, Literal

import msgspec

from agon.conf.gate import document
from agon.errors import AgonError, describe_fault
from agon.paths import display_path

Format = Literal["csv", "json", "jsonl", "parquet", "kaggle", "axelrod", "inspect", "textarena", "agon"]
TABLES = "csv", "json", "jsonl", "parquet"
"""Formats in which every project names its columns itself. The others have names of their own (agon_audit.formats)."""
PER_SEAT = (
    *("player", "action", "submitted", "points", "total", "final", "result"),
    *("reply", "ended", "legal", "view", "hidden"),
)
"""Fields of a mapping that name one column, or one column for each seat."""

Columns = str | list[str]
"""One column, where a row of the file is one seat in one round; or one column for each seat, where a row is a round."""


class Rules(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The rules of a game: a table of payoffs, or the name of a game, or a file."""

    actions: list[str | list[str]] = []
    """The actions of all seats; or, in a list for each seat, those of this seat."""
    payoff: list[Any] = []
    """Points, nested by seat: payoff[a0][a1]...[a_last] has one number for each seat."""
    game: str = ""
    """A file of conf/game whose game is in normal form."""
    file: str = ""
    """A file of Gambit that ends in .nfg or .efg. A relative path begins in the folder of the mapping."""
    openspiel: str = ""
    """A game of OpenSpiel, such as `repeated_game` or `oshi_zumo(coins=12)`."""
    rounds: int | None = None
    """Number of rounds of each match; absent where it is not fixed."""
    void: float | None = None
    """The points of every seat in a round in which a seat has no action; absent where the rules do not say it."""

    def __post_init__(self) -> None:
        sources = [name for name in ("payoff", "game", "file", "openspiel") if getattr(self, name)]
        if len(sources) != 1:
            raise ValueError(
                f"rules have one of payoff, game, file and openspiel, not {' and '.join(sources) or 'none'}"
            )
        if bool(self.actions) != bool(self.payoff):
            raise ValueError("actions and payoff belong together: write both")
        if self.rounds is not None and self.rounds < 1:
            raise ValueError(f"rounds is {self.rounds}: it is 1 at least")


class Label(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A column that is derived from the action, such as `cooperated`."""

    column: Columns
    values: dict[str, str | float | bool] | None = None
    """Action -> the value that the column must have. Absent: the value that it has for most rows of the same action."""


class Mapping(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The meaning of the columns of recorded games. A field that is empty is not recorded."""

    format: Format
    files: str = "**/*"
    """Which files below the folder are audited, as a pattern."""
    rows: str = ""
    """JSON: the path to the list of rows, such as games.rounds; empty where the whole file is the list."""
    match: list[str] = []
    """Columns that together name a match within its file; empty where a file is one match."""
    round: str = ""
    seat: str = ""
    """Only where a row is one seat."""
    condition: list[str] = []
    """Columns that together name a condition, such as a game or a prompt."""
    player: Columns = ""
    action: Columns = ""
    submitted: Columns = ""
    """The action as the player sent it, where the program may have applied another one."""
    points: Columns = ""
    """Points of the round."""
    total: Columns = ""
    """Points of the match up to this round."""
    final: Columns = ""
    """Points of the whole match."""
    result: Columns = ""
    """The result of the match for this seat: a number that is larger for a winner."""
    reply: Columns = ""
    ended: Columns = ""
    """Why the answer ended, such as stop or length."""
    legal: Columns = ""
    """The actions that were offered, as a JSON list."""
    view: Columns = ""
    """The text that the seat saw."""
    hidden: Columns = ""
    """A fact of this seat that the other seats must not see."""
    options: list[str] = []
    """Columns that say which word stands for each action of the rules in this row."""
    order: str = ""
    """Column with the order in which the options were shown, as a list of numbers."""
    labels: dict[str, Label] = {}
    words: dict[str, str] = {}
    """Word of the file -> action of the rules."""
    tag: str = ""
    """The mark before the action in a reply, such as `[move]`."""
    chance: bool = False
    """Whether two matches of a condition should differ, because chance takes part in them."""
    rules: Rules | None = None
    rules_of_condition: dict[str, Rules] = {}
    """Condition -> its own rules."""

    def __post_init__(self) -> None:
        if self.format in TABLES and not self.action:
            raise ValueError("action is missing: it names the column of the actions")
        widths = {len(columns) for columns in self.per_seat.values() if isinstance(columns, list)}
        if len(widths) > 1:
            raise ValueError("lists of columns differ in length: write one column for each seat")
        if widths and self.seat:
            raise ValueError("seat names a column, and others have a column for each seat: write one or the other")
        if self.rules_of_condition and not self.condition and self.format in TABLES:
            raise ValueError("rules_of_condition needs condition: it names the column")

    @property
    def per_seat(self) -> dict[str, Columns]:
        """Field -> its columns, for all fields that may differ between seats and are recorded. Labels are `label NAME`."""
        fields = {name: getattr(self, name) for name in PER_SEAT if getattr(self, name)}
        return fields | {f"label {name}": label.column for name, label in self.labels.items()}

    @property
    def seats(self) -> int:
        """How many seats a row has; 0 where a row is one seat."""
        return next((len(columns) for columns in self.per_seat.values() if isinstance(columns, list)), 0)


def read_mapping(path: Path) -> Mapping:
    """The mapping in a file of YAML. Raises AgonError."""
    return as_mapping(document(path), display_path(path))


def as_mapping(settings: object, source: str) -> Mapping:
    """Settings as a checked mapping. `source` names them in messages. Raises AgonError."""
    try:
        return msgspec.convert(settings, Mapping)
    except msgspec.ValidationError as error:
        raise AgonError(f"{source}: {describe_fault(error, Mapping, settings)}") from None
