"""Players that are language models: an observation becomes a prompt, and the answer becomes a legal action."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

from agon.agents.base import Place, Reply, times_asked
from agon.agents.keeping import (
    Full,
    Keeps,
    Overflow,
    RoundStart,
    drop_before,
    keeps_of,
    limit_context,
    shift_starts,
)
from agon.agents.prompts import OURS, Prompts, template_of
from agon.agents.prompts import prompts as texts_from
from agon.agents.reads import (
    FREE,
    AnswerFormat,
    ParsedAnswer,
    Weighed,
    explain_refusal,
    reads_of,
)
from agon.games import Dice, Observation
from agon.games.base import Times
from agon.games.pages import aids_as_text, check_aids
from agon.models import Answer, Answering, CallFailed, Message, Request, TooLong, extend
from agon.models.base import CUT, Count, ReadingRule
from agon.registry import kind

NO_ANSWER = "(no answer)"
"""Replaces an empty answer in the conversation. Providers require text, and roles that alternate."""


class Draft(NamedTuple):
    """A decision that is not taken yet."""

    reply: Reply
    """Its action is None where no answer could be read. `fallback` then says why."""
    messages: tuple[Message, ...]
    """The conversation, with this answer as its last message."""
    cut: int = 1
    """Index of the first message after the system message that was sent; 1 when none was dropped."""


CutOff = Literal["void", "as_done"]
"""The treatment of an answer that was cut off."""
OnInvalid = Literal["forfeit", "random_legal"]
"""What happens without a readable action."""


@kind("agon.agents.llm.LLM")
class LLM:
    """Asks its model for an action. If the answer has none, it names the fault and asks again, at most `attempts` times in all.

    `style`: the name of a text in prompts/styles that says how to reason. `folder`: a folder of the user with templates, which come
    before all others. `answer_tokens`: the expected tokens of an answer, which only estimates use.
    `on_invalid`: what happens without a readable action: forfeit (no action) or random_legal. The turn is invalid either way.
    `keeps`: which messages stay in the conversation (agon.agents.keeping). As published, all stay, wrong answers too.
    `overflow`: what happens when the conversation exceeds the model's context window. stop ends the match. cut drops the oldest
    rounds; the turn's `detail` then has the number of dropped messages (`left_out`).
    `aids`: names of displays that people see beside the prompt, such as a payoff table (agon.games.pages). The model gets their text
    after the question whenever it has changed.
    `prompts`: the prompt set: ours, or the name of another one that the game's family has (agon.agents.prompts).
    `reads`: the format of answers: free, constrained, called or weighed (agon.agents.reads).
    `cut_off`: how an answer counts that hit its limit of tokens or was held back by the provider (agon.models.base). void: it is
    no move, and the model is asked again. as_done: it is read as if it were complete.
    `reading_rule`: which answers are read as an action. strict: those of agon.games.strict. as_done: those that the counterfactual
    paper's code reads (agon.games.reading). Answers that are recorded already are read as they were then.
    """

    asks_model = True
    idle: ClassVar = {"answer_tokens", "folder"}
    """Settings that ids of matches leave out: only estimates use `answer_tokens`, and ids hash the texts in `folder` instead."""
    usual: ClassVar = {
        "keeps": "everything",
        "overflow": "stop",
        "reads": "free",
        "reading_rule": "strict",
        "cut_off": "void",
        "prompts": OURS,
    }
    """Settings that ids of matches leave out where they have these values."""

    def __init__(
        self,
        place: Place,
        *,
        style: str = "zs",
        attempts: Count = 5,
        on_invalid: OnInvalid = "forfeit",
        folder: str | None = None,
        prompts: str = OURS,
        answer_tokens: int = 30,
        aids: Sequence[str] = (),
        reads: str | Mapping[str, Any] = "free",
        keeps: Keeps = "everything",
        overflow: Overflow = "stop",
        cut_off: CutOff = "void",
        reading_rule: ReadingRule = "strict",
    ) -> None:
        if place.model is None:
            raise ValueError("needs a model: name one in the experiment (models: [...], or agent@model)")
        self.place, self.model = place, limit_context(place.model)
        self.keeps, self.overflow, self.cut_off = keeps_of(keeps), overflow, cut_off
        self.reading_rule = reading_rule
        self.style, self.attempts, self.on_invalid, self.folder = style, attempts, on_invalid, folder
        self.prompts = prompts
        self.answer_tokens, self.aids, self.reads = answer_tokens, tuple(aids), reads_of(reads)
        self.messages: tuple[Message, ...] = ()
        self.round_starts: tuple[RoundStart, ...] = ()
        """The first message of each round."""
        self.notes: dict[str, Any] = {}
        """Changes to the conversation before the present question, for the turn's `detail`."""
        self._prompts_of_rules: tuple[Any, Any] = None, None
        self.since = 0
        """Number of events of the history that the conversation already tells."""
        self.turns = 0
        self.thoughts = ""
        """Text after the question: the seat's earlier thoughts (agon.agents.pgm)."""
        self.aids_text = ""
        """Text of the aids when the model last got it."""

    @staticmethod
    def texts(
        game: Any,
        style: str = "zs",
        folder: str | None = None,
        prompts: str = OURS,
        aids: Sequence[str] = (),
        reads: Any = "free",
        **_: Any,
    ) -> Prompts:
        """The prompts of an agent with these settings in a game. Raises AgonError for aids that the game does not have."""
        if aids:
            check_aids(game, aids)
        return texts_from(template_of(game, folder, prompts), style, reads_of(reads).guide)

    @staticmethod
    def calls(
        game: Any,
        seat: int,
        attempts: int = 5,
        reads: Any = "free",
        overflow: str = "stop",
        **_: Any,
    ) -> Times:
        """The least and the greatest number of calls in a match.

        A decision takes one call at the least, and all attempts at the most. With `overflow` cut it may also take a call for each round
        that leaves because the provider finds the conversation too long.
        """
        times = times_asked(game, seat)
        tries = 1 if isinstance(reads_of(reads), Weighed) else attempts
        cuts = times.most if overflow == "cut" else 0
        return Times(times.least, times.most * (tries + cuts))

    @staticmethod
    def unfit(space: Any, model: Any, reads: Any = "free", **_: Any) -> str:
        """Why an agent with these settings cannot play in this action space or with this model (None: not known). Empty where it can."""
        way = reads_of(reads)
        return (model and explain_refusal(way, model)) or (space and way.fault(space)) or ""

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """One decision."""
        return self.take(await self.draft(self.question(view), dice=dice), view, dice)

    def question(self, view: Observation) -> Request:
        """The question of a decision: the conversation so far, and what is asked now. `draft` answers it."""
        texts = self.prompts_for(view)
        if self.keeps.rounds:
            self._drop_rounds(view.round - self.keeps.rounds)
        aids = aids_as_text(view, self.aids) if self.aids else ""
        news = f"\n\n# To help you\n{aids}" if aids and aids != self.aids_text else ""
        text = texts.turn(view, self.since) + news + self.thoughts + self.reads.instructions(texts.reads, view.legal)
        return Request(
            extend(self.conversation(view), "user", text),
            f"{self.place.match}/{self.place.seat}/{self.turns}",
            self.answer_tokens,
            view,
            reading_rule=self.reading_rule,
        )

    async def draft(self, question: Request, number: int = 0, dice: Dice | None = None) -> Draft:
        """A decision that is not taken yet. Drafts of different `number` are different samples."""
        view, texts = question.view, self.prompts_for(question.view)
        draft = await ask(
            self.model,
            replace(question, sample=f"{question.sample}.{number}"),
            lambda fault: texts.again(fault, view) + self.reads.instructions(texts.reads, view.legal),
            self.attempts,
            self.reads,
            dice,
            cuts=self.cuts(question.messages),
            cut_off=self.cut_off,
        )
        if self.notes:
            draft = draft._replace(reply=_add_notes(draft.reply, self.notes))
        if draft.reply.action is None:
            reply = replace(draft.reply, fallback=f"{self.on_invalid}: {draft.reply.fallback}")
            return draft._replace(reply=reply)
        return draft

    def conversation(self, view: Observation) -> tuple[Message, ...]:
        """The conversation so far. It begins with the system message."""
        return self.messages or extend((), "system", self.prompts_for(view).system(view))

    def cuts(self, messages: tuple[Message, ...]) -> Sequence[int]:
        """Indices at which the conversation may start after its system message, in order. Empty where nothing may be dropped."""
        if self.overflow == "stop":
            return ()
        return [place for place in (*(start.place for start in self.round_starts), len(messages) - 1) if place > 1]

    def _drop_rounds(self, last: int) -> None:
        """Drops the rounds up to `last` from the conversation."""
        if all(start.round > last for start in self.round_starts):
            return
        place = next((start.place for start in self.round_starts if start.round > last), len(self.messages))
        self.notes = {"left_out": place - 1}
        self.messages = drop_before(self.messages, place)
        self.round_starts = shift_starts(self.round_starts, place)

    def prompts_for(self, view: Observation) -> Prompts:
        """The prompts in this match."""
        if self._prompts_of_rules[0] is not view.rules:  # the rules are one object during a match
            texts = self.texts(view.rules, self.style, self.folder, self.prompts, reads=self.reads)
            self._prompts_of_rules = view.rules, texts
        return self._prompts_of_rules[1]

    def take(self, draft: Draft, view: Observation, dice: Dice) -> Reply:
        """Makes a draft the decision. The next question continues its conversation."""
        self.turns, self.notes = self.turns + 1, {}
        if view.phase not in self.prompts_for(view).asides:
            place = max(1, len(self.messages)) - draft.cut + 1
            if all(start.round != view.round for start in reversed(self.round_starts)):
                self.round_starts = (*self.round_starts, RoundStart(view.round, max(1, len(self.messages))))
            if draft.cut > 1:
                self.round_starts = shift_starts(self.round_starts, draft.cut) or (RoundStart(view.round, 1),)
            self.messages, self.since = draft.messages, len(view.past)
            self.aids_text = aids_as_text(view, self.aids) if self.aids else ""
            if not self.keeps.unreadable and len(self.messages) > place + 2:
                last = self.messages[-1] if draft.reply.action is not None else Message("assistant", NO_ANSWER, "", "")
                self.messages = extend(self.messages[: place + 1], "assistant", last.text, last.opaque)
        if draft.reply.action is None and self.on_invalid == "random_legal":
            return replace(draft.reply, action=view.legal.example(dice))
        return draft.reply


