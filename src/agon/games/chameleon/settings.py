"""The settings of Chameleon: files of data/settings."""

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

from agon.games import settings
from agon.games.chameleon.game import Chameleon
from agon.games.deduction.candidates import drawn_clues, most_even, topics_of
from agon.games.settings import Candidate, Seat, by_role


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


def candidates(dice: Random, topics: str) -> Iterator[Candidate]:
    """One setting for every word of `topics`, a file: who is the spy, and a first clue for every seat."""
    for topic in topics_of(topics):
        for word in topic.words:
            spy = dice.randrange(3)
            broad = [clue for clue in topic.clues if 3 <= len(clue.fits) < len(topic.words)]
            clues = drawn_clues(topic, [word] * 3, dice, {spy: broad})
            yield {"topic": topic.topic, "word": word, "spy": spy, "clues": clues}


chosen = partial(most_even, Chameleon)
