"""How people see the game of rating: the log in words, and a form for a dimension of all turns; and the raters' own page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agon.games.html import items, label, text
from agon.games.inputs import Button, Entered, Group, InvalidEntry, LineField, Thing, TickField, parse_share
from agon.games.pages import Desk, FamilyPage, Parts, Scene
from agon.games.rating.game import ORDERS, Ratings
from agon.games.rating.raters import RatersDesk
from agon.games.rating.words import lines_html, outcome_lines, turns


class RatingPage(FamilyPage):
    """Of rating."""

    own_agents = ("rater", "rater_counts", "rater_random")

    def board(self, scene: Scene) -> Parts:
        """The dimension, and the log turn by turn."""
        log = scene.view.rules
        log_html = "".join(
            f"<details open><summary>Turn {place}</summary>{lines_html(turn)}</details>"
            for place, turn in enumerate(turns(log), 1)
        )
        heading = f"<h2>{text(scene.view.phase.replace('_', ' ').capitalize())}</h2>"
        match = f"<p>A finished match of {text(log.game or 'a game')}. Players wrote to each other, never to you.</p>"
        return {"asked": heading, "log": f"<h3>The match</h3>{match}{items(map(text, outcome_lines(log)))}{log_html}"}

    def form(self, scene: Scene, entered: Entered) -> Sequence[Thing]:
        """A score, or three yes or no, and a reason, for every turn and player."""
        space: Ratings = scene.view.legal
        rows = [
            Group((_value(space, f"{turn}/{player}", _place(space, turn, player)), _why(space, turn, player)))
            for turn, player in space.units()
        ]
        ticks = ["<p>Tick what is shown; what is not ticked counts as not shown.</p>"] if space.orders else []
        return [*ticks, *rows, Button("Send", lambda: [_ratings(space, entered)])]

    def desks(self, folder: Path) -> Mapping[str, Desk]:
        """The raters' page."""
        return {"annotate": RatersDesk(folder / "annotations")}


page = RatingPage()


def _place(space: Ratings, turn: int, player: str) -> str:
    """A turn and a player, called as in the log's words."""
    return f"Turn {turn}, Player {space.players.index(player) + 1}"


def _value(space: Ratings, key: str, who: str) -> Thing:
    if space.orders:
        orders = {f"{who}: {order} order": place for place, order in enumerate(ORDERS)}
        return TickField(key=key, label=f"{who}: what is shown", options=orders, value=[])
    return LineField(key=key, label=f"{who}: score, 0 to 1")


def _why(space: Ratings, turn: int, player: str) -> Thing:
    key = f"{turn}/{player}/why"
    return LineField(key=key, label=f"{_place(space, turn, player)}: why (may be empty)")


def _ratings(space: Ratings, entered: Entered) -> tuple[Any, ...]:
    """A rating for every turn and player. Raises InvalidEntry."""
    rows = []
    for turn, player in space.units():
        entry = entered.get(f"{turn}/{player}")
        value: Any = (
            tuple(place in (entry or ()) for place in range(len(ORDERS))) if space.orders else parse_share(entry)
        )
        if not space.orders and (value is None or value > 1):
            raise InvalidEntry(f"{_place(space, turn, player)}: enter a score from 0 to 1, such as 0.7.")
        rows.append((turn, player, value, entered.get(f"{turn}/{player}/why") or ""))
    ratings = tuple(rows)
    if fault := space.fault(ratings):
        raise InvalidEntry(label(fault[:1].upper() + fault[1:] + ".", 200))
    return ratings
