"""Metrics of repeated games against numbers worked out by hand."""

import json

import numpy as np
import pandas as pd
import pytest
from harness import GAMES, PD, RPS, STAG, actions
from hypothesis import given, settings
from hypothesis import strategies as st

from agon import AgonError
from agon.games.equilibria import symmetric_equilibrium
from agon.games.matrix.metrics import (
    METRICS,
    Course,
    action_shares,
    chance_actions,
    cooperation_rate,
    distance,
    exploitability,
    limits,
    mix,
    of_actions,
    opponent_comprehension,
    opponent_comprehension_as_done,
    per_match,
    regret,
    security,
    shares_over_rounds,
    total_points,
)
from agon.games.tables import equilibrium_table, games_table, payoff_table
from agon.turns import action_text, typed


def matrix(game):
    """What seat 0 is paid, actions x actions."""
    return np.array([[game.payoffs((own, other))[0] for other in game.options] for own in game.options], dtype=float)


def course(own, other, game=PD):
    """One match from its letters; "-" is void."""
    pairs = list(zip(actions(own, game), actions(other, game), strict=True))
    places = {label: place for place, label in enumerate(game.options)} | {None: -1}
    paid = np.array([game.payoffs(pair) for pair in pairs], dtype=float)
    return Course(
        own=np.array([[places[mine] for mine, _ in pairs]], dtype=np.int8),
        other=np.array([[places[theirs] for _, theirs in pairs]], dtype=np.int8),
        paid=paid[None, :, 0],
        paid_other=paid[None, :, 1],
        payoff=matrix(game),
    )


def turns_of(own, other, game=PD, match="m", tokens=None, model=None):
    """The turns of one match from its letters, and its tokens round by round (both seats alike)."""
    rows = []
    for number, pair in enumerate(zip(actions(own, game), actions(other, game), strict=True), 1):
        for seat, action in enumerate(pair):
            rows.append(
                {
                    **{"experiment": "test", "match": match, "game": game.name, "variant": game.variant, "rules": 1},
                    **{"repetition": 0, "round": number, "turn": number, "phase": "move", "seat": seat, "config": "c"},
                    "agent": ("me", "you")[seat],
                    "model": model,
                    "legal": json.dumps({"choice": list(game.options)}),
                    "action": None if action is None else action_text(action),
                    "valid": None not in pair,
                    "payoff": float(game.payoffs(pair)[seat]),
                    "tokens": None if tokens is None else tokens[number - 1],
                }
            )
    return typed({name: [row[name] for row in rows] for name in rows[0]})


def together(*parts):
    """Several matches in one table."""
    return typed(
        {name: pd.concat([part[name].astype(object) for part in parts], ignore_index=True) for name in parts[0]}
    )


def measured(own, other, game=PD, **more):
    """Every metric of one match."""
    known = payoff_table(games_table([game])), equilibrium_table(games_table([game]))
    return per_match(turns_of(own, other, game, **more), *known).iloc[0]


# --- points


def test_total_points_are_summed_over_rounds():
    assert total_points(course("CDCD", "CCDD")) == [4 + 6 + 1 + 2]


def test_void_rounds_pay_nothing():
    assert total_points(course("C-C", "CC-")) == [4]


# --- opponent comprehension


def test_comprehension_is_the_first_round_from_which_nine_in_ten_are_good():
    for own, other, printed, done in [
        ("CCCC", "CCCC", 1, 1),  # nobody earns more
        ("CDDD", "DDDD", 2, 2),  # exploited once
        ("DDDC", "DDDD", 5, 5),  # exploited in the last round: never
        ("CCCCCCCCCC", "DCCCCCCCCC", 1, 1),  # once in ten is within 90 %
        ("CCCCCCCCC", "DCCCCCCCC", 2, 2),  # once in nine is not
        ("CDCDDDDDDDDD", "DDDDDDDDDDDD", 2, 2),  # twice, but from round 2 on only once in eleven
    ]:
        played = course(own, other)
        assert opponent_comprehension(played) == [printed] and opponent_comprehension_as_done(played) == [done]


def test_the_readings_differ_where_copying_the_other_would_have_paid_more():
    exploiting = course("DDDD", "CCCC", STAG)  # earns 4 to the other's 1, but copying would have paid 6
    assert opponent_comprehension(exploiting) == [1] and opponent_comprehension_as_done(exploiting) == [5]


