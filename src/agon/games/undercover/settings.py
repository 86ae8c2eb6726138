"""The settings of Undercover: files of data/settings."""

from typing import Any

from agon.games import settings
from agon.games.settings import Seat, by_role
from agon.games.undercover.game import Undercover


class Setting(settings.Setting):
    """The word of all but the spy, the spy's, and a first clue for every seat."""

    word: str
    spy_word: str
    spy: Seat
    clues: list[str]

    def __post_init__(self) -> None:
        Undercover("undercover", "", self.word, self.spy, self.clues, spy_word=self.spy_word)

    def variants(self) -> dict[str, dict[str, Any]]:
        """One game in which the player under test is the spy, and one in which it is everybody else."""
        return by_role(self, self.spy, "undercover", "civilians")
