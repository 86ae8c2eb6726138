"""Crafts: what is accepted is what a slow search accepts, amounts are read or refused, nothing is lost."""

import itertools
import pickle
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agon.games.tradecraft import Recipe, Ruleset
from agon.games.tradecraft.amounts import amount_of, floor_hand, hand_of, hand_to_json, minus, plus
from agon.games.tradecraft.recipes import Craft, Refusal

ITEMS = "abcdef"
TORCHES = Ruleset(
    "torches",
    ("stick", "coal", "charcoal", "log", "torch", "ore", "iron", "mud", "peat", "glow"),
    (
        Recipe("torch", "shaped", (("stick", 1), ("#coals", 1)), "torch", 4),
        Recipe("charcoal", "smelting", (("log", 1),), "charcoal", 1, True),
        Recipe("iron", "smelting", (("ore", 1),), "iron", 1, True),
        Recipe("peat", "drying", (("mud", 1),), "peat", 1),
        Recipe("glow", "smelting", (("#dry", 1),), "glow", 1, True),
    ),
    {"coals": ("charcoal", "coal"), "dry": ("peat", "stick")},
    {"peat": Fraction(1), "coal": Fraction(8), "charcoal": Fraction(8), "log": Fraction(3, 2), "stick": Fraction(1, 2)},
)

# --- amounts

READ = [
    (3, 3),
    ("3", 3),
    (" 3 ", 3),
    ("007", 7),
    (10_000, 10_000),
    ("1/8", Fraction(1, 8)),
    ("8 / 8", 1),
    (0.125, Fraction(1, 8)),
    (2.0, 2),
    ("0.6666666666666666", Fraction(2, 3)),
    (2 / 3, Fraction(2, 3)),
    ("0.335", Fraction(67, 200)),
    ("0.123456789", Fraction(123456789, 10**9)),
]
REFUSED = [
    *(0, -1, 10_001, 10**13, 10**5000, "0", "-1", "10001", "9" * 5000, "0/5", "1/0", "1/000", "10001/1", "1/1/1"),
    *(0.0, -0.0, -0.5, 1e-12, 1e16, float("nan"), float("inf"), -float("inf"), "nan", "inf", "1e999", "1e3", "0.0"),
    *(True, False, None, [], [1], {}, b"3", Fraction(1, 8), 1j, ""),
    *(
        "three",
        "+3",
        ".5",
        "3.",
        "1_000",
        "1,5",
        "0x10",
        "٣",
        "\uff13",
        "½",
        "1 2",
        "3\n",
        "1/8\t",
        "3\0",
        "x" * 100_000,
    ),
    *("9" * 100_000, "1/" + "9" * 100_000, " " * 100_000 + "3", "0.00000000000000000000001"),
]


def test_amounts_are_read():
    amounts = [(value, amount_of(value)) for value, _ in READ]
    assert amounts == list(READ)
    assert [type(amount) for _, amount in amounts] == [type(amount) for _, amount in READ]


def test_all_else_is_no_amount_and_said_so_in_a_short_line():
    strays = []
    for value in REFUSED:
        try:
            strays.append((type(value), amount_of(value)))
        except ValueError as error:
            if "is no amount" not in str(error) or len(str(error)) >= 150 or "\n" in str(error):
                strays.append((type(value), str(error)[:200]))
    assert not strays and REFUSED


@given(st.one_of(st.text(), st.floats(), st.integers(), st.from_regex(r"[0-9./ e-]{1,20}"), st.binary()))
def test_whatever_is_written_is_an_amount_in_bounds_or_refused(value):
    try:
        amount = amount_of(value)
    except ValueError:
        return
    assert 0 < amount <= 10_000 and (type(amount) is int) == (amount.denominator == 1)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=1000))
def test_a_fraction_survives_being_written_in_either_way(amount):
    assert amount_of(str(amount)) == amount == amount_of(float(amount))


def test_what_is_no_hand_is_refused_in_a_short_line():
    for value in [None, 3, "stick", ["stick"], {"stick": 0}, {3: 3}, {"": 1}, {"x" * 100_000: -1}]:
        with pytest.raises(ValueError) as caught:
            hand_of(value)
        assert len(str(caught.value)) < 200 and "\n" not in str(caught.value)


