"""Equilibria against hand-computed games, against pygambit, and against the definition."""

from fractions import Fraction
from random import Random

import pygambit
import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import ROOT
from agon.games.equilibria import best_replies, bimatrix_equilibria, equilibria, symmetric_equilibrium
from agon.games.matrix import MatrixGame

DILEMMA = [[[4, 4], [1, 6]], [[6, 1], [2, 2]]]
STAG_HUNT = [[[6, 6], [1, 4]], [[4, 1], [2, 2]]]
RPS = [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]]
RPS_THREE = [[[0, 0], [-3, 3], [1, -1]], [[3, -3], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]]
BATTLE = [[[3, 2], [0, 0]], [[0, 0], [2, 3]]]
PENNIES = [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]]
CHICKEN = [[[0, 0], [-1, 1]], [[1, -1], [-10, -10]]]
INDIFFERENT = [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]
BYSTANDER = [[[1, 1], [0, 1]], [[0, 0], [1, 0]]]  # the second seat does not care: von Stengel's kind of degenerate
THIRDS = [[[0.1, 0.1], [0.3, 0.3]], [[0.3, 0.3], [0.1, 0.1]]]


def game_of(payoff):
    return MatrixGame("g", "test", tuple("abcdefgh"[: len(payoff)]), payoff, 1)


def shown(found):
    """Profiles as text, in any order: {"1,0 | 1/2,1/2"}."""
    return {" | ".join(",".join(map(str, mix)) for mix in profile) for profile in found}


def solved(payoff):
    return shown(equilibria(game_of(payoff)).profiles)


def by_pygambit(rows, columns):
    game = pygambit.StrategicGame.from_arrays(rows, columns)
    return shown(
        [[found[player][s] for s in game.get_strategies(player)] for player in game.players]
        for found in pygambit.nash.enummixed_solve(game, rational=True).equilibria
    )


def is_equilibrium(rows, columns, profile):
    """By the definition: sums to one, and no pure deviation pays more than the mix earns."""
    first, second = profile
    by_row = [sum(pay * share for pay, share in zip(row, second, strict=True)) for row in rows]
    by_column = [sum(pay * share for pay, share in zip(c, first, strict=True)) for c in zip(*columns, strict=True)]
    earns = [
        sum(w * s for w, s in zip(worth, mix, strict=True)) for worth, mix in ((by_row, first), (by_column, second))
    ]
    mixes = all(sum(mix) == 1 and min(mix) >= 0 for mix in profile)
    return mixes and earns == [max(by_row), max(by_column)]


