"""How a player behaves in a game's twins: does it stay the same in other clothes, and does it follow where the solution has moved?

Behaviour is compared in matched situations: the same history, in the words and order of either game. All numbers are 0 to 1, but that
who moves away from a solution is below 0.
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

Mix = Mapping[Any, float]
"""Action -> its probability."""
Behaviour = Callable[[Observation], Mix]
"""What a player does in a situation; a model's is exact where it is weighed (agon.agents.reads)."""
KINDS = ("words", "order", "scale", "frame")
"""What a twin may change."""
METRICS: dict[str, Limits] = {"invariance": SHARE, "surface pull": SHARE, "sensitivity": (-1.0, 1.0)}
"""What is measured, and its limits."""
FIGURE = 20
"""What a player who goes by figures puts in."""


@dataclass(frozen=True)
class Made:
    """A player that is made anew for every game, such as one that solves it."""

    make: Callable[[Game[Any]], Behaviour]


Player = Behaviour | Made
Pair = tuple[Observation, Observation]
"""What is seen in the game, and in its twin."""


class Situation(NamedTuple):
    """Where a seat is asked: what has been done in the original before, in order."""

    history: tuple[Mapping[int, Any], ...]
    seat: int
    seed: int
    """Of the table's dice."""


def sampled(script: Script, samples: int = 50) -> Behaviour:
    """The behaviour of a script, from so many throws of its dice; exact where it throws none."""

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


SOLVER = Made(_solver)
"""What solves a game, as its family says: `solver(game)` in twins.py. It does nothing (an empty mix) where it has no answer."""


def by_words(view: Observation) -> Mix:
    """One who goes by words and figures: the option that is first in the alphabet; 20, or what is nearest; least for the first name.

    A family whose answers are others says it in twins.py.
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
    """One who goes by order: the first option; the more, the later its seat; least for the first in the list.

    A family whose answers are others says it in twins.py.
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
"""Players of whom it is known where they belong: the solver at (1, 1), the memorisers at (0, 0)."""


def situations(game: Game[Any], number: int, seed: int = 0, solver: Behaviour | None = None) -> list[Situation]:
    """Situations of random matches, one drawn from each; a seed always gives the same.

    `solver`: only those in which it has an answer; a match without any gives none.
    """
    drawn = []
    for match in range(number):
        dice, all_of_match = Random(f"{seed} {match}"), list[Situation]()
        history: tuple[Mapping[int, Any], ...] = ()
        state = game.start(seat_dice(match, -1))
        while asked := game.to_move(state):
            for seat in asked:
                if solver is None or solver(game.observe(state, seat)):
                    all_of_match.append(Situation(history, seat, match))
            actions = {seat: game.legal_actions(state, seat).example(dice) for seat in asked}
            state, _ = game.step(state, actions)
            history = (*history, actions)
        drawn += all_of_match[int(dice.random() * len(all_of_match)) :][:1]
    return drawn


def seen(game: Game[Any], situation: Situation, map: Isomorphism | None = None) -> Observation:
    """What the seat sees there; in a twin of the situation's game, by its `map`."""
    map = map or Isomorphism()
    state = game.start(seat_dice(situation.seed, -1))
    for actions in situation.history:
        done = {}
        for seat, action in actions.items():
            there = map.seat(seat)
            done[there] = map.value(action, game.observe(state, there).phase)
        state, _ = game.step(state, done)
    return game.observe(state, map.seat(situation.seat))


def distance(one: Mix, other: Mix) -> float:
    """Total variation."""
    return min(1.0, fsum(abs(one.get(action, 0) - other.get(action, 0)) for action in {*one, *other}) / 2)


def _alike(in_game: Behaviour, in_twin: Behaviour, map: Isomorphism, pairs: Sequence[Pair]) -> list[float]:
    """In each situation, 1 less the distance of what is done in the twin from what is done in the game."""
    return [1 - distance(_mapped(in_game(view), map, view.phase), in_twin(there)) for view, there in pairs]


def _followed(
    in_game: Behaviour, in_near: Behaviour, solver: tuple[Behaviour, Behaviour], map: Isomorphism, pairs: Sequence[Pair]
) -> list[float]:
    """In each situation whose solution moved, how far the player has moved towards the new one, as a part of the way.

    1: it does what solves the near-twin; 0: it does in it what it does in the game. A move away from the solution is below 0, -1 at
    the least. The way is the solver's, or the player's own, before or after, where this is longer.
    """
    parts = []
    for view, there in pairs:
        target = solver[1](there)
        way = distance(_mapped(solver[0](view), map, view.phase), target)
        if way:
            before = distance(_mapped(in_game(view), map, view.phase), target)
            after = distance(in_near(there), target)
            parts.append((before - after) / max(way, before, after))
    return parts


def _pairs(game: Game[Any], other: Game[Any], where: Sequence[Situation]) -> list[Pair]:
    """What is seen in both, where the situation can come up in both."""
    pairs, map = [], map_of(other)
    for situation in where:
        with suppress(IllegalAction):
            pairs.append((seen(game, situation), seen(other, situation, map)))
    return pairs


def _at(player: Player, game: Game[Any]) -> Behaviour:
    return player.make(game) if isinstance(player, Made) else player


