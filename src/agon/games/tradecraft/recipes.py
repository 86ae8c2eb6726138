"""Rulesets of TradeCraft as values: items, tags, recipes and fuel, compiled so that a craft is checked in microseconds."""

import functools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from agon.games.tradecraft.amounts import Amount, Hand, covers, minus, shorten, whole

SHOWN = 6
"""Ways to make an item that a refusal names."""


class Recipe(NamedTuple):
    """One operation: its ingredients and its product."""

    id: str
    """Its name in the ruleset: the item it makes, with a number where several recipes make it."""
    station: str
    """Where it is done (shaped, smelting, ...); stations are free."""
    needs: tuple[tuple[str, int], ...]
    """Ingredients and how many of each: items, or #tags of which any members do, mixed."""
    makes: str
    number: int
    """The number of pieces that one operation makes."""
    fuelled: bool = False
    """Whether an operation burns fuel: one smelt."""


class Craft(NamedTuple):
    """An allowed craft: the items that it uses up, and those that it makes."""

    recipe: Recipe
    times: int
    inputs: Hand
    outputs: Hand


class Refusal(NamedTuple):
    """Why a call is refused."""

    fault: str
    """In a few words: no such recipe, wrong amounts, not in the hand ..."""
    text: str
    """One line for the player."""


class Shape(NamedTuple):
    """The ingredients of a recipe in a form for fast checks. A set of ingredients is a number with a bit for each of them."""

    plain: Mapping[str, int] | None
    """Item -> pieces of one operation; None for a recipe with tags or fuel."""
    kinds: Mapping[str, int]
    """Item -> the ingredients that it may be, as bits."""
    limits: tuple[tuple[int, int], ...]
    """(set of ingredients, pieces that they take together). Items that fit only these ingredients may not be more pieces
    (Hall's condition). If no item fits two ingredients, sets of one ingredient are enough."""
    total: int
    """The pieces that one operation takes."""


