"""A language model at the table: what the seat sees becomes text, the model's text becomes a legal action."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

from agon import kind
from agon.agents.base import Place, Reply
from agon.agents.prompts import Prompts, prompts, template_of
from agon.agents.reads import FREE, Reads, reads_of, refused
from agon.games import Dice, Observation
from agon.games.pages import aids_told, known_aids
from agon.models import Answer, Answering, CallFailed, Message, Request, extend

NO_ANSWER = "(no answer)"
"""Stands in the conversation where the model said nothing: providers want words, and roles in turn."""


class Draft(NamedTuple):
    """A decision that is not yet taken."""

    reply: Reply
    """Without an action where none could be read; `fallback` then says why."""
    messages: tuple[Message, ...]
    """The conversation up to and including it."""


@kind("agon.agents.llm.LLM")
class LLM:
    """Asks its model, reads the answer, and asks again with what was wrong, `attempts` times at most in all.

    The whole conversation stays in the context, wrong answers included. When there is still no readable action,
    `on_invalid` decides: forfeit (no action), or a random legal one; the turn is not valid either way.
    `aids` are things that people are shown beyond what prompts tell (agon.games.pages), such as a payoff table: the model is told
    them after a question, whenever they have changed. None unless they are named.
    `reads`: free, constrained or weighed, the ways of agon.agents.reads.
    """

    asks_model = True
    idle: ClassVar = {"answer_tokens", "folder"}
    """Settings that ids of matches leave out: one is for estimates, and of the folder the texts are hashed."""

    def __init__(
        self,
        place: Place,
        *,
        style: str = "zs",
        attempts: int = 5,
        on_invalid: Literal["forfeit", "random_legal"] = "forfeit",
        folder: str | None = None,
        answer_tokens: int = 30,
        aids: Sequence[str] = (),
        reads: str | Mapping[str, Any] = "free",
    ) -> None:
        if place.model is None:
            raise ValueError("needs a model: name one in the experiment (models: [...], or agent@model)")
        if not isinstance(attempts, int) or attempts < 1:
            raise ValueError(f"attempts is {attempts}; it must be a whole number of at least 1")
        if on_invalid not in ("forfeit", "random_legal"):
            raise ValueError(f"on_invalid is {on_invalid!r}; it must be forfeit or random_legal")
        self.place, self.model = place, place.model
        self.style, self.attempts, self.on_invalid, self.folder = style, attempts, on_invalid, folder
        self.answer_tokens, self.aids, self.reads = answer_tokens, tuple(aids), reads_of(reads)
        self.messages: tuple[Message, ...] = ()
        self.told = 0
        """Events of the view's past that the conversation has."""
        self.turns = 0
        self.thoughts = ""
        """What is said after the question: what the seat has thought beforehand (agon.agents.beliefs)."""
        self.helped = ""
        """The aids as they were told last."""

    @staticmethod
    def texts(
        game: Any, style: str = "zs", folder: str | None = None, aids: Sequence[str] = (), reads: Any = "free", **_: Any
    ) -> Prompts:
        """The prompts that an agent with these settings uses in a game. Raises AgonError for aids that it does not have."""
        known_aids(game, aids)
        return prompts(template_of(game, folder), style, reads_of(reads).guided)

    @staticmethod
    def unfit(space: Any, model: Any, reads: Any = "free", **_: Any) -> str:
        """Why an agent with these settings cannot play: a space of the game, or the model (both None: not known); empty where it can."""
        way = reads_of(reads)
        return (model and refused(way, model)) or (space and way.fault(space)) or ""

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """One decision."""
        return self.take(await self.draft(view, dice=dice), view, dice)

    async def draft(self, view: Observation, number: int = 0, dice: Dice | None = None) -> Draft:
        """What it would answer, without taking it; drafts of different `number` are different samples."""
        texts = self._texts(view)
        helps = aids_told(view, self.aids)
        news = f"\n\n# To help you\n{helps}" if helps and helps != self.helped else ""
        how = self.reads.told(texts.reads, view.legal)
        messages = extend(self.opened(view), "user", texts.turn(view, self.told) + news + self.thoughts + how)
        sample = f"{self.place.match}/{self.place.seat}/{self.turns}.{number}"
        request = Request(messages, sample, self.answer_tokens, view)
        drafted = await ask(
            self.model, request, lambda fault: texts.again(fault, view) + how, self.attempts, self.reads, dice
        )
        if drafted.reply.action is None:
            reply = replace(drafted.reply, fallback=f"{self.on_invalid}: {drafted.reply.fallback}")
            return drafted._replace(reply=reply)
        return drafted

    def opened(self, view: Observation) -> tuple[Message, ...]:
        """The conversation so far; at first, what the seat is told before all else."""
        return self.messages or extend((), "system", self._texts(view).system(view))

    def _texts(self, view: Observation) -> Prompts:
        return self.texts(view.rules, self.style, self.folder, reads=self.reads)

    def take(self, draft: Draft, view: Observation, dice: Dice) -> Reply:
        """Makes a draft the decision: its conversation is what the next one goes on from."""
        self.turns += 1
        if view.phase not in self._texts(view).asides:
            self.messages, self.told, self.helped = draft.messages, len(view.past), aids_told(view, self.aids)
        if draft.reply.action is None and self.on_invalid == "random_legal":
            return replace(draft.reply, action=view.legal.example(dice))
        return draft.reply


async def ask(
    model: Answering,
    request: Request,
    again: Callable[[str], str],
    attempts: int,
    reads: Reads = FREE,
    dice: Dice | None = None,
) -> Draft:
    """Asks, reads the answer, and asks again with what was wrong, `attempts` times at most in all.

    Each time is a sample of its own. Without a readable action the reply's `fallback` says what was wrong at last.
    """
    messages, answers = request.messages, list[Answer]()
    view, wanted = request.view, reads.asked(request.view.legal)
    while True:
        sample = f"{request.sample}.{len(answers)}"
        try:
            asked = Request(messages, sample, request.expected, view, **wanted)
            answer = await model.answer(asked)
        except CallFailed as failure:
            reply = _reply(None, f"refused by the provider: {failure}", answers, len(answers) + 1)
            return Draft(reply, extend(messages, "assistant", NO_ANSWER))
        answers.append(answer)
        found = reads.read(answer, view.legal, dice)
        if (heard := getattr(model, "heard", None)) is not None:  # who records counts what can be read
            await heard(asked, answer, found.fault)
        messages = extend(messages, "assistant", found.text or NO_ANSWER)
        if found.action is not None:
            return Draft(_reply(found.action, "", answers, len(answers), found.text, found.detail), messages)
        if len(answers) == attempts:
            return Draft(_reply(None, found.fault, answers, len(answers)), messages)
        messages = extend(messages, "user", again(found.fault))


def _reply(
    action: Any,
    fallback: str,
    answers: list[Answer],
    asked: int,
    text: str | None = None,
    detail: dict[str, Any] | None = None,
) -> Reply:
    last = answers[-1] if answers else Answer("")
    return Reply(
        action=action,
        text=last.text if text is None else text,
        attempts=asked,
        fallback=fallback,
        tokens_in=sum([answer.tokens_in for answer in answers]),
        tokens_out=sum([answer.tokens_out for answer in answers]),
        seconds=sum([answer.seconds for answer in answers]),
        cached=bool(answers) and all(answer.recorded for answer in answers),
        exchange=last.exchange,
        detail=detail,
    )
