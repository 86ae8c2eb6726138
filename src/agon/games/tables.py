"""The rules of games as tables, for metrics, which never see a game."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import pandas as pd

from agon.games import Game
from agon.games.equilibria import equilibria

PAYOFFS = ["game", "variant", "seat", "action", "others", "payoff"]
SEATS = [
    *("game", "variant", "setting", "seat", "tested", "player", "role", "win"),
    *("credits", "spy", "opening", "defection", "endowment"),
]


def payoff_table(games: Iterable[Game[Any]]) -> pd.DataFrame:
    """The payoff tables of those games that have one, in long form: a row per action profile and seat.

    Columns: game, variant, seat, action, others (labels of the other seats, joined by a space), payoff (points per round).
    """
    rows = [
        (game.name, game.variant, seat, own, " ".join(map(str, profile[:seat] + profile[seat + 1 :])), paid[seat])
        for game in games
        if (form := game.normal_form) is not None
        for profile in product(form.options, repeat=form.seats)
        for paid in [form.payoffs(profile)]
        for seat, own in enumerate(profile)
    ]
    return pd.DataFrame(rows, columns=PAYOFFS)


def equilibrium_table(games: Iterable[Game[Any]]) -> pd.DataFrame:
    """One row per equilibrium of one round, seat and action: game, variant, equilibrium (number), seat, action, weight.

    All equilibria of games that are not degenerate, computed exactly; of degenerate ones the extreme points.
    """
    rows = [
        (game.name, game.variant, number, seat, action, float(weight))
        for game in games
        if (form := game.normal_form) is not None
        for number, profile in enumerate(equilibria(form).profiles)
        for seat, mix in enumerate(profile)
        for action, weight in zip(form.options, mix, strict=True)
    ]
    return pd.DataFrame(rows, columns=["game", "variant", "equilibrium", "seat", "action", "weight"])


def seat_table(games: Iterable[Game[Any]]) -> pd.DataFrame:
    """One row per game and seat: what turns cannot say of a setting; absent where there is none.

    game, variant, setting (the games of one file share it), seat, tested; player (what the seat is called), role (the true one; the
    game's name where seats differ in nothing); win (what a win is: credits, agreement or top), credits (most that the role can
    get), spy (the player who is the spy), opening (JSON: the shares that the table proposes for the seat at first), defection (the
    action that is one), endowment (points).
    """
    return pd.DataFrame([_seat_row(game, seat) for game in games for seat in range(game.seats)], columns=SEATS)


def _seat_row(game: Game[Any], seat: int) -> dict[str, Any]:
    usual = {
        "game": game.name,
        "variant": game.variant,
        "setting": game.variant,
        "seat": seat,
        "tested": seat in game.tested,
        "player": f"Player {seat + 1}",
        "role": game.roles[seat] if game.roles else game.name,
        "win": "top",
    }
    return dict.fromkeys(SEATS) | usual | game.seat_facts(seat)