def random_tables(seed):
    dice = Random(seed)
    count, replies = ((2, 2), (2, 3), (3, 3))[seed % 3]
    top = (2, 3, 9)[seed // 3 % 3]
    return tuple([[dice.randint(0, top) for _ in range(replies)] for _ in range(count)] for _ in range(2))


@pytest.mark.parametrize(
    ("payoff", "profiles"),
    [
        (DILEMMA, {"0,1 | 0,1"}),
        (STAG_HUNT, {"1,0 | 1,0", "0,1 | 0,1", "1/3,2/3 | 1/3,2/3"}),
        (RPS, {"1/3,1/3,1/3 | 1/3,1/3,1/3"}),
        (RPS_THREE, {"1/5,1/5,3/5 | 1/5,1/5,3/5"}),
        (BATTLE, {"1,0 | 1,0", "0,1 | 0,1", "3/5,2/5 | 2/5,3/5"}),
        (PENNIES, {"1/2,1/2 | 1/2,1/2"}),
        (CHICKEN, {"1,0 | 0,1", "0,1 | 1,0", "9/10,1/10 | 9/10,1/10"}),
        (THIRDS, {"1,0 | 0,1", "0,1 | 1,0", "1/2,1/2 | 1/2,1/2"}),
    ],
)
def test_textbook_games_have_their_equilibria(payoff, profiles):
    found = equilibria(game_of(payoff))
    assert (shown(found.profiles), found.degenerate, found.exact) == (profiles, False, True)


@pytest.mark.parametrize(
    "variant", ["pd", "pd_label", "pd_payoff", "pd_joint", "rps", "rps_label", "rps_payoff", "rps_joint"]
)
def test_the_variants_in_conf_have_the_equilibria_of_the_paper(variant):
    mixes = {"pd": (0, 1), "pd_label": (0, 1), "pd_payoff": (1 / 3, 2 / 3), "pd_joint": (1 / 3, 2 / 3)}
    mixes |= {
        "rps": (1 / 3,) * 3,
        "rps_label": (1 / 3,) * 3,
        "rps_payoff": (0.2, 0.2, 0.6),
        "rps_joint": (0.2, 0.2, 0.6),
    }
    with initialize_config_dir(str(ROOT / "conf"), version_base=None):
        game = instantiate(compose(overrides=[f"+game={variant}"]).game)
    assert symmetric_equilibrium(game) == mixes[variant]
    assert len(equilibria(game).profiles) == (3 if variant in ("pd_payoff", "pd_joint") else 1)


def test_a_degenerate_game_says_so_and_lists_the_extreme_points():
    found = equilibria(game_of(INDIFFERENT))
    assert found.degenerate
    assert shown(found.profiles) == {"1,0 | 1,0", "1,0 | 0,1", "0,1 | 1,0", "0,1 | 0,1"}


def test_a_bystander_makes_a_segment_whose_ends_are_listed():
    found = equilibria(game_of(BYSTANDER))
    assert found.degenerate
    assert shown(found.profiles) == {"1,0 | 1,0", "1,0 | 1/2,1/2", "0,1 | 0,1", "0,1 | 1/2,1/2"}


@pytest.mark.parametrize("seed", range(63))
def test_random_games_agree_with_pygambit_and_the_definition(seed):
    rows, columns = random_tables(seed)
    found = bimatrix_equilibria(rows, columns)
    assert shown(found.profiles) == by_pygambit(rows, columns)
    assert len(shown(found.profiles)) == len(found.profiles)
    assert all(is_equilibrium(rows, columns, profile) for profile in found.profiles)
    assert found.degenerate or len(found.profiles) % 2 == 1


def test_the_random_games_are_both_kinds():
    kinds = [bimatrix_equilibria(*random_tables(seed)).degenerate for seed in range(63)]
    assert 15 <= sum(kinds) <= 48


@given(st.lists(st.integers(0, 4), min_size=8, max_size=8))
def test_two_by_two_games_are_degenerate_when_an_option_has_two_best_replies(numbers):
    (a, b), (c, d) = rows = [numbers[:2], numbers[2:4]]
    (e, f), (g, h) = columns = [numbers[4:6], numbers[6:]]
    assert bimatrix_equilibria(rows, columns).degenerate == (a == c or b == d or e == f or g == h)


def test_three_replies_that_cross_in_one_point_are_degenerate():
    rows, columns = [[2, 2, 0], [0, 1, 3]], [[4, 3, 0], [0, 3, 4]]
    assert not bimatrix_equilibria(rows, columns).degenerate
    assert bimatrix_equilibria(rows, [[4, 2, 0], [0, 2, 4]]).degenerate


payoffs = st.one_of(st.integers(-3, 3), st.fractions(-2, 2, max_denominator=4), st.sampled_from([0.1, 0.2, 0.3, 0.5]))


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
        lambda shape: st.tuples(
            *[st.lists(st.lists(payoffs, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0])]
            * 2
        )
    )
)
def test_every_game_has_equilibria_and_all_that_are_found_are_ones(tables):
    rows, columns = ([[Fraction(str(pay)) for pay in row] for row in table] for table in tables)
    found = bimatrix_equilibria(*tables)
    assert found.profiles
    assert all(is_equilibrium(rows, columns, profile) for profile in found.profiles)
    assert found.degenerate or len(found.profiles) % 2 == 1


