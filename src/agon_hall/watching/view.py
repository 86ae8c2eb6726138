"""The page of a recorded match at one place, as plain data for its template, which escapes every text."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from agon.errors import count
from agon.figures.viewer import seating, setting
from agon.games.base import PUBLIC
from agon.games.html import format_value, lines
from agon.games.pages import UNREADABLE, Scene, board_of, describe_space, hides_totals
from agon.games.sentences import join_words, number
from agon.turns import CUT, action_of
from agon_hall.family_pages import family_pages
from agon_hall.rules import rules_text
from agon_hall.watching.match import HistoryLine, MatchRecord, parse_detail
from agon_hall.watching.sight import ABSENT, sight_of

MOST_LINES = 40
"""Lines of a history that are shown at once. Older ones are folded."""
SHADES = 10
"""Cells have the classes s0 to s10. A lower number is darker."""


EMPTY = dict.fromkeys(("seats", "news", "board", "older", "history", "sight"), ())
"""Parts that the page of a match without a replay lacks."""


class Fact(NamedTuple):
    """A row of a table. A long value is folded below the heading `fold`, unless that is empty."""

    name: str
    value: str
    fold: str = ""


class Grid(NamedTuple):
    """A table. The first cell of each row is a heading; `shades` has the classes of the others."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    shades: Sequence[Sequence[str]] = ()


def place_context(record: MatchRecord, at: int, seat: int) -> dict[str, Any]:
    """The context of a place (from 0; the last is the end), and what a seat, or PUBLIC, knows there."""
    rows = record.rows(at)
    movers = [row for row in rows if row.asked]
    other_payoffs = [
        f"{record.names[row.seat]} {number(float(row.payoff))}" for row in rows if row not in movers and row.payoff
    ]
    context = EMPTY | {
        "title": _title(record, at),
        "to_move": _to_move_sentence([record.names[row.seat] for row in movers])
        if rows
        else "Nobody is asked any more.",
        "about": _match_facts(record),
        "rules": _rules(record),
        "cards": [(_player_line(record, row), _decision_facts(record, at, row)) for row in movers],
        "aside": ", ".join(other_payoffs),
        "from_rows": _from_rows(record, rows),
        "beliefs": _beliefs(record, at),
        "has_beliefs": bool(record.beliefs) or not record.forecasts.empty,
        **_totals(record, at),
    }
    if record.replay is not None:
        view = record.view(at, seat)
        assert view is not None
        sight = sight_of(record, at, seat)
        totals_visible = seat != PUBLIC and (not rows or not hides_totals(view))
        totals = tuple(map(float, record.points[at])) if totals_visible else None
        context["seats"] = [(str(place), name) for place, name in enumerate(record.names)] + [
            ("public", "everybody, in public")
        ]
        context["news"] = [
            (name, [line.words for line in record.history(at, int(key) if key != "public" else PUBLIC) if line.new])
            for key, name in context["seats"]
        ]
        scene = Scene(view, totals, record.names, sight.aids, over=not rows)
        context |= {"sight": sight} | _history_context(scene, record.history(at, seat))
    return context


def _history_context(scene: Scene, history: Sequence[HistoryLine]) -> dict[str, Any]:
    """The knowledge of a seat, or the public: its board, and its history line by line."""
    older = max(0, len(history) - MOST_LINES)
    return {
        "board": [Markup(part) for part in board_of(scene).values()],
        "older": history[:older],
        "history": history[older:],
    }


def _title(record: MatchRecord, at: int) -> str:
    rows, steps = record.rows(at), record.places - 1
    end = f"The end, after {count(steps, 'step')}"
    return f"Step {at + 1} of {steps}: round {rows[0].round}, {rows[0].phase}" if rows else end


def _to_move_sentence(names: Sequence[str]) -> str:
    are = "is asked" if len(names) == 1 else "are asked at once"
    return f"{join_words(names)} {are}." if names else ""


def _player_line(record: MatchRecord, row: Any) -> str:
    """A row's player, agent, model and role."""
    model = "" if pd.isna(row.model) else f" with {row.model}"
    return f"{record.names[row.seat]}: {row.agent}{model}{f', {row.role}' if row.role else ''}"


def _points(value: Any) -> str:
    return f"{number(float(value))} {'point' if value == 1 else 'points'}"


