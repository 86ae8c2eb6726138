"""Equilibria against hand-computed games, against pygambit, and against the definition."""

from fractions import Fraction
from random import Random

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import ROOT
from agon.games.equilibria import best_replies, equilibria, symmetric_equilibrium
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


def test_textbook_games_have_their_equilibria():
    for payoff, profiles in [
        (DILEMMA, {"0,1 | 0,1"}),
        (STAG_HUNT, {"1,0 | 1,0", "0,1 | 0,1", "1/3,2/3 | 1/3,2/3"}),
        (RPS, {"1/3,1/3,1/3 | 1/3,1/3,1/3"}),
        (RPS_THREE, {"1/5,1/5,3/5 | 1/5,1/5,3/5"}),
        (BATTLE, {"1,0 | 1,0", "0,1 | 0,1", "3/5,2/5 | 2/5,3/5"}),
        (PENNIES, {"1/2,1/2 | 1/2,1/2"}),
        (CHICKEN, {"1,0 | 0,1", "0,1 | 1,0", "9/10,1/10 | 9/10,1/10"}),
        (THIRDS, {"1,0 | 0,1", "0,1 | 1,0", "1/2,1/2 | 1/2,1/2"}),
    ]:
        solution = equilibria(game_of(payoff))
        assert (shown(solution.profiles), solution.exact) == (profiles, True)


def test_the_variants_in_conf_have_the_equilibria_of_the_paper():
    mixes = {"pd": (0, 1), "pd_label": (0, 1), "pd_payoff": (1 / 3, 2 / 3), "pd_joint": (1 / 3, 2 / 3)}
    mixes |= {
        "rps": (1 / 3,) * 3,
        "rps_label": (1 / 3,) * 3,
        "rps_payoff": (0.2, 0.2, 0.6),
        "rps_joint": (0.2, 0.2, 0.6),
    }
    for variant, mix in mixes.items():
        with initialize_config_dir(str(ROOT / "conf"), version_base=None):
            game = instantiate(compose(overrides=[f"+game={variant}"]).game)
        assert symmetric_equilibrium(game) == mix, variant
        assert len(equilibria(game).profiles) == (3 if variant in ("pd_payoff", "pd_joint") else 1), variant


def test_of_a_degenerate_game_the_extreme_points_are_listed():
    found = equilibria(game_of(INDIFFERENT))
    assert shown(found.profiles) == {"1,0 | 1,0", "1,0 | 0,1", "0,1 | 1,0", "0,1 | 0,1"}


def test_a_bystander_makes_a_segment_whose_ends_are_listed():
    found = equilibria(game_of(BYSTANDER))
    assert shown(found.profiles) == {"1,0 | 1,0", "1,0 | 1/2,1/2", "0,1 | 0,1", "0,1 | 1/2,1/2"}


def profiles_of(rows, columns):
    """Of two tables, in which the first seat has as many options as the second."""
    return equilibria(
        game_of([[[*pair] for pair in zip(*both, strict=True)] for both in zip(rows, columns, strict=True)])
    ).profiles


payoffs = st.one_of(st.integers(-3, 3), st.sampled_from([0.1, 0.2, 0.3, 0.5]))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 4).flatmap(
        lambda k: st.tuples(*[st.lists(st.lists(payoffs, min_size=k, max_size=k), min_size=k, max_size=k)] * 2)
    )
)
def test_every_game_has_equilibria_and_all_that_are_found_are_ones(tables):
    rows, columns = ([[Fraction(str(pay)) for pay in row] for row in table] for table in tables)
    found = profiles_of(*tables)
    assert found and len(set(found)) == len(found)
    assert all(is_equilibrium(rows, columns, profile) for profile in found)


def test_games_without_ties_have_an_odd_number_of_equilibria():
    """Wilson (1971). All pure equilibria are among them."""
    for seed in range(20):
        dice, size = Random(seed), 2 + seed % 3
        cells = size * size
        rows, columns = (
            [[*numbers[i : i + size]] for i in range(0, cells, size)]
            for numbers in (dice.sample(range(999), cells) for _ in "ab")
        )
        profiles = profiles_of(rows, columns)
        best = [
            (i, j)
            for i in range(size)
            for j in range(size)
            if rows[i][j] == max(row[j] for row in rows) and columns[i][j] == max(columns[i])
        ]
        pure = [tuple(mix.index(1) for mix in profile) for profile in profiles if all(1 in mix for mix in profile)]
        assert len(profiles) % 2 == 1 and sorted(pure) == best, seed


def test_pairs_that_are_all_listed_may_be_mixed():
    rows, columns = [[1, 0, 1], [1, 2, 0], [0, 0, 0]], [[2, 2, 0], [1, 1, 1], [0, 0, 0]]
    found = profiles_of(rows, columns)
    for first in {profile[0] for profile in found}:
        seconds = [second for own, second in found if own == first]
        middle = tuple(sum(shares) / len(seconds) for shares in zip(*seconds, strict=True))
        assert is_equilibrium(rows, columns, (first, middle))


def test_of_larger_games_with_a_segment_of_equilibria_the_ends_are_listed():
    game = game_of([[[int(a == 0), int(a == 0)] for _ in range(7)] for a in range(7)])
    assert equilibria(game).exact and len(equilibria(game).profiles) == 7


def test_profiles_in_which_the_first_seat_uses_fewer_options_come_first():
    [first, *_, last] = equilibria(game_of(STAG_HUNT)).profiles
    assert [max(mix) for mix in (first[0], last[0])] == [1, Fraction(2, 3)]


def cube(pays):
    return [[[list(pays((a, b, c))) for c in (0, 1)] for b in (0, 1)] for a in (0, 1)]


def test_one_volunteer_of_three_is_enough():
    """Diekmann (1985): benefit 2, cost 1; all mixed, the chance to stay out is (1/2) ** (1/2)."""
    found = equilibria(game_of(cube(lambda p: [2 * (0 in p) - (own == 0) for own in p])))
    pure = [profile for profile in found.profiles if all(set(mix) == {0, 1} for mix in profile)]
    symmetric = [profile for profile in found.profiles if len(set(profile)) == 1]
    assert shown(pure) == {"1,0 | 0,1 | 0,1", "0,1 | 1,0 | 0,1", "0,1 | 0,1 | 1,0"}
    assert [float(mix[1]) for mix in symmetric[0]] == pytest.approx([0.5**0.5] * 3)
    assert not found.exact


def test_nobody_contributes_to_a_public_good_of_three():
    found = equilibria(game_of(cube(lambda p: [own + 0.5 * p.count(0) for own in p])))
    assert shown(found.profiles) == {"0,1 | 0,1 | 0,1"}


def test_of_three_players_who_do_not_care_all_pure_profiles_are_listed():
    assert len(equilibria(game_of(cube(lambda p: [0, 0, 0]))).profiles) == 8


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
def test_symmetric_equilibria_have_the_largest_symmetric_support(rows):
    mirrored = [[[rows[a][b], rows[b][a]] for b in range(len(rows))] for a in range(len(rows))]
    mix = [Fraction(share).limit_denominator(10**6) for share in symmetric_equilibrium(game_of(mirrored))]
    listed = [x for x, y in equilibria(game_of(mirrored)).profiles if x == y]
    assert is_equilibrium(rows, list(zip(*rows, strict=True)), (mix, mix))
    assert all(sum(share > 0 for share in mix) >= sum(share > 0 for share in other) for other in listed)