def _anything(view: Observation) -> Mix:
    """What chance does. Where options cannot be listed it hits nothing: it does what is like nothing in the game."""
    listed = view.legal.listed() or (_NOTHING,)
    return dict.fromkeys(listed, 1 / len(listed))


_NOTHING = object()


def measured(players: Mapping[str, Player], solver: Player | None, name: str, number: int = 20) -> pd.DataFrame:
    """Each player's measures in every twin and near-twin of a game that conf/twin declares, with interval, in long form.

    Columns: player, game, twin, kind (what alone it changes: words, order, scale, frame, or the solution; several: all), metric
    (invariance; surface pull, which is one less it under words or order alone; sensitivity), value, sd, n, low, high; `chance`,
    what it would be if the player did anything in the other game; `solver`, what the solver's is. The solver is that of the
    game's family where none is given; only situations that this one solves are measured. A situation that cannot come up in the
    other game does not count. Raises AgonError where there is no solver.
    """
    game = load("game", name)
    everybody = {"solver": solver or SOLVER} | dict(players)
    in_game = {player: _once(_at(each, game)) for player, each in everybody.items()}
    where = situations(game, number, solver=None if solver else in_game["solver"])
    rows = list[dict[str, Any]]()
    for (of, twin), claim in claims().items():
        if of != name:
            continue
        other = load("game", f"{name}~{twin}")
        map, pairs = map_of(other), _pairs(game, other, where)
        solves = in_game["solver"], _once(_at(everybody["solver"], other))
        kind = _kind(name, twin, claim.twin, other)
        for player, each in everybody.items():
            keys = {"player": player, "game": name, "twin": twin, "kind": kind}
            there = solves[1] if player == "solver" else _at(each, other)
            if claim.twin:
                values, chance = (_alike(in_game[player], does, map, pairs) for does in (there, _anything))
            else:
                values, chance = (_followed(in_game[player], does, solves, map, pairs) for does in (there, _anything))
            rows += [keys | _row(claim.twin, kind, *both) for both in zip(values, chance, strict=True)]
    return _summary(pd.DataFrame(rows), players)


def _kind(name: str, twin: str, claimed: bool, other: Game[Any]) -> str:
    """What alone another game changes; several: all."""
    settings = settings_of("game", f"{name}~{twin}")
    is_twin = isinstance(other, Twin)
    changes = [kind for kind in KINDS if settings.get(kind)] if is_twin else ["solution"]
    return changes[0] if len(changes) == 1 and claimed is is_twin else "all"


def _row(is_twin: bool, kind: str, value: float, chance: float) -> dict[str, float]:
    """The measures of one situation, and what chance gives there."""
    if not is_twin:
        return {"sensitivity": value, "sensitivity, chance": chance}
    row = {"invariance": value, "invariance, chance": chance}
    if kind in ("words", "order"):
        row |= {"surface pull": 1 - value, "surface pull, chance": 1 - chance}
    return row


def _once(behaviour: Behaviour) -> Behaviour:
    """The behaviour, asked once in every situation."""
    known: dict[int, tuple[Observation, Mix]] = {}

    def mix(view: Observation) -> Mix:
        if id(view) not in known:
            known[id(view)] = view, behaviour(view)
        return known[id(view)][1]

    return mix


def _summary(rows: pd.DataFrame, players: Mapping[str, Player]) -> pd.DataFrame:
    """The measures of the players, with what chance and the solver give."""
    keys = ["player", "game", "twin", "kind"]
    rows = rows.reindex(columns=[*keys, *(f"{each}{mark}" for each in METRICS for mark in ("", ", chance"))])
    table = summary(rows, [*METRICS], keys, limits=METRICS)
    by_chance = summary(rows, [f"{each}, chance" for each in METRICS], keys, intervals=False)
    by_chance["metric"] = by_chance.metric.str.removesuffix(", chance")
    solved = table[table.player == "solver"].drop(columns="player")
    for column, found, on in (("chance", by_chance, [*keys, "metric"]), ("solver", solved, [*keys[1:], "metric"])):
        table = table.merge(found.rename(columns={"value": column})[[*on, column]], how="left", on=on)
    return table[table.player.isin(list(players))].reset_index(drop=True)


def plane(table: pd.DataFrame) -> pd.DataFrame:
    """One point for each player and game of `measured`: mean sensitivity, and the least invariance under any one twin.

    The least, because who goes by words is moved by no order, and who goes by order by no word. Near-twins that are clothed
    otherwise as well count only where there are no others.
    """
    keys = table.groupby(["player", "game"])
    least = keys.apply(lambda own: own[own.metric == "invariance"].value.min(), include_groups=False)
    follows = keys.apply(lambda own: _near(own[own.metric == "sensitivity"]).value.mean(), include_groups=False)
    return pd.DataFrame({"invariance": least, "sensitivity": follows}).reset_index()


def _near(rows: pd.DataFrame) -> pd.DataFrame:
    alone = rows[rows.kind == "solution"]
    return alone if len(alone) else rows


def _mapped(mix: Mix, map: Isomorphism, phase: str) -> Mix:
    return {map.value(action, phase): share for action, share in mix.items()}