def test_a_void_round_is_a_tie_as_printed():
    assert opponent_comprehension(course("--", "CD")) == opponent_comprehension(course("CC", "--")) == [1]


def test_as_done_a_missing_own_action_is_the_second_one():
    assert opponent_comprehension_as_done(course("--", "DC")) == [1]
    assert opponent_comprehension_as_done(course("--", "CC", STAG)) == [3]


def test_as_done_a_round_with_a_void_other_never_counts():
    assert opponent_comprehension_as_done(course("DDD", "DD-")) == [4]


def test_as_done_is_as_printed_in_rock_paper_scissors():
    played = course("RPS-P", "PPRS-", RPS)
    assert opponent_comprehension(played) == opponent_comprehension_as_done(played) == [4]


# --- rates and mixes


def test_cooperation_is_the_share_of_all_rounds_with_the_first_action():
    assert cooperation_rate(course("CCD-", "DDDD")) == [0.5]


def test_there_is_no_cooperation_in_rock_paper_scissors():
    assert np.isnan(cooperation_rate(course("RP", "RP", RPS))).all()


def test_mix_is_over_actions_that_were_not_void():
    assert mix(course("RR-P", "RRRR", RPS)).tolist() == [[2 / 3, 1 / 3, 0]]


# --- regret, exploitability, distance


def test_regret_is_what_the_best_single_action_would_have_added():
    assert regret(course("CCDD", "CDCD")) == [((6 + 2 + 6 + 2) - (4 + 1 + 6 + 2)) / 4]


def test_the_best_single_action_has_no_regret():
    assert regret(course("DDDD", "CDCD")) == [0]


def test_a_clever_sequence_has_negative_regret():
    assert regret(course("PSR", "RPS", RPS)) == [-1]


def test_regret_leaves_out_void_rounds():
    assert regret(course("C-C", "CC-")) == [6 - 4]


def test_security_of_the_dilemma_is_defection():
    weights, level = security(matrix(PD))
    assert weights == pytest.approx([0, 1]) and level == pytest.approx(2)


def test_security_of_rock_paper_scissors_is_its_equilibrium():
    for name, weights in [("rps", [1 / 3] * 3), ("rps_payoff", [0.2, 0.2, 0.6])]:
        found, level = security(matrix(GAMES[name]))
        assert found == pytest.approx(weights) and level == pytest.approx(0, abs=1e-9)


def test_an_equilibrium_mix_cannot_be_exploited():
    for own, game in [("RPS", RPS), ("RPSSS", GAMES["rps_payoff"]), ("DDD", PD)]:
        assert exploitability(course(own, own, game)) == pytest.approx([0], abs=1e-9)


def test_always_rock_loses_every_round_to_what_beats_it():
    for name, lost in [("rps", 1), ("rps_label", 1), ("rps_payoff", 3), ("rps_joint", 1)]:
        assert exploitability(course("RRR", "RRR", GAMES[name])) == pytest.approx([lost])


def test_kindness_in_the_dilemma_can_be_exploited_by_a_point_a_round():
    assert exploitability(course("CCCC", "CCCC")) == pytest.approx([1])


def test_distance_is_total_variation():
    assert distance(course("RRRP", "RRRR", RPS), np.full((1, 3), 1 / 3)) == pytest.approx([3 / 4 - 1 / 3])


def test_distance_is_to_the_nearest_target():
    assert distance(course("CCCD", "CCCC"), np.array([[0, 1], [1, 0], [0.5, 0.5]])) == pytest.approx([0.25])


@pytest.mark.parametrize(
    ("own", "game", "away"),
    [("DDDD", PD, 0), ("CDDD", PD, 0.25), ("CCCC", STAG, 0), ("CDD", STAG, 0), ("CCD", STAG, 1 / 3)],
)
def test_distance_to_equilibrium_is_to_the_nearest_one(own, game, away):
    assert measured(own, own, game).distance_to_equilibrium == pytest.approx(away)


# --- a table of turns


def test_per_match_has_every_metric():
    assert set(METRICS) <= set(measured("CD", "DC", tokens=[10, 30]).index)


