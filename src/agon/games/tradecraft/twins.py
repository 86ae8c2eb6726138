"""For twins of TradeCraft (agon_twins.family).

The solution of a problem is its shortest chains and the items that must change hands. The planner finds and proves them.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from agon.games import Game, Observation
from agon.games.tradecraft.amounts import hand_from_json
from agon.games.tradecraft.game import hands_by_seat, table_view
from agon.games.tradecraft.planner.search import Plan, plan
from agon.games.tradecraft.planner.trading import Needs, needs, union

BY_SEAT = frozenset({"hands"})


def solutions(game: Game[Any]) -> dict[str, Any]:
    """For every player: the operations of the shortest chain from all hands to its target, and the fewest units that it needs."""
    state = game.start(Random(0))
    view = game.observe(state, game.to_move(state)[0])
    hands = [table_view(view).hands[player] for player in game.players]
    targets = [hand_from_json(game.seat_facts(seat)["target"]) for seat in range(game.seats)]
    chains, units = {}, {}
    for seat, (player, target) in enumerate(zip(game.players, targets, strict=True)):
        answer = plan(view.rules.ruleset, union(hands), target)
        chains[player] = answer.operations if isinstance(answer, Plan) else answer.verdict
        gifts = needs(view.rules.ruleset, hands, seat, target)
        units[player] = gifts.units if isinstance(gifts, Needs) else gifts.verdict
    joint = plan(view.rules.ruleset, union(hands), union(targets))
    together = joint.operations if isinstance(joint, Plan) else joint.verdict
    return {"chain": chains, "units": units, "together": together}


Requests = Mapping[tuple[str, frozenset[tuple[str, Any]]], float]
"""(player, its items) -> the share of proposals that request them. Offers are left out, because no solution has them."""


def solver(game: Game[Any]) -> Callable[[Observation], Requests]:
    """A player who requests the fewest units that it needs. It has no answer in other phases than propose."""

    def mix(view: Observation) -> Requests:
        if view.phase != "propose":
            return {}
        table = table_view(view)
        answer = needs(view.rules.ruleset, hands_by_seat(view, table), view.seat, table.target)
        gives = answer.gives if isinstance(answer, Needs) else {}
        requests = [(view.rules.players[seat], frozenset(items.items())) for seat, items in gives.items()]
        return dict.fromkeys(requests or [("nobody", frozenset[tuple[str, Any]]())], 1 / max(1, len(requests)))

    return mix


def by_words(view: Observation) -> Requests:
    """A player who requests more of an item, the later it is in the alphabet."""
    return _more_and_more(view, lambda items: sorted(items, key=str.casefold))


def by_position(view: Observation) -> Requests:
    """A player who requests more of an item, the later it stands in the others' hands, counted from its seat's number."""
    return _more_and_more(view, lambda items: items[view.seat % len(items) :] + items[: view.seat % len(items)])


def _more_and_more(view: Observation, order: Callable[[list[str]], list[str]]) -> Requests:
    hands = {player: hand for player, hand in table_view(view).hands.items() if player != view.rules.players[view.seat]}
    items = list(dict.fromkeys(item for hand in hands.values() for item in hand))
    if view.phase != "propose" or not items:
        return {}
    return {("anybody", frozenset((item, place) for place, item in enumerate(order(items), 1))): 1.0}
