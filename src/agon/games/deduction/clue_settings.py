"""The settings of games of clues, and how they are made.

As in MAgIC, A.1, candidates are played, and those are chosen in which the two sides are most even. Here reference players
play them instead of GPT-4, with each role under test.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, ClassVar

import msgspec

from agon.errors import AgonError
from agon.games.deduction.game import Deduction
from agon.games.deduction.scripts import Clue, Topic, lexicon, reference
from agon.games.settings import Candidate, Seat, Setting
from agon.loop import total


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


def topics_of(path: str) -> Iterable[Topic]:
    """The topics of a file, in its order. Raises AgonError."""
    return lexicon(path).by_name.values()


def draw_clues(
    topic: Topic, words: Sequence[str], dice: Random, candidates: Mapping[int, Sequence[Clue]] | None = None
) -> list[str]:
    """A clue for every seat, all different, by the word that the seat knows.

    A seat gets one of its `candidates`; a seat without candidates gets a clue that fits its word. Clues that fit two to
    five words are preferred. Raises AgonError where no clue is left.
    """
    clues: list[str] = []
    candidates = candidates or {}
    for seat, word in enumerate(words):
        free = [clue for clue in candidates.get(seat, topic.clues) if clue.clue not in clues]
        suitable = free if seat in candidates else [clue for clue in free if word in clue.fits]
        if not suitable:
            raise AgonError(
                f"topic {topic.topic} has too few clues: none is left for seat {seat}, whose word is {word!r}"
            )
        graded = [clue for clue in suitable if 2 <= len(clue.fits) <= 5]
        clues.append(dice.choice(graded or suitable).clue)
    return clues


def most_even(
    game: Callable[..., Deduction], candidates: Sequence[Candidate], topics: str, keep: int, matches: int
) -> tuple[list[Candidate], str]:
    """The `keep` candidates in which the spy's share of the credits is nearest to a half, and a sentence on how even they are.

    No topic and no word occurs twice, and no seat is the spy in more than a third. `matches` are played per candidate and role.
    """
    shares = [_spy_share(game, setting, topics, matches) for setting in candidates]
    selection: list[Candidate] = []
    selection_shares: list[float] = []
    spies, words = Counter[int](), set[str]()
    for share, setting in sorted(zip(shares, candidates, strict=True), key=lambda pair: abs(pair[0] - 0.5)):
        names = {setting.get("topic") or setting["word"], setting.get("spy_word")} - {None}
        if len(selection) < keep and spies[setting["spy"]] < -(-keep // 3) and not names & words:
            selection.append(setting)
            selection_shares.append(share)
            spies[setting["spy"]] += 1
            words |= names
    summary = f"of {len(shares)} candidates; the spy's part of the credits is {_span(selection_shares)}, of all {_span(shares)}"
    return sorted(selection, key=lambda setting: (setting.get("topic", ""), setting["word"])), summary


def _spy_share(game: Callable[..., Deduction], setting: Candidate, topics: str, matches: int) -> float:
    """The spy's share of the credits when reference players play the setting, with each side under test."""
    answer = partial(reference, knowledge=topics)
    spy, crowd = setting["spy"], [seat for seat in range(3) if seat != setting["spy"]]
    credits = [0.0, 0.0]
    for tested in ([spy], crowd):
        instance = game("", "", tested=tested, interviews=False, **setting)
        for match in range(matches):
            points = total(instance, [answer] * 3, match)
            credits = [credits[0] + points[spy], credits[1] + points[crowd[0]]]
    return credits[0] / sum(credits)


def _span(shares: Sequence[float]) -> str:
    return f"{min(shares):.0%} to {max(shares):.0%}" if shares else "unknown"
