"""Repeated normal-form games for any number of players, and the transforms that make their variants."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import isfinite
from operator import add
from typing import Any

from agon.games.base import PUBLIC, Choice, Dice, Game, IllegalAction, Observation, check_counts, plain_number
from agon.registry import kind

Profile = tuple[str | None, ...]
State = tuple[tuple[Profile, ...], ...]
"""The finished rounds, as each seat sees them: state[seat][round], own action first."""


@kind("agon.games.MatrixGame")
@dataclass(frozen=True)
class MatrixGame(Game[State]):
    """One normal-form game played `rounds` times; all seats move at once and see all past actions.

    `options` are the actions of every seat, or a tuple of actions for each seat. `payoff` is nested by seat:
    `payoff[a0][a1]...[a_last]` is a list with one number of points per seat.
    A void action (None) pays everybody 0 in that round (counterfactual paper, protocol as done). Raises ValueError for options,
    payoffs or rounds that make no game.
    """

    name: str
    variant: str
    options: tuple[str | tuple[str, ...], ...]
    payoff: Sequence[Any]
    rounds: int
    rules: int = 1
    seats: int = field(init=False)
    _choices: tuple[Choice, ...] = field(init=False, repr=False, compare=False)
    _outcomes: dict[Profile, tuple[State, tuple[float, ...]]] = field(init=False, repr=False, compare=False)
    """The profiles played so far: a state of this round alone, and the points of each seat."""
    _hash: int = field(init=False, repr=False, compare=False)
    """Scripts look up caches by game in every round."""

    def __post_init__(self) -> None:
        options = tuple(
            own if isinstance(own, str) or not isinstance(own, Sequence) else tuple(own) for own in self.options
        )
        payoff = _freeze(self.payoff, self.name)
        seats = _depth(payoff) - 1
        action_sets: tuple[Any, ...] = (
            options if any(isinstance(own, tuple) for own in options) else (options,) * max(seats, 1)
        )
        if not all(map(_are_labels, action_sets)):
            raise ValueError(
                f"{self.name}: the options {list(options)} must be distinct labels, at least one, and none empty or with "
                "characters that cannot be printed"
            )
        if len(action_sets) != seats > 0:
            raise ValueError(
                f"{self.name}: options are lists for {len(action_sets)} players, and payoff is for {seats}"
            )
        check_counts(self.name, rounds=self.rounds)
        sizes = [*map(len, action_sets)]
        if seats < 1 or not _regular(payoff, (*sizes, seats)):
            raise ValueError(
                f"{self.name}: payoff must hold one number per player for each of the "
                f"{' x '.join(map(str, sizes))} action profiles; its shape does not fit"
            )
        options = action_sets[0] if len(set(action_sets)) == 1 else action_sets
        values = {
            "options": options,
            "payoff": payoff,
            "seats": seats,
            "_choices": tuple(map(Choice, action_sets)),
            "_outcomes": {},
            "_hash": hash((self.name, self.variant, options, payoff, self.rounds, self.rules)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def action_sets(self) -> tuple[tuple[str, ...], ...]:
        """The actions of each seat."""
        nested: Any = self.options
        return nested if isinstance(nested[0], tuple) else (nested,) * self.seats

    @cached_property
    def prompt(self) -> str:
        """The file with its prompt."""
        return "prompt.md" if len(set(self.action_sets)) == 1 else "prompt_different.md"

    @cached_property
    def normal_form(self) -> "MatrixGame":
        """Itself."""
        return self

    @cached_property
    def fixed_rounds(self) -> int:
        """All rounds are alike."""
        return self.rounds

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, item.name) for item in fields(self) if item.init)

    def __hash__(self) -> int:
        return self._hash

    def payoffs(self, profile: Sequence[str | None]) -> tuple[float, ...]:
        """Points of each seat for one round; all 0 when an action is None. Raises IllegalAction."""
        cell: Any = self.payoff
        for seat, (action, own) in enumerate(zip(profile, self.action_sets, strict=True)):
            if action is not None and action not in own:
                raise IllegalAction(f"seat {seat} may not play {action!r} in {self.name}: only {', '.join(own)}")
        if None in profile:
            return (0,) * self.seats
        for action, own in zip(profile, self.action_sets, strict=True):
            cell = cell[own.index(str(action))]
        return tuple(cell)

    def outcomes(self, seat: int) -> list[tuple[Profile, tuple[float, ...]]]:
        """Every action profile and what it pays, as `seat` sees them: own action and points first, then the others'."""
        order = sorted(range(self.seats), key=lambda other: other != seat)

        def reorder(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[other] for other in order)

        rows = [(reorder(profile), reorder(self.payoffs(profile))) for profile in product(*self.action_sets)]
        sets = reorder(self.action_sets)
        return sorted(rows, key=lambda row: [own.index(action) for own, action in zip(sets, row[0], strict=True)])

    def start(self, dice: Dice) -> State:
        """No chance in these games: no finished rounds."""
        return ((),) * self.seats

    def to_move(self, state: State) -> tuple[int, ...]:
        """Everyone, until the last round is done."""
        return tuple(range(self.seats)) if len(state[0]) < self.rounds else ()

    def legal_actions(self, state: State, seat: int) -> Choice:
        """The seat's labels, always."""
        return self._choices[seat]

    def observe(self, state: State, seat: int) -> Observation:
        """All finished rounds from the seat's side; never the round being played."""
        past = state[seat]
        return Observation(seat, len(past) + 1, self._choices[seat], past, self)

    def watch(self, state: State) -> Observation:
        """All finished rounds, in seat order, which is as the first seat sees them."""
        return self.observe(state, 0)._replace(seat=PUBLIC, legal=None)

    def step(self, state: State, actions: Mapping[int, str | None]) -> tuple[State, tuple[float, ...]]:
        """Plays one round. Raises IllegalAction, also when a seat's action is missing or the match is over."""
        to_move = self.to_move(state)
        if not to_move or actions.keys() != set(to_move):
            raise IllegalAction(f"{self.name}: seats {sorted(actions)} acted; to move: {list(to_move)}")
        profile = tuple([actions[seat] for seat in to_move])
        try:
            new, payoffs = self._outcomes[profile]
        except (KeyError, TypeError):  # not played so far; or a list or an object, which `payoffs` refuses
            payoffs = self.payoffs(profile)
            new = tuple([((own, *profile[:seat], *profile[seat + 1 :]),) for seat, own in enumerate(profile)])
            self._outcomes[profile] = new, payoffs
        return tuple(map(add, state, new)), payoffs


