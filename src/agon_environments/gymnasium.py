"""Games as PettingZoo and Gymnasium environments, so that learners for these interfaces can play them."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Discrete, MultiDiscrete
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from agon.agents import Script, seat_dice
from agon.errors import AgonError, count
from agon.games import Choice, Dice, Game, IllegalAction, Observation
from agon.loop import TABLE, steps

View = NDArray[np.int64]
Views = dict[str, View]


def parallel_env(game: Game[Any], seed: int = 0) -> "SimultaneousMatch":
    """An environment that plays `game`. `seed`: the first seed of resets that name none.

    Agents are "seat_0", "seat_1", ... With k options, actions are Discrete(k): positions in the game's options. An
    observation is MultiDiscrete of shape (rounds, seats): a row per round, the own action first, then the others' in
    seat order, and k for every round that has not been played. Rewards are the step's points. All agents terminate
    with the last round, and none is ever truncated. Raises ValueError for a game in which not all seats move at once
    with the same options, or without a fixed number of rounds.
    """
    return SimultaneousMatch(game, seed)


def single_agent_env(game: Game[Any], seat: int, opponents: Sequence[Script], seed: int = 0) -> "SingleSeat":
    """An environment for one `seat` of `game`. The scripts `opponents` have the other seats, in order.

    Spaces and rewards are those of `parallel_env`. `reset(seed=n)` starts the match that agon.play plays with the seed n:
    every other seat throws its own dice. A reset without a seed goes on to the next match; the first one starts from `seed`.
    Raises AgonError when there is no such seat or the number of opponents is wrong, and ValueError as `parallel_env` does.
    """
    return SingleSeat(parallel_env(game), seat, opponents, seed, single_agent_env)


class Seats:
    """The spaces of an environment's agents: the same objects each time, as seeding a space needs."""

    observation_spaces: dict[str, Any]
    action_spaces: dict[str, Any]

    def observation_space(self, agent: str) -> Any:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """The space of an agent's actions."""
        return self.action_spaces[agent]


