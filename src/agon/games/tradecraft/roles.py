"""TradeCraft's reference agent: a language model in five roles that reason and act in steps (paper TradeCraft, section 3.1).

The router is a rule: the proposer proposes, the decision maker decides, the crafter crafts, and the planner goes first where
`plan_before` says so (the paper: before crafting). A step is a thought in text and one call of a tool, which goes to the game;
a role begins with a conversation of its own, so that none grows beyond one part of a turn.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from agon.agents.base import Place, Reply, times_asked, total_cost
from agon.agents.keeping import Overflow, limit_context
from agon.agents.llm import LLM, CutOff, Draft, ask
from agon.agents.prompts import OURS, Template, reads_template, require_own_words, source_of
from agon.agents.reads import reads_of
from agon.errors import AgonError
from agon.games import Dice, Observation
from agon.games.base import Times
from agon.games.reading import Reading, strip_thinking
from agon.games.tradecraft import Call, Hand, TradeCraft, table_view
from agon.games.tradecraft.calls import ASKING, Calls, call_in, thought_in
from agon.games.tradecraft.story import Deal, cut, known_deals
from agon.models import Message, Request, extend
from agon.models.base import Count, ReadingRule
from agon.registry import kind

Role = Literal["proposer", "decision_maker", "planner", "crafter"]
Phase = Literal["propose", "decide", "craft"]
Limit = Annotated[int, msgspec.Meta(ge=0)]
ROUTES: dict[str, Role] = {"propose": "proposer", "decide": "decision_maker", "craft": "crafter"}
"""The router: phase -> its role."""
STEPS: dict[Role, int] = {"proposer": 8, "decision_maker": 8, "planner": 5, "crafter": 10}
"""Steps of a role, at most, as in the paper's code."""
EXPECTED: dict[Role, int] = {"proposer": 3, "decision_maker": 2, "planner": 3, "crafter": 4}
"""The usual number of steps of a role in the 90 recorded games, for estimates."""
USED_UP = "step limit"
"""The reason of a default after the last step of a role."""
MESSAGE_KEYS = ("message", "reply")
"""The keys of messages in an entry of the game's history."""
PLAN = "plan"
"""The phase of the view that goes with the planner's questions."""


@dataclass(frozen=True)
class RoleCalls(Calls):
    """The calls that a role may make, with typical examples."""

    role: Role = "proposer"
    asks: bool = False
    """Whether an example is a query, as a role makes them before its last step."""

    def example(self, dice: Dice) -> Call:
        """A call that the game does not refuse."""
        if self.role == "crafter":
            call = super().example(dice)
            return call if call["tool"] == "craft_apply" or not self.asks else self._question(dice)
        if self.asks:
            return self._question(dice)
        return Call(tool="rethink", text="Keep what I hold.") if self.role == "planner" else super().example(dice)

    def read(self, text: str, last: bool = False) -> Reading:
        """The call in an answer. The planner may call only its own tools, because others would act for the role of the phase."""
        reading = super().read(text, last)
        if self.role != "planner" or reading.action is None or reading.action["tool"] in self.tools:
            return reading
        return Reading(None, f"the planner cannot call {reading.action['tool'][:80]}, only {', '.join(self.tools)}")

    def _question(self, dice: Dice) -> Call:
        if not self.hand:
            return Call(tool="possible_recipes_from_hand")
        return Call(tool="item_info", name=dice.choice(sorted(self.hand)))


class Now(NamedTuple):
    """The values that templates receive besides the view."""

    role: Role
    step: int
    """From 1."""
    steps: int
    """The number of steps of this role, at most."""
    hand: Hand
    hands: Mapping[str, Hand]
    target: Hand
    proposal: Mapping[str, Any] | None
    plan: str
    recent: Sequence[Deal]
    """The last turns. This field and the next one are empty after the first step, and `dropped` is 0."""
    condensed: Sequence[Deal]
    """The turns before these, without messages."""
    dropped: int
    """The number of the last turn that is left out."""
    answer: Mapping[str, Any] | None
    """The game's answer to the last call: call, ok, fault, answer; None at the first step."""


