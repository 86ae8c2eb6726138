"""Thinking about what the others believe, before deciding: MAgIC's PGM-aware agent (section 4), in any game.

The agent asks its model privately, decides with what was answered in mind, and does nothing else: the game is the same
with and without it. `semantics` published decides as the released code does, where that is another thing:

- Chameleon's ballot is the matrix's suspect, whatever was answered: the highest seat of equals, and for the chameleon, whose
  own view holds nothing, the highest other seat. Here the ballot is the model's own, and it is told whom it suspects most.
- Of equal targets it takes one by its number; in Undercover it infers the agent's role from the matrix, aims at the last
  seat when that is open, and as the undercover at who suspects it most. Here equals are nobody, the role is the one that
  the agent has named, and the undercover aims at who suspects it least, as the paper words it (A.7, Table 5).
- Notes are seen at clues and interviews, and not at the ballot and the guess. Here they are seen at every decision and not in
  interviews, which ask all agents the same.
- In the dilemma and the public good it says what to aim for, also before the first forecast to all seats but the first; in
  cost sharing to the first seat alone. Here all seats are told the same, and aims are the game's.
- An analysis that could not be read fades the matrix, as one without news does. Here it changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

from agon.agents.base import Place, Reply, spent
from agon.agents.llm import LLM, ask
from agon.agents.pgm.minds import Mind, Semantics, mind_class, mind_of
from agon.agents.prompts import Prompts, Template, beliefs_of, require_own_words
from agon.agents.reads import format_of_beliefs
from agon.agents.styles import SelfConsistency
from agon.games import Dice, Observation
from agon.games.base import Times
from agon.models import Request, extend
from agon.registry import kind

PHASE = "beliefs"
"""The phase of the view that goes with a question about beliefs."""


class Asked(NamedTuple):
    """The prompts of an agent with beliefs."""

    agent: Prompts
    own: Template

    @property
    def text(self) -> str:
        """The templates' own text, which ids of matches hash."""
        return f"{self.agent.text}\n{self.own.text}"


class Noted(NamedTuple):
    """What templates are told of a mind; seats are named as players."""

    step: str
    """Which of several questions an analysis comes to."""
    written: tuple[str, ...]
    """The latest analysis, if the agent has not been told of it before."""
    role: str
    """What the seat thinks that it is."""
    target: str | None
    """At whom its next clue aims."""
    suspect: str | None
    """Whom it suspects most; None where nobody stands out."""
    published: bool
    news: Callable[[], str]
    """What has happened since the agent was last asked, as the game's own prompt tells it."""


