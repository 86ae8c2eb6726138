"""A stand-in for a language model: it answers in text, by a script, without any network. Its results say nothing about models."""

import math
from asyncio import sleep
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from string import digits
from typing import Any, Literal

from agon.games.schemas import THOUGHT, TOOL, calling, find_mismatch, write_answer
from agon.models.base import Answer, CallFailed, Model, Request, identity_of, key_of
from agon.registry import kind_of

WAYS = {
    "malformed": ("I would rather not say.", "[move] perhaps", "[move] {0}\n[move] {1}", "My move: {0}", ""),
    "refusal": ("I am sorry, but I do not take part in this.",),
}
"""What it says when it does not answer as asked; {0} and {1} are legal actions."""
TREMBLES = 0.1
TINY = 1e-300
"""In the place of a probability of 0, which has no logarithm."""


@dataclass(kw_only=True)
class StandIn(Model):
    """Answers by the script `policy`, which sees what the seat sees; how it says so, and when it fails, is drawn by rates.

    The same request gets the same answer, which keeps a schema where it is given one and it does not refuse. Tokens are a
    quarter of the letters, as in plan's estimates; they cost nothing.
    """

    policy: Callable[[Any, Random], Any]
    words: int = 20
    """Words said before the move."""
    malformed: float = 0.0
    """Share of answers that cannot be read."""
    ways: Sequence[str] = WAYS["malformed"]
    """What it says when it does not answer as asked; {0} and {1} are legal actions."""
    trembles: float = TREMBLES
    """Where answers are weighed: the share of probability that is spread evenly over all; the script's action has the rest."""
    refusal: float = 0.0
    """Share of answers that refuse."""
    error: float = 0.0
    """Share of tries that fail, as with a busy provider."""
    delay: float = 0.0
    """Median seconds that a try takes, lognormal; really waited."""
    spread: float = 0.8
    """Sigma of the delay's logarithm."""
    price: Mapping[str, float | None] = field(default_factory=lambda: {"input": 0.0, "cached": 0.0, "output": 0.0})
    _tries: dict[str, int] = field(default_factory=dict, repr=False)

    async def answer(self, request: Request) -> Answer:
        """One answer. Raises CallFailed at the rate `error`."""
        key = key_of(self.identity, request)
        self._tries[key] = self._tries.get(key, 0) + 1
        tried = Random(f"{key}/{self._tries[key]}")
        if self.delay:
            seconds = self.delay * math.exp(self.spread * tried.gauss(0, 1))
            await sleep(seconds)
        if tried.random() < self.error:
            raise CallFailed("500", "the stand-in was told to fail now and then")
        del self._tries[key]
        dice = Random(key)
        text = "" if request.options else self._said(request, dice)
        sent = sum(len(message.text) for message in request.messages)
        known = sum(len(message.text) for message in request.messages[:-1])
        return Answer(
            text,
            tokens_in=sent // 4,
            tokens_cached=known // 4,
            tokens_out=len(text) // 4,
            id=key,
            stop="stop",
            weights=self._weights(request, dice) if request.options else (),
        )

    @property
    def weighs(self) -> Literal["", "letters", "words"]:
        """Anything."""
        return "words"

    def _weights(self, request: Request, dice: Random) -> tuple[float, ...]:
        actions, done = request.view.legal.enumerate(), self.policy(request.view, dice)
        even = self.trembles / len(actions)
        return tuple(math.log(even + (1 - self.trembles) * (action == done) or TINY) for action in actions)

    def _said(self, request: Request, dice: Random) -> str:
        view, drawn = request.view, dice.random()
        if drawn < self.refusal or (request.schema is None and drawn < self.malformed + self.refusal):
            ways = self.ways if request.schema is None and drawn < self.malformed else WAYS["refusal"]
            return ways[int(dice.random() * len(ways))].format(*(_example(view, dice) for _ in range(2)))
        asked_to_think = view.phase in ("beliefs", "plan", "summary")  # no script has any
        action = view.legal.example(dice) if asked_to_think else self.policy(view, dice)
        thought = "(a stand-in speaks) " + "so " * self.words
        if request.tools:
            value = view.legal.encode(action)
            given = {name: each for name, each in value.items() if name != TOOL}
            tools = {name: takes for name, takes in view.legal.as_tools().items() if name.rstrip(digits) == value[TOOL]}
            return calling(
                thought, next(name for name, takes in tools.items() if not find_mismatch(given, takes)), given
            )
        if request.schema is None:
            return f"{thought}\n[move] {view.legal.format(action)}"
        room = request.schema["properties"].get(THOUGHT, {}).get("maxLength")
        return write_answer(view.legal.encode(action), thought[:room] if room else None)

    @property
    def identity(self) -> str:
        """Name and settings: another policy is another stand-in."""
        policy = getattr(self.policy, "func", self.policy)
        keywords = getattr(self.policy, "keywords", {})
        own = {
            "policy": kind_of(policy),
            "settings": keywords,
            "words": self.words,
            "malformed": self.malformed,
            "refusal": self.refusal,
        }
        if self.trembles != TREMBLES:
            own["trembles"] = self.trembles
        if tuple(self.ways) != WAYS["malformed"]:
            own["ways"] = list(self.ways)
        return identity_of(self.model, {**self.parameters, "standin": own})


def _example(view: Any, dice: Random) -> str:
    """Any legal action, as a player writes it."""
    return str(view.legal.format(view.legal.example(dice)))