@given(st.lists(st.tuples(st.sampled_from("CD-"), st.sampled_from("CD-")), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_no_metric_lies_beyond_its_limits(rounds):
    own, other = ("".join(each) for each in zip(*rounds, strict=True))
    row = measured(own, other)
    for name, (low, high) in limits(row.to_frame().T).items():
        value = row[name]
        assert pd.isna(value) or float(np.max(low)) - 1e-9 <= value <= float(np.max(high)) + 1e-9, name


def test_points_reach_their_limits():
    row = measured("DD", "CC")
    assert row.total_points == row.most == 12 and measured("-", "C").total_points == row.least == 0


# --- simulated matches


@pytest.mark.parametrize(("game", "value"), [(GAMES["rps_payoff"], 0), (STAG, 8 / 3)])
def test_equilibrium_play_earns_what_the_equilibrium_is_worth(game, value):
    weights = symmetric_equilibrium(game)
    drawn = chance_actions(weights, 20_000, game.rounds, np.random.default_rng(7))
    shares = np.bincount(drawn.ravel()) / drawn.size
    assert drawn.shape == (20_000, game.rounds, 2) and shares == pytest.approx(weights, abs=0.005)
    points = of_actions(drawn, game.name, game.variant, payoff_table(games_table([game]))).total_points
    assert abs(points.mean() - value * game.rounds) < 5 * points.std() / len(points) ** 0.5


def test_seats_and_rounds_are_drawn_independently():
    one, two = (chance_actions([0.5, 0.5], 9_000, 4, np.random.default_rng(3)) for _ in range(2))
    assert (one == two).all()
    assert np.abs(np.corrcoef(one.reshape(len(one), -1).T) - np.eye(8)).max() < 5 / len(one) ** 0.5


def test_players_that_always_do_the_same_use_no_dice():
    assert chance_actions([0, 1], 3, 2, None).tolist() == [[[1, 1]] * 2] * 3


def test_simulated_matches_are_measured_like_played_ones():
    own, other = "CDDC", "DDCC"
    drawn = np.array([[["CD".index(letter) for letter in pair] for pair in zip(own, other, strict=True)]])
    tables = payoff_table(games_table([PD])), equilibrium_table(games_table([PD]))
    row, played = of_actions(drawn, PD.name, PD.variant, *tables).iloc[0], measured(own, other)
    assert row.to_dict() == played[row.index].to_dict() and "distance_to_equilibrium" in row


def test_a_match_by_hand():
    row = measured("CCD-", "CDCD", tokens=[100, 200, 400, 300])
    assert (row.total_points, row.opponent_comprehension, row.cooperation_rate) == (11, 3, 0.5)
    assert (row.validity_rate, row.efficiency, row.efficiency_as_done) == (75, 11, 27.5)
    assert (row.agent, row.opponent, row["rounds"], row.tokens) == ("me", "you", 4, 1000)


def test_efficiency_is_absent_where_tokens_are():
    row = measured("CC", "CC")
    assert np.isnan([row.efficiency, row.efficiency_as_done, row.tokens]).all() and row.total_points == 8


def test_efficiency_is_absent_where_no_token_was_spent():
    assert np.isnan(measured("CC", "CC", tokens=[0, 0]).efficiency)


def test_a_match_without_a_valid_round_has_no_mix_and_no_regret():
    row = measured("--", "--", RPS)
    gone = ["regret", "exploitability", "distance_to_uniform", "distance_to_equilibrium"]
    assert row[gone].isna().all() and (row.total_points, row.validity_rate) == (0, 0)


def test_the_other_seat_is_measured_from_its_side():
    found = per_match(turns_of("CC", "DD"), payoff_table(games_table([PD])), seats=(0, 1))
    assert found.total_points.tolist() == [2, 12] and found.opponent.tolist() == ["you", "me"]


def test_without_equilibria_there_is_no_distance_to_them():
    assert "distance_to_equilibrium" not in per_match(turns_of("CC", "DD"), payoff_table(games_table([PD])))


@given(st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_the_order_of_turns_does_not_matter(chance):
    games = [PD, RPS]
    two = turns_of("CDC-", "DDCC", match="b"), turns_of("DDCC", "C-CD", match="a")
    turns = together(*two, turns_of("RPS", "SSS", RPS, "c"))
    order = chance.sample(range(len(turns)), len(turns))
    known = payoff_table(games_table(games)), equilibrium_table(games_table(games))
    pd.testing.assert_frame_equal(per_match(turns.iloc[order], *known), per_match(turns, *known))


def test_no_turns_have_no_metrics():
    assert len(per_match(turns_of("C", "C")[:0], payoff_table(games_table([PD])))) == 0


def test_a_game_without_payoffs_is_named():
    with pytest.raises(AgonError, match="no payoffs for pd, default"):
        per_match(turns_of("C", "C"), payoff_table(games_table([RPS])))


def test_a_gap_is_an_error():
    for gone in [[0], [7], [2, 3]]:
        with pytest.raises(AgonError, match="without gaps"):
            per_match(turns_of("CCCC", "CCCC").drop(index=gone), payoff_table(games_table([PD])))


def test_matches_of_a_game_have_equally_many_rounds():
    with pytest.raises(AgonError, match="equally many rounds"):
        per_match(
            together(turns_of("CC", "CC", match="a"), turns_of("C", "C", match="b")), payoff_table(games_table([PD]))
        )


def test_an_action_that_the_game_has_not_is_named():
    with pytest.raises(AgonError, match="stag"):
        per_match(turns_of("SH", "SH", GAMES["pd_label"]).assign(variant="default"), payoff_table(games_table([PD])))


# --- shares


def test_shares_are_of_valid_decisions():
    found = action_shares(turns_of("CCD-", "CDDC"), by=("agent",)).set_index(["agent", "action"])
    assert found.value["me"].to_dict() == pytest.approx({"cooperation": 2 / 3, "defection": 1 / 3})
    assert found.value["you"].to_dict() == pytest.approx({"cooperation": 1 / 3, "defection": 2 / 3})
    assert found.n.eq(3).all()


def test_a_legal_action_that_nobody_took_has_share_0():
    found = action_shares(turns_of("RRR", "PPP", RPS), by=("agent",)).set_index(["agent", "action"]).value
    assert found["me", "scissors"] == found["you", "rock"] == 0 and len(found) == 6


def test_a_group_without_a_valid_decision_has_no_row():
    turns = together(turns_of("CC", "CC", match="a"), turns_of("-C", "C-", match="b"))
    assert set(action_shares(turns, by=("match",)).match) == {"a"}


@pytest.mark.parametrize("turns", [turns_of("C", "C")[:0], turns_of("--", "--")], ids=["no turns", "all void"])
def test_turns_without_a_valid_decision_have_no_shares(turns):
    for shares in (action_shares, shares_over_rounds):
        found, usual = shares(turns), shares(turns_of("C", "C"))
        assert len(found) == 0 and found.dtypes.to_dict() == usual.dtypes.to_dict()


def test_shares_of_a_group_sum_to_1():
    turns = together(turns_of("CDDC", "CCCC"), turns_of("RPSS", "RR-S", RPS, "c"))
    assert action_shares(turns).groupby(["game", "agent"], observed=True).value.sum().tolist() == pytest.approx([1] * 4)


def test_players_without_a_model_have_shares_too():
    found = shares_over_rounds(turns_of("CD", "CC"))
    assert found.value.tolist() == [1, 0, 0.5, 0.5] and found.n.eq(2).all()


def test_shares_over_rounds_are_shares_round_by_round():
    found = shares_over_rounds(turns_of("CD", "CC", model="m")).set_index(["round", "action"]).value.to_dict()
    expected = {(1, "cooperation"): 1, (1, "defection"): 0, (2, "cooperation"): 0.5, (2, "defection"): 0.5}
    assert found == expected


# --- what a change of payoffs changes


def any_course(payoff_shift=0.0, scale=1.0):
    return lambda own, other: Course(
        own=own,
        other=other,
        paid=scale * matrix(STAG)[own, other] + payoff_shift,
        paid_other=scale * matrix(STAG)[other, own] + payoff_shift,
        payoff=scale * matrix(STAG) + payoff_shift,
    )


sequences = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=20).map(
    lambda pairs: [np.array([side], dtype=np.int8) for side in zip(*pairs, strict=True)]
)
SHIFTLESS = opponent_comprehension, opponent_comprehension_as_done, cooperation_rate, regret, exploitability, mix


@settings(deadline=None)
@given(sequences, st.integers(-20, 20))
def test_points_added_to_every_payoff_change_the_total_alone(sides, shift):
    before, after = any_course()(*sides), any_course(shift)(*sides)
    for metric in SHIFTLESS:
        assert metric(after) == pytest.approx(metric(before), abs=1e-9), metric.__name__
    assert total_points(after) - total_points(before) == shift * sides[0].shape[1]


@settings(deadline=None)
@given(sequences, st.integers(1, 9))
def test_regret_and_exploitability_grow_with_the_payoffs(sides, scale):
    before, after = any_course()(*sides), any_course(scale=scale)(*sides)
    for metric in (regret, exploitability, total_points):
        assert metric(after) == pytest.approx(scale * metric(before), abs=1e-8)


@given(sequences)
def test_exploitability_and_distances_are_in_their_ranges(sides):
    played = any_course()(*sides)
    assert exploitability(played) >= -1e-9 and 0 <= distance(played, np.array([[0.0, 1.0]])) <= 1


@given(sequences)
def test_comprehension_is_a_round_or_one_more_than_there_are(sides):
    assert 1 <= opponent_comprehension(any_course()(*sides)) <= sides[0].shape[1] + 1


# --- what was done in a player's stead


def standing_in(turns, rounds, seat=0):
    """The same turns, of which a seat's actions in some rounds were drawn at random for want of a readable answer."""
    rows = turns["round"].isin(rounds) & turns.seat.eq(seat)
    fallback = pd.Series("", index=turns.index).mask(rows, "random_legal: no move in it")
    return turns.assign(fallback=fallback.astype("category"), valid=turns.valid & ~turns["round"].isin(rounds))


def of_one(turns, game=PD):
    return per_match(turns, payoff_table(games_table([game])), equilibrium_table(games_table([game]))).iloc[0]


def test_a_match_of_random_actions_has_no_behaviour_and_says_so():
    found = of_one(standing_in(turns_of("CDCC", "CCDD"), [1, 2, 3, 4]))
    counted = {"total_points": 0, "efficiency": np.nan, "void": 4, "replaced": 4, "validity_rate": 0}
    for metric in METRICS:
        assert found[metric] == counted.get(metric, np.nan) or (
            np.isnan(found[metric]) and metric not in ("void", "replaced")
        )


@given(
    rounds=st.lists(st.tuples(st.sampled_from("CD-"), st.sampled_from("CD"), st.booleans()), min_size=1, max_size=12),
    seat=st.sampled_from([0, 1]),
)
@settings(max_examples=20)
def test_no_metric_depends_on_what_stood_in_for_an_answer(rounds, seat):
    """Whatever the dice gave in these rounds, and whatever was paid for it, every number is the same."""
    own, other, random = ("".join(each) if place < 2 else each for place, each in enumerate(zip(*rounds, strict=True)))
    places = [number for number, stood_in in enumerate(random, 1) if stood_in and (own, other)[seat][number - 1] != "-"]
    flipped = {"C": "D", "D": "C", "-": "-"}
    sides = [own, other]
    sides[seat] = "".join(flipped[each] if n in places else each for n, each in enumerate(sides[seat], 1))
    one, two = (of_one(standing_in(turns_of(*each), places, seat)) for each in ((own, other), sides))
    assert one.replaced == two.replaced == len(places)
    pd.testing.assert_series_equal(one, two)


def test_rounds_that_count_are_measured_as_if_the_others_were_not_there():
    whole = of_one(standing_in(turns_of("CDDCC", "CDCDC"), [2, 5], seat=1))
    rest = measured("CDC", "CCD")
    for metric in ("total_points", "regret"):
        assert whole[metric] == rest[metric]
    assert whole.cooperation_rate == 3 / 5  # these are the player's own all the same


def test_cooperation_of_readable_actions_leaves_void_ones_out():
    found = measured("C-D-", "CCCC")
    assert (found.cooperation_rate, found.cooperation_of_readable, found.void, found.replaced) == (1 / 4, 1 / 2, 2, 0)
