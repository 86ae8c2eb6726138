"""Matches into turns: the only place where games meet agents."""

import asyncio
import gc
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from agon import AgonError, count
from agon.agents import Place, Reply, together
from agon.agents.base import STOOD_IN
from agon.games import Game, Observation
from agon.games.base import Note, known_notes
from agon.loop import started
from agon.models import Answering, Halted
from agon.models.ledger import Unrecorded
from agon.plan import Match, raised
from agon.turns import COLUMNS, LABEL, action_text, read, typed, write


class Played:
    """A match as it was played, a row for every seat asked or paid in a step; the rows become the turns table."""

    __slots__ = ("answers", "details", "payoffs", "rows", "views")

    def __init__(self) -> None:
        self.views: list[Observation] = []
        """What the row's seat saw."""
        self.answers: list[Any] = []
        """What it answered: the bare action of a script, or a Reply."""
        self.payoffs: list[float] = []
        """What the step paid it (points)."""
        self.rows: list[int] = []
        """Rows of each step."""
        self.details: dict[int, dict[str, Any]] = {}
        """What only this game knows, by row."""

    def add(
        self,
        views: dict[int, Observation],
        answers: dict[int, Any],
        payoffs: tuple[float, ...],
        notes: Iterable[Note] = (),
    ) -> None:
        """One more step. A seat that was paid without being asked has a row, with nothing to answer."""
        paid = [seat for seat, worth in enumerate(payoffs) if seat in views or worth]
        for seat, what, value in known_notes(notes, paid):
            self.details.setdefault(len(self.views) + paid.index(seat), {})[what] = value
        some = next(iter(views.values()))
        self.views += [views.get(seat) or some._replace(legal=None, role="", seat=seat) for seat in paid]
        self.answers += [answers.get(seat) for seat in paid]
        self.payoffs += [payoffs[seat] for seat in paid]
        self.rows.append(len(paid))


def play_now(match: Match) -> Played:
    """A match between scripts, without an event loop (an await costs more than a script's answer)."""
    game, scripts, played = match.game, [seat.player for seat in match.seats], Played()
    everyone, noting = game.seats, type(game).notes is not Game.notes
    try:
        under_way, (_, views, _), dice = started(game, match.seed)
        send = under_way.send
        while views:
            asked, actions = views, {seat: scripts[seat](view, dice[seat]) for seat, view in views.items()}
            state, views, payoffs = send(actions)
            if len(asked) == everyone and not noting:  # nearly always; the same as Played.add
                played.views += asked.values()
                played.answers += actions.values()
                played.payoffs += payoffs
                played.rows.append(everyone)
            else:
                played.add(asked, actions, payoffs, game.notes(state))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a game, or a script, may raise anything
        raise AgonError(f"match {match.id} ({_who(match)}): {raised(error, game)}") from error
    return played


