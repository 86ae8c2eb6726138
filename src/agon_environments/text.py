"""Any game as an environment of texts: PettingZoo's AEC interface for all seats, Gymnasium's for one seat against scripts.

An observation has all that the seat knows, and the question, in words (agon.agents.telling). An action is the seat's answer: the
action as the prompt asks for it, for TradeCraft a call such as {"tool": "craft_done"}. Spaces hold printable ASCII and line breaks.
Other characters are observed as JSON escapes, and an answer may hold any. An answer that cannot be read is no error: it is counted,
and the seat is told why and asked again. After `attempts` such answers the seat does nothing. So every match ends.
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
"""The most characters of an observation. A longer one loses the beginning of its history."""
LENGTH = 4_000
"""The most characters of an answer in the action space. A longer one is read all the same."""


class Observed(str):
    """A text that says its dtype, as PettingZoo's `api_test` asks every observation for it."""

    dtype = np.dtype(str)


def text_env(game: Game[Any], seed: int = 0, attempts: int = 3) -> "TextMatch":
    """An environment in which all seats of `game` are asked one after another. `seed`: the first seed of resets that name none.

    Agents are "seat_0", "seat_1", ... Seats that move at once are asked in seat order, and none is told what another has
    answered. Rewards are the points of a step; all agents terminate when the match is over, and none is ever truncated.
    `infos` count the unreadable answers of each agent. Raises AgonError for `attempts` below 1.
    """
    return TextMatch(game, seed, attempts)


def single_text_env(
    game: Game[Any], seat: int, opponents: Sequence[Script], seed: int = 0, attempts: int = 3
) -> "SingleTextSeat":
    """An environment for one `seat` of `game`. The scripts `opponents` have the other seats, in order.

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
        """Starts a match. `options` are part of the interface, and change nothing."""
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
        """The seat whose turn it is."""
        return self.possible_agents.index(self.agent_selection)

    def observe(self, agent: str) -> Observed:
        """The observation of an agent, whether or not it is asked just now."""
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
        """Does nothing, because nothing is open."""

    def step(self, action: object) -> None:
        """Takes the answer of the agent whose turn it is. Raises IllegalAction when no match is on."""
        if not self.agents:
            raise IllegalAction("the match is over, or has not begun: call reset")
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        seat = self.seat
        legal_action, fault, _ = parse_reply(action, self._asked[seat].legal)
        if legal_action is None:
            self._count_miss(seat, fault)
            if self._misses[seat] < self.attempts:
                self._drop_rewards()
                return
        else:
            self._faults.pop(seat, None)
        self.act(legal_action)

    def act(self, action: object) -> None:
        """Takes an action of the agent whose turn it is: a legal one, or None."""
        self._answers[self.seat] = action
        self._misses[self.seat] = 0
        self._drop_rewards()
        if len(self._answers) == len(self._asked):
            answers, self._answers = self._answers, {}
            self.state, self._asked, points = self._steps.send(answers)
            self.rewards = dict(zip(self.possible_agents, map(float, points), strict=True))
        self._select()
        self._accumulate_rewards()

    def _drop_rewards(self) -> None:
        """Forgets the rewards that the agent whose turn it is has seen already."""
        self._cumulative_rewards[self.agent_selection] = 0.0
        self._clear_rewards()

    def _count_miss(self, seat: int, fault: str) -> None:
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

    def _start_match(self, seed: int) -> tuple[str, dict[str, Any]]:
        self.table.start(seed)
        return self._play_on()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Takes one answer. Raises IllegalAction when no match is on, and AgonError for an illegal action of a script."""
        if not self.table.agents or self.table.terminations[self.agent]:
            raise IllegalAction("the match is over, or has not begun: call reset")
        self.table.step(action)
        view, info = self._play_on()
        return view, self.table._cumulative_rewards[self.agent], self.table.terminations[self.agent], False, info

    def _play_on(self) -> tuple[str, dict[str, Any]]:
        """Lets the others move until the own seat is asked, or the match is over. Returns the seat's observation, and the info."""
        while self.table.agent_selection != self.agent and not self.table.terminations[self.agent]:
            self.table.act(self._answer(self.table.seat, silent=True))
        return self.table.observe(self.agent), dict(self.table.infos[self.agent])
