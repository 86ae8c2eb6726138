"""Scripts that play TradeCraft. They plan exactly (planner) and differ in their attitude to the progress of others.

A script is a pure function of the observation. The personas are rules for those of the paper's section 4.3.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Literal, get_args

from agon.games import Dice, Observation
from agon.games.tradecraft import Call, Hand, TableView, table_view
from agon.games.tradecraft.amounts import covers, exchange_items, format_hand, hand_to_json, minus, plus
from agon.games.tradecraft.game import Facts, hands_by_seat
from agon.games.tradecraft.planner.orders import Step
from agon.games.tradecraft.planner.parts import part
from agon.games.tradecraft.planner.search import Plan, count_shortage, plan
from agon.games.tradecraft.planner.trading import Needs, needs, union
from agon.registry import kind

Persona = Literal["unprimed", "cooperative", "competitive"]


@kind("agon.agents.traders.trader")
def trader(view: Observation, dice: Dice, *, persona: Persona = "unprimed") -> Call:
    """Asks for the fewest units that it needs, offers what it does not need itself, and crafts as soon as it can.

    unprimed: offers as many units as it asks for, and takes what brings it nearer to its target, or costs it nothing.
    cooperative: says what it is after, offers first what the other asked for, gives it away where there is nothing to ask for,
    and takes all that does not put it back.
    competitive: offers half, last what the other asked for, and takes only what brings it nearer for no more than it gets.
    After each rejection the next offer to that player is one unit more.
    """
    if persona not in get_args(Persona):
        raise ValueError(f"persona is {persona!r}; it must be {', '.join(get_args(Persona))}")
    if not isinstance(view.rules, Facts):
        raise ValueError("traders play TradeCraft, no other game")
    table = table_view(view)
    if view.phase == "propose":
        return _proposal(view, table, persona)
    if view.phase == "decide":
        return Call(tool="decide", decision="accept" if _accepts(view, table, persona) else "reject", message="")
    return _next_craft(view, table)


def _next_craft(view: Observation, table: TableView) -> Call:
    steps = _steps(view, table)
    if not steps:
        return Call(tool="craft_done")
    return Call(tool="craft_apply", inputs=hand_to_json(steps[0].inputs), outputs=hand_to_json(steps[0].outputs))


def _steps(view: Observation, table: TableView) -> Sequence[Step]:
    """The rest of the shortest plan with which the seat began to craft.

    It plans again if the plan makes a fuel, because another fuel can then be better for the later steps.
    """
    ruleset, hand = view.rules.ruleset, table.hands[view.rules.players[view.seat]]
    first_plan = plan(ruleset, hand, table.target)
    steps = first_plan.steps if isinstance(first_plan, Plan) else ()
    burns = any(ruleset.recipe(step.recipe).fuelled for step in steps)
    if not burns or all(ruleset.fuel.keys().isdisjoint(step.outputs) for step in steps):
        for count, step in enumerate(steps):
            if hand == table.hand:
                return steps[count:]
            hand = plus(minus(hand, step.inputs), step.outputs)
    new_plan = plan(ruleset, table.hand, table.target)
    return new_plan.steps if isinstance(new_plan, Plan) else ()


def _proposal(view: Observation, table: TableView, persona: Persona) -> Call:
    answer = _needs(view, hands_by_seat(view, table), table.target)
    if not isinstance(answer, Needs) or not answer.gives:
        return _without_need(view, table, answer, persona)
    giver = max(sorted(answer.gives), key=lambda seat: sum(answer.gives[seat].values()))
    request = answer.gives[giver]
    gifts = plus({}, {item: count for items in answer.gives.values() for item, count in items.items()})
    spare = _spare(table.hand, answer.plan, gifts)
    requested = sum(request.values())
    units = (requested + 1) // 2 if persona == "competitive" else requested
    requests = _requests_of(view, giver)
    offer = _pick(spare, requests, units + _rejections(view, giver), preferred_first=persona != "competitive")
    words = f"I need this for {format_hand(table.target)}. Tell me what you need." if persona == "cooperative" else ""
    return _call(view, giver, offer, request, words)


def _without_need(view: Observation, table: TableView, answer: object, persona: Persona) -> Call:
    """The proposal of a player who needs nothing from the others, or whom they cannot help."""
    partner = (view.seat + 1) % view.rules.seats
    gift: dict[str, int] = {}
    if persona == "cooperative":
        own_plan = answer.plan if isinstance(answer, Needs) else None
        requests = _requests_of(view, partner)
        gift = {item: n for item, n in _spare(table.hand, own_plan, {}).items() if item in requests}
    return _call(view, partner, gift, {}, "Take this, I can spare it." if gift else "")


def _accepts(view: Observation, table: TableView, persona: Persona) -> bool:
    proposal = table.proposal
    assert proposal is not None
    hands, proposer = hands_by_seat(view, table), view.rules.players.index(proposal["proposer"])
    answer = _needs(view, hands, table.target)
    before = _units_missing(answer)
    hands[proposer], hands[view.seat] = exchange_items(
        hands[proposer], hands[view.seat], proposal["offer"], proposal["request"]
    )
    getting, giving = sum(proposal["offer"].values()), sum(proposal["request"].values())
    if persona == "competitive" and giving > getting:  # no more than it gets, unless the trade ends its needs
        return before > 0 and isinstance(plan(view.rules.ruleset, hands[view.seat], table.target), Plan)
    after = _units_missing_after(view, hands, table.target, answer, proposal["offer"])
    if persona == "cooperative":
        return after <= before
    if persona == "competitive":
        return after < before
    return after < before or (after == before and getting > 0 and getting >= giving)


def _needs(view: Observation, hands: Sequence[Hand], target: Hand) -> object:
    return needs(view.rules.ruleset, hands, view.seat, target)


def _units_missing(answer: object) -> float:
    """The units that the seat still needs; infinite if no gift is enough, or none is known."""
    return answer.units if isinstance(answer, Needs) else inf


def _units_missing_after(view: Observation, hands: Sequence[Hand], target: Hand, before: object, got: Hand) -> float:
    """The fewest units that the seat needs after a trade, or more if that changes no decision.

    The shortage of the old plan is enough without a new one if the partner of that plan can still give it. If it is smaller than
    before, so is the true number (0 only if the seat can craft alone). If nothing that the seat got is relevant for its target, it
    is the true number.
    """
    ruleset, hand = view.rules.ruleset, hands[view.seat]
    if isinstance(before, Needs) and before.trades == 1:
        if isinstance(plan(ruleset, hand, target), Plan):
            return 0
        ((giver, gives),) = before.gives.items()
        lacks = count_shortage(hand, before.plan.steps, target)
        if covers(gives, lacks) and covers(hands[giver], lacks):
            units = sum(lacks.values())
            if units < before.units or set(part(ruleset, union(hands), target).items).isdisjoint(got):
                return units
    return _units_missing(_needs(view, hands, target))


def _spare(hand: Hand, own_plan: Plan | None, gifts: Hand) -> dict[str, int]:
    """The pieces of a hand that the plan does not take after the gifts."""
    inputs: dict[str, Any] = {}
    stock: dict[str, Any] = dict(gifts)
    for step in own_plan.steps if own_plan is not None else ():
        for item, amount in step.inputs.items():
            pieces = min(stock.get(item, 0), amount)
            stock[item] = stock.get(item, 0) - pieces
            inputs[item] = inputs.get(item, 0) + amount - pieces
        stock = plus(stock, step.outputs)
    rest = {item: amount - inputs.get(item, 0) for item, amount in hand.items()}
    return {item: int(amount) for item, amount in sorted(rest.items()) if amount >= 1}


def _requests_of(view: Observation, partner: int) -> set[str]:
    """The items that the partner has requested from this seat."""
    return {
        item
        for event in view.past
        if event.phase == "proposal" and event.seat == partner
        for item in event.value["request"]
    }


def _rejections(view: Observation, partner: int) -> int:
    """The number of proposals of this seat that the partner has rejected."""
    return sum(
        event.phase == "decision" and event.seat == partner and event.value["decision"] == "reject"
        for event in view.past
    )


def _pick(spare: Mapping[str, int], preferred: set[str], units: int, preferred_first: bool) -> dict[str, int]:
    """Up to `units` spare pieces, beginning with the items of which the seat has most."""
    order = sorted(spare, key=lambda item: ((item in preferred) != preferred_first, -spare[item], item))
    picked: dict[str, int] = {}
    for item in order:
        if count := min(spare[item], units - sum(picked.values())):
            picked[item] = count
    return picked


def _call(view: Observation, partner: int, offer: Hand, request: Hand, message: str) -> Call:
    player = view.rules.players[partner]
    return Call(
        tool="submit_proposal",
        partner=player,
        offer=hand_to_json(offer),
        request=hand_to_json(request),
        message=message,
    )
