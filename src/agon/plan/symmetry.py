"""Whether the seats of a game are symmetric, so that it does not matter who sits where."""

import json
from itertools import product
from math import isclose
from random import Random
from typing import Any

from agon.games import Game
from agon.games.base import NormalForm
from agon.loop import longest, seat_dice

PROFILES = 10_000
"""The most action profiles to compare."""
EXCHANGES = 20
"""Matches to play twice, with two seats exchanged, where there is no payoff table."""


def difference(game: Game[Any]) -> str:
    """How the seats of a game differ, in a few words; empty where no difference was observed.

    It compares roles, the first mover, the facts of seats, and payoffs when two seats exchange their actions. For payoffs it uses the
    payoff table where there is one, else some matches of random actions, unless dice decide at the start.
    """
    if game.seats < 2:
        return ""
    if len(set(game.roles)) > 1:
        return f"roles are {', '.join(game.roles)}"
    dice_of_two = seat_dice(1, -1), seat_dice(2, -1)
    state, other = (game.start(dice) for dice in dice_of_two)
    first = game.to_move(state)
    if len(first) < game.seats:
        return f"{', '.join(game.players[seat] for seat in first)} moves first"
    facts = [game.seat_facts(seat) for seat in range(game.seats)]
    if differing := [name for name in facts[0] if any(fact.get(name) != facts[0][name] for fact in facts)]:
        return f"each has another {differing[0]}"
    form = game.normal_form
    if form is not None and len(set(form.action_sets)) > 1:
        return "the players have different actions"
    if form is not None and len(form.action_sets[0]) ** form.seats <= PROFILES:
        return "" if _is_symmetric(form) else UNLIKE
    if state != other:  # dice decide, and may treat all seats alike
        return ""
    return next(
        (
            reason
            for seed in range(EXCHANGES)
            for seat in range(game.seats - 1)
            if (reason := _exchange_difference(game, seat, seed))
        ),
        "",
    )


UNLIKE = "the same actions pay them differently"


def _is_symmetric(form: NormalForm) -> bool:
    """Whether two neighbours who exchange their actions exchange their payoffs. Such exchanges reach every order."""
    profiles = product(*form.action_sets)
    return all(
        form.payoffs(_swap_neighbours(profile, seat)) == _swap_neighbours(form.payoffs(profile), seat)
        for profile in profiles
        for seat in range(form.seats - 1)
    )


def _swap_neighbours(values: Any, seat: int) -> tuple[Any, ...]:
    return (*values[:seat], values[seat + 1], values[seat], *values[seat + 2 :])


def _exchange_difference(game: Game[Any], seat: int, seed: int) -> str:
    """How a match differs when two neighbours exchange all their actions; empty where it does not."""
    dice, one, other = Random(seed), game.start(seat_dice(seed, -1)), game.start(seat_dice(seed, -1))
    places = _swap_neighbours(range(game.seats), seat)
    for _ in range(longest(game)):
        to_move = game.to_move(one)
        if sorted(places[seat_to_move] for seat_to_move in to_move) != sorted(game.to_move(other)):
            return "they do not move alike"
        if not to_move:
            break
        actions = {seat_to_move: game.legal_actions(one, seat_to_move).example(dice) for seat_to_move in to_move}
        texts = json.dumps([*actions.values()], ensure_ascii=False)
        if any(player in texts for player in game.players):
            return ""  # names in actions would have to be exchanged as well
        other_actions = {places[seat_to_move]: action for seat_to_move, action in actions.items()}
        if any(action not in game.legal_actions(other, seat_to_move) for seat_to_move, action in other_actions.items()):
            return "they may not do the same"
        (one, payoffs), (other, other_payoffs) = (
            game.step(one, actions),
            game.step(other, dict(sorted(other_actions.items()))),
        )
        if not all(
            isclose(payoffs[seat_to_move], other_payoffs[places[seat_to_move]], abs_tol=1e-9)
            for seat_to_move in range(game.seats)
        ):
            return UNLIKE
    return ""
