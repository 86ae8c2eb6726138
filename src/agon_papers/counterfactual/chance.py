"""The results of players without skill (uniform, or always the same action) in simulated matches against the paper's
opponents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from agon.games.equilibria import symmetric_equilibrium
from agon.games.matrix.metrics import of_actions, of_game, payoff_matrix
from agon.games.tables import PayoffTable

MATCHES = 10_000
"""Number of simulated matches of each player against each opponent."""

ROUNDS = {"pd": 16, "rps": 24}

UNIFORM = "uniform"
CONSTANT = ("always first", "always second", "always third")
"""Players that repeat one action, by its place in the game's order. A game of two actions has no third: the second stands for it."""

CYCLE, EQUILIBRIUM, TO_LAST, TO_MOST = "pp", "srep", "tft", ("mf", "ap")
"""The paper's names of its scripts: a cycle, the equilibrium of one round, the best reply to the last and to the most frequent move."""


def cycles_of(turns: pd.DataFrame) -> dict[tuple[str, str], list[str]]:
    """(game, variant) -> the actions of the script that cycles, in their order, from the first rounds of a recorded match."""
    moves = turns[(turns.seat == 1) & (turns.agent == CYCLE) & (turns["round"] <= 3)]
    first = moves.groupby(["game", "variant"], observed=True).match.transform("first")
    rows = moves[moves.match == first].sort_values("round")
    found = rows.groupby(["game", "variant"], observed=True).action.agg(list)
    return {(str(game), str(variant)): list(dict.fromkeys(order)) for (game, variant), order in found.items()}


