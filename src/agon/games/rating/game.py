"""Rating: one rater reads the log of a finished match and judges every player in every turn, one dimension after another."""

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from agon.errors import describe_fault
from agon.games.base import PUBLIC, Dice, Game, Note, Observation, Times, refuse_illegal
from agon.games.reading import Reading
from agon.games.schemas import Schema, keys, object_of
from agon.games.spaces import Space
from agon.registry import kind

SCORED = (
    *("goal_alignment", "cooperation", "adaptability", "intention_concealment"),
    *("strategic_planning", "self_interested_behavior", "information_utilization", "persuasion"),
)
"""Dimensions that are given a score from 0 to 1."""
THEORY_OF_MIND = "theory_of_mind"
"""The dimension that is answered by three booleans, one for each of ORDERS."""
DIMENSIONS = (*SCORED, THEORY_OF_MIND)
SCORE: Schema = {
    "type": "string",
    "pattern": r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$",
    "description": 'a number from 0 to 1, written as a text such as "0.5"',
}
"""A score where answers are constrained."""
ORDERS = ("first", "second", "third")
"""First: thoughts about the mind of another. Second: thoughts about what the other thinks of oneself. Third: anything deeper."""


class Log(msgspec.Struct):
    """A match that can be rated, as agon.games.rating.logs makes it. It also has the facts that raters may not see."""

    match: str
    """Its id."""
    game: str
    """Its family."""
    players: list[str]
    turns: list[list[dict[str, Any]]]
    """The entries of each turn, in order: a player's act and its outcome. No other player saw a `thought`."""
    targets: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """The target of each player; empty if it is unknown."""
    won: list[bool] = msgspec.field(default_factory=list)
    """Whether each player won; empty if it is unknown."""
    source: str = ""
    """Where the match comes from."""

    def __post_init__(self) -> None:
        has_names = all(player.strip() and player.isprintable() for player in self.players)
        if not has_names or len(set(self.players)) < max(1, len(self.players)):
            raise ValueError("`players` must be a list of different names, each in one line")
        if not self.turns:
            raise ValueError("`turns` must be a list with a list of entries for each turn")
        for what in ("targets", "won"):
            if getattr(self, what) and len(getattr(self, what)) != len(self.players):
                raise ValueError(f"`{what}` must have an entry for each of the {len(self.players)} players, or none")


class VisibleLog(NamedTuple):
    """The part of a log that the rater sees."""

    name: str
    game: str
    """The family of the game that was played."""
    players: tuple[str, ...]
    turns: tuple[tuple[str, ...], ...]
    """The entries of each turn in order, each as JSON in one line."""
    targets: str = ""
    """JSON: player -> target; empty if it is hidden."""
    result: str = ""
    """JSON: player -> whether it won; empty if it is hidden."""
    thoughts: bool = False
    """Whether entries contain the thoughts of players."""


class State(NamedTuple):
    """Where a rating stands."""

    done: int
    """The number of dimensions that have been judged."""
    notes: tuple[Note, ...] = ()
    """Notes on the last step, for the turns' column `detail`."""


