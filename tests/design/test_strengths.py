"""Strengths of many players, against choix, against drawn matches, and where they cannot be known."""

import resource
import subprocess
import sys
from itertools import combinations

import choix
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import chi2

from agon import AgonError
from agon_design.strengths import strengths


def results(orders, seats=None):
    """A row per match and seat from orders of players, the winner first; who ties stands in one tuple."""
    rows = []
    for match, order in enumerate(orders):
        for place, each in enumerate(order):
            players = each if isinstance(each, tuple) else (each,)
            rows += [{"match": str(match), "player": str(player), "score": -place} for player in players]
    table = pd.DataFrame(rows)
    return table.assign(seat=table.groupby("match").cumcount() if seats is None else seats)


def pairs(players=4):
    place = st.integers(0, players - 1)
    return st.lists(st.tuples(place, place).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=15)


def known(found, n):
    return found.players.set_index("player").strength.reindex(map(str, range(n))).to_numpy()


@given(pairs())
@settings(max_examples=15, deadline=None)
def test_matches_of_two_give_what_choix_gives_of_the_same_wins(played):
    who = sorted({each for pair in played for each in pair})
    both = [tuple(map(who.index, pair)) for pair in played]
    wins = np.full((len(who), len(who)), 0.1)  # each has won a tenth of a match against each
    for winner, loser in both:
        wins[winner, loser] += 1
    wanted = choix.ilsr_pairwise_dense(wins, max_iter=1000)
    found = strengths(results(both))
    if found.groups == 1:
        assert known(found, len(who)) == pytest.approx(wanted - wanted.mean(), abs=1e-5)


def test_many_matches_of_more_give_the_strengths_of_plackett_and_luce():
    dice, truth = np.random.default_rng(2), np.array([-0.8, -0.2, 0.3, 0.7])
    orders = [tuple(np.argsort(-(truth + dice.gumbel(size=4))).tolist()) for _ in range(3000)]
    assert known(strengths(results(orders)), 4) == pytest.approx(truth, abs=0.1)


def test_ties_do_not_pull_the_strengths_together():
    dice, truth = np.random.default_rng(4), np.array([-1.0, 0.0, 1.0])
    found = strengths(drawn(dice, truth, 4000, tie=1.0))
    assert found.ties > 0.25 and known(found, 3) == pytest.approx(truth, abs=0.12)


def likelihood_of(played, size):
    """The negative log-likelihood with prior wins, of the strengths and the logarithm of the constant of ties."""
    first, second = (played[played.seat == seat].reset_index() for seat in (0, 1))
    lead = np.sign(first.score - second.score)

    def loss(parameters):
        strength, tie = parameters[:-1], np.exp(parameters[-1])
        half = (strength[first.player.astype(int)] - strength[second.player.astype(int)]) / 2
        prior = np.subtract.outer(strength, strength)[~np.eye(size, dtype=bool)] / 2

        def log_chance(half, outcome):
            odds = np.where(outcome == 0, tie, np.exp(half * outcome))
            return np.log(odds / (np.exp(half) + np.exp(-half) + tie))

        return -log_chance(half, lead).sum() - 0.1 * log_chance(prior, 1).sum()

    return loss


def test_strengths_with_ties_are_those_of_a_general_optimizer():
    played = drawn(np.random.default_rng(6), np.array([-1.0, 0.0, 1.0]), 40, tie=1.0)
    loss = likelihood_of(played, 3)
    best = minimize(lambda free: loss(np.array([*free[:2], -sum(free[:2]), free[2]])), np.zeros(3), tol=1e-10).x
    assert known(strengths(played), 3)[:2] == pytest.approx(best[:2], abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_ranges_of_ranks_are_those_of_a_general_optimizer(seed):
    size = 5
    played = drawn(np.random.default_rng(seed), np.linspace(-1.5, 1.5, size), 120, tie=0.5)
    loss = likelihood_of(played, size)

    def fitted(**equal):
        rules = [{"type": "eq", "fun": lambda each: each[:-1].sum()}, *equal.values()]
        return minimize(loss, np.zeros(size + 1), method="SLSQP", constraints=rules, tol=1e-12)

    best, p = fitted(), np.full((size, size), np.inf)
    for one, other in combinations(range(size), 2):
        equal = fitted(equal={"type": "eq", "fun": lambda each, one=one, other=other: each[one] - each[other]})
        p[one, other] = p[other, one] = chi2.sf(2 * (equal.fun - best.fun), 1)
    stronger = np.zeros((size, size), dtype=bool)
    for player in range(size):
        for nth, other in enumerate(np.argsort(p[player])[: size - 1]):
            if p[player, other] > 0.05 / (size - 1 - nth):
                break
            stronger[player, other] = best.x[player] > best.x[other]
    found = strengths(played).players.set_index("player").loc[[*map(str, range(size))]]
    assert found.rank_low.tolist() == (1 + stronger.sum(axis=0)).tolist()
    assert found.rank_high.tolist() == (size - stronger.sum(axis=1)).tolist()
    assert 0 < stronger.sum() < size * (size - 1) / 2


def test_three_scripts_that_tie_in_every_match_share_a_rank_from_1_to_3():
    orders = [(each,) for each in (("a", "b"), ("b", "c"), ("a", "c")) for _ in range(20)]
    found = strengths(results(orders)).players
    assert found[["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [[1, 1, 3]] * 3


def test_who_is_behind_two_equals_is_third():
    found = strengths(results([(("a", "b"), "c"), (("b", "a"), "c")] * 10)).players
    assert found.player.tolist() == ["a", "b", "c"] and found["rank"].tolist() == [1, 1, 3]
    assert found.rank_low.tolist() == [1, 1, 3] and found.rank_high.tolist() == [2, 2, 3]
    assert found.low[0] == pytest.approx(found.low[1]) and found.high[2] < 0 < found.low[1]


TWELVE = """
import pandas as pd
from agon_design.strengths import strengths
players = [f"p{number:02}" for number in range(12)]
scores = [[0] * 12] * 5 + [[1] * 6 + [0] * 6, [0] * 6 + [1] * 6] * 2
rows = [(match, seat, players[seat], own) for match, each in enumerate(scores) for seat, own in enumerate(each)]
found = strengths(pd.DataFrame(rows, columns=["match", "seat", "player", "score"])).players
print(set(found["rank"]), set(found.rank_low), set(found.rank_high))
"""


def test_twelve_seats_that_all_tie_take_no_time_and_no_memory():
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31))

    command = [sys.executable, "-c", TWELVE]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limit)
    assert ran.stdout.strip() == "{1} {1} {12}", ran.stderr


