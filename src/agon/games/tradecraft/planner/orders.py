"""Orders of crafts in which each craft finds its ingredients. Crafts whose amounts add up may still have no order."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple, TypeVar

from agon.games.tradecraft.amounts import Amount, Hand, covers, minus, plus, whole
from agon.games.tradecraft.planner.parts import Need, Part, Way

STATES = 20_000
"""States after which the search for an order ends undecided."""


N = TypeVar("N", int, float)


class Step(NamedTuple):
    """A craft of a plan, as a player would ask for it."""

    recipe: str
    times: int
    inputs: dict[str, Amount]
    outputs: dict[str, Amount]


class Use(NamedTuple):
    """How often a plan uses a way, and which items it takes for each need of the way."""

    way: Way
    times: int
    mixes: tuple[dict[str, int], ...]


_State = tuple[dict[str, int], dict[str, Fraction], dict[str, float], list[Step]]
"""The stock, the fuel that is lit, how often each way may still be used, and the steps so far."""


class Stuck(NamedTuple):
    """No order reaches the target unless one of these ways is used more often. Without ways, no order reaches it at all."""

    ways: frozenset[str]


def order_steps(part: Part, hand: Hand, uses: Sequence[Use], reserve: Hand) -> list[Step] | None:
    """The uses as steps in which the maker of an item comes before its takers; None if this order does not work.

    Fuel from the hand burns before fuel that is made. Of these, the fuel worth least burns first.
    """
    products = {use.way.recipe.makes for use in uses}
    spare = _spare(hand, uses, reserve)
    fuels = sorted(part.fuel.keys() & spare.keys(), key=lambda item: (item in products, part.fuel[item], item))
    smelts = sum(use.times for use in uses if use.way.recipe.fuelled)
    fire = _burn(smelts, {item: spare[item] for item in fuels}, part.fuel)
    if fire is None:
        return None
    stock: dict[str, Amount] = dict(hand)
    remaining = _makers_first(uses, fire)
    steps: list[Step] = []
    while remaining:
        for place, use in enumerate(remaining):
            batch = _batch(use, stock, fire, part.fuel)
            if batch is not None:
                step, rest, fire = batch
                steps.append(step)
                stock = plus(minus(stock, step.inputs), step.outputs)
                remaining[place : place + 1] = [rest] if rest.times else []
                break
        else:
            return None
    return steps


def search_order(part: Part, hand: Hand, most: Mapping[str, float], target: Hand) -> list[Step] | Stuck | None:
    """Steps to the target in which no way is used more often than `most` says. All orders are tried.

    None after STATES states.
    """
    blocked: set[str] = set()
    whole_hand = {item: int(amount) for item, amount in hand.items() if amount >= 1}
    burning = {item: Fraction(amount) % 1 for item, amount in hand.items() if item in part.fuel and amount % 1}
    stack: list[_State] = [(whole_hand, burning, {way: times for way, times in most.items() if times}, [])]
    visited = set()
    while stack:
        stock, burning, remaining, steps = stack.pop()
        if covers(stock, target):
            return _merge(steps)
        key = frozenset(stock.items()), frozenset(burning.items()), frozenset(remaining.items())
        if key in visited:
            continue
        visited.add(key)
        if len(visited) > STATES:
            return None
        smelts = sum((amount * part.fuel[item] for item, amount in burning.items()), Fraction(0))
        fuels = [item for item in part.fuel if stock.get(item)]
        for way in part.ways:
            name = way.recipe.id
            if name in blocked and name not in remaining:
                continue
            fired = not way.recipe.fuelled or smelts >= 1
            for inputs in _choices(way.needs, stock):
                if name not in remaining:
                    if fired or smelts + sum(part.fuel[item] * stock[item] for item in fuels) >= 1:
                        blocked.add(name)
                    break
                if fired:
                    stack.append(_after(way, inputs, (stock, burning, remaining, steps), part))
        if smelts < 1 and any(way.recipe.fuelled and way.recipe.id in remaining for way in part.ways):
            stack += [
                (_less(stock, {item: 1}), burning | {item: burning.get(item, Fraction(0)) + 1}, remaining, steps)
                for item in fuels
            ]
    return Stuck(frozenset(blocked))


def _after(way: Way, inputs: dict[str, int], state: _State, part: Part) -> _State:
    """The state after one operation."""
    stock, burning, remaining, steps = state
    recipe = way.recipe
    fuel: dict[str, Amount] = {}
    if recipe.fuelled:
        fuel = _burn(1, burning, part.fuel) or {}
        burning = {item: rest for item, amount in burning.items() if (rest := Fraction(amount - fuel.get(item, 0)))}
    stock = _less(stock, inputs)
    stock[recipe.makes] = stock.get(recipe.makes, 0) + recipe.number
    step = Step(recipe.id, 1, plus(inputs, fuel), {recipe.makes: recipe.number})
    return stock, burning, _less(remaining, {recipe.id: 1}), [*steps, step]


def _less(counts: Mapping[str, N], less: Mapping[str, int]) -> dict[str, N]:
    return {name: rest for name, count in counts.items() if (rest := count - less.get(name, 0))}


def _merge(steps: Sequence[Step]) -> list[Step]:
    """The steps, with consecutive operations of one recipe in a single step."""
    merged: list[Step] = []
    for step in steps:
        if merged and merged[-1].recipe == step.recipe and not merged[-1].outputs.keys() & step.inputs.keys():
            previous = merged.pop()
            step = Step(
                step.recipe,
                previous.times + step.times,
                plus(previous.inputs, step.inputs),
                plus(previous.outputs, step.outputs),
            )
        merged.append(step)
    return merged


def _choices(needs: Sequence[Need], stock: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Every set of ingredients that one operation can take from a stock."""
    per_need = [list(_mixes(need.members, need.number, stock)) for need in needs]
    for combination in product(*per_need):
        inputs: dict[str, int] = {}
        for mix in combination:
            for item, count in mix.items():
                inputs[item] = inputs.get(item, 0) + count
        if all(stock[item] >= count for item, count in inputs.items()):
            yield inputs