@dataclass(frozen=True, slots=True)
class Ratings(Space):
    """A legal action is a list of [turn, player, value, justification], every turn (from 1) and player exactly once.

    A value is a number from 0 to 1 or, where `orders`, a list of three booleans (ORDERS). A justification may be empty.
    """

    turns: int
    players: tuple[str, ...]
    orders: bool = False
    length: int = 2000
    """Characters of a justification, at most."""

    def __contains__(self, action: object) -> bool:
        return not self.fault(action)

    def fault(self, action: object) -> str:
        """The fault of an action in a few words; empty for a legal one."""
        if not isinstance(action, tuple | list):
            return "it is no list of ratings"
        judged: set[tuple[int, str]] = set()
        for row in action:
            if not isinstance(row, tuple | list) or len(row) != 4:
                return "a rating does not have turn, player, value and justification"
            turn, player, value, why = row
            if type(turn) is not int or not 1 <= turn <= self.turns:
                return f"there is no turn {_short(turn)}: turns are 1 to {self.turns}"
            if not isinstance(player, str) or player not in self.players:
                return f"there is no player {_short(player)}: players are {', '.join(self.players)}"
            if (turn, player) in judged:
                return f"{player} in turn {turn} is rated twice"
            if fault := self.fault_of(value) or self._unfit(why):
                return f"{player} in turn {turn}: {fault}"
            judged.add((turn, player))
        for turn, player in self.units():
            if (turn, player) not in judged:
                return f"{player} in turn {turn} is not rated"
        return ""

    def units(self) -> list[tuple[int, str]]:
        """Every turn and player that is to be rated, in order."""
        return [(turn, player) for turn in range(1, self.turns + 1) for player in self.players]

    def fault_of(self, value: object) -> str:
        """The fault of one value; empty for a legal one."""
        if self.orders:
            three = (
                isinstance(value, tuple | list) and len(value) == 3 and all(type(answer) is bool for answer in value)
            )
            return "" if three else f"{', '.join(ORDERS)} must each be true or false"
        number = type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]
        return "" if number else f"the score {_short(value)} is no number from 0 to 1"

    def _unfit(self, why: object) -> str:
        if not isinstance(why, str):
            return "the justification is no text"
        if len(why) > self.length:
            return f"the justification has {len(why)} characters; at most {self.length} are allowed"
        return "the justification cannot be written down" if any("\ud800" <= c <= "\udfff" for c in why) else ""

    def as_json(self) -> dict[str, Any]:
        """The space as plain data, for the turns' column `legal`."""
        kind = list(ORDERS) if self.orders else "score"
        return {"ratings": {"turns": self.turns, "players": list(self.players), "value": kind}}

    def example(self, dice: Dice) -> tuple[Any, ...]:
        """Scores in tenths, or booleans, drawn at random, without justification."""

        def value() -> Any:
            return tuple(dice.random() < 0.5 for _ in ORDERS) if self.orders else int(dice.random() * 11) / 10

        return tuple((turn, player, value(), "") for turn, player in self.units())

    def format(self, action: Any) -> str:
        """The ratings as JSON in one line, as a rater writes them. An empty justification becomes a dash, as raters must give one."""
        rows = []
        for turn, player, value, why in action:
            fields = dict(zip(ORDERS, value, strict=True)) if self.orders else {"score": value}
            rows.append({"turn": turn, "player": player, **fields, "justification": why if why.strip() else "-"})
        return json.dumps({"ratings": rows}, ensure_ascii=False)

    def read(self, text: str, last: bool = False) -> Reading:
        """The ratings in an answer: one JSON object."""
        return Reading(*parse_ratings(text, self))

    def schema(self) -> Schema:
        """An object of turns, each of players, each with a value and a justification."""
        value: dict[str, Schema] = {order: {"type": "boolean"} for order in ORDERS} if self.orders else {"score": SCORE}
        rating = object_of(value | {"justification": {"type": "string", "maxLength": self.length}})
        turn = object_of(dict.fromkeys(keys(self.players), rating))
        return object_of({f"turn_{number}": turn for number in range(1, self.turns + 1)})

    def encode(self, action: Any) -> Any:
        """The ratings by turn and player."""
        turns: dict[str, dict[str, Any]] = {}
        names = dict(zip(self.players, keys(self.players), strict=True))
        for turn, player, value, why in action:
            fields = dict(zip(ORDERS, value, strict=True)) if self.orders else {"score": f"{value:.6f}"}
            turns.setdefault(f"turn_{turn}", {})[names[player]] = fields | {"justification": why}
        return turns

    def decode(self, value: Any) -> Any | None:
        """The ratings as a list."""
        ratings = []
        for number, turn in enumerate(value.values(), 1):
            for player, rating in zip(self.players, turn.values(), strict=True):
                judged = tuple(rating[order] for order in ORDERS) if self.orders else float(rating["score"])
                ratings.append((number, player, judged, rating["justification"]))
        return tuple(ratings)


