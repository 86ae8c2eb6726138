"""The original layout of the counterfactual paper's games: one `game.json` per game, its conditions in the path.

    logs*/logs_3/{data|data_tot}/iteration_R/MODEL/{pd|rps}/VARIANT/{pd|rps}_STYLE_OPPONENT/game.json

`data_tot` is self-consistency, `default` is zero-shot. The folder VARIANT is not believed: the record's payoffs are.
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

from agon.errors import AgonError, fault_of
from agon.ingest.base import Bad
from agon.ingest.files import files, printable
from agon.ingest.recorded import MOST, Conditions, Recorded, Settings, Unusable, labelled
from agon.paths import shown
from agon.turns import COUNT, TEXT

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]

_PATH = re.compile(
    r"(?:^|/)logs_3/(?P<folder>data|data_tot)/iteration_(?P<repetition>[0-9]{1,9})/(?P<model>[^/]+)/(?:pd|rps)/[^/]+/"
    r"(?:pd|rps)_(?P<style>zs|default|cot|spp)_(?P<opponent>zs|default|cot|spp|srep|pp|mf|ap|tft)/game\.json\Z"
)
KEPT = 3 << 27
"""Letters of replies that are held at once; all games of the paper have less than half of this."""

_ROUND_ENDS = "You scored "
"""Every user message that ends a round tells the points; one that asks again does not.

A player that was never asked, because the other gave up first, is told two things in one message: hence the count.
"""


class Part(msgspec.Struct, gc=False):
    """A piece of a message; pieces that are not text have none."""

    text: str = ""


class Message(msgspec.Struct, gc=False):
    """One message of a player's context."""

    role: Literal["user", "assistant"]
    content: list[Part]


class Record(msgspec.Struct, gc=False):
    """What is read of a game.json; lists have one entry per round. msgspec passes over all other keys."""

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


class Told(NamedTuple):
    """What a context holds of one seat's answers, by round."""

    replies: list[str | None]
    """The last answer of the round; absent where the seat was not asked."""
    attempts: list[int | None]
    """Answers given in the round; absent, like the replies, where `fault`."""
    fault: str = ""
    """Why nothing could be told: the context does not fit the rounds."""


class Played(NamedTuple):
    """One recorded game; pairs are by seat, their lists by round."""

    conditions: Conditions
    valid: list[bool]
    moves: tuple[list[str | None], list[str | None]]
    points: tuple[list[float], list[float]]
    tokens: tuple[list[int], list[int]]
    told: tuple[Told, Told]


_decoder = msgspec.json.Decoder(Record)


def originals(path: Path) -> Recorded:
    """Every game.json under a folder or in an archive, by path. Raises AgonError when there is none."""
    games: list[Played] = []
    bad: list[Bad] = []
    folder = printable(path.absolute().as_posix())
    kept = 0
    for found in files(path, "game.json"):
        if isinstance(found, Bad):
            bad.append(found)
            continue
        try:
            games.append(played(found.path, found.data, folder))
        except Unusable as reason:
            bad.append(Bad(found.path, str(reason)))
            continue
        kept += sum(len(reply) for seat in games[-1].told for reply in seat.replies if reply)
        if kept > KEPT:
            raise AgonError(f"{shown(path)} holds more than {KEPT >> 20} MiB of replies: ingest it in parts")
    games.sort(key=lambda game: game.conditions.path)
    return Recorded([game.conditions for game in games], _rows(games), bad)