class SimultaneousMatch(Seats, ParallelEnv):  # type: ignore[misc]
    """One match after another of a game in which all seats move at once; see `parallel_env`."""

    def __init__(self, game: Game[Any], seed: int = 0) -> None:
        self.game = game
        self.metadata = {"name": f"{game.name}_{game.variant}", "render_modes": [], "is_parallelizable": True}
        self.render_mode = None
        self.possible_agents = [f"seat_{seat}" for seat in range(game.seats)]
        self.agents: list[str] = []
        """The agents that are to move. Empty before the first reset and after the last round."""
        self._random = Random(seed)
        legal, rounds = _legal(game, next(steps(game, Random(seed)))[1])
        self.codes = {action: code for code, action in enumerate(legal.options)}
        self._shape = (rounds, game.seats)
        self.action_spaces = {agent: Discrete(len(self.codes)) for agent in self.possible_agents}
        self.observation_spaces = {
            agent: MultiDiscrete(np.full(self._shape, len(self.codes) + 1)) for agent in self.possible_agents
        }

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Views, dict[str, dict[str, Any]]]:
        """Starts a match. `options` are part of the interface, and change nothing."""
        if seed is not None:
            self._random = Random(seed)
        return self.start(self._random)

    def start(self, dice: Dice) -> tuple[Views, dict[str, dict[str, Any]]]:
        """Starts a match with the table's own dice."""
        self._steps = steps(self.game, dice)
        self.state, _, _ = next(self._steps)
        self.agents = list(self.possible_agents)
        return self._views(), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, int | np.int64]
    ) -> tuple[Views, dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays one round. Raises IllegalAction for an agent that is missing and for an action outside its space."""
        if set(actions) != set(self.agents):
            raise IllegalAction(f"{sorted(actions)} acted; to move: {self.agents}")
        labels = {seat: self.label(agent, actions[agent]) for seat, agent in enumerate(self.agents)}
        self.state, views, points = self._steps.send(labels)
        over = not views
        if not over:
            _legal(self.game, views)
        agents = self.agents
        self.agents = [] if over else agents
        return (
            self._views(),
            dict(zip(agents, map(float, points), strict=True)),
            dict.fromkeys(agents, over),
            dict.fromkeys(agents, False),
            {agent: {} for agent in agents},
        )

    def label(self, agent: str, action: int | np.int64) -> str:
        """The option that an action stands for. Raises IllegalAction for one outside the agent's space."""
        if not self.action_spaces[agent].contains(action):
            raise IllegalAction(f"{agent} may not play {action!r}: only 0 to {len(self.codes) - 1}")
        return tuple(self.codes)[action]

    def _views(self) -> Views:
        views = {}
        for seat, agent in enumerate(self.possible_agents):
            view = np.full(self._shape, len(self.codes), dtype=np.int64)
            for row, profile in zip(view, self.game.observe(self.state, seat).past, strict=False):
                row[:] = [self.codes[str(action)] for action in profile]
            views[agent] = view
        return views


class OneSeat(Env[Any, Any], ABC):
    """One match after another of one seat against scripts, at a `table` that has all seats.

    `made_by`: the function that makes such an environment. `own`: its arguments besides game, seat, opponents and seed. The spec has both.
    """

    metadata: Mapping[str, Any] = {"render_modes": []}  # type: ignore[assignment]
    kind = ""
    """The end of the spec's name, after the game's name."""

    def __init__(
        self,
        table: Any,
        seat: int,
        opponents: Sequence[Script],
        seed: int,
        made_by: Callable[..., Env[Any, Any]],
        **own: Any,
    ) -> None:
        game: Game[Any] = table.game
        if seat not in range(game.seats) or len(opponents) != game.seats - 1:
            raise AgonError(
                f"{game.name} has seats 0 to {game.seats - 1}: seat {seat} with {count(len(opponents), 'opponent')} does not fit"
            )
        self.table, self.agent = table, table.possible_agents[seat]
        others = [other for other in range(game.seats) if other != seat]
        self.scripts = dict(zip(others, opponents, strict=True))
        self.observation_space = table.observation_space(self.agent)
        self.action_space = table.action_space(self.agent)
        self.spec = EnvSpec(
            f"agon/{re.sub('[^a-zA-Z0-9_.-]', '_', table.metadata['name'] + self.kind)}-v{game.rules}",
            f"{made_by.__module__}:{made_by.__name__}",
            kwargs={"game": game, "seat": seat, "opponents": opponents, "seed": seed, **own},
        )
        self._first: int | None = seed

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Starts a match. `options` are part of the interface, and change nothing."""
        match_seed, self._first = self._first if seed is None else seed, None
        super().reset(seed=match_seed)
        if match_seed is None:
            match_seed = int(self.np_random.integers(2**63))
        self._dice = {seat: seat_dice(match_seed, seat) for seat in self.scripts}
        return self._start_match(match_seed)

    @abstractmethod
    def _start_match(self, seed: int) -> tuple[Any, dict[str, Any]]:
        """Starts the match of a seed. Returns the seat's first observation, and the info."""

    def _answer(self, seat: int, silent: bool = False) -> Any:
        """The action of the script at `seat`. Raises AgonError for an illegal one. None is legal only if the script may be `silent`."""
        view = self.table.game.observe(self.table.state, seat)
        action = self.scripts[seat](view, self._dice[seat])
        if action in view.legal or (silent and action is None):
            return action
        legal = ", ".join(view.legal.options) if isinstance(view.legal, Choice) else view.legal.as_json()
        raise AgonError(f"the script at seat {seat} answered {action!r}: only {legal} are legal")


class SingleSeat(OneSeat):
    """A seat of a game in which all move at once; see `single_agent_env`."""

    def _start_match(self, seed: int) -> tuple[View, dict[str, Any]]:
        views, _ = self.table.start(seat_dice(seed, TABLE))
        return views[self.agent], {}

    def step(self, action: np.int64) -> tuple[View, float, bool, bool, dict[str, Any]]:
        """Plays one round.

        Raises IllegalAction for an action outside the space and when no match is on, and AgonError for an illegal action of a script.
        """
        if not self.table.agents:
            raise IllegalAction("the match is over, or has not begun: call reset")
        self.table.label(self.agent, action)  # before any script throws its dice
        answers = {self.table.possible_agents[seat]: self.table.codes[self._answer(seat)] for seat in self.scripts}
        views, points, ended, _, _ = self.table.step({self.agent: action, **answers})
        return views[self.agent], points[self.agent], ended[self.agent], False, {}


def _legal(game: Game[Any], views: Mapping[int, Observation]) -> tuple[Choice, int]:
    """The action space of all seats, and the number of rounds.

    `views`: the observations of the seats that are to move. Raises ValueError where seats move in turn or have different choices.
    """
    if len(views) < game.seats:
        raise ValueError(
            f"{game.name}: of {game.seats} seats {list(views)} are to move; a parallel environment needs all at once"
        )
    first, *others = [view.legal for view in views.values()]
    if not isinstance(first, Choice) or any(not isinstance(o, Choice) or o.options != first.options for o in others):
        raise ValueError(f"{game.name}: a parallel environment needs one list of options, the same for every seat")
    if game.fixed_rounds is None:
        raise ValueError(f"{game.name}: a parallel environment needs a fixed number of rounds")
    return first, game.fixed_rounds
