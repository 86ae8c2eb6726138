"""The engine's games as PettingZoo environments, so that learners written for that interface can play them."""

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from agon.games import Choice, IllegalAction, MatrixGame

Views = dict[str, NDArray[np.int64]]


def parallel_env(game: MatrixGame, seed: int = 0) -> "SimultaneousMatch":
    """An environment that plays `game`; `seed` is what a `reset` without one starts from.

    Agents are "seat_0", "seat_1", ... With k options, actions are Discrete(k): positions in the game's options. An
    observation is MultiDiscrete of shape (rounds, seats): a row per round, the own action first, then the others' in
    seat order, and k for every round that has not been played. Rewards are the step's points; all agents terminate
    with the last round and none is ever truncated. Raises ValueError for a game in which not all seats move at once.
    """
    return SimultaneousMatch(game, seed)


class SimultaneousMatch(ParallelEnv):  # type: ignore[misc]
    """One match after another of a game in which all seats move at once; see `parallel_env`."""

    def __init__(self, game: MatrixGame, seed: int = 0) -> None:
        self.game = game
        self.metadata = {"name": f"{game.name}_{game.variant}", "render_modes": [], "is_parallelizable": True}
        self.render_mode = None
        self.possible_agents = [f"seat_{seat}" for seat in range(game.seats)]
        self.agents: list[str] = []
        self._random = Random(seed)
        legal = _legal(game, game.start(Random(seed)))
        self._codes = {action: code for code, action in enumerate(legal.options)}
        shape = (game.rounds, game.seats)
        self.action_spaces = {agent: Discrete(len(self._codes)) for agent in self.possible_agents}
        self.observation_spaces = {
            agent: MultiDiscrete(np.full(shape, len(self._codes) + 1)) for agent in self.possible_agents
        }

    def observation_space(self, agent: str) -> MultiDiscrete:
        """The same object each time, as seeding a space needs."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete[np.int64]:
        """The same object each time, as seeding a space needs."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Views, dict[str, dict[str, Any]]]:
        """Starts a match; `options` are ignored, as there are none."""
        if seed is not None:
            self._random = Random(seed)
        self._state = self.game.start(self._random)
        self.agents = list(self.possible_agents)
        return self._views(), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[Views, dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays one round. Raises IllegalAction for an agent that is missing and for an action outside its space."""
        if set(actions) != set(self.agents):
            raise IllegalAction(f"{sorted(actions)} acted; to move: {self.agents}")
        options = tuple(self._codes)
        chosen = {}
        for seat, agent in enumerate(self.agents):
            if not self.action_spaces[agent].contains(actions[agent]):
                raise IllegalAction(f"{agent} may not play {actions[agent]!r}: only 0 to {len(options) - 1}")
            chosen[seat] = options[actions[agent]]
        self._state, points = self.game.step(self._state, chosen)
        over = not self.game.to_move(self._state)
        if not over:
            _legal(self.game, self._state)
        moved = self.agents
        self.agents = [] if over else moved
        return (
            self._views(),
            dict(zip(moved, map(float, points), strict=True)),
            dict.fromkeys(moved, over),
            dict.fromkeys(moved, False),
            {agent: {} for agent in moved},
        )

    def _views(self) -> Views:
        views = {}
        for seat, agent in enumerate(self.possible_agents):
            view = np.full((self.game.rounds, self.game.seats), len(self._codes), dtype=np.int64)
            for row, profile in zip(view, self.game.observe(self._state, seat).past, strict=False):
                row[:] = [self._codes[str(action)] for action in profile]
            views[agent] = view
        return views


def _legal(game: Any, state: Any) -> Choice:
    """What all seats may do at once. Raises ValueError where they move in turn or have different choices."""
    moving = tuple(game.to_move(state))
    if moving != tuple(range(game.seats)):
        raise ValueError(
            f"{game.name}: of {game.seats} seats {list(moving)} are to move; a parallel environment needs all at once"
        )
    first, *others = (game.legal_actions(state, seat) for seat in moving)
    if not isinstance(first, Choice) or any(getattr(other, "options", None) != first.options for other in others):
        raise ValueError(f"{game.name}: a parallel environment needs one list of options, the same for every seat")
    if not hasattr(game, "rounds"):
        raise ValueError(f"{game.name}: a parallel environment needs a fixed number of rounds")
    return first
