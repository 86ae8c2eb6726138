"""Who can be chosen for a table."""

from agon_hall.seating import agents_for


def test_who_can_weigh_a_game_is_offered():
    assert agents_for("pd").keys() >= {"zs_weighed", "zs_constrained", "cot_constrained"}


def test_who_cannot_weigh_the_actions_of_a_game_is_not_offered():
    offered = agents_for("undercover/01-undercover")
    assert "zs_weighed" not in offered and "zs_constrained" in offered
