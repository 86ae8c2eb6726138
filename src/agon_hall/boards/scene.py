"""What a board is drawn from: a view, points so far, and what people call the players."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from agon.games import Observation
from agon.games.base import PUBLIC
from agon_hall.look import line, number, table, text

UNREAD = "<em>nothing that could be read</em>"
"""In the place of an action."""


class Scene(NamedTuple):
    """All that a board may know."""

    view: Observation
    totals: tuple[float, ...] | None = None
    """Points so far, by seat."""
    names: Sequence[str] = ()
    """By seat; empty where players are called what the game calls them."""

    @property
    def own(self) -> int:
        """The seat that looks; PUBLIC for who only watches."""
        return self.view.seat

    @property
    def watched(self) -> bool:
        """Whether nobody's own seat is shown."""
        return self.view.seat == PUBLIC

    @property
    def players(self) -> tuple[str, ...]:
        """What the game calls the seats."""
        known = getattr(self.view.rules, "players", None)
        return tuple(known or (f"Player {seat + 1}" for seat in range(getattr(self.view.rules, "seats", 0) or 0)))

    @property
    def order(self) -> list[int]:
        """Seats, one's own first."""
        return sorted(range(len(self.players)), key=lambda seat: seat != self.own)

    def name(self, seat: int, most: int = 60) -> str:
        """A player in plain words: `Player 2`, `Player 2 (Ada)`, `Player 1 (you)`."""
        called = self.players[seat] if seat < len(self.players) else f"Player {seat + 1}"
        given = line(self.names[seat], 24) if seat < len(self.names) else ""
        more = "you" if seat == self.own else given if given != called else ""
        return line(f"{called} ({more})" if more else called, most)

    def who(self, seat: int) -> str:
        """The same as HTML."""
        return text(self.name(seat))

    def called(self, player: Any) -> str:
        """A player that the game names, as HTML."""
        return self.who(self.players.index(player)) if player in self.players else text(player)

    def short(self, seat: int) -> str:
        """What the game calls a player, for pictures, where there is little room."""
        return "you" if seat == self.own else line(self.players[seat], 14)

    def done(self, action: Any) -> str:
        """An action as HTML."""
        return UNREAD if action is None else text(action)


def points(scene: Scene, title: str = "Points so far") -> str:
    """Totals as a table; nothing where they are not known, or nobody has any."""
    totals = scene.totals or ()
    if not any(totals):
        return ""
    rows = [(scene.who(seat), number(totals[seat])) for seat in scene.order if seat < len(totals)]
    return table(title, ["Player", "Points"], rows, True)