def test_a_hand_survives_being_written():
    hand = {"stick": 2, "coal": Fraction(7, 8)}
    assert hand_to_json(hand) == {"coal": "7/8", "stick": 2} and hand_of(hand_to_json(hand)) == hand
    assert floor_hand(plus(hand, {"coal": Fraction(1, 4)})) == {"stick": 2, "coal": 1}


# --- one ruleset by hand

ACCEPTED = [
    ({"stick": 2, "coal": 1, "charcoal": 1}, {"torch": 8}),
    ({"log": 1, "coal": Fraction(1, 8)}, {"charcoal": 1}),
    ({"log": Fraction(5, 3)}, {"charcoal": 1}),
    ({"log": Fraction(8, 3), "stick": 2}, {"charcoal": 2}),
    ({"log": 3, "charcoal": Fraction(1, 8), "stick": 4}, {"charcoal": 3}),
    ({"ore": 1, "coal": Fraction(1, 24), "charcoal": Fraction(1, 12)}, {"iron": 1}),
    ({"peat": 3, "stick": 2}, {"glow": 2}),
]
WRONG = [
    ({"stick": 2, "coal": 1}, {"torch": 4}, "wrong amounts", "4 torch takes exactly 1 stick + 1 any of coals"),
    ({"stick": 1, "coal": 1}, {"torch": 3}, "wrong amounts", "one operation makes 4 torch"),
    ({"stick": 1, "coal": Fraction(1, 2), "charcoal": Fraction(1, 2)}, {"torch": 4}, "wrong amounts", "exactly"),
    ({"stick": 1, "coal": Fraction(3, 2)}, {"torch": 4}, "wrong amounts", "exactly"),
    ({"ore": 1, "coal": Fraction(9, 64)}, {"iron": 1}, "wrong amounts", "exactly"),
    ({"ore": Fraction(3, 2), "coal": Fraction(1, 8)}, {"iron": 1}, "wrong amounts", "exactly"),
    ({"coal": Fraction(1, 8)}, {"charcoal": 1}, "no such recipe", "charcoal is made of 1 log"),
    ({"log": 1, "coal": 1}, {"charcoal": 1}, "wrong amounts", "1 charcoal takes exactly 1 log + fuel for 1 smelt"),
    ({"log": 1}, {"charcoal": 1}, "wrong amounts", "fuel for 1 smelt"),
    ({"log": 1, "torch": 1}, {"charcoal": 1}, "no such recipe", "charcoal is made of 1 log"),
    ({}, {"torch": 4}, "no such recipe", "torch is made of"),
    ({"stick": 1}, {"stick": 1}, "no such recipe", "nothing makes stick"),
    ({"stick": 1}, {"x" * 100_000: 1}, "no such recipe", "there is no item 'xxx"),
    ({"stick": 1}, {}, "no such recipe", "one kind of item, not 0"),
    ({"stick": 1}, {"torch": 4, "log": 1}, "no such recipe", "one kind of item, not 2"),
]


def test_tags_and_fuels_may_be_mixed():
    crafts = [TORCHES.match_craft(inputs, outputs) for inputs, outputs in ACCEPTED]
    assert [getattr(craft, "inputs", craft) for craft in crafts] == [inputs for inputs, _ in ACCEPTED]


def test_a_refusal_says_what_was_expected():
    strays = []
    for inputs, outputs, fault, text in WRONG:
        refusal = TORCHES.match_craft(inputs, outputs)
        if refusal[0] != fault or text not in refusal[1] or len(refusal[1]) >= 300:
            strays.append((inputs, outputs, refusal))
    assert not strays


def test_what_burns_best_is_kept_to_burn_and_fire_may_come_late():
    assert [recipe.id for recipe in TORCHES.possible({"log": 1, "stick": 2})] == ["charcoal", "glow"]
    assert [recipe.id for recipe in TORCHES.possible({"peat": 1, "stick": 1})] == ["glow"]
    assert not TORCHES.possible({"log": 1}) and not TORCHES.possible({"ore": 1, "coal": Fraction(1, 9)})
    assert TORCHES.reachable(["mud", "ore"]) == {"ore", "mud", "peat", "iron", "glow"} and TORCHES.raw() >= {"mud"}