names = st.permutations("abcd")
groups = st.lists(st.integers(0, 3), min_size=4, max_size=4)


@given(st.lists(st.tuples(names, groups), min_size=1, max_size=6), names)
@settings(max_examples=8, deadline=None)
def test_other_names_for_the_same_players_change_no_rank(played, others):
    rows = [
        {"match": str(match), "seat": seat, "player": player, "score": score}
        for match, (seated, scores) in enumerate(played)
        for seat, (player, score) in enumerate(zip(seated, scores, strict=True))
    ]
    table, renamed = pd.DataFrame(rows), dict(zip("abcd", others, strict=True))
    ranks = ["rank", "rank_low", "rank_high"]
    one = strengths(table).players.set_index("player")[ranks]
    other = strengths(table.assign(player=table.player.map(renamed))).players.set_index("player")[ranks]
    assert one.rename(index=renamed).sort_index().equals(other.sort_index())


def drawn(dice, truth, matches, tie=0.0):
    """Matches of two between players of known strengths; a tie of equals is so many times as likely as a win."""
    one = dice.integers(len(truth), size=matches)
    other = (one + dice.integers(1, len(truth), size=matches)) % len(truth)
    half = (truth[one] - truth[other]) / 2
    odds = np.stack([np.exp(half), np.full(matches, tie), np.exp(-half)])
    won = 1 - (dice.random(matches) > (odds / odds.sum(axis=0)).cumsum(axis=0)).sum(axis=0)
    rows = [
        pd.DataFrame(
            {"match": np.arange(matches), "seat": seat, "player": who.astype(str), "score": score.astype(float)}
        )
        for seat, who, score in ((0, one, won), (1, other, -won))
    ]
    return pd.concat(rows)


COVERED = {
    "spread": (np.array([-0.75, -0.25, 0.25, 0.75]), 24, 0.0),
    "one wins nearly always": (np.array([-1.5, -1.0, -0.5, 3.0]), 60, 0.0),
    "a third are ties": (np.array([-0.75, -0.25, 0.25, 0.75]), 60, 1.0),
    "equals": (np.zeros(4), 40, 0.5),
}


@pytest.mark.parametrize("design", COVERED)
def test_intervals_cover_strengths_and_ranges_cover_ranks(design):
    truth, matches, tie = COVERED[design]
    dice, inside, ranks = np.random.default_rng(7), [], []
    for _ in range(16):
        found = strengths(drawn(dice, truth, matches, tie)).players.set_index("player").loc[list("0123")]
        inside.append((found.low <= truth) & (truth <= found.high))
        above, beside = (truth > truth[:, None]).sum(axis=1), (truth >= truth[:, None]).sum(axis=1)
        ranks.append((found.rank_low <= 1 + above) & (beside <= found.rank_high))
    assert np.mean(inside) > 0.85 and np.mean(inside, axis=0).min() > 0.75
    assert np.mean(ranks, axis=0).min() > 0.85


def test_a_match_of_four_tells_less_than_its_six_pairs_apart():
    orders = [(0, 1, 2, 3), (3, 2, 1, 0)] * 6
    pairs = [pair for order in orders for pair in combinations(order, 2)]
    four, apart = (strengths(results(played)).players for played in (orders, pairs))
    assert (four.high - four.low > 1.2 * (apart.high - apart.low)).all()


def test_a_player_that_never_lost_is_first_and_its_strength_is_finite():
    found = strengths(results([(0, 1), (0, 1), (1, 2), (0, 2)]))
    assert (
        found.players.player.tolist() == ["0", "1", "2"]
        and np.isfinite(found.players.to_numpy()[:, 1:].astype(float)).all()
    )


def test_groups_of_players_that_never_met_are_counted():
    assert strengths(results([(0, 1), (1, 2)])).groups == 1
    assert strengths(results([(0, 1), (2, 3)])).groups == 2


def test_matches_that_tell_nothing_are_refused():
    with pytest.raises(AgonError, match="no two different players met"):
        strengths(results([(0, 0)]))