class RolePrompts(NamedTuple):
    """The prompts of all roles with one persona, in a folder `tradecraft`."""

    persona: Template
    """Macro `persona(view)`."""
    roles: Mapping[Role, Template]
    """Macros `system(view, persona)`, `turn(view, now)` (the first step), `more(view, now)` (each further one), `again(fault, view)`."""
    reads: Template | None = None
    """How to answer where calls are constrained (agon.agents.reads)."""

    @property
    def text(self) -> str:
        """The templates' own text, for telling matches apart."""
        more = [self.reads] if self.reads else []
        return "\n".join(template.text for template in (self.persona, *self.roles.values(), *more))


@functools.cache
def role_prompts(persona: str, folder: str | None = None, guide: str = "", prompts: str = OURS) -> RolePrompts:
    """The prompts; those of a user's `folder` come first, then those of the prompt set. Raises AgonError."""
    macros = ("system", "turn", "more", "again")
    source = source_of(TradeCraft, "", folder, prompts)
    return RolePrompts(
        Template(source._replace(file=f"tradecraft/personas/{persona}.md"), ("persona",)),
        {role: Template(source._replace(file=f"tradecraft/{role}.md"), macros) for role in STEPS},
        reads_template(source, guide) if guide else None,
    )


@kind("agon.agents.roles.Roles")
class Roles:
    """Plays TradeCraft in roles; each call of a tool is one step.

    The model is asked again after an answer without a readable call, up to `attempts` times. Then, and when a role's steps are
    used up, it does nothing: it proposes no trade, rejects the proposal, ends crafting, or keeps the old plan. The turn's `fallback` says
    so, or `detail` for the planner, which then gives way to the phase's role at once.

    `persona`: a file personas/NAME.md among the prompts. `steps`: calls of tools that each role may make in one part of a turn.
    `attempts`: times the model is asked for one call. `plan_before`: the phases before which the planner plans.
    `recent`: the last turns of the history, which prompts have in full. `condensed`: turns before these, without messages;
    older ones are left out. `quoted`: characters of a message in the history. All of these at most.
    `folder`: a folder of prompt templates that come before agon's own. `prompts`: the prompt set (agon.agents.prompts).
    `reads`: free, constrained or called (agon.agents.reads). `overflow`: stop or cut, as of agon.agents.llm.LLM; oldest steps leave.
    `cut_off`: void or as_done, and `reading_rule`: strict or as_done, as of agon.agents.llm.LLM.
    `answer_tokens`: usual tokens of an answer; `expected`: usual steps of each role. Both are for estimates alone.
    """

    asks_model = True
    idle = frozenset({"answer_tokens", "folder", "expected"})
    usual = LLM.usual

    def __init__(
        self,
        place: Place,
        *,
        persona: str = "unprimed",
        steps: Mapping[Role, Count] = STEPS,
        attempts: Count = 3,
        plan_before: Sequence[Phase] = ("craft",),
        recent: Count = 10,
        condensed: Limit = 20,
        quoted: Limit = 400,
        folder: str | None = None,
        prompts: str = OURS,
        answer_tokens: int = 150,
        expected: Mapping[Role, int] = EXPECTED,
        reads: str | Mapping[str, Any] = "free",
        overflow: Overflow = "stop",
        cut_off: CutOff = "void",
        reading_rule: ReadingRule = "strict",
    ) -> None:
        if place.model is None:
            raise ValueError("needs a model: name one in the experiment (models: [...], or agent@model)")
        self.place, self.model, self.persona, self.folder = place, limit_context(place.model), persona, folder
        self.overflow, self.cut_off = overflow, cut_off
        self.steps, self.attempts, self.plan_before = {**STEPS, **steps}, attempts, tuple(plan_before)
        self.recent, self.condensed, self.quoted = recent, condensed, quoted
        self.reads, self.prompts, self.reading_rule = reads_of(reads), prompts, reading_rule
        self.answer_tokens, self.expected = answer_tokens, {**EXPECTED, **expected}
        self.at: tuple[int, str] = (0, "")
        """The turn and phase of the last question."""
        self.role: Role = "proposer"
        self.step = 0
        """The number of steps of the role so far."""
        self.plan = ""
        self.messages: tuple[Message, ...] = ()
        self.step_starts: tuple[int, ...] = ()
        """The indices of the messages at which steps begin."""
        self.events_seen = 0
        """The number of events in the view at the last step."""
        self.question_count = 0
        """The number of questions so far, in all roles."""

    @staticmethod
    def calls(
        game: Any,
        seat: int,
        steps: Mapping[Role, int] = STEPS,
        attempts: int = 3,
        plan_before: Sequence[Phase] = ("craft",),
        overflow: str = "stop",
        **_: Any,
    ) -> Times:
        """The number of questions to the model in a match: from one for each call to all attempts at all steps of all turns.

        With overflow: cut, there is one more question for each step that leaves because the provider finds the question too long.
        """
        allowed, turns = {**STEPS, **steps}, game.max_rounds
        planned = {phase: allowed["planner"] * (phase in plan_before) for phase in ROUTES}
        propose, decide, craft = (allowed[role] + planned[phase] for phase, role in ROUTES.items())
        proposing_turns = -(-turns // game.seats)
        most = max(proposing_turns * propose + (turns - proposing_turns) * decide, turns * decide) + turns * craft
        tries = attempts + (max(allowed.values()) + 1 if overflow == "cut" else 0)
        return Times(times_asked(game, seat).least, tries * most, attempts * max(allowed.values()))

    @staticmethod
    def unfit(space: Any, model: Any, reads: Any = "free", **_: Any) -> str:
        """The reason why an agent with these settings cannot play; empty if it can. Calls cannot be weighed."""
        return LLM.unfit(space, model, reads)

    @staticmethod
    def texts(
        game: Any,
        persona: str = "unprimed",
        folder: str | None = None,
        prompts: str = OURS,
        reads: Any = "free",
        **_: Any,
    ) -> RolePrompts:
        """The prompts that an agent with these settings uses. Raises AgonError for another game."""
        if not isinstance(game, TradeCraft):
            raise AgonError(f"an agent of agon.games.tradecraft.roles plays TradeCraft, not {game.name}")
        require_own_words(game)
        return role_prompts(persona, folder, reads_of(reads).guide, prompts)

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """One step of the role whose turn it is."""
        self._route(view)
        vain: list[Reply] = []
        while True:
            reply = await self._step(view)
            if reply.action is not None or self.role != "planner":
                return _together([*vain, reply])
            vain.append(reply)
            self._wake(ROUTES[view.phase])

    def _route(self, view: Observation) -> None:
        """The router: wakes the role that acts next."""
        if self.at != (view.round, view.phase):
            self.at = (view.round, view.phase)
            self._wake("planner" if view.phase in self.plan_before else ROUTES[view.phase])
        elif (
            self.role == "planner"
            and (answer := self._answer(view))
            and answer["call"]["tool"] == "rethink"
            and answer["ok"]
        ):
            self.plan = answer["call"]["text"]
            self._wake(ROUTES[view.phase])

    def _wake(self, role: Role) -> None:
        self.role, self.step, self.messages, self.step_starts = role, 0, (), ()

    async def _step(self, view: Observation) -> Reply:
        """The reply of one step. It has no action if the call is unreadable, or if the steps are used up and the model is not asked."""
        details: dict[str, Any] = {"role": self.role, "step": self.step + 1, "turn": view.round}
        if self.step == self.steps[self.role]:
            return Reply(None, attempts=0, fallback=USED_UP, detail=details)
        draft = await self._draft(view)
        places = (*self.step_starts, max(1, len(self.messages)))
        self.step_starts = tuple(place - draft.cut + 1 for place in places if place >= draft.cut)
        self.messages, self.events_seen = draft.messages, len(view.past)
        self.step, self.question_count = self.step + 1, self.question_count + 1
        text = draft.reply.text
        details |= draft.reply.detail or {}
        if not self.reads.guide and (thought := thought_in(text, call_in(strip_thinking(text)).source)):
            details["thought"] = [thought]
        vain = draft.reply.action is None and self.role != "planner"
        fallback = f"forfeit: {draft.reply.fallback}" if vain else draft.reply.fallback
        return replace(draft.reply, fallback=fallback, detail=details)

    async def _draft(self, view: Observation) -> Draft:
        prompts = role_prompts(self.persona, self.folder, self.reads.guide, self.prompts)
        template, role_view = prompts.roles[self.role], self._role_view(view)
        now = self._now(view)
        messages = self.messages
        if not messages:
            persona = prompts.persona.render("persona", role_view).strip()
            messages = extend((), "system", template.render("system", role_view, persona))
        how = self.reads.instructions(prompts.reads, role_view.legal)
        question = template.render("turn" if now.answer is None else "more", role_view, now) + how
        request = Request(
            extend(messages, "user", question),
            f"{self.place.match}/{self.place.seat}/{self.question_count}",
            self.answer_tokens,
            role_view,
            reading_rule=self.reading_rule,
        )

        def again(fault: str) -> str:
            return template.render("again", fault, role_view) + how

        places = () if self.overflow == "stop" else (*self.step_starts, len(request.messages) - 1)
        cuts = [place for place in places if place > 1]
        return await ask(self.model, request, again, self.attempts, self.reads, cuts=cuts, cut_off=self.cut_off)

    def _role_view(self, view: Observation) -> Observation:
        """The view with the tools of the role."""
        legal, planner = view.legal, self.role == "planner"
        tools = ASKING if planner else legal.tools
        asks = self.step + 1 < min(self.expected[self.role], self.steps[self.role])
        calls = RoleCalls(legal.phase, tools, legal.hand, legal.others, legal.ruleset, self.role, asks)
        return view._replace(legal=calls, phase=PLAN if planner else view.phase)

    def _now(self, view: Observation) -> Now:
        answer = self._answer(view) if self.messages else None
        turns = [] if self.messages else known_deals(view, self.quoted)
        recent, older = turns[-self.recent :], turns[: -self.recent]
        condensed = older[-self.condensed :] if self.condensed else []
        return Now(
            self.role,
            self.step + 1,
            self.steps[self.role],
            *table_view(view),
            self.plan,
            recent,
            condensed,
            dropped=(condensed or recent)[0].turn - 1 if turns else 0,
            answer=answer and shorten_answer(answer, self.recent, self.condensed, self.quoted),
        )

    def _answer(self, view: Observation) -> Mapping[str, Any] | None:
        """The game's answer to the last call; None if there is none."""
        return next((event.value for event in reversed(view.past[self.events_seen :]) if event.phase == "answer"), None)


def shorten_answer(answer: Mapping[str, Any], recent: int, condensed: int, quoted: int) -> Mapping[str, Any]:
    """The game's answer to a call. The answer of the tool history is cut like the history in the prompts of roles."""
    if not answer["ok"] or answer["call"]["tool"] != "history":
        return answer
    entries = answer["answer"][-(recent + condensed) :]
    old = len(entries) - recent
    shortened_entries = [
        entry | {name: cut(entry[name] or "", quoted) if place >= old else "" for name in MESSAGE_KEYS if name in entry}
        for place, entry in enumerate(entries)
    ]
    return {**answer, "answer": shortened_entries}


def _together(replies: Sequence[Reply]) -> Reply:
    """The last reply, with the costs of the unreadable replies of the planner before it."""
    *vain, last = replies
    if not vain:
        return last
    detail = dict(last.detail or {})
    detail["planner"] = [reply.fallback for reply in vain]
    if exchanges := [reply.exchange for reply in vain if reply.exchange]:
        detail["exchanges"] = exchanges
    return replace(last, attempts=sum(reply.attempts for reply in replies), detail=detail, **total_cost(replies))
