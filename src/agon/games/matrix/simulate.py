"""Many matches at once between players that remember one round. They give null distributions for the behaviour of models."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agon.games.matrix import MatrixGame

CHUNK = 8192
"""Matches advanced together: few enough for a round of them to stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Policy:
    """A memory-one player of a two-seat game with k options: its probabilities, options in the game's order.

    Raises ValueError where the shapes do not fit or the probabilities of a situation do not sum to 1.
    """

    first: NDArray[np.float64]
    """(k,): round 1."""
    after: NDArray[np.float64]
    """(k, k, k): [own last option, other's last option, option]."""

    def __post_init__(self) -> None:
        first, after = np.asarray(self.first, dtype=float), np.asarray(self.after, dtype=float)
        if first.ndim != 1 or after.shape != first.shape * 3:
            raise ValueError(
                f"a policy of k options needs shapes (k,) and (k, k, k), not {first.shape} and {after.shape}"
            )
        if min(first.min(), after.min()) < 0 or not np.allclose(np.vstack([first, *after]).sum(axis=1), 1):
            raise ValueError("a policy's probabilities must not be negative, and those of each situation must sum to 1")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "after", after)


@dataclass(frozen=True, eq=False)
class Simulated:
    """The matches that `simulate` played. Both arrays are (matches, rounds, 2); the last axis is the seat.

    In memory the matches of one round and seat lie side by side, so sums over rounds or matches are quick.
    """

    actions: NDArray[np.uint8]
    """Positions in the game's options."""
    payoffs: NDArray[Any]
    """Points: integers where the game's are (16 bits where they fit), else float64."""


def mixed(weights: ArrayLike) -> Policy:
    """Each round anew, an option with probability `weights` (k,): `random_mix` in agon.games.matrix.scripts."""
    first = np.asarray(weights, dtype=float)
    return Policy(first, np.broadcast_to(first, (first.size,) * 3))


def memory_one(first: float, kind: Sequence[float]) -> Policy:
    """Kind with probability `first`, then `kind[i]` after CC, CD, DC, DD (own first). Nowak and Sigmund (1993)."""
    after = np.reshape(np.asarray(kind, dtype=float), (2, 2))
    return Policy(np.array([first, 1 - first]), np.stack([after, 1 - after], axis=-1))


def tit_for_tat(options: int = 2) -> Policy:
    """The first option, then the other's last one. Rapoport, in Axelrod (1980)."""
    return Policy(np.eye(options)[0], np.broadcast_to(np.eye(options), (options,) * 3))


def win_stay_lose_shift() -> Policy:
    """Kind at first; repeat the last action after the other was kind, else change it. Nowak and Sigmund (1993)."""
    return memory_one(1, (1, 0, 0, 1))


def best_reply_to_last(game: MatrixGame) -> Policy:
    """The best reply of seat 0 to the other's last option, the earlier of equals; uniform at first."""
    options, size = game.action_sets[0], len(game.action_sets[0])
    payoffs = np.array([[game.payoffs((action, other))[0] for action in options] for other in options])
    return Policy(np.full(size, 1 / size), np.broadcast_to(np.eye(size)[payoffs.argmax(axis=1)], (size,) * 3))


def cycle(order: Sequence[int]) -> Policy:
    """The options in `order` (each position once) over and over; the next one follows from the own last one."""
    size = len(order)
    follows = np.roll(order, -1)[np.argsort(order)]
    return Policy(np.eye(size)[order[0]], np.broadcast_to(np.eye(size)[follows][:, None, :], (size,) * 3))


