"""Certificates of problems: the targets that each seat can craft, alone and together, and the faults of the problem."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from agon.games.tradecraft.amounts import Hand, covers, hand_to_json
from agon.games.tradecraft.planner.orders import Step
from agon.games.tradecraft.planner.parts import Part, Way, part
from agon.games.tradecraft.planner.programs import Program
from agon.games.tradecraft.planner.search import Answer, Impossible, Plan, Workshop, plan, solve_in_order
from agon.games.tradecraft.planner.trading import Needs, needs, union
from agon.games.tradecraft.recipes import Ruleset
from agon.games.tradecraft.settings import Certificate, Craft, Goal, Problem, Swap, Together
from agon_problems.exchanges import Exchange, exchange


def certify(ruleset: Ruleset, problem: Problem) -> Certificate:
    """The certificate of a problem: plans and proofs, the same on every machine."""
    hands, targets = problem.hands, problem.targets
    pool = union(hands)
    goals = [_goal(ruleset, hands, seat, target) for seat, target in enumerate(targets)]
    joint = plan(ruleset, pool, union(targets))
    trading = exchange(ruleset, hands, targets)
    between = isinstance(trading, Exchange) and any(any(crafts) for crafts in trading.crafts[:-1])
    together = Together(
        joint.verdict,
        joint.operations if isinstance(joint, Plan) else None,
        [Swap(list(trade.seats), trade.offer, trade.request) for trade in trading.trades]
        if isinstance(trading, Exchange)
        else None,
        between,
    )
    idle = surplus(ruleset, pool, targets)
    return Certificate(goals, together, idle, _wrong(ruleset, problem, goals, joint, idle), _notes(together, goals))


def surplus(ruleset: Ruleset, hand: Hand, targets: Sequence[Hand]) -> list[str]:
    """The items of a hand that no shortest plan for any of the targets uses."""
    used = {item for target in targets for item in _usable(ruleset, hand, target)}
    return sorted(set(hand) - used)


def _usable(ruleset: Ruleset, hand: Hand, target: Hand) -> set[str]:
    """The items of the hand that some shortest plan uses. An item for which this is not decided counts as used."""
    answer = plan(ruleset, hand, target)
    if not isinstance(answer, Plan):
        return set()
    relevant = within_operations(part(ruleset, hand, target), hand, target, answer.operations)
    used = set(answer.uses)
    for item in [item for item in relevant.items if item in hand and item not in used]:
        program = Program()
        shop = Workshop(program, relevant, hand, target)
        if not shop.balance[item]:
            continue
        program.add_condition(dict.fromkeys(shop.times, 1.0), high=answer.operations)
        program.add_condition(shop.balance[item], high=target.get(item, 0) - USED)
        if solve_in_order(program, [shop]).status in ("solved", "undecided"):
            used.add(item)
    return used


USED = 1e-3
"""A plan that uses an item uses at least this part of a piece: the best fuel burns for a hundred smelts."""


def within_operations(relevant: Part, hand: Hand, target: Hand, operations: int) -> Part:
    """The part without the ways that no plan of at most `operations` operations can use.

    The operations that must come before a way and after it, one by one, have to fit into the plan.
    """
    before = _before(relevant, hand)
    after = {way.recipe.id: 0 for way in relevant.ways if way.recipe.makes in target}
    using: dict[str, list[Way]] = {}
    for way in relevant.ways:
        fuel = relevant.fuel if way.recipe.fuelled else ()
        for item in {*fuel, *(item for need in way.needs for item in need.members)}:
            using.setdefault(item, []).append(way)
    makers: dict[str, list[Way]] = {}
    for way in relevant.ways:
        makers.setdefault(way.recipe.makes, []).append(way)
    ingredients = {way.recipe.id: [item for item in makers if way in using.get(item, ())] for way in relevant.ways}
    new = list(after)
    while new:  # breadth first: the first way to be reached is the shortest
        next_ids = [maker.recipe.id for way in new for item in ingredients[way] for maker in makers[item]]
        depth = after[new[0]] + 1
        new = [way for way in dict.fromkeys(next_ids) if way not in after]
        after |= dict.fromkeys(new, depth)
    return relevant._replace(
        ways=tuple(
            way
            for way in relevant.ways
            if before.get(way.recipe.id, inf) + 1 + after.get(way.recipe.id, inf) <= operations
        )
    )


def _before(relevant: Part, hand: Hand) -> dict[str, int]:
    """Way id -> how many operations must come before it, one by one."""
    items, ways = dict.fromkeys(hand, 0), dict[str, int]()
    depth = 0
    while True:
        reachable = set(items)
        fires = not reachable.isdisjoint(relevant.fuel)
        new = [
            way
            for way in relevant.ways
            if way.recipe.id not in ways
            and (fires or not way.recipe.fuelled)
            and all(not reachable.isdisjoint(need.members) for need in way.needs)
        ]
        if not new:
            return ways
        depth += 1
        for way in new:
            ways[way.recipe.id] = depth - 1
            items.setdefault(way.recipe.makes, depth)


def explain_alone(ruleset: Ruleset, hand: Hand, target: Hand, answer: Answer) -> str:
    """Why a hand is not enough for a target, as a statement that a reader can check."""
    if not isinstance(answer, Impossible):
        return answer.verdict
    if answer.why != "amounts":
        return f"not craftable: {answer.text}"
    price_list = prices(ruleset, hand, target)
    if price_list is None:
        return "not craftable: no whole numbers of crafts add up"
    worth = sum((amount * price_list.get(item, Fraction(0)) for item, amount in hand.items()), Fraction(0))
    return f"not craftable: at prices where no craft gains the hand is worth {worth} of the target"


def _goal(ruleset: Ruleset, hands: Sequence[Hand], seat: int, target: Hand) -> Goal:
    pool = union(hands)
    shared, alone_answer = plan(ruleset, pool, target), plan(ruleset, hands[seat], target)
    alone = explain_alone(ruleset, hands[seat], target, alone_answer)
    if not isinstance(shared, Plan):
        return Goal(explain_alone(ruleset, pool, target, shared), alone)
    least = needs(ruleset, hands, seat, target)
    if not isinstance(least, Needs):
        return Goal(shared.verdict, alone, shared.operations, False, plan=_crafts(shared.steps))
    proved = shared.shortest and least.units == least.units_at_least
    gives = {giver: dict(items) for giver, items in sorted(least.gives.items())}
    return Goal(
        shared.verdict, alone, shared.operations, proved, least.units, least.trades, gives, _crafts(shared.steps)
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


def _crafts(steps: Sequence[Step]) -> list[Craft]:
    return [Craft(step.recipe, step.times, hand_to_json(step.inputs), hand_to_json(step.outputs)) for step in steps]


# ---- proofs that a target cannot be crafted; they are checked without a solver ----

FIRE = " fire"
"""The price of one smelt, among the prices of items."""
PARTS = 100_000
"""The largest denominator of a price."""


def prices(ruleset: Ruleset, hand: Hand, target: Hand) -> dict[str, Fraction] | None:
    """Prices that prove that the hand cannot become the target: no craft gains, and the hand is worth less than the target.

    None if there are no such prices. Then fractions of crafts would be enough.
    """
    relevant = part(ruleset, hand, target, unlimited=True)
    program = Program()
    price = {name: program.add_variable(high=np.inf) for name in dict.fromkeys([*relevant.items, *target, FIRE])}
    for way in relevant.ways:
        terms = Counter({price[way.recipe.makes]: float(way.recipe.number), price[FIRE]: -float(way.recipe.fuelled)})
        for count, members in way.needs:
            place = price[members[0]]
            if len(members) > 1:  # the price of the cheapest
                place = program.add_variable(high=np.inf)
                for item in members:
                    program.add_condition({place: 1.0, price[item]: -1.0}, high=0)
            terms[place] -= count
        program.add_condition(terms, high=0)
    for item, worth in relevant.fuel.items():
        program.add_condition({price[FIRE]: float(worth), price[item]: -1.0}, high=0)
    program.add_condition({price[item]: float(amount) for item, amount in target.items()}, 1, 1)
    solution = program.solve_relaxed({price[item]: float(amount) for item, amount in hand.items() if item in price})
    if solution.values is None:
        return None
    price_list = {name: Fraction(solution.values[place]).limit_denominator(PARTS) for name, place in price.items()}
    nonzero = {name: worth for name, worth in price_list.items() if worth}
    return nonzero if holds(relevant, hand, target, nonzero) else None


def holds(relevant: Part, hand: Hand, target: Hand, price_list: Mapping[str, Fraction]) -> bool:
    """Whether prices prove, in exact fractions, that the hand cannot become the target. An item without a price is free."""

    def worth(item: str) -> Fraction:
        return price_list.get(item, Fraction(0))

    for way in relevant.ways:
        cost = sum((need.number * min(map(worth, need.members)) for need in way.needs), Fraction(0))
        if way.recipe.number * worth(way.recipe.makes) > cost + way.recipe.fuelled * worth(FIRE):
            return False
    if any(smelts * worth(FIRE) > worth(item) for item, smelts in relevant.fuel.items()):
        return False
    total = [sum((amount * worth(item) for item, amount in some.items()), Fraction(0)) for some in (hand, target)]
    return min(price_list.values(), default=Fraction(0)) >= 0 and total[0] < total[1]
