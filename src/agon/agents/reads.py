"""Four ways to get an action from a model: reading what it says, having its form enforced, as the call of a tool that the provider
offers it, weighing every legal action.

An agent's setting `reads` names one: free, constrained, called or weighed; or has the way's own settings, `{way: weighed, takes: best}`.
"""

from collections.abc import Sequence
from math import exp, fsum
from string import ascii_uppercase
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import msgspec

from agon.agents.prompts import Template
from agon.errors import AgonError, fault_of
from agon.games import Dice
from agon.games.reading import read
from agon.games.schemas import (
    ACTION,
    THOUGHT,
    Schema,
    answer_schema,
    object_of,
    read_answer,
    read_called,
    shortened,
    worded,
)
from agon.games.spaces import Space
from agon.models import Answer

MOST = {"words": 200, "letters": 20}
"""Actions that can be weighed at one question, by how they are labelled: for words a call each or more, and of letters OpenAI
tells no more."""


class Read(NamedTuple):
    """What was made of one answer."""

    text: str
    """What stands in the conversation."""
    action: Any | None
    fault: str = ""
    """Why there is no action."""
    detail: dict[str, Any] | None = None
    """For the turns' column `detail`."""


class Free(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="free", tag_field="way"):
    """The model says what it likes, and its action is read from that."""

    guide: ClassVar[str] = ""
    """The file among agents/prompts that says how to answer; empty where the game's own question does."""

    def fault(self, space: Space) -> str:
        """Why actions of a space cannot be got in this way; empty where they can."""
        return ""

    def asked(self, space: Space) -> dict[str, Any]:
        """What a request has besides."""
        return {}

    def told(self, texts: Template | None, space: Space) -> str:
        """What is said after a question of how to answer it."""
        return ""

    def read(self, answer: Answer, space: Space, dice: Dice | None) -> Read:
        """The action in an answer."""
        return Read(answer.text, *read(answer.text, space)[:2])


