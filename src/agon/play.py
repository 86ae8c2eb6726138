"""Matches into turns: the only place where games meet agents."""

import asyncio
import gc
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from agon import AgonError
from agon.agents import Reply, seat_dice
from agon.games import IllegalAction, Observation
from agon.plan import Match
from agon.records import COLUMNS, COUNT, LABEL, read, typed, write

Views = dict[int, Observation]


Step = tuple[Views, dict[int, Any], tuple[float, ...]]
"""What the seats asked saw, what they answered (an action from a script, else a Reply), and what every seat was paid."""

TABLE = -1
"""Whose dice the game itself throws."""


def play_now(match: Match) -> list[Step]:
    """All steps of a match between scripts, without an event loop (an await costs more than a script's answer)."""
    game, scripts = match.game, [seat.player for seat in match.seats]
    to_move, observe, step = game.to_move, game.observe, game.step
    dice = [seat_dice(match.seed, seat) for seat in range(len(scripts))]
    steps: list[Step] = []
    try:
        state = game.start(seat_dice(match.seed, TABLE))
        while seats := to_move(state):
            views, actions = {}, {}
            for seat in seats:
                views[seat] = view = observe(state, seat)
                actions[seat] = scripts[seat](view, dice[seat])
            state, payoffs = step(state, actions)
            steps.append((views, actions, payoffs))
    except Exception as error:
        raise AgonError(f"match {match.id} ({_who(match)}): {type(error).__name__}: {error}") from error
    return steps


async def play_async(match: Match) -> list[Step]:
    """All steps of a match; seats that move at once are asked at once, and may answer in any order.

    The result depends on the match and its players' answers alone, not on what else is being played.
    """
    game = match.game
    players = [seat.player if seat.immediate else seat.player() for seat in match.seats]
    dice = [seat_dice(match.seed, seat) for seat in range(len(players))]

    async def answer(seat: int, view: Observation) -> Reply:
        if match.seats[seat].immediate:
            return Reply(players[seat](view, dice[seat]))
        reply: Reply = await players[seat].act(view, dice[seat])
        return reply

    steps: list[Step] = []
    try:
        state = game.start(seat_dice(match.seed, TABLE))
        while seats := game.to_move(state):
            views = {seat: game.observe(state, seat) for seat in seats}
            replies = await asyncio.gather(*(answer(seat, view) for seat, view in views.items()))
            state, payoffs = game.step(state, {seat: reply.action for seat, reply in zip(seats, replies, strict=True)})
            steps.append((views, dict(zip(seats, replies, strict=True)), payoffs))
    except (IllegalAction, ValueError) as error:
        raise AgonError(f"match {match.id} ({_who(match)}): {error}") from error
    return steps


def _who(match: Match) -> str:
    return f"{match.game.name} {match.game.variant}: {' against '.join(seat.agent for seat in match.seats)}"


def play(
    matches: Sequence[Match], journal: Path, concurrency: int = 8, tick: Callable[[int], object] = lambda n: None
) -> pd.DataFrame:
    """The turns of `matches`, in their order. Every few seconds what is done goes to the folder `journal`, durably.

    Matches that the journal holds are not played again, so a killed run goes on where it was; `tick` is told how many
    matches have been added. Scripts play at once; players that take their time play `concurrency` matches at a time.
    """
    kept = [part for part in map(_part, sorted(journal.glob("*.parquet"))) if part is not None]
    known = {match for part in kept for match in part.match.cat.categories}
    tick(sum(match.id in known for match in matches))
    waiting = [match for match in matches if match.id not in known]
    writer = _Journal(journal, kept, tick)
    try:
        _play_scripts([match for match in waiting if all(seat.immediate for seat in match.seats)], writer.add)
        slow = [match for match in waiting if not all(seat.immediate for seat in match.seats)]
        if slow:
            asyncio.run(_play_slow(slow, concurrency, writer.add))
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        writer.flush()  # also what was done before an error
    return ordered(kept, matches)


