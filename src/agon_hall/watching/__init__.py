"""The page for stepping through recorded matches: as a researcher, who sees everything, or as the public, which sees what anybody may."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import panel as pn

from agon import ROOT, AgonError
from agon.games.base import PUBLIC
from agon.games.html import alert, label
from agon.games.inputs import Button, CountField, Entered, Group, ListField, Thing
from agon.games.pages import Scene, board_of, page_of
from agon_hall.inputs import Inputs
from agon_hall.watching.about import about, from_rows, rules
from agon_hall.watching.belief_tables import beliefs
from agon_hall.watching.choice import opened, picking
from agon_hall.watching.files import transcripts, turns_of
from agon_hall.watching.match import Told, Watched
from agon_hall.watching.parts import cards, known, news, public_title, title, worth

STYLE = """
.cards { display: flex; flex-wrap: wrap; gap: .6em 1.2em; align-items: flex-start; margin: .4em 0; }
.cards > table { flex: 0 1 auto; max-width: 100%; } .cards > .facts { flex: 1 1 19em; }
.facts { max-width: 48em; width: 100%; } .facts th { width: 8.5em; background: var(--tint); }
.facts ul { padding-left: 1.1em; } .new { background: #fff0b3; color: #1a1a1a; border: 1px solid #6b5300; padding: 0 .3em; }
.shades td { text-align: right; font-variant-numeric: tabular-nums; }
"""
FOLDS = {"folded": False, "in full": True}


def page(
    folder: Path = ROOT / "transcripts", name: str | None = None, match: str | None = None, researcher: bool = True
) -> pn.viewable.Viewable:
    """Pick a transcript and a match, and step through it. `name`: a file of `folder`, without .parquet; `match`: an id.

    Without `researcher` nothing is shown but what anybody may know at that point of the match.
    """
    return Watching(ROOT / folder, name, match, researcher).panel


class Watching:
    """The page; in a cell of a notebook, its `panel`."""

    def __init__(
        self, folder: Path, name: str | None = None, match: str | None = None, researcher: bool = True
    ) -> None:
        self.researcher, self.files = researcher, transcripts(folder)
        self._read: tuple[Path | None, str, Watched | str] = (None, "", "")
        """The match that was read last: its file, its id, and it, or why it cannot be shown."""
        entered, self._said = opened(self.files, name, match)
        self.inputs = Inputs(self._things, entered=entered, style=STYLE)
        self.panel = self.inputs.panel

    def _things(self, entered: Entered) -> list[Thing]:
        picked = picking(self.files, not self.researcher, entered)
        watched: Watched | str = picked.why if picked.path is None else self._watched(picked.path, picked.match)
        head: list[Thing] = ["<h1>Watch a match</h1>", Group(picked.fields, "bar")]
        if isinstance(watched, str):
            return [*head, alert(watched)]
        shown = self._researched if self.researcher else self._published
        return [*head, alert(self._said) if self._said else "", *shown(watched, entered)]

    def _watched(self, path: Path, match: str) -> Watched | str:
        """A match, ready to be looked at, or why it cannot be shown."""
        if self._read[:2] != (path, match):
            self._said = self._said if self._read[0] is None else ""
            self._read = (path, match, self._opened(path, match))
        return self._read[2]

    def _opened(self, path: Path, match: str) -> Watched | str:
        try:
            watched = Watched(turns_of(path, match))
        except AgonError as error:
            return str(error) if self.researcher else "This match cannot be read."
        if not self.researcher and watched.replay is None:
            return "Of this match nothing can be shown in public: its game cannot be played again here."
        return watched

    def _researched(self, watched: Watched, entered: Entered) -> list[Thing]:
        """Everything about a place, and what a seat, or the public, knows there."""
        step = _step(watched, f"Step ({watched.places} is the end)", 1, watched.places, entered)
        at = step.count(entered) - 1
        unfold = ListField(key="unfold", label="Long replies and thoughts", options=FOLDS, value=False, wide=350)
        seats = {label(name): seat for seat, name in enumerate(watched.named)} | {"everybody, in public": PUBLIC}
        seat = ListField(key="seat", label="Seen by", options=seats, value=0, wide=350)
        seen: list[Thing] = [told] if (told := from_rows(watched, at)) else []
        if watched.replay is not None:
            whose = seat.chosen(entered)
            totals = None if whose == PUBLIC else tuple(map(float, watched.points[at]))
            told = news(watched, at, [*range(len(watched.named)), PUBLIC])
            view = watched.view(at, whose)
            assert view is not None
            seen = [
                f"<h2>What was seen</h2>{told}",
                seat,
                *_board(Scene(view, totals, watched.named), watched.told(at, whose), entered),
            ]
        worths = worth(watched, at) + beliefs(watched, at)
        return [
            about(watched),
            _moves(step, entered),
            step,
            unfold,
            title(watched, at),
            cards(watched, at, unfold.chosen(entered)),
            Group([Group(each, "half") for each in (seen, [worths]) if each], "columns"),
        ]

    def _published(self, watched: Watched, entered: Entered) -> list[Thing]:
        """What anybody knows when some facts are known."""
        public = watched.public
        facts = len(public.views) - 1
        step = _step(watched, "Facts known", 0, facts, entered)
        at = step.count(entered)
        board = _board(Scene(public.views[at], None, watched.named), public.told(at), entered)
        return [public_title(watched, at, facts), rules(watched), _moves(step, entered), step, *board]


def _step(watched: Watched, name: str, first: int, last: int, entered: Entered) -> CountField:
    key = f"{watched.turns.match.iloc[0]}/step"
    return CountField(key=key, label=name, value=first, first=first, last=last, wide=350)


def _moves(step: CountField, entered: Entered) -> Group:
    """Buttons to the first and last place, and by one."""
    now = step.count(entered)
    to = {"First": step.first, "Back": max(step.first, now - 1), "Next": min(step.last, now + 1), "Last": step.last}
    moved = {name: partial(dict[str, Any], entered, **{step.key: at}) for name, at in to.items()}
    return Group([Button(name, go, main=False, wide=56) for name, go in moved.items()], "bar")


def _board(scene: Scene, told: Sequence[Told], entered: Entered) -> list[Thing]:
    """What a seat, or the public, knows, as a board and fact by fact."""
    facts = f"<h3>All that was told, oldest first</h3>{known(told)}"
    return [*board_of(scene).values(), *page_of(scene.view.rules).ask(scene, entered), facts]
