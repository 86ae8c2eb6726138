"""Tables and figures of one match: views, actions, answers, and the players' thoughts in the column `detail`.

Text of players is always escaped.
"""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from agon.figures import COLOURS, MARKERS, NARROW, figure, headline, legend, name_rows, styled
from agon.games import Observation
from agon.games.html import escaped, format_value
from agon.games.pages import UNREADABLE, describe_entry
from agon.replay import Replay
from agon.turns import cut_off

LONG = 24
"""Letters: columns with longer texts are left-aligned paragraphs."""
LITTLE = 0.05
"""A distance from an even guess below which a belief says nothing."""


def shown(table: pd.DataFrame) -> HTML:
    """A table in HTML. Every cell and name is escaped; line breaks stay."""
    columns = [table[name].astype(object).where(table[name].notna(), None).map(escaped) for name in table]
    columns = [column.map("<p>{}</p>".format) if column.str.len().max() > LONG else column for column in columns]
    safe = pd.DataFrame({escaped(name): column for name, column in zip(table, columns, strict=True)})
    with pd.option_context("display.max_colwidth", None):
        text = safe.to_html(escape=False, index=False, border=0, classes="tex2jax_ignore mathjax_ignore")
    return HTML(text)  # type: ignore[no-untyped-call]


def players(replay: Replay) -> list[str]:
    """The names of the seats."""
    return list(replay.game.players)


def seating(replay: Replay, turns: pd.DataFrame) -> pd.DataFrame:
    """One row per seat: seat, player, role, agent, model, tested, asked (times), readable and cut off (of these), points."""
    decisions, names = turns[turns.asked], players(replay)
    first_rows = turns.drop_duplicates("seat").sort_values("seat", kind="stable").set_index("seat")
    return pd.DataFrame(
        {
            "seat": first_rows.index,
            "player": [names[seat] for seat in first_rows.index],
            **{name: first_rows[name].astype(object) for name in ("role", "agent", "model")},
            "tested": ["yes" if seat in replay.game.tested else "" for seat in first_rows.index],
            "asked": decisions.groupby("seat").size().reindex(first_rows.index),
            "readable": (decisions.action.notna() & decisions.fallback.eq(""))
            .groupby(decisions.seat)
            .sum()
            .reindex(first_rows.index),
            "cut off": cut_off(decisions).groupby(decisions.seat).sum().reindex(first_rows.index),
            "points": turns.groupby("seat").payoff.sum().reindex(first_rows.index),
        }
    )


def setting(game: Any) -> pd.DataFrame:
    """The game's settings, hidden facts included: what, value."""
    fields = [field.name for field in dataclasses.fields(game) if field.init]
    return pd.DataFrame({"what": fields, "value": [format_value(getattr(game, name)) for name in fields]})


def course(replay: Replay, turns: pd.DataFrame) -> pd.DataFrame:
    """One row per seat asked: turn, round, phase, player, role, did (the action), said (the raw answer), paid."""
    rows, names = turns.set_index(["turn", "seat"]), players(replay)
    return pd.DataFrame(
        [
            {
                "turn": step.turn,
                "round": view.round,
                "phase": view.phase,
                "player": names[seat],
                "role": rows.role[step.turn, seat],
                "did": _describe_action(view, step.actions[seat], rows.fallback[step.turn, seat]),
                "said": rows.reply[step.turn, seat],
                "paid": step.payoffs[seat],
            }
            for step in replay.steps
            for seat, view in step.views.items()
        ]
    )


def _describe_action(view: Observation, action: Any, fallback: str) -> str:
    action_text = UNREADABLE if action is None else view.legal.format(action)
    return f"{action_text}\n({fallback})" if fallback else str(action_text)


def sights(replay: Replay) -> pd.DataFrame:
    """The news of each player when it was asked: a row per step, a column per player."""
    names, lengths, rows = players(replay), [0] * replay.game.seats, []
    everybody = {seat: replay.game.observe(replay.state, seat) for seat in range(replay.game.seats)}
    steps_of_views = [(str(step.turn), next(iter(step.views.values())).phase, step.views) for step in replay.steps]
    for turn, phase, views in [*steps_of_views, ("end", "", everybody)]:
        row = {"turn": turn, "phase": phase} | dict.fromkeys(names, "")
        for seat, view in views.items():
            lines = [describe_entry(event, view, place, names) for place, event in enumerate(view.past)][
                lengths[seat] :
            ]
            row[names[seat]] = "\n".join(lines) or "(nothing new)"
            lengths[seat] = len(view.past)
        rows.append(row)
    return pd.DataFrame(rows)


def ballots(replay: Replay) -> pd.DataFrame:
    """The votes: round, player, vote. Empty for a game without votes."""
    names = players(replay)
    return pd.DataFrame(
        [
            {"round": view.round, "player": names[seat], "vote": UNREADABLE if vote is None else vote}
            for step in replay.steps
            for seat, view in step.views.items()
            for vote in [step.actions[seat]]
            if view.phase == "vote"
        ],
        columns=["round", "player", "vote"],
    )


def worth(replay: Replay) -> pd.DataFrame:
    """Total points after each step: turn, player, value."""
    totals = np.cumsum([step.payoffs for step in replay.steps], axis=0)
    return pd.DataFrame(
        [
            {"turn": step.turn, "player": player, "value": total}
            for step, totals_then in zip(replay.steps, totals, strict=True)
            for player, total in zip(players(replay), totals_then, strict=True)
        ]
    )


# ---- thoughts: matrices of beliefs, forecasts, and texts that nobody else saw ----


