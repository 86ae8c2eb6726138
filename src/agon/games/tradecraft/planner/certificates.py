"""What is true of a problem: who can craft what, alone and together, and what is wrong with it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from agon.games.tradecraft.amounts import Hand, covers, written
from agon.games.tradecraft.planner.orders import Step
from agon.games.tradecraft.planner.parts import Part, part, within
from agon.games.tradecraft.planner.programs import Program
from agon.games.tradecraft.planner.search import Answer, Impossible, Plan, Workshop, orderly, plan
from agon.games.tradecraft.planner.trading import Exchange, Needs, exchange, needs, union
from agon.games.tradecraft.recipes import Ruleset
from agon.games.tradecraft.settings import Certificate, Craft, Goal, Problem, Swap, Together


def certify(ruleset: Ruleset, problem: Problem) -> Certificate:
    """What is true of a problem, with plans and proofs; the same on every machine."""
    hands, targets = problem.hands, problem.targets
    pool = union(hands)
    goals = [_goal(ruleset, hands, seat, target) for seat, target in enumerate(targets)]
    joint = plan(ruleset, pool, union(targets))
    met = exchange(ruleset, hands, targets)
    between = isinstance(met, Exchange) and any(any(crafts) for crafts in met.crafts[:-1])
    together = Together(
        joint.verdict,
        joint.operations if isinstance(joint, Plan) else None,
        [Swap(list(each.seats), each.offer, each.request) for each in met.trades]
        if isinstance(met, Exchange)
        else None,
        between,
    )
    idle = surplus(ruleset, pool, targets)
    return Certificate(goals, together, idle, _wrong(ruleset, problem, goals, joint, idle), _notes(together, goals))


def surplus(ruleset: Ruleset, hand: Hand, targets: Sequence[Hand]) -> list[str]:
    """Items of a hand that no plan with the fewest operations uses, for any of some targets."""
    used = {item for target in targets for item in _usable(ruleset, hand, target)}
    return sorted(set(hand) - used)


def _usable(ruleset: Ruleset, hand: Hand, target: Hand) -> set[str]:
    """Items of the hand that some shortest plan uses, or may use: what is not decided counts as used."""
    found = plan(ruleset, hand, target)
    if not isinstance(found, Plan):
        return set()
    matters = within(part(ruleset, hand, target), hand, target, found.operations)
    used = set(found.uses)
    for item in [item for item in matters.items if item in hand and item not in used]:
        program = Program()
        shop = Workshop(program, matters, hand, target)
        if not shop.balance[item]:
            continue
        program.condition(dict.fromkeys(shop.times, 1.0), high=found.operations)
        program.condition(shop.balance[item], high=target.get(item, 0) - USED)
        if orderly(program, [shop]).status in ("solved", "undecided"):
            used.add(item)
    return used


USED = 1e-3
"""Part of a piece that is at least used, if it is used: the best fuel burns for a hundred smelts."""


def alone_because(ruleset: Ruleset, hand: Hand, target: Hand, found: Answer) -> str:
    """Why a hand does not do, in words that can be checked."""
    if not isinstance(found, Impossible):
        return found.verdict
    if found.why != "amounts":
        return f"not craftable: {found.text}"
    named = prices(ruleset, hand, target)
    if named is None:
        return "not craftable: no whole numbers of crafts add up"
    worth = sum((amount * named.get(item, Fraction(0)) for item, amount in hand.items()), Fraction(0))
    return f"not craftable: at prices where no craft gains the hand is worth {worth} of the target"


def _goal(ruleset: Ruleset, hands: Sequence[Hand], seat: int, target: Hand) -> Goal:
    pool = union(hands)
    shared, own = plan(ruleset, pool, target), plan(ruleset, hands[seat], target)
    alone = alone_because(ruleset, hands[seat], target, own)
    if not isinstance(shared, Plan):
        return Goal(alone_because(ruleset, pool, target, shared), alone)
    least = needs(ruleset, hands, seat, target)
    if not isinstance(least, Needs):
        return Goal(shared.verdict, alone, shared.operations, False, plan=_spelled(shared.steps))
    proved = shared.shortest and least.units == least.units_at_least
    gives = {giver: dict(items) for giver, items in sorted(least.gives.items())}
    return Goal(
        shared.verdict, alone, shared.operations, proved, least.units, least.trades, gives, _spelled(shared.steps)
    )


def _wrong(ruleset: Ruleset, problem: Problem, goals: Sequence[Goal], joint: Answer, idle: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for seat, (goal, hand, target) in enumerate(zip(goals, problem.hands, problem.targets, strict=True)):
        name = spelled(target)
        if covers(hand, target):
            lines.append(f"seat {seat} holds its target {name} from the start")
        elif goal.alone == "craftable":
            lines.append(f"seat {seat} can craft its target {name} alone")
        if goal.craftable != "craftable":
            lines.append(
                f"nobody can craft {name}, the target of seat {seat}: {goal.craftable.partition(': ')[2] or goal.craftable}"
            )
    if joint.verdict != "craftable" and all(goal.craftable == "craftable" for goal in goals):
        lines.append(f"not all targets can be reached in one game: {joint.verdict}")
    if not idle:
        lines.append("nothing distracts: every item is in some shortest chain")
    return lines


def _notes(together: Together, goals: Sequence[Goal]) -> list[str]:
    if together.craftable != "craftable":
        return []
    if together.trades is None:
        return ["no exchange was found after which all can craft their targets in the same turn"]
    count = len(together.trades)
    trades = f"{count} trade{'s' * (count != 1)}"
    between = [
        f"what is held at first cannot be divided so that all can craft: it takes crafts before the last of {trades}"
    ]
    return (between if together.crafts_between else []) + [
        f"the shortest chain of seat {seat} is not proved to be shortest, or its units fewest"
        for seat, goal in enumerate(goals)
        if not goal.proved
    ]


def spelled(hand: dict[str, Any] | Hand) -> str:
    """A target in words: 'torch', '3 torch + 1 shears'."""
    if list(hand.values()) == [1]:
        return next(iter(hand))
    return " + ".join(f"{amount} {item}" for item, amount in hand.items())


def _spelled(steps: Sequence[Step]) -> list[Craft]:
    return [Craft(step.recipe, step.times, written(step.inputs), written(step.outputs)) for step in steps]


# ---- proofs that something cannot be crafted, which can be checked without a solver ----

FIRE = " fire"
"""The price of one smelt, among the prices of items."""
PARTS = 100_000
"""The largest denominator of a price."""


def prices(ruleset: Ruleset, hand: Hand, target: Hand) -> dict[str, Fraction] | None:
    """Prices at which no craft gains, and the hand is worth less than the target: so it cannot become the target.

    None where there are none: then at most whole numbers stand in the way.
    """
    matters = part(ruleset, hand, target, enough=True)
    program = Program()
    price = {name: program.variable(high=np.inf) for name in dict.fromkeys([*matters.items, *target, FIRE])}
    for way in matters.ways:
        terms = Counter({price[way.recipe.makes]: float(way.recipe.number), price[FIRE]: -float(way.recipe.fuelled)})
        for count, members in way.needs:
            place = price[members[0]]
            if len(members) > 1:  # the price of the cheapest
                place = program.variable(high=np.inf)
                for item in members:
                    program.condition({place: 1.0, price[item]: -1.0}, high=0)
            terms[place] -= count
        program.condition(terms, high=0)
    for item, worth in matters.fuel.items():
        program.condition({price[FIRE]: float(worth), price[item]: -1.0}, high=0)
    program.condition({price[item]: float(amount) for item, amount in target.items()}, 1, 1)
    found = program.in_parts({price[item]: float(amount) for item, amount in hand.items() if item in price})
    if found.values is None:
        return None
    made = {name: Fraction(found.values[place]).limit_denominator(PARTS) for name, place in price.items()}
    named = {name: worth for name, worth in made.items() if worth}
    return named if holds(matters, hand, target, named) else None


def holds(matters: Part, hand: Hand, target: Hand, named: Mapping[str, Fraction]) -> bool:
    """Whether prices prove that the hand cannot become the target, in exact fractions. What has no price is free."""

    def worth(item: str) -> Fraction:
        return named.get(item, Fraction(0))

    for way in matters.ways:
        spent = sum((need.number * min(map(worth, need.members)) for need in way.needs), Fraction(0))
        if way.recipe.number * worth(way.recipe.makes) > spent + way.recipe.fuelled * worth(FIRE):
            return False
    if any(smelts * worth(FIRE) > worth(item) for item, smelts in matters.fuel.items()):
        return False
    total = [sum((amount * worth(item) for item, amount in some.items()), Fraction(0)) for some in (hand, target)]
    return min(named.values(), default=Fraction(0)) >= 0 and total[0] < total[1]
