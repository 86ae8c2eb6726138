"""What a page shows of a recorded match at one place, as plain data for its template; every text in it is still to be escaped."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from agon.figures.viewer import seating, setting
from agon.games.base import PUBLIC
from agon.games.html import count, lines, listed, number, written
from agon.games.pages import UNREADABLE, Scene, asked_for, board_of, hides_totals
from agon.turns import CUT, action_of
from agon_hall.family_pages import known_pages
from agon_hall.rules import rules_text
from agon_hall.watching.match import Told, Watched, held
from agon_hall.watching.sight import ABSENT, sight_of

RECENT = 40
"""Facts that are shown at once; older ones are folded."""
SHADES = 10
"""Classes of cells, s0 to s10: the darker the less."""


NOTHING = dict.fromkeys(
    ("asked", "about", "cards", "aside", "from_rows", "seats", "news", "board", "older", "told", "believed", "sight"),
    (),
)
"""What a page may have none of."""


class Fact(NamedTuple):
    """A line of a table; where `fold` names it, a long value is folded."""

    name: str
    value: str
    fold: str = ""


class Grid(NamedTuple):
    """A table: its first cells are headings. `shades`: what class each other cell has."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    shades: Sequence[Sequence[str]] = ()


def researched(watched: Watched, at: int, seat: int) -> dict[str, Any]:
    """Everything about a place (from 0; the last is the end), and what a seat, or PUBLIC, knows there."""
    rows = watched.rows(at)
    asked = [row for row in rows if row.asked]
    aside = [
        f"{watched.named[row.seat]} {number(float(row.payoff))}" for row in rows if row not in asked and row.payoff
    ]
    shown = NOTHING | {
        "title": _title(watched, at),
        "asked": _asked([watched.named[row.seat] for row in asked]) if rows else "Nobody is asked any more.",
        "about": _about(watched),
        "rules": _rules(watched),
        "cards": [(_player(watched, row), _card(watched, at, row)) for row in asked],
        "aside": ", ".join(aside),
        "from_rows": _from_rows(watched, rows),
        "beliefs": _beliefs(watched, at),
        "believed": bool(watched.beliefs) or not watched.forecasts.empty,
        **_worth(watched, at),
    }
    if watched.replay is not None:
        view = watched.view(at, seat)
        assert view is not None
        sight = sight_of(watched, at, seat)
        known = seat != PUBLIC and (not rows or not hides_totals(view))
        totals = tuple(map(float, watched.points[at])) if known else None
        shown["seats"] = [(str(place), name) for place, name in enumerate(watched.named)] + [
            ("public", "everybody, in public")
        ]
        shown["news"] = [
            (name, [each.words for each in watched.told(at, int(key) if key != "public" else PUBLIC) if each.new])
            for key, name in shown["seats"]
        ]
        scene = Scene(view, totals, watched.named, sight.aids, over=not rows)
        shown |= {"sight": sight} | _known(scene, watched.told(at, seat))
    return shown


def published(watched: Watched, at: int) -> dict[str, Any]:
    """What anybody knows when `at` facts are known."""
    public = watched.public
    facts = len(public.views) - 1
    state = "the start" if not at else "the end" if at == facts else f"{at} of {count(facts, 'fact')} known"
    title = f"{watched.turns.game.iloc[0]}: {state}"
    return NOTHING | {
        "title": title,
        "rules": _rules(watched),
        **_known(
            Scene(public.views[at], None, watched.named, sight_of(watched, 0, PUBLIC).aids, over=at == facts),
            public.told(at),
        ),
    }


def _known(scene: Scene, told: Sequence[Told]) -> dict[str, Any]:
    """What a seat, or the public, knows, as a board and fact by fact."""
    cut = max(0, len(told) - RECENT)
    return {"board": [Markup(part) for part in board_of(scene).values()], "older": told[:cut], "told": told[cut:]}


def _title(watched: Watched, at: int) -> str:
    rows, steps = watched.rows(at), watched.places - 1
    end = f"The end, after {count(steps, 'step')}"
    return f"Step {at + 1} of {steps}: round {rows[0].round}, {rows[0].phase}" if rows else end


def _asked(names: Sequence[str]) -> str:
    are = "is asked" if len(names) == 1 else "are asked at once"
    return f"{listed(names)} {are}." if names else ""


