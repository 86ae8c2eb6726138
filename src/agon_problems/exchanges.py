"""Exchanges: the fewest trades after which all players can craft their targets."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

from agon.games.tradecraft.amounts import Amount, Hand, covers, exchange_items, floor_hand
from agon.games.tradecraft.planner.orders import Step
from agon.games.tradecraft.planner.parts import Part, part
from agon.games.tradecraft.planner.programs import NODES, Program
from agon.games.tradecraft.planner.search import (
    Frozen,
    Impossible,
    Plan,
    Undecided,
    Workshop,
    execute,
    freeze,
    plan,
    solve_in_order,
)
from agon.games.tradecraft.planner.trading import union
from agon.games.tradecraft.recipes import Ruleset

MOST_TRADES = 3
"""An exchange has at most this many trades."""
MOST_SEATS = 3
"""An exchange with crafts between the trades has at most this many seats."""


class Trade(NamedTuple):
    """Two seats, the offer of the first, and the request, which the second gives."""

    seats: tuple[int, int]
    offer: dict[str, int]
    request: dict[str, int]


@dataclass(frozen=True)
class Exchange:
    """A sequence of trades after which all can craft their targets at the same time."""

    verdict = "craftable"
    trades: tuple[Trade, ...]
    crafts: tuple[tuple[tuple[Step, ...], ...], ...]
    """The crafts of every seat before the first trade, after it, and so on. The last crafts reach the targets."""


def exchange(
    ruleset: Ruleset, hands: Sequence[Hand], targets: Sequence[Hand], crafts: bool = True, nodes: int = NODES
) -> Exchange | Impossible | Undecided:
    """The fewest trades after which all can craft their targets at once.

    It looks first for an exchange without crafts between the trades; then, if `crafts` and for at most MOST_SEATS seats, for one
    with them. Impossible if even one player with all hands could not craft all targets. Undecided if MOST_TRADES trades are not
    enough, or if the solver stops after `nodes` branches.
    """
    together = plan(ruleset, union(hands), union(targets), nodes)
    if not isinstance(together, Plan):
        return together
    hand_keys, target_keys = tuple(freeze(hand) for hand in hands), tuple(freeze(target) for target in targets)
    for pairs in _meetings(len(hands), crafting=False):
        result = _exchanged(ruleset, hand_keys, target_keys, (pairs, False), nodes)
        if result is not None:
            return result
    for pairs in _meetings(len(hands), crafting=True) if crafts and len(hands) <= MOST_SEATS else ():
        result = _exchanged(ruleset, hand_keys, target_keys, (pairs, True), nodes)
        if result is not None:
            return result
    return Undecided(together.at_least)


def perform(ruleset: Ruleset, hands: Sequence[Hand], exchange: Exchange) -> list[dict[str, Amount]]:
    """The hands after an exchange. Raises ValueError for a trade or craft that is not possible."""
    current = [dict(hand) for hand in hands]
    for number, crafts in enumerate(exchange.crafts):
        if number:
            (a, b), offer, request = exchange.trades[number - 1]
            if not covers(current[a], offer) or not covers(current[b], request):
                raise ValueError(f"trade {number}: not in the hand")
            current[a], current[b] = exchange_items(current[a], current[b], offer, request)
        current = [floor_hand(execute(ruleset, hand, steps)) for hand, steps in zip(current, crafts, strict=True)]
    return current


def _meetings(seats: int, crafting: bool) -> Iterator[tuple[tuple[int, int], ...]]:
    """Sequences of pairs of seats that trade, fewest trades first.

    Without crafts between the trades, a sequence is left out if it opens no new path from seat to seat.
    """
    flow_sets: list[set[tuple[int, int]]] = []
    for trades in range(crafting, MOST_TRADES + 1):
        for pairs in product(combinations(range(seats), 2), repeat=trades):
            flows = _flows(pairs)
            if crafting or not any(flows <= other for other in flow_sets):
                flow_sets.append(flows)
                yield pairs


def _flows(pairs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """All (giver, taker) between whom items can pass if these pairs trade in turn."""
    flows: set[tuple[int, int]] = set()
    for a, b in pairs:
        through = {(giver, b) for giver, taker in flows if taker == a} | {
            (giver, a) for giver, taker in flows if taker == b
        }
        flows |= {(a, b), (b, a)} | {(giver, taker) for giver, taker in through if giver != taker}
    return flows


class _Table:
    """The hands of all seats in a program, as numbers and variables, from one trade to the next."""

    def __init__(self, hands: Sequence[Hand], items: Sequence[str]) -> None:
        self.program, self.items = Program(), items
        self.hands: list[Hand] = list(hands)
        self.flows: list[dict[str, dict[int, float]]] = [{item: {} for item in items} for _ in hands]

    def add_gifts(self, giver: int, taker: int) -> dict[str, int]:
        """Item -> the variable for the pieces that a seat gives, with the condition that it holds them."""
        gifts: dict[str, int] = {}
        for item in self.items:
            terms, stock = self.flows[giver][item], int(self.hands[giver].get(item, 0))
            if terms or stock:
                gift = gifts[item] = self.program.add_variable(f"{giver} {taker} {item}", cost=1)
                self.program.add_condition({**terms, gift: -1.0}, low=-stock)
        return gifts

    def move(self, giver: int, taker: int, gifts: Mapping[str, int]) -> None:
        """Moves the gifts from one hand to the other."""
        for item, gift in gifts.items():
            self.flows[giver][item][gift] = -1.0
            self.flows[taker][item][gift] = 1.0

    def craft(self, seat: int, relevant: Part) -> Workshop:
        """Adds a phase in which a seat crafts. Variables say how many pieces of each item it has afterwards."""
        reserve = {item: self.program.add_variable() for item in self.items if item in relevant.items}
        shop = Workshop(self.program, relevant, self.hands[seat], {}, self.flows[seat], reserve)
        self.hands[seat] = {}
        self.flows[seat] = {item: {reserve[item]: 1.0} if item in reserve else {} for item in self.items}
        return shop


@functools.lru_cache(maxsize=1024)
def _exchanged(
    ruleset: Ruleset,
    hand_keys: tuple[Frozen, ...],
    target_keys: tuple[Frozen, ...],
    meetings: tuple[tuple[tuple[int, int], ...], bool],
    nodes: int,
) -> Exchange | Undecided | None:
    """The exchange in which these pairs trade in turn, with crafts between the trades or without. None if there is none."""
    hands, targets = [dict(sorted(hand)) for hand in hand_keys], [dict(sorted(target)) for target in target_keys]
    pairs, crafting = meetings
    everything, seats = union(hands), range(len(hands))
    relevant = part(ruleset, everything, union(targets))
    table = _Table(hands, relevant.items)
    shops: list[Workshop] = []
    gifts_by_meeting: list[tuple[dict[str, int], dict[str, int]]] = []
    for a, b in pairs:
        if crafting:
            parts = [part(ruleset, hand, relevant.items) if not gifts_by_meeting else relevant for hand in hands]
            shops += [table.craft(seat, parts[seat]) for seat in seats]
        gifts_by_meeting.append((table.add_gifts(a, b), table.add_gifts(b, a)))
        table.move(a, b, gifts_by_meeting[-1][0])
        table.move(b, a, gifts_by_meeting[-1][1])
    shops += [
        Workshop(table.program, part(ruleset, everything, target), table.hands[seat], target, table.flows[seat])
        for seat, target in enumerate(targets)
    ]
    result = solve_in_order(table.program, shops, nodes)
    if not result.steps:
        return Undecided(0) if result.status == "undecided" else None
    trades = tuple(
        Trade(
            pair,
            *(
                {item: count for item, gift in gifts.items() if (count := result.solution.count(gift))}
                for gifts in sides
            ),
        )
        for pair, sides in zip(pairs, gifts_by_meeting, strict=True)
    )
    before = [] if crafting else [((),) * len(seats)] * len(pairs)
    crafts = [tuple(result.steps[i : i + len(seats)]) for i in range(0, len(result.steps), len(seats))]
    exchange = Exchange(trades, (*before, *crafts))
    after = perform(ruleset, hands, exchange)
    if not all(covers(hand, target) for hand, target in zip(after, targets, strict=True)):
        raise AssertionError(f"an exchange for {targets} from {hands} ends in {after}")
    return exchange
