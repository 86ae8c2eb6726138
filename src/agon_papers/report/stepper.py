"""Matches of any game as data for a page that steps through them: see templates/explore/match.js."""

from typing import Any

import pandas as pd

from agon.figures import viewer
from agon.games import Observation
from agon.games.base import PUBLIC
from agon.games.html import plain
from agon.games.pages import UNREADABLE
from agon.replay import Replay, Step

SHORT = 3
"""Letters of a label that fit on a tile."""


def match_data(replay: Replay, turns: pd.DataFrame) -> dict[str, Any]:
    """The data of a match, of which `turns` has all rows: match, game, variant, players, secrets, moves.

    A player has name, lacks (the secrets that it does not know), and role, agent and model if there are any.
    `secrets`: words of the game's setting that spectators did not see.
    A move has turn, round, phase, paid (points of every seat) and acts. An act has seat, does, tile (does, shortened),
    place (among at most three options), says (the whole answer), wrong (why another action was put in its place),
    believes (the seat's matrix) and thinks. What does not apply is left out.
    """
    names = viewer.players(replay)
    rows = turns.set_index(["turn", "seat"]).astype(dict.fromkeys(("fallback", "reply"), object))
    first = turns.drop_duplicates("seat").set_index("seat")
    private = {(each.turn, each.seat): {"believes": each.matrix.round(3).tolist()} for each in viewer.beliefs(turns)}
    for each in viewer.thoughts(turns, names).itertuples():
        private.setdefault((each.turn, names.index(each.player)), {})["thinks"] = plain(each.thought)
    return {
        "match": str(turns.match.iloc[0]),
        "game": replay.game.name,
        "variant": replay.game.variant,
        "players": [
            {"name": name, "lacks": [plain(word) for word in replay.game.secrets(seat)]}
            | {
                kind: str(first.loc[seat, kind])
                for kind in ("role", "agent", "model")
                if _filled(first.loc[seat, kind])
            }
            for seat, name in enumerate(names)
        ],
        "secrets": [plain(word) for word in replay.game.secrets(PUBLIC)],
        "moves": [_move(step, rows, private) for step in replay.steps],
    }


def _move(step: Step, rows: pd.DataFrame, private: dict[tuple[int, int], dict[str, Any]]) -> dict[str, Any]:
    view = next(iter(step.views.values()))
    return {
        "turn": step.turn,
        "round": view.round,
        "phase": view.phase,
        "paid": [round(points, 6) for points in step.payoffs],
        "acts": [
            {"seat": seat}
            | _action(view, step.actions[seat])
            | {
                name: plain(rows.loc[(step.turn, seat), column])
                for name, column in (("says", "reply"), ("wrong", "fallback"))
                if _filled(rows.loc[(step.turn, seat), column])
            }
            | private.get((step.turn, seat), {})
            for seat, view in step.views.items()
        ],
    }


def _action(view: Observation, action: Any) -> dict[str, Any]:
    """The action in words, on a tile, and its place among a few options."""
    if action is None:
        return {"does": UNREADABLE, "tile": "·"}
    words, options = plain(view.legal.format(action)), view.legal.as_json().get("choice", [])
    initials = "".join(word[0] for word in words.split(",")[0].split())
    tile = words if len(words) <= SHORT else initials if len(initials) > 1 and options else words[:2]
    few = {"place": options.index(action)} if action in options and len(options) <= SHORT else {}
    return {"does": words, "tile": tile if options or len(words) <= SHORT else "…"} | few


def _filled(value: Any) -> bool:
    return value is not None and not pd.isna(value) and value != ""
