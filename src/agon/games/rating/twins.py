"""For twins of ratings (agon_twins.family).

The solution of a rating is the scripted rater's scores. A judge may be better than it. A behaviour is the share of each
(turn, player, value), so that ratings are compared turn by turn and player by player.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any

from agon.games import Game, Observation
from agon.games.rating.scripts import heuristic


def solutions(game: Game[Any]) -> dict[str, Any]:
    """The mean score of every player in each dimension, over all turns; of booleans the share that is true."""
    state, means = game.start(Random(0)), {}
    while game.to_move(state):
        view = game.observe(state, 0)
        ratings = heuristic(view, Random(0))
        means[view.phase] = {
            player: fmean(_score(value) for _, whose, value, _ in ratings if whose == player)
            for player in view.legal.players
        }
        state, _ = game.step(state, {0: ratings})
    return means


def _score(value: Any) -> float:
    return fmean(value) if isinstance(value, tuple) else float(value)


def solver(game: Game[Any]) -> Callable[[Observation], Mapping[Any, float]]:
    """A rater who only counts."""
    return lambda view: as_behaviour({(turn, player): value for turn, player, value, _ in heuristic(view, Random(0))})


def by_words(view: Observation) -> Mapping[Any, float]:
    """A rater by names: the first name in the alphabet gets the best score, the last one the worst."""
    return _ranked(view, sorted(view.legal.players, key=str.casefold))


def by_position(view: Observation) -> Mapping[Any, float]:
    """A rater by position: the first player of the list gets the best score, the last one the worst."""
    return _ranked(view, view.legal.players)


def _ranked(view: Observation, players: Sequence[str]) -> Mapping[Any, float]:
    last = max(1, len(players) - 1)
    scores = {player: 1 - place / last for place, player in enumerate(players)}
    values = {
        player: (score > 0, score > 0.4, score > 0.8) if view.legal.orders else score
        for player, score in scores.items()
    }
    return as_behaviour({(turn, player): values[player] for turn, player in view.legal.units()})


def as_behaviour(scores: Mapping[tuple[int, str], Any]) -> Mapping[Any, float]:
    """Scores by turn and player as a behaviour. The distance of two behaviours is the share of scores that differ."""
    return {(turn, player, value): 1 / len(scores) for (turn, player), value in scores.items()}