class Belief(NamedTuple):
    """A seat's beliefs when it was asked: row j has the suspicions that it ascribes to seat j."""

    turn: int
    phase: str
    seat: int
    matrix: np.ndarray[Any, np.dtype[np.float64]]


def beliefs(turns: pd.DataFrame) -> list[Belief]:
    """The matrices in `detail` under "beliefs" (a list of rows), without repetitions of the seat's last one."""
    matrices: list[Belief] = []
    for turn, phase, seat, rows in _belief_rows(turns):
        if all(cell is None or isinstance(cell, int | float) for row in rows for cell in row):
            matrix = np.array(rows, dtype=float)
            if not (
                matrices and matrices[-1].seat == seat and np.array_equal(matrices[-1].matrix, matrix, equal_nan=True)
            ):
                matrices.append(Belief(turn, phase, seat, matrix))
    return matrices


def forecasts(turns: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Beliefs in words: turn, player, view (whose belief, in the player's opinion), of (about whom), forecast. Repetitions are left out."""
    rows_of_forecasts: list[dict[str, Any]] = []
    last: Any = None
    for turn, _, seat, rows in _belief_rows(turns):
        words = [
            (view, of, cell) for view, row in enumerate(rows) for of, cell in enumerate(row) if isinstance(cell, str)
        ]
        if words and (seat, words) != last:
            rows_of_forecasts += [
                {"turn": turn, "player": names[seat], "view": names[view], "of": names[of], "forecast": cell}
                for view, of, cell in words
            ]
        last = seat, words
    return pd.DataFrame(rows_of_forecasts, columns=["turn", "player", "view", "of", "forecast"])


def thoughts(turns: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The private texts in `detail` under "thought": turn, phase, player, thought."""
    rows_of_thoughts = [
        {"turn": row.turn, "phase": str(row.phase), "player": names[row.seat], "thought": "\n".join(map(str, texts))}
        for row in turns[turns.detail.notna()].itertuples()
        for texts in [_parse_detail(row.detail).get("thought")]
        if isinstance(texts, list) and texts
    ]
    return pd.DataFrame(rows_of_thoughts, columns=["turn", "phase", "player", "thought"])


def first_match(turns: pd.DataFrame) -> str:
    """The id of the first match with beliefs, or else of the first match; "" without any."""
    detail = turns.detail.astype("str")
    believed = turns.match[turns.detail.notna() & detail.str.contains('"beliefs"', regex=False)]
    return next(iter([*believed[:1], *turns.match[:1]]), "")


def _belief_rows(turns: pd.DataFrame) -> Iterator[tuple[int, str, int, list[list[Any]]]]:
    """Turn, phase, seat and rows of equal length, seat by seat."""
    for row in turns[turns.detail.notna()].sort_values(["seat", "turn"]).itertuples():
        rows = _parse_detail(row.detail).get("beliefs")
        if (
            isinstance(rows, list)
            and rows
            and all(isinstance(cells, list) and len(cells) == len(rows[0]) for cells in rows)
        ):
            yield int(row.turn), str(row.phase), int(row.seat), rows


def _parse_detail(detail: Any) -> dict[str, Any]:
    content = json.loads(detail)
    return content if isinstance(content, dict) else {}


@styled
def belief_figure(beliefs_of_seats: Sequence[Belief], names: Sequence[str], title: str) -> Figure:
    """The suspicions of each seat, and those that it ascribes to each other one: its first beliefs (hollow), and its last ones.

    `names`: those of the seats. The headline is `title`, and the strongest last suspicion if one is far from an even guess.
    """
    first = {belief.seat: belief.matrix for belief in reversed(beliefs_of_seats)}
    last = {belief.seat: belief.matrix for belief in beliefs_of_seats}
    rows = [(seat, view) for seat, matrix in last.items() for view in range(len(matrix))]
    fig, [axes] = figure(1, 1, (NARROW, 2.3 + 0.55 * len(rows)))
    even = 1 / max(2, max((~np.isnan(matrix)).sum(axis=1).max() for matrix in last.values()))
    for suspected, name in enumerate(names[: max(matrix.shape[1] for matrix in last.values())]):
        before, now = ([beliefs[seat][view][suspected] for seat, view in rows] for beliefs in (first, last))
        at = np.arange(len(rows)) + (suspected - (len(names) - 1) / 2) * 0.45 / len(names)
        look: dict[str, Any] = {"color": COLOURS[suspected % 8], "marker": MARKERS[suspected % 14], "ls": "", "ms": 5}
        axes.hlines(at, before, now, color=look["color"], lw=1.2)
        axes.plot(before, at, mfc="white", **look)
        axes.plot(now, at, label=name, **look)
    axes.axvline(even, color="#555555", lw=1, ls="--", zorder=0)
    name_rows(
        axes,
        [
            f"{names[seat]} suspects" if seat == view else f"{names[seat]} thinks that {names[view]} suspects"
            for seat, view in rows
        ],
        above=0.3,
    )
    axes.set(
        xlim=(-0.02, 1.02), xlabel="suspicion (1: sure); hollow: at first, filled: at last\ndashed line: an even guess"
    )
    every = np.concatenate([np.ravel(matrix) for matrix in last.values()])
    far, most = np.nanmax(abs(every - even)), np.nanmax(every)
    finding = (
        f"no suspicion is more than {np.ceil(100 * far):.0f} percentage points from an even guess"
        if far < LITTLE
        else f"the strongest suspicion at the end is {100 * most:.0f} %"
    )
    headline(fig, f"{title}: {finding}")
    legend(fig, axes, 2)
    return fig
