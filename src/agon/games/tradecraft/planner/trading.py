"""The least that a player must get from the others so that it can craft its target."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from agon.games.tradecraft.amounts import Amount, Hand, plus
from agon.games.tradecraft.planner.parts import part
from agon.games.tradecraft.planner.programs import HIGHEST_TIE, UNIT, Program, Terms, least
from agon.games.tradecraft.planner.search import (
    Answer,
    Frozen,
    Impossible,
    OrderedSolution,
    Plan,
    Undecided,
    Workshop,
    check_plan,
    fewest_operations,
    freeze,
    plan,
    solve_in_order,
)
from agon.games.tradecraft.recipes import Ruleset

MANY = 200
"""Programs with at least this many variables are relaxed first. Smaller ones take no time."""


@dataclass(frozen=True)
class Needs:
    """The least that others must give a seat, of what they hold, so that it can craft its target."""

    verdict = "craftable"
    trades: int
    """The number of other seats with which it must trade. Fewer seats do not hold enough."""
    gives: Mapping[int, Mapping[str, int]]
    """Seat -> its gifts. Of all gifts with so few trades, these have the fewest units, and then the fewest operations."""
    plan: Plan
    """The crafts of the seat after the gifts."""
    units_at_least: int
    """No fewer units do, with however many trades: proved."""

    @property
    def units(self) -> int:
        """How many units it is given."""
        return sum(sum(items.values()) for items in self.gives.values())


def union(hands: Sequence[Hand]) -> dict[str, Amount]:
    """All hands in one."""
    return functools.reduce(plus, hands, {})


def needs(ruleset: Ruleset, hands: Sequence[Hand], seat: int, target: Hand) -> Needs | Impossible | Undecided:
    """The fewest trades, and then the fewest units, that a seat needs for its target.

    Units are those that the others hold now. Nobody crafts before it gives, as a player who can make the target would have to
    give only that.
    """
    return _needs(ruleset, tuple(freeze(hand) for hand in hands), seat, freeze(target))


@functools.lru_cache(maxsize=20_000)
def _needs(
    ruleset: Ruleset, hand_keys: tuple[Frozen, ...], seat: int, target_key: Frozen
) -> Needs | Impossible | Undecided:
    hands, target = [dict(sorted(hand)) for hand in hand_keys], dict(sorted(target_key))
    alone = plan(ruleset, hands[seat], target)
    if isinstance(alone, Plan):
        return Needs(0, {}, alone, 0)
    others = tuple(other for other in range(len(hands)) if other != seat)
    everybody = _fewest_gifts(ruleset, hands, seat, others, target)
    if not isinstance(everybody, Needs):
        return everybody
    for trades in range(1, len(others)):
        answers = [_fewest_gifts(ruleset, hands, seat, group, target) for group in combinations(others, trades)]
        if solutions := [answer for answer in answers if isinstance(answer, Needs)]:
            best = min(solutions, key=lambda answer: answer.units)
            return Needs(trades, best.gives, best.plan, everybody.units_at_least)
        if any(isinstance(answer, Undecided) for answer in answers):
            return Undecided(0)
    return everybody


def _fewest_gifts(
    ruleset: Ruleset, hands: Sequence[Hand], seat: int, group: Sequence[int], target: Hand
) -> Needs | Impossible | Undecided:
    """The fewest units that the seats of a group must give. Every one of them gives something."""
    hand, pool = hands[seat], union([hands[member] for member in (seat, *group)])
    relevant = part(ruleset, pool, target)
    if relevant.unreachable:
        return _no_way(plan(ruleset, pool, target))
    program = Program()
    gifts = {
        (giver, item): program.add_variable(f"{giver} {item}", high=int(hands[giver][item]))
        for giver in group
        for item in relevant.items
        if hands[giver].get(item, 0) >= 1
    }
    flows: dict[str, dict[int, float]] = {}
    for (_, item), variable in gifts.items():
        flows.setdefault(item, {})[variable] = 1.0
    shop = Workshop(program, relevant, hand, target, flows)
    ones, most = dict.fromkeys(gifts.values(), 1.0), sum(int(hands[giver][item]) for giver, item in gifts)
    result, units = _with_fewest(program, shop, ones, most)
    if not result.steps:
        return _no_way(plan(ruleset, pool, target))
    gives: dict[int, dict[str, int]] = {}
    for (giver, item), variable in gifts.items():
        if count := result.solution.count(variable):
            gives.setdefault(giver, {})[item] = count
    operations = fewest_operations(result.solution.bound - units * HIGHEST_TIE, relevant)
    pool = functools.reduce(plus, gives.values(), dict(hand))
    return Needs(len(group), gives, check_plan(ruleset, pool, target, result.steps[0], operations), units)


def _with_fewest(program: Program, shop: Workshop, ones: Terms, most: int) -> tuple[OrderedSolution, int]:
    """The least solution with an order and the fewest units, and the number of units."""
    if program.size >= MANY:
        units = least(program.solve_relaxed(ones).bound)
        result = solve_in_order(program.with_condition(ones, units), [shop])
        if result.steps:  # nearly always
            return result, units
    relaxation = program.solve(costs=ones)  # whether or not the crafts have an order: no fewer units do
    if relaxation.status == "impossible":
        return OrderedSolution("impossible", [], relaxation), 0
    units = least(relaxation.bound / UNIT)
    limit = program.add_condition(ones, high=units)
    while (result := solve_in_order(program, [shop])).status in ("impossible", "no order") and units < most:
        units += 1
        program.relax(limit, units)
    return result, units


def _no_way(answer: Answer) -> Impossible | Undecided:
    """The answer if gifts are not enough: there is no plan from all hands either, or this is undecided."""
    return Undecided(answer.at_least) if isinstance(answer, Plan) else answer