@dataclass(frozen=True, eq=False)
class Ruleset:
    """Items and how they are made (paper TradeCraft, section 3). Two rulesets of one digest are the same."""

    name: str
    items: tuple[str, ...]
    recipes: tuple[Recipe, ...]
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fuel: Mapping[str, Fraction] = field(default_factory=dict)
    """Item -> the smelts for which one piece of it burns."""
    basic: tuple[str, ...] = ()
    """The items from which all others are made. If empty, these are the items that no recipe makes."""
    digest: str = ""
    """A hash of the ruleset's file."""
    _making: Mapping[str, tuple[Recipe, ...]] = field(init=False, repr=False)
    _using: Mapping[str, tuple[Recipe, ...]] = field(init=False, repr=False)
    _ids: Mapping[str, Recipe] = field(init=False, repr=False)
    _places: Mapping[str, int] = field(init=False, repr=False)
    _shapes: dict[str, Shape] = field(init=False, repr=False)
    """A cache by recipe id."""
    _ways_text: dict[str, str] = field(init=False, repr=False)
    """A cache: item -> the ways to make it, in words."""
    _heat: Mapping[str, int] = field(init=False, repr=False)
    """Fuel -> its worth as a whole number. `_scale` is the worth of one smelt."""
    _scale: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        making: dict[str, list[Recipe]] = {}
        using: dict[str, list[Recipe]] = {}
        for recipe in self.recipes:
            making.setdefault(recipe.makes, []).append(recipe)
            for need, _ in recipe.needs:
                for item in self.members(need):
                    takers = using.setdefault(item, [])
                    if not takers or takers[-1] is not recipe:
                        takers.append(recipe)
        scale = math.lcm(*(worth.denominator for worth in self.fuel.values()))
        for name, value in {
            "tags": MappingProxyType(dict(self.tags)),
            "fuel": MappingProxyType(dict(self.fuel)),
            "_making": {item: tuple(makers) for item, makers in making.items()},
            "_using": {item: tuple(takers) for item, takers in using.items()},
            "_ids": {recipe.id: recipe for recipe in self.recipes},
            "_places": {recipe.id: place for place, recipe in enumerate(self.recipes)},
            "_heat": {item: int(worth * scale) for item, worth in self.fuel.items()},
            "_scale": scale,
            "_shapes": {},
            "_ways_text": {},
        }.items():
            object.__setattr__(self, name, value)
        if len(self._ids) < len(self.recipes):
            raise ValueError(f"ruleset {self.name}: two recipes have the same id")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ruleset)
            and (self.name, self.digest) == (other.name, other.digest)
            and (bool(self.digest) or self is other)
        )

    def __hash__(self) -> int:
        return hash((self.name, self.digest))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = self.name, self.items, self.recipes, dict(self.tags), dict(self.fuel), self.basic, self.digest
        return Ruleset, fields

    def members(self, need: str) -> tuple[str, ...]:
        """The items that an ingredient may be. An unknown tag has none."""
        return self.tags.get(need[1:], ()) if need.startswith("#") else (need,)

    def made_by(self, item: str) -> tuple[Recipe, ...]:
        """Recipes that make an item."""
        return self._making.get(item, ())

    def used_in(self, item: str) -> tuple[Recipe, ...]:
        """Recipes that take an item, directly or by a tag. Use as fuel does not count."""
        return self._using.get(item, ())

    def recipe(self, id: str) -> Recipe | None:
        """The recipe with this id."""
        return self._ids.get(id)

    def raw(self) -> frozenset[str]:
        """The items from which all others are made."""
        return frozenset(self.basic or [item for item in self.items if item not in self._making])

    def reachable(self, items: Collection[str]) -> frozenset[str]:
        """All items that can be made from unlimited amounts of some items. They include these items."""
        return _reachable(self, frozenset(items))

    def possible(self, hand: Hand) -> list[Recipe]:
        """Recipes whose ingredients for one operation are in the hand, in the ruleset's order."""
        candidates = {
            recipe.id: recipe for item, amount in hand.items() if amount >= 1 for recipe in self.used_in(item)
        }
        possible = [recipe for recipe in candidates.values() if self._covers(hand, recipe)]
        return sorted(possible, key=lambda recipe: self._places[recipe.id])

    def match_craft(self, inputs: Hand, outputs: Hand) -> Craft | Refusal:
        """The craft of one recipe that uses up exactly `inputs` and makes exactly `outputs`, or the reason why there is none."""
        if len(outputs) != 1:
            return Refusal("no such recipe", f"a craft makes one kind of item, not {len(outputs)}")
        ((item, amount),) = outputs.items()
        for recipe in self._making.get(item, ()):
            times, rest = divmod(amount, recipe.number)
            if not rest and times >= 1 and self._exactly(recipe, int(times), inputs):
                return Craft(recipe, int(times), inputs, outputs)
        return self._explain_refusal(item, amount, inputs)

    def fill_craft(self, recipe: Recipe, times: int, hand: Hand) -> Craft | Refusal:
        """`times` operations of a recipe with items of the hand. Refused if there is a choice of ingredients or fuel."""
        inputs: dict[str, Amount] = {}
        for need, count in recipe.needs:
            stock = {item: int(hand[item]) for item in self.members(need) if hand.get(item, 0) >= 1}
            if sum(stock.values()) < count * times:
                return self._lack(recipe, times)
            if len(stock) > 1 and sum(stock.values()) > count * times:
                return Refusal("wrong amounts", f"{need} may be {' or '.join(stock)}: say which by `inputs`")
            for item, pieces in stock.items():
                inputs[item] = inputs.get(item, 0) + min(pieces, count * times)
        if not covers(hand, inputs):
            return self._lack(recipe, times)
        if recipe.fuelled:
            fuels = {item: amount for item, amount in minus(hand, inputs).items() if item in self.fuel}
            if sum(amount * self.fuel[item] for item, amount in fuels.items()) < times:
                return self._lack(recipe, times)
            if len(fuels) > 1:
                return Refusal(
                    "wrong amounts", f"{recipe.id} may burn {' or '.join(fuels)}: say which and how much by `inputs`"
                )
            ((burned_item, _),) = fuels.items()
            inputs[burned_item] = whole(inputs.get(burned_item, 0) + times / self.fuel[burned_item])
        return Craft(recipe, times, inputs, {recipe.makes: recipe.number * times})

    def format_inputs(self, recipe: Recipe, times: int = 1) -> str:
        """The ingredients of some operations in words: '1 stick + 1 any of coals (charcoal, coal) + fuel for 1 smelt'."""
        parts = [
            f"{count * times} any of {need[1:]} ({', '.join(self.members(need))})"
            if need.startswith("#")
            else f"{count * times} {need}"
            for need, count in recipe.needs
        ]
        fuel = [f"fuel for {times} smelt{'s' if times > 1 else ''}"] if recipe.fuelled else []
        return " + ".join([*parts, *fuel])

    def _shape(self, recipe: Recipe) -> Shape:
        shape_of_recipe = self._shapes.get(recipe.id)
        if shape_of_recipe is None:
            shape_of_recipe = self._shapes[recipe.id] = shape(recipe, [self.members(need) for need, _ in recipe.needs])
        return shape_of_recipe

    def _exactly(self, recipe: Recipe, times: int, inputs: Hand) -> bool:
        """Whether `times` operations use up exactly `inputs`."""
        plain, kinds, limits, total = self._shapes.get(recipe.id) or self._shape(recipe)
        if plain is not None:
            return len(inputs) == len(plain) and all(inputs.get(item) == n * times for item, n in plain.items())
        if recipe.fuelled:
            return self._burns(recipe, times, inputs)
        counts: dict[int, int] = {}
        for item, amount in inputs.items():
            bits = kinds.get(item, 0)
            if not bits or amount.denominator != 1:
                return False
            counts[bits] = counts.get(bits, 0) + int(amount)
        return sum(counts.values()) == total * times and _fits(counts, limits, times)

    def _burns(self, recipe: Recipe, times: int, inputs: Hand) -> bool:
        """`_exactly` for a recipe that burns fuel. Items that may be ingredient or fuel are grouped by ingredients and worth."""
        _, kinds, limits, total = self._shape(recipe)
        counts: dict[int, int] = {}
        either: dict[tuple[int, int], int] = {}
        heat: Amount = -self._scale * times
        for item, amount in inputs.items():
            bits, worth = kinds.get(item, 0), self._heat.get(item)
            if worth is not None:
                heat += whole(amount * worth)
                if bits:
                    either[bits, worth] = either.get((bits, worth), 0) + int(amount)
            elif bits and amount.denominator == 1:
                counts[bits] = counts.get(bits, 0) + int(amount)
            else:
                return False
        rest = total * times - sum(counts.values())
        if not either:
            return not rest and not heat and _fits(counts, limits, times)
        groups = [(worth, most) for (_, worth), most in either.items()]
        return heat.denominator == 1 and any(
            _fits(_add_counts(counts, either, pieces), limits, times) for pieces in _split(groups, rest, int(heat))
        )

    def _covers(self, hand: Hand, recipe: Recipe) -> bool:
        """Whether the hand is enough for one operation. Pieces worth least as fuel become ingredients; the rest may burn."""
        plain, kinds, limits, total = self._shape(recipe)
        if plain is not None:
            return covers(hand, plain)
        fuel = self.fuel if recipe.fuelled else {}
        counts: dict[int, int] = {}
        fuel_value = Fraction(0)
        for item in sorted(kinds.keys() & hand.keys(), key=lambda item: (fuel.get(item, 0), item)):
            bits = kinds[item]
            room = min(
                limit - sum(pieces for other, pieces in counts.items() if not other & ~among)
                for among, limit in limits
                if not bits & ~among
            )
            pieces = min(room, int(hand[item]))
            counts[bits] = counts.get(bits, 0) + pieces
            fuel_value -= pieces * fuel.get(item, 0)
        if sum(counts.values()) < total:
            return False
        return not recipe.fuelled or fuel_value + sum(hand[item] * fuel[item] for item in hand if item in fuel) >= 1

    def _kinds_fit(self, recipe: Recipe, inputs: Hand) -> bool:
        """Whether the inputs are of the right kinds, whatever their amounts."""
        kinds, bits = self._shape(recipe).kinds, 0
        for item in inputs:
            if item in kinds:
                bits |= kinds[item]
            elif not recipe.fuelled or item not in self.fuel:
                return False
        return bits + 1 == 1 << len(recipe.needs)

    def _explain_refusal(self, item: str, amount: Amount, inputs: Hand) -> Refusal:
        """Why no recipe makes `amount` of an item out of the inputs."""
        ways = self._making.get(item, ())
        close = [recipe for recipe in ways if self._kinds_fit(recipe, inputs)]
        fitting = [recipe for recipe in close if not amount % recipe.number]
        if fitting:
            takes = self.format_inputs(fitting[0], int(amount / fitting[0].number))
            return Refusal("wrong amounts", f"{amount} {item} takes exactly {takes}")
        if close:
            takes = self.format_inputs(close[0])
            return Refusal(
                "wrong amounts",
                f"one operation makes {close[0].number} {item} out of {takes}: it cannot make {amount}",
            )
        if ways:
            if item not in self._ways_text:
                more = f" or in {len(ways) - SHOWN} other ways" if len(ways) > SHOWN else ""
                self._ways_text[item] = " or of ".join(self.format_inputs(recipe) for recipe in ways[:SHOWN]) + more
            return Refusal("no such recipe", f"{item} is made of {self._ways_text[item]}, not of these inputs")
        there = item in self._using or item in self.items
        return Refusal("no such recipe", f"nothing makes {item}" if there else f"there is no item {shorten(item)}")

    def _lack(self, recipe: Recipe, times: int) -> Refusal:
        return Refusal(
            "not in the hand", f"{recipe.id} takes {self.format_inputs(recipe, times)}; the hand does not hold that"
        )


