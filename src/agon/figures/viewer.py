"""A match to look at: tables of who saw, did and said what, and what players left of their thinking in the column `detail`.

What players wrote is never trusted.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from agon.figures import figure, styled
from agon.games import Observation
from agon.games.html import escaped, written
from agon.games.pages import UNREADABLE, news
from agon.replay import Replay
from agon.turns import cut_off

LONG = 24
"""Letters: columns with longer texts are paragraphs, which start at the left."""
WIDE = 6
"""Matrices side by side."""


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
    """Who sat where, and what it came to: seat, player, role, agent, model, tested, asked (times), readable and cut off
    (of these), points."""
    asked, named = turns[turns.asked], players(replay)
    own = turns.drop_duplicates("seat").sort_values("seat", kind="stable").set_index("seat")
    return pd.DataFrame(
        {
            "seat": own.index,
            "player": [named[seat] for seat in own.index],
            **{name: own[name].astype(object) for name in ("role", "agent", "model")},
            "tested": ["yes" if seat in replay.game.tested else "" for seat in own.index],
            "asked": asked.groupby("seat").size().reindex(own.index),
            "readable": (asked.action.notna() & asked.fallback.eq("")).groupby(asked.seat).sum().reindex(own.index),
            "cut off": cut_off(asked).groupby(asked.seat).sum().reindex(own.index),
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
    """What the game let whom know: a row per step, a column per player, with what was new when it was asked, if it was."""
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


# ---- thoughts: matrices of beliefs, forecasts, and texts that nobody else saw ----


class Belief(NamedTuple):
    """What a seat believed when it was asked: row j is whom seat j suspects, as it sees it."""

    turn: int
    phase: str
    seat: int
    matrix: np.ndarray[Any, np.dtype[np.float64]]


def beliefs(turns: pd.DataFrame) -> list[Belief]:
    """The matrices that `detail` holds under "beliefs" (a list of rows), without those that are as the seat's last one."""
    found: list[Belief] = []
    for turn, phase, seat, rows in _believed(turns):
        if all(cell is None or isinstance(cell, int | float) for row in rows for cell in row):
            matrix = np.array(rows, dtype=float)
            if not (found and found[-1].seat == seat and np.array_equal(found[-1].matrix, matrix, equal_nan=True)):
                found.append(Belief(turn, phase, seat, matrix))
    return found


def forecasts(turns: pd.DataFrame, named: Sequence[str]) -> pd.DataFrame:
    """Beliefs in words: turn, player, view (whose, as the player sees it), of (whom), forecast. Where one is as before it is left out."""
    found: list[dict[str, Any]] = []
    before: Any = None
    for turn, _, seat, rows in _believed(turns):
        words = [
            (view, of, cell) for view, row in enumerate(rows) for of, cell in enumerate(row) if isinstance(cell, str)
        ]
        if words and (seat, words) != before:
            found += [
                {"turn": turn, "player": named[seat], "view": named[view], "of": named[of], "forecast": cell}
                for view, of, cell in words
            ]
        before = seat, words
    return pd.DataFrame(found, columns=["turn", "player", "view", "of", "forecast"])


def thoughts(turns: pd.DataFrame, named: Sequence[str]) -> pd.DataFrame:
    """What `detail` holds under "thought" (texts that nobody else saw): turn, phase, player, thought."""
    found = [
        {"turn": row.turn, "phase": str(row.phase), "player": named[row.seat], "thought": "\n".join(map(str, said))}
        for row in turns[turns.detail.notna()].itertuples()
        for said in [_held(row.detail).get("thought")]
        if isinstance(said, list) and said
    ]
    return pd.DataFrame(found, columns=["turn", "phase", "player", "thought"])


def first_match(turns: pd.DataFrame) -> str:
    """The id of the first match in which a player left beliefs, of which there is most to see; or else of the first; "" for none."""
    detail = turns.detail.astype("str")
    believed = turns.match[turns.detail.notna() & detail.str.contains('"beliefs"', regex=False)]
    return next(iter([*believed[:1], *turns.match[:1]]), "")


def _believed(turns: pd.DataFrame) -> Iterator[tuple[int, str, int, list[list[Any]]]]:
    """Turn, phase, seat and rows of equal length, seat by seat."""
    for row in turns[turns.detail.notna()].sort_values(["seat", "turn"]).itertuples():
        rows = _held(row.detail).get("beliefs")
        if (
            isinstance(rows, list)
            and rows
            and all(isinstance(each, list) and len(each) == len(rows[0]) for each in rows)
        ):
            yield int(row.turn), str(row.phase), int(row.seat), rows


def _held(detail: Any) -> dict[str, Any]:
    found = json.loads(detail)
    return found if isinstance(found, dict) else {}


@styled
def belief_figure(found: Sequence[Belief], named: Sequence[str], title: str) -> Figure:
    """A small heatmap for every belief, seat by seat below one another, turn by turn from left to right; `named`: the seats' names."""
    rows = []
    for _, own in groupby(found, key=lambda belief: belief.seat):
        every = list(own)
        rows += [every[start : start + WIDE] for start in range(0, len(every), WIDE)]
    columns = max(map(len, rows))
    made, axes = figure(len(rows), columns, (max(5.0, 2.6 * columns), 0.8 + 2.5 * len(rows)))
    for place, axis in enumerate(axes):
        row, column = divmod(place, columns)
        if column < len(rows[row]):
            _drawn(axis, rows[row][column], named)
        else:
            axis.set_visible(False)
    made.suptitle(
        f"{title}\nrow: whose view, column: who is suspected; each row sums to 1\n"
        "white: an even guess; purple: suspected more, orange: less",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    return made


def _drawn(axes: Axes, belief: Belief, named: Sequence[str]) -> None:
    even = 1 / max(2, (~np.isnan(belief.matrix)).sum(axis=1).max())
    norm = TwoSlopeNorm(even, 0, 1)  # the same for all, so that beliefs that hardly differ look alike
    axes.imshow(belief.matrix, cmap="PuOr", norm=norm)
    short = [name.replace("Player ", "P") for name in named]
    for (row, column), value in np.ndenumerate(belief.matrix):
        colour = "black" if 0.2 < norm(value) < 0.8 else "white"
        axes.text(column, row, "" if np.isnan(value) else f"{value:.3f}", ha="center", va="center", color=colour)
    axes.set_xticks(range(belief.matrix.shape[1]), short[: belief.matrix.shape[1]])
    axes.set_yticks(range(belief.matrix.shape[0]), short[: belief.matrix.shape[0]])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{named[belief.seat]}, turn {belief.turn} ({belief.phase})", fontsize=9)
