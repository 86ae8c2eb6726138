"""Matches in which a twin is compared: those that people, scripts, solvers and models play, beside random ones."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise, permutations
from random import Random
from typing import Any, NamedTuple

import pandas as pd

from agon.conf import CONF, compose_together, load, names
from agon.errors import AgonError
from agon.games import Dice, Game, Observation
from agon.games.spaces import Number, Space, Text
from agon.loop import Script
from agon.turns import action_of
from agon_twins.family import of_family

STARTS = 200
"""How often a game with chance is started to see its deals."""
DEALS = 24
"""Most deals in which a twin is compared."""
LONG = 400
"""Most steps of a walk."""
RECORDED = 4
"""Most recorded matches of a setting."""

History = tuple[Mapping[int, Any], ...]
"""The actions of each step, by seat."""
Recorded = Mapping[tuple[str, str], Sequence[History]]
"""(game, variant) -> recorded matches."""


class Deals(NamedTuple):
    """The deals of a game: the different starts that chance makes."""

    seeds: tuple[int, ...]
    """One for each deal that is compared."""
    seen: int
    """Number of deals that were seen."""
    chance: bool
    """Whether the start uses its dice."""

    @property
    def how(self) -> str:
        """The extent, in words."""
        if not self.chance:
            return "the only deal"
        if self.seen == 1:
            return f"the only deal that {STARTS} starts gave"
        some = "all" if len(self.seeds) == self.seen else f"{len(self.seeds)} of"
        return f"{some} {self.seen} deals that {STARTS} starts gave"


def deal(number: int) -> Random:
    """The dice of a deal."""
    return Random(f"certificate {number}")


@lru_cache(maxsize=64)
def deals(game: Game[Any]) -> Deals:
    """The different starts of a game."""
    dice = deal(0)
    before = dice.getstate()
    game.start(dice)
    if dice.getstate() == before:
        return Deals((0,), 1, chance=False)
    seeds: dict[str, int] = {}
    for number in range(STARTS):
        seeds.setdefault(repr(game.start(deal(number))), number)
    return Deals(tuple(seeds.values())[:DEALS], len(seeds), chance=True)


@lru_cache(maxsize=512)
def walks(game: Game[Any], number: int) -> tuple[History, ...]:
    """The matches of constant players, scripts and solvers in a deal, each once. The last step of a long one is not its end."""
    histories = (play(game, number, players) for players in _tables(game))
    return tuple({repr(history): history for history in histories if history}.values())


def play(game: Game[Any], number: int, players: Sequence[Script]) -> History:
    """The history of a match in a deal, as far as the players can play it."""
    history: list[Mapping[int, Any]] = []
    state, dice = game.start(deal(number)), Random(number)
    while (seats := game.to_move(state)) and len(history) < LONG:
        try:
            actions = {seat: players[seat](_question(game, state, seat), dice) for seat in seats}
            state, _ = game.step(state, actions)
        except Exception:  # a script of another game may raise anything
            break
        history.append(actions)
    return tuple(history)


def _question(game: Game[Any], state: Any, seat: int) -> Observation:
    return game.observe(state, seat)._replace(legal=game.legal_actions(state, seat))


def _tables(game: Game[Any]) -> Iterator[Sequence[Script]]:
    """Players for all seats: constant ones, then one who differs from all others, scripts, the solver, and silent ones."""
    constant: list[Script] = [partial(_constant, place=place, secrets=game.secrets) for place in range(4)]
    for player in constant:
        yield [player] * game.seats
    for place, (player, other) in enumerate(permutations(constant, 2)):
        yield [other if seat == place % game.seats else player for seat in range(game.seats)]
    playing = [script for script in scripts() if play(game, 0, [script] * game.seats)]
    for script in playing:
        yield [script] * game.seats
    for one, other in pairwise([*playing, *playing[:1]]):
        yield [one, other] * game.seats
        yield [other, one] * game.seats
    if solver := of_family(game, "solver"):
        yield [partial(_solve, solver=solver(game))] * game.seats
    yield [_silent] * game.seats


@cache
def scripts() -> tuple[Script, ...]:
    """All scripts of conf/agent."""
    compose_together({"agent": names("agent", CONF)}, CONF)
    players = [load("agent", name) for name in names("agent", CONF)]
    return tuple(player for player in players if inspect.isfunction(getattr(player, "func", None)))


def _constant(view: Observation, dice: Dice, *, place: int, secrets: Callable[[int], Sequence[str]]) -> Any:
    """Always the action in one place: of numbers the least, the next, the middle and the most; of texts the seat's secrets."""
    options = _menu(view.legal, secrets(view.seat))
    return options[place % len(options)] if options else view.legal.example(dice)


def _menu(legal: Space, secrets: Sequence[str]) -> Sequence[Any]:
    if isinstance(legal, Text):
        return [secret for secret in secrets if secret in legal]
    if isinstance(legal, Number):
        numbers = range(legal.low, legal.high + 1, legal.step)
        return [numbers[place] for place in (0, min(1, len(numbers) - 1), len(numbers) // 2, -1)]
    return legal.enumerate() or ()


def _solve(view: Observation, dice: Dice, *, solver: Callable[[Observation], Mapping[Any, float]]) -> Any:
    """An action of the solver; any action where it has no answer."""
    mix, point = solver(view), dice.random()
    for action, share in mix.items():
        point -= share
        if point < 0:
            return action
    return next(iter(mix), view.legal.example(dice))


def _silent(view: Observation, dice: Dice) -> None:
    """Never a readable action."""


def recorded_matches(turns: pd.DataFrame) -> Recorded:
    """At most RECORDED matches of each setting, evenly spaced in a table of turns. Raises AgonError for a table of another kind."""
    if missing := {"game", "variant", "match", "turn", "seat", "action", "asked"} - set(turns.columns):
        raise AgonError(
            f"recorded matches: the table has no column {', '.join(sorted(missing))}: name a table of turns"
        )
    matches: dict[tuple[str, str], Sequence[History]] = {}
    for (game, variant), rows in turns[turns.asked].groupby(["game", "variant"], observed=True):
        ids = rows.match.unique()
        chosen = ids[:: max(1, len(ids) // RECORDED)][:RECORDED]
        matches[str(game), str(variant)] = [_history(rows[rows.match == match]) for match in chosen]
    return matches


def _history(rows: pd.DataFrame) -> History:
    return tuple(
        {
            int(seat): None if pd.isna(action) else action_of(action)
            for seat, action in zip(step.seat, step.action, strict=True)
        }
        for _, step in rows.groupby("turn", sort=True)
    )