def played(path: str, data: bytes, folder: str = "") -> Played:
    """The game in one file; `folder` is where `path` begins, and may hold a part of the conditions. Raises Unusable."""
    where = _PATH.search(f"{folder}/{path}")
    if where is None:
        raise Unusable("its path is not .../logs_3/{data|data_tot}/iteration_R/MODEL/GAME/VARIANT/GAME_STYLE_OPPONENT")
    record = _record(data)
    style, opponent = _style(where["style"]), _style(where["opponent"])
    kinds = record.player_0_player_type, record.player_1_player_type
    if (_style(kinds[0]), _style(kinds[1])) != (style, opponent):
        raise Unusable(f"is in a folder for {style} against {opponent}, but {kinds[0]:.20} played {kinds[1]:.20}")
    told = (
        _told(record.player_0_context, record.player_0_moves),
        _told(record.player_1_context, record.player_1_moves),
    )
    conditions = Conditions(
        path=path,
        model=where["model"],
        style=style,
        self_consistency=where["folder"] == "data_tot",
        opponent=opponent,
        repetition=int(where["repetition"]),
        temperature=record.player_0_temperature,
        max_tokens=record.player_0_max_tokens,
        settings=record.game_settings,
        left_out="; ".join(
            f"replies of seat {at} left out: {seat.fault}" for at, seat in enumerate(told) if seat.fault
        ),
    )
    return Played(
        conditions=conditions,
        valid=record.valid_outcomes,
        moves=(record.player_0_moves, record.player_1_moves),
        points=(record.player_0_points, record.player_1_points),
        tokens=(record.player_0_tokens, record.player_1_tokens),
        told=told,
    )


def _record(data: bytes) -> Record:
    try:
        _ = data.isascii() or data.decode()  # msgspec looks only at what it keeps
        record = _decoder.decode(data)
    except UnicodeDecodeError as error:
        raise Unusable(f"is not UTF-8: byte {error.start} cannot be read") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unusable(f"is no recorded game: {fault_of(error, Record)}") from None
    rounds = len(record.valid_outcomes)
    for name in ("moves", "points", "tokens"):
        for seat in (0, 1):
            if (length := len(getattr(record, f"player_{seat}_{name}"))) != rounds:
                raise Unusable(f"player_{seat}_{name} has {length} entries, valid_outcomes {rounds}")
    return record


def _style(name: str) -> str:
    return "zs" if name == "default" else name


def _told(context: list[Message], moves: list[str | None]) -> Told:
    replies: list[str | None] = []
    attempts: list[int | None] = []
    reply, answers = None, 0
    for message in context:
        content = message.content
        text = content[0].text if len(content) == 1 else "".join([part.text for part in content])
        if message.role == "assistant":
            reply, answers = text, answers + 1
        elif rounds := text.count(_ROUND_ENDS):
            replies += [reply, *[None] * (rounds - 1)]
            attempts += [answers, *[0] * (rounds - 1)]
            reply, answers = None, 0
    fault = ""
    if len(replies) != len(moves):
        fault = f"its context tells of {len(replies)} rounds, not {len(moves)}"
    elif None in replies and any(not said and move for said, move in zip(attempts, moves, strict=True)):
        fault = "its context lacks the answer of a recorded move"
    return Told([None] * len(moves), [None] * len(moves), fault) if fault else Told(replies, attempts)


def _rows(games: list[Played]) -> pd.DataFrame:
    rounds = [len(game.valid) for game in games]

    def by_seat(pairs: Iterable[tuple[list[Any], list[Any]]], dtype: Any) -> np.ndarray:
        seats = [list(chain.from_iterable(lists)) for lists in zip(*pairs, strict=True)] or [[], []]
        return np.array(seats, dtype).T.ravel()

    replies = by_seat(((one.replies, other.replies) for one, other in (game.told for game in games)), object)
    attempts = by_seat(((one.attempts, other.attempts) for one, other in (game.told for game in games)), object)
    return pd.DataFrame(
        {
            "match": np.arange(len(games)).repeat(rounds).repeat(2),
            "round": np.concatenate([np.arange(1, count + 1) for count in [0, *rounds]]).repeat(2),
            "valid": np.array(list(chain.from_iterable(game.valid for game in games)), np.bool_).repeat(2),
            "action": labelled(by_seat((game.moves for game in games), object).tolist()),
            "points": by_seat((game.points for game in games), np.float64),
            "tokens": by_seat((game.tokens for game in games), np.int64),
            "reply": pd.array(pya.array(replies, pya.large_string()), TEXT),
            "attempts": pd.array(attempts.tolist(), COUNT),
        }
    )
