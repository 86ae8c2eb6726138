"""Pictures of problems of TradeCraft: the ways to the targets, and the hands."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch
from matplotlib.path import Path as Outline

from agon.figures import COLOURS, MARKERS, figure, styled
from agon.games.tradecraft import TradeCraft
from agon.games.tradecraft.amounts import Amount, format_hand
from agon.games.tradecraft.planner.orders import Step
from agon.games.tradecraft.planner.search import Plan, plan

NODES = 200
"""The branches of the search for a plan, at most."""
PLENTY = 1000
"""The amount of every item if no plan reaches all targets."""
WIDTH, GAP, LINE = 2.15, 0.95, 0.2
"""The width of a box, the gap between columns, and the height of a line of text (inches)."""

LEGEND = (
    "Grey: held, not made. Bold frame: a target. Dashed: as fuel. Arrows lead from what is taken to what is made of it."
)
PLANNED = "These are the crafts of shortest plans for all hands together; left in a box: how many they take in all."
LOOSE = "There is no plan for every target: these are plans for more of what is held; left in a box: how many they take in all."


# ---- what leads to the targets ----


class Need(NamedTuple):
    """An ingredient of an item."""

    key: str
    """An item."""
    amount: Amount
    fuel: bool = False


class Node(NamedTuple):
    """An item that is held, or made on the way to a target."""

    how: str = ""
    """The stations, and the number that is made; empty for the usual ones."""
    needs: tuple[Need, ...] = ()
    """Empty for an item that is not made."""
    total: int = 0
    """The pieces that all targets together take."""
    column: int = 0
    """The column, counted from the left."""


def derivations(game: TradeCraft) -> dict[str, Node]:
    """What leads from all hands together to every target, by item: the crafts of shortest plans.

    A plan is for all targets at once, or, where there is none, one for each. Where a target has no plan, they are plans for
    PLENTY of everything held; a target that cannot be reached even so has no way to it.
    """
    steps = plan_steps(game)
    if steps is None:
        plenty = dict.fromkeys(total(game.hands), PLENTY)
        plans = [plan(game.ruleset, plenty, target) for target in game.targets]
        steps = [step for answer in plans if isinstance(answer, Plan) for step in answer.steps]
    return _place_nodes(_nodes(game, steps))


def plan_steps(game: TradeCraft) -> list[Step] | None:
    """The crafts of shortest plans; None if some target has no plan, or none is found within NODES branches."""
    hands = total(game.hands)
    for targets in ([total(game.targets)], game.targets):
        plans = [plan(game.ruleset, hands, target, NODES) for target in targets]
        if all(isinstance(answer, Plan) for answer in plans):
            return [step for answer in plans if isinstance(answer, Plan) for step in answer.steps]
    return None


def total(hands: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """All hands, or all targets, together."""
    return dict(sum(map(Counter, hands), Counter[str]()))


def _nodes(game: TradeCraft, steps: Sequence[Step]) -> dict[str, Node]:
    """Item -> node, for all products, ingredients and targets."""
    amounts: dict[str, Amount] = dict(total(game.targets))
    makes, stations = Counter[str](), dict[str, dict[str, None]]()
    takes: dict[str, dict[tuple[str, bool], Amount]] = {item: {} for item in amounts}
    for step in steps:
        ((item, number),) = step.outputs.items()
        recipe = game.ruleset.recipe(step.recipe)
        assert recipe is not None
        makes[item] += int(number)
        stations.setdefault(item, {})[recipe.station] = None
        kinds = {member for need, _ in recipe.needs for member in game.ruleset.members(need)}
        for part, amount in step.inputs.items():
            inputs, key = takes.setdefault(item, {}), (part, part not in kinds)
            inputs[key] = inputs.get(key, 0) + amount
            amounts[part] = amounts.get(part, 0) + amount
            takes.setdefault(part, {})
    return {
        item: Node(
            _how(list(stations.get(item, {})), makes[item]),
            tuple(Need(part, amount, fuel) for (part, fuel), amount in inputs.items()),
            ceil(amounts[item]),
        )
        for item, inputs in takes.items()
    }


def _place_nodes(nodes: dict[str, Node]) -> dict[str, Node]:
    """The nodes with columns. A product stands right of all its ingredients; an item of a hand just left of its first product."""
    columns: dict[str, int] = {}

    def column(key: str, above: frozenset[str] = frozenset()) -> int:
        if key not in columns:  # what is made of itself in the end begins a new way
            needs = [need.key for need in nodes[key].needs if need.key not in above]
            columns[key] = 1 + max((column(need, above | {key}) for need in needs), default=-1)
        return columns[key]

    users: dict[str, list[int]] = {}
    for key, node in nodes.items():
        for need in node.needs:
            users.setdefault(need.key, []).append(column(key))
    return {
        key: node._replace(column=column(key) if node.needs or key not in users else min(users[key]) - 1)
        for key, node in nodes.items()
    }


def _how(stations: Sequence[str], number: int) -> str:
    """The stations without the usual ones, and the number if it is above 1."""
    parts = [station.replace("_", " ") for station in stations if station not in ("shaped", "shapeless", "combine")]
    return ", ".join(parts + ([f"makes {number}"] if number > 1 else []))


# ---- the drawing ----


class Line(NamedTuple):
    """A line of text in a box."""

    text: str
    style: dict[str, Any]
    holders: tuple[tuple[int, int], ...] = ()
    """(seat, amount) for all seats that hold the item."""
    aim: int | None = None
    """The seat whose target it is."""


@dataclass
class Sheet:
    """The places of boxes on the paper (inches, from the lower left)."""

    game: TradeCraft
    nodes: dict[str, Node]
    columns: dict[int, list[str]] = field(default_factory=dict)
    """Column -> keys from top to bottom. A bend, at which an arrow passes a column, has a key, too."""
    links: dict[str, list[str]] = field(default_factory=dict)
    """Key -> keys in the next columns that are joined to it by an arrow."""
    middles: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, node in self.nodes.items():
            self.columns.setdefault(node.column, []).append(key)
        for key, node in self.nodes.items():
            for need in dict.fromkeys(need.key for need in node.needs):
                way = [need, *self.bends(need, key), key]
                for place, bend in enumerate(way[1:-1], start=self.nodes[need].column + 1):
                    self.columns[place].append(bend)
                for near, far in pairwise(way):
                    self.links.setdefault(near, []).append(far)
                    self.links.setdefault(far, []).append(near)

    def bends(self, need: str, key: str) -> list[str]:
        """The keys of the bends of an arrow."""
        return [f"{need}>{key}>{place}" for place in range(self.nodes[need].column + 1, self.nodes[key].column)]

    def lines(self, key: str) -> int:
        """The number of lines of a box: of its text or of its ingredients."""
        return max(len(self.text(key)), len(self.nodes[key].needs))

    def height(self, key: str) -> float:
        """The height of a box, or of a bend."""
        if key not in self.nodes:
            return 0.3 * LINE
        return LINE * (self.lines(key) + 0.6)

    def text(self, key: str) -> list["Line"]:
        """The text of a box."""
        node, game = self.nodes[key], self.game
        amounts = tuple((seat, hand[key]) for seat, hand in enumerate(game.hands) if key in hand)
        lines = [Line(key if len(key) < 22 else f"{key[:20]}...", {}, amounts)]
        if node.how:
            lines.append(Line(node.how, {"color": "#444444"}))
        if not node.needs and (stock := sum(amount for _, amount in amounts)) < node.total:
            lines.append(Line(f"too few: {node.total} needed" if stock else "cannot be made", {"style": "italic"}))
        for seat, target in enumerate(game.targets):
            if key in target:
                number = f": {target[key]}" if target[key] > 1 else ""
                lines.append(Line(f"target of {game.players[seat]}{number}", {"weight": "bold"}, aim=seat))
        return lines

    def arrange(self) -> tuple[float, float]:
        """Finds a place for every box, with few crossings; returns width and height of it all."""
        for _ in range(8):
            for place in (*sorted(self.columns), *sorted(self.columns, reverse=True)):
                self.columns[place] = self._sorted(self.columns[place])
                self._stack()
        most = max(self._tall(keys) for keys in self.columns.values())
        return (max(self.columns) + 1) * (WIDTH + GAP) - GAP, most

    def _tall(self, keys: Sequence[str]) -> float:
        return sum(self.height(key) + 1.1 * LINE for key in keys)

    def _sorted(self, keys: list[str]) -> list[str]:
        """The keys, sorted by the middle height of their neighbours."""

        def middle(key: str) -> float:
            heights = [self.middles[other][1] for other in self.links.get(key, ()) if other in self.middles]
            current = self.middles.get(key, (0.0, 0.0))[1]
            return -round(sum(heights) / len(heights) if heights else current, 6)

        return sorted(keys, key=middle)

    def _stack(self) -> None:
        most = max(self._tall(keys) for keys in self.columns.values())
        for column, keys in self.columns.items():
            top = (most + self._tall(keys)) / 2
            for key in keys:
                self.middles[key] = column * (WIDTH + GAP) + WIDTH / 2, top - self.height(key) / 2 - 0.55 * LINE
                top -= self.height(key) + 1.1 * LINE


@styled
def crafting_graph(game: TradeCraft, title: str = "") -> Figure:
    """The ways to the targets and the hands: boxes are items, arrows lead from ingredients to products."""
    sheet = Sheet(game, derivations(game))
    width, height = sheet.arrange()
    below, wide = LINE * (game.seats + 3.2), max(width, 6.5)
    picture, (axes,) = figure(1, 1, (wide + 0.4, height + below + 0.6))
    axes.set(xlim=(-0.2, wide + 0.2), ylim=(-below, height))
    axes.axis("off")
    axes.set_title(title or f"{game.name} {game.variant}: what leads to which target, and who holds what?", loc="left")
    for key, node in sheet.nodes.items():
        _box(axes, sheet, key)
        for place, need in enumerate(node.needs):
            _arrow(axes, sheet, need, key, place)
    small: dict[str, Any] = {"fontsize": 8, "va": "center"}
    legend = (LEGEND, (PLANNED if plan_steps(game) is not None else LOOSE))
    for line, text in enumerate(legend, start=1):
        axes.text(0, -LINE * (line + 0.2), text, style="italic", **small)
    for seat, (player, rest) in enumerate(zip(game.players, _spare(game, sheet), strict=True)):
        y = -LINE * (len(legend) + 1.2 + seat)
        _mark(axes, seat, 0.1, y)
        axes.text(0.25, y, f"held by {player}, and how many; not needed here: {rest}", **small)
    return picture


def _spare(game: TradeCraft, sheet: Sheet) -> list[str]:
    return [
        format_hand({item: count for item, count in hand.items() if item not in sheet.nodes}) for hand in game.hands
    ]


def _mark(axes: Axes, seat: int, x: float, y: float) -> None:
    """The colour and shape of a player."""
    axes.plot([x], [y], ls="", marker=MARKERS[seat % 14], color=COLOURS[1 + seat % 7], ms=7, clip_on=False, zorder=5)


def _box(axes: Axes, sheet: Sheet, key: str) -> None:
    node, (x, y), height, lines = sheet.nodes[key], sheet.middles[key], sheet.height(key), sheet.text(key)
    is_target, is_held = any(line.aim is not None for line in lines), any(line.holders for line in lines)
    style: dict[str, Any] = {"fc": "#eeeeee" if is_held and not node.needs else "#ffffff", "ec": "#000000", "zorder": 3}
    style |= {"lw": 2.4 if is_target else 0.9, "ls": "-" if is_held or node.needs else ":"}
    corner, shape = (x - WIDTH / 2, y - height / 2), "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch(corner, WIDTH, height, boxstyle=shape, **style))
    left, top = corner[0] + (0.28 if node.needs else 0.1), y + height / 2 - 0.8 * LINE
    for line in lines:
        if line.aim is not None:
            _mark(axes, line.aim, left + 0.08, top)
        axes.text(left + 0.22 * (line.aim is not None), top, line.text, fontsize=8, va="center", zorder=4, **line.style)
        for place, (seat, amount) in enumerate(line.holders):
            right = x + WIDTH / 2 - 0.12 - 0.36 * (len(line.holders) - 1 - place)
            _mark(axes, seat, right - 0.18, top)
            axes.text(right - 0.08, top, f"{amount}", fontsize=7.5, va="center", zorder=6)
        top -= LINE


def _arrow(axes: Axes, sheet: Sheet, need: Need, key: str, place: int) -> None:
    """An arrow from an ingredient to its product. The amount stands at its end."""
    spread = (len(sheet.nodes[key].needs) - 1) / 2 - place
    points = [sheet.middles[point_key] for point_key in (need.key, *sheet.bends(need.key, key), key)]
    points[-1] = end = points[-1][0], points[-1][1] + spread * LINE
    corners: list[tuple[float, float]] = []
    for (x0, y0), (x1, y1) in pairwise(points):
        left, right = x0 + WIDTH / 2, x1 - WIDTH / 2
        corners += [(left, y0), (left + GAP * 0.55, y0), (right - GAP * 0.55, y1), (right, y1)]
    codes = [Outline.MOVETO, *[Outline.CURVE4] * 3, *[Outline.LINETO, *[Outline.CURVE4] * 3] * (len(points) - 2)]
    style: dict[str, Any] = {"ls": (0, (4, 2)), "ec": "#777777"} if need.fuel else {"ec": "#333333"}
    axes.add_patch(PathPatch(Outline(corners, codes), fc="none", lw=1.0, zorder=2, **style))
    tip = end[0] - WIDTH / 2, end[1]
    head = FancyArrowPatch(
        (tip[0] - 0.02, tip[1]), tip, arrowstyle="-|>", mutation_scale=8, color=style["ec"], zorder=2
    )
    axes.add_patch(head)
    label = f"{need.amount}"
    size = 7.5 if len(label) < 4 else 6
    axes.text(tip[0] + 0.04, tip[1], label, fontsize=size, va="center", color="#444444", zorder=6)
