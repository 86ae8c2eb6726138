"""Who can be chosen for a table."""

from agon_hall.seating import agents_for


def test_agents_that_weigh_all_actions_are_offered_only_where_they_can():
    assert agents_for("pd").keys() >= {"zs_weighed", "zs_constrained", "cot_constrained"}
    agents = agents_for("undercover/01-undercover")
    assert "zs_weighed" not in agents and "zs_constrained" in agents
