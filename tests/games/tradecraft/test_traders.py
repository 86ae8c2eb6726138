"""Scripted traders: what they propose, take and craft, by persona; nothing that they call is refused, in any ruleset."""

from functools import partial
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agon.agents.scripts import anything
from agon.conf import load
from agon.games.tradecraft import Recipe, Ruleset, TradeCraft, table_view
from agon.games.tradecraft.amounts import exchange_items, hand_to_json
from agon.games.tradecraft.planner.search import Plan, plan
from agon.games.tradecraft.planner.trading import Needs, needs
from agon.games.tradecraft.scripts import trader

PERSONAS = ["unprimed", "cooperative", "competitive"]
PLAIN = Ruleset(
    "plain",
    ("wood", "stone", "wool", "axe", "bed", "sand"),
    (
        Recipe("axe", "table", (("stone", 2), ("wood", 1)), "axe", 1),
        Recipe("bed", "table", (("wood", 2), ("wool", 1)), "bed", 1),
    ),
)


def game(first=None, second=None, **settings):
    hands = [first or {"wood": 4, "sand": 3}, second or {"stone": 2, "wool": 1, "sand": 1}]
    return TradeCraft("tradecraft", "test", PLAIN, hands, [{"axe": 1}, {"bed": 1}], **settings)


def calls(asked, *players, turns=9):
    """What is called, step by step, and the state at the end."""
    state, found = asked.start(None), []
    while (seats := asked.to_move(state)) and state.turn <= turns:
        acted = {seat: players[seat](asked.observe(state, seat), None) for seat in seats}
        state, _ = asked.step(state, acted)
        assert not [note for note in state.notes if note[1] == "fault"], acted
        found.append(acted)
    return found, state


def scripts(*personas):
    return [partial(trader, persona=persona) for persona in personas]


def first_proposal(persona):
    return calls(game(), *scripts(persona, "unprimed"), turns=1)[0][0][0]


def test_all_ask_for_the_fewest_units_that_they_need():
    for persona in PERSONAS:
        assert first_proposal(persona)["request"] == {"stone": 2} and first_proposal(persona)["partner"] == "Player 2"


def test_offers_differ_by_persona():
    assert {persona: sum(first_proposal(persona)["offer"].values()) for persona in PERSONAS} == {
        "unprimed": 2, "cooperative": 2, "competitive": 1,
    }  # fmt: skip


def test_only_the_cooperative_one_says_what_it_is_after():
    assert {persona: "axe" in first_proposal(persona)["message"] for persona in PERSONAS} == {
        "unprimed": False, "cooperative": True, "competitive": False,
    }  # fmt: skip


def test_what_it_needs_itself_is_never_offered():
    offered = calls(game({"wood": 1, "sand": 1}), *scripts("cooperative", "competitive"), turns=5)[0]
    assert all("wood" not in call.get("offer", {}) for acted in offered for seat, call in acted.items() if seat == 0)


def test_after_a_rejection_one_unit_more_is_offered():
    def stubborn(view, dice):
        tool = {"decide": "decide", "craft": "craft_done", "propose": "submit_proposal"}[view.phase]
        return {"tool": tool, "decision": "reject", "partner": "Player 1", "offer": {}, "request": {}}

    made, _ = calls(game({"wood": 4, "sand": 9}), *scripts("unprimed"), stubborn, turns=5)
    proposals = [acted[0] for acted in made if acted.get(0, {}).get("tool") == "submit_proposal"]
    assert [sum(each["offer"].values()) for each in proposals] == [2, 3, 4]


@pytest.mark.parametrize(
    ("offer", "asked", "taken"),
    [
        ({"wood": 2}, {}, PERSONAS),  # a gift that it needs
        ({"wood": 2}, {"sand": 1}, PERSONAS),
        ({"wood": 2}, {"stone": 2, "sand": 1}, PERSONAS),  # it wins by it
        ({"wood": 1}, {"stone": 2}, ["unprimed", "cooperative"]),  # nearer, for more than it gets
        ({"sand": 1}, {"stone": 1}, ["unprimed", "cooperative"]),  # no nearer, unit for unit
        ({}, {"stone": 1}, ["cooperative"]),  # a gift that it can spare
        ({"sand": 3}, {"wool": 1}, []),  # its target would be out of reach
    ],
)
def test_who_takes_what(offer, asked, taken):
    def asking(view, dice):
        call = {"tool": "submit_proposal", "partner": "Player 2", "offer": offer, "request": asked}
        return call if view.phase == "propose" else {"tool": "craft_done"}

    def decision(persona):
        return calls(game(), asking, *scripts(persona), turns=1)[0][1][1]["decision"]

    assert [persona for persona in PERSONAS if decision(persona) == "accept"] == taken


