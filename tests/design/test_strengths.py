"""Strengths of many players, against choix, against drawn matches, and where they cannot be known."""

import resource
import subprocess
import sys

import choix
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
@settings(max_examples=40, deadline=None)
def test_matches_of_two_give_what_choix_gives_of_the_same_wins(played):
    who = sorted({each for pair in played for each in pair})
    both = [tuple(map(who.index, pair)) for pair in played]
    wanted = choix.ilsr_pairwise(len(who), both, alpha=0.1, max_iter=1000)
    assert known(strengths(results(both), resamples=2), len(who)) == pytest.approx(wanted - wanted.mean(), abs=1e-5)


def test_many_matches_of_more_give_the_strengths_of_plackett_and_luce():
    dice, truth = np.random.default_rng(2), np.array([-0.8, -0.2, 0.3, 0.7])
    orders = [tuple(np.argsort(-(truth + dice.gumbel(size=4))).tolist()) for _ in range(3000)]
    assert known(strengths(results(orders), resamples=2), 4) == pytest.approx(truth, abs=0.1)


def test_a_tie_of_two_is_half_a_win_for_each():
    tied = strengths(results([((0, 1),), (1, 2), (2, 0)] * 50), resamples=2)
    halves = strengths(results([(0, 1), (1, 0), *[(1, 2), (2, 0)] * 2] * 25), resamples=2)
    assert known(tied, 3) == pytest.approx(known(halves, 3), abs=1e-5)


def test_three_scripts_that_tie_in_every_match_share_a_rank_from_1_to_3():
    orders = [(each,) for each in (("a", "b"), ("b", "c"), ("a", "c")) for _ in range(20)]
    found = strengths(results(orders)).players
    assert found[["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [[1, 1, 3]] * 3


def test_who_is_behind_two_equals_is_third():
    found = strengths(results([(("a", "b"), "c"), (("b", "a"), "c")] * 10)).players
    assert found.player.tolist() == ["a", "b", "c"] and found["rank"].tolist() == [1, 1, 3]
    assert found.rank_low.tolist() == [1, 1, 3] and found.rank_high.tolist() == [2, 2, 3]


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
@settings(max_examples=25, deadline=None)
def test_other_names_for_the_same_players_change_no_rank(played, others):
    rows = [
        {"match": str(match), "seat": seat, "player": player, "score": score}
        for match, (seated, scores) in enumerate(played)
        for seat, (player, score) in enumerate(zip(seated, scores, strict=True))
    ]
    table, renamed = pd.DataFrame(rows), dict(zip("abcd", others, strict=True))
    ranks = ["rank", "rank_low", "rank_high"]
    one = strengths(table, resamples=20).players.set_index("player")[ranks]
    other = strengths(table.assign(player=table.player.map(renamed)), resamples=20).players.set_index("player")[ranks]
    assert one.rename(index=renamed).sort_index().equals(other.sort_index())


def drawn(dice, truth, matches):
    """Matches of two between players of known strengths."""
    one = dice.integers(len(truth), size=matches)
    other = (one + dice.integers(1, len(truth), size=matches)) % len(truth)
    won = dice.random(matches) < 1 / (1 + np.exp(truth[other] - truth[one]))
    rows = [
        pd.DataFrame(
            {"match": np.arange(matches), "seat": seat, "player": who.astype(str), "score": score.astype(float)}
        )
        for seat, who, score in ((0, one, won), (1, other, ~won))
    ]
    return pd.concat(rows)


def test_intervals_cover_strengths_and_ranks():
    dice, truth = np.random.default_rng(5), np.array([-0.75, -0.25, 0.25, 0.75])
    inside, ranks = [], []
    for run in range(60):
        found = strengths(drawn(dice, truth, 150), seed=run, resamples=200)
        table = found.players.set_index("player").loc[list("0123")]
        inside += ((table.low <= truth) & (truth <= table.high)).tolist()
        ranks += table["rank"].between(table.rank_low, table.rank_high).tolist()
    assert np.mean(inside) == pytest.approx(0.95, abs=0.05) and all(ranks)


def test_a_player_that_never_lost_is_first_and_its_strength_is_finite():
    found = strengths(results([(0, 1), (0, 1), (1, 2), (0, 2)]))
    assert (
        found.players.player.tolist() == ["0", "1", "2"]
        and np.isfinite(found.players.to_numpy()[:, 1:].astype(float)).all()
    )


def test_groups_of_players_that_never_met_are_counted():
    assert strengths(results([(0, 1), (1, 2)]), resamples=2).groups == 1
    assert strengths(results([(0, 1), (2, 3)]), resamples=2).groups == 2


def test_matches_that_tell_nothing_are_refused():
    with pytest.raises(AgonError, match="no two different players met"):
        strengths(results([(0, 0)]))