def shape(recipe: Recipe, members: Sequence[Collection[str]]) -> Shape:
    """The Shape of a recipe, given the items that each ingredient may be."""
    kinds: dict[str, int] = {}
    for place, items in enumerate(members):
        for item in items:
            kinds[item] = kinds.get(item, 0) | 1 << place
    counts = [count for _, count in recipe.needs]
    apart = all(bits & (bits - 1) == 0 for bits in kinds.values())
    sets = [1 << place for place in range(len(counts))] if apart else range(1, 1 << len(counts))
    limits = tuple((among, sum(n for place, n in enumerate(counts) if among >> place & 1)) for among in sets)
    plain = None
    if not recipe.fuelled and all(not need.startswith("#") for need, _ in recipe.needs):
        plain = {item: sum(n for need, n in recipe.needs if need == item) for item in kinds}
    return Shape(plain, kinds, limits, sum(counts))


def _fits(counts: Mapping[int, int], limits: Sequence[tuple[int, int]], times: int) -> bool:
    """Whether no set of ingredients gets too many pieces. `counts`: ingredients that a piece may be -> pieces."""
    if len(counts) == 1:
        ((bits, pieces),) = counts.items()
        return all(pieces <= limit * times for among, limit in limits if not bits & ~among)
    return all(
        sum(pieces for bits, pieces in counts.items() if not bits & ~among) <= limit * times for among, limit in limits
    )