@functools.lru_cache(maxsize=8)  # the same at every place
def _match_facts(record: MatchRecord) -> dict[str, Any]:
    """The players and, if the match can be replayed, the settings of the game, hidden ones included."""
    first, replay = record.turns.iloc[0], record.replay
    tested = seating(replay, record.turns).tested if replay else {}
    seats = [
        f"{_player_line(record, rows.iloc[0])}{', tested' if replay and tested[seat] else ''}; "
        f"{_points(rows.payoff.sum())}."
        for seat, rows in record.turns.groupby("seat")
    ]
    settings = [(str(row.what), str(row.value)) for row in setting(replay.game).itertuples()] if replay else []
    match = (
        f"Match {first.match} of {first.experiment}, repetition {first.repetition}; {count(record.places - 1, 'step')}."
    )
    game = f"{first.game} {first.variant}"
    return {"game": game, "match": match, "why": record.why, "seats": seats, "setting": settings}


@functools.lru_cache(maxsize=8)
def _rules(record: MatchRecord) -> Markup:
    """The rules in the words of the game's prompt as it is today, for the first player."""
    view, replay = record.view(0, PUBLIC), record.replay
    if view is None or replay is None:
        return Markup()
    return Markup(
        rules_text(view, replay.game, replay.steps[0].state if replay.steps else replay.state, with_note=False)
    )


def _from_rows(record: MatchRecord, rows: Sequence[Any]) -> Markup:
    """The family's own account of a match that cannot be replayed, up to a place."""
    page = family_pages().get(str(record.turns.game.iloc[0]))
    if record.replay or page is None:
        return Markup()
    return Markup(page.from_rows(record.turns, int(rows[0].round) if rows else None))


# ---- the decisions of a step


def _decision_facts(record: MatchRecord, at: int, row: Any) -> list[Fact]:
    """The options, action, thoughts and cost of a seat that was asked."""
    detail = parse_detail(row.detail)
    thought = detail.pop("thought", None)
    others = "\n".join(
        f"{name}: {_detail_text(record, name, value)}" for name, value in detail.items() if name != "beliefs"
    )
    no_cost = f"{ABSENT}: no price in conf/model" if not pd.isna(row.tokens_in) else ABSENT
    facts = [
        Fact("did", _action_text(record, at, row), "Action"),
        Fact(
            "thoughts, private",
            "\n".join(map(str, thought)) if isinstance(thought, list) else thought or "",
            "Thoughts",
        ),
        Fact("raw reply", ABSENT if pd.isna(row.reply) else row.reply, "Reply"),
        Fact("read", _reading_text(row)),
        Fact("asked for", ABSENT if pd.isna(row.legal) else describe_space(json.loads(row.legal)), "Possible answers"),
        Fact("paid by this step", _points(row.payoff)),
        Fact("tokens sent / received", _tokens(row)),
        Fact("cost", no_cost if pd.isna(row.usd) else f"{_amount(row.usd, 6)} USD"),
        Fact("seconds", f"{_amount(row.seconds)}{', answered from a recording' if row.cached else ''}"),
        Fact("also recorded", others, "Details"),
    ]
    return [fact for fact in facts if fact.value]


def _detail_text(record: MatchRecord, name: str, value: Any) -> str:
    """A value of `detail` in words, with the names of players for their seats."""
    if name in ("target", "suspect") and type(value) is int and value in range(len(record.names)):
        return record.names[value]
    return "nobody" if value is None and name in ("target", "suspect") else format_value(value)


def _action_text(record: MatchRecord, at: int, row: Any) -> str:
    if pd.isna(row.action):
        return UNREADABLE
    action = action_of(row.action)
    if record.replay and isinstance(action, list):
        action = record.replay.steps[at].views[row.seat].legal.format(action)
    return format_value(action)


def _reading_text(row: Any) -> str:
    """Whether an action could be read, after how many attempts, and what happened otherwise."""
    attempts = "attempts not recorded" if pd.isna(row.attempts) else f"asked {count(int(row.attempts), 'time')}"
    reading = "something else was done in its place" if row.fallback else "readable"
    reading = "no readable action" if pd.isna(row.action) else reading
    reading += f", the answer {CUT[row.ended]}" if row.ended in CUT else ""
    return f"{reading}, {attempts}{f': {row.fallback}' if row.fallback else ''}{'' if row.valid else '; not valid'}"