def test_pairs_that_are_all_listed_may_be_mixed():
    rows, columns = [[1, 0, 1], [1, 2, 0]], [[2, 2, 0], [1, 1, 1]]
    found = bimatrix_equilibria(rows, columns)
    firsts = {profile[0] for profile in found.profiles}
    assert found.degenerate
    for first in firsts:
        seconds = [second for own, second in found.profiles if own == first]
        middle = tuple(sum(shares) / len(seconds) for shares in zip(*seconds, strict=True))
        assert is_equilibrium(rows, columns, (first, middle))


def test_larger_games_go_to_pygambit_and_agree():
    dice = Random(7)
    payoff = [[[dice.randint(0, 9), dice.randint(0, 9)] for _ in range(7)] for _ in range(7)]
    found = equilibria(game_of(payoff))
    rows, columns = ([[pay[seat] for pay in row] for row in payoff] for seat in (0, 1))
    ours = bimatrix_equilibria(rows, columns)
    assert found.exact
    assert set(found.profiles) == set(ours.profiles)


def test_larger_games_with_a_segment_of_equilibria_are_degenerate():
    game = game_of([[[int(a == 0), int(a == 0)] for _ in range(7)] for a in range(7)])
    assert equilibria(game).degenerate
    assert len(equilibria(game).profiles) == 7


def cube(pays):
    return [[[list(pays((a, b, c))) for c in (0, 1)] for b in (0, 1)] for a in (0, 1)]


def test_one_volunteer_of_three_is_enough():
    """Diekmann (1985): benefit 2, cost 1; all mixed, the chance to stay out is (1/2) ** (1/2)."""
    found = equilibria(game_of(cube(lambda p: [2 * (0 in p) - (own == 0) for own in p])))
    pure = [profile for profile in found.profiles if all(set(mix) == {0, 1} for mix in profile)]
    symmetric = [profile for profile in found.profiles if len(set(profile)) == 1]
    assert shown(pure) == {"1,0 | 0,1 | 0,1", "0,1 | 1,0 | 0,1", "0,1 | 0,1 | 1,0"}
    assert [float(mix[1]) for mix in symmetric[0]] == pytest.approx([0.5**0.5] * 3)
    assert (found.exact, found.degenerate) == (False, False)


def test_nobody_contributes_to_a_public_good_of_three():
    found = equilibria(game_of(cube(lambda p: [own + 0.5 * p.count(0) for own in p])))
    assert shown(found.profiles) == {"0,1 | 0,1 | 0,1"}


def test_three_players_who_do_not_care_are_degenerate():
    found = equilibria(game_of(cube(lambda p: [0, 0, 0])))
    assert found.degenerate
    assert len(found.profiles) == 8


def test_best_replies_are_exact():
    game = game_of(STAG_HUNT)
    third = Fraction(1, 3)
    assert best_replies(game, 0, ((), (third, 1 - third))) == ("a", "b")
    assert best_replies(game, 0, ((), (0.33, 0.67))) == ("b",)
    assert best_replies(game, 1, ((1, 0), ())) == ("a",)


def test_a_symmetric_equilibrium_needs_two_seats_paid_alike():
    with pytest.raises(ValueError, match="not symmetric"):
        symmetric_equilibrium(game_of(BATTLE))
    with pytest.raises(ValueError, match="3 seats"):
        symmetric_equilibrium(game_of(cube(lambda p: [0, 0, 0])))


def test_the_symmetric_equilibrium_of_indifference_is_uniform():
    assert symmetric_equilibrium(game_of(INDIFFERENT)) == (0.5, 0.5)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=k, max_size=k)
    )
)
def test_symmetric_equilibria_are_equilibria_with_the_largest_symmetric_support(rows):
    mirrored = [[[rows[a][b], rows[b][a]] for b in range(len(rows))] for a in range(len(rows))]
    mix = [Fraction(share).limit_denominator(10**6) for share in symmetric_equilibrium(game_of(mirrored))]
    listed = [x for x, y in equilibria(game_of(mirrored)).profiles if x == y]
    assert is_equilibrium(rows, list(zip(*rows, strict=True)), (mix, mix))
    assert all(sum(share > 0 for share in mix) >= sum(share > 0 for share in other) for other in listed)
