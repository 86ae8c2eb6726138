"""The classics against the Axelrod library's own players: equal histories, dice included."""

from functools import partial
from itertools import product

import pytest
from harness import letters, played, small

from agon.games.matrix import scripts as scripted

TURNS, SEED = 200, 20_260
GAME = small([[[3, 3], [0, 5]], [[5, 0], [1, 1]]], "CD", TURNS)
FOUR = (0.9, 0.3, 0.6, 0.1)
OURS = {
    "tit_for_tat": scripted.tit_for_tat,
    "tit_for_two_tats": scripted.tit_for_two_tats,
    "grim": scripted.grim,
    "win_stay_lose_shift": scripted.win_stay_lose_shift,
    "always_kind": partial(scripted.always, position=0),
    "always_unkind": partial(scripted.always, position=1),
    "alternator": scripted.alternator,
    "uniform": scripted.random_mix,
    "generous_tit_for_tat": scripted.generous_tit_for_tat,
    "extort_2": scripted.extort_2,
    "memory_one": partial(scripted.memory_one, first=1, kind=FOUR),
}


@pytest.fixture(scope="module")
def axelrod():
    """Only for who runs these tests: it reads all of its strategies when it is imported, for ten seconds."""
    return pytest.importorskip("axelrod", reason="the Axelrod library is a development dependency")


@pytest.fixture(scope="module")
def theirs(axelrod):
    """The same players, by our names."""
    return {
        "tit_for_tat": axelrod.TitForTat,
        "tit_for_two_tats": axelrod.TitFor2Tats,
        "grim": axelrod.Grudger,
        "win_stay_lose_shift": axelrod.WinStayLoseShift,
        "always_kind": axelrod.Cooperator,
        "always_unkind": axelrod.Defector,
        "alternator": axelrod.Alternator,
        "uniform": partial(axelrod.Random, 0.5),
        "generous_tit_for_tat": axelrod.GTFT,
        "extort_2": axelrod.ZDExtort2,
        "memory_one": partial(axelrod.MemoryOnePlayer, FOUR),
    }


def test_matches_go_move_for_move_as_in_the_axelrod_library(
    axelrod, theirs
):  # one test, so that one worker reads the library
    for first, second in product(OURS, repeat=2):
        match = axelrod.Match((theirs[first](), theirs[second]()), turns=TURNS, seed=SEED)
        match.play()
        dice = [axelrod.RandomGenerator(seed=getattr(each, "_seed", 0)) for each in match.players]  # none: throws none
        steps = played(GAME, [OURS[first], OURS[second]], dice)
        histories = [letters(chosen[seat] for chosen, _ in steps) for seat in (0, 1)]
        assert histories == [letters(map(str, each.history)) for each in match.players], (first, second)
        totals = [sum(payoffs[seat] for _, payoffs in steps) for seat in (0, 1)]
        assert totals == list(match.final_score()), (first, second)
