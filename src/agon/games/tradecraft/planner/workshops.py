"""One player's crafting as part of a whole-number program."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from agon.games.tradecraft.planner.orders import Step, Stuck, Use, in_order, searched
from agon.games.tradecraft.planner.parts import Part, Way
from agon.games.tradecraft.planner.programs import Bound, Program, Solved, Terms
from agon.games.tradecraft.recipes import Hand, plus

NONE: Mapping[str, Any] = MappingProxyType({})
CUTS = 50
"""So many solutions that have no order are ruled out, then it is not decided."""


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


def orderly(program: Program, shops: Sequence[Workshop], nodes: int, seconds: float | None = None) -> Found:
    """The least solution in which every workshop has an order for its crafts.

    A solution without one is ruled out, with all that are like it, and the program solved again.
    """
    bound = 0.0
    for cuts in range(CUTS):
        solved = program.solved(nodes, seconds=seconds)
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