async def ask(
    model: Answering,
    request: Request,
    again: Callable[[str], str],
    attempts: int,
    reads: AnswerFormat = FREE,
    dice: Dice | None = None,
    cuts: Sequence[int] = (),
    cut_off: CutOff = "void",
) -> Draft:
    """Asks for an action. If the answer has none, it names the fault and asks again, at most `attempts` times in all.

    Each attempt is a sample of its own. An answer that was cut off is not read unless `cut_off` is as_done. A recorded answer is read
    by the rule of its recording, a new one by that of the request.
    Without a readable action the reply's `fallback` has the last fault. A question that the provider refuses is not asked again.
    A conversation that is too long restarts at the first index in `cuts` that makes it short enough.
    Raises Full where none does, and Halted and AgonError as `model` does.
    """
    messages, answers, cut = request.messages, list[Answer](), 1
    view, fields = request.view, reads.request_fields(request.view.legal)
    while True:
        sample = f"{request.sample}.{len(answers)}"
        try:
            sample_request = Request(
                messages, sample, request.expected, view, reading_rule=request.reading_rule, **fields
            )
            answer = await model.answer(sample_request)
        except TooLong as failure:
            place = next((place for place in cuts if place > cut), None)
            if place is None:
                raise Full(failure) from None
            messages, cut = drop_before(messages, place - cut + 1), place
            continue
        except CallFailed as failure:
            reply = _reply(None, f"refused by the provider: {failure}", answers, len(answers) + 1, cut)
            return Draft(replace(reply, ended="error"), extend(messages, "assistant", NO_ANSWER), cut)
        answers.append(answer)
        whole = answer.ended not in CUT or cut_off == "as_done"
        parsed = (
            reads.read(answer, view.legal, dice, answer.reading_rule or request.reading_rule)
            if whole
            else ParsedAnswer(answer.text, None, f"it was {CUT[answer.ended]}")
        )
        if (
            report := getattr(model, "report_reading", None)
        ) is not None:  # a model that records or rereads counts answers

            def reread(rule: ReadingRule, answer: Answer = answer, whole: bool = whole) -> Any:
                return reads.read(answer, view.legal, None, rule).action if whole else None

            await report(sample_request, answer, parsed.fault, reread)
        messages = extend(messages, "assistant", parsed.text or NO_ANSWER, answer.opaque)
        if parsed.action is not None:
            reply = _reply(parsed.action, "", answers, len(answers), cut, parsed.text, parsed.detail)
            return Draft(reply, messages, cut)
        if len(answers) >= attempts:
            return Draft(_reply(None, parsed.fault, answers, len(answers), cut), messages, cut)
        messages = extend(messages, "user", again(parsed.fault))


