"""Time of plans, needs, certificates and generated problems: `pytest benchmarks/bench_crafting.py --benchmark-only`."""

import functools
from itertools import cycle

import pytest

from agon import ROOT
from agon.games.tradecraft.planner import parts, trading
from agon.games.tradecraft.planner import search as planner
from agon.games.tradecraft.rulesets import ruleset
from agon.games.tradecraft.settings import problem
from agon_problems import exchanges
from agon_problems.certificates import certify
from agon_problems.problems import SHIPPED, generate_problems

SETS = ["minecraft_public", "minecraft", "minecraft3", "alchemy", "invented"]
CACHES = [parts._part, parts._ways, parts._units, planner._plan, trading._needs, exchanges._exchanged]


def forget():
    """So that what is measured is not found in a cache."""
    for cache in CACHES:
        assert isinstance(cache, functools._lru_cache_wrapper)
        cache.cache_clear()


@functools.cache
def problems(folder):
    return [problem(path) for path in sorted((ROOT / "data/problems" / folder).glob("*.json"))]


def asked(folder):
    """Every seat's question, one after the other."""
    return cycle([(each, seat) for each in problems(folder) for seat in range(len(each.hands))])


@pytest.mark.parametrize("folder", SETS)
def test_plan_from_all_hands(benchmark, folder):
    rules, questions = ruleset(problems(folder)[0].ruleset), asked(folder)

    def setup():
        forget()
        each, seat = next(questions)
        return (rules, trading.union(each.hands), each.targets[seat]), {}

    benchmark.pedantic(planner.plan, setup=setup, rounds=40)


@pytest.mark.parametrize("folder", SETS)
def test_needs_of_a_seat(benchmark, folder):
    rules, questions = ruleset(problems(folder)[0].ruleset), asked(folder)

    def setup():
        forget()
        each, seat = next(questions)
        return (rules, each.hands, seat, each.targets[seat]), {}

    benchmark.pedantic(trading.needs, setup=setup, rounds=40)


def test_plan_seen_before(benchmark):
    each = problems("minecraft_public")[9]
    rules = ruleset("minecraft")
    assert benchmark(planner.plan, rules, trading.union(each.hands), each.targets[0]).operations == 9


def test_ten_public_problems_certified(benchmark):
    def certified():
        forget()
        return [certify(ruleset("minecraft"), each) for each in problems("minecraft_public")]

    benchmark.pedantic(certified, rounds=3)


def test_forty_problems_generated_and_certified(benchmark):
    wishes, seed = SHIPPED["minecraft"].wishes, SHIPPED["minecraft"].seed

    def made():
        forget()
        return list(generate_problems(ruleset("minecraft"), wishes, seed))

    assert len(benchmark.pedantic(made, rounds=1)) == 40
