"""Boards: what a seat, or the public, knows of a match. A board sees a view and nothing else, so nothing hidden can leak."""

from collections.abc import Callable, Sequence

from agon.games import MatrixGame, Observation
from agon.games.base import Event
from agon.games.chameleon import game as chameleon
from agon.games.cost_sharing import game as sharing
from agon.games.public_goods.game import PublicGoods
from agon.games.rating.game import Shown
from agon.games.tradecraft.game import Facts
from agon.games.undercover import game as undercover
from agon.viewer import line
from agon_hall.boards.costs import cost_sharing
from agon_hall.boards.rating import rating
from agon_hall.boards.rounds import matrix, public_goods
from agon_hall.boards.rules import rules_text as rules_text
from agon_hall.boards.scene import Scene, points
from agon_hall.boards.trading import LookUp, trading
from agon_hall.boards.words import words
from agon_hall.look import block, items, stack, text

Parts = dict[str, str]
"""What a board shows, from above: the name of a part -> its HTML; the same names in every view of a match."""


OWN = ("own", "target")
"""Parts that say what a seat alone was told."""


class Board:
    """One pane per part of the state; `update` touches only those that changed."""

    def __init__(self, view: Observation, totals: tuple[float, ...] | None = None, names: Sequence[str] = ()) -> None:
        self._names = tuple(names)
        self.panes = {name: block(html) for name, html in parts(Scene(view, totals, self._names)).items()}
        for pane in self.panes.values():
            pane.visible = bool(pane.object)
        asked = [LookUp(view.rules).panel] if isinstance(view.rules, Facts) else []
        self.panel = stack(*self.panes.values(), *asked)
        self.own = [pane for name, pane in self.panes.items() if name in OWN]
        """Of what `panel` shows, what this seat alone was told, which its form is filled in by; `rest` is all else."""
        self.rest = [*(pane for name, pane in self.panes.items() if name not in OWN), *asked]

    def update(self, view: Observation, totals: tuple[float, ...] | None = None) -> None:
        """Shows a newer view of the same match."""
        for name, html in parts(Scene(view, totals, self._names)).items():
            if self.panes[name].object != html:
                self.panes[name].param.update(object=html, visible=bool(html))


def board(view: Observation, totals: tuple[float, ...] | None = None, names: Sequence[str] = ()) -> Board:
    """The board of a view; `totals` are points so far, `names` what people call the players, both by seat."""
    return Board(view, totals, names)


def parts(scene: Scene) -> Parts:
    """Everything that is shown of a view, and the points so far."""
    counted = isinstance(scene.view.rules, MatrixGame)  # by its own table
    return _kind(scene.view.rules)(scene) | ({} if counted else {"totals": points(scene)})


def _kind(rules: object) -> Callable[[Scene], Parts]:
    match rules:
        case MatrixGame():
            return matrix
        case PublicGoods():
            return public_goods
        case chameleon.Facts() | undercover.Facts():
            return words
        case sharing.Facts():
            return cost_sharing
        case Facts():
            return trading
        case Shown() | None:
            return rating
    return anything


def anything(scene: Scene) -> Parts:
    """Any game: what is known, newest first."""
    seats = [(each.seat or 0) + 1 if isinstance(each, Event) else len(each) for each in scene.view.past]
    named = [scene.name(seat) for seat in range(max(seats, default=0))]
    known = [text(line(each, scene.view, place, named)) for place, each in enumerate(scene.view.past)]
    role = f"<p>Your role: <strong>{text(scene.view.role)}</strong></p>" if scene.view.role else ""
    happened = items(reversed(known)) or "<p>Nothing yet.</p>"
    return {
        "round": f"<h2>Round {scene.view.round}</h2>{role}",
        "known": f"<h3>What is known, newest first</h3>{happened}",
    }
