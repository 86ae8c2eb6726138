"""The rules of games as tables. Metrics read these tables, and never a game."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd

from agon.errors import AgonError
from agon.games import Game
from agon.games.base import families
from agon.games.equilibria import equilibria
from agon.turns import games_frame

PAYOFFS = ["game", "variant", "seat", "action", "others", "payoff"]
ACTIONS = "actions"
"""The name of the fact with a seat's actions, for games in which players have different actions."""
SEATS = [
    *("game", "variant", "setting", "seat", "tested", "player", "role", "win"),
    *("credits", "spy", "opening", "defection", "endowment"),
]


def games_table(games: Iterable[Game[Any]], settings: Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """One row per game, with the columns of agon.turns.GAMES. An object that is there twice has one row.

    `settings`: each game's conf, in the same order; without it a row cannot build its game again.
    """
    confs = list(settings)
    rows = {id(game): (game, confs[place] if confs else {}) for place, game in enumerate(games)}
    return games_frame([_row(game, conf) for game, conf in rows.values()])


def _row(game: Game[Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    form = game.normal_form
    action_sets = form.action_sets if form else ()
    is_common = len(set(action_sets)) == 1
    facts = [game.seat_facts(seat) for seat in range(game.seats)]
    if form and not is_common:
        facts = [{**fact, ACTIONS: own} for fact, own in zip(facts, action_sets, strict=True)]
    return {
        "game": game.name,
        "variant": game.variant,
        "rules": game.rules,
        "families": [folder.name for folder in families(game)],
        "players": list(game.players),
        "roles": list(game.roles),
        "tested": list(game.tested),
        "rounds": game.fixed_rounds,
        "options": list(action_sets[0]) if is_common else [],
        "payoffs": [list(form.payoffs(profile)) for profile in product(*action_sets)] if form else [],
        "facts": json.dumps(facts),
        "settings": json.dumps(settings),
    }


@dataclass(frozen=True)
class PayoffTable:
    """The NormalForm (agon.games.base) of a row of games."""

    name: str
    variant: str
    action_sets: tuple[tuple[str, ...], ...]
    """The actions of each seat."""
    cells: tuple[tuple[float, ...], ...]
    """Points of every seat for each action profile; the last seat's action changes fastest."""

    @classmethod
    def of(cls, game: Any) -> "PayoffTable":
        """The table of a row that has one."""
        return cls(game.game, game.variant, _action_sets(game), tuple(map(tuple, game.payoffs)))

    @property
    def seats(self) -> int:
        """How many players."""
        return len(self.action_sets)

    def payoffs(self, profile: Sequence[str | None]) -> tuple[float, ...]:
        """Points of each seat for one action profile. Raises KeyError for another one."""
        return dict(zip(product(*self.action_sets), self.cells, strict=True))[tuple(map(str, profile))]


def payoff_table(games: pd.DataFrame) -> pd.DataFrame:
    """The payoff tables of `games` (agon.turns.read_games) in long form: a row per action profile and seat.

    Columns: game, variant, seat, action, others (labels of the other seats, joined by a space), payoff (points per round; whole
    numbers where all are whole).
    Games without a table have no rows. Raises AgonError where two games of one name and variant pay differently.
    """
    rows = [
        (game.game, game.variant, seat, action, " ".join(profile[:seat] + profile[seat + 1 :]), payoffs[seat])
        for game in normal_forms(games)
        for profile, payoffs in zip(product(*_action_sets(game)), game.payoffs, strict=True)
        for seat, action in enumerate(profile)
    ]
    table = pd.DataFrame(rows, columns=PAYOFFS)
    return table.astype({"payoff": "int64"}) if table.payoff.mod(1).eq(0).all() else table


def normal_forms(games: pd.DataFrame) -> Iterator[Any]:
    """The rows of games that have a payoff table, one for each name and variant. Raises AgonError where two differ."""
    rules_of: dict[tuple[str, str], tuple[Any, ...]] = {}
    for row in games[games.payoffs.map(len) > 0].itertuples(index=False):
        rounds = None if pd.isna(row.rounds) else row.rounds
        rules = _action_sets(row), tuple(map(tuple, row.payoffs)), rounds
        is_first = (row.game, row.variant) not in rules_of
        if rules_of.setdefault((row.game, row.variant), rules) != rules:
            raise AgonError(
                f"two different games are called {row.game}, variant {row.variant}: they have other options, payoffs or rounds; "
                "look at them apart, or give one another `variant` in conf/game and play it again"
            )
        if is_first:
            yield row


def _action_sets(game: Any) -> tuple[tuple[str, ...], ...]:
    """The actions of each seat in a row of games that has payoffs."""
    if len(game.options):
        return (tuple(game.options),) * len(game.players)
    return tuple(tuple(fact[ACTIONS]) for fact in json.loads(game.facts))


def equilibrium_table(games: pd.DataFrame) -> pd.DataFrame:
    """One row per equilibrium of one round, seat and action: game, variant, equilibrium (number), seat, action, weight.

    They are exact for one or two players: all equilibria, or the extreme ones where there are infinitely many. For more players
    the mixed ones are numerical, and some may be missing (agon.games.equilibria).
    """
    rows = [
        (game.game, game.variant, number, seat, action, float(weight))
        for game in normal_forms(games)
        for number, profile in enumerate(equilibria(PayoffTable.of(game)).profiles)
        for seat, (own, mix) in enumerate(zip(_action_sets(game), profile, strict=True))
        for action, weight in zip(own, mix, strict=True)
    ]
    return pd.DataFrame(rows, columns=["game", "variant", "equilibrium", "seat", "action", "weight"])


def seat_table(games: pd.DataFrame) -> pd.DataFrame:
    """One row per game and seat, with facts of the setting that turns do not have; absent where there is none.

    Columns: game, variant, setting (shared by the games of one file), seat, tested; player (the seat's name), role (the true
    one; the game's name where all seats are alike); win (its kind: credits, agreement or top), credits (the most that the role
    can get), spy (a player), opening (the seat's scripted shares, as JSON), defection (an action), endowment (points).
    """
    rows = [
        _seat_row(game, seat, facts)
        for game in games.itertuples(index=False)
        for seat, facts in enumerate(json.loads(game.facts))
    ]
    return pd.DataFrame(rows, columns=SEATS).astype({"tested": bool})


def _seat_row(game: Any, seat: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    usual = {
        "game": game.game,
        "variant": game.variant,
        "setting": game.variant,
        "seat": seat,
        "tested": seat in game.tested,
        "player": f"Player {seat + 1}",
        "role": game.roles[seat] if len(game.roles) else game.game,
        "win": "top",
    }
    return dict.fromkeys(SEATS) | usual | dict(facts)
