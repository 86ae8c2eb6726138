"""A table in a cell of a notebook: the page of a seat, in a frame."""

import asyncio
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pandas as pd
from IPython.display import IFrame

from agon.errors import AgonError
from agon.paths import ROOT
from agon.plan import PERSON
from agon.turns import read
from agon_hall.server import LOOPBACK, Server, listening
from agon_hall.table import Table
from agon_hall.tables import Hall

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

    def link(self, number: int = 1) -> str:
        """The page of a seat, from 1; served by this notebook's own process, to this machine alone."""
        key = self.hall.keys.of("seat", self.table.id, number - 1)
        return f"http://{LOOPBACK[0]}:{_served(self.hall)}/seat?key={key}"

    def seat(self, number: int = 1, height: int = 640) -> IFrame:
        """The page of a seat, from 1, to be shown as a cell's last value; `height` in pixels."""
        return IFrame(self.link(number), width="100%", height=height)

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
_servers: dict[Path, tuple[Server, "asyncio.Task[None]"]] = {}


def _hall(folder: Path) -> Hall:
    """One for a folder: a cell that is run again makes another table of it."""
    if folder not in _halls:
        _halls[folder] = Hall(folder)
    return _halls[folder]


def _served(hall: Hall) -> int:
    """The port on which this process serves the pages of a hall."""
    if hall.folder not in _servers:
        server = Server(hall, listening(), framed=True)
        _servers[hall.folder] = server, asyncio.get_running_loop().create_task(server.run_here())
    return _servers[hall.folder][0].port
