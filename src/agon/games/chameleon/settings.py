"""The settings of Chameleon: files of data/settings."""

from collections.abc import Iterator
from functools import partial
from random import Random

from agon.games.chameleon.game import Chameleon
from agon.games.deduction.clue_settings import ClueSetting, draw_clues, most_even, topics_of
from agon.games.settings import Candidate


class Setting(ClueSetting):
    """A topic, which all know, and the word that all but the spy know."""

    names = ("chameleon", "crowd")
    topic: str

    def __post_init__(self) -> None:
        Chameleon("chameleon", "", self.word, self.spy, self.clues, topic=self.topic)


def candidates(dice: Random, topics: str) -> Iterator[Candidate]:
    """One setting for every word of `topics`, a file: who is the spy, and a first clue for every seat."""
    for topic in topics_of(topics):
        for word in topic.words:
            spy = dice.randrange(3)
            broad = [clue for clue in topic.clues if 3 <= len(clue.fits) < len(topic.words)]
            clues = draw_clues(topic, [word] * 3, dice, {spy: broad})
            yield {"topic": topic.topic, "word": word, "spy": spy, "clues": clues}


chosen = partial(most_even, Chameleon)
