"""The one question every player answers: given what this seat sees, what does it do?"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from agon.games import Dice, Game, Observation
from agon.games.base import Times
from agon.loop import Script as Script
from agon.loop import longest
from agon.loop import seat_dice as seat_dice
from agon.models import Answering, Halted
from agon.models.ends import Ended

T = TypeVar("T")
STOOD_IN = "stood in: "
"""How the `fallback` of a reply begins that a script gave in the place of somebody who has left: the others' turns still count."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a player answered when it was asked once."""

    action: Any
    """A legal action, or None when there was no readable one."""
    text: str = ""
    """The raw answer."""
    attempts: int = 1
    """Times it was asked, re-asks included."""
    fallback: str = ""
    """What was done instead when there was no readable action; empty when nothing was."""
    tokens_in: int = 0
    tokens_out: int = 0
    untold: bool = False
    """Whether some answer came without its tokens: the sums above are then too low."""
    seconds: float = 0.0
    cached: bool = False
    ended: Ended | None = None
    """Why the answer ended, in agon's word (agon.models.ends); error where the provider refused for good; None where no model was asked."""
    exchange: str = ""
    """Key of the recorded exchange under data/recordings; empty when there was none."""
    detail: dict[str, Any] | None = None
    """What only this player knows of its answer, for the turns' column `detail`; JSON values."""


def spent(replies: Sequence[Reply], at_once: bool = False) -> dict[str, Any]:
    """What several replies have cost together, as fields of one reply: tokens, seconds, and whether all came from records.

    The seconds of replies that were asked `at_once` are those of the slowest. A reply for which nobody was asked is not counted.
    """
    asked = [reply for reply in replies if reply.attempts]
    return {
        "tokens_in": sum(reply.tokens_in for reply in asked),
        "tokens_out": sum(reply.tokens_out for reply in asked),
        "untold": any(reply.untold for reply in asked),
        "seconds": (max if at_once else sum)([0.0, *(reply.seconds for reply in asked)]),
        "cached": all(reply.cached for reply in asked),
    }


class Place(NamedTuple):
    """Where an agent sits: it is made fresh for each seat of each match, with this as its first argument."""

    match: str
    """The match's id."""
    seat: int
    model: Answering | None = None
    """Where its questions go; None for agents without a model."""


class Agent(Protocol):
    """A player whose answers take time: a model or a person."""

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """Answers one question."""


def times_asked(game: Game[Any], seat: int) -> Times:
    """How often a match asks `seat`; where the game does not know it, at most as often as a match may have steps."""
    times = game.times_asked(seat)
    return times._replace(most=min(times.most, longest(game)))


async def together(asked: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """What all answer, in order. When one is halted the others still come to their end: their calls are paid for."""
    if len(asked) == 1:
        return [await asked[0]]
    tasks = [asyncio.create_task(each) for each in asked]
    try:
        return await asyncio.gather(*tasks)
    except Halted:
        await asyncio.wait(tasks)
        raise
