"""The settings of Chameleon: files of data/settings."""

from typing import Any

from agon.games import settings
from agon.games.chameleon.game import Chameleon
from agon.games.settings import Seat, by_role


class Setting(settings.Setting):
    """A topic, the word that all but the spy know, and a first clue for every seat."""

    topic: str
    word: str
    spy: Seat
    clues: list[str]

    def __post_init__(self) -> None:
        Chameleon("chameleon", "", self.word, self.spy, self.clues, topic=self.topic)

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game in which the player under test is the spy, and one in which it is everybody else."""
        return by_role(self, self.spy, "chameleon", "crowd")
