"""The one loop that steps through a match. It reads and writes no file. Play, replay, trials and environments all drive it."""

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from math import isfinite
from random import Random
from typing import Any, TypeVar

from agon.games import Dice, Game, IllegalAction, Observation
from agon.games.base import explain_illegal, plain_number

T = TypeVar("T")

Script = Callable[[Observation, Dice], Any]
"""A strategy: a pure function of the view and the dice that gives a legal action."""

TABLE = -1
"""Stands in the place of a seat's number for the game itself, which throws dice too."""


class seat_dice:  # noqa: N801 - used like a function: seat_dice(seed, seat)
    """The dice of one seat of one match, or of the game itself (seat TABLE)."""

    def __init__(self, seed: int, seat: int) -> None:
        self._seed = f"{seed}/{seat}"

    @cached_property
    def _random(self) -> Random:
        return Random(self._seed)

    @property
    def thrown(self) -> bool:
        """Whether a number was drawn."""
        return "_random" in vars(self)

    def random(self) -> float:
        """A float in [0, 1)."""
        return self._random.random()

    def choice(self, seq: Sequence[T]) -> T:
        """One of `seq`, all equally likely."""
        return seq[int(self.random() * len(seq))]


Moment = tuple[Any, dict[int, Observation], tuple[float, ...]]
"""The state; the observation of each seat that is to move; the payoff of each seat from the step before (points).

Nobody is to move when the match is over.
"""

Steps = Generator[Moment, Mapping[int, Any], None]


LONGEST = 20_000
"""The most steps of a match in a game without `max_rounds`."""
STEPS_A_ROUND = 1_000
"""The most steps for each round of `max_rounds`."""
ENDLESS = (
    "a match has not ended after {:,} steps: to_move still gives seats; where a match may take as many steps, max_rounds says "
    "how many rounds it may have"
)


def longest(game: Game[Any]) -> int:
    """The most steps that a match may take."""
    return LONGEST if game.max_rounds is None else STEPS_A_ROUND * game.max_rounds


def steps(game: Game[Any], dice: Dice) -> Steps:
    """Yields a moment, is sent the actions of the seats asked (None: a forfeit), and yields the next moment.

    Nothing has been paid at the first moment. Raises IllegalAction for an action that is not legal, whether or not the game checks it,
    and as the game does, also for actions after the last moment; ValueError for seats to move that the game does not have, for
    payoffs that are not a finite number for every seat, and for a match that does not end (`longest`).
    Where a game raises what would end the program, such as SystemExit, this raises RuntimeError.
    """
    observe, step, everyone, most = game.observe, game.step, game.seats, longest(game)
    try:
        state, payoffs = game.start(dice), (0.0,) * everyone
        for _ in range(most):
            views = {seat: observe(state, seat) for seat in _to_move(game, state)}
            actions = yield state, views, payoffs
            for seat, view in views.items():
                action = actions.get(seat)
                if action is not None and action not in view.legal:
                    raise IllegalAction(
                        f"{explain_illegal(game, seat, action, view.legal)} (round {view.round}, phase {view.phase})"
                    )
            state, payoffs = step(state, actions)
            if not _paid_all(payoffs, everyone):
                payoffs = tuple(map(plain_number, payoffs)) if isinstance(payoffs, tuple | list) else payoffs
                if not _paid_all(payoffs, everyone):
                    raise ValueError(f"a step paid {payoffs!r}: it pays each of the {everyone} seats a finite number")
        yield state, {seat: observe(state, seat) for seat in _to_move(game, state)}, payoffs
        raise ValueError(ENDLESS.format(most))
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is None:
            raise  # the caller closes this generator
        raise RuntimeError(f"the game raised {type(error).__name__}") from error


def _to_move(game: Game[Any], state: Any) -> list[int]:
    """The seats to move, in order. Raises ValueError for anything but different seats of the game."""
    seats: Any = game.to_move(state)
    if isinstance(seats, tuple | list | set | frozenset | range):
        in_order = [seat for seat in range(game.seats) if seat in seats]
        if len(in_order) == len(seats):
            return in_order
    raise ValueError(
        f"to_move gives {seats!r}: it must give a tuple of different seats, each from 0 to {game.seats - 1}"
    )


def _paid_all(payoffs: Any, seats: int) -> bool:
    """Whether the payoffs are one finite number for each seat."""
    if not isinstance(payoffs, tuple | list) or len(payoffs) != seats:
        return False
    try:
        return isinstance(total := sum(payoffs), int | float) and isfinite(total)
    except TypeError:
        return False


def start_match(game: Game[Any], seed: int) -> tuple[Steps, Moment, list[seat_dice]]:
    """A match with a seed: its steps, its first moment, and the dice of each seat and, at last, of the game (dice[TABLE]).

    Raises what `steps` raises.
    """
    dice = [seat_dice(seed, seat) for seat in (*range(game.seats), TABLE)]
    match = steps(game, dice[TABLE])
    return match, next(match), dice


def total(game: Game[Any], scripts: Sequence[Script], seed: int) -> list[float]:
    """The total payoff of each seat in a match between scripts (points)."""
    match, (_, views, payoffs), dice = start_match(game, seed)
    points = list(payoffs)
    while views:
        _, views, payoffs = match.send({seat: scripts[seat](view, dice[seat]) for seat, view in views.items()})
        points = [before + paid for before, paid in zip(points, payoffs, strict=True)]
    return points
