"""The ways to the targets of a problem of TradeCraft: what leads from all hands together to what somebody needs, as a graph."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from math import ceil, inf
from typing import Any, NamedTuple

from agon.games.tradecraft import Recipe, Ruleset, TradeCraft
from agon.games.tradecraft.planner.orders import Step
from agon.games.tradecraft.planner.search import Plan, plan
from agon.games.tradecraft.recipes import Amount

FUEL = "#fuel"
"""The key of the node that stands for all fuel that is held."""
NODES = 200
"""How long a plan is looked for."""


class Need(NamedTuple):
    """What goes into something."""

    key: str
    """Of a node."""
    said: str
    """How much of it, as the picture says it."""
    fuel: bool = False


class Node(NamedTuple):
    """Something that is held, or made on the way to a target."""

    items: tuple[str, ...]
    """Any of them will do; one, where it is made."""
    how: str = ""
    """Where and how many of it are made, where that needs to be said."""
    needs: tuple[Need, ...] = ()
    """None where nothing needs to be made, or nothing can be."""
    column: int = 0
    """From left to right."""
    wanted: int = 0
    """How many of it all targets together take; 0 for fuel of which it is not said how much."""


def derivations(game: TradeCraft) -> dict[str, Node]:
    """What leads from all hands together to every target, by key: the crafts of shortest plans, or else some way.

    A plan is for all targets at once, or, where there is none, one for each. Where a target has no plan, it is the way with
    the fewest crafts if amounts did not matter; a target that cannot be reached has no way to it.
    """
    steps = planned(game)
    return _by_ways(game) if steps is None else _by_steps(game, steps)


def planned(game: TradeCraft) -> list[Step] | None:
    """The crafts of shortest plans; None where a target has no plan, or none is found soon."""
    held, wanted = total(game), _wanted(game)
    for targets in ([wanted], game.targets):
        plans = [plan(game.ruleset, held, target, NODES) for target in targets]
        if all(isinstance(each, Plan) for each in plans):
            return [step for each in plans if isinstance(each, Plan) for step in each.steps]
    return None


def _by_steps(game: TradeCraft, steps: Sequence[Step]) -> dict[str, Node]:
    """A node for everything that a plan makes or takes; how much of it, in all."""
    makes, stations = Counter[str](), dict[str, dict[str, None]]()
    takes: dict[str, dict[tuple[str, bool], Amount]] = {item: {} for item in _wanted(game)}
    wanted: dict[str, Amount] = dict(_wanted(game))
    for step in steps:
        ((item, number),) = step.outputs.items()
        recipe = game.ruleset.recipe(step.recipe)
        assert recipe is not None
        makes[item] += int(number)
        stations.setdefault(item, {})[recipe.station] = None
        kinds = {member for need, _ in recipe.needs for member in game.ruleset.members(need)}
        for part, amount in step.inputs.items():
            taken, key = takes.setdefault(item, {}), (part, part not in kinds)
            taken[key] = taken.get(key, 0) + amount
            wanted[part] = wanted.get(part, 0) + amount
            takes.setdefault(part, {})
    nodes = {
        item: Node(
            (item,),
            _how(list(stations.get(item, {})), makes[item]),
            tuple(Need(part, f"{amount}", fuel) for (part, fuel), amount in taken.items()),
            wanted=ceil(wanted[item]),
        )
        for item, taken in takes.items()
    }
    return _placed(nodes)


def _wanted(game: TradeCraft) -> dict[str, int]:
    """All targets together."""
    return dict(sum((Counter(target) for target in game.targets), Counter[str]()))


def _by_ways(game: TradeCraft) -> dict[str, Node]:
    """The way with the fewest crafts to every target; how much one craft takes."""
    held = total(game)
    ways = _ways(game.ruleset, held.keys())
    nodes: dict[str, Node] = {}
    for item, wanted in _wanted(game).items():
        _add(nodes, game.ruleset, ways, item)
        nodes[item] = nodes[item]._replace(wanted=wanted)
    return _placed(nodes)


def total(game: TradeCraft) -> dict[str, int]:
    """What all hold together."""
    return dict(sum((Counter(hand) for hand in game.hands), Counter[str]()))


def lacks(node: Node, held: Mapping[str, int]) -> bool:
    """Whether more of it is needed than is held, and none is made."""
    return not node.needs and sum(held.get(item, 0) for item in node.items) < node.wanted


def _ways(ruleset: Ruleset, held: Set[str]) -> dict[str, tuple[float, Recipe | None]]:
    """Item -> how many crafts lead to it, about, and the last of them; items that can be reached only."""
    ways: dict[str, tuple[float, Recipe | None]] = dict.fromkeys(sorted(held), (0, None))
    changed = True
    while changed:
        changed = False
        fuel = min((ways[item][0] for item in ruleset.fuel if item in ways), default=inf)
        for recipe in ruleset.recipes:
            costs = [_cheapest(ruleset, need, ways)[0] for need, _ in recipe.needs]
            cost = 1 + sum(costs) + (fuel if recipe.fuelled else 0)
            if cost < ways.get(recipe.makes, (inf, None))[0]:
                ways[recipe.makes], changed = (cost, recipe), True
    return ways


def _cheapest(ruleset: Ruleset, need: str, ways: Mapping[str, tuple[float, Any]]) -> tuple[float, tuple[str, ...]]:
    """How many crafts an ingredient costs, and which items cost so many; of items that are to be made, the first."""
    costs = {item: ways[item][0] for item in ruleset.members(need) if item in ways}
    low = min(costs.values(), default=inf)
    items = tuple(item for item, cost in costs.items() if cost == low)
    return low, items if low == 0 else items[:1]


def _add(nodes: dict[str, Node], ruleset: Ruleset, ways: Mapping[str, Any], item: str) -> str:
    """Adds an item with all that leads to it; returns its key."""
    if item in nodes:
        return item
    _, recipe = ways.get(item, (inf, None))
    nodes[item] = Node((item,))
    if recipe is None:
        return item
    needs = list[Need]()
    for need, count in recipe.needs:
        _, items = _cheapest(ruleset, need, ways)
        key = " or ".join(items)
        if len(items) > 1:
            nodes.setdefault(key, Node(items))
        needs.append(Need(key if len(items) > 1 else _add(nodes, ruleset, ways, items[0]), f"{count}"))
    if recipe.fuelled:
        needs.append(Need(_fuel(nodes, ruleset, ways), "fuel", True))
    nodes[item] = nodes[item]._replace(needs=tuple(needs), how=_how([recipe.station], recipe.number))
    return item


def _fuel(nodes: dict[str, Node], ruleset: Ruleset, ways: Mapping[str, Any]) -> str:
    """All fuel that is held; where none is, that which is made soonest."""
    fuels = sorted(
        (item for item in ruleset.fuel if ways.get(item, (inf,))[0] == 0), key=lambda item: (-ruleset.fuel[item], item)
    )
    if fuels:
        nodes.setdefault(FUEL, Node(tuple(fuels)))
        return FUEL
    soonest = min((item for item in ruleset.fuel if item in ways), key=lambda item: (ways[item][0], item))
    return _add(nodes, ruleset, ways, soonest)


def _placed(nodes: dict[str, Node]) -> dict[str, Node]:
    """What is made stands right of all that it needs, what is held just left of what first needs it."""
    columns: dict[str, int] = {}

    def made(key: str, above: frozenset[str] = frozenset()) -> int:
        if key not in columns:  # what is made of itself in the end begins a new way
            needs = [need.key for need in nodes[key].needs if need.key not in above]
            columns[key] = 1 + max((made(need, above | {key}) for need in needs), default=-1)
        return columns[key]

    users: dict[str, list[int]] = {}
    for key, node in nodes.items():
        for need in node.needs:
            users.setdefault(need.key, []).append(made(key))
    return {
        key: node._replace(column=made(key) if node.needs or key not in users else min(users[key]) - 1)
        for key, node in nodes.items()
    }


def _how(stations: Sequence[str], number: int) -> str:
    """Where it is made, and how many, where that needs to be said."""
    said = [station.replace("_", " ") for station in stations if station not in ("shaped", "shapeless", "combine")]
    return ", ".join(said + ([f"makes {number}"] if number > 1 else []))
