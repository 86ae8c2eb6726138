"""The matches of a group: who plays with whom in each of them, so that people meet again as seldom as possible."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from random import Random

DRAWS = 200
"""The number of random divisions that are compared for each match, where no exact schedule is known."""
Division = list[tuple[int, ...]]
"""The members (from 0) of each match that is played at the same time."""


@lru_cache(256)
def schedule(size: int, seats: int, number: int, seed: str) -> list[Division]:
    """The division of a group of `size` members for each of `number` matches of `seats` people.

    Two seats: by the circle method nobody meets anybody twice in the first `size` - 1 matches; after them it begins
    anew. More seats: each division is the one of DRAWS random ones in which fewest pairs meet again. The order depends
    on the `seed` alone.
    """
    dice = Random(seed)
    members = dice.sample(range(size), size)
    if seats == 2:
        return [_circle(members, turn % (size - 1)) for turn in range(number)]
    met, divisions = Counter[frozenset[int]](), list[Division]()
    for _ in range(number):
        draws = [_divided(dice.sample(members, size), seats) for _ in range(DRAWS)]
        divisions.append(min(draws, key=lambda division: sum(met[pair] for pair in _pairs(division))))
        met.update(_pairs(divisions[-1]))
    return divisions


def meetings(divisions: Sequence[Division]) -> int:
    """The number of matches in which two people meet who meet most often."""
    return max(Counter(pair for division in divisions for pair in _pairs(division)).values(), default=0)


def _circle(members: Sequence[int], turn: int) -> Division:
    """One round of the circle method: the first stays, and the others move on by `turn` places."""
    first, *others = members
    ring = [first, *others[turn:], *others[:turn]]
    return [(ring[place], ring[-1 - place]) for place in range(len(ring) // 2)]


def _divided(members: Sequence[int], seats: int) -> Division:
    return [tuple(members[first : first + seats]) for first in range(0, len(members), seats)]


def _pairs(division: Division) -> list[frozenset[int]]:
    return [frozenset(pair) for match in division for pair in combinations(match, 2)]
