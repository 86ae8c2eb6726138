"""A model in the place of a participant, for rehearsals: the study's own, where it costs nothing."""

from pathlib import Path
from random import Random
from typing import Any

from agon import AgonError
from agon.agents import Agent, Place
from agon.models.ledger import Ledger, Live
from agon.models.limits import Budget
from agon.models.recording import Recording, Writer
from agon.plan import PERSON
from agon_hall.protocol import Cell, Study, seated


class Mind:
    """Who answers what one participant is asked. What it asks a model is recorded in `folder`."""

    def __init__(self, own: Study, folder: Path) -> None:
        self._own, self._folder = own, folder
        self._agent: Agent | None = None
        self.name = f"{own.models.agents[0].partition('@')[0]}@{own.models.models[0]}" if known(own) else ""
        self.answers, self.why = 0, ""
        """How often it has answered, and why it does not any more."""
        self._models: dict[str, Any] = {}
        self._writer: Writer | None = None

    async def answers_to(self, cell: Cell, match: str, seat: int, view: Any, dice: Random) -> Any:
        """An action. Raises AgonError for a model that is not there, or costs money."""
        if self._agent is None:
            found = seated(self._own, cell._replace(entrants=tuple(map(self._instead, cell.entrants))))
            self._models = found.models
            for name, model in self._models.items():
                if any(model.price.values()) or getattr(model, "key", None):
                    raise AgonError(f"{name} costs money, or takes a key")
            self._writer = Writer(Recording(self._folder / "recording"), self._folder / "lock")
            ledger = Ledger(self._models, self._writer, Budget())
            own = found.seats[seat]
            live = Live(own.model, self._models[own.model], ledger) if own.model else None
            self._agent = own.player(Place(match, seat, live))
        reply = await self._agent.act(view, dice)
        self.answers += 1
        return view.legal.example(dice) if reply.action is None else reply.action

    def _instead(self, entrant: str) -> str:
        return self.name if entrant == PERSON else entrant

    async def close(self) -> None:
        """Ends what it has begun."""
        for model in self._models.values():
            await model.close()
        if self._writer is not None:
            self._writer.close()


def known(own: Study) -> bool:
    """Whether a study says which model plays its cells."""
    return bool(own.models.agents and own.models.models)