def _add_notes(reply: Reply, notes: Mapping[str, Any]) -> Reply:
    detail = reply.detail or {}
    left_out = detail.get("left_out", 0) + notes.get("left_out", 0)
    return replace(reply, detail={**detail, **notes} | ({"left_out": left_out} if left_out else {}))


def _reply(
    action: Any,
    fallback: str,
    answers: list[Answer],
    attempts: int,
    cut: int,
    text: str | None = None,
    detail: dict[str, Any] | None = None,
) -> Reply:
    """A reply after some answers. `cut`: the index of the first message that was sent; the messages before it were dropped."""
    last, charges = answers[-1] if answers else Answer(""), [answer.usd for answer in answers if answer.usd is not None]
    if charges:  # where the provider names no price, tokens and prices give it
        detail = {**(detail or {}), "usd_charged": sum(charges)}
    if cut > 1:
        detail = {**(detail or {}), "left_out": cut - 1}
    return Reply(
        action=action,
        text=last.text if text is None else text,
        attempts=attempts,
        fallback=fallback,
        tokens_in=sum([answer.tokens_in for answer in answers]),
        tokens_out=sum([answer.tokens_out for answer in answers]),
        untold=any(answer.unreported and not answer.tokens_in for answer in answers),
        seconds=sum([answer.seconds for answer in answers]),
        cached=bool(answers) and all(answer.recorded for answer in answers),
        ended=last.ended if answers else None,
        exchange=last.exchange,
        detail=detail,
    )
