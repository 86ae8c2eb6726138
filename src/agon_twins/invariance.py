"""A player's behaviour in a game's twins: does it stay the same in other clothes, and does it follow a solution that moves?

Behaviour is compared in the same situation of both games: the same history, in the words and order of either game. Invariance is
between 0 and 1. Sensitivity is between -1 and 1, below 0 for a player who moves away from the solution.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import fsum
from random import Random
from typing import Any, NamedTuple

import pandas as pd

from agon.conf import load, settings_of
from agon.errors import AgonError
from agon.games import Choice, Game, Observation
from agon.games.base import IllegalAction
from agon.games.spaces import Number, Offer
from agon.loop import Script, seat_dice
from agon.metrics.interval import SHARE, Limits, summary
from agon_twins.family import of_family
from agon_twins.isomorphism import Isomorphism
from agon_twins.names import claims
from agon_twins.twin import Twin, map_of
from agon_twins.walks import LONG

Mix = Mapping[Any, float]
"""Action -> its probability."""
Behaviour = Callable[[Observation], Mix]
"""Observation -> the player's mix. A model's is exact if it has log-probabilities (agon.agents.reads)."""
KINDS = ("words", "order", "scale", "frame")
"""The kinds of changes in a twin."""
METRICS: dict[str, Limits] = {"invariance": SHARE, "surface pull": SHARE, "sensitivity": (-1.0, 1.0)}
"""Metric -> its limits."""
FIGURE = 20
"""The number to which the player `by_words` stays nearest."""


@dataclass(frozen=True)
class PlayerFactory:
    """Makes a player for each game, such as its solver."""

    make: Callable[[Game[Any]], Behaviour]


Player = Behaviour | PlayerFactory
Pair = tuple[Observation, Observation]
"""The observations of a situation in the game and in its twin."""


class Situation(NamedTuple):
    """A seat to move and the actions before, in the original game, in order."""

    history: tuple[Mapping[int, Any], ...]
    seat: int
    seed: int
    """The seed of the table's dice."""


def sample_behaviour(script: Script, samples: int = 50) -> Behaviour:
    """The behaviour of a script, estimated from `samples` throws of its dice; exact for a script without dice."""

    def mix(view: Observation) -> Mix:
        counts = Counter(script(view, seat_dice(number, view.seat)) for number in range(samples))
        return {action: count / samples for action, count in counts.items()}

    return mix


def _solver(game: Game[Any]) -> Behaviour:
    solver = of_family(game, "solver")
    if solver is None:
        raise AgonError(f"{game.name} has no solver: its family has no `solver` in twins.py")
    behaviour: Behaviour = solver(game)
    return behaviour


SOLVER = PlayerFactory(_solver)
"""The solver of a game: `solver(game)` in its family's twins.py. Its mix is empty in situations without an answer."""


def by_words(view: Observation) -> Mix:
    """A player who decides by words and figures alone.

    It takes the first option in the alphabet, the number nearest to FIGURE, and the shares that grow with the alphabetical order of the
    names. A family with other answers has its own `by_words` in twins.py.
    """
    if by_words := of_family(view.rules, "by_words"):
        mix: Mix = by_words(view)
        return mix
    match view.legal:
        case Choice():
            return {min(view.legal.options, key=str.casefold): 1.0}
        case Number():
            return {min(_numbers(view.legal), key=lambda number: abs(number - FIGURE)): 1.0}
        case Offer():
            ranks = sorted(view.legal.names, key=str.casefold)
            return {_uneven(view.legal, [ranks.index(name) for name in view.legal.names]): 1.0}
    return {}


def by_position(view: Observation) -> Mix:
    """A player who decides by order alone.

    It takes the first option, a number that grows with its seat, and the shares that grow with the order of the names. A family with
    other answers has its own `by_position` in twins.py.
    """
    if by_position := of_family(view.rules, "by_position"):
        mix: Mix = by_position(view)
        return mix
    match view.legal:
        case Choice():
            return {view.legal.options[0]: 1.0}
        case Number():
            numbers = _numbers(view.legal)
            return {numbers[min(view.seat, len(numbers) - 1)]: 1.0}
        case Offer():
            return {_uneven(view.legal, range(len(view.legal.names))): 1.0}
    return {}


def _numbers(legal: Number) -> range:
    return range(legal.low, legal.high + 1, legal.step)


def _uneven(legal: Offer, ranks: Sequence[int]) -> tuple[float, ...]:
    """Shares of the total that grow with the rank."""
    count = len(ranks)
    return tuple(2 * legal.total * (rank + 1) / (count * (count + 1)) for rank in ranks)