def simulate(
    game: MatrixGame,
    policies: tuple[Policy, Policy],
    matches: int,
    rng: np.random.Generator,
    draws: NDArray[np.floating[Any]] | None = None,
) -> Simulated:
    """Plays `matches` matches of `game`.

    An option is drawn as scripts draw it: weights are taken from a uniform number in the game's order until it is
    negative. `draws` (matches, rounds, 2) gives these numbers, else they come from `rng` (24 bits each). Raises
    ValueError for a game of other than two seats, and for policies or draws of another shape.
    """
    size, shape = len(game.action_sets[0]), (matches, game.rounds, 2)
    if game.seats != 2 or any(policy.first.size != size for policy in policies):
        raise ValueError(f"{game.name} has {game.seats} seats and {size} options: the policies do not fit")
    if len(set(game.action_sets)) > 1:
        raise ValueError(f"{game.name}: the players have different actions, and policies need the same for both")
    if draws is not None and draws.shape != shape:
        raise ValueError(f"draws have the shape {draws.shape}, not {shape}")
    cell_payoffs = _payoffs(game)
    actions = np.zeros((game.rounds, 2, matches), dtype=np.uint8)
    payoffs = np.empty((game.rounds, 2, matches), dtype=cell_payoffs.dtype)
    precision = np.dtype(np.float32) if draws is None else draws.dtype
    players = [_Player(policy, seat, precision) for seat, policy in enumerate(policies)]
    for low in range(0, matches, CHUNK):
        part = slice(low, min(low + CHUNK, matches))
        last = np.empty(part.stop - low, dtype=np.intp)  # number of the last round's cell, own * k + other for seat 0
        cell = np.empty(last.size, dtype=np.min_scalar_type(size * size))
        for turn in range(game.rounds):
            for seat, player in enumerate(players):
                draw = player.draws(rng, last.size) if draws is None else draws[part, turn, seat]
                player.act(last if turn else None, draw, actions[turn, seat, part])
            np.multiply(actions[turn, 0, part], size, out=cell, dtype=cell.dtype)
            np.add(cell, actions[turn, 1, part], out=cell, dtype=cell.dtype)
            np.copyto(last, cell)
            for seat in (0, 1):
                cell_payoffs[seat].take(
                    last, out=payoffs[turn, seat, part], mode="clip"
                )  # clip: the mode without a copy
    return Simulated(actions.transpose(2, 0, 1), payoffs.transpose(2, 0, 1))


class _Player:
    """A policy in one seat as cuts of [0, 1): the option played is the number of cuts that the draw reaches."""

    def __init__(self, policy: Policy, seat: int, precision: np.dtype[Any]) -> None:
        by_cell = policy.after.swapaxes(0, seat).reshape(-1, policy.first.size)
        self.first, self.after = _cuts(policy.first, precision), _cuts(by_cell, precision)
        self.remembers = bool((self.after != self.first[:, None]).any())
        self.certain = bool(np.isinf(self.first).all() and np.isinf(self.after).all())

    def draws(self, rng: np.random.Generator, matches: int) -> NDArray[np.float32]:
        """One uniform number per match; zeros for a player that needs none."""
        if self.certain:
            return np.zeros(matches, dtype=np.float32)
        return rng.random(matches, dtype=np.float32)

    def act(self, last: NDArray[np.intp] | None, draw: NDArray[Any], actions: NDArray[np.uint8]) -> None:
        """Writes the positions of the options that are played into `actions`, which are zeros before. `last`: None in round 1."""
        for cut, cuts in zip(self.first, self.after, strict=True):
            limit = cuts.take(last, mode="clip") if last is not None and self.remembers else cut
            actions += draw >= limit


def _cuts(weights: NDArray[np.float64], precision: np.dtype[Any]) -> NDArray[Any]:
    """(k - 1, ...): the least numbers of that precision that are not used up by the first 1, 2, ... weights.

    Subtracted one by one in float64, as scripts do, so that rounding falls the same way. A certain option lies
    between infinite cuts.
    """
    shares = np.moveaxis(weights, -1, 0)
    cuts = np.cumsum(shares, axis=0)[:-1].astype(precision)
    near = len(shares) + 2  # a few steps of rounding below the sum, then up to the first number that will do
    for _ in range(near):
        cuts = np.nextafter(cuts, precision.type(-1))
    for _ in range(2 * near):
        remainders = [_remainder(cut, shares[: i + 1]) for i, cut in enumerate(cuts)]
        is_used_up = (np.array(remainders) < 0).reshape(cuts.shape)
        cuts = np.where(is_used_up, np.nextafter(cuts, precision.type(2)), cuts)
    later = np.cumsum(shares == 1, axis=0)[:-1] > 0
    return np.where((shares == 1).any(axis=0), np.where(later, np.inf, -np.inf), cuts).astype(precision)


def _remainder(draw: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    remainder = draw.astype(float)
    for weight in weights:
        remainder = remainder - weight
    return remainder


def _payoffs(game: MatrixGame) -> NDArray[Any]:
    """(2, k * k): points of each seat in each cell."""
    cells = np.array([game.payoffs(profile) for profile in product(*game.action_sets)]).T
    # Twice the range fits, so that the difference of two payoffs does not overflow.
    small = cells.dtype.kind == "i" and 2 * np.abs(cells).max() <= np.iinfo(np.int16).max
    return np.ascontiguousarray(cells, dtype=np.int16 if small else cells.dtype)
