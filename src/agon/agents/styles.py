"""Styles of reasoning that wrap an agent, in any game. Styles that only change the prompt are files in prompts/styles."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agon.agents.base import Place, Reply, together, total_cost
from agon.agents.llm import LLM
from agon.agents.prompts import Prompts
from agon.agents.reads import Weighed, reads_of
from agon.errors import AgonError
from agon.games import Dice, Observation
from agon.games.base import Times
from agon.registry import kind


@kind("agon.agents.styles.SelfConsistency")
class SelfConsistency:
    """Asks `k` times and takes the majority's action. Ties are broken at random; unreadable answers have no vote.

    The first answer with the winning action stays in the conversation (Wang et al., 2023; counterfactual paper, section 5.1).
    """

    asks_model = True
    idle, usual = LLM.idle, LLM.usual

    def __init__(self, place: Place, *, k: int, agent: Callable[[Place], LLM]) -> None:
        if not isinstance(k, int) or k < 1:
            raise ValueError(f"self-consistency: k is {k}; it must be at least 1")
        self.k, self.agent = k, agent(place)
        if not hasattr(self.agent, "draft"):
            raise ValueError(f"self-consistency: it votes over answers of an LLM, not over {type(self.agent).__name__}")

    @staticmethod
    def calls(game: Any, seat: int, k: int, agent: Any, **_: Any) -> Times:
        """The least and the greatest number of calls in a match: `k` times those of the wrapped agent."""
        times: Times = agent.func.calls(game, seat, **agent.keywords)
        return Times(k * times.least, k * times.most)

    @staticmethod
    def unfit(space: Any, model: Any, agent: Any, **_: Any) -> str:
        """Why it cannot play: the reason of the wrapped agent. That agent must not weigh, as it would have a single vote."""
        if isinstance(reads_of(agent.keywords.get("reads", "free")), Weighed):
            return "self-consistency votes over several answers, and an agent with reads: weighed gives just one"
        return str(agent.func.unfit(space, model, **agent.keywords))

    @staticmethod
    def texts(game: Any, agent: Any, **_: Any) -> Prompts:
        """The prompts of the wrapped agent. Raises AgonError where that is no LLM."""
        llm = getattr(agent, "func", agent)
        if not hasattr(llm, "texts"):
            name = getattr(llm, "__name__", llm)
            raise AgonError(f"self-consistency: it votes over answers of an LLM, and {name} asks no model")
        texts: Prompts = llm.texts(game, **agent.keywords)
        return texts

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """One decision. Its tokens are those of all answers, its seconds those of the slowest."""
        question = self.agent.question(view)
        samples = (self.agent.draft(question, number) for number in range(self.k))
        drafts = [await sample for sample in samples] if self.agent.model.instant else await together([*samples])
        votes = Counter(draft.reply.action for draft in drafts if draft.reply.action is not None)
        leaders = [action for action, count in votes.items() if count == max(votes.values())]
        winner = dice.choice(leaders) if len(leaders) > 1 else leaders[0] if leaders else None
        winning_draft = next(draft for draft in drafts if draft.reply.action == winner)
        return replace(
            self.agent.take(winning_draft, view, dice),
            attempts=sum(draft.reply.attempts for draft in drafts),
            **total_cost([draft.reply for draft in drafts], at_once=True),
        )
