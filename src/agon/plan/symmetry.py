"""Whether the seats of a game are alike, so that it does not matter who sits where."""

import json
from itertools import product
from math import isclose
from random import Random
from typing import Any

from agon.games import Game
from agon.games.base import NormalForm
from agon.loop import longest, seat_dice

PROFILES = 10_000
"""Action profiles that are looked at, at most."""
DRAWN = 20
"""Matches that are played twice, with two seats exchanged, where there is no payoff table."""


def difference(game: Game[Any]) -> str:
    """In what the seats of a game differ, in a few words; empty where nothing is seen.

    Looked at are roles, who moves first, what metrics are told of seats, and payoffs when two seats exchange their actions: in the
    payoff table where there is one, else in some matches of drawn actions, unless dice decide at the start.
    """
    if game.seats < 2:
        return ""
    if len(set(game.roles)) > 1:
        return f"roles are {', '.join(game.roles)}"
    thrown = seat_dice(1, -1), seat_dice(2, -1)
    state, other = (game.start(dice) for dice in thrown)
    first = game.to_move(state)
    if len(first) < game.seats:
        return f"{', '.join(game.players[seat] for seat in first)} moves first"
    facts = [game.seat_facts(seat) for seat in range(game.seats)]
    if apart := [name for name in facts[0] if any(each.get(name) != facts[0][name] for each in facts)]:
        return f"each has another {apart[0]}"
    form = game.normal_form
    if form is not None and len(form.options) ** form.seats <= PROFILES:
        return "" if _alike(form) else UNLIKE
    if state != other:  # dice decide, for each seat alike as far as is known here
        return ""
    return next(
        (said for seed in range(DRAWN) for seat in range(game.seats - 1) if (said := _exchanged(game, seat, seed))), ""
    )


UNLIKE = "the same actions pay them differently"


def _alike(form: NormalForm) -> bool:
    """Whether payoffs move along when two neighbours exchange their actions; by such steps any order is reached."""
    profiles = product(form.options, repeat=form.seats)
    return all(
        form.payoffs(_swapped(profile, seat)) == _swapped(form.payoffs(profile), seat)
        for profile in profiles
        for seat in range(form.seats - 1)
    )


def _swapped(values: Any, seat: int) -> tuple[Any, ...]:
    return (*values[:seat], values[seat + 1], values[seat], *values[seat + 2 :])


def _exchanged(game: Game[Any], seat: int, seed: int) -> str:
    """What comes out otherwise when two neighbours exchange all that they do in a match."""
    dice, one, other = Random(seed), game.start(seat_dice(seed, -1)), game.start(seat_dice(seed, -1))
    places = _swapped(range(game.seats), seat)
    for _ in range(longest(game)):
        asked = game.to_move(one)
        if sorted(places[each] for each in asked) != sorted(game.to_move(other)):
            return "they do not move alike"
        if not asked:
            break
        actions = {each: game.legal_actions(one, each).example(dice) for each in asked}
        if any(player in json.dumps([*actions.values()]) for player in game.players):
            return ""  # who is named would have to be exchanged as well
        theirs = {places[each]: action for each, action in actions.items()}
        if any(action not in game.legal_actions(other, each) for each, action in theirs.items()):
            return "they may not do the same"
        (one, paid), (other, repaid) = game.step(one, actions), game.step(other, dict(sorted(theirs.items())))
        if not all(isclose(paid[each], repaid[places[each]], abs_tol=1e-9) for each in range(game.seats)):
            return UNLIKE
    return ""
