"""The rules of games as tables, for metrics, which never see a game."""

import json
from collections.abc import Iterable
from typing import Any

import pandas as pd

from agon.games import MatrixGame
from agon.games.chameleon import game as chameleon
from agon.games.cost_sharing.game import CostSharing
from agon.games.deduction import Deduction
from agon.games.equilibria import equilibria
from agon.games.matrix.game import payoff_rows
from agon.games.prisoner3 import game as prisoner3
from agon.games.undercover import game as undercover


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


def seat_table(games: Iterable[Any]) -> pd.DataFrame:
    """One row per game and seat of games that put seats under test: what turns cannot say of a setting; absent where there is none.

    game, variant, setting (the games of one file share it), seat, tested; player (what the seat is called), role (the true one; the
    game's name where seats differ in nothing); win (what a win is: credits, agreement or top), credits (most that the role can
    get), spy (the player who is the spy), opening (JSON: the shares that the table proposes for the seat at first), defection (the
    action that is one), endowment (points).
    """
    return pd.DataFrame([_seat_row(game, seat) for game in games for seat in range(game.seats)])


def _seat_row(game: Any, seat: int) -> dict[str, Any]:
    deduced, tested = isinstance(game, Deduction), seat in getattr(game, "tested", ())
    said = isinstance(game, CostSharing) and bool(game.tested) and not tested
    credits = chameleon.CREDITS if isinstance(game, chameleon.Chameleon) else undercover.CREDITS
    return {
        "game": game.name,
        "variant": game.variant,
        "setting": game.variant.rpartition("-")[0] or game.variant if deduced else game.variant,
        "seat": seat,
        "tested": tested,
        "player": f"Player {seat + 1}",
        "role": game.roles[seat] if deduced else game.name,
        "win": "credits" if deduced else "agreement" if isinstance(game, CostSharing) else "top",
        "credits": max(map(max, credits.values())) if deduced else None,
        "spy": game.players[game.spy] if deduced else None,
        "opening": json.dumps(game.proposals[seat]) if said else None,
        "defection": prisoner3.OPTIONS[1] if isinstance(game, prisoner3.Prisoner3) else None,
        "endowment": getattr(game, "endowment", None),
    }
