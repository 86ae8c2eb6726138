"""MAgIC's PGM-aware agent (section 4), in any game: it forms beliefs about the beliefs of the others before it decides.

The agent asks its model private questions and reminds it of the answers before a decision. The game itself does not change.
With `semantics` published the agent does as the released code does. It differs from `semantics` strict in these points:

- In Chameleon its ballot is the matrix's suspect, whatever the model answers. Of equal suspects it takes the highest seat. The
  chameleon's own row suspects nobody else, so it votes for the highest other seat. Strict: the ballot is the model's own, and the
  model is told whom it suspects most.
- Of equal targets it takes one by its number. In Undercover it infers its role from its own row of the matrix. If that row is even,
  it aims at the last seat; if it suspects itself, at the player that suspects it most. Strict: there is no target among equals, the
  role is the one that the agent has named, and the undercover aims at the player that suspects it least, as the paper words it
  (A.7, Table 5).
- It sees its notes at clues and interviews, and not at the ballot and the guess. Strict: it sees them at every decision, and not in
  interviews, which ask all agents the same.
- In the dilemma and the public good it is told what to aim for, and all seats but the first are told so even before the first
  forecast. In cost sharing only the first seat is told. Strict: all seats are told the same, and the aims are the game's.
- An analysis that cannot be read fades the matrix, as one without news does. Strict: it changes nothing.

The prompt sets as_printed and as_played have the paper's aims in either semantics. What they ask for in text stays in text: the
agent sees the whole answers again (`answers`), not their lines alone (`written`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

from agon.agents.base import Place, Reply, total_cost
from agon.agents.llm import LLM, ask
from agon.agents.pgm.minds import BeliefState, Semantics, mind_class, mind_of
from agon.agents.prompts import OURS, Prompts, Template, answer_tokens_of, beliefs_of, require_own_words
from agon.agents.reads import AnswerFormat, format_of_beliefs
from agon.agents.styles import SelfConsistency
from agon.games import Dice, Observation
from agon.games.base import Times
from agon.games.reading import strip_thinking
from agon.games.spaces import Space
from agon.models import Request, extend
from agon.models.base import Count
from agon.registry import kind

Form = Literal["text", "matrix"]
"""The form in which beliefs are told."""
PHASE = "beliefs"
"""The phase of the view that goes with a question about beliefs."""


class BeliefPrompts(NamedTuple):
    """The prompts of an agent with beliefs."""

    agent: Prompts
    beliefs: Template

    @property
    def text(self) -> str:
        """The templates' own text, which ids of matches hash."""
        return f"{self.agent.text}\n{self.beliefs.text}"


class BeliefNotes(NamedTuple):
    """A mind's state as templates get it. Seats are named as players."""

    step: str
    """The name of the present question, where an analysis has several."""
    written: tuple[str, ...]
    """The latest analysis, if the agent has not been told of it before."""
    answers: tuple[str, ...]
    """The same analysis as the model wrote it, with the text before its lines."""
    role: str
    """The role that the seat believes it has."""
    target: str | None
    """The player at whom its next clue aims."""
    suspect: str | None
    """The player that it suspects most. None: nobody stands out."""
    published: bool
    """Whether the semantics are `published`."""
    news: Callable[[], str]
    """Renders the events since the agent's last question, with the game's own prompt."""


