"""Boards: what a seat, or the public, knows of a match. A board sees a view and nothing else, so nothing hidden can leak."""

from collections.abc import Collection, Sequence
from functools import partial

from agon.games import Observation
from agon.games.pages import Scene, board_of, page_of
from agon_hall.inputs import Inputs
from agon_hall.look import block, stack

OWN = "own"
"""The part that says what a seat alone was told."""


class Board:
    """One pane per part of the state; `update` touches only those that changed.

    `totals` are points so far, `names` what people call the players, both by seat; `aids` those that are shown, None all.
    """

    def __init__(
        self,
        view: Observation,
        totals: tuple[float, ...] | None = None,
        names: Sequence[str] = (),
        aids: Collection[str] | None = None,
    ) -> None:
        self._names, self._aids = tuple(names), aids
        scene = Scene(view, totals, self._names, aids)
        self.panes = {name: block(html, visible=bool(html)) for name, html in board_of(scene).items()}
        asking = partial(page_of(view.rules).ask, scene)
        asked = [Inputs(asking).panel] if asking({}) else []
        self.panel = stack(*self.panes.values(), *asked)
        self.own = [pane for name, pane in self.panes.items() if name == OWN]
        """Of what `panel` shows, what this seat alone was told, which its form is filled in by; `rest` is all else."""
        self.rest = [*(pane for name, pane in self.panes.items() if name != OWN), *asked]

    def update(self, view: Observation, totals: tuple[float, ...] | None = None) -> None:
        """Shows a newer view of the same match."""
        for name, html in board_of(Scene(view, totals, self._names, self._aids)).items():
            if self.panes[name].object != html:
                self.panes[name].param.update(object=html, visible=bool(html))