def test_what_can_be_crafted_is_crafted_and_wins():
    found, state = calls(game({"wood": 1, "stone": 2}), *scripts("unprimed", "unprimed"))
    assert state.winners == (0,) and {
        "tool": "craft_apply",
        "inputs": {"stone": 2, "wood": 1},
        "outputs": {"axe": 1},
    } in [acted.get(0) for acted in found]


@given(st.sampled_from(PERSONAS), st.integers(0, 5), st.integers(0, 5), st.integers(0, 3))
def test_nothing_it_calls_is_refused_whatever_the_other_does(persona, wood, stone, seed):
    dice = Random(seed)
    asked = game(
        {"sand": 1, **({"wood": wood} if wood else {})}, {"wool": 1, **({"stone": stone} if stone else {})}, turns=4
    )
    _, state = calls(asked, *scripts(persona), lambda view, _: anything(view, dice))
    assert state.over


def planned(view, persona):
    """What it decides or crafts if everything is planned anew."""
    table, rules = table_view(view), view.rules
    if view.phase == "craft":
        found = plan(rules.ruleset, table.hand, table.target)
        if not isinstance(found, Plan) or not found.steps:
            return {"tool": "craft_done"}
        step = found.steps[0]
        return {"tool": "craft_apply", "inputs": hand_to_json(step.inputs), "outputs": hand_to_json(step.outputs)}
    hands = [table.hand if seat == view.seat else table.hands[player] for seat, player in enumerate(rules.players)]
    offer, request = table.proposal["offer"], table.proposal["request"]
    giver, missing = rules.players.index(table.proposal["proposer"]), []
    for _ in ("before", "after"):
        found = needs(rules.ruleset, hands, view.seat, table.target)
        missing.append(found.units if isinstance(found, Needs) else float("inf"))
        if len(missing) == 1:
            hands[giver], hands[view.seat] = exchange_items(hands[giver], hands[view.seat], offer, request)
    (before, after), got, given = missing, sum(offer.values()), sum(request.values())
    takes = {
        "cooperative": after <= before,
        "competitive": after < before and (after == 0 or given <= got),
        "unprimed": after < before or (after == before and got > 0 and got >= given),
    }[persona]
    return {"tool": "decide", "decision": "accept" if takes else "reject", "message": ""}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "tradecraft/minecraft-26",
            "tradecraft/minecraft-27",
            "tradecraft/minecraft-38",
        ),  # wrong short cuts are seen in these
        *("tradecraft_alchemy/alchemy-02", "tradecraft_invented/invented-10", "tradecraft3/minecraft3-13"),
    ],
)
def test_short_cuts_decide_as_planning_anew_does(name):
    asked, tools = load("game", name), set()

    def checked(persona, dice, view, _):
        if view.phase == "propose" and dice.random() < 0.3:
            return anything(view, dice)
        call = trader(view, None, persona=persona)
        if view.phase != "propose":
            assert call == planned(view, persona)
            tools.add(call["tool"])
        return call

    for personas in product(PERSONAS, repeat=2):
        dice = Random(name + "".join(personas))
        calls(asked, *[partial(checked, each, dice) for each in (*personas, "unprimed")[: asked.seats]])
    assert tools == {"decide", "craft_apply", "craft_done"}


def test_an_unknown_persona_is_refused():
    with pytest.raises(ValueError, match="persona is 'kind'; it must be unprimed, cooperative, competitive"):
        calls(game(), *scripts("kind", "unprimed"))


def test_another_game_is_refused_in_one_line():
    pd = load("game", "pd")
    with pytest.raises(ValueError, match="traders play TradeCraft, no other game"):
        trader(pd.observe(pd.start(Random(0)), 0), Random(0))
