"""Data of repeated two-player games for explorer pages: matches action by action, and payoff tables to change."""

from typing import Any

import pandas as pd

from agon.errors import AgonError
from agon.games.tables import PayoffTable, normal_forms
from agon_papers.report.explore import part

MATCHES, EQUILIBRIA, TABLE = (part(f"{name}.js") for name in ("matches", "equilibria", "table"))
"""Scripts that show matches, find equilibria and edit payoff tables."""

MOST_OPTIONS = 10

KEYS = ["match", "game", "variant", "model", "agent", "opponent", "repetition"]


def rules(games: pd.DataFrame) -> list[dict[str, Any]]:
    """The two-player games with a payoff table and the same actions for both.

    The fields are name, variant, options, payoff ([row][column] -> points of both), rounds. Raises AgonError for more than
    MOST_OPTIONS actions, as a digit stands for each in `courses`.
    """
    shown = [game for game in normal_forms(games) if len(game.players) == 2 and len(game.options)]
    if large := [game for game in shown if len(game.options) > MOST_OPTIONS]:
        raise AgonError(
            f"{large[0].game} {large[0].variant} has {len(large[0].options)} actions: the explorer shows games with at most {MOST_OPTIONS}"
        )
    return [
        {
            "name": game.game,
            "variant": game.variant,
            "options": list(game.options),
            "payoff": [[PayoffTable.of(game).payoffs((own, other)) for other in game.options] for own in game.options],
            "rounds": None if pd.isna(game.rounds) else int(game.rounds),
        }
        for game in shown
    ]


def courses(turns: pd.DataFrame, games: pd.DataFrame) -> pd.DataFrame:
    """One row per two-player match: KEYS, own, other, points, points_other; agent and model are the first seat's.

    `own` and `other` have a character per round: the action's place among the game's options, or "." for an unreadable one.
    """
    places = {
        (game["name"], game["variant"], option): str(place)
        for game in rules(games)
        for place, option in enumerate(game["options"])
    }
    keys = turns[["game", "variant", "action"]].astype(object)
    moves = turns[["match", "seat", "round", "payoff"]].assign(
        move=[places.get(key, ".") for key in keys.itertuples(index=False, name=None)]
    )
    moves = moves.sort_values(["match", "seat", "round"], kind="stable")
    sums = moves.groupby(["match", "seat"], observed=True).agg(moves=("move", "".join), points=("payoff", "sum"))
    sums = sums.unstack("seat")
    seats = turns.drop_duplicates(["match", "seat"]).astype({"match": str})
    first = seats[seats.seat == 0].set_index("match")
    sums.index = sums.index.astype(str)
    sums = sums.reindex(first.index)
    table = first.assign(
        opponent=seats[seats.seat == 1].set_index("match").agent,
        own=sums["moves", 0],
        other=sums["moves", 1],
        points=sums["points", 0],
        points_other=sums["points", 1],
    ).reset_index()
    columns = [*KEYS, "own", "other", "points", "points_other"]
    order = ["game", "variant", "model", "agent", "opponent", "repetition"]
    return table[columns].astype(dict.fromkeys(order[:5], str)).sort_values(order, ignore_index=True)