@kind("agon.games.rating.Rating")
@dataclass(frozen=True)
class Rating(Game[State]):
    """The assessor of paper TradeCraft, section 3.2, as a game with one seat and no points: a step is a dimension.

    `log`: a Log, as JSON. The rater does not see the thoughts of players, their targets and the winners. With `targets` it
    sees the targets; with `full`, as published, it sees all three.
    """

    name: str
    variant: str
    log: str = field(repr=False)
    dimensions: Sequence[str] = DIMENSIONS
    targets: bool = False
    full: bool = False
    rules: int = 1
    seats: int = field(init=False, default=1)
    match: str = field(init=False, default="")
    """The id of the match that is rated."""
    seen: VisibleLog = field(init=False, repr=False, compare=False)
    """The part of the log that the rater sees."""

    def __post_init__(self) -> None:
        unknown = [dimension for dimension in self.dimensions if dimension not in DIMENSIONS]
        if unknown or not self.dimensions or len(set(self.dimensions)) < len(self.dimensions):
            raise ValueError(f"{self.name}: dimensions must be some of {', '.join(DIMENSIONS)}, each once")
        try:
            log = msgspec.convert(json.loads(self.log), Log)
        except msgspec.ValidationError as error:
            raise ValueError(f"{self.name}: {describe_fault(error, Log)}") from None
        object.__setattr__(self, "dimensions", tuple(self.dimensions))
        object.__setattr__(self, "match", log.match)
        object.__setattr__(self, "seen", visible_log(self.name, log, self.targets or self.full, self.full))

    def times_asked(self, seat: int) -> Times:
        """Once for each dimension."""
        return Times(len(self.dimensions), len(self.dimensions))

    def start(self, dice: Dice) -> State:
        """No chance: nothing has been judged."""
        return State(0)

    def to_move(self, state: State) -> tuple[int, ...]:
        """The rater, until all dimensions are judged."""
        return (0,) if state.done < len(self.dimensions) else ()

    def legal_actions(self, state: State, seat: int) -> Ratings:
        """A value for every turn and player."""
        log = self.seen
        return Ratings(len(log.turns), log.players, self._now(state) == THEORY_OF_MIND)

    def observe(self, state: State, seat: int) -> Observation:
        """The log, without the ratings of other dimensions, so that each is judged by itself. The phase is the dimension."""
        dimension = self._now(state)
        return Observation(seat, state.done + 1, self.legal_actions(state, seat), (), self.seen, dimension)

    def notes(self, state: State) -> tuple[Note, ...]:
        """`rated`: the id of the match. `view`: the part of its log that the rater saw."""
        return state.notes

    def watch(self, state: State) -> Observation:
        """An empty observation: only the rater sees the log."""
        return Observation(PUBLIC, state.done + 1, None, (), None)

    def step(self, state: State, actions: Mapping[int, Any]) -> tuple[State, tuple[float, ...]]:
        """Goes on to the next dimension, whether or not the answer could be read; pays nothing. Raises IllegalAction."""
        refuse_illegal(self, state, actions)
        return State(state.done + 1, ((0, "rated", self.match), (0, "view", self.view))), (0.0,)

    def _now(self, state: State) -> str:
        """The dimension to come, or the last one when all are judged."""
        return self.dimensions[min(state.done, len(self.dimensions) - 1)]

    @property
    def view(self) -> str:
        """The part of the log that the rater sees, in a word or two."""
        return "full" if self.full else "with targets" if self.targets else "blind"


def log_fault(log: object) -> str:
    """The fault of a JSON value that is no log; empty for a log."""
    try:
        msgspec.convert(log, Log)
    except msgspec.ValidationError as error:
        return describe_fault(error, Log)
    return ""


