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
from agon_hall.study import BEFORE, Event, State, course, earned, ending, exclusions, fold_events, require_unchanged


def gather(folder: Path, name: str, out: Path) -> str:
    """Writes participants.csv, events.parquet and turns.parquet of a study of the hall in `folder` into `out`, and returns a summary.

    The bonus file, which names people as their platform does, is written into `folder`. A server may run meanwhile.
    Raises AgonError where nobody has come yet.
    """
    design, store = study(name), Store(folder, reads=True)
    try:
        events, sources, keys = store.events(name), store.sources(name), Keys(folder / "secret")
        require_unchanged(design, store.terms(name))
    finally:
        store.close()
    if not events:
        raise AgonError(f"nobody has come to study {name} yet: python -m agon serve opens it at /join/{name}")
    happened = [Event(*match) for match in events]
    states = fold_events(design, happened)
    names = {who: keys.pseudonym(who) for who in states}
    people = participants(design, happened, names, sources)
    out.mkdir(parents=True, exist_ok=True)
    write_table(people, out / "participants.csv")
    questions = [
        (f"survey {place}", match.ask, "; ".join(match.options)) for place, match in enumerate(design.survey, 1)
    ]
    write_table(pd.DataFrame(questions, columns=["column", "question", "options"]), out / "questions.csv")
    rows = [(names[who], at, kind, json.dumps(detail, ensure_ascii=False)) for who, at, kind, detail in happened]
    events_table = pd.DataFrame(rows, columns=["participant", "at", "kind", "detail"])
    events_table["at"] = pd.to_datetime(events_table["at"], unit="s", utc=True).astype("datetime64[ms, UTC]")
    events_table.to_parquet(out / "events.parquet", index=False)
    ids = sorted({state.match for state in states.values() if state.match})
    places = [folder / kind / f"{match}.parquet" for match in ids for kind in ("played", "given_up")]
    played = [path for path in places if path.exists()]
    without_games = [path for path in played if not games_path(path).exists()]
    if played:
        turns = merge_turns([read(path) for path in played], [path.stem for path in played])
        cell_of_seat = {(state.match, state.seat): state.cell for state in states.values() if state.seat is not None}
        turns = in_cells(turns.assign(experiment=pd.Categorical([name] * len(turns))), cell_of_seat)
        write_games(read_games(*(path for path in played if path not in without_games)), out / "turns.parquet")
        write(turns, out / "turns.parquet")
    bonus_file, identities = folder / f"bonus-{name}.csv", folder / f"people-{name}.csv"
    for path in (bonus_file, identities):
        path.touch(mode=0o600)
    bonus_file.write_text(bonuses(design, states, sources), encoding="utf-8")
    numbers = people.assign(number=[sources[who][1] for who in states])
    numbers[["number", "participant", "stage", "why", "ended as", "show up", "bonus"]].to_csv(identities, index=False)
    done = sum(state.stage == "debrief" for state in states.values())
    owed = sum(earned(design, state).bonus > 0 for state in states.values())
    old = ""
    if without_games:
        matches = count(len(without_games), "match")
        old = f"; {matches} of an earlier agon without a table of games: not to be replayed"
    return (
        f"{display_path(out)}: {count(len(states), 'participant')}, {done:,} at the end, {count(len(played), 'match')}; "
        f"{display_path(bonus_file)}: {count(owed, 'bonus', 'bonuses')} to pay; {display_path(identities)}: who is who "
        f"(both name people: do not publish them){old}"
    )


def participants(
    design: Study,
    events: Sequence[Event],
    names: Mapping[str, str],
    sources: Mapping[str, tuple[str, str]],
) -> pd.DataFrame:
    """A row for every participant: who (hashed), cell, how it ended, exclusions with reasons, points and pay, time and answers.

    `arrived` is a time in UTC (ISO 8601), `seconds` and `STAGE seconds` are durations; absent where somebody did not come so far.
    """
    states: dict[str, State] = {}
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    spent: defaultdict[str, dict[str, float]] = defaultdict(dict)
    answers_of: dict[str, Mapping[str, str]] = {}
    for event, before, state in course(design, events):
        who = event.participant
        states[who], last[who] = state, event.at
        if first.setdefault(who, event.at) < event.at and state.stage != before.stage:
            spent[who][before.stage] = round(event.at - before.since, 1)
        if before.stage == "survey" and event.kind == "answered":
            answers_of[who] = event.detail["answers"]
    game = {cell.name: cell.game for cell in cells(design)}
    matches_left = {state.match for state in states.values() if state.left_match}
    rows = []
    for who, state in states.items():
        pay = earned(design, state)
        row: dict[str, Any] = {
            "participant": names[who],
            "source": sources[who][0],
            "cell": state.cell or None,
            "game": game.get(state.cell),
            "match": state.match or None,
            "seat": state.seat,
            "stage": state.stage,
            "why": state.why or None,
            "ended as": ending(design, state),
            "exclusions": "; ".join(exclusions(state, state.match in matches_left)) or None,
            "quiz tries": state.tries,
            "points": state.points,
            "show up": pay.show_up,
            "bonus": pay.bonus,
            "currency": design.pay.currency,
            "arrived": f"{datetime.fromtimestamp(first[who], UTC):%Y-%m-%dT%H:%M:%SZ}",
            "seconds": round(last[who] - first[who], 1),
        }
        row |= {f"{stage} seconds": spent[who].get(stage) for stage in (*BEFORE, "match", "survey")}
        answers = {int(place): no_formula(answer) for place, answer in answers_of.get(who, {}).items()}
        row |= {f"survey {place + 1}": answers.get(place) for place in range(len(design.survey))}
        rows.append(row)
    return pd.DataFrame(rows).astype({"seat": "Int64"})


def bonuses(design: Study, states: Mapping[str, State], sources: Mapping[str, tuple[str, str]]) -> str:
    """Prolific's format: a line for everybody who is paid a bonus, with their name there and the amount."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    lines.writerows(
        (sources[who][1], f"{bonus:.2f}") for who, state in states.items() if (bonus := earned(design, state).bonus)
    )
    return file.getvalue()
