"""What is true of the ten public problems of TradeCraft, computed, and certificates of small ones by hand."""

import pytest
from hypothesis import given, settings
from small_rulesets import fewest, hands, rulesets, targets

from agon import ROOT
from agon.games.tradecraft.amounts import covers
from agon.games.tradecraft.planner.parts import part
from agon.games.tradecraft.planner.search import Impossible, Plan, execute, plan
from agon.games.tradecraft.rulesets import ruleset
from agon.games.tradecraft.settings import Certificate, Problem, problem
from agon_problems.certificates import certify, holds, prices, surplus, within_operations

PUBLIC = ROOT / "data/problems/minecraft_public"
SHORTEST = {
    "00": [2, 2],
    "01": [3, 2],
    "02": [3, 2],
    "03": [3, 2],
    "04": [3, 2],
    "05": [11, 3],
    "06": [2, 2],
    "07": [1, 7],
    "08": [3, None],
    "09": [9, 5],
}
UNITS = {
    "00": [1, 2],
    "01": [2, 1],
    "02": [2, 1],
    "03": [1, 1],
    "04": [1, 1],
    "05": [5, 9],
    "06": [1, 1],
    "07": [0, 1],
    "08": [0, None],
    "09": [3, 2],
}
WRONG = {
    "07": ["seat 0 can craft its target observer alone"],
    "08": [
        "seat 0 can craft its target shield alone",
        "nobody can craft arrow, the target of seat 1: arrow cannot be made from any amount of these items",
    ],
}
TRADES = {"00": (2, True), "05": (1, True), "08": (None, False), "09": (1, True)}
"""How many trades, and whether with crafts before the last; the others: one, and none."""
MINECRAFT = ruleset("minecraft")


@pytest.fixture(scope="module")
def found():
    """The public problems, certified now."""
    return {name: certify(MINECRAFT, problem(PUBLIC / f"{name}.json")) for name in SHORTEST}


def test_a_public_problem_is_what_its_file_says(found):
    assert found == {name: problem(PUBLIC / f"{name}.json").certificate for name in SHORTEST}
    assert {name: certificate.wrong for name, certificate in found.items() if certificate.wrong} == WRONG


def test_chains_units_and_trades_of_the_public_problems(found):
    assert {name: [goal.operations for goal in certificate.goals] for name, certificate in found.items()} == SHORTEST
    assert {name: [goal.units for goal in certificate.goals] for name, certificate in found.items()} == UNITS
    assert all(goal.proved for certificate in found.values() for goal in certificate.goals)
    for name, certificate in found.items():
        together = certificate.together
        trades, between = TRADES.get(name, (1, False))
        assert (together.trades and len(together.trades), together.crafts_between) == (trades, between), name


def test_every_target_of_the_public_problems_has_a_plan_or_a_proof(found):
    for name, certificate in found.items():
        public = problem(PUBLIC / f"{name}.json")
        pool = {item: sum(hand.get(item, 0) for hand in public.hands) for hand in public.hands for item in hand}
        for goal, target in zip(certificate.goals, public.targets, strict=True):
            if goal.craftable == "craftable":
                shared = plan(MINECRAFT, pool, target)
                assert covers(execute(MINECRAFT, pool, shared.steps), target)
                assert [craft.recipe for craft in goal.plan] == [step.recipe for step in shared.steps]
            else:
                assert not MINECRAFT.reachable(pool) & target.keys()


def certified(hands, targets):
    return certify(MINECRAFT, Problem("minecraft", hands, targets))


def test_a_target_held_from_the_start_is_wrong():
    known = certified([{"torch": 1, "apple": 1}, {"oak_planks": 2}], [{"torch": 1}, {"lever": 1}])
    assert known.wrong[0] == "seat 0 holds its target torch from the start"
    assert "nobody can craft lever, the target of seat 1" in known.wrong[1]


def test_targets_that_exclude_each_other_are_wrong():
    known = certified([{"stick": 1}, {"coal": 1, "cobblestone": 1, "apple": 2}], [{"torch": 4}, {"lever": 1}])
    assert known.wrong == ["not all targets can be reached in one game: not craftable"]
    assert [goal.craftable for goal in known.goals] == ["craftable"] * 2


def test_a_problem_without_distraction_is_wrong():
    known = certified([{"stick": 1, "cobblestone": 1}, {"coal": 1, "stick": 1}], [{"torch": 4}, {"lever": 1}])
    assert isinstance(known, Certificate) and "nothing distracts" in known.wrong[-1]


def test_surplus_is_what_none_of_several_shortest_chains_uses():
    hand = {"oak_planks": 1, "birch_planks": 2, "coal": 1, "apple": 1, "stick": 1}
    assert surplus(MINECRAFT, hand, [{"torch": 1}]) == ["apple", "birch_planks", "oak_planks"]
    assert surplus(MINECRAFT, hand, [{"stick": 2}]) == ["apple", "coal", "stick"]


@given(rulesets(), hands, targets)
@settings(max_examples=60, deadline=None)
def test_prices_prove_what_they_say(rules, hand, target):
    named = prices(rules, hand, target)
    if named is not None:
        assert holds(part(rules, hand, target, unlimited=True), hand, target, named)
        assert fewest(rules, hand, target) is None and isinstance(plan(rules, hand, target), Impossible)


@given(rulesets(), hands, targets)
@settings(max_examples=80, deadline=None)
def test_what_cannot_be_in_a_shortest_plan_is_left_out_rightly(rules, hand, target):
    found = plan(rules, hand, target)
    if isinstance(found, Plan):
        kept = within_operations(part(rules, hand, target), hand, target, found.operations)
        assert {step.recipe for step in found.steps} <= {way.recipe.id for way in kept.ways}