async def play_async(
    match: Match,
    models: Mapping[str, Answering],
    *,
    instant: bool = False,
    moved: Callable[[Any, tuple[float, ...]], object] = lambda state, payoffs: None,
    so_far: "Played | None" = None,
) -> Played:
    """A match; seats that move at once are asked at once, and may answer in any order.

    The result depends on the match and its players' answers alone, not on what else is being played. With `instant`,
    for players that never wait, it runs to its end without an event loop. `moved` is told every state, the first one
    included, and what the step to it paid; `so_far`, an empty Played, grows with the match. Raises AgonError for what players do wrong;
    Halted when a model cannot be asked now.
    """
    game, immediate = match.game, [seat.immediate for seat in match.seats]

    async def answer(seat: int, view: Observation) -> Reply:
        reply = await players[seat].act(view, dice[seat])
        if not isinstance(reply, Reply):
            raise TypeError(f"seat {seat} answered with {type(reply).__name__}, not with a Reply")
        return reply

    played = Played() if so_far is None else so_far
    try:
        players = [
            seat.player if immediate[place] else seat.player(Place(match.id, place, models.get(seat.model or "")))
            for place, seat in enumerate(match.seats)
        ]
        under_way, (state, views, payoffs), dice = started(game, match.seed)
        moved(state, payoffs)
        while views:
            replies = {seat: Reply(players[seat](view, dice[seat])) for seat, view in views.items() if immediate[seat]}
            slow = [seat for seat in views if not immediate[seat]]
            if instant:
                for seat in slow:
                    replies[seat] = await answer(seat, views[seat])
            else:
                found = await together([answer(seat, views[seat]) for seat in slow])
                replies |= zip(slow, found, strict=True)
            asked = views
            state, views, payoffs = under_way.send({seat: replies[seat].action for seat in asked})
            played.add(asked, replies, payoffs, game.notes(state))
            moved(state, payoffs)
    except (AgonError, Halted, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise AgonError(f"match {match.id} ({_who(match)}): {raised(error, game)}") from error
    return played


def _who(match: Match) -> str:
    return f"{match.game.name} {match.game.variant}: {' against '.join(seat.agent for seat in match.seats)}"


def play(
    matches: Sequence[Match],
    journal: Path,
    models: Mapping[str, Answering] | None = None,
    *,
    concurrency: int = 8,
    tick: Callable[[int], object] = lambda n: None,
    lacking: list[Match] | None = None,
) -> pd.DataFrame:
    """The turns of `matches`, in their order. Every few seconds what is done goes to the folder `journal`, durably.

    Matches that the journal holds are not played again, so a killed run goes on where it was; `tick` is told how many
    matches have been added. Scripts and recorded models play at once; players that take their time play `concurrency`
    matches at a time. A match that is not recorded to its end is put into `lacking`, and has no turns. Raises Unrecorded
    where there is no such list, or no other match.
    """
    answering = models or {}
    kept = [part for part in map(_part, sorted(journal.glob("*.parquet"))) if part is not None]
    known = {match for part in kept for match in part.match.cat.categories}
    tick(sum(match.id in known for match in matches))
    at_once: list[Match] = []
    slow: list[Match] = []
    for match in matches:
        if match.id not in known:
            (at_once if _instant(match, answering) else slow).append(match)
    writer = _Journal(journal, kept, tick)
    try:
        play_at_once(at_once, answering, writer.add, lacking)
        if slow:
            asyncio.run(_play_slow(slow, answering, concurrency, writer.add, lacking))
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        writer.flush()  # also what was done before an error
    if lacking and len(lacking) == len(matches):
        raise Unrecorded(
            f"of {count(len(matches), 'match')} none is recorded to its end: recorded with concurrency=1, one is after another"
        )
    return ordered(kept, [match.id for match in matches])


def _instant(match: Match, models: Mapping[str, Answering]) -> bool:
    answering = [None if seat.model is None else models.get(seat.model) for seat in match.seats if not seat.immediate]
    return all(each is not None and each.instant for each in answering)


def play_at_once(
    matches: Iterable[Match],
    models: Mapping[str, Answering],
    done: Callable[[Match, Played], None],
    lacking: list[Match] | None = None,
) -> None:
    """Plays matches whose players never wait, without an event loop; those not recorded to their end are put into `lacking`."""
    gc.disable()  # matches make many small tuples and no cycles
    try:
        for match in matches:
            if all(seat.immediate for seat in match.seats):
                done(match, play_now(match))
                continue
            try:
                play_async(match, models, instant=True).send(None)
            except StopIteration as end:
                done(match, end.value)
            except Unrecorded:
                if lacking is None:
                    raise
                lacking.append(match)
            else:
                raise AgonError(f"match {match.id} ({_who(match)}): an agent waits for something other than its model")
    finally:
        gc.enable()


async def _play_slow(
    matches: Iterable[Match],
    models: Mapping[str, Answering],
    concurrency: int,
    done: Callable[[Match, Played], None],
    lacking: list[Match] | None,
) -> None:
    waiting = iter(matches)

    async def worker() -> None:
        for match in waiting:
            try:
                done(match, await play_async(match, models))
            except Unrecorded:
                if lacking is None:
                    raise
                lacking.append(match)

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())


