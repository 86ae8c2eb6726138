"""The original layout of the counterfactual paper's games: one `game.json` per game, its conditions in the path.

    logs*/logs_3/{data|data_tot}/iteration_R/MODEL/{pd|rps}/VARIANT/{pd|rps}_STYLE_OPPONENT/game.json

`data_tot` is self-consistency, `default` is zero-shot.
The variant is the one of the record's payoffs, whatever the folder VARIANT is called.
"""

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pya

from agon.errors import describe_fault
from agon.turns import COUNT, TEXT
from agon_papers.ingest.base import LARGEST, Bad, Conditions, Records, Settings, Unusable, categorical, find_files

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]

_PATH = re.compile(
    r"(?:^|/)logs_3/(?P<folder>data|data_tot)/iteration_(?P<repetition>[0-9]{1,9})/(?P<model>[^/]+)/(?:pd|rps)/[^/]+/"
    r"(?:pd|rps)_(?P<style>zs|default|cot|spp)_(?P<opponent>zs|default|cot|spp|srep|pp|mf|ap|tft)/game\.json\Z"
)
_ROUND_ENDS = "You scored "
"""Every user message that ends a round tells the points; one that asks again does not.

A player that was never asked, because the other gave up first, gets the ends of two rounds in one message: hence the count.
"""


class Part(msgspec.Struct, gc=False):
    """A piece of a message; pieces that are not text have none."""

    text: str = ""


class Message(msgspec.Struct, gc=False):
    """One message of a player's context."""

    role: Literal["user", "assistant"]
    content: list[Part]


class Record(msgspec.Struct, gc=False):
    """The keys of a game.json that are read; lists have one entry per round. msgspec passes over all other keys."""

    player_0_player_type: str
    player_1_player_type: str
    player_0_temperature: float
    player_0_max_tokens: Count
    player_0_moves: list[str | None]
    player_1_moves: list[str | None]
    player_0_points: list[float]
    player_1_points: list[float]
    player_0_tokens: list[Count]
    player_1_tokens: list[Count]
    player_0_context: list[Message]
    player_1_context: list[Message]
    valid_outcomes: list[bool]
    game_settings: Settings


class Answers(NamedTuple):
    """One seat's answers by round, from its context."""

    replies: list[str | None]
    """The last answer of the round; absent where the seat was not asked."""
    attempts: list[int | None]
    """How many answers the seat gave in the round; absent, like the replies, where there is a `fault`."""
    fault: str = ""
    """Why the context does not fit the rounds."""


class RecordedGame(NamedTuple):
    """One recorded game; pairs are by seat, their lists by round."""

    conditions: Conditions
    valid: list[bool]
    moves: tuple[list[str | None], list[str | None]]
    points: tuple[list[float], list[float]]
    tokens: tuple[list[int], list[int]]
    answers: tuple[Answers, Answers]


_decoder = msgspec.json.Decoder(Record)


def read_originals(folder: Path) -> Records:
    """Every game.json below a folder, by path. Raises AgonError when there is none."""
    games: list[RecordedGame] = []
    bad: list[Bad] = []
    parent = _printable(folder.absolute().as_posix())
    for file in find_files(folder, "game.json"):
        path = _printable(file.relative_to(folder).as_posix())
        try:
            if not file.is_file():
                raise Unusable("is no regular file")
            games.append(parse_game(path, file.read_bytes(), parent))
        except OSError as error:
            bad.append(Bad(path, f"cannot be read: {error.strerror or error}"))
        except Unusable as reason:
            bad.append(Bad(path, str(reason)))
    games.sort(key=lambda game: game.conditions.path)
    return Records([game.conditions for game in games], _rows(games), bad)


def _printable(path: str) -> str:
    """A path as UTF-8, whatever bytes the file system has."""
    return path.encode("utf-8", "backslashreplace").decode()


