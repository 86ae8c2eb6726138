"""Nash equilibria of one round of a normal-form game: all of them, in fractions, and a word on degeneracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import gcd, lcm, prod
from operator import mul
from typing import Any

from agon.games.base import NormalForm

Mix = tuple[Fraction, ...]
"""A probability for each option, in the game's order."""

Matrix = Sequence[Sequence[Any]]

ENUMERATED = 12
"""Two-player games with at most this many options (both seats together) are solved here, larger ones by pygambit."""

NUMERICAL = 1e-6
"""Below this share of the payoff range two payoffs count as equal where probabilities are floats."""


@dataclass(frozen=True)
class Equilibria:
    """The equilibria of one round.

    Two players: the extreme equilibria, of which every equilibrium is a mixture in this sense: where all pairs of
    some first mixes with some second mixes are listed, any mixture of the first against any mixture of the second
    is an equilibrium too, and there are no others (Winkels 1979; Jansen 1981).
    """

    profiles: tuple[tuple[Mix, ...], ...]
    """Each profile a mix per seat; two-player ones with the smaller supports first, else pure ones first."""
    degenerate: bool
    """Some mix has more pure best replies than options it uses (von Stengel 2002).

    If False the list is the whole set and its length is odd. If True the set may be infinite: `profiles` then holds
    its extreme points. Games that pygambit solves are called degenerate for a listed profile only, in which an unused
    option pays as much as the used ones: of two players' games, those with infinitely many equilibria.
    """
    exact: bool
    """False where mixed profiles are rounded numerical solutions and may be incomplete (three or more players)."""


def equilibria(game: NormalForm) -> Equilibria:
    """All equilibria of one round of `game`; payoffs count as they are written (0.1 is a tenth).

    Three or more players: every pure equilibrium, exactly, and the isolated mixed ones that pygambit's enumpoly finds.
    """
    if game.seats != 2 or len(game.options) * game.seats > ENUMERATED:
        return _by_pygambit(game)
    return bimatrix_equilibria(_table(game.payoff, 0), _table(game.payoff, 1))


def bimatrix_equilibria(rows: Matrix, columns: Matrix) -> Equilibria:
    """All extreme equilibria of a two-player game from each seat's payoffs, `[own of seat 0][own of seat 1]`.

    Pairs the vertices of the two best-response polytopes that are labelled completely: Mangasarian (1964), in the form
    of Avis, Rosenberg, Savani and von Stengel (2010). Integers throughout.
    """
    count, replies = len(rows), len(rows[0])
    everything = (1 << count + replies) - 1
    firsts = _vertices(list(zip(*_integers(columns), strict=True)), 0, count)
    seconds = _vertices(_integers(rows), count, 0)
    return Equilibria(
        tuple(
            (_fractions(first), _fractions(second))
            for first, labels in firsts.items()
            for second, others in seconds.items()
            if labels | others == everything
        ),
        # Each vertex has at least one label per dimension; one more is a best reply too many.
        any(labels.bit_count() > count for labels in firsts.values())
        or any(labels.bit_count() > replies for labels in seconds.values()),
        exact=True,
    )


@cache
def symmetric_equilibrium(game: NormalForm) -> tuple[float, ...]:
    """The mix that is an equilibrium against itself, with the largest support; of equally large ones, the first.

    "First" is by the options in the support, in the game's order; of infinitely many mixes on one support it is the
    mean of their extreme points. Every symmetric game has one (Nash 1951). Raises ValueError for other games.
    """
    size = len(game.options)
    if game.seats != 2:
        raise ValueError(f"{game.name} has {game.seats} seats: a symmetric equilibrium is defined here for two")
    if any(game.payoff[a][b][0] != game.payoff[b][a][1] for a, b in product(range(size), repeat=2)):
        raise ValueError(f"{game.name} {game.variant} is not symmetric: its seats are paid by different tables")
    vertices = _vertices(_integers(_table(game.payoff, 0)), 0, size)
    for support in (s for k in range(size, 0, -1) for s in combinations(range(size), k)):
        used = sum(1 << i for i in support)
        needed = (used ^ (1 << size) - 1) | used << size  # the rest unused, the support all best replies
        face = [_fractions(mix) for mix, labels in vertices.items() if labels & needed == needed]
        mean = tuple(float(sum(shares) / len(face)) for shares in zip(*face, strict=True))
        if face and all(mean[i] > 0 for i in support):
            return mean
    raise AssertionError("a symmetric game without a symmetric equilibrium")


def best_replies(game: NormalForm, seat: int, profile: Sequence[Sequence[Any]]) -> tuple[str, ...]:
    """The options that pay `seat` most, exactly, while the others play their mixes in `profile` (its own is unread)."""
    worth = _worth(game, seat, profile)
    return tuple(option for option, value in zip(game.options, worth, strict=True) if value == max(worth))


def _worth(game: NormalForm, seat: int, profile: Sequence[Sequence[Any]]) -> list[Fraction]:
    """What each option pays `seat` on average."""
    mixes = [[(i, _exact(share)) for i, share in enumerate(mix) if share] for mix in profile]

    def average(own: int) -> Fraction:
        cells = product(*mixes[:seat], [(own, Fraction(1))], *mixes[seat + 1 :])
        return sum((prod((share for _, share in cell), start=paid(cell)) for cell in cells), Fraction())

    def paid(cell: Sequence[tuple[int, Fraction]]) -> Fraction:
        return _exact(game.payoffs([game.options[i] for i, _ in cell])[seat])

    return [average(own) for own in range(len(game.options))]