def _play_scripts(matches: Iterable[Match], done: Callable[[Match, list[Step]], None]) -> None:
    gc.disable()  # matches make many small tuples and no cycles
    try:
        for match in matches:
            done(match, play_now(match))
    finally:
        gc.enable()


async def _play_slow(matches: Iterable[Match], concurrency: int, done: Callable[[Match, list[Step]], None]) -> None:
    waiting = iter(matches)

    async def worker() -> None:
        for match in waiting:
            done(match, await play_async(match))

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())


class _Journal:
    """Played matches on their way to disk: a part is written when enough has gathered or enough time has passed."""

    matches, seconds = 2000, 2.0

    def __init__(self, folder: Path, kept: list[pd.DataFrame], tick: Callable[[int], object]) -> None:
        self.folder, self.kept, self.tick = folder, kept, tick
        self.waiting: list[tuple[Match, list[Step]]] = []
        self.since = monotonic()

    def add(self, match: Match, steps: list[Step]) -> None:
        """One more match is done."""
        self.waiting.append((match, steps))
        if len(self.waiting) >= self.matches or monotonic() - self.since > self.seconds:
            self.flush()

    def flush(self) -> None:
        """Writes what has gathered."""
        if self.waiting:
            part = table(self.waiting)
            write(part, self.folder / f"{self.waiting[0][0].id}-{len(self.waiting)}-{os.getpid()}.parquet")
            self.kept.append(part)
            self.tick(len(self.waiting))
        self.waiting, self.since = [], monotonic()


def _part(path: Path) -> pd.DataFrame | None:
    try:
        return read(path)
    except AgonError:  # torn: its matches are played again
        path.unlink()
        return None


def ordered(parts: Sequence[pd.DataFrame], matches: Sequence[Match]) -> pd.DataFrame:
    """One turns table of all `parts`, in the order of `matches`; of a match that several parts hold, the first one's."""
    place = {match.id: index for index, match in enumerate(matches)}
    seen: set[str] = set()
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for part in parts:
        new = part[part.match.isin(place) & ~part.match.isin(seen)]
        seen.update(new.match.unique())
        for name in COLUMNS:
            columns[name].append(new[name])
    merged = {
        name: union_categoricals(values) if COLUMNS[name][0] is LABEL else pd.concat(values, ignore_index=True)
        for name, values in columns.items()
        if values
    }
    turns = typed(merged)
    return turns.iloc[np.argsort(turns.match.map(place).to_numpy(), kind="stable")].reset_index(drop=True)


def table(played: Sequence[tuple[Match, list[Step]]]) -> pd.DataFrame:
    """The turns of played matches: match by match, turn by turn, seat by seat; a seat paid without being asked has a row."""
    views: list[Observation] = []
    answers: list[Any] = []
    payoffs: list[float] = []
    asked: list[int] = []
    for match, steps in played:
        seats = match.game.seats
        for seen, replies, worth in steps:
            if len(seen) == seats:
                views += seen.values()
                answers += replies.values()
                payoffs += worth
                asked.append(seats)
                continue
            paid = [seat for seat in range(seats) if seat in seen or worth[seat]]
            views += [seen.get(seat) or _unasked(seen, seat) for seat in paid]
            answers += [replies.get(seat) for seat in paid]
            payoffs += [worth[seat] for seat in paid]
            asked.append(len(paid))
    steps_of = [len(steps) for _, steps in played]
    step_of_row = np.repeat(np.arange(len(asked)), asked)
    columns = {
        "turn": np.concatenate([np.arange(1, n + 1) for n in [0, *steps_of]])[step_of_row],
        "round": [view.round for view in views],
        "seat": np.array([view.seat for view in views], dtype=np.int64),
        "phase": _labelled([view.phase for view in views]),
        "role": _labelled([view.role for view in views]),
        "legal": _labelled([view.legal for view in views], lambda legal: json.dumps(legal.as_json())),
        "payoff": payoffs,
        **_what(answers),
    }
    columns["valid"] = _valid(columns["action"], columns["legal"], asked)
    match_of_row = np.repeat(np.arange(len(played)), steps_of)[step_of_row]
    return typed(columns | _who_played([match for match, _ in played], match_of_row, columns["seat"]))


