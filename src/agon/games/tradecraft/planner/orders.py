"""Putting crafts in an order in which each finds what it needs: crafts that add up may still have none."""

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
    """How often a way is used in all, and for each of its needs which items."""

    way: Way
    times: int
    taken: tuple[dict[str, int], ...]


_State = tuple[dict[str, int], dict[str, Fraction], dict[str, float], list[Step]]
"""What is in stock, what of fuels is lit, how often each way may still be used, and the steps so far."""


class Stuck(NamedTuple):
    """No order reaches the target unless one of these ways is used more often; if there are none, no order does."""

    ways: frozenset[str]


def in_order(part: Part, hand: Hand, uses: Sequence[Use], kept: Hand) -> list[Step] | None:
    """The uses as steps, makers before takers; None if they do not come out in this order.

    Burned is what was held before what is made, what burns shortest first.
    """
    made = {use.way.recipe.makes for use in uses}
    spare = _spare(hand, uses, kept)
    fuels = sorted(part.fuel.keys() & spare.keys(), key=lambda item: (item in made, part.fuel[item], item))
    smelts = sum(use.times for use in uses if use.way.recipe.fuelled)
    fire = _burned(smelts, {item: spare[item] for item in fuels}, part.fuel)
    if fire is None:
        return None
    stock: dict[str, Amount] = dict(hand)
    left = _makers_first(uses, fire)
    steps: list[Step] = []
    while left:
        for place, use in enumerate(left):
            found = _batch(use, stock, fire, part.fuel)
            if found is not None:
                step, rest, fire = found
                steps.append(step)
                stock = plus(minus(stock, step.inputs), step.outputs)
                left[place : place + 1] = [rest] if rest.times else []
                break
        else:
            return None
    return steps


def searched(part: Part, hand: Hand, most: Mapping[str, float], target: Hand) -> list[Step] | Stuck | None:
    """Steps to the target that use no way more often than `most` says, by trying all; None if that was too much."""
    blocked: set[str] = set()
    whole_hand = {item: int(amount) for item, amount in hand.items() if amount >= 1}
    lit = {item: Fraction(amount) % 1 for item, amount in hand.items() if item in part.fuel and amount % 1}
    stack: list[_State] = [(whole_hand, lit, {way: times for way, times in most.items() if times}, [])]
    seen = set()
    while stack:
        stock, lit, left, steps = stack.pop()
        if covers(stock, target):
            return _merged(steps)
        key = frozenset(stock.items()), frozenset(lit.items()), frozenset(left.items())
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > STATES:
            return None
        smelts = sum((amount * part.fuel[item] for item, amount in lit.items()), Fraction(0))
        fuels = [item for item in part.fuel if stock.get(item)]
        for way in part.ways:
            name = way.recipe.id
            if name in blocked and name not in left:
                continue
            fired = not way.recipe.fuelled or smelts >= 1
            for inputs in _choices(way.needs, stock):
                if name not in left:
                    if fired or smelts + sum(part.fuel[item] * stock[item] for item in fuels) >= 1:
                        blocked.add(name)
                    break
                if fired:
                    stack.append(_after(way, inputs, (stock, lit, left, steps), part))
        if smelts < 1 and any(way.recipe.fuelled and way.recipe.id in left for way in part.ways):
            stack += [
                (_less(stock, {item: 1}), lit | {item: lit.get(item, Fraction(0)) + 1}, left, steps) for item in fuels
            ]
    return Stuck(frozenset(blocked))


def _after(way: Way, inputs: dict[str, int], state: _State, part: Part) -> _State:
    """The state after one operation."""
    stock, lit, left, steps = state
    recipe = way.recipe
    burned: dict[str, Amount] = {}
    if recipe.fuelled:
        burned = _burned(1, lit, part.fuel) or {}
        lit = {item: rest for item, amount in lit.items() if (rest := Fraction(amount - burned.get(item, 0)))}
    stock = _less(stock, inputs)
    stock[recipe.makes] = stock.get(recipe.makes, 0) + recipe.number
    step = Step(recipe.id, 1, plus(inputs, burned), {recipe.makes: recipe.number})
    return stock, lit, _less(left, {recipe.id: 1}), [*steps, step]


def _less(counts: Mapping[str, N], less: Mapping[str, int]) -> dict[str, N]:
    return {name: rest for name, count in counts.items() if (rest := count - less.get(name, 0))}


