"""The settings of games of clues."""

from typing import Any, ClassVar

import msgspec

from agon.games.settings import Seat, Setting


class ClueSetting(Setting):
    """The word of all but the spy, who is the spy, and a first clue for every seat."""

    names: ClassVar[tuple[str, str]]
    """Suffixes of the two variants: the spy is under test, or everybody else is."""

    word: str
    spy: Seat
    clues: list[str]

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game in which the player under test is the spy, and one in which it is everybody else."""
        fields, seats = msgspec.to_builtins(self), range(len(self.clues))
        tested = [self.spy], [seat for seat in seats if seat != self.spy]
        return {name: fields | {"tested": seats_tested} for name, seats_tested in zip(self.names, tested, strict=True)}
