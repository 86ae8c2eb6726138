"""How the settings of MAgIC's games are made: candidates of each game, of which the most even games of clues are kept.

As in MAgIC, A.1, candidates are played, and those are kept in which the two sides are most even. Here reference players
play them instead of GPT-4, with each role under test.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from agon.errors import AgonError
from agon.games.chameleon.game import Chameleon
from agon.games.cost_sharing.game import Airline
from agon.games.cost_sharing.scripts import round_shares, target_shares
from agon.games.deduction.game import Deduction
from agon.games.deduction.scripts import Clue, Topic, lexicon, reference
from agon.games.undercover.game import Undercover
from agon.loop import total

Candidate = dict[str, Any]
"""The content of a setting's file."""

SCORES = [(3, 5, 2), (3, 10, 2), (3, 20, 2), (3, 5, 3), (3, 5, 4), (3, 5, 5), (5, 5, 3)]
"""Points: all cooperate, a lone defector, each of two; all defect: 1. MAgIC, Figure 10."""
MULTIPLIERS = [1, 1.2, 1.5, 1.8, 2, 2.5, 3]
"""MAgIC, Figure 10."""
SIZES = {"small": (40, 90, 0.75, 2.0), "medium": (110, 180, 1.25, 3.5), "large": (220, 340, 3.0, 9.0)}
"""Least and most passengers a flight, and hours."""


def _chameleon(dice: Random, topics: str) -> Iterator[Candidate]:
    """One setting for every word of `topics`, a file: who is the spy, and a first clue for every seat."""
    for topic in lexicon(topics).by_name.values():
        for word in topic.words:
            spy = dice.randrange(3)
            broad = [clue for clue in topic.clues if 3 <= len(clue.fits) < len(topic.words)]
            clues = _draw_clues(topic, [word] * 3, dice, {spy: broad})
            yield {"topic": topic.topic, "word": word, "spy": spy, "clues": clues}


def _undercover(dice: Random, topics: str) -> Iterator[Candidate]:
    """Two settings for every pair of words of `topics`, a file: who is the spy, and a first clue for every seat."""
    for topic in lexicon(topics).by_name.values():
        for pair in topic.pairs:
            for word, other in (pair, pair[::-1]):
                spy = dice.randrange(3)
                words = [other if seat == spy else word for seat in range(3)]
                yield {"word": word, "spy_word": other, "spy": spy, "clues": _draw_clues(topic, words, dice)}


def _cost_sharing(dice: Random, topics: str) -> Iterator[Candidate]:
    """Seven triples out of twenty airlines, each with every seat under test, and what each seat asks for at first."""
    pool = [_airline(dice) for _ in range(20)]
    for _ in range(7):
        airlines = tuple(Airline(name, *fields) for name, fields in zip("ABC", dice.sample(pool, 3), strict=True))
        proposals = [round_shares(target_shares(airlines, seat, "proportional", 1.0)) for seat in range(3)]
        for tested in range(3):
            yield {
                "tested": tested,
                "fee": 1_000_000,
                "airlines": [airline._asdict() for airline in airlines],
                "proposals": proposals,
            }


def _airline(dice: Random) -> tuple[int, int, float, str]:
    """Flights and passengers (per month), hours a flight, and the size of the aircraft."""
    aircraft = dice.choice(list(SIZES))
    low, high, short, long = SIZES[aircraft]
    flights = 5 * dice.randrange(6, 31)
    passengers = 100 * round(flights * dice.randint(low, high) / 100)
    return flights, passengers, round(4 * dice.uniform(short, long)) / 4, aircraft


def _prisoner3(dice: Random, topics: str) -> Iterator[Candidate]:
    """Each of SCORES, with every seat under test."""
    for cooperate, one, two in SCORES:
        for seat in range(3):
            yield {"tested": seat, "cooperate": cooperate, "one_defect": one, "two_defect": two, "defect": 1}


def _public_goods(dice: Random, topics: str) -> Iterator[Candidate]:
    """Each of MULTIPLIERS, with every seat under test."""
    for multiplier in MULTIPLIERS:
        for seat in range(3):
            yield {"tested": seat, "multiplier": multiplier}


CANDIDATES = {
    "chameleon": _chameleon,
    "undercover": _undercover,
    "cost_sharing": _cost_sharing,
    "prisoner3": _prisoner3,
    "public_goods": _public_goods,
}
"""Game -> its candidates, from dice and the file of topics. The games use the same dice in this order."""
OF_CLUES: dict[str, Callable[..., Deduction]] = {"chameleon": Chameleon, "undercover": Undercover}
"""Games of which `most_even` keeps some candidates. Of all others all are kept."""


def _draw_clues(
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
