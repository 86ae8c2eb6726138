"""A table in a notebook: a cell shows the page of a seat in a frame."""

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
from agon_hall.server import LOOPBACK, Server, open_socket
from agon_hall.table import Table
from agon_hall.tables import Hall

FOLDER = ROOT / ".agon" / "cells"
"""The folder with the answers of people in notebooks."""


class Cell:
    """One match.

    `seats` has "human" or an agent (agent or agent@model) for each seat, and `seconds` is the time for an answer. A
    match without people is the same each time and keeps no files. Raises AgonError if the table cannot be opened.
    """

    def __init__(self, game: str, seats: Sequence[str], seconds: float | None = None) -> None:
        alone = PERSON not in seats
        self._folder = tempfile.TemporaryDirectory() if alone else None
        self.hall = _hall(Path(self._folder.name) if self._folder else FOLDER)
        id_ = sha256(repr((game, *seats)).encode()).hexdigest()[:16] if alone else None
        self.table: Table = self.hall.open(game, seats, seconds, match=id_)

    def link(self, number: int = 1) -> str:
        """The address of a seat's page; seats count from 1. The notebook's process serves it to this machine only."""
        key = self.hall.keys.key_of("seat", self.table.id, number - 1)
        return f"http://{LOOPBACK[0]}:{_port_of(self.hall)}/seat?key={key}"

    def seat(self, number: int = 1, height: int = 640) -> IFrame:
        """The page of a seat, as the last value of a cell. Seats count from 1, and `height` is in pixels."""
        return IFrame(self.link(number), width="100%", height=height)

    @property
    def over(self) -> bool:
        """Whether the match has ended."""
        return self.table.status == "over"

    async def played(self) -> None:
        """Returns when the match is over. Raises AgonError if it is stopped."""
        await self.table.done()
        if not self.over:
            raise AgonError(f"the match is {self.table.status}: {self.table.why}")

    def turns(self) -> pd.DataFrame:
        """The match as turns. Raises AgonError if it is not over."""
        if not self.over:
            raise AgonError(
                f"the match is not over, it is {self.table.status}: play on in the cell above, then run this again"
            )
        return read(self.table.path)


_halls: dict[Path, Hall] = {}
_servers: dict[Path, tuple[Server, "asyncio.Task[None]"]] = {}


def _hall(folder: Path) -> Hall:
    """The hall of a folder. A cell that runs again opens another table in the same hall."""
    if folder not in _halls:
        _halls[folder] = Hall(folder)
    return _halls[folder]


def _port_of(hall: Hall) -> int:
    """The port at which this process serves a hall's pages."""
    if hall.folder not in _servers:
        server = Server(hall, open_socket(), frameable=True)
        _servers[hall.folder] = server, asyncio.get_running_loop().create_task(server.run_here())
    return _servers[hall.folder][0].port
