"""A table in a cell of a notebook."""

import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pandas as pd
import panel as pn

from agon import ROOT, AgonError
from agon.plan import PERSON
from agon.turns import read
from agon_hall.seat import SeatPage
from agon_hall.tables import Hall, Table

FOLDER = ROOT / ".agon" / "cells"
"""Where the answers of people in notebooks are kept."""


class Cell:
    """One match; `seats` as in the hall: "human", or an agent, as agent or agent@model. Raises AgonError.

    A match without people is the same each time, and leaves nothing behind.
    """

    def __init__(self, game: str, seats: Sequence[str], seconds: float | None = None) -> None:
        alone = PERSON not in seats
        self._folder = tempfile.TemporaryDirectory() if alone else None
        self.hall = _hall(Path(self._folder.name) if self._folder else FOLDER)
        id_ = sha256(repr((game, *seats)).encode()).hexdigest()[:16] if alone else None
        self.table: Table = self.hall.open(game, seats, seconds, match=id_)

    def seat(self, number: int = 1) -> pn.viewable.Viewable:
        """The widgets of a seat, from 1, to be shown as a cell's last value."""
        pn.extension(inline=True)  # nothing is fetched from elsewhere
        return SeatPage(self.table, number - 1).panel

    @property
    def over(self) -> bool:
        """Whether the match has come to its end."""
        return self.table.status == "over"

    async def played(self) -> None:
        """Returns when the match is over. Raises AgonError when it has been stopped."""
        await self.table.done()
        if not self.over:
            raise AgonError(f"the match is {self.table.status}: {self.table.why}")

    def turns(self) -> pd.DataFrame:
        """The match as turns. Raises AgonError while it is played."""
        if not self.over:
            raise AgonError(
                f"the match is not over, it is {self.table.status}: play on in the cell above, then run this again"
            )
        return read(self.table.path)


_halls: dict[Path, Hall] = {}


def _hall(folder: Path) -> Hall:
    """One for a folder: a cell that is run again makes another table of it."""
    if folder not in _halls:
        _halls[folder] = Hall(folder)
    return _halls[folder]