def visible_log(name: str, log: Log, targets: bool, full: bool) -> VisibleLog:
    """The part of a log that a rater sees. Thoughts and result are hidden unless `full`; targets are hidden unless `targets`."""
    turns = tuple(tuple(line(entry) for entry in _visible_entries(turn, full)) for turn in log.turns)
    aims = dict(zip(log.players, log.targets, strict=False)) if targets else {}
    won = dict(zip(log.players, log.won, strict=False)) if full else {}
    targets_text, result_text = (line(value) if value else "" for value in (aims, won))
    return VisibleLog(name, log.game, tuple(log.players), turns, targets_text, result_text, full)


def _visible_entries(turn: Sequence[Mapping[str, Any]], full: bool) -> list[Mapping[str, Any]]:
    """All entries of a turn if `full`. Otherwise thoughts are removed, and entries that contain nothing else."""
    if full:
        return list(turn)
    visible = [{key: value for key, value in entry.items() if key != "thought"} for entry in turn]
    return [entry for entry in visible if set(entry) - {"player", "phase"}]


def line(value: Any) -> str:
    """JSON in one line. Characters that are invisible, change the direction of text or break lines are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isascii():
        return text
    return "".join(json.dumps(c)[1:-1] if unicodedata.category(c) in HIDDEN else c for c in text)


HIDDEN = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
"""Unicode categories of characters that a reader cannot see, or that break lines."""


def _short(value: object) -> str:
    text = line(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    return text if len(text) <= 40 else text[:37] + "..."


# ---- ratings in what a rater wrote ----

_TAG = "[move]"


class Unreadable(ValueError):
    """An answer is no rating; the message says why, in one line."""


def parse_ratings(text: str, legal: Ratings) -> tuple[tuple[Any, ...] | None, str]:
    """The ratings in an answer (without its thinking), in order; or None and the fault in one line.

    The ratings are the one JSON object after the [move] tag, or in the whole answer if there is no tag. Nothing is guessed, repaired
    or clipped: an additional or missing key, a number as a text or a missing turn makes the whole answer unreadable.
    """
    if not text.strip():
        return None, "the answer is empty"
    _, tag, after = text.partition(_TAG)
    if _TAG in after.partition("{")[0]:
        return None, f"there are {text.count(_TAG)} [move] tags"
    try:
        rows = _rows(_object(after if tag else text), legal)
    except Unreadable as fault:
        return None, str(fault)
    if fault_of_rows := legal.fault(rows):
        return None, fault_of_rows
    places = {unit: place for place, unit in enumerate(legal.units())}
    return tuple(sorted(rows, key=lambda row: places[row[0], row[1]])), ""


def _object(text: str) -> Any:
    start, end = text.find("{"), text.rfind("}") + 1
    if start < 0 or end <= start:
        raise Unreadable("there is no JSON object")
    try:
        return json.loads(text[start:end], object_pairs_hook=_unique_keys, parse_constant=_reject_constant)
    except Unreadable:
        raise
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it is nested too deeply" if isinstance(error, RecursionError) else "")
        raise Unreadable(f"the JSON cannot be read ({reason or 'a number is too long'})") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Unreadable("a key stands twice in one JSON object")
    return values


def _reject_constant(name: str) -> Any:
    raise Unreadable(f"{name} is no number")


def _rows(answer: Any, legal: Ratings) -> list[tuple[Any, ...]]:
    """[turn, player, value, justification] of each entry."""
    if not isinstance(answer, dict) or set(answer) != {"ratings"} or not isinstance(answer["ratings"], list):
        raise Unreadable('the JSON object must have "ratings", a list, and nothing else')
    value_keys = ORDERS if legal.orders else ("score",)
    entry_keys = {"turn", "player", *value_keys, "justification"}
    rows = []
    for place, entry in enumerate(answer["ratings"], 1):
        if not isinstance(entry, dict) or set(entry) != entry_keys:
            raise Unreadable(f"entry {place} must have {', '.join(sorted(entry_keys))}, and nothing else")
        if not isinstance(entry["justification"], str) or not entry["justification"].strip():
            raise Unreadable(f"entry {place} has no justification")
        value = tuple(entry[order] for order in ORDERS) if legal.orders else entry["score"]
        rows.append((entry["turn"], entry["player"], value, entry["justification"]))
    return rows