def _unasked(views: Views, seat: int) -> Observation:
    return next(iter(views.values()))._replace(seat=seat, legal=None, role="")  # type: ignore[arg-type]


class _Codes(dict[Any, int]):
    """Value -> code, numbered as they come; None is -1."""

    def __missing__(self, value: Any) -> int:
        self[value] = len(self) - 1
        return self[value]


def _labelled(values: Sequence[Any], shown: Callable[[Any], str] = str) -> pd.Categorical:
    """Values of which there are few distinct ones as a categorical of text; None is absent."""
    codes, texts = _Codes({None: -1}), _Codes({None: -1})
    numbers = np.array([codes[value] for value in values], dtype=np.int64)
    same = np.array([-1, *(texts[shown(value)] for value in list(codes)[1:])])
    return pd.Categorical.from_codes(same[numbers + 1], categories=pd.Index(list(texts)[1:], dtype="str"))


def _what(answers: Sequence[Any]) -> dict[str, Any]:
    """What was answered; scripts answer with the bare action, cost no tokens and are asked once."""
    if not any(type(answer) is Reply for answer in answers):
        none = pd.array(np.zeros(len(answers), dtype=np.int64), dtype=COUNT)
        return {
            "action": _labelled(answers, json.dumps),
            "attempts": none + 1,
            "tokens_in": none,
            "tokens_out": none,
            "tokens": none,
        }
    replies = [answer if type(answer) is Reply else Reply(answer) for answer in answers]
    actions = [None if reply.action is None else json.dumps(reply.action) for reply in replies]
    return {
        "action": _labelled(actions),
        "reply": [reply.text or None for reply in replies],
        "attempts": [reply.attempts for reply in replies],
        "fallback": _labelled([reply.fallback for reply in replies]),
        "tokens_in": [reply.tokens_in for reply in replies],
        "tokens_out": [reply.tokens_out for reply in replies],
        "tokens": [reply.tokens_in + reply.tokens_out for reply in replies],
        "seconds": [reply.seconds for reply in replies],
        "cached": [reply.cached for reply in replies],
        "exchange": [reply.exchange or None for reply in replies],
    }


def _valid(action: pd.Categorical, legal: pd.Categorical, asked: Sequence[int]) -> NDArray[np.bool_]:
    """Whether every seat asked in the row's step gave a readable action."""
    readable = (action.codes >= 0) | (legal.codes < 0)
    starts = np.cumsum([0, *asked[:-1]])
    return np.repeat(np.logical_and.reduceat(readable, starts), asked)


def _who_played(matches: Sequence[Match], row: NDArray[np.intp], seat: NDArray[np.int64]) -> dict[str, Any]:
    """The columns that a row takes from its match, and from its match's seat."""

    def of_match(values: Sequence[Any]) -> Any:
        labels = _labelled(values)
        return pd.Categorical.from_codes(labels.codes[row], categories=labels.categories)

    widest = max(match.game.seats for match in matches)

    def of_seat(name: str) -> Any:
        padded = [
            [getattr(seat, name) for seat in match.seats] + [None] * (widest - len(match.seats)) for match in matches
        ]
        labels = _labelled([value for values in padded for value in values])
        return pd.Categorical.from_codes(labels.codes[row * widest + seat], categories=labels.categories)

    return {
        "experiment": of_match([match.experiment for match in matches]),
        "match": of_match([match.id for match in matches]),
        "game": of_match([match.game.name for match in matches]),
        "variant": of_match([match.game.variant for match in matches]),
        "rules": np.array([match.game.rules for match in matches])[row],
        "repetition": np.array([match.repetition for match in matches])[row],
        "config": of_match([match.config for match in matches]),
        "agent": of_seat("agent"),
        "model": of_seat("model"),
    }
