"""The rules of games as tables, for metrics, which never see a game."""

from collections.abc import Iterable

import pandas as pd

from agon.games import MatrixGame
from agon.games.equilibria import equilibria
from agon.games.matrix import payoff_rows


def payoff_table(games: Iterable[MatrixGame]) -> pd.DataFrame:
    """One row per game, action profile and seat: game, variant, seat, action, others, payoff (points per round)."""
    return pd.DataFrame([row for game in games for row in payoff_rows(game)])


def equilibrium_table(games: Iterable[MatrixGame]) -> pd.DataFrame:
    """One row per equilibrium of one round, seat and action: game, variant, equilibrium (number), seat, action, weight.

    All equilibria of games that are not degenerate, computed exactly; of degenerate ones the extreme points.
    """
    return pd.DataFrame(
        [
            {
                "game": game.name,
                "variant": game.variant,
                "equilibrium": number,
                "seat": seat,
                "action": action,
                "weight": float(weight),
            }
            for game in games
            for number, profile in enumerate(equilibria(game).profiles)
            for seat, mix in enumerate(profile)
            for action, weight in zip(game.options, mix, strict=True)
        ]
    )
