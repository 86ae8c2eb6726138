"""Plans are executed; what cannot be crafted is compared with trying everything."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_rulesets import DEPTH, ITEMS, fewest, hands, making_what_they_take, rules_of, rulesets, targets

from agon.games.tradecraft.amounts import covers
from agon.games.tradecraft.planner.search import Impossible, Plan, Undecided, execute, plan
from agon.games.tradecraft.planner.trading import Needs, needs, union
from agon.games.tradecraft.recipes import Recipe, Ruleset
from agon.games.tradecraft.rulesets import ruleset

MOST = 3
"""Units: more are not tried, but for all that a seat has."""


FEEDING_ITSELF = Ruleset("small", tuple(ITEMS), (Recipe("0", "", (("#t", 2),), "c", 2),), {"t": ("a", "b", "c")})
"""However often its recipe is used, what it takes could be what it makes."""
GROWING = rules_of("1 a > 2 a", "1 b > 1 a!", "1 b > 2 b", "1 c > 1 b", c="1/2")
"""Of one c there is fire or b, which grows for ever: that a is never made is not decided."""


@given(rulesets(), hands, targets)
@settings(max_examples=150, deadline=None)
@example(rules_of("1 a > 2 b", "1 b > 1 a", "3 c > 1 a"), {"c": 3}, {"b": 3})  # from nothing, once there is one
@example(rules_of("1 a > 2 b", "1 b > 1 a", "3 c > 1 a"), {"c": 2}, {"b": 1})
@example(rules_of("1 a > 1 b!", "3 b > 1 c", b="0", c="4"), {"a": 3, "c": 1}, {"c": 1})
@example(FEEDING_ITSELF, {"a": 2}, {"c": 1, "a": 1})
@example(GROWING, {"c": 1}, {"a": 1})
def test_plans_are_the_shortest_and_proofs_are_right(rules, hand, target):
    found, tried = plan(rules, hand, target), fewest(rules, hand, target)
    if isinstance(found, Plan):
        assert covers(execute(rules, hand, found.steps), target)
        assert found.shortest
        assert tried == (found.operations if found.operations <= DEPTH else None)
    else:
        assert tried is None
        assert isinstance(found, Impossible) or found.at_least > DEPTH


def test_nothing_is_proved_of_more_crafts_than_can_be_counted():
    rules = Ruleset(
        "large",
        ("x", "y", "z", "w"),
        (
            Recipe("y", "hand", (("x", 1),), "y", 1000),
            Recipe("z", "hand", (("y", 1),), "z", 1),
            Recipe("w", "hand", (("z", 1000),), "w", 1),
        ),
    )
    verdicts = [plan(rules, {"x": held}, {"w": 200}).verdict for held in (199, 10_000)]
    assert verdicts == ["not craftable", "not decided"] and plan(rules, {"x": 10}, {"w": 10}).verdict == "craftable"


def test_fire_that_only_its_own_product_could_feed_does_not_start():
    rules = rules_of("1 a > 1 b!", "3 b > 1 c", c="4", d="1/2")
    found = plan(rules, {"a": 30, "d": 2}, {"c": 1})
    assert (found.verdict, found.why) == ("not craftable", "order")
    assert plan(rules, {"a": 30, "d": 6}, {"c": 1}).operations == 4


def test_what_makes_something_from_nothing_needs_a_first_piece():
    rules = rules_of("1 a > 2 b", "1 b > 1 a", "5 c > 1 a")
    assert (found := plan(rules, {"c": 4}, {"b": 9})).verdict == "not craftable" and found.why == "order"
    assert plan(rules, {"c": 5}, {"b": 4}).operations == 6


def test_fuel_is_burned_in_exact_fractions_and_mixed():
    rules = ruleset("minecraft")
    found = plan(rules, {"iron_ore": 3, "oak_planks": 1, "bamboo": 6}, {"iron_ingot": 3})
    burned = {item: amount for item, amount in found.steps[0].inputs.items() if item != "iron_ore"}
    assert sum(amount * rules.fuel[item] for item, amount in burned.items()) == 3
    assert plan(rules, {"iron_ore": 3, "oak_planks": 1, "bamboo": 5}, {"iron_ingot": 3}).verdict == "not craftable"


def test_a_hand_of_fractions_can_still_burn_them():
    hand = {"iron_ore": 1, "oak_planks": Fraction(1, 3), "stick": Fraction(1)}
    assert plan(ruleset("minecraft"), hand, {"iron_ingot": 1}).operations == 1
    assert plan(ruleset("minecraft"), hand, {"iron_ingot": 2}).verdict == "not craftable"


@pytest.mark.parametrize("hand", [{}, {"no such item": 3}])
def test_a_hand_of_nothing_useful_makes_nothing(hand):
    assert plan(ruleset("minecraft"), hand, {"torch": 1}).why == "unreachable"
    assert plan(ruleset("minecraft"), hand, {"no such item": 4}).verdict == "not craftable"
    assert plan(ruleset("minecraft"), hand, {}).operations == 0


def test_the_order_of_recipes_in_the_file_does_not_matter():
    rules = ruleset("minecraft")
    turned = Ruleset("turned", rules.items[::-1], rules.recipes[::-1], rules.tags, rules.fuel)
    hand = {
        "oak_planks": 4,
        "cherry_planks": 4,
        "birch_log": 1,
        "iron_ore": 4,
        "raw_iron": 4,
        "coal": 1,
        "cobblestone": 5,
    }
    for target in ("piston", "stone_pickaxe", "iron_pickaxe", "hopper", "chain", "chest"):
        one, other = plan(rules, hand, {target: 1}), plan(turned, hand, {target: 1})
        assert one.verdict == other.verdict
        if isinstance(one, Plan):
            assert one.uses == other.uses and done(one) == done(other)


def done(found):
    return sorted((*step.outputs.items(), step.times) for step in found.steps)


@given(rulesets(), st.tuples(hands, hands, hands), targets)
@settings(max_examples=40, deadline=None)
def test_no_fewer_trades_and_units_do(rules, held, target):
    found = needs(rules, held, 0, target)
    craftable = {gifts for gifts in all_gifts(held) if isinstance(plan(rules, after(held, gifts), target), Plan)}
    if isinstance(found, Undecided):  # it may give up there, but says nothing wrong
        assert making_what_they_take(rules)
        plans = [plan(rules, after(held, gifts), target) for gifts in craftable]
        assert all(found.at_least <= each.operations for each in plans)
        return
    assert (found.verdict == "craftable") == bool(craftable)
    if isinstance(found, Needs):
        assert found.trades == min(len({giver for giver, _, _ in gifts}) for gifts in craftable)
        same = [gifts for gifts in craftable if len({giver for giver, _, _ in gifts}) == found.trades]
        for units, tried in ((found.units, same), (found.units_at_least, craftable)):
            least = min(sum(count for _, _, count in gifts) for gifts in tried)
            assert units == least or MOST < units <= least
        given_hand = union([held[0], *found.gives.values()])
        assert covers(execute(rules, given_hand, found.plan.steps), target)


def all_gifts(held):
    """All that the others could give, up to some units; and all they have."""
    pieces = [(giver, item) for giver in (1, 2) for item, count in held[giver].items() for _ in range(count)]
    chosen = {tuple(sorted(some)) for n in range(MOST + 1) for some in combinations(pieces, n)}
    chosen |= {tuple(sorted(piece for piece in pieces if piece[0] in group)) for group in ((1,), (2,), (1, 2))}
    return {tuple((*piece, some.count(piece)) for piece in sorted(set(some))) for some in chosen}


def after(held, gifts):
    return union([held[0], *({item: count} for _, item, count in gifts)])
