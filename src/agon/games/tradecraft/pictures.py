"""A problem of TradeCraft drawn: what leads to the targets, and who holds what."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch
from matplotlib.path import Path as Outline

from agon.figures import COLOURS, MARKERS, figure, styled
from agon.games.tradecraft import TradeCraft
from agon.games.tradecraft.ways import FUEL, Need, Node, derivations, lacks, planned, total

SHOWN = 4
"""Fuels named, at most."""
WIDTH, GAP, LINE = 2.15, 0.95, 0.2
"""Of a box, and between columns; of a line of text, up and down (inches)."""

LEGEND = (
    "Grey: held, not made. Bold frame: a target. Dashed: as fuel. Arrows lead from what is taken to what is made of it."
)
PLANNED = "These are the crafts of shortest plans for all hands together; left in a box: how many they take in all."
LOOSE = "There is no plan for every target: these are ways with few crafts, whatever the amounts; left in a box: what one takes."


class Line(NamedTuple):
    """A line of text in a box."""

    text: str
    style: dict[str, Any]
    held: tuple[tuple[int, int], ...] = ()
    """Seats that hold the item, and how many."""
    aim: int | None = None
    """The seat whose target it is."""


@dataclass
class Sheet:
    """Where boxes stand on the paper (inches, from the lower left)."""

    game: TradeCraft
    nodes: dict[str, Node]
    columns: dict[int, list[str]] = field(default_factory=dict)
    """Keys from top to bottom; of bends too, by which an arrow passes a column."""
    links: dict[str, list[str]] = field(default_factory=dict)
    """What stands in a column beside and is joined."""
    middles: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, node in self.nodes.items():
            self.columns.setdefault(node.column, []).append(key)
        for key, node in self.nodes.items():
            for need in dict.fromkeys(need.key for need in node.needs):
                way = [need, *self.bends(need, key), key]
                for place, bend in enumerate(way[1:-1], start=self.nodes[need].column + 1):
                    self.columns[place].append(bend)
                for left, right in pairwise(way):
                    self.links.setdefault(left, []).append(right)
                    self.links.setdefault(right, []).append(left)

    def bends(self, need: str, key: str) -> list[str]:
        """Where an arrow passes the columns between."""
        return [f"{need}>{key}>{place}" for place in range(self.nodes[need].column + 1, self.nodes[key].column)]

    def lines(self, key: str) -> int:
        """Lines in a box, of text or of what goes in."""
        return max(len(self.text(key)), len(self.nodes[key].needs))

    def height(self, key: str) -> float:
        """Of a box, or of the room for an arrow."""
        if key not in self.nodes:
            return 0.3 * LINE
        return LINE * (self.lines(key) + 0.6)

    def text(self, key: str) -> list["Line"]:
        """What a box says."""
        node, game = self.nodes[key], self.game
        lines = [Line("fuel: any of", {"style": "italic"})] if key == FUEL else []
        for item in node.items[: SHOWN if key == FUEL else None]:
            amounts = [(seat, hand[item]) for seat, hand in enumerate(game.hands) if item in hand]
            lines.append(Line(item if len(item) < 22 else f"{item[:20]}...", {}, tuple(amounts)))
        if node.how:
            lines.append(Line(node.how, {"color": "#444444"}))
        lost = not node.needs and not any(item in total(game) for item in node.items)
        if lost or lacks(node, total(game)):
            lines.append(Line("cannot be made" if lost else f"too few: {node.wanted} needed", {"style": "italic"}))
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
        """By the middle of what they are joined to."""

        def middle(key: str) -> float:
            heights = [self.middles[other][1] for other in self.links.get(key, ()) if other in self.middles]
            own = self.middles.get(key, (0.0, 0.0))[1]
            return -round(sum(heights) / len(heights) if heights else own, 6)

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
    """What leads to which target, and who holds what: boxes of items, arrows from what goes in to what is made."""
    sheet = Sheet(game, derivations(game))
    width, height = sheet.arrange()
    below, wide = LINE * (game.seats + 3.2), max(width, 6.5)
    made, (axes,) = figure(1, 1, (wide + 0.4, height + below + 0.6))
    axes.set(xlim=(-0.2, wide + 0.2), ylim=(-below, height))
    axes.axis("off")
    axes.set_title(title or f"{game.name} {game.variant}: what leads to which target, and who holds what?", loc="left")
    for key, node in sheet.nodes.items():
        _box(axes, sheet, key)
        for place, need in enumerate(node.needs):
            _arrow(axes, sheet, need, key, place)
    small: dict[str, Any] = {"fontsize": 8, "va": "center"}
    legend = (LEGEND, (PLANNED if planned(game) is not None else LOOSE))
    for line, text in enumerate(legend, start=1):
        axes.text(0, -LINE * (line + 0.2), text, style="italic", **small)
    for seat, (player, rest) in enumerate(zip(game.players, _spare(game, sheet), strict=True)):
        y = -LINE * (len(legend) + 1.2 + seat)
        _mark(axes, seat, 0.1, y)
        axes.text(0.25, y, f"held by {player}, and how many; not needed here: {rest}", **small)
    return made


def _spare(game: TradeCraft, sheet: Sheet) -> list[str]:
    used = {item for key in sheet.nodes for item in sheet.nodes[key].items}
    return [
        ", ".join(f"{count} {item}" for item, count in sorted(hand.items()) if item not in used) or "nothing"
        for hand in game.hands
    ]


def _mark(axes: Axes, seat: int, x: float, y: float) -> None:
    """The colour and shape of a player."""
    axes.plot([x], [y], ls="", marker=MARKERS[seat % 14], color=COLOURS[1 + seat % 7], ms=7, clip_on=False, zorder=5)


def _box(axes: Axes, sheet: Sheet, key: str) -> None:
    node, (x, y), height, lines = sheet.nodes[key], sheet.middles[key], sheet.height(key), sheet.text(key)
    bold, held = any(line.aim is not None for line in lines), any(line.held for line in lines)
    style: dict[str, Any] = {"fc": "#eeeeee" if held and not node.needs else "#ffffff", "ec": "#000000", "zorder": 3}
    style |= {"lw": 2.4 if bold else 0.9, "ls": "-" if held or node.needs else ":"}
    corner, shape = (x - WIDTH / 2, y - height / 2), "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch(corner, WIDTH, height, boxstyle=shape, **style))
    left, top = corner[0] + (0.28 if node.needs else 0.1), y + height / 2 - 0.8 * LINE
    for line in lines:
        if line.aim is not None:
            _mark(axes, line.aim, left + 0.08, top)
        axes.text(left + 0.22 * (line.aim is not None), top, line.text, fontsize=8, va="center", zorder=4, **line.style)
        for place, (seat, amount) in enumerate(line.held):
            right = x + WIDTH / 2 - 0.12 - 0.36 * (len(line.held) - 1 - place)
            _mark(axes, seat, right - 0.18, top)
            axes.text(right - 0.08, top, f"{amount}", fontsize=7.5, va="center", zorder=6)
        top -= LINE


def _arrow(axes: Axes, sheet: Sheet, need: Need, key: str, place: int) -> None:
    """From what goes in to what is made; how much of it stands where the arrow ends."""
    spread = (len(sheet.nodes[key].needs) - 1) / 2 - place
    points = [sheet.middles[each] for each in (need.key, *sheet.bends(need.key, key), key)]
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
    size = 7.5 if len(need.said) < 4 else 6
    axes.text(tip[0] + 0.04, tip[1], need.said, fontsize=size, va="center", color="#444444", zorder=6)
