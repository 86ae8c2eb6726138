"""A replayed match to look at: tables of who saw, did and said what. What players wrote is never trusted."""

import dataclasses
import unicodedata
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import HTML

from agon.games import Observation
from agon.games.base import PUBLIC, Event
from agon.replay import Replay

UNREADABLE = "(unreadable)"


LONG = 24
"""Letters: columns with longer texts are paragraphs, which start at the left."""


def shown(table: pd.DataFrame) -> HTML:
    """A table of which every cell and name is text and nothing else, whatever is in it; line breaks are kept."""
    columns = [table[name].map(escaped) for name in table]
    columns = [column.map("<p>{}</p>".format) if column.str.len().max() > LONG else column for column in columns]
    safe = pd.DataFrame({escaped(name): column for name, column in zip(table, columns, strict=True)})
    with pd.option_context("display.max_colwidth", None):
        text = safe.to_html(escape=False, index=False, border=0, classes="tex2jax_ignore mathjax_ignore")
    return HTML(text)  # type: ignore[no-untyped-call]


def escaped(value: Any) -> str:
    """Any value as HTML that shows its text and is nothing else; nothing for an absent one."""
    return escape(plain("" if value is None or value is pd.NA or value != value else str(value))).replace("\n", "<br>")


def plain(text: str) -> str:
    """`text` with characters that are not seen, or turn others about, as their code points."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"\\u{ord(letter):04x}" if letter not in "\n\t" and unicodedata.category(letter)[0] == "C" else letter
        for letter in text
    )


def players(replay: Replay) -> list[str]:
    """What the seats are called."""
    return list(getattr(replay.game, "players", None) or [f"Player {seat + 1}" for seat in range(replay.game.seats)])


def seating(replay: Replay, turns: pd.DataFrame) -> pd.DataFrame:
    """Who sat where, and what it came to: seat, player, role, agent, model, tested, asked (times), readable (of these), points."""
    asked, named = turns[turns.legal.notna()], players(replay)
    own = turns.drop_duplicates("seat").sort_values("seat", kind="stable").set_index("seat")
    return pd.DataFrame(
        {
            "seat": own.index,
            "player": [named[seat] for seat in own.index],
            **{name: own[name].astype(object) for name in ("role", "agent", "model")},
            "tested": ["yes" if seat in getattr(replay.game, "tested", ()) else "" for seat in own.index],
            "asked": asked.groupby("seat").size().reindex(own.index),
            "readable": (asked.action.notna() & asked.fallback.eq("")).groupby(asked.seat).sum().reindex(own.index),
            "points": turns.groupby("seat").payoff.sum().reindex(own.index),
        }
    )


def setting(game: Any) -> pd.DataFrame:
    """What the game was made of, hidden facts included: what, value."""
    fields = [field.name for field in dataclasses.fields(game) if field.init]
    return pd.DataFrame({"what": fields, "value": [written(getattr(game, name)) for name in fields]})


def written(value: Any) -> str:
    """A value in words: nested tuples by line, mappings as names and values, without empty texts."""
    if isinstance(value, Mapping):
        nested = any(isinstance(each, Mapping | tuple | list) for each in value.values())
        between, to = ("; ", ": ") if nested else (", ", " ")
        return between.join(f"{name}{to}{written(each)}" for name, each in value.items() if each != "")
    if isinstance(value, tuple | list) and value and all(isinstance(each, tuple | list) for each in value):
        return "\n".join(map(written, value))
    if isinstance(value, tuple | list):
        return ", ".join(map(written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def course(replay: Replay, turns: pd.DataFrame) -> pd.DataFrame:
    """Who did and said what, one row per seat asked: turn, round, phase, player, role, did, said (the raw answer), paid."""
    rows, named = turns.set_index(["turn", "seat"]), players(replay)
    return pd.DataFrame(
        [
            {
                "turn": step.turn,
                "round": view.round,
                "phase": view.phase,
                "player": named[seat],
                "role": rows.role[step.turn, seat],
                "did": _did(view, step.actions[seat], rows.fallback[step.turn, seat]),
                "said": rows.reply[step.turn, seat],
                "paid": step.payoffs[seat],
            }
            for step in replay.steps
            for seat, view in step.views.items()
        ]
    )


def _did(view: Observation, action: Any, fallback: str) -> str:
    done = UNREADABLE if action is None else view.legal.spelled(action)
    return f"{done}\n({fallback})" if fallback else str(done)


def sights(replay: Replay) -> pd.DataFrame:
    """Who saw what: a row per step, a column per player, with what was new to it when it was asked; nothing where it was not."""
    named, known, rows = players(replay), [0] * replay.game.seats, []
    everybody = {seat: replay.game.observe(replay.state, seat) for seat in range(replay.game.seats)}
    asked = [(str(step.turn), next(iter(step.views.values())).phase, step.views) for step in replay.steps]
    for turn, phase, views in [*asked, ("end", "", everybody)]:
        row = {"turn": turn, "phase": phase} | dict.fromkeys(named, "")
        for seat, view in views.items():
            lines = [line(each, view, place, named) for place, each in enumerate(view.past)][known[seat] :]
            row[named[seat]] = "\n".join(lines) or "(nothing new)"
            known[seat] = len(view.past)
        rows.append(row)
    return pd.DataFrame(rows)


def line(item: Any, view: Observation, place: int, named: Sequence[str], own: str = "own") -> str:
    """What `view.past` holds at `place`, in words: an event, or a round, in which the view's own action comes first."""
    if isinstance(item, Event):
        what = item.phase if item.seat is None else f"{named[item.seat]}, {item.phase}"
        nothing = "nobody" if item.phase == "accused" else UNREADABLE
        return f"{what}: {nothing if item.value is None else written(item.value)}"
    first = [] if view.seat == PUBLIC else [own]
    others = [name for seat, name in enumerate(named) if seat != view.seat]
    done = [f"{who} {UNREADABLE if each is None else each}" for who, each in zip([*first, *others], item, strict=True)]
    return f"round {place + 1}: {', '.join(done)}"


def ballots(replay: Replay) -> pd.DataFrame:
    """Who voted for whom: round, player, vote. Empty where there was no vote."""
    named = players(replay)
    return pd.DataFrame(
        [
            {"round": view.round, "player": named[seat], "vote": step.actions[seat] or UNREADABLE}
            for step in replay.steps
            for seat, view in step.views.items()
            if view.phase == "vote"
        ],
        columns=["round", "player", "vote"],
    )


def worth(replay: Replay) -> pd.DataFrame:
    """Points so far: turn, player, value."""
    totals = np.cumsum([step.payoffs for step in replay.steps], axis=0)
    return pd.DataFrame(
        [
            {"turn": step.turn, "player": player, "value": total}
            for step, paid in zip(replay.steps, totals, strict=True)
            for player, total in zip(players(replay), paid, strict=True)
        ]
    )