def _table(payoff: Any, seat: int) -> Any:
    """One seat's own payoffs, nested as the game's."""
    return [_table(inner, seat) for inner in payoff] if isinstance(payoff[0], tuple) else _exact(payoff[seat])


def _exact(value: Any) -> Fraction:
    """The number as it is written: what a game's author means by 0.1 is a tenth, not the nearest binary fraction."""
    if type(value) is Fraction:
        return value
    return Fraction(value if type(value) is int else str(value))


def _fractions(weights: tuple[int, ...]) -> Mix:
    total = sum(weights)
    return tuple(Fraction(weight, total) for weight in weights)


def _integers(matrix: Matrix) -> list[list[int]]:
    """The same game in positive integers: scaled and shifted, which moves no equilibrium."""
    exact = [[_exact(value) for value in row] for row in matrix]
    scale = lcm(*(value.denominator for row in exact for value in row))
    scaled = [[value.numerator * (scale // value.denominator) for value in row] for row in exact]
    least = min(map(min, scaled))
    return [[value - least + 1 for value in row] for row in scaled]


def _vertices(replies: Sequence[Sequence[int]], unused: int, best: int) -> dict[tuple[int, ...], int]:
    """Vertices of the polytope {x >= 0, replies @ x <= 1} but 0, as mixes in lowest integer weights -> labels.

    `replies[j][i]` is what reply j earns against option i. Label bit `unused + i`: option i is not used; bit
    `best + j`: reply j is a best one.
    """
    options = range(len(replies[0]))
    found: dict[tuple[int, ...], int] = {}
    for size in range(1, min(len(options), len(replies)) + 1):
        for support in combinations(options, size):
            columns = [[row[i] for i in support] for row in replies]
            for tight in combinations(columns, size):
                weights = _levelling(tight)
                if weights is None:
                    continue
                worth = [sum(map(mul, row, weights)) for row in columns]
                most = max(worth)
                if most > sum(map(mul, tight[0], weights)):
                    continue
                common = gcd(*weights)
                mix = [0] * len(options)
                for i, weight in zip(support, weights, strict=True):
                    mix[i] = weight // common
                labels = sum(1 << best + j for j, value in enumerate(worth) if value == most)
                found[tuple(mix)] = labels | sum(1 << unused + i for i in options if i not in support)
    return found


def _levelling(tight: Sequence[Sequence[int]]) -> list[int] | None:
    """Positive integer weights that make all rows of a square matrix worth the same; None if there are none or many."""
    if len(tight) == 1:
        return [1]
    if len(tight) == 2:
        (a, b), (c, d) = tight
        weights, last = [d - b, a - c], a * d - b * c
    else:
        weights, last = _cramer(tight)
    if last < 0:
        weights = [-weight for weight in weights]
    return weights if last and min(weights) > 0 else None


def _cramer(matrix: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """(numerators, determinant) of the solution of matrix @ x = 1; (_, 0) if singular. Bareiss (1968): no fractions."""
    rows = [[*row, 1] for row in matrix]
    last = 1
    for p in range(len(rows)):
        swap = next((r for r in range(p, len(rows)) if rows[r][p]), None)
        if swap is None:
            return [0], 0
        rows[p], rows[swap] = rows[swap], rows[p]
        pivot, lead = rows[p], rows[p][p]
        for r, row in enumerate(rows):
            if r != p:
                factor = row[p]
                rows[r] = [(lead * a - factor * b) // last for a, b in zip(row, pivot, strict=True)]
        last = lead
    return [row[-1] for row in rows], last


def _by_pygambit(game: NormalForm) -> Equilibria:
    """The pure equilibria from the payoff table, the others from pygambit: in rationals for two players."""
    size = len(game.options)
    units = [tuple(Fraction(i == j) for j in range(size)) for i in range(size)]
    losses = {profile: _losses(game, profile) for profile in product(units, repeat=game.seats)}
    pure = [profile for profile, lost in losses.items() if not any(loss for used, loss in lost if used)]
    mixed = [profile for profile in (_solved(game) if game.seats > 1 else ()) if min(map(max, profile)) < 1 - NUMERICAL]
    values = [points for cell in product(game.options, repeat=game.seats) for points in game.payoffs(cell)]
    slack = NUMERICAL * (max(values) - min(values)) * (game.seats > 2)
    ties = [not loss for profile in pure for used, loss in losses[profile] if not used]
    ties += [loss <= slack for profile in mixed for used, loss in _losses(game, profile) if not used]
    return Equilibria((*pure, *mixed), any(ties), exact=game.seats <= 2)


def _solved(game: NormalForm) -> list[tuple[Mix, ...]]:
    import pygambit  # takes a second or two: only where needed

    table = pygambit.StrategicGame.from_arrays(*(_table(game.payoff, seat) for seat in range(game.seats)))
    if game.seats == 2:
        found = pygambit.nash.enummixed_solve(table, rational=True)
    else:
        found = pygambit.nash.enumpoly_solve(table, use_strategic=True)
    return [
        tuple(
            tuple(_exact(profile[player][strategy]) for strategy in table.get_strategies(player))
            for player in table.players
        )
        for profile in found.equilibria
    ]


def _losses(game: NormalForm, profile: tuple[Mix, ...]) -> list[tuple[bool, Fraction]]:
    """For each option of each seat: whether it is used, and what it earns less than the best."""
    worths = [_worth(game, seat, profile) for seat in range(game.seats)]
    return [
        (share > 0, max(worth) - value)
        for mix, worth in zip(profile, worths, strict=True)
        for share, value in zip(mix, worth, strict=True)
    ]