def parse_game(path: str, data: bytes, folder: str) -> RecordedGame:
    """The game in one file. `folder`, where `path` begins, may name a part of the conditions. Raises Unusable."""
    names = _PATH.search(f"{folder}/{path}")
    if names is None:
        raise Unusable("its path is not .../logs_3/{data|data_tot}/iteration_R/MODEL/GAME/VARIANT/GAME_STYLE_OPPONENT")
    record = _parse_record(data)
    style, opponent = _style(names["style"]), _style(names["opponent"])
    kinds = record.player_0_player_type, record.player_1_player_type
    if (_style(kinds[0]), _style(kinds[1])) != (style, opponent):
        raise Unusable(f"is in a folder for {style} against {opponent}, but {kinds[0]:.20} played {kinds[1]:.20}")
    answers = (
        _split_answers(record.player_0_context, record.player_0_moves),
        _split_answers(record.player_1_context, record.player_1_moves),
    )
    conditions = Conditions(
        path=path,
        model=names["model"],
        style=style,
        self_consistency=names["folder"] == "data_tot",
        opponent=opponent,
        repetition=int(names["repetition"]),
        temperature=record.player_0_temperature,
        max_tokens=record.player_0_max_tokens,
        settings=record.game_settings,
        left_out="; ".join(
            f"replies of seat {at} left out: {seat.fault}" for at, seat in enumerate(answers) if seat.fault
        ),
    )
    return RecordedGame(
        conditions=conditions,
        valid=record.valid_outcomes,
        moves=(record.player_0_moves, record.player_1_moves),
        points=(record.player_0_points, record.player_1_points),
        tokens=(record.player_0_tokens, record.player_1_tokens),
        answers=answers,
    )


def _parse_record(data: bytes) -> Record:
    try:
        _ = data.isascii() or data.decode()  # msgspec looks only at what it keeps
        record = _decoder.decode(data)
    except UnicodeDecodeError as error:
        raise Unusable(f"is not UTF-8: byte {error.start} cannot be read") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unusable(f"is no recorded game: {describe_fault(error, Record)}") from None
    rounds = len(record.valid_outcomes)
    for name in ("moves", "points", "tokens"):
        for seat in (0, 1):
            if (length := len(getattr(record, f"player_{seat}_{name}"))) != rounds:
                raise Unusable(f"player_{seat}_{name} has {length} entries, valid_outcomes {rounds}")
    return record


def _style(name: str) -> str:
    return "zs" if name == "default" else name


def _split_answers(context: list[Message], moves: list[str | None]) -> Answers:
    """A seat's answers, from the messages of its context."""
    replies: list[str | None] = []
    attempts: list[int | None] = []
    reply, count = None, 0
    for message in context:
        content = message.content
        text = content[0].text if len(content) == 1 else "".join([part.text for part in content])
        if message.role == "assistant":
            reply, count = text, count + 1
        elif rounds := text.count(_ROUND_ENDS):
            replies += [reply, *[None] * (rounds - 1)]
            attempts += [count, *[0] * (rounds - 1)]
            reply, count = None, 0
    fault = ""
    if len(replies) != len(moves):
        fault = f"its context tells of {len(replies)} rounds, not {len(moves)}"
    elif None in replies and any(move and not answers for answers, move in zip(attempts, moves, strict=True)):
        fault = "its context lacks the answer of a recorded move"
    return Answers([None] * len(moves), [None] * len(moves), fault) if fault else Answers(replies, attempts)


def _rows(games: list[RecordedGame]) -> pd.DataFrame:
    rounds = [len(game.valid) for game in games]

    def by_seat(pairs: Iterable[tuple[list[Any], list[Any]]], dtype: Any) -> np.ndarray:
        seats = [list(chain.from_iterable(lists)) for lists in zip(*pairs, strict=True)] or [[], []]
        return np.array(seats, dtype).T.ravel()

    replies = by_seat(((one.replies, other.replies) for one, other in (game.answers for game in games)), object)
    attempts = by_seat(((one.attempts, other.attempts) for one, other in (game.answers for game in games)), object)
    return pd.DataFrame(
        {
            "match": np.arange(len(games)).repeat(rounds).repeat(2),
            "round": np.concatenate([np.arange(1, count + 1) for count in [0, *rounds]]).repeat(2),
            "valid": np.array(list(chain.from_iterable(game.valid for game in games)), np.bool_).repeat(2),
            "action": categorical(by_seat((game.moves for game in games), object).tolist()),
            "points": by_seat((game.points for game in games), np.float64),
            "tokens": by_seat((game.tokens for game in games), np.int64),
            "reply": pd.array(pya.array(replies, pya.large_string()), TEXT),
            "attempts": pd.array(attempts.tolist(), COUNT),
        }
    )