def _merged(steps: Sequence[Step]) -> list[Step]:
    """Operations of one recipe after another as one step."""
    made: list[Step] = []
    for step in steps:
        if made and made[-1].recipe == step.recipe and not made[-1].outputs.keys() & step.inputs.keys():
            last = made.pop()
            step = Step(
                step.recipe, last.times + step.times, plus(last.inputs, step.inputs), plus(last.outputs, step.outputs)
            )
        made.append(step)
    return made


def _choices(needs: Sequence[Need], stock: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """All that one operation could take from a stock."""
    per_need = [list(_mixes(need.members, need.number, stock)) for need in needs]
    for chosen in product(*per_need):
        inputs: dict[str, int] = {}
        for each in chosen:
            for item, count in each.items():
                inputs[item] = inputs.get(item, 0) + count
        if all(stock[item] >= count for item, count in inputs.items()):
            yield inputs


def _mixes(members: Sequence[str], count: int, stock: Mapping[str, int]) -> Iterator[dict[str, int]]:
    if not count:
        yield {}
    elif members:
        for taken in range(min(count, stock.get(members[0], 0)), -1, -1):
            for rest in _mixes(members[1:], count - taken, stock):
                yield {members[0]: taken, **rest} if taken else rest


def _spare(hand: Hand, uses: Sequence[Use], kept: Hand) -> dict[str, Amount]:
    """What may be burned: neither an ingredient nor kept."""
    left: dict[str, Amount] = dict(hand)
    for use in uses:
        left[use.way.recipe.makes] = left.get(use.way.recipe.makes, 0) + use.times * use.way.recipe.number
    for taken in [*(taken for use in uses for taken in use.taken), kept]:
        for item, amount in taken.items():
            left[item] = left.get(item, 0) - amount
    return {item: amount for item, amount in left.items() if amount > 0}


def _burned(smelts: int, fuels: Hand, worth: Mapping[str, Fraction]) -> dict[str, Amount] | None:
    """How much of each fuel goes for some operations, the first one first; None if they do not last."""
    gone: dict[str, Amount] = {}
    need = Fraction(smelts)
    for item, amount in fuels.items():
        if need and amount > 0:
            part = min(Fraction(amount), need / worth[item])
            gone[item] = whole(part)
            need -= part * worth[item]
    return None if need else gone


def _makers_first(uses: Sequence[Use], fire: Collection[str]) -> list[Use]:
    """The uses so that what makes an item comes before what takes it, as far as there is such an order."""
    left, sorted_uses = list(uses), list[Use]()
    while left:
        to_make = {use.way.recipe.makes for use in left}
        free = next((use for use in left if not _takes(use, fire) & to_make), left[0])
        left.remove(free)
        sorted_uses.append(free)
    return sorted_uses


def _takes(use: Use, fire: Collection[str]) -> set[str]:
    return {item for taken in use.taken for item in taken} | (set(fire) if use.way.recipe.fuelled else set())


def _batch(
    use: Use, stock: Hand, fire: Hand, worth: Mapping[str, Fraction]
) -> tuple[Step, Use, dict[str, Amount]] | None:
    """As much of a use as the stock allows in one step, what is left of the use, and what is left to burn."""
    recipe, times = use.way.recipe, use.times
    while times:
        taken = [
            _taken(need.number * times, given, stock) for need, given in zip(use.way.needs, use.taken, strict=True)
        ]
        inputs: dict[str, Amount] = {}
        for each in taken:
            inputs = plus(inputs, each or {})
        burned: dict[str, Amount] | None = {}
        if recipe.fuelled and None not in taken and covers(stock, inputs):
            rest = minus(stock, inputs)
            burned = _burned(times, {item: min(fire[item], rest.get(item, 0)) for item in fire}, worth)
        if None not in taken and burned is not None and covers(stock, plus(inputs, burned)):
            step = Step(recipe.id, times, plus(inputs, burned), {recipe.makes: times * recipe.number})
            kept = tuple(_less(given, each or {}) for given, each in zip(use.taken, taken, strict=True))
            return step, Use(use.way, use.times - times, kept), minus(fire, burned)
        times //= 2
    return None


def _taken(count: int, given: Mapping[str, int], stock: Hand) -> dict[str, int] | None:
    """`count` pieces out of those that a use takes; None where the stock lacks them."""
    taken: dict[str, int] = {}
    for item, most in given.items():
        if amount := min(count, most, int(stock.get(item, 0))):
            taken[item] = amount
            count -= amount
    return None if count else taken
