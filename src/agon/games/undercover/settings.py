"""The settings of Undercover: files of data/settings."""

from collections.abc import Iterator
from functools import partial
from random import Random

from agon.games.deduction.clue_settings import ClueSetting, draw_clues, most_even, topics_of
from agon.games.settings import Candidate
from agon.games.undercover.game import Undercover


class Setting(ClueSetting):
    """The word of all but the spy, and the spy's."""

    names = ("undercover", "civilians")
    spy_word: str

    def __post_init__(self) -> None:
        Undercover("undercover", "", self.word, self.spy, self.clues, spy_word=self.spy_word)


def candidates(dice: Random, topics: str) -> Iterator[Candidate]:
    """Two settings for every pair of words of `topics`, a file: who is the spy, and a first clue for every seat."""
    for topic in topics_of(topics):
        for pair in topic.pairs:
            for word, other in (pair, pair[::-1]):
                spy = dice.randrange(3)
                words = [other if seat == spy else word for seat in range(3)]
                yield {"word": word, "spy_word": other, "spy": spy, "clues": draw_clues(topic, words, dice)}


chosen = partial(most_even, Undercover)
