"""Rulesets of TradeCraft: loading, and craft checks per second: `pytest benchmarks/bench_tradecraft.py --benchmark-only`.

Times are those of the process, whatever else runs on the machine.
"""

import time
from fractions import Fraction

import pytest

from agon.games.tradecraft import Ruleset
from agon.games.tradecraft.amounts import hand_of
from agon.games.tradecraft.recipes import Craft
from agon.games.tradecraft.rulesets import ruleset

pytestmark = pytest.mark.benchmark(timer=time.process_time)

REPEATED = 200
EIGHTH = Fraction(1, 8)
CHECKS = {
    "valid, items only": ({"iron_ingot": 3, "stick": 2}, {"iron_pickaxe": 1}),
    "valid, a batch": ({"oak_log": 5}, {"oak_planks": 20}),
    "valid, a tag": ({"stick": 1, "charcoal": 1}, {"torch": 4}),
    "valid, two tags, mixed": ({"oak_planks": 4, "birch_planks": 2, "oak_slab": 2}, {"barrel": 1}),
    "valid, fuel": ({"raw_iron": 1, "coal": EIGHTH}, {"iron_ingot": 1}),
    "valid, mixed fuel": ({"raw_iron": 3, "coal": EIGHTH, "oak_planks": Fraction(4, 3)}, {"iron_ingot": 3}),
    "valid, burning what it takes": ({"oak_log": Fraction(5, 3)}, {"charcoal": 1}),
    "too much": ({"stick": 2, "coal": 1}, {"torch": 4}),
    "too little fuel": ({"raw_iron": 1, "coal": Fraction(1, 16)}, {"iron_ingot": 1}),
    "other ingredients": ({"dirt": 1}, {"torch": 4}),
    "nothing makes it": ({"stick": 1}, {"dirt": 1}),
}
"""What players ask, rightly and wrongly."""
HAND = {"oak_planks": 5, "coal": 3, "raw_iron": 2, "cobblestone": 9, "stick": 5}


def checked(rules: Ruleset, crafts):
    return [rules.match_craft(inputs, outputs) for _ in range(REPEATED) for inputs, outputs in crafts]


def per_second(benchmark, number):
    if benchmark.stats:
        benchmark.extra_info["per second"] = round(number / benchmark.stats.stats.median)


@pytest.mark.parametrize("name", ["minecraft", "alchemy", "invented"])
def test_load(benchmark, name):
    """Read, decode, check and compile, the file in the system's cache."""
    rules = benchmark.pedantic(ruleset.__wrapped__, (name,), rounds=15, warmup_rounds=2)
    assert rules == ruleset(name)
    if benchmark.stats:
        assert benchmark.stats.stats.median < 0.05


def test_craft_checks(benchmark):
    """All of CHECKS in turn."""
    found = benchmark.pedantic(checked, (ruleset("minecraft"), list(CHECKS.values())), rounds=9, warmup_rounds=1)
    assert [isinstance(craft, Craft) for craft in found[: len(CHECKS)]] == ["valid" in what for what in CHECKS]
    per_second(benchmark, len(found))
    if benchmark.stats:
        assert benchmark.extra_info["per second"] >= 50_000


@pytest.mark.parametrize("what", CHECKS)
def test_craft_check(benchmark, what):
    found = benchmark.pedantic(checked, (ruleset("minecraft"), [CHECKS[what]]), rounds=9, warmup_rounds=1)
    per_second(benchmark, len(found))


def test_craft_checks_as_json(benchmark):
    """The same, with the amounts read from what a player wrote."""
    asked = [({i: str(n) for i, n in inputs.items()}, outputs) for inputs, outputs in CHECKS.values()]

    def read_and_checked():
        return [ruleset("minecraft").match_craft(hand_of(a), hand_of(b)) for _ in range(REPEATED) for a, b in asked]

    per_second(benchmark, len(benchmark.pedantic(read_and_checked, rounds=9, warmup_rounds=1)))


def test_possible(benchmark):
    assert len(benchmark(ruleset("minecraft").possible, HAND)) > 20


def test_reachable(benchmark):
    assert len(benchmark(ruleset("minecraft").reachable, HAND)) > 50
