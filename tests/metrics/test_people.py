"""People against whom they met."""

import pandas as pd

from agon.metrics import head_to_head
from agon.plan import plan
from agon.play import play_now, turns_table


def played(*entrants, matches=3):
    """Matches of the prisoner's dilemma, as turns."""
    pairing = {"games": ["pd"], "seats": [[each] for each in entrants]}
    done = plan({"name": "people", "repetitions": matches, "pairings": [pairing]})
    return turns_table([(match, play_now(match)) for match in done])


def as_people(turns, agent):
    """As if people had sat in the place of an agent."""
    return turns.assign(agent=turns.agent.cat.rename_categories({agent: "human"}))


def test_a_row_per_kind_of_opponent_has_points_per_round():
    turns = as_people(played("always_unkind", "always_kind"), "always_unkind")
    (row,) = head_to_head(turns).itertuples()
    assert (row.game, row.variant, row.opponent, row.matches) == ("pd", "default", "always_kind", 3)
    assert (row.points, row.theirs, row.ahead, row.won) == (6, 1, 5, 1)
    assert pd.isna(row.low) and pd.isna(row.high)  # all three are alike


def test_a_single_match_has_no_interval_and_strangers_no_row():
    turns = as_people(played("tit_for_tat", "always_kind", matches=1), "tit_for_tat")
    (row,) = head_to_head(turns).itertuples()
    assert row.ahead == 0 and pd.isna(row.low) and pd.isna(row.high)
    assert head_to_head(turns, "grim").empty


def test_people_who_meet_each_other_are_compared_both_ways():
    turns = as_people(played("uniform", "uniform"), "uniform")
    (row,) = head_to_head(turns).itertuples()
    assert row.opponent == "human" and row.matches == 3 and abs(row.ahead) < 1e-9


def test_the_seat_does_not_matter():
    first, second = (head_to_head(played(*pair), "grim") for pair in (("grim", "alternator"), ("alternator", "grim")))
    pd.testing.assert_frame_equal(first, second)


def test_matches_with_replaced_answers_are_left_out_and_counted():
    turns = as_people(played("tit_for_tat", "uniform"), "tit_for_tat")
    first = turns.match.eq(turns.match.iloc[0]) & turns.turn.eq(1) & turns.seat.eq(1)
    fallback = pd.Series("", index=turns.index).mask(first, "random_legal: no move in it").astype("category")
    (row,) = head_to_head(turns.assign(fallback=fallback)).itertuples()
    assert (row.matches, row.left_out) == (2, 1)
