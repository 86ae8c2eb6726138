"""The page for stepping through recorded matches: as a researcher, who sees everything, or as the public, which sees what anybody may."""

from functools import partial
from pathlib import Path
from typing import Any

import panel as pn

from agon import ROOT, AgonError
from agon.games import Observation
from agon.games.base import PUBLIC
from agon.games.html import label as one_line
from agon.games.html import text
from agon_hall.board import Board
from agon_hall.look import Block, block, stack
from agon_hall.watching.about import about, from_rows, rules
from agon_hall.watching.belief_tables import beliefs
from agon_hall.watching.choice import Choice, looking, select
from agon_hall.watching.files import turns_of
from agon_hall.watching.match import Public, Watched
from agon_hall.watching.parts import cards, known, news, public_title, title, worth

STYLE = """
.cards { display: flex; flex-wrap: wrap; gap: .6em 1.2em; align-items: flex-start; margin: .4em 0; }
.cards > table { flex: 0 1 auto; max-width: 100%; } .cards > .facts { flex: 1 1 19em; }
.facts { max-width: 48em; width: 100%; } .facts th { width: 8.5em; background: var(--tint); }
.facts ul { padding-left: 1.1em; } .new { background: #fff0b3; color: #1a1a1a; border: 1px solid #6b5300; padding: 0 .3em; }
.shades td { text-align: right; font-variant-numeric: tabular-nums; }
"""
HALF: dict[str, Any] = {"flex": "1 1 420px", "min-width": "min(100%, 420px)", "max-width": "100%"}
FAR = 10**9


def page(
    folder: Path = ROOT / "transcripts", name: str | None = None, match: str | None = None, researcher: bool = True
) -> pn.viewable.Viewable:
    """Pick a transcript and a match, and step through it. `name`: a file of `folder`, without .parquet; `match`: an id.

    Without `researcher` nothing is shown but what anybody may know at that point of the match.
    """
    return Watching(ROOT / folder, name, match, researcher).panel


NAMELESS = "button { display: none !important; }"
"""The little buttons beside a number have no names; the keyboard's arrows do the same."""


