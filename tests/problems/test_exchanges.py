"""Exchanges of small rulesets, compared with trying every division of all hands."""

from dataclasses import replace
from itertools import product

from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_rulesets import hands, making_what_they_take, rules_of, rulesets, targets

from agon.games.tradecraft.amounts import covers, plus
from agon.games.tradecraft.planner.search import Plan, Undecided, plan
from agon.games.tradecraft.planner.trading import union
from agon_problems.exchanges import Exchange, exchange, perform

CIRCLING = replace(
    rules_of(
        "2 #t > 3 e!", "2 #t > 3 a!", "1 a > 2 f", "2 a 3 b > 3 d", "2 #t > 3 c", "2 a > 1 a", c="2/3", d="3", e="2/3"
    ),
    tags={"t": ("b", "a")},
)
"""One trade is enough, and whether none is would not be decided."""


@given(rulesets(), st.tuples(hands, hands), targets, targets)
@settings(max_examples=60, deadline=None)
@example(CIRCLING, ({"b": 4}, {"a": 2, "b": 2, "c": 1}), {"d": 1, "c": 1}, {"b": 1})
def test_an_exchange_ends_with_every_target_in_hand(rules, held, first, second):
    found = exchange(rules, held, (first, second))
    if isinstance(found, Exchange):
        hands_after = perform(rules, held, found)
        assert all(covers(hand, target) for hand, target in zip(hands_after, (first, second), strict=True))
    if found.verdict == "not craftable":
        assert not isinstance(plan(rules, union(held), plus(first, second)), Plan)
    if isinstance(found, Undecided) and making_what_they_take(rules):
        return
    direct = isinstance(found, Exchange) and not any(any(crafts) for crafts in found.crafts[:-1])
    assert direct == any(
        isinstance(plan(rules, one, first), Plan) and isinstance(plan(rules, other, second), Plan)
        for one, other in divisions(union(held))
    )


def divisions(pool):
    """All ways to divide a hand in two."""
    for counts in product(*(range(count + 1) for count in pool.values())):
        yield (
            {item: count for item, count in zip(pool, counts, strict=True) if count},
            {item: pool[item] - count for item, count in zip(pool, counts, strict=True) if pool[item] > count},
        )
