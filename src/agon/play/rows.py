"""The turns table of matches that were played."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from agon.agents import Reply
from agon.agents.base import STOOD_IN
from agon.plan import Match
from agon.play.match import Trajectory
from agon.turns import COLUMNS, LABEL, action_text, typed


def turns_table(done: Sequence[tuple[Match, Trajectory]]) -> pd.DataFrame:
    """The turns of matches, in the order of the matches, then of turns and seats. Matches of the same game may share a trajectory."""
    distinct = {id(trajectory): (match, trajectory) for match, trajectory in done}
    columns = _trajectory_columns([*distinct.values()])
    lengths = {key: len(trajectory.views) for key, (_, trajectory) in distinct.items()}
    match_of_row = np.repeat(np.arange(len(done)), [lengths[id(trajectory)] for _, trajectory in done])
    if len(distinct) < len(done):
        spans = np.split(np.arange(sum(lengths.values())), np.cumsum([*lengths.values()])[:-1])
        rows = dict(zip(distinct, spans, strict=True))
        row = np.concatenate([rows[id(trajectory)] for _, trajectory in done])
        columns = {name: pd.Series(values).array.take(row) for name, values in columns.items()}
    return typed(columns | _match_columns([match for match, _ in done], match_of_row, np.asarray(columns["seat"])))


def _trajectory_columns(done: Sequence[tuple[Match, Trajectory]]) -> dict[str, Any]:
    """The columns that do not name the match: name -> a value for each row of each trajectory."""
    trajectories = [trajectory for _, trajectory in done]
    answers = list(chain.from_iterable(trajectory.answers for trajectory in trajectories))
    steps_of = [len(trajectory.rows) for trajectory in trajectories]
    rows = np.fromiter(chain.from_iterable(trajectory.rows for trajectory in trajectories), np.int64, sum(steps_of))
    views = list(chain.from_iterable(trajectory.views for trajectory in trajectories))
    payoffs = chain.from_iterable(trajectory.payoffs for trajectory in trajectories)
    seat, role = np.array([view.seat for view in views], np.int64), [view.role for view in views]
    step_of_row = np.repeat(np.arange(len(rows)), rows)
    before = np.cumsum([0, *steps_of[:-1]])
    columns = {
        "turn": (np.arange(1, len(rows) + 1) - np.repeat(before, steps_of))[step_of_row],
        "round": np.array([view.round for view in views], np.int64),
        "seat": seat,
        "phase": _categories([view.phase for view in views]),
        "role": _categories(role),
        "legal": _categories([view.legal for view in views], lambda space: json.dumps(space.as_json())),
        "payoff": np.fromiter(payoffs, np.float64, len(answers)),
        **_answer_columns(answers),
    }
    columns["asked"] = columns["legal"].codes >= 0
    match_of_row = np.repeat(np.arange(len(done)), steps_of)[step_of_row]
    independent = np.array([match.game.independent for match, _ in done])
    columns["valid"] = _valid(columns, rows, independent[match_of_row])
    if any(roles := [match.game.roles for match, _ in done]):  # also of seats that may not know their role
        columns["role"] = _categories(
            [roles[m][s] if roles[m] else r for m, s, r in zip(match_of_row, seat, role, strict=True)]
        )
    details = columns.pop("detail", {})  # of the players; the game's notes are added
    if any(trajectory.details for trajectory in trajectories):
        starts = np.cumsum([0, *(len(trajectory.views) for trajectory in trajectories)])
        for start, trajectory in zip(starts, trajectories, strict=False):  # the last start is the end
            for row, detail in trajectory.details.items():
                details[start + row] = details.get(start + row, {}) | detail
    if details:
        texts = {row: json.dumps(detail) for row, detail in details.items()}
        columns["detail"] = [texts.get(row) for row in range(len(answers))]
    return columns


def merge_turns(parts: Sequence[pd.DataFrame], matches: Sequence[str]) -> pd.DataFrame:
    """One turns table of all `parts`, in the order of `matches` (ids); of a match in several parts, the first part's."""
    place = {match: index for index, match in enumerate(matches)}
    ids: set[str] = set()
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for part in parts:
        is_new = np.array([match in place and match not in ids for match in part.match.cat.categories], dtype=bool)
        new = part if is_new.all() else part[is_new[part.match.cat.codes]]
        ids.update(new.match.unique())
        for name in COLUMNS:
            columns[name].append(new[name])
    merged = {
        name: union_categoricals(values) if COLUMNS[name][0] is LABEL else pd.concat(values, ignore_index=True)
        for name, values in columns.items()
        if values
    }
    turns = typed(merged, copy=False)
    order = np.array([place.get(match, -1) for match in turns.match.cat.categories], dtype=np.int64)[
        turns.match.cat.codes
    ]
    if (np.diff(order) >= 0).all():
        return turns
    return turns.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