class _Journal:
    """Played matches on their way to disk: a part is written when enough has gathered or enough time has passed."""

    matches, seconds = 2000, 2.0

    def __init__(self, folder: Path, kept: list[pd.DataFrame], tick: Callable[[int], object]) -> None:
        self.folder, self.kept, self.tick = folder, kept, tick
        self.waiting: list[tuple[Match, Played]] = []
        self.since = monotonic()

    def add(self, match: Match, steps: Played) -> None:
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


def ordered(parts: Sequence[pd.DataFrame], matches: Sequence[str]) -> pd.DataFrame:
    """One turns table of all `parts`, in the order of `matches` (ids); of a match that several parts hold, the first one's."""
    place = {match: index for index, match in enumerate(matches)}
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


def table(done: Sequence[tuple[Match, Played]]) -> pd.DataFrame:
    """The turns of played matches: match by match, turn by turn, seat by seat."""
    answers = list(chain.from_iterable(played.answers for _, played in done))
    steps_of = [len(played.rows) for _, played in done]
    rows = np.fromiter(chain.from_iterable(played.rows for _, played in done), np.int64, sum(steps_of))
    views = list(chain.from_iterable(played.views for _, played in done))

    def seen(name: str) -> Iterator[Any]:
        return map(itemgetter(Observation._fields.index(name)), views)

    seat, role = np.fromiter(seen("seat"), np.int64, len(views)), list(seen("role"))
    step_of_row = np.repeat(np.arange(len(rows)), rows)
    before = np.cumsum([0, *steps_of[:-1]])
    columns = {
        "turn": (np.arange(1, len(rows) + 1) - np.repeat(before, steps_of))[step_of_row],
        "round": np.fromiter(seen("round"), np.int64, len(views)),
        "seat": seat,
        "phase": _labelled(list(seen("phase"))),
        "role": _labelled(role),
        "legal": _labelled(list(seen("legal")), lambda space: json.dumps(space.as_json())),
        "payoff": np.fromiter(chain.from_iterable(played.payoffs for _, played in done), np.float64, len(answers)),
        **_what(answers),
    }
    match_of_row = np.repeat(np.arange(len(done)), steps_of)[step_of_row]
    independent = np.array([match.game.independent for match, _ in done])
    columns["valid"] = _valid(columns, rows, independent[match_of_row])
    if any(known := [match.game.roles for match, _ in done]):  # also of seats that may not know theirs
        columns["role"] = _labelled(
            [known[m][s] if known[m] else r for m, s, r in zip(match_of_row, seat, role, strict=True)]
        )
    details = columns.pop("detail", {})  # the players' own; the game's are added
    if any(played.details for _, played in done):
        first = np.cumsum([0, *(len(played.views) for _, played in done)])
        for m, (_, played) in enumerate(done):
            for row, own in played.details.items():
                details[first[m] + row] = details.get(first[m] + row, {}) | own
    if details:
        texts = {row: json.dumps(own) for row, own in details.items()}
        columns["detail"] = [texts.get(row) for row in range(len(answers))]
    return typed(columns | _who_played([match for match, _ in done], match_of_row, columns["seat"]))


class _Codes(dict[Any, int]):
    """Value -> code, numbered as they come; None is -1."""

    def __missing__(self, value: Any) -> int:
        self[value] = len(self) - 1
        return self[value]


def _labelled(values: Sequence[Any], shown: Callable[[Any], str] = str) -> pd.Categorical:
    """Values of which there are few distinct ones as a categorical of text; None is absent."""
    if len(distinct := set(values)) == 1:  # as below, in half the time
        (only,) = distinct
        zeros = np.full(len(values), -1 if only is None else 0, dtype=np.int8)
        return _categorical(zeros, pd.Index([] if only is None else [shown(only)], dtype="str"))
    codes, texts = _Codes({None: -1}), _Codes({None: -1})
    numbers = np.fromiter(map(codes.__getitem__, values), dtype=np.int64, count=len(values))
    same = np.array([-1, *(texts[shown(value)] for value in list(codes)[1:])])
    return _categorical(same[numbers + 1], pd.Index(list(texts)[1:], dtype="str"))


