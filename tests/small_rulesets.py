"""Rulesets of TradeCraft so small that everything can be tried."""

from fractions import Fraction
from itertools import combinations_with_replacement

from hypothesis import strategies as st

from agon.games.tradecraft.amounts import covers
from agon.games.tradecraft.recipes import Recipe, Ruleset

ITEMS = "abcdef"
DEPTH = 5
hands = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 4), min_size=1, max_size=3)
targets = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 2), min_size=1, max_size=2)


@st.composite
def rulesets(draw):
    """Small rulesets: cycles, tags, fuel, and recipes that give more than they take."""
    tags = {"t": tuple(draw(st.sets(st.sampled_from(ITEMS), min_size=1, max_size=3)))}
    need = st.tuples(st.sampled_from([*ITEMS, "#t"]), st.integers(1, 3))
    recipe = st.tuples(
        st.lists(need, min_size=1, max_size=2, unique_by=lambda need: need[0]),
        st.sampled_from(ITEMS),
        st.integers(1, 3),
        st.booleans(),
    )
    recipes = draw(st.lists(recipe, min_size=1, max_size=6))
    fuel = draw(
        st.dictionaries(
            st.sampled_from(ITEMS), st.sampled_from([Fraction(1, 2), Fraction(2, 3), Fraction(3)]), max_size=3
        )
    )
    made = [Recipe(str(i), "", tuple(needs), makes, n, hot) for i, (needs, makes, n, hot) in enumerate(recipes)]
    return Ruleset("small", tuple(ITEMS), tuple(made), tags, fuel)


def fewest(rules, hand, target):
    """Operations to the target, by trying everything up to DEPTH; None if there is none so short."""
    now, seen = {(tuple(sorted(hand.items())), Fraction(0))}, set()
    for depth in range(DEPTH + 1):
        now = with_lit(rules, now) - seen
        seen |= now
        if any(covers(dict(stock), target) for stock, _ in now):
            return depth
        now = {after for state in now for after in nexts(rules, *state)}
    return None


def with_lit(rules, states):
    """All states after lighting any fuel, as long as less than a smelt burns."""
    found, new = set(states), list(states)
    while new:
        stock, smelts = new.pop()
        for item, _ in stock if smelts < 1 else ():
            if item in rules.fuel:
                state = taken(stock, [item]), smelts + rules.fuel[item]
                if state not in found:
                    found.add(state)
                    new.append(state)
    return found


def taken(stock, items):
    """A stock without some items; None if they are not there."""
    left = dict(stock)
    for item in items:
        left[item] = left.get(item, 0) - 1
        if left[item] < 0:
            return None
    return tuple(sorted((item, n) for item, n in left.items() if n))


def nexts(rules, stock, smelts):
    for recipe in rules.recipes:
        stocks = {stock} if smelts >= recipe.fuelled else set()
        for need, count in recipe.needs:
            mixes = list(combinations_with_replacement(rules.members(need), count))
            stocks = {left for each in stocks for mix in mixes if (left := taken(each, mix)) is not None}
        for left in stocks:
            made = dict(left)
            made[recipe.makes] = made.get(recipe.makes, 0) + recipe.number
            yield tuple(sorted(made.items())), smelts - recipe.fuelled


def crafting_depths(rules):
    """How many rounds of crafting each item takes."""
    known = dict.fromkeys(rules.raw(), 0)
    for turn in range(1, len(rules.items)):
        before, fires = len(known), not known.keys().isdisjoint(rules.fuel)
        for recipe in rules.recipes:
            if (fires or not recipe.fuelled) and all(
                any(known.get(item, turn) < turn for item in rules.members(need)) for need, _ in recipe.needs
            ):
                known.setdefault(recipe.makes, turn)
        if len(known) == before:
            break
    return known


def rules_of(*recipes, **fuel):
    """A ruleset from lines such as "a 2 b > 3 c", with ! for fire."""
    made = []
    for number, line in enumerate(recipes):
        takes, gives = (side.split() for side in line.rstrip("!").split(">"))
        needs = tuple((takes[i + 1], int(takes[i])) for i in range(0, len(takes), 2))
        made.append(Recipe(str(number), "", needs, gives[1], int(gives[0]), line.endswith("!")))
    return Ruleset("small", tuple(ITEMS), tuple(made), {}, {item: Fraction(worth) for item, worth in fuel.items()})


def making_what_they_take(rules):
    """The recipes with which solutions without an order have no end."""
    return [each for each in rules.recipes if any(each.makes in rules.members(need) for need, _ in each.needs)]
