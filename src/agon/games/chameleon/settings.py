"""The settings of Chameleon: files of data/settings."""

from agon.games.chameleon.game import Chameleon
from agon.games.deduction.clue_settings import ClueSetting


class Setting(ClueSetting):
    """A topic, which all know, and the word that all but the spy know."""

    names = ("chameleon", "crowd")
    topic: str

    def __post_init__(self) -> None:
        Chameleon("chameleon", "", self.word, self.spy, self.clues, topic=self.topic)
