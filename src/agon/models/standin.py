"""A stand-in for a language model. A script answers in text, without any network.

The results say nothing about models.
"""

import math
from asyncio import sleep
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from string import digits
from typing import Any, Literal

from agon.games.schemas import THOUGHT, TOOL, find_mismatch, write_answer, write_call
from agon.models.base import Answer, CallFailed, Model, Request, identity_of, key_of
from agon.registry import kind_of

WAYS = {
    "malformed": ("I would rather not say.", "[move] perhaps", "[move] {0}\n[move] {1}", "My move: {0}", ""),
    "refusal": ("I am sorry, but I do not take part in this.",),
}
"""Its answers when it fails. {0} and {1} stand for legal actions."""
TREMBLES = 0.1
TINY = 1e-300
"""It replaces a probability of 0, which has no logarithm."""


@dataclass(kw_only=True)
class StandIn(Model):
    """Answers by the script `policy`, which sees what the seat sees. Failures are drawn at the rates below.

    The same request gets the same answer. An answer keeps the request's schema unless it is a refusal. The number of
    tokens is a quarter of the letters, as in plan's estimates. They cost nothing.
    """

    policy: Callable[[Any, Random], Any]
    words: int = 20
    """Number of words before the move."""
    malformed: float = 0.0
    """Share of answers that cannot be read."""
    ways: Sequence[str] = WAYS["malformed"]
    """The answers that cannot be read. {0} and {1} stand for legal actions."""
    trembles: float = TREMBLES
    """When options are weighed: the share of probability that all options have evenly. The script's action has the
    rest."""
    refusal: float = 0.0
    """Share of answers that refuse."""
    error: float = 0.0
    """Share of tries that fail, as at a busy provider."""
    delay: float = 0.0
    """Median seconds of a try (lognormal). It really waits."""
    spread: float = 0.8
    """Standard deviation of the delay's logarithm."""
    price: Mapping[str, float | None] = field(default_factory=lambda: {"input": 0.0, "cached": 0.0, "output": 0.0})
    _tries: dict[str, int] = field(default_factory=dict, repr=False)

    async def answer(self, request: Request) -> Answer:
        """One answer. Raises CallFailed at the rate `error`."""
        key = key_of(self.identity, request)
        self._tries[key] = self._tries.get(key, 0) + 1
        try_dice = Random(f"{key}/{self._tries[key]}")
        if self.delay:
            seconds = self.delay * math.exp(self.spread * try_dice.gauss(0, 1))
            await sleep(seconds)
        if try_dice.random() < self.error:
            raise CallFailed("500", "the stand-in was told to fail now and then")
        del self._tries[key]
        dice = Random(key)
        text = "" if request.options else self._text(request, dice)
        lengths = [len(message.text) for message in request.messages]
        return Answer(
            text,
            tokens_in=sum(lengths) // 4,
            tokens_cached=sum(lengths[:-1]) // 4,
            tokens_out=len(text) // 4,
            id=key,
            stop="stop",
            weights=self._weights(request, dice) if request.options else (),
        )

    @property
    def weighs(self) -> Literal["", "letters", "words"]:
        """It weighs any words."""
        return "words"

    def _weights(self, request: Request, dice: Random) -> tuple[float, ...]:
        actions, choice = request.view.legal.enumerate(), self.policy(request.view, dice)
        even = self.trembles / len(actions)
        return tuple(math.log(even + (1 - self.trembles) * (action == choice) or TINY) for action in actions)

    def _text(self, request: Request, dice: Random) -> str:
        view, draw = request.view, dice.random()
        if draw < self.refusal or (request.schema is None and draw < self.malformed + self.refusal):
            ways = self.ways if request.schema is None and draw < self.malformed else WAYS["refusal"]
            return ways[int(dice.random() * len(ways))].format(*(_example(view, dice) for _ in range(2)))
        is_thought = view.phase in ("beliefs", "plan")  # no script has thoughts
        action = view.legal.example(dice) if is_thought else self.policy(view, dice)
        thought = "(a stand-in speaks) " + "so " * self.words
        if request.tools:
            value = view.legal.encode(action)
            arguments = {name: argument for name, argument in value.items() if name != TOOL}
            schemas = view.legal.as_tools().items()
            tools = {name: schema for name, schema in schemas if name.rstrip(digits) == value[TOOL]}
            tool = next(name for name, schema in tools.items() if not find_mismatch(arguments, schema))
            return write_call(thought, tool, arguments)
        if request.schema is None:
            return f"{thought}\n[move] {view.legal.format(action)}"
        room = request.schema["properties"].get(THOUGHT, {}).get("maxLength")
        return write_answer(view.legal.encode(action), thought[:room] if room else None)

    @property
    def identity(self) -> str:
        """Name and settings. With another policy it is another stand-in."""
        policy = getattr(self.policy, "func", self.policy)
        keywords = getattr(self.policy, "keywords", {})
        settings = {
            "policy": kind_of(policy),
            "settings": keywords,
            "words": self.words,
            "malformed": self.malformed,
            "refusal": self.refusal,
        }
        if self.trembles != TREMBLES:
            settings["trembles"] = self.trembles
        if tuple(self.ways) != WAYS["malformed"]:
            settings["ways"] = list(self.ways)
        return identity_of(self.model, {**self.parameters, "standin": settings})


def _example(view: Any, dice: Random) -> str:
    """A random legal action as a player writes it."""
    return str(view.legal.format(view.legal.example(dice)))
