"""Nash equilibria of one round of a normal-form game, by pygambit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import prod
from typing import Any

from agon.games.base import NormalForm

Mix = tuple[Fraction, ...]
"""A probability for each option, in the game's order."""

Profile = tuple[Mix, ...]
"""A mix for each seat."""

NUMERICAL = 1e-6
"""Float probabilities within this distance of 1 are pure."""


@dataclass(frozen=True)
class Equilibria:
    """The equilibria of one round.

    Two players: the extreme equilibria. Take a set of mixes of the first player and one of the second, all pairs of which
    are listed. Then any mixture of the first set against any mixture of the second is an equilibrium too. There are no
    other equilibria (Winkels 1979; Jansen 1981).
    """

    profiles: tuple[Profile, ...]
    """Sorted: for two players by the number of options that the first seat uses; for others the pure ones first."""
    exact: bool
    """False where mixed profiles are rounded numerical solutions and may be incomplete (three or more players)."""


def equilibria(game: NormalForm) -> Equilibria:
    """All equilibria of one round of `game`. Payoffs are exact decimals (0.1 is a tenth).

    One player: its best options. Three or more players: every pure equilibrium, exactly, and the isolated mixed ones that
    pygambit's enumpoly finds.
    """
    if game.seats == 1:
        return Equilibria(tuple(_pure(game)), exact=True)
    profiles = _solve(game)
    if game.seats == 2:
        return Equilibria(tuple(sorted(profiles, key=lambda profile: [_order(mix) for mix in profile])), exact=True)
    mixed = [profile for profile in profiles if min(map(max, profile)) < 1 - NUMERICAL]
    return Equilibria((*_pure(game), *mixed), exact=False)


@cache
def symmetric_equilibrium(game: NormalForm) -> tuple[float, ...]:
    """The mix that is an equilibrium against itself, with the largest support; of equally large ones, the first.

    Supports are compared by the game's order of options. Of infinitely many mixes on one support it is the mean of their
    extreme points. Every symmetric game has one (Nash 1951). Raises ValueError for other games.
    """
    options, size = game.action_sets[0], len(game.action_sets[0])
    if game.seats != 2:
        raise ValueError(f"{game.name} has {game.seats} seats: a symmetric equilibrium is defined here for two")
    require_symmetric(game)
    extreme = {mix: best_replies(game, 0, (mix, mix)) for mix, other in equilibria(game).profiles if mix == other}
    for support in (subset for k in range(size, 0, -1) for subset in combinations(range(size), k)):
        labels = {options[i] for i in support}
        face = [mix for mix, best in extreme.items() if sum(mix[i] for i in support) == 1 and labels <= {*best}]
        mean = tuple(float(sum(shares) / len(face)) for shares in zip(*face, strict=True))
        if face and all(mean[i] > 0 for i in support):
            return mean
    raise AssertionError("a symmetric game without a symmetric equilibrium")


def require_symmetric(game: NormalForm) -> None:
    """Raises ValueError for a game of two players that pays them by different tables."""
    if len(set(game.action_sets)) > 1:
        raise ValueError(f"{game.name} {game.variant} is not symmetric: its players have different actions")
    if any(game.payoffs(pair)[0] != game.payoffs(pair[::-1])[1] for pair in product(game.action_sets[0], repeat=2)):
        raise ValueError(f"{game.name} {game.variant} is not symmetric: its seats are paid by different tables")


def best_replies(game: NormalForm, seat: int, profile: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """The options that pay `seat` most, exactly, against the others' mixes in `profile`; its own mix is ignored."""
    values = option_values(game, seat, profile)
    return tuple(option for option, value in zip(game.action_sets[seat], values, strict=True) if value == max(values))


def option_values(game: NormalForm, seat: int, profile: Sequence[Sequence[Any]]) -> list[Fraction]:
    """The mean payoff (points) of each option of `seat`."""
    values = [Fraction()] * len(game.action_sets[seat])
    used = [[place for place, share in enumerate(mix) if share] for mix in profile]
    for cell in product(*used[:seat], range(len(values)), *used[seat + 1 :]):
        share = prod(_exact(profile[other][place]) for other, place in enumerate(cell) if other != seat)
        actions = [options[place] for options, place in zip(game.action_sets, cell, strict=True)]
        values[cell[seat]] += share * _exact(game.payoffs(actions)[seat])
    return values


def _pure(game: NormalForm) -> Iterator[Profile]:
    """Every profile of pure mixes in which no seat gains by changing alone."""
    units = [[tuple(Fraction(i == j) for j in range(size)) for i in range(size)] for size in map(len, game.action_sets)]
    for profile in product(*units):
        choices = [options[mix.index(1)] for options, mix in zip(game.action_sets, profile, strict=True)]
        if all(choice in best_replies(game, seat, profile) for seat, choice in enumerate(choices)):
            yield profile


def _solve(game: NormalForm) -> list[Profile]:
    import numpy as np  # imported late: few need it
    import pygambit  # imported late: it takes a second or two

    sizes = [*map(len, game.action_sets)]
    payoffs = np.array([[*map(_exact, game.payoffs(profile))] for profile in product(*game.action_sets)])
    table = pygambit.StrategicGame.from_arrays(*(points.reshape(sizes) for points in payoffs.T))
    if game.seats == 2:
        result = pygambit.nash.enummixed_solve(table, rational=True)
    else:
        result = pygambit.nash.enumpoly_solve(table, use_strategic=True)
    profiles = (
        tuple(
            tuple(_exact(profile[player][strategy]) for strategy in table.get_strategies(player))
            for player in table.players
        )
        for profile in result.equilibria
    )
    return list(dict.fromkeys(profiles))  # of degenerate games pygambit lists some twice


def _order(mix: Mix) -> tuple[int, list[int], list[Fraction]]:
    """A sort key: size of the support, the support, and the probabilities from the last option on."""
    support = [i for i, share in enumerate(mix) if share]
    return len(support), support, [*reversed(mix)]


def _exact(value: Any) -> Fraction:
    """The exact decimal number: 0.1 is a tenth, not the nearest binary fraction."""
    if type(value) is Fraction:
        return value
    return Fraction(value if type(value) is int else str(value))