@kind("agon.agents.beliefs.Beliefs")
class Beliefs:
    """Asks its model about beliefs, then lets the wrapped agent decide with these thoughts in its prompt.

    A question about beliefs follows the agent's conversation so far but does not enter it. It is asked at most `attempts` times.
    Its answer has the format of the agent's decisions; where decisions are weighed it is constrained.
    Its questions come from the prompt set of the wrapped agent.
    `form` matrix: in games with a spy the model is asked for the belief matrix itself (the paper's ProPGM).
    `answer_tokens`: expected tokens of an answer about beliefs, one number or numbers by prompt set. Only estimates use it.
    The turn's `detail` has the beliefs at the time of the answer. The turn's tokens and seconds include the thinking.
    """

    asks_model = True
    idle, usual = LLM.idle, LLM.usual

    def __init__(
        self,
        place: Place,
        *,
        agent: Callable[[Place], LLM | SelfConsistency],
        form: Form = "text",
        semantics: Semantics = "strict",
        attempts: Count = 3,
        folder: str | None = None,
        answer_tokens: int | Mapping[str, int] = 80,
    ) -> None:
        self.place, self.agent = place, agent(place)
        self.llm = self.agent if isinstance(self.agent, LLM) else self.agent.agent
        self.form, self.semantics, self.attempts = form, semantics, attempts
        self.folder, self.answer_tokens = folder, answer_tokens_of(answer_tokens, self.llm.prompts)
        self.mind: BeliefState | None = None
        self.asked = 0
        """Number of questions about beliefs so far."""
        self.unread = False
        """Whether the agent has not seen the latest analysis yet."""
        self.answers: tuple[str, ...] = ()
        """The texts of the latest analysis."""

    @staticmethod
    def calls(game: Any, seat: int, agent: Any, attempts: int = 3, **_: Any) -> Times:
        """The least and the greatest number of calls in a match: those of the wrapped agent and the questions about beliefs."""
        questions, times = mind_class(game).questions(game), agent.func.calls(game, seat, **agent.keywords)
        cuts = times.most if _settings_of_llm(agent).get("overflow") == "cut" else 0
        return Times(times.least + questions.least, times.most + questions.most * (attempts + cuts))

    @staticmethod
    def unfit(space: Any, model: Any, agent: Any, **_: Any) -> str:
        """Why it cannot play: the reason of the wrapped agent."""
        return str(agent.func.unfit(space, model, **agent.keywords))

    @staticmethod
    def texts(game: Any, agent: Any, folder: str | None = None, **_: Any) -> BeliefPrompts:
        """The prompts of the wrapped agent, and those of the questions about beliefs.

        Raises AgonError for a game with a wording of its own, and where there are no such questions.
        """
        require_own_words(game)
        prompt_set = _settings_of_llm(agent).get("prompts", OURS)
        return BeliefPrompts(agent.func.texts(game, **agent.keywords), beliefs_of(game, folder, prompt_set))

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """One decision, after the analyses that are due. The reply has the cost of both."""
        if self.mind is None:
            self.mind = mind_of(view, self.form, self.semantics)
        mind, thoughts = self.mind, list[Reply]()
        for length in mind.due(view):
            self.unread, self.answers = True, ()
            thoughts += await self._think(mind, view._replace(past=view.past[:length]), view)
        aside = view.phase in self.llm.prompts_for(view).asides
        is_shown = mind.shown(view.phase, aside)
        self.llm.thoughts = self._recall(mind, view) if is_shown else ""
        reply = await self.agent.act(view, dice)
        self.unread = self.unread and (aside or not is_shown)
        return self._combine(reply, mind.ballot(view), mind, thoughts)

    async def _think(self, mind: BeliefState, then: Observation, now: Observation) -> list[Reply]:
        """One analysis of the history as it was `then`. The conversation is that of `now`."""
        texts, answer, replies = self._template(now), None, list[Reply]()
        reads, guide = format_of_beliefs(self.llm.reads), self.llm.prompts_for(now)
        thinking = mind.think(then)
        while True:
            try:
                space = thinking.send(answer)
            except StopIteration:
                return replies
            view = then._replace(phase=PHASE, legal=space)
            question = texts.render(
                "ask", view, self.llm.since, self._notes(mind, now._replace(past=then.past))
            ).strip()
            instructions = reads.instructions(guide.reads, space)
            request = Request(
                extend(self.llm.conversation(now), "user", question + instructions),
                f"{self.place.match}/{self.place.seat}/beliefs {self.asked}",
                self.answer_tokens,
                view,
                reading_rule=self.llm.reading_rule,
            )
            again = partial(self._ask_again, view, instructions)
            draft = await ask(
                *(self.llm.model, request, again, self.attempts, reads),
                cuts=self.llm.cuts(request.messages),
                cut_off=self.llm.cut_off,
            )
            self.asked += 1
            replies.append(draft.reply)
            answer = draft.reply.action
            if answer is not None:
                self.answers = (*self.answers, text_of_analysis(draft.reply, space, reads))

    def _ask_again(self, view: Observation, instructions: str, fault: str) -> str:
        return self._template(view).render("again", fault, view).strip() + instructions

    def _template(self, view: Observation) -> Template:
        return beliefs_of(view.rules, self.folder, self.llm.prompts)

    def _notes(self, mind: BeliefState, view: Observation) -> BeliefNotes:
        players = [f"Player {seat + 1}" for seat in range(mind.seats)]
        target, suspect_ = ((None if seat is None else players[seat]) for seat in (mind.target, mind.suspect))
        return BeliefNotes(
            mind.step,
            mind.written if self.unread else (),
            self.answers if self.unread else (),
            mind.role,
            target,
            suspect_,
            mind.published,
            partial(self._news, view),
        )

    def _news(self, view: Observation) -> str:
        texts = self.llm.prompts_for(view)
        return texts.turn(view, self.llm.since).removesuffix(texts.turn(view, len(view.past))).strip()

    def _recall(self, mind: BeliefState, view: Observation) -> str:
        text = self._template(view).render("recall", view, self._notes(mind, view)).strip()
        return f"\n\n{text}" if text else ""

    def _combine(self, reply: Reply, ballot: Any, mind: BeliefState, thoughts: Sequence[Reply]) -> Reply:
        """The agent's reply with the thoughts in its detail. A `ballot` that follows from the beliefs replaces its action."""
        detail = {**(reply.detail or {}), **mind.held}
        if thoughts:
            detail |= {
                "thought": [*mind.written, *detail.get("thought", ())],
                "exchanges": [thought.exchange for thought in thoughts if thought.exchange],
                "unread": [thought.fallback for thought in thoughts if thought.action is None],
            }
        if ballot is not None:
            detail["said"] = reply.action
            fault = reply.fallback.partition(": ")[2]
            reply = replace(reply, action=ballot, fallback=f"beliefs: {fault}" if reply.fallback else "")
        entries = {name: value for name, value in detail.items() if value != []} or None
        return replace(reply, **total_cost([*thoughts, reply]), detail=entries)


def _settings_of_llm(agent: Any) -> dict[str, Any]:
    """The settings of the wrapped agent, or of the agent that this one wraps in turn."""
    settings: dict[str, Any] = agent.keywords
    return _settings_of_llm(settings["agent"]) if "agent" in settings else settings


def text_of_analysis(reply: Reply, space: Space, reads: AnswerFormat) -> str:
    """An answer about beliefs as the model wrote it, without the tag; of JSON its thought and its answers."""
    if reads.guide:
        return "\n".join([*(reply.detail or {}).get("thought", ()), space.format(reply.action)])
    return strip_thinking(reply.text).replace("[move] ", "").strip()
