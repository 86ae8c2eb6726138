"""Matches of any game as data for a page that steps through them: see templates/explore/match.js."""

import re
from collections.abc import Sequence
from itertools import combinations_with_replacement, product
from typing import Any

import pandas as pd

from agon.conf import current_name, describe_file
from agon.conf import names as files
from agon.figures import viewer
from agon.games import Game, Observation
from agon.games.base import PUBLIC, Event
from agon.games.cost_sharing.game import CostSharing
from agon.games.deduction.game import Deduction
from agon.games.html import plain
from agon.games.matrix.game import MatrixGame
from agon.games.pages import UNREADABLE
from agon.games.prisoner3.game import Prisoner3
from agon.games.public_goods.game import PublicGoods
from agon.replay import Replay, Step

SHORT = 3
"""Letters of a label that fit on a tile."""


def match_data(replay: Replay, turns: pd.DataFrame) -> dict[str, Any]:
    """The data of a match, of which `turns` has all rows: match, game, variant, players, secrets, moves.

    `pays`: sentences on what the game pays, and on who the players are.
    `names`: short names of the match, and what they mean.
    A player has name, lacks (the secrets that it does not know), and role, agent and model if there are any.
    `secrets`: words of the game's setting that spectators did not see.
    A move has turn, round, phase, paid (points of every seat), acts, and `given` if no player chose it, but the setting.
    An act has seat, does, tile (does, shortened),
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
        "pays": pays(replay.game),
        "names": _names(replay.game, first.agent.astype(str).tolist()),
        "moves": _moves(replay, rows, private),
    }


def pays(game: Any) -> str:
    """What the game pays, from its settings, and which airline a player is.

    Empty for other games, and for dilemmas of two, whose points the page's rules list.
    """
    if isinstance(game, PublicGoods):
        return (
            f"Each player has {game.endowment} points for all {game.rounds} rounds. The pool is multiplied by "
            f"{game.multiplier:g}, and what a player has kept is added to its share."
        )
    if isinstance(game, CostSharing):
        airlines = [
            f"{player} is airline {airline.name}" for player, airline in zip(game.players, game.airlines, strict=True)
        ]
        return (
            f"{', '.join(airlines)}. A proposal gives each airline's share of the fee in percent. An agreement pays every "
            f"player 1 point; without one after {game.rounds} rounds nobody is paid."
        )
    if isinstance(game, Deduction):
        spy, others = game.sides
        ends = {
            "escaped": "another player is accused",
            "even": "no player has most votes",
            "caught": f"the {spy} is accused",
            "guessed": f"the {spy} is accused and guesses the word",
        }
        credits = {**game.credits, **(game.pays or {})}.items()
        outcomes = [f"{own:g} and {other:g} if {ends[name]}" for name, (own, other) in credits]
        return f"Points of the {spy} and of each {others} at the end: {'; '.join(outcomes)}."
    if isinstance(game, Prisoner3):
        profiles = [
            f"{', '.join(profile)} pays {', '.join(f'{points:g}' for points in game.payoffs(profile))}"
            for profile in combinations_with_replacement(game.action_sets[0], game.seats)
        ]
        return f"Points of a round, whoever chooses which action: {'; '.join(profiles)}."
    if isinstance(game, MatrixGame):
        pairs = [(pair, game.payoffs(pair)) for pair in product(game.action_sets[0], repeat=2)]
        if all(sum(points) == 0 for _, points in pairs):
            wins = [f"{own} beats {other} and earns {points[0]:g}" for (own, other), points in pairs if points[0] > 0]
            return f"Here {'; '.join(wins)}. The other player loses as many points. Equal actions earn 0."
    return ""


def _names(game: Game[Any], agents: Sequence[str]) -> dict[str, str]:
    """What a numbered variant, the agents, and the agents that these build on mean; those that conf/agent has."""
    names = dict[str, str]()
    if game.tested:
        tested = [f"{game.players[seat]}{f' ({game.roles[seat]})' if game.roles else ''}" for seat in game.tested]
        names[game.variant] = (
            f"setting {game.variant.partition('-')[0]} of the game, with {', '.join(tested)} under test"
        )
    left, known = list(agents), files("agent")
    while left:
        agent = left.pop(0)
        if agent not in names and (name := current_name("agent", agent)) in known:
            names[agent] = describe_file("agent", name)
            left += re.findall(r"As (\w+)", names[agent])
    return names


def _moves(replay: Replay, rows: pd.DataFrame, private: dict[tuple[int, int], dict[str, Any]]) -> list[dict[str, Any]]:
    """All moves in order, with those that the setting made: what became public and was no answer of a player."""
    legal = {view.phase: view.legal for step in replay.steps for view in step.views.values()}
    moves: list[dict[str, Any]] = []
    told, answered = 0, set[tuple[str, int]]()
    for step in replay.steps:
        past = replay.game.watch(step.state).past
        moves += [
            {
                "turn": step.turn,
                "round": next(iter(step.views.values())).round,
                "phase": event.phase,
                "paid": [0] * replay.game.seats,
                "acts": [{"seat": event.seat, "does": plain(legal[event.phase].format(event.value)), "tile": "…"}],
                "given": True,
            }
            for event in past[told:]
            if isinstance(event, Event) and event.seat is not None and (event.phase, event.seat) not in answered
        ]
        told, answered = len(past), {(view.phase, seat) for seat, view in step.views.items()}
        moves.append(_move(step, rows, private))
    return moves


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