@dataclass(frozen=True, eq=False)
class Opponents:
    """The opponents of one game and variant. `cycle`: the order of the script that cycles; empty where it is not known."""

    game: str
    variant: str
    payoffs: pd.DataFrame
    """Rows of agon.games.tables.payoff_table."""
    cycle: Sequence[str] = ()

    @property
    def rounds(self) -> int:
        """Rounds of a match."""
        return ROUNDS[self.game]

    @cached_property
    def options(self) -> list[str]:
        """The actions in the game's order."""
        return payoff_matrix(self._rules, 0)[1]

    @cached_property
    def paid(self) -> NDArray[np.float64]:
        """Points of each seat: seats x own actions x the other's actions."""
        return np.stack([payoff_matrix(self._rules, seat)[0] for seat in (0, 1)])

    @cached_property
    def replies(self) -> NDArray[np.intp]:
        """The script's best reply to each action of the model, the earlier of equals."""
        return np.asarray(self.paid[1].argmax(axis=0))

    @cached_property
    def equilibrium(self) -> list[float]:
        """The mix of the script that plays the equilibrium of one round."""
        seats = zip(self.paid[0].ravel(), self.paid[1].T.ravel(), strict=True)
        table = PayoffTable(self.game, self.variant, (tuple(self.options),) * 2, tuple(seats))
        return [float(weight) for weight in symmetric_equilibrium(table)]

    def play(self, player: str, opponent: str, dice: np.random.Generator) -> pd.DataFrame:
        """MATCHES simulated matches: the metrics of agon.games.matrix.metrics.of_actions, and the share of each action by its name.

        `player`: UNIFORM, or one of CONSTANT. `opponent`: a script of the paper; any other name is another player of the same kind.
        """
        shape, size = (MATCHES, self.rounds), len(self.options)
        own = self._moves(player, dice)
        other = np.empty(shape, dtype=np.intp)
        counts = np.zeros((MATCHES, size))
        for turn in range(self.rounds):
            other[:, turn] = self._reply(opponent, turn, own, counts, dice)
            counts[np.arange(MATCHES), own[:, turn]] += 1
        if opponent not in (CYCLE, EQUILIBRIUM, TO_LAST, *TO_MOST):
            other = self._moves(player, dice)
        metrics = of_actions(np.stack([own, other], axis=-1), self.game, self.variant, self.payoffs)
        return metrics.assign(**dict(zip(self.options, (counts / self.rounds).T, strict=True)))

    def reach(self, opponent: str) -> float:
        """The most points less the least that a match against an opponent can end with, whatever either draws."""
        ends: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, 0.0)}
        for turn in range(self.rounds):
            after: dict[tuple[int, ...], tuple[float, float]] = {}
            for state, (low, high) in ends.items():
                possible = self._possible(opponent, turn, state)
                for own in range(len(self.options)):
                    points = self.paid[0][own, possible]
                    key = self._next(opponent, state, own)
                    old = after.get(key, (np.inf, -np.inf))
                    after[key] = min(old[0], low + points.min()), max(old[1], high + points.max())
            ends = after
        lows, highs = zip(*ends.values(), strict=True)
        return float(max(highs) - min(lows))

    def has_same(self, opponent: str, other: "Opponents") -> bool:
        """Whether a script is the same opponent in another variant. Actions are matched by their place in the game's order.

        The same cycle goes through the same places. A cycle that is not known is not the same. True for a language model.
        """
        if opponent == CYCLE:
            first, second = ([games.options.index(action) for action in games.cycle] for games in (self, other))
            return bool(first) and first == second
        if opponent == EQUILIBRIUM:
            return bool(np.allclose(self.equilibrium, other.equilibrium))
        return opponent not in (TO_LAST, *TO_MOST) or np.array_equal(self.replies, other.replies)

    @property
    def _rules(self) -> pd.DataFrame:
        return of_game(self.payoffs, self.game, self.variant)

    def _moves(self, player: str, dice: np.random.Generator) -> NDArray[np.intp]:
        shape, size = (MATCHES, self.rounds), len(self.options)
        if player == UNIFORM:
            return dice.integers(0, size, shape)
        return np.full(shape, min(CONSTANT.index(player), size - 1))

    def _reply(
        self,
        opponent: str,
        turn: int,
        own: NDArray[np.intp],
        seen: NDArray[np.float64],
        dice: np.random.Generator,
    ) -> NDArray[np.intp]:
        """The script's moves in a round. `seen`: how often each action of the model was seen before."""
        size = len(self.options)
        if opponent == CYCLE:
            return np.full(MATCHES, self.options.index(self.cycle[turn % len(self.cycle)]))
        if opponent == EQUILIBRIUM:
            return dice.choice(size, MATCHES, p=self.equilibrium)
        if turn == 0:
            return dice.integers(0, size, MATCHES)
        return self.replies[own[:, turn - 1] if opponent == TO_LAST else seen.argmax(axis=1)]

    def _possible(self, opponent: str, turn: int, state: tuple[int, ...]) -> list[int]:
        """What an opponent may do in a round. In which order a script cycles does not change how far totals reach."""
        if opponent == CYCLE:
            return [turn % len(self.options)]
        if opponent == EQUILIBRIUM:
            return [place for place, weight in enumerate(self.equilibrium) if weight > 0]
        if not state:
            return [*range(len(self.options))]
        return [int(self.replies[state[0] if opponent == TO_LAST else int(np.argmax(state))])]

    def _next(self, opponent: str, state: tuple[int, ...], own: int) -> tuple[int, ...]:
        """What the opponent remembers: the model's last action, or how often it did each."""
        if opponent == TO_LAST:
            return (own,)
        if opponent in TO_MOST:
            counts = [*(state or [0] * len(self.options))]
            counts[own] += 1
            return tuple(counts)
        return ()


def all_opponents(payoffs: pd.DataFrame, cycles: Mapping[tuple[str, str], Sequence[str]]) -> Iterator[Opponents]:
    """The opponents of every game and variant of `payoffs`. `cycles`: as of `cycles_of`."""
    for game, variant in payoffs[["game", "variant"]].astype(str).drop_duplicates().itertuples(index=False):
        yield Opponents(game, variant, payoffs, cycles.get((game, variant), ()))


def steady(names: Sequence[str], variants: Sequence[Opponents]) -> list[str]:
    """Those of these opponents that are the same in all these variants of a game."""
    return [name for name in names if all(variants[0].has_same(name, other) for other in variants[1:])]
