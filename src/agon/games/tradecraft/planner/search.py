"""What a hand can become: a shortest plan, a proof that there is none, or that it was not decided.

A player's crafting is a part of a whole-number program (Workshop), whose solutions are put in an order that works.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from agon.games.tradecraft.amounts import Amount, Hand, covers, minus, plus
from agon.games.tradecraft.planner.orders import Step, Stuck, Use, in_order, searched
from agon.games.tradecraft.planner.parts import Part, Way, part, reached
from agon.games.tradecraft.planner.programs import HIGHEST_TIE, NODES, UNIT, Bound, Program, Solved, Terms, least
from agon.games.tradecraft.recipes import Craft, Ruleset

NONE: Mapping[str, Any] = MappingProxyType({})
CUTS = 50
"""Solutions without an order that are ruled out before the search ends undecided."""

Why = Literal["unreachable", "amounts", "order"]
"""Not from any amount of these items; no numbers of crafts add up; or those that add up have no order in which each finds
what it takes."""


@dataclass(frozen=True)
class Plan:
    """Crafts that turn a hand into one that covers a target, each possible after the ones before."""

    verdict = "craftable"
    steps: tuple[Step, ...]
    at_least: int
    """No plan has fewer operations: proved."""
    uses: Mapping[str, Amount] = field(default_factory=dict)
    """What of the hand is in it, the target's own share included."""

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
    return _plan(ruleset, frozen(hand), frozen(target), nodes)


def executed(ruleset: Ruleset, hand: Hand, steps: tuple[Step, ...]) -> dict[str, Amount]:
    """The hand after some steps, each checked against the ruleset. Raises ValueError for one that is not possible."""
    for number, step in enumerate(steps, 1):
        found = ruleset.matched(step.inputs, step.outputs)
        if not isinstance(found, Craft):
            raise ValueError(f"step {number}: {found.text}")
        if not covers(hand, step.inputs):
            raise ValueError(f"step {number}: {step.recipe} takes what is not in the hand")
        hand = plus(minus(hand, step.inputs), step.outputs)
    return dict(hand)


def lacking(hand: Hand, steps: Sequence[Step], target: Hand) -> dict[str, int]:
    """The pieces that a hand lacks to do some steps, one after the other, and then to cover a target."""
    stock, lacks = dict(hand), dict[str, int]()
    for inputs, outputs in [*((step.inputs, step.outputs) for step in steps), (target, NONE)]:
        short = {item: ceil(rest) for item, amount in inputs.items() if (rest := amount - stock.get(item, 0)) > 0}
        lacks = {item: lacks.get(item, 0) + short.get(item, 0) for item in lacks | short}
        stock = plus(minus(plus(stock, short), inputs), outputs)
    return lacks


Frozen = frozenset[tuple[str, Amount]]
"""A hand that can be a key."""


def frozen(hand: Hand) -> Frozen:
    """A hand as a key."""
    return frozenset((item, amount) for item, amount in hand.items() if amount)


@functools.lru_cache(maxsize=50_000)
def _plan(ruleset: Ruleset, held: Frozen, asked: Frozen, nodes: int) -> Answer:
    hand, target = dict(sorted(held)), dict(sorted(asked))
    if covers(hand, target):
        return Plan((), 0, target)
    if missing := sorted(target.keys() - reached(ruleset, frozenset(hand))):
        return Impossible("unreachable", f"{missing[0]} cannot be made from any amount of these items")
    matters = part(ruleset, hand, target)
    if matters.missing:
        return _impossible()
    program = Program()
    shop = Workshop(program, matters, hand, target, {})
    found = orderly(program, [shop], nodes)
    if found.status in ("impossible", "no order"):
        return _impossible(found.status)
    at_least = fewest(found.solved.bound, matters)
    return checked(ruleset, hand, target, found.steps[0], at_least) if found.steps else Undecided(at_least)


def _impossible(status: str = "") -> Impossible:
    if status == "no order":
        return Impossible("order", "the crafts would add up, but in no order does each find what it takes")
    return Impossible("amounts", "there is not enough for it")


def fewest(bound: float, matters: Part) -> int:
    """The fewest operations whose cost, ties included, can reach a bound."""
    mixed = (sum(need.number for need in way.needs if len(need.members) > 1) for way in matters.ways)
    dearest = UNIT + (1 + max(mixed, default=0)) * HIGHEST_TIE
    return least(bound / dearest)


