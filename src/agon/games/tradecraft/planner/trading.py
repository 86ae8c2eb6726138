"""What players must give each other so that one of them, or all, can craft what they want."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

from agon.games.tradecraft.amounts import Amount, Hand, covers, floored, plus, traded
from agon.games.tradecraft.planner.orders import Step
from agon.games.tradecraft.planner.parts import Part, part
from agon.games.tradecraft.planner.programs import HIGHEST_TIE, NODES, UNIT, Program, Terms, least
from agon.games.tradecraft.planner.search import (
    Answer,
    Found,
    Frozen,
    Impossible,
    Plan,
    Undecided,
    Workshop,
    checked,
    executed,
    fewest,
    frozen,
    orderly,
    plan,
)
from agon.games.tradecraft.recipes import Ruleset

MANY = 200
"""Programs with as many variables are first solved with fractions of pieces; smaller ones take no time."""
MOST_TRADES = 3
"""Longer exchanges are not looked for ..."""
MOST_SEATS = 3
"""... and none with crafts in between among more seats."""


@dataclass(frozen=True)
class Needs:
    """The least that others must give a seat, of what they hold, so that it can craft its target."""

    verdict = "craftable"
    trades: int
    """With how many of the others it must trade: fewer do not have enough."""
    gives: Mapping[int, Mapping[str, int]]
    """Seat -> what it gives: with so few trades, the fewest units, and then the fewest operations."""
    plan: Plan
    """What the seat then crafts."""
    units_at_least: int
    """No fewer units do, with however many trades: proved."""

    @property
    def units(self) -> int:
        """How many units it is given."""
        return sum(sum(items.values()) for items in self.gives.values())


class Trade(NamedTuple):
    """Two seats, and what each gives."""

    seats: tuple[int, int]
    offer: dict[str, int]
    request: dict[str, int]


@dataclass(frozen=True)
class Exchange:
    """Trades, one after the other, after which all can craft their targets at the same time."""

    verdict = "craftable"
    trades: tuple[Trade, ...]
    crafts: tuple[tuple[tuple[Step, ...], ...], ...]
    """What every seat crafts before the first trade, after it, after the second ...; the last reach the targets."""


def union(hands: Sequence[Hand]) -> dict[str, Amount]:
    """All hands in one."""
    return functools.reduce(plus, hands, {})


def needs(ruleset: Ruleset, hands: Sequence[Hand], seat: int, target: Hand) -> Needs | Impossible | Undecided:
    """The fewest trades, and then the fewest units, that a seat needs for its target.

    Units are those that the others hold now: nobody crafts before it gives (who can make the target need give only that).
    """
    return _needs(ruleset, tuple(frozen(hand) for hand in hands), seat, frozen(target))


@functools.lru_cache(maxsize=20_000)
def _needs(ruleset: Ruleset, held: tuple[Frozen, ...], seat: int, asked: Frozen) -> Needs | Impossible | Undecided:
    hands, target = [dict(sorted(hand)) for hand in held], dict(sorted(asked))
    alone = plan(ruleset, hands[seat], target)
    if isinstance(alone, Plan):
        return Needs(0, {}, alone, 0)
    others = tuple(other for other in range(len(hands)) if other != seat)
    everybody = _given(ruleset, hands, seat, others, target)
    if not isinstance(everybody, Needs):
        return everybody
    for trades in range(1, len(others)):
        found = [_given(ruleset, hands, seat, group, target) for group in combinations(others, trades)]
        if made := [each for each in found if isinstance(each, Needs)]:
            best = min(made, key=lambda each: each.units)
            return Needs(trades, best.gives, best.plan, everybody.units_at_least)
        if any(isinstance(each, Undecided) for each in found):
            return Undecided(0)
    return everybody


def _given(
    ruleset: Ruleset, hands: Sequence[Hand], seat: int, group: Sequence[int], target: Hand
) -> Needs | Impossible | Undecided:
    """The fewest units that a group must give, each of them something."""
    hand, pool = hands[seat], union([hands[each] for each in (seat, *group)])
    matters = part(ruleset, pool, target)
    if matters.missing:
        return _without(plan(ruleset, pool, target))
    program = Program()
    gifts = {
        (giver, item): program.variable(f"{giver} {item}", high=int(hands[giver][item]))
        for giver in group
        for item in matters.items
        if hands[giver].get(item, 0) >= 1
    }
    flows: dict[str, dict[int, float]] = {}
    for (_, item), variable in gifts.items():
        flows.setdefault(item, {})[variable] = 1.0
    shop = Workshop(program, matters, hand, target, flows)
    ones, most = dict.fromkeys(gifts.values(), 1.0), sum(int(hands[giver][item]) for giver, item in gifts)
    found, units = _with_fewest(program, shop, ones, most)
    if not found.steps:
        return _without(plan(ruleset, pool, target))
    gives: dict[int, dict[str, int]] = {}
    for (giver, item), variable in gifts.items():
        if count := found.solved.count(variable):
            gives.setdefault(giver, {})[item] = count
    operations = fewest(found.solved.bound - units * HIGHEST_TIE, matters)
    pool = functools.reduce(plus, gives.values(), dict(hand))
    return Needs(len(group), gives, checked(ruleset, pool, target, found.steps[0], operations), units)


def _with_fewest(program: Program, shop: Workshop, ones: Terms, most: int) -> tuple[Found, int]:
    """The least solution that has an order and the fewest units, and how many these are."""
    if program.size >= MANY:
        units = least(program.in_parts(ones).bound)
        found = orderly(program.limited(ones, units), [shop])
        if found.steps:  # nearly always
            return found, units
    relaxed = program.solved(costs=ones)  # whether or not the crafts have an order: no fewer units do
    if relaxed.status == "impossible":
        return Found("impossible", [], relaxed), 0
    units = least(relaxed.bound / UNIT)
    limit = program.condition(ones, high=units)
    while (found := orderly(program, [shop])).status in ("impossible", "no order") and units < most:
        units += 1
        program.relax(limit, units)
    return found, units


def _without(answer: Answer) -> Impossible | Undecided:
    """What is said where there is no way: there is no plan either, or it was not found out."""
    return Undecided(answer.at_least) if isinstance(answer, Plan) else answer


def exchange(
    ruleset: Ruleset, hands: Sequence[Hand], targets: Sequence[Hand], crafts: bool = True, nodes: int = NODES
) -> Exchange | Impossible | Undecided:
    """The fewest trades after which all can craft their targets at once: of what is held, or else with `crafts` in between.

    Impossible if even one player with all hands could not craft all targets. Undecided if there is no way with MOST_TRADES.
    """
    together = plan(ruleset, union(hands), union(targets), nodes)
    if not isinstance(together, Plan):
        return together
    held, asked = tuple(frozen(hand) for hand in hands), tuple(frozen(target) for target in targets)
    for pairs in _meetings(len(hands), crafting=False):
        found = _exchanged(ruleset, held, asked, (pairs, False), nodes)
        if found is not None:
            return found
    for pairs in _meetings(len(hands), crafting=True) if crafts and len(hands) <= MOST_SEATS else ():
        found = _exchanged(ruleset, held, asked, (pairs, True), nodes)
        if found is not None:
            return found
    return Undecided(together.at_least)


def performed(ruleset: Ruleset, hands: Sequence[Hand], done: Exchange) -> list[dict[str, Amount]]:
    """The hands after an exchange, in which every trade and craft is checked. Raises ValueError for one that is not possible."""
    now = [dict(hand) for hand in hands]
    for number, crafts in enumerate(done.crafts):
        if number:
            (a, b), offer, request = done.trades[number - 1]
            if not covers(now[a], offer) or not covers(now[b], request):
                raise ValueError(f"trade {number}: not in the hand")
            now[a], now[b] = traded(now[a], now[b], offer, request)
        now = [floored(executed(ruleset, hand, steps)) for hand, steps in zip(now, crafts, strict=True)]
    return now


def _meetings(seats: int, crafting: bool) -> Iterator[tuple[tuple[int, int], ...]]:
    """Who trades with whom, in turn, fewest trades first.

    Without crafts in between, only the ways that items can take matter: meetings that open no new way are left out.
    """
    known: list[set[tuple[int, int]]] = []
    for trades in range(crafting, MOST_TRADES + 1):
        for pairs in product(combinations(range(seats), 2), repeat=trades):
            flows = _flows(pairs)
            if crafting or not any(flows <= other for other in known):
                known.append(flows)
                yield pairs


def _flows(pairs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """(giver, taker) for each way that items can take when these seats meet in turn."""
    flows: set[tuple[int, int]] = set()
    for a, b in pairs:
        through = {(giver, b) for giver, taker in flows if taker == a} | {
            (giver, a) for giver, taker in flows if taker == b
        }
        flows |= {(a, b), (b, a)} | {(giver, taker) for giver, taker in through if giver != taker}
    return flows


class _Table:
    """Seats around a program: what each holds, as a number and variables, from one trade to the next."""

    def __init__(self, hands: Sequence[Hand], items: Sequence[str]) -> None:
        self.program, self.items = Program(), items
        self.hands: list[Hand] = list(hands)
        self.flows: list[dict[str, dict[int, float]]] = [{item: {} for item in items} for _ in hands]

    def given(self, giver: int, taker: int) -> dict[str, int]:
        """Variables for what a seat gives; it must have it."""
        gifts: dict[str, int] = {}
        for item in self.items:
            terms, held = self.flows[giver][item], int(self.hands[giver].get(item, 0))
            if terms or held:
                gift = gifts[item] = self.program.variable(f"{giver} {taker} {item}", cost=1)
                self.program.condition({**terms, gift: -1.0}, low=-held)
        return gifts

    def move(self, giver: int, taker: int, gifts: Mapping[str, int]) -> None:
        """From one stock to the other."""
        for item, gift in gifts.items():
            self.flows[giver][item][gift] = -1.0
            self.flows[taker][item][gift] = 1.0

    def craft(self, seat: int, matters: Part) -> Workshop:
        """A phase in which a seat crafts, and after which it keeps what it likes."""
        kept = {item: self.program.variable() for item in self.items if item in matters.items}
        shop = Workshop(self.program, matters, self.hands[seat], {}, self.flows[seat], kept)
        self.hands[seat] = {}
        self.flows[seat] = {item: {kept[item]: 1.0} if item in kept else {} for item in self.items}
        return shop


@functools.lru_cache(maxsize=1024)
def _exchanged(
    ruleset: Ruleset,
    held: tuple[Frozen, ...],
    asked: tuple[Frozen, ...],
    meetings: tuple[tuple[tuple[int, int], ...], bool],
    nodes: int,
) -> Exchange | Undecided | None:
    """The exchange in which these seats meet in turn, and craft in between or not."""
    hands, targets = [dict(sorted(hand)) for hand in held], [dict(sorted(target)) for target in asked]
    pairs, crafting = meetings
    everything, seats = union(hands), range(len(hands))
    matters = part(ruleset, everything, union(targets))
    table = _Table(hands, matters.items)
    shops: list[Workshop] = []
    moved: list[tuple[dict[str, int], dict[str, int]]] = []
    for a, b in pairs:
        if crafting:
            own = [part(ruleset, hand, matters.items) if not moved else matters for hand in hands]
            shops += [table.craft(seat, own[seat]) for seat in seats]
        moved.append((table.given(a, b), table.given(b, a)))
        table.move(a, b, moved[-1][0])
        table.move(b, a, moved[-1][1])
    shops += [
        Workshop(table.program, part(ruleset, everything, target), table.hands[seat], target, table.flows[seat])
        for seat, target in enumerate(targets)
    ]
    found = orderly(table.program, shops, nodes)
    if not found.steps:
        return Undecided(0) if found.status == "undecided" else None
    trades = tuple(
        Trade(
            pair,
            *({item: count for item, gift in gifts.items() if (count := found.solved.count(gift))} for gifts in each),
        )
        for pair, each in zip(pairs, moved, strict=True)
    )
    before = [] if crafting else [((),) * len(seats)] * len(pairs)
    crafts = [tuple(found.steps[i : i + len(seats)]) for i in range(0, len(found.steps), len(seats))]
    made = Exchange(trades, (*before, *crafts))
    after = performed(ruleset, hands, made)
    if not all(covers(hand, target) for hand, target in zip(after, targets, strict=True)):
        raise AssertionError(f"an exchange for {targets} from {hands} ends in {after}")
    return made