PLAYERS: dict[str, Player] = {"solver": SOLVER, "by words": by_words, "by position": by_position}
"""Players with a place of their own: the solver is at (1, 1), the memorisers are at (0, 0)."""


def situations(game: Game[Any], number: int, seed: int = 0, solver: Behaviour | None = None) -> list[Situation]:
    """Situations of random matches, one from each match; a seed always gives the same.

    `solver`: takes only situations with an answer of this solver; a match may then have none. Steps after the first LONG
    (agon_twins.walks) are not played.
    """
    choices = []
    for match in range(number):
        dice, all_of_match = Random(f"{seed} {match}"), list[Situation]()
        history: tuple[Mapping[int, Any], ...] = ()
        state = game.start(seat_dice(match, -1))
        while (seats := game.to_move(state)) and len(history) < LONG:
            for seat in seats:
                if solver is None or solver(game.observe(state, seat)):
                    all_of_match.append(Situation(history, seat, match))
            actions = {seat: game.legal_actions(state, seat).example(dice) for seat in seats}
            state, _ = game.step(state, actions)
            history = (*history, actions)
        choices += all_of_match[int(dice.random() * len(all_of_match)) :][:1]
    return choices


def observe_situation(game: Game[Any], situation: Situation, map: Isomorphism | None = None) -> Observation:
    """The seat's observation in a situation. `map`: the map of the game, if it is a twin of the situation's game."""
    map = map or Isomorphism()
    state = game.start(seat_dice(situation.seed, -1))
    for actions in situation.history:
        mapped = {}
        for seat, action in actions.items():
            twin_seat = map.seat(seat)
            mapped[twin_seat] = map.value(action, game.observe(state, twin_seat).phase)
        state, _ = game.step(state, mapped)
    return game.observe(state, map.seat(situation.seat))


def distance(one: Mix, other: Mix) -> float:
    """Total variation distance of two mixes, from 0 to 1."""
    return min(1.0, fsum(abs(one.get(action, 0) - other.get(action, 0)) for action in {*one, *other}) / 2)


def _invariances(in_game: Behaviour, in_twin: Behaviour, map: Isomorphism, pairs: Sequence[Pair]) -> list[float]:
    """For each situation, 1 less the distance of the mix in the twin from that in the game."""
    return [1 - distance(_mapped(in_game(view), map, view.phase), in_twin(twin_view)) for view, twin_view in pairs]


def _sensitivities(
    in_game: Behaviour, in_near: Behaviour, solver: tuple[Behaviour, Behaviour], map: Isomorphism, pairs: Sequence[Pair]
) -> list[float]:
    """For each situation whose solution moves, the player's move towards the new solution, as a part of the way.

    1: its mix in the near-twin is the solution; 0: its mix is that in the game. A move away from the solution is below 0, -1 at
    the least. The way is the longest of three distances from the new solution: the old solution's, the player's before, and after.
    """
    parts = []
    for view, near_view in pairs:
        target = solver[1](near_view)
        way = distance(_mapped(solver[0](view), map, view.phase), target)
        if way:
            before = distance(_mapped(in_game(view), map, view.phase), target)
            after = distance(in_near(near_view), target)
            parts.append((before - after) / max(way, before, after))
    return parts


def _pairs(game: Game[Any], other: Game[Any], where: Sequence[Situation]) -> list[Pair]:
    """The observations of both games, for situations that exist in both."""
    pairs, map = [], map_of(other)
    for situation in where:
        with suppress(IllegalAction):
            pairs.append((observe_situation(game, situation), observe_situation(other, situation, map)))
    return pairs


def _behaviour_in(player: Player, game: Game[Any]) -> Behaviour:
    return player.make(game) if isinstance(player, PlayerFactory) else player


def _uniform(view: Observation) -> Mix:
    """Uniform play. Where the actions cannot be listed, its mix is on an action that no game has."""
    options = view.legal.enumerate() or (_NOTHING,)
    return dict.fromkeys(options, 1 / len(options))


_NOTHING = object()


