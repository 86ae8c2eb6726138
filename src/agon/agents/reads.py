"""Four formats of a model's answer: free text, JSON by a schema, the call of a tool, and log-probabilities of the legal actions.

An agent's setting `reads` names one: free, constrained, called or weighed. Or it has the settings of one: `{way: weighed, takes: best}`.
"""

from collections.abc import Callable, Sequence
from math import exp, fsum
from string import ascii_uppercase
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import msgspec

from agon.agents.prompts import Template
from agon.errors import AgonError, describe_fault
from agon.games import Dice
from agon.games.reading import Reading, read
from agon.games.schemas import (
    ACTION,
    THOUGHT,
    Schema,
    answer_schema,
    describe_schema,
    limit_texts,
    object_of,
    read_answer,
    read_call,
)
from agon.games.spaces import Space
from agon.games.strict import read_strictly
from agon.models import Answer
from agon.models.base import Count, ReadingRule

MOST_OPTIONS = {"words": 200, "letters": 20}
"""The most actions that can be weighed at one question, by label. Words take a call each or more. OpenAI reports at most 20 letters."""


class ParsedAnswer(NamedTuple):
    """The action in one answer, or what was wrong with it."""

    text: str
    """The text that enters the conversation."""
    action: Any | None
    fault: str = ""
    """Why there is no action."""
    detail: dict[str, Any] | None = None
    """For the turns' column `detail`."""


class Free(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="free", tag_field="way"):
    """The model writes free text, and its action is parsed from that."""

    guide: ClassVar[str] = ""
    """The file in agents/prompts with the instructions on the format. Empty where the game's own prompt has them."""

    def fault(self, space: Space) -> str:
        """Why this format cannot express the actions of a space. Empty where it can."""
        return ""

    def request_fields(self, space: Space) -> dict[str, Any]:
        """The fields that this format adds to a request."""
        return {}

    def instructions(self, texts: Template | None, space: Space) -> str:
        """The instructions on the format. They follow the question."""
        return ""

    def read(self, answer: Answer, space: Space, dice: Dice | None, rule: ReadingRule = "strict") -> ParsedAnswer:
        """The action in an answer."""
        reading = read_strictly(answer.text, space) if rule == "strict" else read(answer.text, space)
        return ParsedAnswer(answer.text, *reading[:2])


class Constrained(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="constrained", tag_field="way"):
    """The provider enforces a JSON object: some reasoning, then a legal action (structured output)."""

    thought: Annotated[int, msgspec.Meta(ge=0, le=2000)] = 600
    """The most characters of reasoning before the action. 0: no reasoning."""
    text: Count | None = None
    """The most characters of each text within an action. None: as many as the game allows."""
    guide: ClassVar[str] = "_reads.md"
    parse: ClassVar[Callable[..., Reading]] = staticmethod(read_answer)
    """Reads the action in the text of an answer, with its reasoning as the note."""

    def fault(self, space: Space) -> str:
        """Empty: every space has a schema."""
        return ""

    def request_fields(self, space: Space) -> dict[str, Any]:
        """The schema."""
        return {"schema": answer_schema(self._short(space.schema()), self.thought)}

    def _short(self, schema: Schema) -> Schema:
        return schema if self.text is None else limit_texts(schema, self.text)

    def instructions(self, texts: Template | None, space: Space) -> str:
        """The schema in words."""
        assert texts is not None
        parts = {
            name: describe_schema(part, 1) for name, part in self.request_fields(space)["schema"]["properties"].items()
        }
        return "\n\n" + texts.render("constrained", parts.get(THOUGHT), parts[ACTION])

    def read(self, answer: Answer, space: Space, dice: Dice | None, rule: ReadingRule = "strict") -> ParsedAnswer:
        """The action in an answer, and its reasoning."""
        reading = self.parse(answer.text, space, strict=rule == "strict")
        return ParsedAnswer(
            answer.text, reading.action, reading.fault, {"thought": [reading.note]} if reading.note else None
        )


class Called(Constrained, frozen=True, forbid_unknown_fields=True, tag="called", tag_field="way"):
    """The model calls one of the tools that the provider offers (function calling), after some reasoning."""

    guide: ClassVar[str] = "_called.md"
    parse: ClassVar = staticmethod(read_call)

    def fault(self, space: Space) -> str:
        """Why the actions are no calls of tools. Empty where they are."""
        return "" if space.as_tools() else "its actions are not calls of tools: choose an agent with reads: constrained"

    def request_fields(self, space: Space) -> dict[str, Any]:
        """The tools."""
        thought: dict[str, Schema] = {THOUGHT: {"type": "string", "maxLength": self.thought}} if self.thought else {}
        parts = {name: self._short(schema)["properties"] for name, schema in space.as_tools().items()}
        return {"tools": {name: object_of({**thought, **properties}) for name, properties in parts.items()}}

    def instructions(self, texts: Template | None, space: Space) -> str:
        """The tools by name."""
        assert texts is not None
        return "\n\n" + texts.render("called", list(space.as_tools()))


