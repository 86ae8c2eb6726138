"""A replayed match to look at: tables of who saw, did and said what. What players wrote is never trusted."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import HTML

from agon.games import Observation
from agon.games.html import escaped, written
from agon.games.pages import UNREADABLE, news
from agon.replay import Replay

LONG = 24
"""Letters: columns with longer texts are paragraphs, which start at the left."""


def shown(table: pd.DataFrame) -> HTML:
    """A table of which every cell and name is text and nothing else, whatever is in it; line breaks are kept."""
    columns = [table[name].astype(object).where(table[name].notna(), None).map(escaped) for name in table]
    columns = [column.map("<p>{}</p>".format) if column.str.len().max() > LONG else column for column in columns]
    safe = pd.DataFrame({escaped(name): column for name, column in zip(table, columns, strict=True)})
    with pd.option_context("display.max_colwidth", None):
        text = safe.to_html(escape=False, index=False, border=0, classes="tex2jax_ignore mathjax_ignore")
    return HTML(text)  # type: ignore[no-untyped-call]


def players(replay: Replay) -> list[str]:
    """What the seats are called."""
    return list(replay.game.players)


def seating(replay: Replay, turns: pd.DataFrame) -> pd.DataFrame:
    """Who sat where, and what it came to: seat, player, role, agent, model, tested, asked (times), readable (of these), points."""
    asked, named = turns[turns.legal.notna()], players(replay)
    own = turns.drop_duplicates("seat").sort_values("seat", kind="stable").set_index("seat")
    return pd.DataFrame(
        {
            "seat": own.index,
            "player": [named[seat] for seat in own.index],
            **{name: own[name].astype(object) for name in ("role", "agent", "model")},
            "tested": ["yes" if seat in replay.game.tested else "" for seat in own.index],
            "asked": asked.groupby("seat").size().reindex(own.index),
            "readable": (asked.action.notna() & asked.fallback.eq("")).groupby(asked.seat).sum().reindex(own.index),
            "points": turns.groupby("seat").payoff.sum().reindex(own.index),
        }
    )


def setting(game: Any) -> pd.DataFrame:
    """What the game was made of, hidden facts included: what, value."""
    fields = [field.name for field in dataclasses.fields(game) if field.init]
    return pd.DataFrame({"what": fields, "value": [written(getattr(game, name)) for name in fields]})


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
            lines = [news(each, view, place, named) for place, each in enumerate(view.past)][known[seat] :]
            row[named[seat]] = "\n".join(lines) or "(nothing new)"
            known[seat] = len(view.past)
        rows.append(row)
    return pd.DataFrame(rows)


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