def _player(watched: Watched, row: Any) -> str:
    """A row's player, agent, model and role."""
    model = "" if pd.isna(row.model) else f" with {row.model}"
    return f"{watched.named[row.seat]}: {row.agent}{model}{f', {row.role}' if row.role else ''}"


def _points(value: Any) -> str:
    return f"{number(float(value))} {'point' if value == 1 else 'points'}"


@functools.lru_cache(maxsize=8)  # the same at every place
def _about(watched: Watched) -> dict[str, Any]:
    """Who sat where and, where it is known, what the game was made of; hidden facts included."""
    first, replay = watched.turns.iloc[0], watched.replay
    tested = seating(replay, watched.turns).tested if replay else {}
    seats = [
        f"{_player(watched, rows.iloc[0])}{', tested' if replay and tested[seat] else ''}; {_points(rows.payoff.sum())}."
        for seat, rows in watched.turns.groupby("seat")
    ]
    made = [(str(row.what), str(row.value)) for row in setting(replay.game).itertuples()] if replay else []
    again = f"Match {first.match} of {first.experiment}, repetition {first.repetition}; {count(watched.places - 1, 'step')}."
    game = f"{first.game} {first.variant}"
    return {"game": game, "match": again, "why": watched.why, "seats": seats, "setting": made}


@functools.lru_cache(maxsize=8)
def _rules(watched: Watched) -> Markup:
    """The rules in the words of the game's prompt as it is today, for the first player."""
    view, replay = watched.view(0, PUBLIC), watched.replay
    if view is None or replay is None:
        return Markup()
    return Markup(rules_text(view, replay.game, replay.steps[0].state if replay.steps else replay.state, noted=False))


def _from_rows(watched: Watched, rows: Sequence[Any]) -> Markup:
    """What a family can tell of a match that cannot be replayed, up to a place."""
    page = known_pages().get(str(watched.turns.game.iloc[0]))
    if watched.replay or page is None:
        return Markup()
    return Markup(page.from_rows(watched.turns, int(rows[0].round) if rows else None))


# ---- what a seat did


def _card(watched: Watched, at: int, row: Any) -> list[Fact]:
    """What a seat that was asked could do, did, thought and cost."""
    detail = held(row.detail)
    thought = detail.pop("thought", None)
    rest = "\n".join(f"{name}: {_meant(watched, name, each)}" for name, each in detail.items() if name != "beliefs")
    unknown = f"{ABSENT}: no price in conf/model" if not pd.isna(row.tokens_in) else ABSENT
    facts = [
        Fact("did", _done(watched, at, row), "Action"),
        Fact(
            "thoughts, private",
            "\n".join(map(str, thought)) if isinstance(thought, list) else thought or "",
            "Thoughts",
        ),
        Fact("raw reply", ABSENT if pd.isna(row.reply) else row.reply, "Reply"),
        Fact("read", _read(row)),
        Fact("asked for", ABSENT if pd.isna(row.legal) else asked_for(json.loads(row.legal)), "Possible answers"),
        Fact("paid by this step", _points(row.payoff)),
        Fact("tokens sent / received", _tokens(row)),
        Fact("cost", unknown if pd.isna(row.usd) else f"{_amount(row.usd, 6)} USD"),
        Fact("seconds", f"{_amount(row.seconds)}{', answered from a recording' if row.cached else ''}"),
        Fact("also recorded", rest, "Details"),
    ]
    return [fact for fact in facts if fact.value]


def _meant(watched: Watched, name: str, value: Any) -> str:
    """What `detail` holds, in words; seats have names."""
    if name in ("target", "suspect") and type(value) is int and value in range(len(watched.named)):
        return watched.named[value]
    return "nobody" if value is None and name in ("target", "suspect") else written(value)


def _done(watched: Watched, at: int, row: Any) -> str:
    if pd.isna(row.action):
        return UNREADABLE
    action = action_of(row.action)
    if watched.replay and isinstance(action, list):
        action = watched.replay.steps[at].views[row.seat].legal.spelled(action)
    return written(action)