def _add_counts(counts: Mapping[int, int], either: Iterable[tuple[int, int]], numbers: Iterable[int]) -> dict[int, int]:
    total = dict(counts)
    for (bits, _), more in zip(either, numbers, strict=True):
        total[bits] = total.get(bits, 0) + more
    return total


def _split(groups: Sequence[tuple[int, int]], pieces: int, worth: int) -> Iterator[tuple[int, ...]]:
    """All numbers of pieces, one for each group (worth of a piece, pieces at most), that sum up to `pieces` and `worth`."""
    (worth_of_piece, most), rest = groups[0], groups[1:]
    if not rest:
        if 0 <= pieces <= most and pieces * worth_of_piece == worth:
            yield (pieces,)
        return
    low = min(rest)[0]
    step = math.gcd(*(other - low for other, _ in rest)) or 1
    least = max(0, pieces - sum(other for _, other in rest))
    for number in range(least, min(most, pieces) + 1):
        others, rest_worth = pieces - number, worth - number * worth_of_piece
        if not (rest_worth - others * low) % step and _least(rest, others) <= rest_worth <= -_least(
            [(-e, m) for e, m in rest], others
        ):
            yield from ((number, *other) for other in _split(rest, others, rest_worth))


def _least(groups: Sequence[tuple[int, int]], pieces: int) -> int:
    """The least worth of `pieces` pieces of these groups."""
    total = 0
    for worth, most in sorted(groups):
        number = min(most, pieces)
        total, pieces = total + worth * number, pieces - number
    return total


@functools.lru_cache(maxsize=1024)  # all games of a problem ask for the same
def _reachable(ruleset: Ruleset, items: frozenset[str]) -> frozenset[str]:
    reached, new = set(items), list(items)
    fires = any(item in ruleset.fuel for item in reached)
    waiting = [] if fires else [recipe for recipe in ruleset.recipes if recipe.fuelled]
    while new:
        item = new.pop()
        candidates: Collection[Recipe] = ruleset.used_in(item)
        if not fires and item in ruleset.fuel:
            fires, candidates = True, [*candidates, *waiting]
        for recipe in candidates:
            if recipe.makes in reached or (recipe.fuelled and not fires):
                continue
            if all(not reached.isdisjoint(ruleset.members(need)) for need, _ in recipe.needs):
                reached.add(recipe.makes)
                new.append(recipe.makes)
    return frozenset(reached)
