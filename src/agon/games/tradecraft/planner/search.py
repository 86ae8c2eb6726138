"""The search for a shortest plan from a hand to a target. It ends with a plan, a proof that there is none, or undecided.

The crafts of a player are a part of an integer program (Workshop). The solution is then put into an order that works.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from agon.games.tradecraft.amounts import Amount, Hand, covers, minus, plus
from agon.games.tradecraft.planner.orders import Step, Stuck, Use, order_steps, search_order
from agon.games.tradecraft.planner.parts import Part, Way, part
from agon.games.tradecraft.planner.programs import HIGHEST_TIE, NODES, UNIT, Bound, Program, Solution, Terms, least
from agon.games.tradecraft.recipes import Craft, Ruleset

NONE: Mapping[str, Any] = MappingProxyType({})
CUTS = 50
"""Solutions without an order that are ruled out before the search ends undecided."""

Why = Literal["unreachable", "amounts", "order"]
"""No amount of these items is enough; no numbers of crafts add up; or the crafts that add up have no order in which each
finds its ingredients."""


@dataclass(frozen=True)
class Plan:
    """Crafts that turn a hand into one that covers a target, each possible after the ones before."""

    verdict = "craftable"
    steps: tuple[Step, ...]
    at_least: int
    """No plan has fewer operations: proved."""
    uses: Mapping[str, Amount] = field(default_factory=dict)
    """The items that the plan takes from the hand. They include pieces of the target that are in the hand."""

    @property
    def operations(self) -> int:
        """The length of the chain: crafts of one operation each. A step of 8 smelts is 8."""
        return sum(step.times for step in self.steps)

    @property
    def shortest(self) -> bool:
        """Whether no plan has fewer operations."""
        return self.operations == self.at_least


@dataclass(frozen=True)
class Impossible:
    """No plan: proved."""

    verdict = "not craftable"
    why: Why
    text: str


@dataclass(frozen=True)
class Undecided:
    """The search ended at its limit."""

    verdict = "not decided"
    at_least: int
    """The operations of a plan, at least, if there is one."""


Answer = Plan | Impossible | Undecided


def plan(ruleset: Ruleset, hand: Hand, target: Hand, nodes: int = NODES) -> Answer:
    """A plan with the fewest operations from a hand to a target.

    `nodes` limits the search by its size, which gives the same answer on every machine.
    """
    return _plan(ruleset, freeze(hand), freeze(target), nodes)


def execute(ruleset: Ruleset, hand: Hand, steps: tuple[Step, ...]) -> dict[str, Amount]:
    """The hand after some steps. Raises ValueError for a step that the ruleset or the hand does not allow."""
    for number, step in enumerate(steps, 1):
        craft = ruleset.match_craft(step.inputs, step.outputs)
        if not isinstance(craft, Craft):
            raise ValueError(f"step {number}: {craft.text}")
        if not covers(hand, step.inputs):
            raise ValueError(f"step {number}: {step.recipe} takes what is not in the hand")
        hand = plus(minus(hand, step.inputs), step.outputs)
    return dict(hand)


def count_shortage(hand: Hand, steps: Sequence[Step], target: Hand) -> dict[str, int]:
    """The pieces that a hand lacks to do some steps, one after the other, and then to cover a target."""
    stock, shortage = dict(hand), dict[str, int]()
    for inputs, outputs in [*((step.inputs, step.outputs) for step in steps), (target, NONE)]:
        short = {item: ceil(rest) for item, amount in inputs.items() if (rest := amount - stock.get(item, 0)) > 0}
        shortage = {item: shortage.get(item, 0) + short.get(item, 0) for item in shortage | short}
        stock = plus(minus(plus(stock, short), inputs), outputs)
    return shortage


Frozen = frozenset[tuple[str, Amount]]
"""A hand that can be a key."""


def freeze(hand: Hand) -> Frozen:
    """A hand as a key."""
    return frozenset((item, amount) for item, amount in hand.items() if amount)


@functools.lru_cache(maxsize=50_000)
def _plan(ruleset: Ruleset, hand_key: Frozen, target_key: Frozen, nodes: int) -> Answer:
    hand, target = dict(sorted(hand_key)), dict(sorted(target_key))
    if covers(hand, target):
        return Plan((), 0, target)
    if unreachable := sorted(target.keys() - ruleset.reachable(hand)):
        return Impossible("unreachable", f"{unreachable[0]} cannot be made from any amount of these items")
    relevant = part(ruleset, hand, target)
    if relevant.unreachable:
        return _impossible()
    program = Program()
    shop = Workshop(program, relevant, hand, target, {})
    result = solve_in_order(program, [shop], nodes)
    if result.status in ("impossible", "no order"):
        return _impossible(result.status)
    at_least = fewest_operations(result.solution.bound, relevant)
    return check_plan(ruleset, hand, target, result.steps[0], at_least) if result.steps else Undecided(at_least)


def _impossible(status: str = "") -> Impossible:
    if status == "no order":
        return Impossible("order", "the crafts would add up, but in no order does each find what it takes")
    return Impossible("amounts", "there is not enough for it")


def fewest_operations(bound: float, relevant: Part) -> int:
    """The fewest operations whose cost, ties included, can reach a bound."""
    mixed = (sum(need.number for need in way.needs if len(need.members) > 1) for way in relevant.ways)
    dearest = UNIT + (1 + max(mixed, default=0)) * HIGHEST_TIE
    return least(bound / dearest)


def check_plan(ruleset: Ruleset, hand: Hand, target: Hand, steps: tuple[Step, ...], at_least: int) -> Plan:
    """The plan of some steps. Raises AssertionError if they do not reach the target."""
    after = execute(ruleset, hand, steps)
    if not covers(after, target):
        raise AssertionError(f"a plan for {target} from {hand} ends in {after}")
    uses = {
        item: amount
        for item in hand
        if (amount := hand[item] - min(hand[item], after.get(item, 0) - target.get(item, 0)))
    }
    return Plan(steps, at_least, uses)


# ---- crafting as a program ----


class Workshop:
    """A part of a program: how often a player uses each way, with which ingredients and fuel, so that it ends with its target."""

    def __init__(
        self,
        program: Program,
        part: Part,
        hand: Hand,
        target: Hand,
        flows: Mapping[str, Terms] = NONE,
        reserve: Mapping[str, int] = NONE,
    ) -> None:
        """`flows`: item -> variables for the pieces that come in (factor 1) and go out (-1) before the crafts.

        `reserve`: item -> the variable for the pieces that must be left besides the target.
        """
        self.part, self.hand, self.target, self.flows, self.reserve = part, hand, target, flows, reserve
        self.times = [program.add_variable(_name(way), cost=1) for way in part.ways]
        self.need_variables: list[list[dict[str, int | None]]] = []
        self.balance = balance = {item: dict[int, float](flows.get(item, {})) for item in part.items}
        for item, variable in reserve.items():
            balance[item][variable] = -1.0
        fire: dict[int, float] = {}
        for way, times in zip(part.ways, self.times, strict=True):
            _add(balance[way.recipe.makes], times, way.recipe.number)
            if way.recipe.fuelled:
                fire[times] = -1
            self.need_variables.append([])
            for number, (count, members) in enumerate(way.needs):
                if len(members) == 1:
                    _add(balance[members[0]], times, -count)
                    self.need_variables[-1].append({members[0]: None})
                    continue
                mixed = {item: program.add_variable(f"{_name(way)}: {number} {item}") for item in members}
                for item, variable in mixed.items():
                    _add(balance[item], variable, -1)
                program.add_condition(dict.fromkeys(mixed.values(), 1.0) | {times: -count}, 0, 0)
                self.need_variables[-1].append(dict(mixed))
        if fire:
            for item, worth in part.fuel.items():
                burn = program.add_variable(whole=False)
                balance[item][burn] = -1
                fire[burn] = float(worth)
            burning = sum((Fraction(hand.get(item, 0)) % 1 * worth for item, worth in part.fuel.items()), Fraction(0))
            program.add_condition(fire, low=-float(burning), high=0)
        for item, terms in balance.items():
            if terms or target.get(item, 0) > hand.get(item, 0):
                program.add_condition(terms, low=float(target.get(item, 0) - int(hand.get(item, 0))))

    def stock(self, solution: Solution) -> dict[str, int | Fraction]:
        """The hand after the flows."""
        hand = dict(self.hand)
        for item, terms in self.flows.items():
            hand[item] = hand.get(item, 0) + sum(
                int(factor) * solution.count(variable) for variable, factor in terms.items()
            )
        return {item: amount for item, amount in hand.items() if amount}

    def steps(self, solution: Solution) -> Sequence[Step] | Stuck | None:
        """The solution in an order that works, or why there is none; None if this was not decided."""
        hand = self.stock(solution)
        uses = [
            Use(
                way,
                times,
                tuple(
                    _mix(mixes, need.number * times, solution)
                    for mixes, need in zip(need_variables, way.needs, strict=True)
                ),
            )
            for way, variable, need_variables in zip(self.part.ways, self.times, self.need_variables, strict=True)
            if (times := solution.count(variable))
        ]
        target = plus(self.target, {item: solution.count(variable) for item, variable in self.reserve.items()})
        steps = order_steps(self.part, hand, uses, target)
        if steps is not None:
            return steps
        return search_order(self.part, hand, {use.way.recipe.id: use.times for use in uses}, target)

    @property
    def hopeless(self) -> bool:
        """Whether it is proved that no order reaches the target, however often the ways are used."""
        often = dict.fromkeys((way.recipe.id for way in self.part.ways), inf)
        return not self.flows and isinstance(search_order(self.part, self.hand, often, self.target), Stuck)

    def alternatives(self, solution: Solution, ways: frozenset[str]) -> list[Bound]:
        """Bounds that exclude a solution: one of these ways is used more often, or more of some item is in the hand."""
        often = [
            Bound(variable, "at least", solution.count(variable) + 1)
            for way, variable in zip(self.part.ways, self.times, strict=True)
            if way.recipe.id in ways
        ]
        for terms in self.flows.values():
            for variable, factor in terms.items():
                count = solution.count(variable)
                if factor > 0:
                    often.append(Bound(variable, "at least", count + 1))
                elif count:
                    often.append(Bound(variable, "at most", count - 1))
        smaller_reserves = [
            Bound(variable, "at most", count - 1)
            for variable in self.reserve.values()
            if (count := solution.count(variable))
        ]
        return often + smaller_reserves


class OrderedSolution(NamedTuple):
    """The solution of a program, and the steps of each workshop if there is one."""

    status: Literal["solved", "impossible", "no order", "undecided"]
    steps: list[tuple[Step, ...]]
    solution: Solution


def solve_in_order(program: Program, shops: Sequence[Workshop], nodes: int = NODES) -> OrderedSolution:
    """The least solution in which the crafts of every workshop have an order.

    A solution without an order is ruled out, with all that are like it, and the program is solved again.
    """
    bound = 0.0
    for cuts in range(CUTS):
        solution = program.solve(nodes)
        bound = max(bound, solution.bound)
        if solution.status == "impossible":
            return OrderedSolution("no order" if cuts else "impossible", [], solution)
        if solution.values is None:
            break
        steps = [shop.steps(solution) for shop in shops]
        stuck = [(shop, order) for shop, order in zip(shops, steps, strict=True) if isinstance(order, Stuck)]
        for shop, order in stuck:
            program.require_one_of(shop.alternatives(solution, order.ways))
        if not stuck:
            plans = [tuple(order) for order in steps if order is not None and not isinstance(order, Stuck)]
            if len(plans) == len(shops):
                return OrderedSolution(solution.status, plans, solution)
            break
    else:
        if any(shop.hopeless for shop in shops):
            return OrderedSolution("no order", [], solution)
    return OrderedSolution("undecided", [], Solution("undecided", None, bound))


def _name(way: Way) -> str:
    """A name of a way that does not depend on its place in the file, so that moving it there changes no plan."""
    takes = " ".join(f"{need.number} {'|'.join(sorted(need.members))}" for need in way.needs)
    return f"{takes} > {way.recipe.number} {way.recipe.makes}{'!' * way.recipe.fuelled}"


def _add(terms: dict[int, float], variable: int, factor: float) -> None:
    terms[variable] = terms.get(variable, 0.0) + factor


def _mix(variables: Mapping[str, int | None], count: int, solution: Solution) -> dict[str, int]:
    """The mix of a need: item -> how many."""
    counts = {item: count if variable is None else solution.count(variable) for item, variable in variables.items()}
    return {item: number for item, number in counts.items() if number}