def _read(row: Any) -> str:
    """Whether, and at which attempt, an action could be read, and what was done where none could."""
    asked = "attempts not recorded" if pd.isna(row.attempts) else f"asked {count(int(row.attempts), 'time')}"
    done = "something else was done in its place" if row.fallback else "readable"
    done = "no readable action" if pd.isna(row.action) else done
    done += f", the answer {CUT[row.ended]}" if row.ended in CUT else ""
    return f"{done}, {asked}{f': {row.fallback}' if row.fallback else ''}{'' if row.valid else '; not valid'}"


def _tokens(row: Any) -> str:
    if pd.isna(row.tokens_in) and pd.isna(row.tokens_out) and not pd.isna(row.tokens):
        return f"{ABSENT}; {int(row.tokens):,} together"
    return f"{_amount(row.tokens_in)} / {_amount(row.tokens_out)}"


def _amount(value: Any, places: int = 2) -> str:
    whole, _, rest = ("" if pd.isna(value) else f"{float(value):,.{places}f}").partition(".")
    return whole + f".{rest}".rstrip(".0") if whole else ABSENT


# ---- what it came to


def _worth(watched: Watched, at: int) -> dict[str, Any]:
    """Points over time, and what everybody has and has cost, the step included."""
    rows, end = watched.until(at), at == watched.places - 1
    asked = [row for row in rows if row.asked]
    points = {"points": at} if end else {"points before this step": at, "points after it": at + 1}
    sums = {"tokens sent": "tokens_in", "tokens received": "tokens_out", "seconds": "seconds", "cost, USD": "usd"}
    if all(pd.isna(row.tokens_in) for row in rows) and not all(pd.isna(row.tokens) for row in rows):
        sums["tokens, both"] = "tokens"
    made = [[name, *(number(float(each)) for each in watched.points[place])] for name, place in points.items()]
    for name, column in sums.items():
        own = ([getattr(row, column) for row in asked if row.seat == seat] for seat in range(len(watched.named)))
        made.append([name, *(spent(values, 6 if column == "usd" else 2) for values in own)])
    series = [(name, watched.points[:, seat].tolist()) for seat, name in enumerate(watched.named)]
    chart = lines("Points so far", series, at, "step") if watched.points.any() else ""
    return {"worth": Grid("So far, this step included", ["what", *watched.named], made), "chart": Markup(chart)}


def spent(values: Sequence[Any], places: int = 2) -> str:
    """A sum of what was recorded, and how often nothing was: what is absent is not 0."""
    there = [float(value) for value in values if not pd.isna(value)]
    absent = len(values) - len(there)
    if absent and not there:
        return ABSENT
    return _amount(sum(there), places) + (f" and {count(absent, 'time')} {ABSENT}" if absent else "")


# ---- what players believe of one another


def _beliefs(watched: Watched, at: int) -> list[Grid]:
    """What everybody who keeps beliefs believes at a place, the latest: as shaded numbers, or in their own words."""
    until, named = watched.numbers[min(at, len(watched.numbers) - 1)], watched.named
    every = [each.matrix for each in watched.beliefs]
    low, high = (float(min(map(np.nanmin, every))), float(max(map(np.nanmax, every)))) if every else (0.0, 1.0)
    found = []
    for each in {each.seat: each for each in watched.beliefs if each.turn <= until}.values():
        short = [name.replace("Player ", "P") for name in named]
        rows = [
            [short[view], *("" if np.isnan(cell) else f"{cell:.3f}" for cell in row)]
            for view, row in enumerate(each.matrix)
        ]
        parts = (each.matrix - low) / ((high - low) or 1.0) * SHADES
        shades = [["" if np.isnan(part) else f"s{round(part)}" for part in row] for row in parts]
        caption = f"{named[each.seat]}, {_when(each.turn, until)} ({each.phase})"
        found.append(Grid(caption, ["suspects", *short[: each.matrix.shape[1]]], rows, shades))
    words = watched.forecasts[watched.forecasts.turn <= until]
    for player, own in words.groupby("player", sort=False):
        last = own[own.turn == own.turn.max()]
        cells: Mapping[Any, str] = {(row.view, row.of): row.forecast for row in last.itertuples()}
        rows = [[view, *(cells.get((view, of), "") for of in named)] for view in named]
        found.append(
            Grid(f"{player}, {_when(int(last.turn.iloc[0]), until)}", ["expects", *(f"of {of}" for of in named)], rows)
        )
    return found


def _when(turn: int, until: int) -> str:
    return f"{'new at' if turn == until else 'unchanged since'} step {turn}"
