"""Ways of thinking that wrap an agent, in any game. Those that are only words are files in prompts/styles."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agon.agents.base import Place, Reply, spent, together
from agon.agents.llm import LLM
from agon.agents.prompts import Prompts
from agon.agents.reads import Weighed, reads_of
from agon.errors import AgonError
from agon.games import Dice, Observation
from agon.games.base import Times
from agon.registry import kind


@kind("agon.agents.styles.SelfConsistency")
class SelfConsistency:
    """Asks `k` times and does what most answers say; ties are broken at random, unreadable answers have no vote.

    The first answer that says it stays in the context (Wang et al., 2023; counterfactual paper, section 5.1).
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
        """How often it asks its model in a match: `k` times as often as the agent that is wrapped."""
        own: Times = agent.func.calls(game, seat, **agent.keywords)
        return Times(k * own.least, k * own.most)

    @staticmethod
    def unfit(space: Any, model: Any, agent: Any, **_: Any) -> str:
        """As of the agent that is wrapped, which must not weigh: there would be nothing to vote on."""
        if isinstance(reads_of(agent.keywords.get("reads", "free")), Weighed):
            return "self-consistency votes over several answers, and an agent with reads: weighed gives just one"
        return str(agent.func.unfit(space, model, **agent.keywords))

    @staticmethod
    def texts(game: Any, agent: Any, **_: Any) -> Prompts:
        """The prompts of the agent that is wrapped."""
        asked = getattr(agent, "func", agent)
        if not hasattr(asked, "texts"):
            name = getattr(asked, "__name__", asked)
            raise AgonError(f"self-consistency: it votes over answers of an LLM, and {name} asks no model")
        texts: Prompts = asked.texts(game, **agent.keywords)
        return texts

    async def act(self, view: Observation, dice: Dice) -> Reply:
        """One decision; the reply's cost is that of all answers, its time that of the slowest."""
        if self.agent.model.instant:
            drafts = [await self.agent.draft(view, number) for number in range(self.k)]
        else:
            drafts = await together([self.agent.draft(view, number) for number in range(self.k)])
        votes = Counter(draft.reply.action for draft in drafts if draft.reply.action is not None)
        most = [action for action, count in votes.items() if count == max(votes.values())]
        winner = dice.choice(most) if len(most) > 1 else most[0] if most else None
        chosen = next(draft for draft in drafts if draft.reply.action == winner)
        return replace(
            self.agent.take(chosen, view, dice),
            attempts=sum(draft.reply.attempts for draft in drafts),
            **spent([draft.reply for draft in drafts], at_once=True),
        )