def _tokens(row: Any) -> str:
    if pd.isna(row.tokens_in) and pd.isna(row.tokens_out) and not pd.isna(row.tokens):
        return f"{ABSENT}; {int(row.tokens):,} together"
    return f"{_amount(row.tokens_in)} / {_amount(row.tokens_out)}"


def _amount(value: Any, places: int = 2) -> str:
    whole, _, decimals = ("" if pd.isna(value) else f"{float(value):,.{places}f}").partition(".")
    return whole + f".{decimals}".rstrip(".0") if whole else ABSENT


# ---- points and costs


def _totals(record: MatchRecord, at: int) -> dict[str, Any]:
    """A chart of the points, and a table of points, tokens, seconds and cost up to this step."""
    rows, end = record.until(at), at == record.places - 1
    movers = [row for row in rows if row.asked]
    points = {"points": at} if end else {"points before this step": at, "points after it": at + 1}
    sums = {"tokens sent": "tokens_in", "tokens received": "tokens_out", "seconds": "seconds", "cost, USD": "usd"}
    if all(pd.isna(row.tokens_in) for row in rows) and not all(pd.isna(row.tokens) for row in rows):
        sums["tokens, both"] = "tokens"
    table_rows = [
        [name, *(number(float(points_of_seat)) for points_of_seat in record.points[place])]
        for name, place in points.items()
    ]
    for name, column in sums.items():
        values_of_seats = (
            [getattr(row, column) for row in movers if row.seat == seat] for seat in range(len(record.names))
        )
        table_rows.append([name, *(sum_recorded(values, 6 if column == "usd" else 2) for values in values_of_seats)])
    series = [(name, record.points[:, seat].tolist()) for seat, name in enumerate(record.names)]
    chart = lines("Points so far", series, at, "step") if record.points.any() else ""
    return {"worth": Grid("So far, this step included", ["what", *record.names], table_rows), "chart": Markup(chart)}


def sum_recorded(values: Sequence[Any], places: int = 2) -> str:
    """The sum of the recorded values, and how many are missing: a missing value is not 0."""
    recorded = [float(value) for value in values if not pd.isna(value)]
    absent = len(values) - len(recorded)
    if absent and not recorded:
        return ABSENT
    return _amount(sum(recorded), places) + (f" and {count(absent, 'time')} {ABSENT}" if absent else "")


# ---- beliefs


def _beliefs(record: MatchRecord, at: int) -> list[Grid]:
    """The latest beliefs of each player at a place, as shaded numbers or in the player's words."""
    until = record.numbers[min(at, len(record.numbers) - 1)]
    names = record.names
    matrices = [belief.matrix for belief in record.beliefs]
    low, high = (float(min(map(np.nanmin, matrices))), float(max(map(np.nanmax, matrices)))) if matrices else (0.0, 1.0)
    grids = []
    latest = {belief.seat: belief for belief in record.beliefs if belief.turn <= until}
    for belief in latest.values():
        short = [name.replace("Player ", "P") for name in names]
        rows = [
            [short[view], *("" if np.isnan(cell) else f"{cell:.3f}" for cell in row)]
            for view, row in enumerate(belief.matrix)
        ]
        parts = (belief.matrix - low) / ((high - low) or 1.0) * SHADES
        shades = [["" if np.isnan(part) else f"s{round(part)}" for part in row] for row in parts]
        caption = f"{names[belief.seat]}, {_belief_age(belief.turn, until)} ({belief.phase})"
        grids.append(Grid(caption, ["suspects", *short[: belief.matrix.shape[1]]], rows, shades))
    words = record.forecasts[record.forecasts.turn <= until]
    for player, of_player in words.groupby("player", sort=False):
        last = of_player[of_player.turn == of_player.turn.max()]
        cells: Mapping[Any, str] = {(row.view, row.of): row.forecast for row in last.itertuples()}
        rows = [[view, *(cells.get((view, of), "") for of in names)] for view in names]
        grids.append(
            Grid(
                f"{player}, {_belief_age(int(last.turn.iloc[0]), until)}",
                ["expects", *(f"of {of}" for of in names)],
                rows,
            )
        )
    return grids


def _belief_age(turn: int, until: int) -> str:
    return f"{'new at' if turn == until else 'unchanged since'} step {turn}"