class Weighed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="weighed", tag_field="way"):
    """The model writes nothing. The action is drawn from its probabilities of each legal action as the whole answer."""

    labels: Literal["words", "letters"] = "words"
    """Whether the weighed answers are move lines or letters that stand for the actions."""
    takes: Literal["drawn", "best"] = "drawn"
    """drawn: the seat's dice draw the action from the probabilities. best: the likeliest action is taken, the first among equals."""
    guide: ClassVar[str] = "_reads.md"

    def fault(self, space: Space) -> str:
        """Why the actions cannot be weighed. Empty where they can."""
        actions, most = space.enumerate(), MOST_OPTIONS[self.labels]
        if actions is not None and len(actions) <= most:
            return ""
        amount = "more actions than can be listed" if actions is None else f"{len(actions)} actions"
        return f"it would weigh {amount} (at most {most} {self.labels}): take an agent with reads: constrained"

    def actions(self, space: Space) -> Sequence[Any]:
        """The legal actions. Raises AgonError where there are too many."""
        if fault := self.fault(space):
            raise AgonError(fault)
        return space.enumerate() or ()

    def options(self, space: Space) -> tuple[str, ...]:
        """The weighed answers, one for each legal action."""
        actions = self.actions(space)
        if self.labels == "letters":
            return tuple(ascii_uppercase[: len(actions)])
        return tuple(f"[move] {space.format(action)}" for action in actions)

    def request_fields(self, space: Space) -> dict[str, Any]:
        """The weighed answers, as a request's options."""
        return {"options": self.options(space)}

    def instructions(self, texts: Template | None, space: Space) -> str:
        """What each letter stands for."""
        if self.labels == "words":
            return ""
        assert texts is not None
        moves = [space.format(action) for action in self.actions(space)]
        return "\n\n" + texts.render("letters", list(zip(self.options(space), moves, strict=True)))

    def read(self, answer: Answer, space: Space, dice: Dice | None, rule: ReadingRule = "strict") -> ParsedAnswer:
        """The action. The reading rule makes no difference, and without dice the likeliest action is taken.

        `detail` has the `chances` of all actions, as pairs [action, probability] that sum to 1. Its `mass` is the model's total
        probability of the weighed answers, before normalisation. Raises AgonError where the number of log-probabilities is wrong.
        """
        actions, options = self.actions(space), self.options(space)
        if len(answer.weights) != len(actions):
            raise AgonError(f"there are {len(answer.weights)} log-probabilities for {len(actions)} actions")
        chances = softmax(answer.weights)
        place = chances.index(max(chances)) if self.takes == "best" or dice is None else draw_index(chances, dice)
        detail = {
            "chances": [[action, chance] for action, chance in zip(actions, chances, strict=True)],
            "mass": fsum(map(exp, answer.weights)),
        }
        return ParsedAnswer(options[place], actions[place], "", detail)


AnswerFormat = Free | Constrained | Called | Weighed
FREE = Free()


def reads_of(setting: object) -> AnswerFormat:
    """The answer format of an agent's setting. Raises AgonError."""
    if isinstance(setting, AnswerFormat):
        return setting
    try:
        return msgspec.convert({"way": setting} if isinstance(setting, str) else setting, AnswerFormat)
    except msgspec.ValidationError as error:
        raise AgonError(
            f"reads is {setting!r}: {describe_fault(error)}; it is free, constrained, called or weighed"
        ) from None


def format_of_beliefs(reads: AnswerFormat) -> AnswerFormat:
    """The format of questions about beliefs: their answers are too many to be weighed."""
    return Constrained(0) if isinstance(reads, Weighed) else reads


def explain_refusal(reads: AnswerFormat, model: Any) -> str:
    """Why a model does not support a format. Empty where it does, or where this is not known."""
    if isinstance(reads, Called) and not model.calls:
        return f"{model.model} calls no tools: set `tools: true` in its file where its chat template knows them, or take reads: constrained"
    if not isinstance(reads, Weighed) or model.weighs in ("words", reads.labels):
        return ""
    if model.weighs:
        return f"{model.model} tells how likely single letters are, no whole answers: take reads: {{way: weighed, labels: letters}}"
    return (
        f"{model.model} does not tell how likely an answer is: set `logprobs` in its file, or take reads: constrained"
    )


def softmax(weights: Sequence[float]) -> list[float]:
    """Probabilities that sum to 1, from natural logarithms of probabilities that need not sum to 1 (softmax)."""
    greatest = max(weights)
    powers = [exp(weight - greatest) for weight in weights]
    return [power / fsum(powers) for power in powers]


def draw_index(chances: Sequence[float], dice: Dice) -> int:
    """Draws an index with these probabilities."""
    rest = dice.random()
    for place, chance in enumerate(chances):
        rest -= chance
        if rest < 0:
            return place
    return max(range(len(chances)), key=chances.__getitem__)  # rounding left a rest