def test_what_leaves_a_choice_must_be_said():
    torch, charcoal, *_ = TORCHES.recipes
    hand = {"stick": 2, "coal": 1, "charcoal": 1}
    assert TORCHES.fill_craft(torch, 1, hand).text == "#coals may be charcoal or coal: say which by `inputs`"
    assert TORCHES.fill_craft(torch, 2, hand).inputs == hand
    assert TORCHES.fill_craft(torch, 3, hand).fault == "not in the hand"
    assert TORCHES.fill_craft(torch, 1, {"stick": 1, "coal": Fraction(1, 2)}).fault == "not in the hand"
    assert TORCHES.fill_craft(torch, 1, {"stick": 1, "coal": Fraction(1, 2), "charcoal": 2}).inputs["charcoal"] == 1
    assert TORCHES.fill_craft(charcoal, 1, {"log": 2}).inputs == {"log": Fraction(5, 3)}
    assert "coal or stick" in TORCHES.fill_craft(charcoal, 1, {"log": 1, "coal": 1, "stick": 3}).text
    assert TORCHES.fill_craft(charcoal, 1, {"log": 1, "stick": 1}).fault == "not in the hand"


def test_huge_mixed_amounts_are_checked_at_once():
    planks = tuple(f"plank {number}" for number in range(40))
    slabs = planks[20:]
    wood = Ruleset(
        "wood",
        (*planks, "barrel"),
        (Recipe("barrel", "", (("#p", 6), ("#s", 2)), "barrel", 1),),
        {"p": planks, "s": slabs},
    )
    assert isinstance(wood.match_craft(dict.fromkeys(planks, 200), {"barrel": 1000}), Craft)
    assert isinstance(wood.match_craft(dict.fromkeys(planks[:21], 200), {"barrel": 525}), Refusal)


def test_huge_mixed_fuels_are_checked_at_once():
    worths = dict(zip("abcde", (Fraction(n, 4) for n in (1, 3, 5, 9, 17)), strict=True))
    kiln = Ruleset("kiln", ("pot",), (Recipe("pot", "", (("#t", 1),), "pot", 1, True),), {"t": tuple("abcde")}, worths)
    found = [
        isinstance(kiln.match_craft(dict.fromkeys("abcde", 10_000), {"pot": n}), Craft) for n in (9999, 10_000, 30_000)
    ]
    assert found == [False, False, True]


def test_a_ruleset_can_be_pickled_and_refuses_two_recipes_of_one_id():
    named = Ruleset("a", ("x",), (), digest="1")
    assert pickle.loads(pickle.dumps(named)) == named and pickle.loads(pickle.dumps(TORCHES)).recipes == TORCHES.recipes
    with pytest.raises(ValueError, match="two recipes have the same id"):
        Ruleset("a", ("x",), (TORCHES.recipes[0],) * 2)


# --- any small ruleset


@st.composite
def rulesets(draw):
    """A few items in two overlapping tags, recipes over them, some burning."""
    tags = {tag: tuple(draw(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=3, unique=True))) for tag in "xy"}
    needs = st.tuples(st.sampled_from([*ITEMS, "#x", "#y"]), st.integers(1, 2))
    recipes = draw(
        st.lists(
            st.tuples(
                st.lists(needs, min_size=1, max_size=3), st.sampled_from(ITEMS), st.integers(1, 2), st.booleans()
            ),
            min_size=1,
            max_size=6,
        )
    )
    fuel = draw(st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3, 2)])))
    made = (Recipe(str(place), "", tuple(needs), *rest) for place, (needs, *rest) in enumerate(recipes))
    return Ruleset("small", tuple(ITEMS), tuple(made), tags, fuel)


amounts = st.one_of(
    st.integers(1, 4), st.sampled_from([Fraction(1, 2), Fraction(2, 3), Fraction(4, 3), Fraction(5, 2)])
)
hands = st.dictionaries(st.sampled_from(ITEMS), amounts, max_size=4)


def rests(ruleset, recipe, times, hand):
    """What every way to take the ingredients leaves of a hand."""
    choices = [
        itertools.combinations_with_replacement(ruleset.members(need), count * times) for need, count in recipe.needs
    ]
    for way in itertools.product(*choices):
        taken = Counter(itertools.chain(*way))
        if all(hand.get(item, 0) >= count for item, count in taken.items()):
            yield {item: amount - taken[item] for item, amount in hand.items() if amount > taken[item]}