@kind("agon.agents.beliefs.Beliefs")
class Beliefs:
    """Thinks before it decides, then answers as the agent that it wraps, which is told what it thought.

    Questions about beliefs are asked, at most `attempts` times each, in the conversation that the agent has so far, which
    they do not enter, and read as the agent's decisions are; where these are weighed, their answers are constrained.
    `form` matrix: in games with a spy the model is asked for the matrix itself (the paper's ProPGM).
    What it believes when it answers is in the turn's `detail`; what thinking costs is in the turn's tokens and seconds.
    """

    asks_model = True
    idle, usual = LLM.idle, LLM.usual

    def __init__(
        self,
        place: Place,
        *,
        agent: Callable[[Place], LLM | SelfConsistency],
        form: Literal["text", "matrix"] = "text",
        semantics: Semantics = "strict",
        attempts: int = 3,
        folder: str | None = None,
        answer_tokens: int = 80,
    ) -> None:
        if form not in ("text", "matrix"):
            raise ValueError(f"form is {form!r}; it must be text or matrix")
        if semantics not in get_args(Semantics):
            raise ValueError(f"semantics is {semantics!r}; it must be strict or published")
        if not isinstance(attempts, int) or attempts < 1:
            raise ValueError(f"attempts is {attempts}; it must be a whole number of at least 1")
        self.place, self.agent = place, agent(place)
        self.llm = self.agent if isinstance(self.agent, LLM) else self.agent.agent
        self.form, self.semantics, self.attempts = form, semantics, attempts
        self.folder, self.answer_tokens = folder, answer_tokens
        self.mind: Mind | None = None
        self.asked = 0
        """Questions about beliefs so far."""
        self.fresh = False
        """Whether the agent has not been told yet of what was thought last."""

    @staticmethod
    def calls(game: Any, seat: int, agent: Any, attempts: int = 3, **_: Any) -> Times:
        """How often it asks its model in a match: as the agent that is wrapped, and for each question about beliefs."""
        thought, own = mind_class(game).questions(game), agent.func.calls(game, seat, **agent.keywords)
        asked = agent
        while "agent" in asked.keywords:
            asked = asked.keywords["agent"]
        cuts = own.most if asked.keywords.get("overflow") == "cut" else 0
        return Times(own.least + thought.least, own.most + thought.most * (attempts + cuts))

    @staticmethod
    def unfit(space: Any, model: Any, agent: Any, **_: Any) -> str:
        """As of the agent that is wrapped."""
        return str(agent.func.unfit(space, model, **agent.keywords))

    @staticmethod
    def texts(game: Any, agent: Any, folder: str | None = None, **_: Any) -> Asked:
        """The prompts of the agent that is wrapped, and its own.

        Raises AgonError for a game that is told in other words.
        """
        require_own_words(game)
        return Asked(agent.func.texts(game, **agent.keywords), beliefs_of(game, folder))

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """One decision, after the thinking that is due; the reply's cost is that of both."""
        if self.mind is None:
            self.mind = mind_of(view, self.form, self.semantics)
        mind, thoughts = self.mind, list[Reply]()
        for known in mind.due(view):
            self.fresh = True
            thoughts += await self._think(mind, view._replace(past=view.past[:known]), view)
        aside = view.phase in self.llm.texts(view.rules, self.llm.style, self.llm.folder).asides
        seen = mind.shown(view.phase, aside)
        self.llm.thoughts = self._recalled(mind, view) if seen else ""
        reply = await self.agent.act(view, dice)
        self.fresh = self.fresh and (aside or not seen)
        return self._decided(reply, mind.ballot(view), mind, thoughts)

    async def _think(self, mind: Mind, then: Observation, now: Observation) -> list[Reply]:
        """One analysis of what was known `then`."""
        texts, answered, replies = beliefs_of(now.rules, self.folder), None, list[Reply]()
        reads, guide = (
            format_of_beliefs(self.llm.reads),
            self.llm.texts(now.rules, self.llm.style, self.llm.folder, reads=self.llm.reads),
        )
        thinking = mind.think(then)
        while True:
            try:
                space = thinking.send(answered)
            except StopIteration:
                return replies
            view = then._replace(phase=PHASE, legal=space)
            question = texts.rendered(
                "ask", view, self.llm.since, self._noted(mind, now._replace(past=then.past))
            ).strip()
            how = reads.told(guide.reads, space)
            request = Request(
                extend(self.llm.conversation(now), "user", question + how),
                f"{self.place.match}/{self.place.seat}/beliefs {self.asked}",
                self.answer_tokens,
                view,
            )
            again = partial(self._again, view, how)
            drafted = await ask(
                *(self.llm.model, request, again, self.attempts, reads),
                cuts=self.llm.cuts(request.messages),
                cut_off=self.llm.cut_off,
            )
            self.asked += 1
            replies.append(drafted.reply)
            answered = drafted.reply.action

    def _again(self, view: Observation, how: str, fault: str) -> str:
        return beliefs_of(view.rules, self.folder).rendered("again", fault, view).strip() + how

    def _noted(self, mind: Mind, view: Observation) -> Noted:
        players = [f"Player {seat + 1}" for seat in range(mind.seats)]
        target, suspect_ = ((None if seat is None else players[seat]) for seat in (mind.target, mind.suspect))
        return Noted(
            mind.step,
            mind.written if self.fresh else (),
            mind.role,
            target,
            suspect_,
            mind.published,
            partial(self._news, view),
        )

    def _news(self, view: Observation) -> str:
        texts = self.llm.texts(view.rules, self.llm.style, self.llm.folder)
        return texts.turn(view, self.llm.since).removesuffix(texts.turn(view, len(view.past))).strip()

    def _recalled(self, mind: Mind, view: Observation) -> str:
        said = beliefs_of(view.rules, self.folder).rendered("recall", view, self._noted(mind, view)).strip()
        return f"\n\n{said}" if said else ""

    def _decided(self, reply: Reply, ballot: Any, mind: Mind, thoughts: Sequence[Reply]) -> Reply:
        """The agent's answer with what was thought; a decision that is the beliefs' own takes its place."""
        detail = {**(reply.detail or {}), **mind.held}
        if thoughts:
            detail |= {
                "thought": [*mind.written, *detail.get("thought", ())],
                "exchanges": [each.exchange for each in thoughts if each.exchange],
                "unread": [each.fallback for each in thoughts if each.action is None],
            }
        if ballot is not None:
            detail["said"] = reply.action
            fault = reply.fallback.partition(": ")[2]
            reply = replace(reply, action=ballot, fallback=f"beliefs: {fault}" if reply.fallback else "")
        held = {name: value for name, value in detail.items() if value != []} or None
        return replace(reply, **spent([*thoughts, reply]), detail=held)