class Constrained(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="constrained", tag_field="way"):
    """The provider lets the model write nothing but a JSON object with a legal action, after some reasoning."""

    thought: Annotated[int, msgspec.Meta(ge=0, le=2000)] = 600
    """Characters of reasoning before the action, at most; 0: none."""
    text: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Characters of each text within an action, at most; None: as many as the game allows."""
    guide: ClassVar[str] = "_reads.md"

    def fault(self, space: Space) -> str:
        """Nothing: every space has a schema."""
        return ""

    def asked(self, space: Space) -> dict[str, Any]:
        """The schema."""
        return {"schema": answer_schema(self._short(space.schema()), self.thought)}

    def _short(self, schema: Schema) -> Schema:
        return schema if self.text is None else shortened(schema, self.text)

    def told(self, texts: Template | None, space: Space) -> str:
        """The schema in words."""
        assert texts is not None
        parts = {name: worded(part, 1) for name, part in self.asked(space)["schema"]["properties"].items()}
        return "\n\n" + texts.rendered("constrained", parts.get(THOUGHT), parts[ACTION])

    def read(self, answer: Answer, space: Space, dice: Dice | None) -> Read:
        """The action in an answer, and its reasoning."""
        reading = read_answer(answer.text, space)
        return Read(answer.text, reading.action, reading.fault, {"thought": [reading.note]} if reading.note else None)


class Called(Constrained, frozen=True, forbid_unknown_fields=True, tag="called", tag_field="way"):
    """The model calls one of the tools that the provider offers it (function calling), after some reasoning."""

    guide: ClassVar[str] = "_called.md"

    def fault(self, space: Space) -> str:
        """Why actions are no calls of tools; empty where they are."""
        return "" if space.as_tools() else "its actions are no calls of tools: take an agent with reads: constrained"

    def asked(self, space: Space) -> dict[str, Any]:
        """The tools."""
        before: dict[str, Schema] = {THOUGHT: {"type": "string", "maxLength": self.thought}} if self.thought else {}
        parts = {name: self._short(schema)["properties"] for name, schema in space.as_tools().items()}
        return {"tools": {name: object_of({**before, **each}) for name, each in parts.items()}}

    def told(self, texts: Template | None, space: Space) -> str:
        """The tools by name."""
        assert texts is not None
        return "\n\n" + texts.rendered("called", list(space.as_tools()))

    def read(self, answer: Answer, space: Space, dice: Dice | None) -> Read:
        """The action in the call, and its reasoning."""
        reading = read_called(answer.text, space)
        return Read(answer.text, reading.action, reading.fault, {"thought": [reading.note]} if reading.note else None)


class Weighed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="weighed", tag_field="way"):
    """The model says nothing: the probability of every legal action as its whole answer is taken, and one action of these."""

    labels: Literal["words", "letters"] = "words"
    """Whether the answers that are weighed are move lines, or letters that stand for the actions."""
    takes: Literal["drawn", "best"] = "drawn"
    """Whether the action is drawn from the probabilities, with the seat's own dice, or is the likeliest one (of equals, the first)."""
    guide: ClassVar[str] = "_reads.md"

    def fault(self, space: Space) -> str:
        """Why actions cannot be weighed; empty where they can."""
        listed, most = space.listed(), MOST[self.labels]
        if listed is not None and len(listed) <= most:
            return ""
        many = "more actions than can be listed" if listed is None else f"{len(listed)} actions"
        return f"it would weigh {many} (at most {most} {self.labels}): take an agent with reads: constrained"

    def actions(self, space: Space) -> Sequence[Any]:
        """The legal actions. Raises AgonError where they are too many."""
        if fault := self.fault(space):
            raise AgonError(fault)
        return space.listed() or ()

    def options(self, space: Space) -> tuple[str, ...]:
        """The answers that are weighed, one for each legal action."""
        actions = self.actions(space)
        if self.labels == "letters":
            return tuple(ascii_uppercase[: len(actions)])
        return tuple(f"[move] {space.spelled(action)}" for action in actions)

    def asked(self, space: Space) -> dict[str, Any]:
        """The answers to be weighed."""
        return {"options": self.options(space)}

    def told(self, texts: Template | None, space: Space) -> str:
        """What each letter stands for."""
        if self.labels == "words":
            return ""
        assert texts is not None
        spelled = [space.spelled(action) for action in self.actions(space)]
        return "\n\n" + texts.rendered("letters", list(zip(self.options(space), spelled, strict=True)))

    def read(self, answer: Answer, space: Space, dice: Dice | None) -> Read:
        """The action that is taken, and in `detail` the `chances` of all: [action, probability], which sum to 1.

        `mass` there is the probability that the model gives any of these answers at all, and no other.
        """
        actions, options = self.actions(space), self.options(space)
        if len(answer.weights) != len(actions):
            raise AgonError(f"there are {len(answer.weights)} log-probabilities for {len(actions)} actions")
        chances = normalised(answer.weights)
        place = chances.index(max(chances)) if self.takes == "best" or dice is None else drawn(chances, dice)
        detail = {
            "chances": [[action, chance] for action, chance in zip(actions, chances, strict=True)],
            "mass": fsum(map(exp, answer.weights)),
        }
        return Read(options[place], actions[place], "", detail)


Reads = Free | Constrained | Called | Weighed
FREE = Free()


def reads_of(given: object) -> Reads:
    """A way from an agent's settings. Raises AgonError."""
    if isinstance(given, Reads):
        return given
    try:
        return msgspec.convert({"way": given} if isinstance(given, str) else given, Reads)
    except msgspec.ValidationError as error:
        raise AgonError(f"reads is {given!r}: {fault_of(error)}; it is free, constrained, called or weighed") from None


def for_thoughts(reads: Reads) -> Reads:
    """How questions are read to which there is no end of answers."""
    return Constrained(0) if isinstance(reads, Weighed) else reads


def refused(reads: Reads, model: Any) -> str:
    """Why a model cannot be read in a way, as far as it is known; empty where it can."""
    if isinstance(reads, Called) and not model.calls:
        return f"{model.model} calls no tools: set `tools: true` in its file where its chat template knows them, or take reads: constrained"
    if not isinstance(reads, Weighed) or model.weighs in ("words", reads.labels):
        return ""
    if model.weighs:
        return f"{model.model} tells how likely single letters are, no whole answers: take reads: {{way: weighed, labels: letters}}"
    return (
        f"{model.model} does not tell how likely an answer is: set `logprobs` in its file, or take reads: constrained"
    )


def normalised(weights: Sequence[float]) -> list[float]:
    """Probabilities from their logarithms, so that they sum to 1."""
    most = max(weights)
    powers = [exp(weight - most) for weight in weights]
    return [power / fsum(powers) for power in powers]


def drawn(chances: Sequence[float], dice: Dice) -> int:
    """A place, drawn with these probabilities."""
    left = dice.random()
    for place, chance in enumerate(chances):
        left -= chance
        if left < 0:
            return place
    return max(range(len(chances)), key=chances.__getitem__)  # what rounding has left over
