"""Any game as an environment of texts: PettingZoo's AEC interface for all seats, Gymnasium's for one seat against scripts.

An observation is all that the seat knows and is asked, in words (agon.agents.telling); an action is its answer: the action as
the prompt asks for it, for TradeCraft a call such as {"tool": "craft_done"}. Spaces hold printable ASCII and line breaks;
other characters are observed as JSON escapes, and an answer may hold any. No answer is an error: one that cannot be read is
counted, and the seat is told why and asked again; after `attempts` of them nothing is done for it. So every match ends.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from gymnasium.spaces import Text
from pettingzoo import AECEnv

from agon.agents import Script, seat_dice
from agon.agents.telling import in_ascii, observation_text, parse_reply
from agon.errors import AgonError
from agon.games import Game, IllegalAction
from agon.loop import TABLE, steps
from agon_environments.gymnasium import OneSeat, Seats

PLAIN = frozenset(map(chr, range(32, 127))) | {"\n"}
"""Characters of all texts in the spaces."""
REACH = 20_000
"""Characters of an observation, at most; where a seat knows more, what happened first is left out."""
LENGTH = 4_000
"""Characters of an answer in the action space; a longer one is read all the same."""


class Observed(str):
    """A text that says its dtype, as PettingZoo's `api_test` asks every observation for it."""

    dtype = np.dtype(str)


def text_env(game: Game[Any], seed: int = 0, attempts: int = 3) -> "TextMatch":
    """An environment in which all seats of `game` are asked one after another; `seed`: what a `reset` without one starts from.

    Agents are "seat_0", "seat_1", ... Seats that move at once are asked in seat order, and none is told what another has
    answered. Rewards are the points of a step; all agents terminate when the match is over, and none is ever truncated.
    `infos` count the unreadable answers of each agent.
    """
    return TextMatch(game, seed, attempts)


def single_text_env(
    game: Game[Any], seat: int, opponents: Sequence[Script], seed: int = 0, attempts: int = 3
) -> "SingleTextSeat":
    """An environment for whoever sits at `seat` of `game`; `opponents`, scripts, have the other seats, in order.

    Texts and rewards are those of `text_env`. `reset(seed=n)` starts the match that agon.play plays with the seed n; one
    without goes on to the next match. Raises AgonError when there is no such seat or the number of opponents is wrong.
    """
    table = text_env(game, attempts=attempts)
    return SingleTextSeat(table, seat, opponents, seed, single_text_env, attempts=attempts)


class TextMatch(Seats, AECEnv):  # type: ignore[misc]
    """One match after another, seat by seat; see `text_env`."""

    def __init__(self, game: Game[Any], seed: int = 0, attempts: int = 3) -> None:
        super().__init__()
        if attempts < 1:
            raise AgonError(f"attempts is {attempts}; it must be at least 1")
        self.game, self.attempts = game, attempts
        self.metadata = {
            "name": f"{game.name}_{game.variant}_text",
            "render_modes": ["ansi"],
            "is_parallelizable": False,
        }
        self.render_mode = "ansi"
        self.possible_agents = [f"seat_{seat}" for seat in range(game.seats)]
        self.agents: list[str] = []
        self._random = Random(seed)
        self._answers: dict[int, Any] = {}
        """The answers of seats that move at once, so far."""
        self.action_spaces = {agent: Text(LENGTH, charset=PLAIN) for agent in self.possible_agents}
        self.observation_spaces = {agent: Text(REACH, charset=PLAIN) for agent in self.possible_agents}

    def reset(self, seed: int | None = None, options: object = None) -> None:
        """Starts a match; `options` are ignored, as there are none."""
        if seed is not None:
            self._random = Random(seed)
        self.start(self._random.randrange(2**63) if seed is None else seed)

    def start(self, seed: int) -> None:
        """Starts the match of a seed."""
        self._steps = steps(self.game, seat_dice(seed, TABLE))
        self.state, self._asked, _ = next(self._steps)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {"unreadable": 0} for agent in self.agents}
        self._answers, self._faults = {}, dict[int, str]()
        self._misses = [0] * self.game.seats
        self._select()

    @property
    def seat(self) -> int:
        """Whose turn it is."""
        return self.possible_agents.index(self.agent_selection)

    def observe(self, agent: str) -> Observed:
        """What the agent knows, whether or not it is asked just now."""
        seat = self.possible_agents.index(agent)
        asked = seat in self._asked and seat not in self._answers
        lines = [self._faults[seat]] if seat in self._faults else []
        if not asked:
            lines.append("You are not asked just now." if self._asked else "The match is over.")
        head = in_ascii("".join(f"{line}\n\n" for line in lines))
        return Observed(
            head + observation_text(self.game.observe(self.state, seat), asked, REACH - len(head), ascii_only=True)
        )

    def render(self) -> str:
        """The observation of the agent whose turn it is."""
        return self.observe(self.agent_selection)

    def close(self) -> None:
        """There is nothing to close."""

    def step(self, action: object) -> None:
        """The answer of the agent whose turn it is. Raises IllegalAction when no match is on."""
        if not self.agents:
            raise IllegalAction("the match is over, or has not begun: call reset")
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        seat = self.seat
        found, fault, _ = parse_reply(action, self._asked[seat].legal)
        if found is None:
            self._missed(seat, fault)
            if self._misses[seat] < self.attempts:
                self._rest()
                return
        else:
            self._faults.pop(seat, None)
        self.act(found)

    def act(self, action: object) -> None:
        """An action, legal or None, of the agent whose turn it is."""
        self._answers[self.seat] = action
        self._misses[self.seat] = 0
        self._rest()
        if len(self._answers) == len(self._asked):
            answers, self._answers = self._answers, {}
            self.state, self._asked, points = self._steps.send(answers)
            self.rewards = dict(zip(self.possible_agents, map(float, points), strict=True))
        self._select()
        self._accumulate_rewards()

    def _rest(self) -> None:
        """Whose turn it is has been given its rewards."""
        self._cumulative_rewards[self.agent_selection] = 0.0
        self._clear_rewards()

    def _missed(self, seat: int, fault: str) -> None:
        self._misses[seat] += 1
        self.infos[self.possible_agents[seat]]["unreadable"] += 1
        left = self.attempts - self._misses[seat]
        then = f"Answer again ({left} more)." if left else "Nothing was done for you."
        self._faults[seat] = f"Your last answer could not be used: {fault[:500]}. {then}"

    def _select(self) -> None:
        moving = [seat for seat in self._asked if seat not in self._answers]
        self.agent_selection = self.possible_agents[moving[0]] if moving else self.agents[0]
        if not moving:
            self.terminations = dict.fromkeys(self.agents, True)


class SingleTextSeat(OneSeat):
    """A seat of any game, in words; see `single_text_env`."""

    kind = "_text"

    def _begun(self, seed: int) -> tuple[str, dict[str, Any]]:
        self.table.start(seed)
        return self._going_on()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """One answer. Raises IllegalAction when no match is on, AgonError when a script answers nonsense."""
        if not self.table.agents or self.table.terminations[self.agent]:
            raise IllegalAction("the match is over, or has not begun: call reset")
        self.table.step(action)
        view, info = self._going_on()
        return view, self.table._cumulative_rewards[self.agent], self.table.terminations[self.agent], False, info

    def _going_on(self) -> tuple[str, dict[str, Any]]:
        """The others move until the own seat is asked, or the match is over."""
        while self.table.agent_selection != self.agent and not self.table.terminations[self.agent]:
            self.table.act(self._answer(self.table.seat, silent=True))
        return self.table.observe(self.agent), dict(self.table.infos[self.agent])
