"""What a hand can become: a shortest plan, a proof that there is none, or that it was not decided."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from agon.games.tradecraft.planner.orders import Step
from agon.games.tradecraft.planner.parts import Part, part, reached
from agon.games.tradecraft.planner.programs import HIGHEST_TIE, NODES, UNIT, Program, least
from agon.games.tradecraft.planner.workshops import Workshop, orderly
from agon.games.tradecraft.recipes import Amount, Craft, Hand, Ruleset, covers, minus, plus

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
    """A plan, if there is one, has at least so many operations."""


Answer = Plan | Impossible | Undecided


def plan(ruleset: Ruleset, hand: Hand, target: Hand, nodes: int = NODES, seconds: float | None = None) -> Answer:
    """A plan with the fewest operations from a hand to a target.

    `nodes` limits the search by its size, which gives the same answer on every machine; `seconds` by the clock.
    """
    return _plan(ruleset, frozen(hand), frozen(target), nodes, seconds)


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


Frozen = frozenset[tuple[str, Amount]]
"""A hand that can be a key."""


def frozen(hand: Hand) -> Frozen:
    """A hand as a key."""
    return frozenset((item, amount) for item, amount in hand.items() if amount)


@functools.lru_cache(maxsize=50_000)
def _plan(ruleset: Ruleset, held: Frozen, asked: Frozen, nodes: int, seconds: float | None) -> Answer:
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
    found = orderly(program, [shop], nodes, seconds=seconds)
    if found.status in ("impossible", "no order"):
        return _impossible(found.status)
    at_least = fewest(found.solved.bound, matters)
    return checked(ruleset, hand, target, found.steps[0], at_least) if found.steps else Undecided(at_least)


def _impossible(status: str = "") -> Impossible:
    if status == "no order":
        return Impossible("order", "the crafts would add up, but in no order does each find what it takes")
    return Impossible("amounts", "there is not enough for it")


def fewest(bound: float, matters: Part) -> int:
    """The fewest operations that can cost so much, ties included."""
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