def _categorical(codes: NDArray[Any], categories: pd.Index) -> pd.Categorical:
    """Codes that are known to fit."""
    return pd.Categorical.from_codes(codes, categories=categories, validate=False)


def _what(answers: Sequence[Any]) -> dict[str, Any]:
    """What was answered; scripts answer with the bare action, cost no tokens and are asked once."""
    kinds = set(map(type, answers))
    if Reply not in kinds:
        zeros, known = np.zeros(len(answers), dtype=np.int64), np.zeros(len(answers), dtype=bool)
        none = pd.arrays.IntegerArray(zeros, known)
        return {
            "action": _labelled(_texts(answers)) if kinds & {dict, list} else _labelled(answers, action_text),
            "attempts": pd.arrays.IntegerArray(zeros + 1, known),
            "tokens_in": none,
            "tokens_out": none,
            "tokens": none,
        }
    replies = [answer if type(answer) is Reply else Reply(answer) for answer in answers]
    return {
        "action": _labelled(_texts([reply.action for reply in replies])),
        "reply": [reply.text or None for reply in replies],
        "attempts": [reply.attempts for reply in replies],
        "fallback": _labelled([reply.fallback for reply in replies]),
        "tokens_in": [reply.tokens_in for reply in replies],
        "tokens_out": [reply.tokens_out for reply in replies],
        "tokens": [reply.tokens_in + reply.tokens_out for reply in replies],
        "seconds": [reply.seconds for reply in replies],
        "cached": [reply.cached for reply in replies],
        "exchange": [reply.exchange or None for reply in replies],
        "detail": {row: reply.detail for row, reply in enumerate(replies) if reply.detail},
    }


def _texts(actions: Sequence[Any]) -> list[str | None]:
    """Actions as turns hold them, also those that cannot be looked up."""
    return [None if action is None else action_text(action) for action in actions]


def _valid(columns: Mapping[str, Any], rows: NDArray[np.int64], independent: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether every seat asked in the row's step gave a readable action, and nothing was done in its stead.

    Where seats that move at once do not depend on each other (`independent`), the row's own seat alone; and what stood in for
    who has left the match makes that seat's row void, but no other one.
    """
    readable = (columns["action"].codes >= 0) | (columns["legal"].codes < 0)
    played = readable
    if "fallback" in columns:
        readable = readable & np.asarray(columns["fallback"] == "")
        stood_in = columns["fallback"].map(lambda text: text.startswith(STOOD_IN)).astype(bool)
        played = readable | (played & np.asarray(stood_in))
    if readable.all():
        return readable
    starts = np.cumsum(rows) - rows
    together = readable & np.repeat(np.logical_and.reduceat(played, starts), rows)
    return np.where(independent, readable, together) if independent.any() else together


def _who_played(matches: Sequence[Match], row: NDArray[np.intp], seat: NDArray[np.int64]) -> dict[str, Any]:
    """The columns that a row takes from its match, and from its match's seat."""

    def of_match(values: Sequence[Any]) -> Any:
        labels = _labelled(values)
        return _categorical(labels.codes[row], labels.categories)

    groups = {id(match.seats): match.seats for match in matches}  # few: matches share them
    widest, place = max(map(len, groups.values())), {key: number for number, key in enumerate(groups)}
    group = np.array([place[id(match.seats)] for match in matches])[row]

    def of_seat(name: str) -> Any:
        padded = [[getattr(seat, name) for seat in seats] + [None] * (widest - len(seats)) for seats in groups.values()]
        labels = _labelled([value for values in padded for value in values])
        return _categorical(labels.codes[group * widest + seat], labels.categories)

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