def worth(ruleset, rest):
    return sum(amount * ruleset.fuel.get(item, 0) for item, amount in rest.items())


def may(ruleset, recipe, times, inputs):
    """Whether some operations use up just these inputs."""
    for rest in rests(ruleset, recipe, times, inputs):
        burns = recipe.fuelled and rest.keys() <= ruleset.fuel.keys() and worth(ruleset, rest) == times
        if burns or (not recipe.fuelled and not rest):
            return True
    return False


@st.composite
def crafts(draw):
    """A ruleset and a craft, that one of its recipes allows or nearly does."""
    ruleset = draw(rulesets())
    recipe = draw(st.sampled_from(ruleset.recipes))
    times = draw(st.integers(1, 3))
    inputs = {}
    for need, count in recipe.needs:
        for _ in range(count * times):
            inputs = plus(inputs, {draw(st.sampled_from(ruleset.members(need))): 1})
    if recipe.fuelled and ruleset.fuel:
        parts = draw(st.lists(st.sampled_from(sorted(ruleset.fuel)), min_size=1, max_size=2))
        for item in parts:
            inputs = plus(inputs, {item: Fraction(times, len(parts)) / ruleset.fuel[item]})
    outputs = {recipe.makes: recipe.number * times}
    if draw(st.integers(0, 3)) == 0:
        inputs = plus(inputs, draw(hands))
    if draw(st.integers(0, 7)) == 0:
        outputs = draw(hands)
    return ruleset, inputs, outputs


@settings(max_examples=200, deadline=None)
@given(crafts())
def test_what_is_accepted_is_what_a_slow_search_accepts(craft):
    ruleset, inputs, outputs = craft
    found = ruleset.match_craft(inputs, outputs)
    allowed = [
        recipe.id
        for recipe in ruleset.recipes
        for item, amount in outputs.items()
        if len(outputs) == 1 and item == recipe.makes and not amount % recipe.number and amount >= recipe.number
        if may(ruleset, recipe, int(amount / recipe.number), inputs)
    ]
    if allowed:
        assert found == Craft(ruleset.recipe(allowed[0]), found.times, inputs, outputs)
        assert found.times * found.recipe.number == next(iter(outputs.values()))
    else:
        assert isinstance(found, Refusal) and "\n" not in found.text


@settings(max_examples=100, deadline=None)
@given(rulesets(), hands)
def test_what_is_possible_is_what_a_slow_search_finds(ruleset, hand):
    assert ruleset.possible(hand) == [
        recipe
        for recipe in ruleset.recipes
        if any(not recipe.fuelled or worth(ruleset, rest) >= 1 for rest in rests(ruleset, recipe, 1, hand))
    ]


@settings(max_examples=100, deadline=None)
@given(rulesets(), hands, st.integers(1, 2))
def test_a_filled_craft_is_covered_by_the_hand_and_loses_nothing(ruleset, hand, times):
    for recipe in ruleset.recipes:
        found = ruleset.fill_craft(recipe, times, hand)
        if isinstance(found, Craft):
            assert isinstance(ruleset.match_craft(found.inputs, found.outputs), Craft)
            after = plus(minus(hand, found.inputs), found.outputs)
            for item in ITEMS:
                change = found.outputs.get(item, 0) - found.inputs.get(item, 0)
                assert after.get(item, 0) == hand.get(item, 0) + change >= 0
        elif times == 1:
            assert (found.fault == "not in the hand") <= (recipe not in ruleset.possible(hand))


@settings(max_examples=100, deadline=None)
@given(rulesets(), st.sets(st.sampled_from(ITEMS), max_size=3))
def test_what_is_reachable_is_what_trying_again_and_again_reaches(ruleset, start):
    known = set(start)
    for _ in ruleset.recipes:
        for recipe in ruleset.recipes:
            burns = not recipe.fuelled or known & ruleset.fuel.keys()
            if burns and all(known & set(ruleset.members(need)) for need, _ in recipe.needs):
                known.add(recipe.makes)
    assert ruleset.reachable(start) == known