def _mixes(members: Sequence[str], count: int, stock: Mapping[str, int]) -> Iterator[dict[str, int]]:
    if not count:
        yield {}
    elif members:
        for pieces in range(min(count, stock.get(members[0], 0)), -1, -1):
            for rest in _mixes(members[1:], count - pieces, stock):
                yield {members[0]: pieces, **rest} if pieces else rest


def _spare(hand: Hand, uses: Sequence[Use], reserve: Hand) -> dict[str, Amount]:
    """The pieces that may burn: those that are neither ingredients nor in reserve."""
    stock: dict[str, Amount] = dict(hand)
    for use in uses:
        stock[use.way.recipe.makes] = stock.get(use.way.recipe.makes, 0) + use.times * use.way.recipe.number
    for mix in [*(mix for use in uses for mix in use.mixes), reserve]:
        for item, amount in mix.items():
            stock[item] = stock.get(item, 0) - amount
    return {item: amount for item, amount in stock.items() if amount > 0}


def _burn(smelts: int, fuels: Hand, worth: Mapping[str, Fraction]) -> dict[str, Amount] | None:
    """How much of each fuel some operations burn. The fuels burn in their order; None if they are not enough."""
    amounts: dict[str, Amount] = {}
    heat = Fraction(smelts)
    for item, amount in fuels.items():
        if heat and amount > 0:
            part = min(Fraction(amount), heat / worth[item])
            amounts[item] = whole(part)
            heat -= part * worth[item]
    return None if heat else amounts


def _makers_first(uses: Sequence[Use], fire: Collection[str]) -> list[Use]:
    """The uses, sorted so that the maker of an item comes before its takers as far as possible."""
    remaining, order = list(uses), list[Use]()
    while remaining:
        to_make = {use.way.recipe.makes for use in remaining}
        free = next((use for use in remaining if not _ingredients(use, fire) & to_make), remaining[0])
        remaining.remove(free)
        order.append(free)
    return order


def _ingredients(use: Use, fire: Collection[str]) -> set[str]:
    return {item for mix in use.mixes for item in mix} | (set(fire) if use.way.recipe.fuelled else set())


def _batch(
    use: Use, stock: Hand, fire: Hand, worth: Mapping[str, Fraction]
) -> tuple[Step, Use, dict[str, Amount]] | None:
    """The largest step of a use that the stock allows, the rest of the use, and the rest of the fuel."""
    recipe, times = use.way.recipe, use.times
    while times:
        mixes = [_take(need.number * times, mix, stock) for need, mix in zip(use.way.needs, use.mixes, strict=True)]
        inputs: dict[str, Amount] = {}
        for pieces in mixes:
            inputs = plus(inputs, pieces or {})
        fuel: dict[str, Amount] | None = {}
        if recipe.fuelled and None not in mixes and covers(stock, inputs):
            rest = minus(stock, inputs)
            fuel = _burn(times, {item: min(fire[item], rest.get(item, 0)) for item in fire}, worth)
        if None not in mixes and fuel is not None and covers(stock, plus(inputs, fuel)):
            step = Step(recipe.id, times, plus(inputs, fuel), {recipe.makes: times * recipe.number})
            rest_of_mixes = tuple(_less(mix, pieces or {}) for mix, pieces in zip(use.mixes, mixes, strict=True))
            return step, Use(use.way, use.times - times, rest_of_mixes), minus(fire, fuel)
        times //= 2
    return None


def _take(count: int, mix: Mapping[str, int], stock: Hand) -> dict[str, int] | None:
    """`count` pieces of a mix; None if the stock lacks them."""
    pieces: dict[str, int] = {}
    for item, most in mix.items():
        if amount := min(count, most, int(stock.get(item, 0))):
            pieces[item] = amount
            count -= amount
    return None if count else pieces
