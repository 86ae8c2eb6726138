"""The classics against the Axelrod library's own players: equal histories, dice included."""

from functools import partial
from itertools import product

import pytest
from harness import letters, played, small

from agon.agents import scripted

axelrod = pytest.importorskip("axelrod", reason="the Axelrod library is a development dependency: make setup")

TURNS, SEED = 200, 20_260
GAME = small([[[3, 3], [0, 5]], [[5, 0], [1, 1]]], "CD", TURNS)
FOUR = (0.9, 0.3, 0.6, 0.1)
PAIRS = {
    "tit_for_tat": (scripted.tit_for_tat, axelrod.TitForTat),
    "tit_for_two_tats": (scripted.tit_for_two_tats, axelrod.TitFor2Tats),
    "grim": (scripted.grim, axelrod.Grudger),
    "win_stay_lose_shift": (scripted.win_stay_lose_shift, axelrod.WinStayLoseShift),
    "always_kind": (partial(scripted.always, position=0), axelrod.Cooperator),
    "always_unkind": (partial(scripted.always, position=1), axelrod.Defector),
    "alternator": (scripted.alternator, axelrod.Alternator),
    "uniform": (scripted.random_mix, partial(axelrod.Random, 0.5)),
    "generous_tit_for_tat": (scripted.generous_tit_for_tat, axelrod.GTFT),
    "extort_2": (scripted.extort_2, axelrod.ZDExtort2),
    "memory_one": (partial(scripted.memory_one, first=1, kind=FOUR), partial(axelrod.MemoryOnePlayer, FOUR)),
}
"""Ours and theirs."""


def theirs(first, second):
    """Both players' letters, their points, and dice seeded as theirs were (players that throw none have no seed)."""
    match = axelrod.Match((PAIRS[first][1](), PAIRS[second][1]()), turns=TURNS, seed=SEED)
    match.play()
    dice = [axelrod.RandomGenerator(seed=getattr(player, "_seed", 0)) for player in match.players]
    return [letters(map(str, player.history)) for player in match.players], list(match.final_score()), dice


def ours(first, second, dice):
    """Both players' letters, and their points."""
    steps = played(GAME, [PAIRS[first][0], PAIRS[second][0]], dice)
    histories = [letters(chosen[seat] for chosen, _ in steps) for seat in (0, 1)]
    return histories, [sum(payoffs[seat] for _, payoffs in steps) for seat in (0, 1)]


@pytest.mark.parametrize(("first", "second"), list(product(PAIRS, repeat=2)))
def test_a_match_goes_move_for_move_as_in_the_axelrod_library(first, second):
    histories, points, dice = theirs(first, second)
    assert ours(first, second, dice) == (histories, points)
