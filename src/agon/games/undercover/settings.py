"""The settings of Undercover: files of data/settings."""

from agon.games.deduction.clue_settings import ClueSetting
from agon.games.undercover.game import Undercover


class Setting(ClueSetting):
    """The word of all but the spy, and the spy's."""

    names = ("undercover", "civilians")
    spy_word: str

    def __post_init__(self) -> None:
        Undercover("undercover", "", self.word, self.spy, self.clues, spy_word=self.spy_word)
