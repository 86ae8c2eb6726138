"""The interface of players: an observation goes in, a reply with an action comes out."""

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
from agon.models.base import Ended

T = TypeVar("T")
STOOD_IN = "stood in: "
"""Prefix of `fallback` where a script replied for a person who has left. The turns of the others still count."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A player's reply to one question."""

    action: Any
    """A legal action. None: no answer was readable."""
    text: str = ""
    """The raw answer."""
    attempts: int = 1
    """Number of times that the question was asked."""
    fallback: str = ""
    """The replacement of an unreadable action. Empty: nothing did."""
    tokens_in: int = 0
    tokens_out: int = 0
    untold: bool = False
    """Whether an answer came without its count of tokens. The two sums above are then too low."""
    seconds: float = 0.0
    cached: bool = False
    ended: Ended | None = None
    """Why the answer ended (agon.models.base). error: the provider refused for good. None: no model was asked."""
    exchange: str = ""
    """Key of the recorded exchange under data/recordings; empty when there was none."""
    detail: dict[str, Any] | None = None
    """Further facts about the answer, as JSON values, for the turns' column `detail`."""


def total_cost(replies: Sequence[Reply], at_once: bool = False) -> dict[str, Any]:
    """The total cost of several replies, as fields of one reply: tokens, seconds, and whether all came from records.

    Replies that were asked `at_once` take the seconds of the slowest. Replies without an attempt do not count.
    """
    asked_replies = [reply for reply in replies if reply.attempts]
    return {
        "tokens_in": sum(reply.tokens_in for reply in asked_replies),
        "tokens_out": sum(reply.tokens_out for reply in asked_replies),
        "untold": any(reply.untold for reply in asked_replies),
        "seconds": (max if at_once else sum)([0.0, *(reply.seconds for reply in asked_replies)]),
        "cached": all(reply.cached for reply in asked_replies),
    }


class Place(NamedTuple):
    """The match and seat of an agent. It is the first argument of every agent; each seat of each match has its own agent."""

    match: str
    """The match's id."""
    seat: int
    model: Answering | None = None
    """The model that answers its questions. None: the agent has none."""


class Agent(Protocol):
    """A player that takes time to answer: a model or a person."""

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """Answers one question."""


def times_asked(game: Game[Any], seat: int) -> Times:
    """How often a match asks `seat`. Where the game sets no limit, the longest possible match does."""
    times = game.times_asked(seat)
    return times._replace(most=min(times.most, longest(game)))


async def together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Awaits all and returns their results in order.

    When one is Halted, the others still finish, because their calls are paid for. Raises the first error.
    """
    if len(coroutines) == 1:
        return [await coroutines[0]]
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except Halted:
        await asyncio.wait(tasks)
        raise
