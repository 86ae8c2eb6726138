"""A language model at the table: what the seat sees becomes text, the model's text becomes a legal action."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from agon.agents.base import Place, Reply, times_asked
from agon.agents.keeping import Begun, Full, keeps_of, measured, moved, overflow_of, rechained, without
from agon.agents.prompts import Prompts, prompts, template_of
from agon.agents.reads import FREE, Read, Reads, Weighed, reads_of, refused
from agon.games import Dice, Observation
from agon.games.base import Times
from agon.games.pages import aids_told, known_aids
from agon.games.spaces import Text
from agon.models import Answer, Answering, CallFailed, Message, Request, TooLong, extend
from agon.models.ends import CUT
from agon.registry import kind

NO_ANSWER = "(no answer)"
"""Stands in the conversation where the model said nothing: providers want words, and roles in turn."""


class Draft(NamedTuple):
    """A decision that is not yet taken."""

    reply: Reply
    """Without an action where none could be read; `fallback` then says why."""
    messages: tuple[Message, ...]
    """The conversation up to and including it."""
    cut: int = 1
    """The place, in the conversation as it was, from which it was left after its first message."""


CutOff = Literal["void", "as_done"]
"""What an answer is that is not whole."""


def cut_off_of(given: Any) -> CutOff:
    """The setting, if it is one. Raises ValueError."""
    if given not in get_args(CutOff):
        raise ValueError(f"cut_off is {given!r}; it must be void or as_done")
    found: CutOff = given
    return found


@kind("agon.agents.llm.LLM")
class LLM:
    """Asks its model, reads the answer, and asks again with what was wrong, `attempts` times at most in all.

    When there is still no readable action, `on_invalid` decides: forfeit (no action), or a random legal one; the turn is not
    valid either way. `keeps` (agon.agents.keeping): what stays in the conversation; everything, wrong answers included, as published.
    `overflow`: what is done where it does not fit into the model's context: stop the match, or cut its oldest rounds, which the
    turn's `detail` says (`left_out`, messages).
    `aids` are things that people are shown beyond what prompts tell (agon.games.pages), such as a payoff table: the model is told
    them after a question, whenever they have changed. None unless they are named.
    `reads`: free, constrained, called or weighed, the ways of agon.agents.reads.
    `cut_off`: what an answer is that was cut off at its limit of tokens, or held back by the provider (agon.models.ends): void, it is
    no move and is asked again as one that cannot be read; as_done, it is read as if it were whole.
    """

    asks_model = True
    idle: ClassVar = {"answer_tokens", "folder"}
    """Settings that ids of matches leave out: one is for estimates, and of the folder the texts are hashed."""
    usual: ClassVar = {"keeps": "everything", "overflow": "stop", "reads": "free", "cut_off": "void"}
    """Settings that ids leave out where they have these values."""

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
        keeps: str | Mapping[str, Any] = "everything",
        overflow: Literal["stop", "cut"] = "stop",
        cut_off: CutOff = "void",
    ) -> None:
        if place.model is None:
            raise ValueError("needs a model: name one in the experiment (models: [...], or agent@model)")
        if not isinstance(attempts, int) or attempts < 1:
            raise ValueError(f"attempts is {attempts}; it must be a whole number of at least 1")
        if on_invalid not in ("forfeit", "random_legal"):
            raise ValueError(f"on_invalid is {on_invalid!r}; it must be forfeit or random_legal")
        self.place, self.model = place, measured(place.model)
        self.keeps, self.overflow, self.cut_off = keeps_of(keeps), overflow_of(overflow), cut_off_of(cut_off)
        self.style, self.attempts, self.on_invalid, self.folder = style, attempts, on_invalid, folder
        self.answer_tokens, self.aids, self.reads = answer_tokens, tuple(aids), reads_of(reads)
        self.messages: tuple[Message, ...] = ()
        self.begun: tuple[Begun, ...] = ()
        """Where rounds begin among the messages."""
        self.noted: dict[str, Any] = {}
        """What was done to the conversation before the present question, for `detail`."""
        self._shortening = asyncio.Lock()
        self._told_of: tuple[Any, Any] = None, None
        self.told = 0
        """Events of the view's past that the conversation has."""
        self.turns = 0
        self.thoughts = ""
        """What is said after the question: what the seat has thought beforehand (agon.agents.beliefs)."""
        self.helped = ""
        """The aids as they were told last."""

    @staticmethod
    def texts(
        game: Any,
        style: str = "zs",
        folder: str | None = None,
        aids: Sequence[str] = (),
        reads: Any = "free",
        keeps: Any = "everything",
        **_: Any,
    ) -> Prompts:
        """The prompts that an agent with these settings uses in a game. Raises AgonError for aids that it does not have."""
        known_aids(game, aids)
        return prompts(template_of(game, folder), style, reads_of(reads).guide, keeps_of(keeps).summary is not None)

    @staticmethod
    def calls(
        game: Any,
        seat: int,
        attempts: int = 5,
        reads: Any = "free",
        keeps: Any = "everything",
        overflow: str = "stop",
        **_: Any,
    ) -> Times:
        """How often it asks its model in a match: once for each decision, up to all attempts and a summary before it.

        With overflow: cut, once more for each round that leaves the conversation because the provider finds it too long.
        """
        asked = times_asked(game, seat)
        tries = 1 if isinstance(reads_of(reads), Weighed) else attempts
        cuts = asked.most if overflow == "cut" else 0
        return Times(asked.least, asked.most * (tries + (keeps_of(keeps).summary is not None) + cuts))

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
        if self.keeps.rounds:
            async with self._shortening:  # several drafts may be asked for at once
                await self._shorten(view, texts, self.keeps.rounds)
        helps = aids_told(view, self.aids)
        news = f"\n\n# To help you\n{helps}" if helps and helps != self.helped else ""
        how = self.reads.told(texts.reads, view.legal)
        messages = extend(self.opened(view), "user", texts.turn(view, self.told) + news + self.thoughts + how)
        sample = f"{self.place.match}/{self.place.seat}/{self.turns}.{number}"
        request = Request(messages, sample, self.answer_tokens, view)
        drafted = await ask(
            *(self.model, request, lambda fault: texts.again(fault, view) + how, self.attempts, self.reads, dice),
            cuts=self.cuts(messages),
            cut_off=self.cut_off,
        )
        if self.noted:
            drafted = drafted._replace(reply=_noting(drafted.reply, self.noted))
        if drafted.reply.action is None:
            reply = replace(drafted.reply, fallback=f"{self.on_invalid}: {drafted.reply.fallback}")
            return drafted._replace(reply=reply)
        return drafted

    def opened(self, view: Observation) -> tuple[Message, ...]:
        """The conversation so far; at first, what the seat is told before all else."""
        return self.messages or extend((), "system", self._texts(view).system(view))

    def cuts(self, messages: tuple[Message, ...]) -> Sequence[int]:
        """Places from which a conversation that ends with a question may begin, after its first message."""
        if self.overflow == "stop":
            return ()
        return [place for place in (*(each.place for each in self.begun), len(messages) - 1) if place > 1]

    async def _shorten(self, view: Observation, texts: Prompts, rounds: int) -> None:
        """Lets all but the last `rounds` leave, summed up if that is wanted."""
        old = [each.round for each in self.begun if each.round <= view.round - rounds]
        if not old or (texts.keeps and view.round - old[0] < 2 * rounds):
            return
        stays = next((each.place for each in self.begun if each.round > view.round - rounds), len(self.messages))
        said, self.noted = self.messages[0].text, {"left_out": stays - 1}
        if texts.keeps:
            question = extend(self.messages[:stays], "user", texts.keeps.rendered("sum_up", self.keeps.summary))
            seen = view._replace(phase="summary", legal=Text(2000))
            sample = f"{self.place.match}/{self.place.seat}/{self.turns}.summary"
            try:
                answer = await self.model.answer(Request(question, sample, 2 * (self.keeps.summary or 0), seen))
                self.noted |= {"summary": answer.text, "summary_exchange": answer.exchange}
                if answer.ended in CUT:
                    self.noted |= {"summary_ended": answer.ended}
                if answer.ended in CUT and self.cut_off == "void":
                    self.noted |= {"summary_failed": f"it was {CUT[answer.ended]}"}
                else:
                    said = texts.system(view) + texts.keeps.rendered("before", answer.text)
            except CallFailed as failure:
                self.noted |= {"summary_failed": str(failure)}
        self.messages = rechained((self.messages[0]._replace(text=said), *self.messages[stays:]))
        self.begun = moved(self.begun, stays)

    def _texts(self, view: Observation) -> Prompts:
        if self._told_of[0] is not view.rules:  # of one match they are the same
            texts = self.texts(view.rules, self.style, self.folder, reads=self.reads, keeps=self.keeps)
            self._told_of = view.rules, texts
        return self._told_of[1]

    def take(self, draft: Draft, view: Observation, dice: Dice) -> Reply:
        """Makes a draft the decision: its conversation is what the next one goes on from."""
        self.turns, self.noted = self.turns + 1, {}
        if view.phase not in self._texts(view).asides:
            place = max(1, len(self.messages)) - draft.cut + 1
            if all(each.round != view.round for each in reversed(self.begun)):
                self.begun = (*self.begun, Begun(view.round, max(1, len(self.messages))))
            if draft.cut > 1:
                self.begun = moved(self.begun, draft.cut) or (Begun(view.round, 1),)
            self.messages, self.told, self.helped = draft.messages, len(view.past), aids_told(view, self.aids)
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
    reads: Reads = FREE,
    dice: Dice | None = None,
    cuts: Sequence[int] = (),
    cut_off: CutOff = "void",
) -> Draft:
    """Asks, reads the answer, and asks again with what was wrong, `attempts` times at most in all.

    An answer that is not whole is not read, unless `cut_off` is as_done.

    Each time is a sample of its own. Without a readable action the reply's `fallback` says what was wrong at last.
    Where the conversation is too long it is left from the first of `cuts` (places in it) that makes it short enough. Raises Full.
    """
    messages, answers, cut = request.messages, list[Answer](), 1
    view, wanted = request.view, reads.asked(request.view.legal)
    while True:
        sample = f"{request.sample}.{len(answers)}"
        try:
            asked = Request(messages, sample, request.expected, view, **wanted)
            answer = await model.answer(asked)
        except TooLong as failure:
            place = next((place for place in cuts if place > cut), None)
            if place is None:
                raise Full(failure) from None
            messages, cut = without(messages, place - cut + 1), place
            continue
        except CallFailed as failure:
            reply = _reply(None, f"refused by the provider: {failure}", answers, len(answers) + 1)
            reply = replace(reply, ended="error")
            return Draft(_left(reply, cut), extend(messages, "assistant", NO_ANSWER), cut)
        answers.append(answer)
        whole = answer.ended not in CUT or cut_off == "as_done"
        found = (
            reads.read(answer, view.legal, dice) if whole else Read(answer.text, None, f"it was {CUT[answer.ended]}")
        )
        if (heard := getattr(model, "heard", None)) is not None:  # who records counts what can be read
            await heard(asked, answer, found.fault)
        messages = extend(messages, "assistant", found.text or NO_ANSWER, answer.opaque)
        if found.action is not None:
            reply = _reply(found.action, "", answers, len(answers), found.text, found.detail)
            return Draft(_left(reply, cut), messages, cut)
        if len(answers) == attempts:
            return Draft(_left(_reply(None, found.fault, answers, len(answers)), cut), messages, cut)
        messages = extend(messages, "user", again(found.fault))


def _left(reply: Reply, cut: int) -> Reply:
    """A reply that says how many messages were left out for want of room."""
    return reply if cut == 1 else _noting(reply, {"left_out": cut - 1})


def _noting(reply: Reply, noted: Mapping[str, Any]) -> Reply:
    before = reply.detail or {}
    left = before.get("left_out", 0) + noted.get("left_out", 0)
    return replace(reply, detail={**before, **noted} | ({"left_out": left} if left else {}))


def _reply(
    action: Any,
    fallback: str,
    answers: list[Answer],
    asked: int,
    text: str | None = None,
    detail: dict[str, Any] | None = None,
) -> Reply:
    last, charged = answers[-1] if answers else Answer(""), [each.usd for each in answers if each.usd is not None]
    if charged:  # what is not here is reckoned, by tokens and prices
        detail = {**(detail or {}), "usd_charged": sum(charged)}
    return Reply(
        action=action,
        text=last.text if text is None else text,
        attempts=asked,
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