class Watching:
    """The page; in a cell of a notebook, its `panel`."""

    def __init__(
        self, folder: Path, name: str | None = None, match: str | None = None, researcher: bool = True
    ) -> None:
        self.researcher = researcher
        self._watched: Watched | None = None
        self._public: Public | None = None
        self._board: Board | None = None
        self._board_of = PUBLIC
        self._facts = _block()
        self.choice = Choice(folder, not researcher, self._chosen)
        look = looking({"max-width": "22em"})
        look["stylesheets"] = [*look["stylesheets"], NAMELESS]
        self.step: Any = pn.widgets.IntInput(label="Step", start=1, end=2, value=1, **look)
        self.first, self.back, self.next, self.last = (
            pn.widgets.Button(label=each, **looking({"flex": "1 1 56px", "min-width": "0"}))
            for each in ("First", "Back", "Next", "Last")
        )
        folds = {"folded": False, "in full": True}
        self.unfold = select("Long replies and thoughts", folds, {"flex": "none", "max-width": "22em"})
        self.seat = select("Seen by", {}, {"flex": "none", "max-width": "22em"})
        self.alert, self.about, self.title, self.done, self.seen, self.worth = (_block() for _ in range(6))
        self.place = stack(margin=0)
        self.left = stack(self.seen, self.seat, self.place, styles=HALF, margin=0)
        self.shown = stack(*self._parts(), margin=0)
        head = _block("<h1>Watch a match</h1>")
        self.panel = stack(head, self.choice.panel, self.alert, self.shown, max_width=1200)
        for widget in (self.step, self.unfold):
            widget.param.watch(lambda _: self._show(), "value")
        self.seat.param.watch(lambda _: self._look(), "value")
        for button, by in ((self.first, -FAR), (self.back, -1), (self.next, 1), (self.last, FAR)):
            button.on_click(partial(self._pressed, by))
        if said := self.choice.begin(name, match):
            self._say(said)

    def _parts(self) -> list[Any]:
        steps = pn.FlexBox(self.first, self.back, self.next, self.last, max_width=520, gap="0", margin=0)
        if not self.researcher:
            return [self.title, self.about, steps, self.step, self.place]
        worth_ = stack(self.worth, styles=HALF, margin=0)
        both = pn.FlexBox(self.left, worth_, gap="0 16px", margin=0)
        return [self.about, steps, self.step, self.unfold, self.title, self.done, both]

    def _say(self, what: str) -> None:
        self.alert.object = f'<p class="alert" role="alert">{text(what)}</p>' if what else ""
        self.alert.visible = bool(what)

    def _chosen(self, path: Path | None, match: str, why: str) -> None:
        """Another match, or none."""
        with pn.io.hold():
            self._watched = self._public = self._board = None
            if path is not None:
                why = self._opened(path, match)
            self._say(why)
            self.shown.visible = self._watched is not None
            if self._watched is not None:
                self._begin(self._watched)

    def _opened(self, path: Path, match: str) -> str:
        """Reads and replays a match. Returns why it cannot be shown."""
        try:
            watched = Watched(turns_of(path, match))
        except AgonError as error:
            return str(error) if self.researcher else "This match cannot be read."
        if not self.researcher:
            self._public = Public(watched)
            if not self._public.views:
                return "Of this match nothing can be shown in public: its game cannot be played again here."
        self._watched = watched
        return ""

    def _begin(self, watched: Watched) -> None:
        """At the start of a match."""
        seats = {one_line(name): seat for seat, name in enumerate(watched.named)} | {"everybody, in public": PUBLIC}
        self.seat.param.update(options=seats, value=self.seat.value if self.seat.value in seats.values() else 0)
        self.seat.visible = self.place.visible = watched.replay is not None
        self.about.object = about(watched) if self.researcher else rules(watched)
        low = 0 if self._public else 1
        places = len(self._public.views) if self._public else watched.places
        label = "Facts known" if self._public else f"Step ({places} is the end)"
        ends = {"start": low, "end": max(low + 1, low + places - 1), "value": low}
        self.step.param.update(label=label, **ends)
        self.step.visible = places > 1
        self._show()

    @property
    def at(self) -> int:
        """The place shown, from 0; -1 where no number is given."""
        return -1 if self.step.value is None else int(self.step.value - self.step.start)

    def _pressed(self, by: int, event: object) -> None:
        self.move(by)

    def move(self, by: int) -> None:
        """So many places on, or back."""
        now = self.step.start if self.step.value is None else self.step.value
        self.step.value = min(self.step.end, max(self.step.start, now + by))

    def _show(self) -> None:
        """The place that was chosen."""
        if self._watched is None or not 0 <= self.at < self._places:
            return
        with pn.io.hold():
            if self._public:
                self.title.object = public_title(self._watched, self.at, self._places - 1)
            else:
                self._show_all(self._watched)
            self._look()

    @property
    def _places(self) -> int:
        return len(self._public.views) if self._public else self._watched.places if self._watched else 0

    def _show_all(self, watched: Watched) -> None:
        self.title.object = title(watched, self.at)
        self.done.object = cards(watched, self.at, self.unfold.value)
        everybody = [*range(len(watched.named)), PUBLIC]
        seen = f"<h2>What was seen</h2>{news(watched, self.at, everybody)}" if watched.replay else ""
        self.seen.object = seen or from_rows(watched, self.at)
        self.left.visible = bool(self.seen.object)
        self.worth.object = worth(watched, self.at) + beliefs(watched, self.at)

    def _look(self) -> None:
        """Through a seat's eyes, or the public's."""
        if self._watched is None or not 0 <= self.at < self._places:
            return
        if self._public:
            told, view, totals = self._public.told(self.at), self._public.views[self.at], None
        else:
            seat = self.seat.value
            told, found = self._watched.told(self.at, seat), self._watched.view(self.at, seat)
            if found is None:
                return
            view, totals = found, None if seat == PUBLIC else tuple(map(float, self._watched.points[self.at]))
        self._draw(view, totals)
        self._facts.object = f"<h3>All that was told, oldest first</h3>{known(told)}"

    def _draw(self, view: Observation, totals: tuple[float, ...] | None) -> None:
        """The board, which is changed in place while it is the same seat's of the same match."""
        assert self._watched is not None
        if self._board is None or self._board_of != view.seat:
            self._board, self._board_of = Board(view, totals, self._watched.named), view.seat
            self.place[:] = [self._board.panel, self._facts]
        else:
            self._board.update(view, totals)


def _block(html: str = "") -> Block:
    return block(html, STYLE)