def checked(ruleset: Ruleset, hand: Hand, target: Hand, steps: tuple[Step, ...], at_least: int) -> Plan:
    """The plan, executed."""
    after = executed(ruleset, hand, steps)
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
    """How often a player does what, with which ingredients and fuel, so that its target is left in the end."""

    def __init__(
        self,
        program: Program,
        part: Part,
        hand: Hand,
        target: Hand,
        flows: Mapping[str, Terms] = NONE,
        kept: Mapping[str, int] = NONE,
    ) -> None:
        """`flows`: what of each item comes in (factor 1) and goes out (-1) before it crafts, as variables. `kept`: variables
        for what must be left besides the target.
        """
        self.part, self.hand, self.target, self.flows, self.kept = part, hand, target, flows, kept
        self.times = [program.variable(_name(way), cost=1) for way in part.ways]
        self.taken: list[list[dict[str, int | None]]] = []
        self.balance = balance = {item: dict[int, float](flows.get(item, {})) for item in part.items}
        for item, variable in kept.items():
            balance[item][variable] = -1.0
        fire: dict[int, float] = {}
        for way, times in zip(part.ways, self.times, strict=True):
            _add(balance[way.recipe.makes], times, way.recipe.number)
            if way.recipe.fuelled:
                fire[times] = -1
            self.taken.append([])
            for number, (count, members) in enumerate(way.needs):
                if len(members) == 1:
                    _add(balance[members[0]], times, -count)
                    self.taken[-1].append({members[0]: None})
                    continue
                mixed = {item: program.variable(f"{_name(way)}: {number} {item}") for item in members}
                for item, variable in mixed.items():
                    _add(balance[item], variable, -1)
                program.condition(dict.fromkeys(mixed.values(), 1.0) | {times: -count}, 0, 0)
                self.taken[-1].append(dict(mixed))
        if fire:
            for item, worth in part.fuel.items():
                burned = program.variable(whole=False)
                balance[item][burned] = -1
                fire[burned] = float(worth)
            lit = sum((Fraction(hand.get(item, 0)) % 1 * worth for item, worth in part.fuel.items()), Fraction(0))
            program.condition(fire, low=-float(lit), high=0)
        for item, terms in balance.items():
            if terms or target.get(item, 0) > hand.get(item, 0):
                program.condition(terms, low=float(target.get(item, 0) - int(hand.get(item, 0))))

    def held(self, solved: Solved) -> dict[str, int | Fraction]:
        """The hand with what comes in and without what goes out."""
        hand = dict(self.hand)
        for item, terms in self.flows.items():
            hand[item] = hand.get(item, 0) + sum(
                int(factor) * solved.count(variable) for variable, factor in terms.items()
            )
        return {item: amount for item, amount in hand.items() if amount}

    def steps(self, solved: Solved) -> Sequence[Step] | Stuck | None:
        """The solution in an order that works, or why there is none; None if that could not be found out."""
        hand = self.held(solved)
        uses = [
            Use(
                way,
                times,
                tuple(_named(each, need.number * times, solved) for each, need in zip(taken, way.needs, strict=True)),
            )
            for way, variable, taken in zip(self.part.ways, self.times, self.taken, strict=True)
            if (times := solved.count(variable))
        ]
        target = plus(self.target, {item: solved.count(variable) for item, variable in self.kept.items()})
        steps = in_order(self.part, hand, uses, target)
        if steps is not None:
            return steps
        return searched(self.part, hand, {use.way.recipe.id: use.times for use in uses}, target)

    @property
    def hopeless(self) -> bool:
        """Whether no order reaches the target however often the ways are used; False where that is not found out."""
        often = dict.fromkeys((way.recipe.id for way in self.part.ways), inf)
        return not self.flows and isinstance(searched(self.part, self.hand, often, self.target), Stuck)

    def more(self, solved: Solved, ways: frozenset[str]) -> list[Bound]:
        """One of these ways more often than in a solution, or more of something in hand."""
        often = [
            Bound(variable, "at least", solved.count(variable) + 1)
            for way, variable in zip(self.part.ways, self.times, strict=True)
            if way.recipe.id in ways
        ]
        for terms in self.flows.values():
            for variable, factor in terms.items():
                count = solved.count(variable)
                if factor > 0:
                    often.append(Bound(variable, "at least", count + 1))
                elif count:
                    often.append(Bound(variable, "at most", count - 1))
        kept = [
            Bound(variable, "at most", count - 1)
            for variable in self.kept.values()
            if (count := solved.count(variable))
        ]
        return often + kept


class Found(NamedTuple):
    """What some workshops of a program came to: for each its steps, if there is a solution."""

    status: Literal["solved", "impossible", "no order", "undecided"]
    steps: list[tuple[Step, ...]]
    solved: Solved


def orderly(program: Program, shops: Sequence[Workshop], nodes: int = NODES) -> Found:
    """The least solution in which every workshop has an order for its crafts.

    A solution without one is ruled out, with all that are like it, and the program solved again.
    """
    bound = 0.0
    for cuts in range(CUTS):
        solved = program.solved(nodes)
        bound = max(bound, solved.bound)
        if solved.status == "impossible":
            return Found("no order" if cuts else "impossible", [], solved)
        if solved.values is None:
            break
        steps = [shop.steps(solved) for shop in shops]
        stuck = [(shop, order) for shop, order in zip(shops, steps, strict=True) if isinstance(order, Stuck)]
        for shop, order in stuck:
            program.one_of(shop.more(solved, order.ways))
        if not stuck:
            made = [tuple(order) for order in steps if order is not None and not isinstance(order, Stuck)]
            if len(made) == len(shops):
                return Found(solved.status, made, solved)
            break
    else:
        if any(shop.hopeless for shop in shops):
            return Found("no order", [], solved)
    return Found("undecided", [], Solved("undecided", None, bound))


def _name(way: Way) -> str:
    """What tells a way from others: not where it stands in the file, so that moving it there changes no plan."""
    takes = " ".join(f"{need.number} {'|'.join(sorted(need.members))}" for need in way.needs)
    return f"{takes} > {way.recipe.number} {way.recipe.makes}{'!' * way.recipe.fuelled}"


def _add(terms: dict[int, float], variable: int, factor: float) -> None:
    terms[variable] = terms.get(variable, 0.0) + factor


def _named(taken: Mapping[str, int | None], count: int, solved: Solved) -> dict[str, int]:
    """Which items a need takes, and how many."""
    counts = {item: count if variable is None else solved.count(variable) for item, variable in taken.items()}
    return {item: number for item, number in counts.items() if number}
