"""The rules of agon's own turns: the games in the table beside them."""

from pathlib import Path

import numpy as np
import pandas as pd

from agon.errors import AgonError
from agon.replay import games_of, replay_match
from agon.turns import games_path, read, read_games
from agon_audit.rules import Judge, Payment, form_rules
from agon_audit.turns import Games

NAMES = ["game", "variant", "rules"]
"""The columns of turns that name a game in the table beside them."""


class OwnMatches:
    """Turns of any game of agon, replayed by its engine."""

    rounds = None

    def __init__(self, path: Path) -> None:
        """Reads the turns and the games beside them. Raises AgonError where there are none."""
        self.games = read_games(path)
        self.source = f"the games in {games_path(path).name}"
        self.content = self.games.to_json(orient="records")
        turns = read(path)
        self._turns = dict(list(turns.groupby(turns.match.astype("str"), sort=False)))

    def apply(self, games: Games, rows: pd.DataFrame) -> Payment:
        """Replays every match. A match that fits has paid what is recorded."""
        payment, known = Payment.unknown(len(rows)), set(zip(*(self.games[name] for name in NAMES), strict=True))
        for name, match in rows.groupby("match", observed=True, sort=False):
            places = rows.index.get_indexer(match.index)
            turns = self._turns[str(name).rpartition(" ")[2]].reset_index(drop=True)
            if tuple(turns.loc[0, NAMES]) not in known:
                payment.skipped = [
                    "the games beside the turns do not have this game, so its matches cannot be replayed"
                ]
                continue
            try:
                replay_match(turns, self.games)
            except AgonError as error:
                payment.faults[int(places[0])] = str(error)
            else:
                payment.legal[places] = np.where(match.action.isna(), np.nan, 1)
                payment.paid[places] = match.points
        return payment


def rules_of(own: OwnMatches, condition: str) -> Judge:
    """The rules of one game (GAME/VARIANT): its payoff table, or else the replay of each match."""
    games = own.games
    game, _, variant = condition.partition("/")
    same = games_of(games[games.game.eq(game) & games.variant.eq(variant)])
    if len(same) == 1 and (form := same[0].normal_form) is not None:
        return form_rules(form, own.source, same[0].fixed_rounds, form.payoffs([None] * form.seats)[0])
    return own
