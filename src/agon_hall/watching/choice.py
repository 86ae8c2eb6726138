"""Picking a match: a transcript, filters, a search, and a list of what fits."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import panel as pn

from agon import AgonError
from agon.games.html import label
from agon_hall.look import WIDGETS
from agon_hall.watching.files import Listing, files, listing

ANY = "any"
OFFERED = 200
"""Matches in the list at once; filters and the search reach all others."""
FLEX: dict[str, Any] = {"flex": "1 1 190px", "min-width": "0", "max-width": "100%"}

Chosen = Callable[[Path | None, str, str], None]
"""Is told of the file and the id of the match that is picked, or of none and why."""


class Choice:
    """Widgets that pick a match; `chosen` is told. The public may look for games and ids: players and variants tell roles."""

    def __init__(self, folder: Path, public: bool, chosen: Chosen) -> None:
        self.files, self.public, self._chosen = files(folder), public, chosen
        self._listing: Listing | None = None
        self._quiet = False
        self.file = select("Transcript", list(self.files))
        self.game, self.agent, self.model = (select(each, [ANY]) for each in ("Game", "Agent", "Model"))
        sought = "id" if public else "id, variant, agent, model"
        self.search: Any = pn.widgets.TextInput(label="Search", placeholder=sought, **looking(FLEX))
        self.match = select("Match", [], {"flex": "3 1 300px"})
        filters = [self.game] if public else [self.game, self.agent, self.model]
        self.file.param.watch(lambda _: self._opened(), "value")
        for each in filters:
            each.param.watch(lambda _: self._filtered(), "value")
        self.search.param.watch(lambda _: self._filtered(), "value_input")
        self.match.param.watch(lambda _: self._picked(), "value")
        self.panel = pn.FlexBox(self.file, *filters, self.search, self.match, gap="0 8px", margin=0)

    def begin(self, name: str | None = None, match: str | None = None) -> str:
        """Opens a file of the folder, or the one that holds `match`, or the first one. Returns what cannot be had."""
        if name is None and match is not None:
            name = next((each for each, path in self.files.items() if _holds(path, match)), None)
        said = "" if name is None or name in self.files else f"There is no transcript {label(name)!r}."
        self._set(self.file, value=name if name in self.files else next(iter(self.files), None))
        self._opened(match)
        if match is not None and self.match.value != match:
            return said or f"There is no match {label(match)!r}."
        return said

    def _set(self, widget: Any, **values: Any) -> None:
        """Changes a widget without being told so."""
        self._quiet = True
        try:
            widget.param.update(**values)
        finally:
            self._quiet = False

    def _opened(self, match: str | None = None) -> None:
        if self._quiet:
            return
        self._listing, why = None, "There are no transcripts here yet: play some matches first."
        try:
            if self.file.value is not None:
                self._listing = listing(self.files[self.file.value])
        except AgonError as error:
            why = "This transcript cannot be read." if self.public else str(error)
        found = self._listing
        self._set(self.search, value="", value_input="")
        self._offer(self.game, found.matches.game if found else ())
        self._offer(self.agent, found.agents.to_numpy().ravel() if found else ())
        self._offer(self.model, found.models.to_numpy().ravel() if found else ())
        if found:
            self._filtered(match)
        else:
            self._set(self.match, options={}, value=None, label="Match")
            self._chosen(None, "", why)

    def _offer(self, widget: Any, values: Collection[str]) -> None:
        labels = {label(each): each for each in sorted({each for each in values if each})}
        self._set(widget, options={ANY: ""} | labels, value="")

    def _filtered(self, match: str | None = None) -> None:
        """Lists what fits; the match that is shown stays where it does."""
        if self._quiet or self._listing is None:
            return
        wanted = {"game": self.game.value, "agent": self.agent.value, "model": self.model.value}
        found = self._listing.found(**wanted, search=self.search.value_input, public=self.public)
        offered, keep = found[:OFFERED], match or self.match.value
        if keep in found.index and keep not in offered.index:
            offered = found.loc[[keep, *offered.index]]
        labels = {self._label(row): row.Index for row in offered.itertuples()}
        more = f"; the first {OFFERED} are listed" if len(found) > OFFERED else ""
        before, value = self.match.value, keep if keep in offered.index else next(iter(labels.values()), None)
        self._set(self.match, options=labels, value=value, label=f"Match ({len(found):,} found{more})")
        if value != before or match is not None or value is None:
            self._picked()

    def _label(self, row: Any) -> str:
        """A match in a line; its id makes it one of a kind."""
        if self.public:
            return f"{label(row.game)} {label(row.Index)}"
        again = f" #{row.repetition + 1}" if row.repetition else ""
        return f"{label(row.game)} {label(row.variant)}: {label(row.who, 120)}{again} · {label(row.Index)}"

    def _picked(self) -> None:
        if self._quiet:
            return
        if self.match.value is None:
            self._chosen(None, "", "No match fits.")
        else:
            self._chosen(self.files[self.file.value], self.match.value, "")


def _holds(path: Path, match: str) -> bool:
    try:
        return match in listing(path).matches.index
    except AgonError:
        return False


def select(name: str, options: Any, styles: dict[str, Any] | None = None) -> Any:
    """A list to choose one thing from."""
    return pn.widgets.Select(label=name, options=options, **looking(FLEX | (styles or {})))


def looking(styles: dict[str, Any]) -> dict[str, Any]:
    """How a widget of this page looks."""
    return {"sizing_mode": "stretch_width", "styles": styles, "stylesheets": [WIDGETS], "margin": (4, 8)}