def measure_players(players: Mapping[str, Player], solver: Player | None, name: str, number: int = 20) -> pd.DataFrame:
    """The metrics of each player in every twin and near-twin of a game that conf/twin declares, in long form.

    Columns: player, game, twin, kind (the only change: words, order, scale, frame, or the solution; all: several changes), metric
    (invariance; surface pull: 1 less the invariance under a change of words or order alone; sensitivity), value, sd, n, low, high,
    chance (the value if the player played uniformly in the other game), solver (the solver's value). Without `solver` it is the one of
    the game's family, and only situations that it solves count. A situation that the other game does not have does not count.
    Raises AgonError where there is no solver.
    """
    game = load("game", name)
    all_players = {"solver": solver or SOLVER} | dict(players)
    in_game = {player: _cached(_behaviour_in(behaviour, game)) for player, behaviour in all_players.items()}
    where = situations(game, number, solver=None if solver else in_game["solver"])
    rows = list[dict[str, Any]]()
    for (of, twin), claim in claims().items():
        if of != name:
            continue
        other = load("game", f"{name}~{twin}")
        map, pairs = map_of(other), _pairs(game, other, where)
        solves = in_game["solver"], _cached(_behaviour_in(all_players["solver"], other))
        kind = _kind(name, twin, claim.twin, other)
        for player, behaviour in all_players.items():
            keys = {"player": player, "game": name, "twin": twin, "kind": kind}
            in_other = solves[1] if player == "solver" else _behaviour_in(behaviour, other)
            if claim.twin:
                values, chance = (
                    _invariances(in_game[player], other_behaviour, map, pairs)
                    for other_behaviour in (in_other, _uniform)
                )
            else:
                values, chance = (
                    _sensitivities(in_game[player], other_behaviour, solves, map, pairs)
                    for other_behaviour in (in_other, _uniform)
                )
            rows += [keys | _row(claim.twin, kind, *both) for both in zip(values, chance, strict=True)]
    return _summary(pd.DataFrame(rows), players)


def _kind(name: str, twin: str, claimed: bool, other: Game[Any]) -> str:
    """The only kind of change in another game; "all" for several."""
    settings = settings_of("game", f"{name}~{twin}")
    is_twin = isinstance(other, Twin)
    changes = [kind for kind in KINDS if settings.get(kind)] if is_twin else ["solution"]
    return changes[0] if len(changes) == 1 and claimed is is_twin else "all"


def _row(is_twin: bool, kind: str, value: float, chance: float) -> dict[str, float]:
    """The metrics of one situation, and those of uniform play."""
    if not is_twin:
        return {"sensitivity": value, "sensitivity, chance": chance}
    row = {"invariance": value, "invariance, chance": chance}
    if kind in ("words", "order"):
        row |= {"surface pull": 1 - value, "surface pull, chance": 1 - chance}
    return row


def _cached(behaviour: Behaviour) -> Behaviour:
    """The behaviour, computed once for each observation."""
    cache: dict[int, tuple[Observation, Mix]] = {}

    def mix(view: Observation) -> Mix:
        if id(view) not in cache:
            cache[id(view)] = view, behaviour(view)
        return cache[id(view)][1]

    return mix


def _summary(rows: pd.DataFrame, players: Mapping[str, Player]) -> pd.DataFrame:
    """The metrics of the players, with those of uniform play and of the solver."""
    keys = ["player", "game", "twin", "kind"]
    rows = rows.reindex(columns=[*keys, *(f"{metric}{mark}" for metric in METRICS for mark in ("", ", chance"))])
    table = summary(rows, [*METRICS], keys, limits=METRICS)
    by_chance = summary(rows, [f"{metric}, chance" for metric in METRICS], keys, intervals=False)
    by_chance["metric"] = by_chance.metric.str.removesuffix(", chance")
    solved = table[table.player == "solver"].drop(columns="player")
    for column, columns, on in (("chance", by_chance, [*keys, "metric"]), ("solver", solved, [*keys[1:], "metric"])):
        table = table.merge(columns.rename(columns={"value": column})[[*on, column]], how="left", on=on)
    return table[table.player.isin(list(players))].reset_index(drop=True)


def plane(table: pd.DataFrame) -> pd.DataFrame:
    """One point for each player and game of `measure_players`: mean sensitivity, and the least invariance under any one twin.

    It is the least, because no order moves a player who decides by words, and no word one who decides by order. Near-twins in other
    clothes count only if there are no others.
    """
    keys = table.groupby(["player", "game"])
    least = keys.apply(lambda rows: rows[rows.metric == "invariance"].value.min(), include_groups=False)
    follows = keys.apply(lambda rows: _near(rows[rows.metric == "sensitivity"]).value.mean(), include_groups=False)
    return pd.DataFrame({"invariance": least, "sensitivity": follows}).reset_index()


def _near(rows: pd.DataFrame) -> pd.DataFrame:
    unclothed = rows[rows.kind == "solution"]
    return unclothed if len(unclothed) else rows


def _mapped(mix: Mix, map: Isomorphism, phase: str) -> Mix:
    return {map.value(action, phase): share for action, share in mix.items()}
