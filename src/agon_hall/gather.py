"""The results of a study: a row for every participant, every event, the turns of its matches, and the bonuses."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from agon.errors import AgonError, count
from agon.paths import display_path
from agon.play import merge_turns
from agon.turns import games_path, in_cells, no_formula, read, read_games, write, write_games, write_table
from agon_hall.keys import Keys
from agon_hall.protocol import Study, cells, study
from agon_hall.store import Store
from agon_hall.study import (
    STAGES,
    Event,
    State,
    course,
    drawn,
    earned,
    ending,
    exclusions,
    fold_events,
    paid_results,
    require_unchanged,
)
from agon_hall.wide import MISSED, chat, missed, page_answers, pages, rounds_in_columns

TOMBSTONE = ("participant", "cell", "game", "group", "match", "seat", "stage", "exclusions")
"""The columns of participants.csv that stay of a participant who was forgotten."""


def gather(folder: Path, name: str, out: Path) -> str:
    """Writes participants, questions, pages, events and turns of a study into `out`, and wide tables of the turns.

    Returns a summary. `folder` is the hall's; a server may use it at the same time. The bonus file and the list of
    identities go into `folder`, because they name people as their platform does. Raises AgonError if nobody has come
    yet.
    """
    design, store = study(name), Store(folder, read_only=True)
    try:
        events, sources, keys = store.events(name), store.sources(name), Keys(folder / "secret")
        require_unchanged(design, store.terms(name))
    finally:
        store.close()
    if not events:
        raise AgonError(f"nobody has come to study {name} yet: python -m agon serve opens it at /join/{name}")
    all_events = [Event(*event) for event in events]
    states = fold_events(design, all_events)
    names = {who: keys.pseudonym(who) for who in states}
    people = participants(design, all_events, names, sources)
    out.mkdir(parents=True, exist_ok=True)
    questions = [
        (f"survey {place}", question.ask, "; ".join(question.choices))
        for place, question in enumerate(design.survey, 1)
    ]
    questions += [
        (f"{page.name} {place}", question.ask, "; ".join(question.choices))
        for page in design.pages
        for place, question in enumerate(page.questions, 1)
    ]
    write_table(pd.DataFrame(questions, columns=["column", "question", "options"]), out / "questions.csv")
    rows = [(names[who], at, kind, json.dumps(detail, ensure_ascii=False)) for who, at, kind, detail in all_events]
    events_table = pd.DataFrame(rows, columns=["participant", "at", "kind", "detail"])
    events_table["at"] = pd.to_datetime(events_table["at"], unit="s", utc=True).astype("datetime64[ms, UTC]")
    events_table.to_parquet(out / "events.parquet", index=False)
    ids = sorted({match for state in states.values() for match, *_ in state.tables})
    places = [folder / kind / f"{match}.parquet" for match in ids for kind in ("played", "given_up")]
    files = [path for path in places if path.exists()]
    without_games = [path for path in files if not games_path(path).exists()]
    turns_path = out / "turns.parquet"
    if files:
        turns = merge_turns([read(path) for path in files], [path.stem for path in files])
        cell_of_seat = {(match, seat): state.cell for state in states.values() for match, _, seat in state.tables}
        turns = in_cells(turns.assign(experiment=pd.Categorical([name] * len(turns))), cell_of_seat)
        write_games(read_games(*(path for path in files if path not in without_games)), turns_path)
        write(turns, turns_path)
        seats = {(match, seat): names[who] for who, state in states.items() for match, _, seat in state.tables}
        write_table(rounds_in_columns(turns, seats), out / "wide.csv")
        write_table(chat(turns, seats), out / "chat.csv")
    else:  # all matches are erased: an earlier run may have written their rows
        for path in (turns_path, games_path(turns_path), out / "wide.csv", out / "chat.csv"):
            path.unlink(missing_ok=True)
    played = match_rows(design, states, names)
    played = played.join(missed(turns), on=["match", "seat"]) if files else played.assign(**dict.fromkeys(MISSED))
    write_table(played, out / "matches.csv")
    sums = played.groupby("participant")[list(MISSED)].sum(min_count=1)
    people = people.join(sums, on="participant")
    write_table(people, out / "participants.csv")
    kept = [event for event in all_events if not states[event.participant].is_forgotten]
    write_table(pages(design, kept, names), out / "pages.csv")
    write_table(page_answers(design, kept, names), out / "answers.csv")
    bonus_file, identities = folder / f"bonus-{name}.csv", folder / f"people-{name}.csv"
    for path in (bonus_file, identities):
        path.touch(mode=0o600)
    bonus_file.write_text(bonuses(design, states, sources), encoding="utf-8")
    numbers = people.assign(number=[sources[who][1] for who in states])
    numbers = numbers[[not state.is_forgotten for state in states.values()]]
    columns = ["number", "participant", "stage", "why", "ended as", "show up", "bonus", "by hand", "reason"]
    numbers[columns].to_csv(identities, index=False)
    at_end = sum(state.stage == "debrief" for state in states.values())
    bonus_count = sum(_bonus(design, state) > 0 for state in states.values())
    note = ""
    if without_games:
        matches = count(len(without_games), "match")
        note = f"; {matches} of an earlier agon without a table of games: not to be replayed"
    return (
        f"{display_path(out)}: {count(len(states), 'participant')}, {at_end:,} at the end, "
        f"{count(len(files), 'match')}; "
        f"{display_path(bonus_file)}: {count(bonus_count, 'bonus', 'bonuses')} to pay; "
        f"{display_path(identities)}: who is who (both name people: do not publish them){note}"
    )


def participants(
    design: Study,
    events: Sequence[Event],
    names: Mapping[str, str],
    sources: Mapping[str, tuple[str, str]],
) -> pd.DataFrame:
    """A row for every participant: hashed name, cell, end, reasons for exclusion, points, pay, times and answers.

    `arrived` is a time in UTC (ISO 8601). `seconds` and `STAGE seconds` are durations, absent for stages that were
    not reached.
    """
    states: dict[str, State] = {}
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    durations: defaultdict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    answers_of: dict[str, Mapping[str, str]] = {}
    for event, before, state in course(design, events):
        who = event.participant
        states[who], last[who] = state, event.at
        if first.setdefault(who, event.at) < event.at and state.since != before.since:
            durations[who][before.stage] += round(event.at - before.since, 1)
        if before.stage == "survey" and event.kind == "answered":
            answers_of[who] = event.detail.get("answers", {})
    game = {cell.name: cell.game for cell in cells(design)}
    groups_left = {state.group for state in states.values() if state.has_left_match}
    rows = []
    for who, state in states.items():
        pay = earned(design, state)
        row: dict[str, Any] = {
            "participant": names[who],
            "source": sources[who][0],
            "cell": state.cell or None,
            "game": game.get(state.cell),
            "group": state.group or None,
            "match": state.match or None,
            "seat": state.seat,
            "stage": state.stage,
            "why": state.why or None,
            "ended as": ending(design, state),
            "exclusions": "; ".join(exclusions(state, state.group in groups_left)) or None,
            "quiz tries": state.tries,
            "points": sum(result.points for result in paid_results(design, state)) if state.match_over else None,
            "paid match": _paid_match(design, state),
            "seed": state.seed or None,
            "show up": pay.show_up,
            "bonus": pay.bonus,
            "by hand": state.by_hand,
            "reason": no_formula(state.reason) or None,
            "currency": design.pay.currency,
            "arrived": f"{datetime.fromtimestamp(first[who], UTC):%Y-%m-%dT%H:%M:%SZ}",
            "seconds": round(last[who] - first[who], 1),
        }
        row |= {f"{stage} seconds": durations[who].get(stage) for stage in STAGES[:-1]}
        answers = {int(place): no_formula(answer) for place, answer in answers_of.get(who, {}).items()}
        row |= {f"survey {place + 1}": answers.get(place) for place in range(len(design.survey))}
        if state.is_forgotten:
            row = {name: value if name in TOMBSTONE else None for name, value in row.items()}
        rows.append(row)
    return pd.DataFrame(rows).astype({"seat": "Int64"})


def bonuses(design: Study, states: Mapping[str, State], sources: Mapping[str, tuple[str, str]]) -> str:
    """The bonuses in Prolific's format: a line with name and amount for each participant with a bonus."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerows(
        (sources[who][1], f"{bonus:.2f}")
        for who, state in states.items()
        if not state.is_forgotten and (bonus := _bonus(design, state))
    )
    return file.getvalue()


def _bonus(design: Study, state: State) -> float:
    """What is paid beside the show-up fee, also by hand."""
    return earned(design, state).bonus + (state.by_hand or 0.0)


def _paid_match(design: Study, state: State) -> int | None:
    """The number of the match that was drawn, from 1; None before the end, or if all are paid."""
    paid = drawn(design, state)
    return None if paid is None else paid + 1


def match_rows(design: Study, states: Mapping[str, State], names: Mapping[str, str]) -> pd.DataFrame:
    """A row for each match of each participant.

    `number` counts from 1. `points` and `whole` are absent before the end, and `paid` (whether its points are paid)
    before the end of all matches, and for a participant who was forgotten.
    """
    rows = []
    for who, state in states.items():
        results = {result.match: result for result in state.results}
        paid = {result.match for result in paid_results(design, state)}
        for number, (match, _, seat) in enumerate(state.tables, 1):
            result = results.get(match)
            points, whole = (result.points, result.whole) if result else (None, None)
            is_paid = match in paid if paid else None
            rows.append((names[who], state.cell, state.group, number, match, seat, points, whole, is_paid))
    columns = ["participant", "cell", "group", "number", "match", "seat", "points", "whole", "paid"]
    return pd.DataFrame(rows, columns=columns)
