"""Tables of a study for spreadsheets: all rounds of a participant in one row, what players wrote, and the time on pages."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from agon.agents.base import STOOD_IN
from agon.turns import action_of, no_formula
from agon_hall.protocol import Study
from agon_hall.study import NOTE, Event, course, own_page

Names = Mapping[tuple[str, int], str]
"""Match and seat -> the hashed name of the participant there."""
CHAT = ["match", "round", "phase", "seat", "participant", "agent", "text"]
MISSED = ("stood in", "missed")
"""Columns of participants.csv: the answers that a script gave for a participant, and those that nobody gave."""
ANSWERS = ["participant", "page", "played", "number", "question", "answer", "late"]
PAGES = ["participant", "page", "arrived", "seconds", "pages closed"]


def rounds_in_columns(turns: pd.DataFrame, names: Names) -> pd.DataFrame:
    """A row for each participant of `names`, with columns for each round and phase.

    `ROUND PHASE` has the action (with a number if it is asked several times), `... seconds` the time for it, and
    `... stood in` the script that answered for the participant. `ROUND points` are the points of the round. A cell
    is absent where nothing was asked, or nothing was answered.
    """
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    order: dict[str, tuple[int, int, int]] = {}
    times = Counter[tuple[str, int, int, str]]()
    for turn in turns.itertuples():
        key = str(turn.match), int(turn.seat)
        if key not in names:
            continue
        row = rows.setdefault(key, {"participant": names[key], "match": key[0], "seat": key[1]})
        points = f"{turn.round} points"
        row[points] = row.get(points, 0.0) + turn.payoff
        order.setdefault(points, (turn.round, 1 << 40, 0))
        if not turn.asked:
            continue
        times[(*key, turn.round, str(turn.phase))] += 1
        number = times[(*key, turn.round, str(turn.phase))]
        name = f"{turn.round} {turn.phase}{f' {number}' if number > 1 else ''}"
        script = str(turn.fallback).removeprefix(STOOD_IN) if str(turn.fallback).startswith(STOOD_IN) else None
        action = None if pd.isna(turn.action) else no_formula(str(turn.action))
        for place, (column, value) in enumerate(
            {name: action, f"{name} seconds": turn.seconds, f"{name} stood in": script}.items()
        ):
            row[column] = value
            order.setdefault(column, (turn.round, turn.turn, place))
    columns = ["participant", "match", "seat", *sorted(order, key=lambda column: order[column])]
    return pd.DataFrame(rows.values(), columns=columns)


def chat(turns: pd.DataFrame, names: Names) -> pd.DataFrame:
    """A row for each text that a player wrote: messages, clues and guesses, in the order of the match."""
    rows = []
    for turn in turns[turns.action.notna()].itertuples():
        action = action_of(turn.action)
        is_text = not pd.isna(turn.legal) and "text" in json.loads(turn.legal)
        written = turn.action if is_text else action.get("message") if isinstance(action, dict) else None
        if written:
            who = names.get((str(turn.match), int(turn.seat)))
            row = turn.match, turn.round, turn.phase, turn.seat, who, turn.agent, no_formula(str(written))
            rows.append(row)
    return pd.DataFrame(rows, columns=CHAT)


def pages(design: Study, events: Sequence[Event], names: Mapping[str, str]) -> pd.DataFrame:
    """A row for each page that a participant reached.

    `arrived` is in UTC. `seconds` are until the next page, and absent for the last one. `pages closed` counts how
    often the match's page was closed or lost its connection meanwhile.
    """
    rows: dict[tuple[str, str, float], list[Any]] = {}
    open_page: dict[str, tuple[str, str, float]] = {}
    for event, before, state in course(design, events):
        who = event.participant
        if event.kind == NOTE:
            rows[open_page[who]][4] += event.detail.get("what") == "page closed"
            continue
        if who in open_page and state.place.rpartition("-")[0] == before.place.rpartition("-")[0]:  # a try of the quiz
            continue
        if who in open_page:
            rows[open_page[who]][3] = round(event.at - open_page[who][2], 1)
        open_page[who] = key = who, state.stage, event.at
        rows[key] = [names[who], state.stage, f"{datetime.fromtimestamp(event.at, UTC):%Y-%m-%dT%H:%M:%SZ}", None, 0]
    return pd.DataFrame(rows.values(), columns=PAGES)


def page_answers(design: Study, events: Sequence[Event], names: Mapping[str, str]) -> pd.DataFrame:
    """A row for each question of an own page that a participant reached.

    `played` is the number of their matches before it. `answer` is absent for a question without an answer, and `late`
    says that the page went on by itself.
    """
    rows = []
    for event, before, _ in course(design, events):
        if before.stage != "page" or event.kind != "answered":
            continue
        answers = event.detail.get("answers", {})
        for place, question in enumerate(own_page(design, before).questions):
            answer = no_formula(answers.get(str(place), "")) or None
            who, late = names[event.participant], bool(event.detail.get("late"))
            rows.append((who, event.detail["page"], len(before.results), place + 1, question.ask, answer, late))
    return pd.DataFrame(rows, columns=ANSWERS)


def missed(turns: pd.DataFrame) -> pd.DataFrame:
    """The number of each of MISSED, for each match and seat."""
    asked = turns[turns.asked]
    stood_in = asked.fallback.astype(str).str.startswith(STOOD_IN)
    places = {"match": asked.match.astype(str), "seat": asked.seat}
    values = dict(zip(MISSED, (stood_in, asked.action.isna()), strict=True))
    return pd.DataFrame(places | values).groupby(["match", "seat"]).sum()