@kind("agon.games.relabel")
def relabel(game: MatrixGame, labels: Mapping[str, str], variant: str = "label") -> MatrixGame:
    """The same incentives under other words: `labels` has the new label of every old label of any player.

    A permutation of the labels is the label change of rock-paper-scissors (counterfactual paper, 4.1). Raises ValueError
    for a label that is missing or that the game does not have.
    """
    every = sorted({option for own in game.action_sets for option in own})
    if sorted(labels) != every:
        raise ValueError(f"relabel: {sorted(labels)} must name every action of {game.name}: {every}")
    options = tuple(tuple(labels[option] for option in own) for own in game.action_sets)
    return replace(game, options=options, variant=variant)


@kind("agon.games.repay")
def repay(game: MatrixGame, payoff: Sequence[Any], variant: str = "payoff") -> MatrixGame:
    """The same words under other incentives: another whole payoff table. Raises ValueError for one of another shape."""
    changed = replace(game, payoff=payoff, variant=variant)
    if changed.seats != game.seats:
        raise ValueError(f"repay: {game.name} has {game.seats} seats, the new payoff table {changed.seats}")
    return changed


@kind("agon.games.joint")
def joint(game: MatrixGame, labels: Mapping[str, str], payoff: Sequence[Any], variant: str = "joint") -> MatrixGame:
    """Other words and other incentives at once. Raises ValueError as `relabel` and `repay` do."""
    return relabel(repay(game, payoff), labels, variant)


def _are_labels(options: Any) -> bool:
    """Whether a seat's options are a tuple of distinct texts that can be printed."""
    is_filled = isinstance(options, tuple) and len(options) > 0
    return (
        is_filled
        and all(isinstance(option, str) and option.strip() and option.isprintable() for option in options)
        and len(set(options)) == len(options)
    )


def _freeze(value: Any, name: str) -> Any:
    """A payoff table as nested tuples of numbers; a text such as 1/3 is one. Raises ValueError for what is no finite number."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_freeze(item, name) for item in value)
    number = plain_number(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,15}\s*/\s*[1-9]\d{0,14}\s*", value, re.ASCII):
        number = plain_number(Fraction("".join(value.split())))
    if isinstance(number, bool) or not isinstance(number, int | float) or not isfinite(number):
        wrong = f"the text {value!r}" if isinstance(value, str) else repr(value)
        raise ValueError(f"{name}: payoff holds {wrong}: write numbers such as 2, 0.5 or 1/3")
    return number


def _depth(value: Any) -> int:
    return 1 + _depth(value[0]) if isinstance(value, tuple) and value else 0


def _regular(value: Any, shape: tuple[int, ...]) -> bool:
    if not shape:
        return not isinstance(value, tuple)
    return isinstance(value, tuple) and len(value) == shape[0] and all(_regular(item, shape[1:]) for item in value)