class _Codes(dict[Any, int]):
    """Value -> code, in the order of first occurrence; None is -1."""

    def __missing__(self, value: Any) -> int:
        self[value] = len(self) - 1
        return self[value]


def _categories(values: Sequence[Any], text_of: Callable[[Any], str] = str) -> pd.Categorical:
    """Values, few of them distinct, as a categorical of text. None is a missing value."""
    codes, texts = _Codes({None: -1}), _Codes({None: -1})
    numbers = np.fromiter(map(codes.__getitem__, values), dtype=np.int64, count=len(values))
    code_of_text = np.array([-1, *(texts[text_of(value)] for value in list(codes)[1:])])
    return _categorical(code_of_text[numbers + 1], pd.Index(list(texts)[1:], dtype="str"))


_categorical = partial(pd.Categorical.from_codes, validate=False)
"""A categorical from valid codes, which are not checked again."""


def _answer_columns(answers: Sequence[Any]) -> dict[str, Any]:
    """The columns of the answers. A script answers with its action alone, costs no tokens, and is asked once."""
    kinds = set(map(type, answers))
    if Reply not in kinds:
        zeros, missing = np.zeros(len(answers), dtype=np.int64), np.zeros(len(answers), dtype=bool)
        no_tokens = pd.arrays.IntegerArray(zeros, missing)
        return {
            "action": _categories(_action_texts(answers))
            if kinds & {dict, list}
            else _categories(answers, action_text),
            "attempts": pd.arrays.IntegerArray(zeros + 1, missing),
            "tokens_in": no_tokens,
            "tokens_out": no_tokens,
            "tokens": no_tokens,
            "ended": _categories([None] * len(answers)),
        }
    replies = [answer if type(answer) is Reply else Reply(answer) for answer in answers]
    return {
        "action": _categories(_action_texts([reply.action for reply in replies])),
        "reply": [reply.text or None for reply in replies],
        "attempts": [reply.attempts for reply in replies],
        "fallback": _categories([reply.fallback for reply in replies]),
        "tokens_in": [None if reply.untold else reply.tokens_in for reply in replies],
        "tokens_out": [None if reply.untold else reply.tokens_out for reply in replies],
        "tokens": [None if reply.untold else reply.tokens_in + reply.tokens_out for reply in replies],
        "seconds": [reply.seconds for reply in replies],
        "cached": [reply.cached for reply in replies],
        "ended": _categories([reply.ended for reply in replies]),
        "exchange": [reply.exchange or None for reply in replies],
        "detail": {row: reply.detail for row, reply in enumerate(replies) if reply.detail},
    }


def _action_texts(actions: Sequence[Any]) -> list[str | None]:
    """Actions as text for the turns table, also those that are not hashable."""
    return [None if action is None else action_text(action) for action in actions]


def _valid(columns: Mapping[str, Any], rows: NDArray[np.int64], independent: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether every seat asked in the row's step gave a readable action, and no fallback replaced it.

    Where simultaneous seats do not depend on each other (`independent`), only the row's own seat counts. A stand-in for a person who
    left the match makes that seat's row void, but no other row.
    """
    readable = (columns["action"].codes >= 0) | ~columns["asked"]
    active = readable
    if "fallback" in columns:
        readable = readable & np.asarray(columns["fallback"] == "")
        stood_in = columns["fallback"].map(lambda text: text.startswith(STOOD_IN)).astype(bool)
        active = readable | (active & np.asarray(stood_in))
    if readable.all():
        return readable
    starts = np.cumsum(rows) - rows
    together = readable & np.repeat(np.logical_and.reduceat(active, starts), rows)
    return np.where(independent, readable, together) if independent.any() else together


def _match_columns(matches: Sequence[Match], row: NDArray[np.intp], seat: NDArray[np.int64]) -> dict[str, Any]:
    """The columns that a row takes from its match, and from its seat."""

    def of_match(values: Sequence[Any]) -> Any:
        labels = _categories(values)
        return _categorical(labels.codes[row], labels.categories)

    groups = {id(match.seats): match.seats for match in matches}  # few: matches share them
    widest, place = max(map(len, groups.values())), {key: number for number, key in enumerate(groups)}
    group = np.array([place[id(match.seats)] for match in matches])[row]

    def of_seat(name: str) -> Any:
        columns_by_group = [
            [getattr(seat, name) for seat in seats] + [None] * (widest - len(seats)) for seats in groups.values()
        ]
        labels = _categories([value for values in columns_by_group for value in values])
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
        "prompts": of_seat("prompts"),
    }
